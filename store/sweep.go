package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"time"
)

const (
	sweepEvery = time.Minute
	sweepFor   = 100 * time.Millisecond // that one flush may be followed by; what is left follows the next one
	dropAtOnce = 50                     // samples that one transaction removes
	freeAtOnce = 1000                   // pages that one transaction gives back
)

// sweep rolls old minutes up into hours, removes samples that are too old or too much, and gives free room back to the file
// system, all in small transactions. It ends when nothing is left to do, or soon after until: then it answers true.
func (db *DB) sweep(ctx context.Context, now, until time.Time) (more bool) {
	db.flushing.Lock()
	defer db.flushing.Unlock()
	if db.closed || db.missing != nil {
		return false
	}
	var err error
steps:
	for _, step := range []func(context.Context, time.Time) (bool, error){
		db.rollUp, db.dropOld, db.dropOver, db.shrink, db.trimActivity,
	} {
		for more = true; more; {
			if more, err = step(ctx, now); err != nil || more && time.Now().After(until) {
				break steps
			}
		}
	}
	if ctx.Err() == nil {
		db.health.swept(db.deps.Log, err)
	}
	if damaged(err) {
		db.missing = db.giveUp(ctx, err)
	}
	if l := db.ledgers.current(); l != nil && l.shelfChanged() {
		db.publish()
	}
	return more && err == nil
}

// dropOld removes samples that are older than they may be.
func (db *DB) dropOld(ctx context.Context, now time.Time) (more bool, err error) {
	n, err := db.drop(ctx, math.MaxInt64, micros(now.Add(-db.cfg.KeepSamples)))
	if err != nil {
		return false, fmt.Errorf("remove old samples: %w", err)
	}
	return n == dropAtOnce, nil
}

// pageBytes is SQLite's page size, its default since 2016.
const pageBytes = 4096

// pages is how many pages the database has, and how many of them hold nothing.
func (db *DB) pages(ctx context.Context) (pages, free int64, err error) {
	err = db.file.read.QueryRowContext(ctx, `SELECT page_count, freelist_count
		FROM pragma_page_count, pragma_freelist_count`).Scan(&pages, &free)
	if err != nil {
		return 0, 0, fmt.Errorf("measure the database: %w", err)
	}
	return pages, free, nil
}

// shrink gives free pages back when they are many (a few are soon used again), or the file is larger than it may be, and
// then its log.
func (db *DB) shrink(ctx context.Context, _ time.Time) (more bool, err error) {
	pages, free, err := db.pages(ctx)
	if err != nil {
		return false, err
	}
	if free > 0 && (pages > db.mostPages() || free >= 256 && free >= pages/20) {
		if err := db.free(ctx); err != nil {
			return false, err
		}
		more = free > freeAtOnce
	}
	if !more && db.file.size() > int64(db.cfg.MaxSize) { // readers may keep it from ending: then at the next sweep
		_, err = db.file.write.ExecContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`)
	}
	if err != nil {
		return false, fmt.Errorf("shrink the database: %w", err)
	}
	return more, nil
}

// free gives some free pages back.
func (db *DB) free(ctx context.Context) error {
	rows, err := db.file.write.QueryContext(ctx, fmt.Sprintf(`PRAGMA incremental_vacuum(%d)`, freeAtOnce))
	if err == nil { // each page freed is a step of the statement
		for rows.Next() {
		}
		err = errors.Join(rows.Err(), rows.Close())
	}
	if err == nil { // so that the file itself becomes shorter now, and not at some later time
		_, err = db.file.write.ExecContext(ctx, `PRAGMA wal_checkpoint(PASSIVE)`)
	}
	if err != nil {
		return fmt.Errorf("shrink the database: %w", err)
	}
	return nil
}

// victim is a sample to be removed.
type victim struct{ run, id, bytes int64 }

// drop removes the oldest samples that are older than before (microseconds), as many as free so many bytes and at most
// dropAtOnce, and takes them off the shelf.
func (db *DB) drop(ctx context.Context, bytes, before int64) (n int, err error) {
	var victims []victim
	err = db.transact(ctx, func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, `SELECT run, id, length(head) + length(bodies) FROM sample
			WHERE time < ? ORDER BY time, id LIMIT ?`, before, dropAtOnce)
		victims, err = scanAll(rows, err, func(scan func(...any) error, v *victim) error { return scan(&v.run, &v.id, &v.bytes) })
		if err != nil {
			return err
		}
		w := writer{ctx: ctx, tx: tx, db: db}
		for i := range victims {
			if bytes <= 0 {
				victims = victims[:i]
				break
			}
			bytes -= victims[i].bytes
			if err := w.drop(victims[i].id); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	for _, v := range victims {
		if l := db.ledgers.get(v.run); l != nil {
			l.forget(v.id)
		}
	}
	return len(victims), nil
}

func (l *ledger) forget(id int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if k := l.shelf.byID[id]; k != nil {
		l.shelf.forget(k)
	}
}

// trimActivity keeps the latest entries.
func (db *DB) trimActivity(ctx context.Context, _ time.Time) (more bool, err error) {
	_, err = db.file.write.ExecContext(ctx, `DELETE FROM activity WHERE id <= (SELECT max(id) FROM activity) - ?`, keptActivity)
	if err != nil {
		return false, fmt.Errorf("trim activity: %w", err)
	}
	return false, nil
}
