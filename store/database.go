package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// database is the SQLite file: one connection that writes, several that read and are refused every write.
type database struct {
	path    string // absolute, links followed
	lock    *lock
	write   *sql.DB
	read    *sql.DB
	unclean bool // a write-ahead log was left behind: the process before did not close
}

// readers is how many pages may be read at one time; more wait for a connection.
const readers = 4

// openDatabase takes the lock, opens or creates the file and brings its schema up to date.
func openDatabase(ctx context.Context, path string) (*database, error) {
	d := &database{}
	if err := d.open(ctx, path); err != nil {
		d.close()
		return nil, fmt.Errorf("open database: %w", err)
	}
	return d, nil
}

func (d *database) open(ctx context.Context, path string) (err error) {
	if d.path, err = resolve(path); err != nil {
		return err
	}
	if d.lock, err = takeLock(d.path); err != nil {
		return err
	}
	if wal, err := os.Stat(d.path + "-wal"); err == nil && wal.Size() > 0 {
		d.unclean = true
	}
	if err := create(d.path); err != nil {
		return err
	}
	if d.write, err = openPool(d.path, 1, writePragmas()); err != nil {
		return err
	}
	if d.read, err = openPool(d.path, readers, readPragmas()); err != nil {
		return err
	}
	if err := migrate(ctx, d.write); err != nil {
		return explain(d.path, err)
	}
	return explain(d.path, d.checkIfSmall(ctx))
}

// Pragmas stand in the DSN, since one sent by Exec reaches a single connection of the pool. busy_timeout comes first,
// so that the others wait for a lock too; auto_vacuum has to be set before the first table exists.
func writePragmas() url.Values {
	return url.Values{
		"_txlock": {"immediate"},
		"_pragma": {
			"busy_timeout(5000)", "auto_vacuum(INCREMENTAL)", "journal_mode(WAL)", "synchronous(NORMAL)",
			"journal_size_limit(8388608)",
		},
	}
}

func readPragmas() url.Values {
	return url.Values{"_pragma": {"busy_timeout(5000)", "query_only(1)"}}
}

func openPool(path string, size int, params url.Values) (*sql.DB, error) {
	slashed := filepath.ToSlash(path)
	if !strings.HasPrefix(slashed, "/") { // C:/x
		slashed = "/" + slashed
	}
	dsn := url.URL{Scheme: "file", Path: slashed, RawQuery: params.Encode()}
	pool, err := sql.Open("sqlite", dsn.String())
	if err != nil {
		return nil, err
	}
	pool.SetMaxOpenConns(size)
	pool.SetMaxIdleConns(size)
	return pool, nil
}

// resolve makes the path absolute and follows links, so that two names of one file share one lock.
func resolve(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		return real, nil
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(abs))
	if errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("%s: the folder %s does not exist: create it, or name another file", path, filepath.Dir(abs))
	}
	return filepath.Join(dir, filepath.Base(abs)), err
}

// create makes an empty file that only its owner may read, since it will hold what users were answered. SQLite gives
// the files beside it the same rights.
func create(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// smallDatabase is what can be checked at the start without anybody noticing, in pages of 4 KiB.
const smallDatabase = 8192

// checkIfSmall checks the integrity of a small file at once, so that a damaged one is refused. A large one is checked
// while it is in use, and only after an unclean end.
func (d *database) checkIfSmall(ctx context.Context) error {
	var pages int64
	if err := d.read.QueryRowContext(ctx, `PRAGMA page_count`).Scan(&pages); err != nil {
		return err
	}
	if pages > smallDatabase {
		return nil
	}
	return d.check(ctx)
}

// errDamaged is a file whose pages do not fit together.
var errDamaged = errors.New("integrity check failed")

// check reads the whole file.
func (d *database) check(ctx context.Context) error {
	var found string
	if err := d.read.QueryRowContext(ctx, `PRAGMA quick_check(1)`).Scan(&found); err != nil {
		return err
	}
	if found != "ok" {
		return fmt.Errorf("%w: %s", errDamaged, found)
	}
	return nil
}

func (d *database) close() error {
	var faults []error
	if d.read != nil {
		faults = append(faults, d.read.Close())
	}
	if d.write != nil { // last, so that it merges the log into the file and removes it
		faults = append(faults, d.write.Close())
	}
	if d.lock != nil {
		faults = append(faults, d.lock.release())
	}
	return errors.Join(faults...)
}

// size is the bytes on disk: of the database and its log.
func (d *database) size() int64 {
	var total int64
	for _, path := range []string{d.path, d.path + "-wal"} {
		if info, err := os.Stat(path); err == nil {
			total += info.Size()
		}
	}
	return total
}

// explain adds what to do to the errors of SQLite that a person can mend.
func explain(path string, err error) error {
	remedy := ""
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errDamaged):
		remedy = "the database is damaged: " + recovery
	default:
		switch primaryCode(err) {
		case sqlite3.SQLITE_NOTADB:
			remedy = "not a SQLite database: name another file, or move this one away"
		case sqlite3.SQLITE_CORRUPT:
			remedy = "the database is damaged: " + recovery
		case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
			remedy = "cannot be written: give this user the right to write the file and its folder"
		case sqlite3.SQLITE_FULL:
			remedy = "the disk is full: make room, or name a file elsewhere"
		case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
			remedy = "locked by another program: end it, or name another file"
		}
	}
	if remedy == "" {
		return fmt.Errorf("%s: %w", path, err)
	}
	return fmt.Errorf("%s: %s (%w)", path, remedy, err)
}

const recovery = "move the file away to begin anew, or save what can be read with `sqlite3 FILE .recover`"

// primaryCode is SQLite's result code without its extension; 0 for an error that is not SQLite's.
func primaryCode(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code() & 0xff
	}
	return 0
}
