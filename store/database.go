package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"shadowdiff/lock"
)

// database is the SQLite file: one connection that writes, several that read and are refused every write. Its opening and
// closing belongs to the writer.
type database struct {
	path    string // absolute, links followed
	lock    *lock.Lock
	write   *pool
	read    *pool
	file    os.FileInfo // of what was opened
	unclean bool        // a write-ahead log was left behind: the process before did not close
	former  int         // the number of the schema in which it was found; 0 for a new file
	schema  int         // and of the one that it has now
}

// readers is how many pages may be read at one time; more wait for a connection.
const readers = 4

// lockDatabase takes the file for this process. It is not opened yet.
func lockDatabase(path string) (*database, error) {
	resolved, err := resolve(path)
	if err != nil {
		return nil, err
	}
	held, err := takeLock(resolved)
	if err != nil {
		return nil, err
	}
	return &database{path: resolved, lock: held, write: &pool{}, read: &pool{}}, nil
}

// takeLock takes PATH.lock, and says whose it is when it is taken: a second process would count into the same rows. It is
// a file of its own, since closing any descriptor of the database itself would drop the locks that SQLite holds on it.
func takeLock(path string) (*lock.Lock, error) {
	held, err := lock.Take(path + ".lock")
	return held, lockedBy(path, err)
}

// relock takes the lock again where its file was removed.
func (d *database) relock() error { return lockedBy(d.path, d.lock.Renew()) }

// lockedBy says what can be done about a lock that cannot be had.
func lockedBy(path string, err error) error {
	if held, is := errors.AsType[*lock.Held](err); is {
		return fmt.Errorf("%s is %w: stop that one, or name another file", path, held)
	}
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("the lock file beside the database: give this user the right to write the file and its folder: %w", err)
	}
	if err != nil {
		return fmt.Errorf("open the lock file beside the database: %w", err)
	}
	return nil
}

// open opens or creates the file and brings its schema up to date. When it fails nothing of it stays open.
func (d *database) open(ctx context.Context, maxSize int64) error {
	err := d.openPools(maxSize)
	if err == nil {
		err = d.migrate(ctx)
	}
	if err == nil {
		err = d.checkIfSmall(ctx)
	}
	if err == nil {
		d.file, err = os.Stat(d.path)
	}
	if err != nil {
		d.closePools()
		return explain(d.path, err)
	}
	return nil
}

func (d *database) openPools(maxSize int64) error {
	wal, err := os.Stat(d.path + "-wal")
	d.unclean = err == nil && wal.Size() > 0
	if err := create(d.path); err != nil {
		return err
	}
	params := writePragmas(maxSize)
	if info, err := os.Stat(d.path); err != nil || info.Size() > 0 { // the first page holds it, and would be written each time
		params["_pragma"] = slices.DeleteFunc(params["_pragma"], func(p string) bool { return strings.HasPrefix(p, "auto_vacuum") })
	}
	write, err := openPool(d.path, 1, params)
	if err != nil {
		return err
	}
	d.write.now.Store(write)
	read, err := openPool(d.path, readers, readPragmas())
	if err != nil {
		return err
	}
	d.read.now.Store(read)
	return nil
}

// Pragmas stand in the DSN, since one sent by Exec reaches a single connection of the pool. busy_timeout comes first,
// so that the others wait for a lock too; auto_vacuum has to be set before the first table exists.
func writePragmas(maxSize int64) url.Values {
	pages := logPages(maxSize)
	return url.Values{
		"mode":    {"rw"},
		"_txlock": {"immediate"},
		"_pragma": {
			"busy_timeout(1000)", "auto_vacuum(INCREMENTAL)", "journal_mode(WAL)", "synchronous(NORMAL)",
			fmt.Sprintf("wal_autocheckpoint(%d)", pages), fmt.Sprintf("journal_size_limit(%d)", pages*pageBytes),
		},
	}
}

// logPages is how long the write-ahead log grows before it is merged into the file: a sixteenth of what both may take,
// 4 MB at most, SQLite's own measure.
func logPages(maxSize int64) int64 { return min(max(maxSize/16/pageBytes, 32), 1000) }

// readPragmas are those of the connections of which the pages are read.
func readPragmas() url.Values {
	params := plainPragmas()
	params.Add("_pragma", "query_only(1)")
	return params
}

// plainPragmas are those of a connection beside the pools, which may write another file.
func plainPragmas() url.Values {
	return url.Values{"mode": {"rw"}, "_pragma": {"busy_timeout(5000)"}}
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
		if info, err := os.Stat(real); err == nil && info.IsDir() {
			return "", fmt.Errorf("%s: is a folder: name a file in it, as %s", path, filepath.Join(path, "shadowdiff.db"))
		}
		return real, nil
	}
	if to, err := os.Readlink(abs); err == nil {
		return "", fmt.Errorf("%s: a link to %s, which does not exist: remove the link, or create that file, an empty one", path, to)
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

// closePools closes all connections: the writing one last, so that it merges the log into the file and removes it.
func (d *database) closePools() error {
	return errors.Join(d.read.close(), d.write.close())
}

func (d *database) close() error { return errors.Join(d.closePools(), d.lock.Release()) }

// size is the bytes on disk: of the database and its log.
func (d *database) size() int64 { return sizeOf(d.path) + d.logSize() }

func (d *database) logSize() int64 { return sizeOf(d.path + "-wal") }

func sizeOf(path string) int64 {
	if info, err := os.Stat(path); err == nil {
		return info.Size()
	}
	return 0
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
		case sqlite3.SQLITE_ERROR:
			remedy = "its tables are not those of any version: put a backup in its place, or name another file"
		}
	}
	if remedy == "" {
		return fmt.Errorf("%s: %w", path, err)
	}
	told := fmt.Errorf("%s: %s (%w)", path, remedy, err)
	if full(err) {
		return noRoom{told}
	}
	return told
}

// noRoom is ErrNoRoom for a reason of its own.
type noRoom struct{ error }

func (e noRoom) Unwrap() error { return e.error }

func (e noRoom) Is(target error) bool { return target == ErrNoRoom }

const recovery = "move the file away to begin anew, or save what can be read with `sqlite3 FILE .recover`"

// extendedCode is SQLite's whole result code; 0 for an error that is not SQLite's.
func extendedCode(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code()
	}
	return 0
}

// primaryCode is SQLite's result code without its extension; 0 for an error that is not SQLite's.
func primaryCode(err error) int { return extendedCode(err) & 0xff }
