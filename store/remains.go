package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Remains are the files of a database, in the order in which they can be removed.
type Remains struct {
	Files   []string // the database, its log, those set aside, and copies that were never finished
	Backups []string // other databases of shadowdiff in the same folder: backups, or those of other services
}

// Aside are those of the files that were set aside as damaged or replaced.
func (r Remains) Aside() (list []string) {
	for _, file := range r.Files {
		if base := filepath.Base(file); strings.Contains(base, ".damaged-") || strings.Contains(base, ".replaced-") {
			list = append(list, file)
		}
	}
	return list
}

// FindRemains lists what belongs to the database at path, whether that itself exists or not. A file at path that is none of
// ours is refused.
func FindRemains(path string) (Remains, error) {
	var found Remains
	resolved, err := resolve(path)
	if err != nil {
		return found, err
	}
	if info, err := os.Stat(resolved); err == nil && info.Size() > 0 && !ours(resolved) {
		return found, fmt.Errorf("%s: no database of shadowdiff's: name that one, or remove this file by hand", path)
	}
	entries, err := os.ReadDir(filepath.Dir(resolved))
	if err != nil {
		return found, err
	}
	for _, e := range entries {
		file := filepath.Join(filepath.Dir(resolved), e.Name())
		switch {
		case !e.Type().IsRegular():
		case belongs(file, resolved):
			found.Files = append(found.Files, file)
		case file != resolved+".lock" && ours(file):
			found.Backups = append(found.Backups, file)
		}
	}
	slices.Reverse(found.Files) // those with longer names first: a database never stands there without its log
	return found, nil
}

// belongs tells whether a file is the database at path, or one that is made beside it and is named after it.
func belongs(file, path string) bool {
	after, ok := strings.CutPrefix(file, path)
	if !ok {
		return false
	}
	switch after {
	case "", "-wal", "-shm", "-journal", ".replay": // the last is how far a replay came that was interrupted
		return true
	}
	for _, begin := range []string{".damaged-", ".replaced-", ".backup", ".new"} {
		if rest, ok := strings.CutPrefix(after, begin); ok {
			return begin[len(begin)-1] == '-' || strings.Trim(rest, "-0123456789journal") == ""
		}
	}
	return false
}

// RemoveAll removes all files of a database that no service has open. The lock stays: it holds the number of a process,
// and is what keeps a service away meanwhile.
func RemoveAll(path string) error {
	resolved, err := resolve(path)
	if err != nil {
		return err
	}
	held, err := takeLock(resolved)
	if err != nil {
		return err
	}
	defer held.Release()
	found, err := FindRemains(resolved)
	for _, file := range found.Files {
		if failed := os.Remove(file); !errors.Is(failed, fs.ErrNotExist) {
			err = errors.Join(err, failed)
		}
	}
	return err
}
