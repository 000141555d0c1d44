package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"shadowdiff/diff"

	sqlite3 "modernc.org/sqlite/lib"
)

// A file that cannot be relied on is set aside: renamed, never removed, and never written over. Then a new one takes its
// place, with all that the memory holds; what only the old one knew (runs that are over, samples, the past of the
// series) stays in it.

// Aside tells of the last file that was set aside.
type Aside struct {
	Path string    `json:"path"` // where it is now
	Why  string    `json:"why"`
	Time time.Time `json:"time"`

	// Foreign is what another has put in the place of the database, which has been written there anew, whole.
	Foreign bool `json:"foreign"`
}

// start opens the file for the first time. A damaged one of ours is set aside.
func (db *DB) start(ctx context.Context) error {
	err := db.open(ctx)
	if err == nil {
		err = explain(db.file.path, errors.Join(db.loadFolds(ctx), db.loadSettings(ctx), db.loadRules(ctx)))
	}
	if !damaged(err) || !ours(db.file.path) {
		return err
	}
	db.file.closePools()
	if failed := db.setAside("damaged", err); failed != nil {
		return errors.Join(err, failed)
	}
	db.fresh = true
	return db.open(ctx)
}

// open opens the file and prepares what will be said to it.
func (db *DB) open(ctx context.Context) error {
	err := db.file.open(ctx, int64(db.cfg.MaxSize))
	if err != nil {
		return err
	}
	if db.stmts, err = prepare(ctx, db.file.write.now.Load()); err != nil {
		db.file.closePools()
		return explain(db.file.path, err)
	}
	if f := db.file; f.former > 0 && f.former < f.schema {
		db.deps.Log.Info("the database has a newer form now; an older shadowdiff refuses it", "db", f.path, "schema_before", f.former,
			"schema", f.schema)
	}
	clear(db.seriesNames)
	return nil
}

// damaged tells that an error means a file whose content is broken.
func damaged(err error) bool {
	if errors.Is(err, errDamaged) {
		return true
	}
	switch primaryCode(err) {
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return true
	case sqlite3.SQLITE_IOERR:
		return extendedCode(err) == sqlite3.SQLITE_IOERR_SHORT_READ
	}
	return false
}

// ours tells that a file begins as ours do: with SQLite's first words, and our mark at their place (byte 68 of the file
// format's header). What another program has written there is not ours to move.
func ours(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	header := make([]byte, 72)
	if _, err := io.ReadFull(f, header); err != nil {
		return false
	}
	mark := uint32(header[68])<<24 | uint32(header[69])<<16 | uint32(header[70])<<8 | uint32(header[71])
	return string(header[:16]) == "SQLite format 3\x00" && mark == application
}

// setAside renames what stands at the database's path, with the log beside it, and tells of it. The file is closed.
func (db *DB) setAside(word string, why error) error {
	now := time.Now().UTC()
	aside := freeName(db.file.path + "." + word + "-" + now.Format("20060102T150405Z"))
	for _, part := range []string{"-wal", "-shm", ""} { // the database last: while it stands there this can be done again
		if err := os.Rename(db.file.path+part, aside+part); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("set the database aside: %w", err)
		}
	}
	db.health.setAside(db.deps.Log, Aside{Path: aside, Why: cause(why).Error(), Time: now, Foreign: why == errMoved})
	return nil
}

// cause is an error without what to do about it, which has been done.
func cause(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil || inner == errDamaged {
			return err
		}
		err = inner
	}
}

// freeName is a name that no file has.
func freeName(base string) string {
	name := base
	for i := 2; ; i++ {
		if _, err := os.Lstat(name); errors.Is(err, fs.ErrNotExist) {
			return name
		}
		name = fmt.Sprintf("%s-%d", base, i)
	}
}

// errMoved is a file that is no longer where it was.
var errMoved = errors.New("the database was removed or replaced while it was in use")

// mind sees that the database is still the file that was opened, and that there is one. The caller holds flushing.
func (db *DB) mind(ctx context.Context) {
	if db.closed {
		return
	}
	if db.down {
		db.missing = db.renew(ctx)
		return
	}
	now, err := os.Stat(db.file.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) || err == nil && os.SameFile(now, db.file.file) {
		db.missing = nil
		return
	}
	db.missing = db.moveIn(ctx, err == nil)
}

// moveIn puts a copy of the file that is in use, which has no name any more, where it was. What another has put there is
// set aside.
func (db *DB) moveIn(ctx context.Context, replaced bool) error {
	if err := db.file.relock(); err != nil { // what stands there is another process's
		return fmt.Errorf("%w: %w", errMoved, err)
	}
	fresh := freeName(db.file.path + ".new")
	err := db.copyTo(ctx, db.file.write.now.Load(), fresh)
	if damaged(err) {
		return db.giveUp(ctx, err)
	}
	if err != nil {
		os.Remove(fresh)
		return fmt.Errorf("%w: %w", errMoved, err)
	}
	db.file.closePools()
	db.down = true
	if replaced {
		err = db.setAside("replaced", errMoved)
	} else { // what is left of it is in the copy
		os.Remove(db.file.path + "-wal")
		os.Remove(db.file.path + "-shm")
	}
	if err == nil {
		err = os.Rename(fresh, db.file.path)
	}
	if err == nil {
		err = db.open(ctx)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errMoved, err)
	}
	db.down = false
	db.deps.Log.Warn("the database was removed or replaced, and is written anew", "path", db.file.path)
	if !replaced {
		return nil
	}
	return db.LogActivity(ctx, "store", "set aside", "another file in its place: "+db.Health().Aside.Path)
}

// giveUp takes a new file in the place of one that is damaged.
func (db *DB) giveUp(ctx context.Context, why error) error {
	db.file.closePools()
	db.down, db.broken = true, why
	return db.renew(ctx)
}

// renew opens a new file, when what was there has been set aside, and has everything written to it that the memory holds.
func (db *DB) renew(ctx context.Context) error {
	if err := db.file.relock(); err != nil {
		return err
	}
	if db.broken != nil {
		if err := db.setAside("damaged", db.broken); err != nil {
			return err
		}
		db.broken = nil
	}
	if err := db.open(ctx); err != nil {
		return err
	}
	db.down, db.fresh, db.folds = false, true, folds{}
	for _, l := range db.ledgers.all() {
		l.rewrite()
	}
	return nil
}

// rewrite has the next flush write all that the memory holds of the run: the disk has nothing of it.
func (l *ledger) rewrite() {
	l.profiles.again()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.series.rewrite()
	l.shelf.rewrite()
	l.fresh = true
	b := &l.backlog
	l.unwritten, b.counters, b.moved, b.freed, b.doomed = true, true, nil, nil, nil
	if l.tallies != nil {
		b.add(l.tallies, l.tallies)
		b.confirmed = confirmationsOf(l.tallies)
	}
}

// rewrite forgets the exchanges that were on the disk.
func (s *shelf) rewrite() {
	for _, k := range s.byID {
		s.forget(k)
	}
	s.freed, s.doomed = nil, nil
}

// confirmationsOf are all confirmations of a run.
func confirmationsOf(all *diff.Tallies) (list []diff.Confirmed) {
	add := func(route, field string, test diff.Test, c *diff.Confirmation) {
		if c != nil {
			list = append(list, diff.Confirmed{Route: route, Field: field, Test: test, Confirmation: *c})
		}
	}
	add("", latencyField, diff.TestDrift, all.Total.Latency.Confirmed)
	add("", transportField, diff.TestPresence, all.Transport.Confirmed)
	for _, r := range all.Routes {
		add(r.Route, latencyField, diff.TestDrift, r.Latency.Confirmed)
	}
	for _, f := range all.Fields {
		for test := range f.Tests {
			add(f.Route, f.Field, diff.Test(test), f.Tests[test].Confirmed)
		}
	}
	return list
}
