package store

import (
	"context"
	"fmt"
	"strconv"

	"shadowdiff/diff"
)

// FieldWindow is what one test of a field of a route has counted in a window of time.
type FieldWindow struct {
	Route, Field string
	Test         diff.Test
	diff.Counts
}

// After is a place in a list of FieldWindows: those behind this one are wanted. The zero After is before the first.
type After struct{ Route, Field, Test string }

// WindowFields lists what counted between Since and Until, whole minutes, hours or days as they are kept, in the order of
// route, field and the test's word; more tells that others follow. Of the Filter Run, Route, Field, Since, Until and
// Limit are used, and the test unless it is nil; a Limit of 0 is 50. In an hour in which over 1,000 fields differ those
// that come last are found under diff.Other of their route.
func (db *DB) WindowFields(ctx context.Context, f Filter, test *diff.Test, after After) (list []FieldWindow, more bool, err error) {
	if f.Route, err = db.routeOf(ctx, f); err != nil {
		return nil, false, fmt.Errorf("read window: %w", err)
	}
	f.Run = db.runOf(f)
	if f.Limit <= 0 {
		f.Limit = 50
	}
	addUp := windowByName
	if f.Route == "" && f.Field == "" {
		few, err := db.fewRows(ctx, f)
		if err != nil {
			return nil, false, fmt.Errorf("read window: %w", err)
		}
		if few {
			addUp = windowByMoment
		}
	}
	query, args := addUp(f, test, after)
	if list, err = db.readWindow(ctx, query, args); err != nil {
		return nil, false, fmt.Errorf("read window: %w", err)
	}
	list, more = firstPage(list, f.Limit)
	return list, more, nil
}

func (db *DB) readWindow(ctx context.Context, query string, args []any) ([]FieldWindow, error) {
	rows, err := db.file.read.QueryContext(ctx, query, args...)
	return scanAll(rows, err, func(scan func(...any) error, w *FieldWindow) error {
		var word string
		if err := scan(&w.Route, &w.Field, &word, &w.CandidateOnly, &w.ControlOnly, &w.Both); err != nil {
			return err
		}
		return w.Test.UnmarshalText([]byte(word))
	})
}

// fewWindowRows is how many rows a window has at most where it costs less to add them all up, by moment, than to go from
// name to name until the page is full.
const fewWindowRows = 20_000

// fewRows tells whether the rows of a window are few.
func (db *DB) fewRows(ctx context.Context, f Filter) (few bool, err error) {
	since, until := f.window()
	err = db.file.read.QueryRowContext(ctx, `SELECT count(*) <= ?4 FROM (SELECT 1 FROM run_series r
		CROSS JOIN field_series f ON f.span = r.span AND f.begin = r.begin
		WHERE r.run = ?1 AND r.begin + r.span > ?2 AND r.begin < ?3 LIMIT ?4 + 1)`, f.Run, since, until, fewWindowRows).Scan(&few)
	return few, err
}

// window is the time that is asked for, in seconds since 1970.
func (f *Filter) window() (since, until int64) {
	since, until = 0, 1<<62
	if !f.Since.IsZero() {
		since = f.Since.Unix()
	}
	if !f.Until.IsZero() {
		until = f.Until.Unix()
	}
	return since, until
}

// windowByMoment adds up what is there, moment by moment, before anything has a name.
func windowByMoment(f Filter, test *diff.Test, after After) (query string, args []any) {
	where := windowConditions(f, test, after)
	return `SELECT n.route, n.field, n.test, w.candidate_only, w.control_only, w.both_sides FROM
		(SELECT f.name, sum(f.candidate_only) AS candidate_only, sum(f.control_only) AS control_only, sum(f.both_sides) AS both_sides
			FROM run_series r CROSS JOIN field_series f ON f.span = r.span AND f.begin = r.begin
			WHERE r.run = ?1 AND r.begin + r.span > ?2 AND r.begin < ?3 GROUP BY f.name) w
		CROSS JOIN series_name n ON n.id = w.name WHERE ` + where.String() + windowPage(f), where.args
}

// windowByName goes from name to name in their order, and ends when the page is full.
func windowByName(f Filter, test *diff.Test, after After) (query string, args []any) {
	names := ""
	if f.Field != "" && f.Route == "" {
		names = " INDEXED BY series_name_field"
	}
	where := windowConditions(f, test, after)
	where.and("n.last > ?2 AND n.first < ?3")
	return `SELECT n.route, n.field, n.test, sum(f.candidate_only), sum(f.control_only), sum(f.both_sides)
		FROM series_name n` + names + ` CROSS JOIN (SELECT 60 AS span UNION ALL SELECT 3600 UNION ALL SELECT 86400) s
		CROSS JOIN field_series f INDEXED BY field_series_name ON f.name = n.id AND f.span = s.span AND f.begin > ?2 - s.span AND f.begin < ?3
		WHERE ` + where.String() + ` GROUP BY n.route, n.field, n.test` + windowPage(f), where.args
}

// windowConditions is which names are asked for. Their first three arguments are the run and the window's two ends.
func windowConditions(f Filter, test *diff.Test, after After) conditions {
	since, until := f.window()
	where := conditions{texts: []string{"n.run = ?1"}, args: []any{f.Run, since, until}}
	if f.Route != "" {
		where.and("n.route = ?", f.Route)
	}
	if f.Field != "" {
		where.and("n.field = ?", f.Field)
	}
	if (after != After{}) {
		where.and("(n.route, n.field, n.test) > (?, ?, ?)", after.Route, after.Field, after.Test)
	}
	if test != nil {
		where.and("n.test = ?", test.String())
	}
	return where
}

// windowPage is the order of a page and its length, and one more, which tells that others follow.
func windowPage(f Filter) string {
	return ` ORDER BY n.route, n.field, n.test LIMIT ` + strconv.Itoa(f.Limit+1)
}
