package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

const (
	foldAfter  = 24 * time.Hour // minutes of series become hours
	dropAtOnce = 200            // samples that one transaction removes
)

// sweep folds old minutes into hours, and removes samples that are too old or too much. What fails is tried again a
// minute later.
func (db *DB) sweep(ctx context.Context, now time.Time) {
	db.flushing.Lock()
	defer db.flushing.Unlock()
	if db.closed {
		return
	}
	err := errors.Join(db.fold(ctx, now), db.dropOld(ctx, now), db.dropOver(ctx), db.trimActivity(ctx))
	if err != nil && ctx.Err() == nil {
		db.deps.Log.Warn("old samples and series could not be removed", "err", err)
	}
	if l := db.ledgers.current(); l != nil && l.shelfChanged() {
		db.publish()
	}
}

// fold adds minutes that are older than a day to their hours. Minutes that the memory still holds are left alone, since
// the next flush writes them again.
func (db *DB) fold(ctx context.Context, now time.Time) error {
	limit := now.Add(-foldAfter).Unix() / hourSpan * hourSpan
	for _, l := range db.ledgers.all() {
		l.mu.Lock()
		for begin := range l.series.minutes {
			limit = min(limit, begin/hourSpan*hourSpan)
		}
		l.mu.Unlock()
	}
	err := db.transact(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO series (run, route, field, span, begin, compared, unknown, failed, raw,
				noise, candidate_only, control_only, both_sides)
			SELECT run, route, field, 3600, begin / 3600 * 3600, sum(compared), sum(unknown), sum(failed), sum(raw), sum(noise),
				sum(candidate_only), sum(control_only), sum(both_sides)
			FROM series WHERE span = 60 AND begin < ? GROUP BY run, route, field, begin / 3600 * 3600
			ON CONFLICT (run, route, field, span, begin) DO UPDATE SET
				compared = compared + excluded.compared, unknown = unknown + excluded.unknown,
				failed = failed + excluded.failed, raw = raw + excluded.raw, noise = noise + excluded.noise,
				candidate_only = candidate_only + excluded.candidate_only,
				control_only = control_only + excluded.control_only, both_sides = both_sides + excluded.both_sides`, limit)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `DELETE FROM series WHERE span = 60 AND begin < ?`, limit)
		return err
	})
	if err != nil {
		return fmt.Errorf("fold series: %w", err)
	}
	return nil
}

// dropOld removes samples older than they may be kept.
func (db *DB) dropOld(ctx context.Context, now time.Time) error {
	limit := micros(now.Add(-db.cfg.KeepSamples))
	for {
		n, err := db.drop(ctx, `SELECT run, id FROM sample WHERE time < ? ORDER BY time, id LIMIT ?`, limit, dropAtOnce)
		if err != nil {
			return fmt.Errorf("remove old samples: %w", err)
		}
		if n == 0 {
			return nil
		}
	}
}

// dropOver removes the oldest samples while the database is larger than it may be, until nine tenths of that are in
// use, and gives the free pages back to the file system.
func (db *DB) dropOver(ctx context.Context) error {
	pages, free, err := db.pages(ctx)
	if err != nil {
		return err
	}
	most := int64(db.cfg.MaxSize) / pageBytes
	if pages <= most {
		if free < 256 || free < pages/20 { // a few are soon used again
			return nil
		}
		return db.shrink(ctx)
	}
	for pages-free > most/10*9 {
		n, err := db.drop(ctx, `SELECT run, id FROM sample ORDER BY time, id LIMIT ?`, dropAtOnce/10)
		if err != nil {
			return fmt.Errorf("remove samples over the size: %w", err)
		}
		if n == 0 {
			db.health.oversize(db.deps.Log, pages*pageBytes)
			break
		}
		if pages, free, err = db.pages(ctx); err != nil {
			return err
		}
	}
	return db.shrink(ctx)
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

// shrink gives all free pages back.
func (db *DB) shrink(ctx context.Context) error {
	rows, err := db.file.write.QueryContext(ctx, `PRAGMA incremental_vacuum`)
	if err == nil { // each page freed is a step of the statement
		for rows.Next() {
		}
		err = errors.Join(rows.Err(), rows.Close())
	}
	if err == nil { // so that the file itself becomes shorter now, and not at some later time
		_, err = db.file.write.ExecContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`)
	}
	if err != nil {
		return fmt.Errorf("shrink the database: %w", err)
	}
	return nil
}

// drop removes the samples that a query names by run and id, and takes them off the shelf.
func (db *DB) drop(ctx context.Context, query string, args ...any) (n int, err error) {
	type victim struct{ run, id int64 }
	var victims []victim
	err = db.transact(ctx, func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, query, args...)
		victims, err = scanAll(rows, err, func(scan func(...any) error, v *victim) error { return scan(&v.run, &v.id) })
		if err != nil {
			return err
		}
		w := writer{ctx: ctx, tx: tx, db: db}
		for _, v := range victims {
			if err := w.drop(v.id); err != nil {
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

func (db *DB) trimActivity(ctx context.Context) error {
	_, err := db.file.write.ExecContext(ctx, `DELETE FROM activity WHERE id <= (SELECT max(id) FROM activity) - ?`, keptActivity)
	if err != nil {
		return fmt.Errorf("trim activity: %w", err)
	}
	return nil
}
