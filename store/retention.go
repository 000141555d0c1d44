package store

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"math"
	"time"
)

// What gives way when the database is larger than it may be, in this order: samples, the oldest first; the series of
// fields, minutes before hours before days and of these the oldest, with their names; the series of routes likewise; what
// runs that are over know of fields without a confirmation. Run totals, routes' totals, confirmations, and the series of
// whole runs never do.

const (
	detailsAtOnce = 500   // fields of a run that is over that one transaction removes
	namesAtOnce   = 2_000 // names of series
)

// dropOver removes what comes first once the database is larger than it may be, until nine tenths of that are in use.
func (db *DB) dropOver(ctx context.Context, _ time.Time) (more bool, err error) {
	pages, free, err := db.pages(ctx)
	if err != nil {
		return false, err
	}
	used, most := pages-free, db.mostPages()
	if used > most || pages > most && used > most/10*9 {
		db.over = true
	}
	if !db.over || used <= most/10*9 {
		db.over = false
		return false, nil
	}
	excess := (used - most/10*9) * pageBytes
	for _, step := range []func() (bool, error){
		func() (bool, error) { return db.dropSamples(ctx, excess) },
		func() (bool, error) { return db.dropSeries(ctx, "field_series", db.health.lostFields) },
		func() (bool, error) { return db.dropNames(ctx, "field_series", `field <> ''`) },
		func() (bool, error) { return db.dropSeries(ctx, "route_series", db.health.lostRoutes) },
		func() (bool, error) { return db.dropNames(ctx, "route_series", `field = ''`) },
		func() (bool, error) { return db.dropDetails(ctx) },
	} {
		if more, err := step(); more || err != nil {
			return more, err
		}
	}
	db.health.oversize(db.deps.Log, used*pageBytes)
	return false, nil
}

// mostPages is how many pages the database may have, so that there is room for its log beside it.
func (db *DB) mostPages() int64 {
	most := int64(db.cfg.MaxSize)
	return most/pageBytes - 2*logPages(most)
}

// dropSamples removes the oldest samples that together are so large.
func (db *DB) dropSamples(ctx context.Context, bytes int64) (more bool, err error) {
	n, err := db.drop(ctx, bytes, math.MaxInt64)
	if n > 0 {
		db.health.lostSamples(db.deps.Log, n)
	}
	return n > 0, err
}

// dropSeries removes the oldest minute of a table, or hour if there is no minute, or day, and has it noted up to when it
// was. What the memory holds it would write again.
func (db *DB) dropSeries(ctx context.Context, table string, lost func(*slog.Logger, time.Time)) (more bool, err error) {
	for _, span := range []int64{minuteSpan, hourSpan, daySpan} {
		var oldest sql.NullInt64
		err := db.file.read.QueryRowContext(ctx, `SELECT min(begin) FROM `+table+` WHERE span = ?`, span).Scan(&oldest)
		if err != nil {
			return false, fmt.Errorf("find the oldest series: %w", err)
		}
		if !oldest.Valid || span == minuteSpan && oldest.Int64 >= db.heldMinutes() {
			continue
		}
		err = db.transact(ctx, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, `DELETE FROM `+table+` WHERE span = ? AND begin = ?`, span, oldest.Int64)
			return err
		})
		if err != nil {
			return false, fmt.Errorf("remove old series: %w", err)
		}
		lost(db.deps.Log, time.Unix(oldest.Int64+span, 0).UTC())
		return true, nil
	}
	return false, nil
}

// heldMinutes is the first second of the oldest minute that is in memory.
func (db *DB) heldMinutes() int64 {
	oldest := int64(math.MaxInt64)
	for _, l := range db.ledgers.all() {
		oldest = min(oldest, l.oldestMinute())
	}
	return oldest
}

// dropNames removes the names of which a table of series has nothing any more: those of routes, or of fields.
func (db *DB) dropNames(ctx context.Context, table, whose string) (more bool, err error) {
	err = db.transact(ctx, func(tx *sql.Tx) error {
		done, err := tx.ExecContext(ctx, `DELETE FROM series_name WHERE id IN (SELECT id FROM series_name
			WHERE `+whose+` AND last <= (SELECT coalesce(min(begin), ?1) FROM `+table+`) LIMIT ?2)`, db.heldMinutes(), namesAtOnce)
		if err != nil {
			return err
		}
		n, err := done.RowsAffected()
		more = n > 0
		clear(db.seriesNames)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("remove names of series: %w", err)
	}
	return more, nil
}

// details are the tables that say more of a run's routes and fields than whether they differ, as far as runs that are over
// can do without them.
var details = [...]string{"profile", "attribute", "test_tally", "field_tally"}

// dropDetails removes what the oldest run that is over, and that has any, knows of fields of which nothing was confirmed.
func (db *DB) dropDetails(ctx context.Context) (more bool, err error) {
	live := int64(math.MaxInt64)
	if db.ledgers.current() == nil {
		return false, nil // which run goes on is not known yet
	}
	for _, l := range db.ledgers.all() {
		live = min(live, l.run.ID)
	}
	for _, table := range details {
		confirmed := ""
		if table != "attribute" {
			confirmed = ` AND NOT EXISTS (SELECT 1 FROM confirmation c
				WHERE c.run = d.run AND c.route = d.route AND c.field = d.field)`
		}
		if table == "test_tally" {
			confirmed += ` AND route <> ''` // of the transport of all routes together
		}
		err := db.transact(ctx, func(tx *sql.Tx) error {
			done, err := tx.ExecContext(ctx, `DELETE FROM `+table+` WHERE rowid IN
				(SELECT rowid FROM `+table+` d WHERE d.run < ?`+confirmed+` ORDER BY d.run LIMIT ?)`, live, detailsAtOnce)
			if err != nil {
				return err
			}
			n, err := done.RowsAffected()
			more = n > 0
			return err
		})
		if err != nil {
			return false, fmt.Errorf("remove details of runs that are over: %w", err)
		}
		if more {
			db.health.lostDetails(db.deps.Log)
			return true, nil
		}
	}
	return false, nil
}
