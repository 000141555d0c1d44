package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// Runs of one candidate at several versions of it: while a deployment is under way two of them answer in turns. One run is
// in force; the others, as far as they are asked for, are in memory and count what is theirs.

// maxLive bounds the runs that are in memory beside the one in force because a version of theirs still answers.
const maxLive = 16

// ErrManyRuns is what is answered when a run is asked for and there are many in memory already.
var ErrManyRuns = errors.New("many runs count at the same time already")

// VersionRun answers the latest run of a version under a fingerprint, in force or not, and has it count what is recorded
// for it in the next minutes; or ErrNotFound, or ErrManyRuns.
func (db *DB) VersionRun(ctx context.Context, fp Fingerprint, version string) (Run, error) {
	db.flushing.Lock()
	defer db.flushing.Unlock()
	run, err := db.versionRun(ctx, fp, version)
	if err != nil {
		return Run{}, fmt.Errorf("run of version %q: %w", version, err)
	}
	return run, nil
}

func (db *DB) versionRun(ctx context.Context, fp Fingerprint, version string) (Run, error) {
	var found *ledger
	for _, l := range db.ledgers.all() {
		if l.print == fp && l.run.Version == version && (found == nil || l.run.ID > found.run.ID) {
			found = l
		}
	}
	if found != nil {
		db.ledgers.keep(found.run.ID)
		return found.run, nil
	}
	row, err := db.runWhere(ctx, `candidate = ? AND rules = ? AND version = ? ORDER BY id DESC LIMIT 1`, fp.Candidate, fp.Rules, version)
	if err != nil {
		return Run{}, err
	}
	return row.Run, db.resume(ctx, row)
}

// KeepRun has a run count for the next minutes what is recorded for it, though it may be over; ErrManyRuns when there are
// many such.
func (db *DB) KeepRun(ctx context.Context, id int64) error {
	if db.ledgers.keep(id) {
		return nil
	}
	db.flushing.Lock()
	defer db.flushing.Unlock()
	if db.ledgers.keep(id) {
		return nil
	}
	row, err := db.runWhere(ctx, `id = ?`, id)
	if err == nil {
		err = db.resume(ctx, row)
	}
	if err != nil {
		return fmt.Errorf("keep run %d: %w", id, err)
	}
	return nil
}

// resume brings a run that is over back to memory. The caller holds flushing.
func (db *DB) resume(ctx context.Context, row *runRow) error {
	if db.closed {
		return errors.New("the store is closed")
	}
	if len(db.ledgers.all()) > maxLive {
		return ErrManyRuns
	}
	l, _, err := db.loadLedger(ctx, row)
	if err != nil {
		return err
	}
	db.ledgers.add(l)
	l.gather(db, time.Time{})
	db.publish()
	return nil
}

// TellVersion notes the version of a run that had none, and gives a run that nobody has named the version's name. A disk
// that does not take it is tried again.
func (db *DB) TellVersion(ctx context.Context, id int64, version string) (Run, error) {
	if err := ValidVersion(version); err != nil {
		return Run{}, fmt.Errorf("version of run %d: %w", id, err)
	}
	db.flushing.Lock()
	defer db.flushing.Unlock()
	l := db.ledgers.get(id)
	if l == nil {
		return Run{}, fmt.Errorf("version of run %d: %w", id, ErrNotFound)
	}
	run, at := l.run, 0
	run.Version = version
	if run.Name == numbered(id) {
		run.Name = VersionName(version)
		attempt, err := db.nextAttempt(ctx, run.Name)
		if err != nil {
			return Run{}, fmt.Errorf("version of run %d: %w", id, err)
		}
		run.Attempt, at = attempt, attempt
	}
	err := db.transact(ctx, func(tx *sql.Tx) error { return db.writeChange(ctx, tx, l, run, at) })
	l.unwritten = err != nil
	db.rename(l, run)
	return run, nil
}

// VersionName is what a run is called that a version has begun.
func VersionName(version string) string {
	if ValidRunName(version) == nil {
		return version
	}
	return "version " + version
}

// TakeUpRun puts a run that is in memory in force again, with all it has counted. A disk that does not take it is tried
// again.
func (db *DB) TakeUpRun(ctx context.Context, id int64) (Run, error) {
	db.flushing.Lock()
	defer db.flushing.Unlock()
	l := db.ledgers.get(id)
	if l == nil {
		return Run{}, fmt.Errorf("take up run %d: %w", id, ErrNotFound)
	}
	if l == db.ledgers.current() {
		return l.run, nil
	}
	now := time.Now().UTC().Truncate(time.Microsecond)
	db.begin(l, now)
	l.backlog.counters = true
	err := db.transact(ctx, func(tx *sql.Tx) error {
		w := writer{ctx: ctx, tx: tx, db: db, run: id}
		if err := w.endOthers(now); err != nil {
			return err
		}
		return w.runLine(l)
	})
	if err != nil {
		db.deps.Log.Warn("a run is in force again, and it is not on the disk yet", "run", id, "err", explain(db.file.path, err))
	}
	return l.run, nil
}

// VersionsSince lists when versions have begun runs since a moment, the earliest first.
func (db *DB) VersionsSince(ctx context.Context, since time.Time) ([]time.Time, error) {
	rows, err := db.file.read.QueryContext(ctx, `SELECT started FROM run WHERE begun_by = ? AND started >= ? ORDER BY id`,
		BegunByVersion, micros(since))
	list, err := scanAll(rows, err, func(scan func(...any) error, at *time.Time) error {
		var started int64
		err := scan(&started)
		*at = fromMicros(started)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the versions: %w", err)
	}
	return list, nil
}

// BegunByVersion is the By of a run that began because the candidate told a version not seen before.
const BegunByVersion = "version"
