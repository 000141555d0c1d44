// Package lock keeps other processes away from what one has for itself: a database, a folder of recordings.
package lock

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// Lock is a file that this process alone holds. It is a file of its own, beside what is kept for this process, and stays
// when it is given back: removing it would let two processes hold two files of one name.
type Lock struct {
	path string
	file *os.File // nil: it was given back
}

// Held is the error of a lock that another process has.
type Held struct{ Process string } // its number; empty where it has not written it down

func (h *Held) Error() string {
	if h.Process == "" {
		return "in use by another process"
	}
	return "in use by process " + h.Process
}

// Take makes the file where it is missing, and takes it. Its error is a *Held where another process has it. A file system
// without locks is no reason to refuse.
func Take(path string) (*Lock, error) {
	file, err := take(path)
	if err != nil {
		return nil, err
	}
	return &Lock{path, file}, nil
}

func take(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if free, err := flock(file); err == nil && !free {
		holder := make([]byte, 20)
		n, _ := file.Read(holder)
		file.Close()
		return nil, &Held{strings.TrimSpace(string(holder[:n]))}
	}
	if err := file.Truncate(0); err == nil {
		fmt.Fprintf(file, "%d\n", os.Getpid())
	}
	return file, nil
}

// Renew takes the lock again where its file was removed: what has no name keeps nobody away. Where that fails the lock is
// what it was before.
func (l *Lock) Renew() error {
	held, err := l.file.Stat()
	if err == nil {
		if named, err := os.Stat(l.path); err == nil && os.SameFile(held, named) {
			return nil
		}
	}
	again, err := take(l.path)
	if err != nil {
		return err
	}
	err = l.file.Close()
	l.file = again
	return err
}

// Release gives the lock back, once.
func (l *Lock) Release() error {
	if l.file == nil {
		return nil
	}
	file := l.file
	l.file = nil
	unlock(file)
	if err := file.Close(); !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}
