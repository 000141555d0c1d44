package store

import (
	"context"
	"fmt"
	"strings"

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
	run := db.runOf(f)
	since, until := int64(0), int64(1<<62)
	if !f.Since.IsZero() {
		since = f.Since.Unix()
	}
	if !f.Until.IsZero() {
		until = f.Until.Unix()
	}
	where, args := []string{"n.run = ?"}, []any{run, since, until, run}
	and := func(wanted bool, condition string, values ...any) {
		if wanted {
			where, args = append(where, condition), append(args, values...)
		}
	}
	and(f.Route != "", "n.route = ?", f.Route)
	and(f.Field != "", "n.field = ?", f.Field)
	and(after != After{}, "(n.route, n.field, n.test) > (?, ?, ?)", after.Route, after.Field, after.Test)
	if test != nil {
		and(true, "n.test = ?", test.String())
	}
	limit := f.Limit
	if limit <= 0 {
		limit = 50
	}
	rows, err := db.file.read.QueryContext(ctx, windowQuery+strings.Join(where, " AND ")+
		` ORDER BY n.route, n.field, n.test LIMIT ?`, append(args, limit+1)...)
	list, err = scanAll(rows, err, func(scan func(...any) error, w *FieldWindow) error {
		var word string
		if err := scan(&w.Route, &w.Field, &word, &w.CandidateOnly, &w.ControlOnly, &w.Both); err != nil {
			return err
		}
		return w.Test.UnmarshalText([]byte(word))
	})
	if err != nil {
		return nil, false, fmt.Errorf("read window: %w", err)
	}
	if more = len(list) > limit; more {
		list = list[:limit]
	}
	return list, more, nil
}

// windowQuery goes from one moment of the run to the next and adds up what is there, before anything has a name.
const windowQuery = `SELECT n.route, n.field, n.test, w.candidate_only, w.control_only, w.both_sides FROM
	(SELECT f.name, sum(f.candidate_only) AS candidate_only, sum(f.control_only) AS control_only, sum(f.both_sides) AS both_sides
		FROM run_series r CROSS JOIN field_series f ON f.span = r.span AND f.begin = r.begin
		WHERE r.run = ? AND r.begin + r.span > ? AND r.begin < ? GROUP BY f.name) w
	CROSS JOIN series_name n ON n.id = w.name WHERE `
