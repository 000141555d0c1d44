package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

const (
	hoursAfter = 24 * time.Hour      // minutes of series become hours
	daysAfter  = 14 * 24 * time.Hour // hours become days
)

// rollUp adds the oldest minute to its hour, if that is a day ago, or else the oldest hour to its day, if that is two weeks
// ago: one in one transaction, so that the next flush does not wait. Minutes that the memory still holds are left alone,
// since the next flush writes them again.
func (db *DB) rollUp(ctx context.Context, now time.Time) (more bool, err error) {
	limit := min(now.Add(-hoursAfter).Unix(), db.heldMinutes()) / hourSpan * hourSpan
	if more, err := db.rollUpOldest(ctx, minuteSpan, hourSpan, limit); more || err != nil {
		return more, err
	}
	return db.rollUpOldest(ctx, hourSpan, daySpan, now.Add(-daysAfter).Unix()/daySpan*daySpan)
}

// rollUpOldest adds the oldest rows of one span that begin before limit to those of a longer one.
func (db *DB) rollUpOldest(ctx context.Context, span, into, limit int64) (more bool, err error) {
	var oldest sql.NullInt64
	err = db.file.read.QueryRowContext(ctx, `SELECT min(begin) FROM run_series WHERE span = ? AND begin < ?`, span, limit).Scan(&oldest)
	if err != nil || !oldest.Valid {
		return false, err
	}
	err = db.transact(ctx, func(tx *sql.Tx) error {
		for _, table := range seriesTables {
			if _, err := tx.ExecContext(ctx, table.rollUp, span, oldest.Int64, into, oldest.Int64/into*into); err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, `DELETE FROM `+table.name+` WHERE span = ? AND begin = ?`, span, oldest.Int64); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("roll series up: %w", err)
	}
	return true, nil
}

// seriesTable is a table of series and what is said to it.
type seriesTable struct{ name, rollUp string }

// seriesTables are those that hold counts over time. The last is that which the others need.
var seriesTables = [...]seriesTable{
	{"field_series", `INSERT INTO field_series (span, begin, name, candidate_only, control_only, both_sides)
		SELECT ?3, ?4, name, candidate_only, control_only, both_sides FROM field_series WHERE span = ?1 AND begin = ?2` + addField},
	{"route_series", `INSERT INTO route_series (span, begin, name, ` + wholeSeries + `)
		SELECT ?3, ?4, name, ` + wholeSeries + ` FROM route_series WHERE span = ?1 AND begin = ?2
		ON CONFLICT (span, begin, name)` + addWhole},
	{"run_series", `INSERT INTO run_series (run, span, begin, ` + wholeSeries + `)
		SELECT run, ?3, ?4, ` + wholeSeries + ` FROM run_series WHERE span = ?1 AND begin = ?2
		ON CONFLICT (run, span, begin)` + addWhole},
}

const (
	// addWhole adds counts to those that are there.
	addWhole = ` DO UPDATE SET
		compared = compared + excluded.compared, unknown = unknown + excluded.unknown,
		failed = failed + excluded.failed, raw = raw + excluded.raw, noise = noise + excluded.noise,
		candidate_only = candidate_only + excluded.candidate_only,
		control_only = control_only + excluded.control_only, both_sides = both_sides + excluded.both_sides`

	addField = ` ON CONFLICT (span, begin, name) DO UPDATE SET
		candidate_only = candidate_only + excluded.candidate_only,
		control_only = control_only + excluded.control_only, both_sides = both_sides + excluded.both_sides`
)

// oldestMinute is the first second of the oldest minute in memory.
func (l *ledger) oldestMinute() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	oldest := int64(1 << 62)
	for begin := range l.series.minutes {
		oldest = min(oldest, begin)
	}
	return oldest
}
