package store

import (
	"strings"
	"testing"
	"time"

	"shadowdiff/diff"

	"github.com/google/go-cmp/cmp"
)

// plan is what SQLite says of how it would answer a query.
func plan(t *testing.T, db *DB, query string, args []any) string {
	t.Helper()
	rows, err := db.file.read.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+query, args...)
	lines, err := scanAll(rows, err, func(scan func(...any) error, line *string) error {
		var id, parent, unused int
		return scan(&id, &parent, &unused, line)
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

// No read over time goes through a whole table, whatever is asked for, and a page of a window ends when it is full: names
// come in their order, unsorted.
func TestReadsOverTimeGoByIndex(t *testing.T) {
	db := openStore(t, testConfig(t), Deps{})
	test := diff.TestValue
	for name, c := range map[string]struct {
		filter Filter
		test   *diff.Test
		after  After
		addUp  func(Filter, *diff.Test, After) (string, []any)
		sorted bool // first: the names are not those of one index
	}{
		"all of a window":        {},
		"the next page":          {after: After{"GET /a", "body.x", "value"}},
		"a test":                 {test: &test},
		"a route":                {filter: Filter{Route: "GET /a"}},
		"a field of a route":     {filter: Filter{Route: "GET /a", Field: "body.x"}},
		"a field":                {filter: Filter{Field: "body.x"}, sorted: true},
		"the few of a short one": {addUp: windowByMoment, sorted: true},
	} {
		c.filter.Since = noon.Add(-time.Hour)
		byName := c.addUp == nil
		if byName {
			c.addUp = windowByName
		}
		query, args := c.addUp(c.filter, c.test, c.after)
		got := plan(t, db, query, args)
		t.Logf("%s:\n%s", name, got)
		if searchesAll(got) || byName && !strings.Contains(got, "field_series_name") {
			t.Errorf("%s goes through a table:\n%s", name, got)
		}
		if !c.sorted && strings.Contains(got, "B-TREE") {
			t.Errorf("%s is sorted, so all of it is read for one page:\n%s", name, got)
		}
	}
	for name, f := range map[string]Filter{
		"all routes": {}, "a route": {Route: "GET /a"}, "a field": {Field: "body.x"}, "a field of a route": {Route: "GET /a", Field: "body.x"},
	} {
		query, args := seriesQuery(f)
		got := plan(t, db, query, args)
		t.Logf("series of %s:\n%s", name, got)
		if searchesAll(got) || strings.Contains(got, "SEARCH n USING COVERING INDEX sqlite_autoindex_series_name_1 (run=?)") ||
			f.Field != "" && !strings.Contains(got, "field_series_name") {
			t.Errorf("the series of %s goes through a table:\n%s", name, got)
		}
	}
}

// searchesAll tells whether a plan has a whole table read.
func searchesAll(plan string) bool {
	for line := range strings.Lines(plan) {
		for _, alias := range []string{"n", "r", "f", "o", "field_series", "route_series", "run_series", "series_name"} {
			if strings.TrimSpace(line) == "SCAN "+alias {
				return true
			}
		}
	}
	return false
}

// Whichever way a window is added up, it is the same window.
func TestAWindowIsTheSameByNameAndByMoment(t *testing.T) {
	m := newMonth(t, testConfig(t), Deps{}, 8, 30, 100)
	m.pass(17*24*time.Hour, 5*time.Hour)
	m.pass(90*time.Minute, time.Minute)
	for _, f := range []Filter{
		{Limit: 5000},
		{Limit: 7},
		{Limit: 5000, Since: m.at.Add(-20 * time.Minute)},
		{Limit: 5000, Until: m.at.Add(-24 * time.Hour)},
		{Limit: 5000, Since: m.at.Add(-16 * 24 * time.Hour), Until: m.at.Add(-40 * time.Minute)},
	} {
		f.Run = m.run
		var lists [2][]FieldWindow
		for i, addUp := range []func(Filter, *diff.Test, After) (string, []any){windowByMoment, windowByName} {
			query, args := addUp(f, nil, After{})
			var err error
			if lists[i], err = m.db.readWindow(t.Context(), query, args); err != nil {
				t.Fatal(err)
			}
		}
		if d := cmp.Diff(lists[0], lists[1]); d != "" || len(lists[0]) == 0 {
			t.Errorf("%d by moment, (-by moment +by name):\n%s", len(lists[0]), d)
		}
	}
}
