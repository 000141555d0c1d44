package store

import (
	"fmt"
	"os"
	"strings"
)

// lock keeps a second process off the database: it would count into the same rows. It is a file of its own beside the
// database, since closing any descriptor of the database itself would drop the locks that SQLite holds on it.
type lock struct{ file *os.File }

// takeLock takes PATH.lock, and says whose it is when it is taken. A file system without locks is no reason to refuse.
func takeLock(path string) (*lock, error) {
	f, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the lock file beside the database: %w", err)
	}
	held, err := flock(f)
	if err == nil && !held {
		holder := make([]byte, 20)
		n, _ := f.Read(holder)
		f.Close()
		who := "another process"
		if pid := strings.TrimSpace(string(holder[:n])); pid != "" {
			who = "process " + pid
		}
		return nil, fmt.Errorf("%s is in use by %s: stop that one, or name another file", path, who)
	}
	if err := f.Truncate(0); err == nil {
		fmt.Fprintf(f, "%d\n", os.Getpid())
	}
	return &lock{f}, nil
}

// release gives the lock back. The file stays: removing it would let two processes hold two files of one name.
func (l *lock) release() error { return l.file.Close() }
