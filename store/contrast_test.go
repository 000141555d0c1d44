package store

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"shadowdiff/diff"
)

// contrastOf records two runs and answers, for each field, what has become of it: "new body.a: text".
func contrastOf(t *testing.T, then, now func(record func(n int, route string, fields ...diff.FieldComparison))) []string {
	t.Helper()
	db := openStore(t, testConfig(t), Deps{})
	var ids []int64
	for _, story := range []func(func(int, string, ...diff.FieldComparison)){then, now} {
		run := beginRun(t, db, "v")
		ids = append(ids, run.ID)
		i := 0
		story(func(n int, route string, fields ...diff.FieldComparison) {
			for range n {
				i++
				c := compared(route, noon.Add(time.Duration(i)*time.Millisecond), fields...)
				c.Latency = diff.LatencyPair{}
				db.Record(run.ID, c)
			}
		})
		flush(t, db)
	}
	c := NewContrast(snapshotOf(t, db, ids[0]), snapshotOf(t, db, ids[1]), db.CurrentName)
	var got []string
	total := 0
	for _, f := range c.Fields {
		got = append(got, fmt.Sprintf("%s %s %s: %s", f.Fate, f.Route, f.Field, f.Text))
	}
	for _, n := range c.Fates {
		total += n
	}
	if total != len(got) {
		t.Errorf("%d fields, %d fates", len(got), total)
	}
	return got
}

// Each fate has its words, and none says more than the counts do.
func TestWhatBecameOfADifference(t *testing.T) {
	const route = "GET /a"
	different := field("body.x", 1, 0)
	for _, c := range []struct {
		name      string
		then, now func(func(int, string, ...diff.FieldComparison))
		want      string // without the route; empty: no field is told of
	}{
		{
			"still", func(record func(int, string, ...diff.FieldComparison)) { record(30, route, different) },
			func(record func(int, string, ...diff.FieldComparison)) { record(40, route, different) },
			"still body.x: confirmed in both runs",
		},
		{
			"graver", func(record func(int, string, ...diff.FieldComparison)) { record(30, route, different) },
			func(record func(int, string, ...diff.FieldComparison)) { record(40, route, field("body.x", 4, 0)) },
			"still body.x: confirmed in both runs: its value then, its presence now",
		},
		{
			"gone", func(record func(int, string, ...diff.FieldComparison)) { record(300, route, different) },
			func(record func(int, string, ...diff.FieldComparison)) { record(1000, route) },
			"gone body.x: gone: not seen in 1,000 requests, of which the least rate proven then would have shown it",
		},
		{
			"not seen again",
			func(record func(int, string, ...diff.FieldComparison)) {
				record(40, route, different)
				record(2000, route)
			},
			func(record func(int, string, ...diff.FieldComparison)) { record(200, route) },
			"not_seen_again body.x: not seen again in 200 requests",
		},
		{
			"too few",
			func(record func(int, string, ...diff.FieldComparison)) {
				record(40, route, different)
				record(2000, route)
			},
			func(record func(int, string, ...diff.FieldComparison)) { record(30, route) },
			"too_few body.x: too few requests to say: not seen again in 30 requests",
		},
		{
			"no request at all", func(record func(int, string, ...diff.FieldComparison)) { record(40, route, different) },
			func(record func(int, string, ...diff.FieldComparison)) { record(3000, "GET /b") },
			"too_few body.x: its route was not compared",
		},
		{
			"seen again", func(record func(int, string, ...diff.FieldComparison)) { record(40, route, different) },
			func(record func(int, string, ...diff.FieldComparison)) {
				record(3, route, different)
				record(20, route)
			},
			"seen_again body.x: seen again in 3 of 23 requests, not confirmed",
		},
		{
			"noise alone", func(record func(int, string, ...diff.FieldComparison)) { record(500, route, different) },
			func(record func(int, string, ...diff.FieldComparison)) {
				record(30, route, different)
				record(30, route, field("body.x", 0, 1))
				record(3000, route)
			},
			"gone body.x: seen now in 30 of 3,060 requests as noise alone: the excess is less than the least that was proven then",
		},
		{
			"new", func(record func(int, string, ...diff.FieldComparison)) { record(2000, route) },
			func(record func(int, string, ...diff.FieldComparison)) { record(100, route, different) },
			"new body.x: not seen then in 2,000 requests; confirmed now",
		},
		{
			"new, as far as is known", func(record func(int, string, ...diff.FieldComparison)) { record(1, route) },
			func(record func(int, string, ...diff.FieldComparison)) {
				record(40, route, different)
				record(2000, route)
			},
			"newly_confirmed body.x: confirmed now; then there were too few requests to say (1)",
		},
		{
			"a suspicion confirmed",
			func(record func(int, string, ...diff.FieldComparison)) {
				record(2, route, different)
				record(2000, route)
			},
			func(record func(int, string, ...diff.FieldComparison)) { record(40, route, different) },
			"newly_confirmed body.x: seen then in 2 of 2,002 requests and not confirmed; confirmed now",
		},
		{
			"quieter", func(record func(int, string, ...diff.FieldComparison)) { record(200, route, field("body.at", 1, 1)) },
			func(record func(int, string, ...diff.FieldComparison)) {
				record(100, route, field("body.at", 1, 1))
				record(100, route)
			},
			"noise body.at: less noise than then",
		},
		{
			"as noisy as before", func(record func(int, string, ...diff.FieldComparison)) { record(200, route, field("body.at", 1, 1)) },
			func(record func(int, string, ...diff.FieldComparison)) { record(50, route, field("body.at", 1, 1)) },
			"",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := strings.ReplaceAll(strings.Join(contrastOf(t, c.then, c.now), "\n"), " "+route+" ", " ")
			if got != c.want {
				t.Errorf("%s\nwant %s", got, c.want)
			}
		})
	}
}

// The gravest come first: what is new, what is still there, and what is gone last.
func TestContrastsAreSorted(t *testing.T) {
	got := contrastOf(t,
		func(record func(int, string, ...diff.FieldComparison)) {
			record(100, "GET /a", field("body.gone", 1, 0), field("body.stays", 1, 0), field("body.noisy", 1, 1))
		},
		func(record func(int, string, ...diff.FieldComparison)) {
			record(100, "GET /a", field("body.new", 1, 0), field("body.graver", 3, 0), field("body.stays", 1, 0))
		})
	var order []string
	for _, line := range got {
		order = append(order, strings.Split(line, ":")[0])
	}
	want := "new GET /a body.graver, new GET /a body.new, still GET /a body.stays, gone GET /a body.gone, noise GET /a body.noisy"
	if strings.Join(order, ", ") != want {
		t.Errorf("%q", order)
	}
}
