package store

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"shadowdiff/diff"
	"shadowdiff/normalize"

	"github.com/google/go-cmp/cmp"
)

// openSchema makes a database as an earlier version left it: its steps, and what stood in it.
func openSchema(t *testing.T, path, data string, steps ...string) {
	t.Helper()
	text := ""
	for _, step := range steps {
		b, err := migrations.ReadFile("migrations/" + step)
		if err != nil {
			t.Fatal(err)
		}
		text += string(b)
	}
	b, err := os.ReadFile("testdata/" + data)
	if err != nil {
		t.Fatal(err)
	}
	execOn(t, path, text+"BEGIN;"+string(b)+"COMMIT; PRAGMA user_version = "+string('0'+rune(len(steps))))
}

// A database of the second schema goes on with all that it held: each of its tables is looked at.
func TestSecondSchemaIsMigrated(t *testing.T) {
	cfg := testConfig(t)
	openSchema(t, cfg.Path, "schema2.sql", "0001_first.sql", "0002_route_fold.sql")
	ctx := context.Background()
	names := new(normalize.Names)
	var log strings.Builder
	db := openStore(t, cfg, Deps{Names: names, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if want := fmt.Sprintf("schema_before=2 schema=%d", steps(t)); !strings.Contains(log.String(), want) {
		t.Errorf("logged %q, want %q", log.String(), want)
	}
	run := startRun(t, db, candidateV1)
	if run.ID != 2 || run.Name != "v2" || run.Attempt != 2 || !run.Started.Equal(time.UnixMicro(1748865600000000)) {
		t.Fatalf("continued %+v", run)
	}
	s := db.Snapshot()
	total := s.Tallies.Total
	if total.Compared != 30 || total.Failed != 1 || total.Results != (diff.Counts{CandidateOnly: 20, ControlOnly: 2, Both: 3}) ||
		total.Raw != 23 || total.Noise != 5 || total.NoControl != 4 || total.Latency.Slower != 30 || total.Unknown["stale"] != 6 {
		t.Errorf("the total: %+v", total)
	}
	if s.Counters.Requests != 40 || s.Counters.Skipped["method"] != 7 {
		t.Errorf("the counters: %+v", s.Counters)
	}
	if r := s.Tallies.Routes; len(r) != 1 || r[0].Route != "GET /a" || !r[0].Given || r[0].Order != 3 || r[0].Latency.Confirmed == nil {
		t.Errorf("the routes: %+v", r)
	}
	f := s.Tallies.Fields
	if len(f) != 1 || f[0].Raw != 22 || f[0].Noise != 4 || f[0].TraitGreater != 8 || f[0].TraitLess != 9 || f[0].TraitTurns != 8 || f[0].Tests[diff.TestValue].Order != 4 ||
		f[0].Tests[diff.TestType].Counts != (diff.Counts{CandidateOnly: 11, Both: 1}) {
		t.Fatalf("the fields: %+v", f)
	}
	want := &diff.Confirmation{Time: time.UnixMicro(1748865620000000).UTC(), Requests: 21, Alpha: 0.05}
	if d := cmp.Diff(want, f[0].Tests[diff.TestValue].Confirmed); d != "" {
		t.Errorf("the confirmation (-want +got):\n%s", d)
	}
	if ids := s.SampleIDs("GET /a", "body.price"); len(ids) != 1 || ids[0] != 41 {
		t.Errorf("the samples: %v", ids)
	}
	checkMigratedSeries(t, db)
	if value, err := db.Setting(ctx, "sample"); err != nil || value != "5%" {
		t.Errorf("the setting: %q, %v", value, err)
	}
	said, err := db.Activity(ctx, 100)
	if last := len(said) - 1; err != nil || last < 0 || said[last].ID != 17 || said[last].Detail != "switched off" {
		t.Errorf("the activity: %+v, %v", said, err)
	}
	if folds, _ := names.Folds(); len(folds) != 1 || folds[0].Place != "/products" || len(folds[0].Kept) != 1 {
		t.Errorf("the folds: %+v", folds)
	}
	former, err := db.RunSnapshot(ctx, 1)
	if err != nil || former.Tallies.Total.Compared != 9 || former.Run.Ended == nil || !former.Run.Ended.Equal(run.Started) || former.Counters.Requests != 50 {
		t.Errorf("the run before: %+v, %v", former, err)
	}
	var exchange, result string
	var redactions int
	var head, bodies []byte
	err = db.file.read.QueryRow(`SELECT exchange, result, redactions, head, bodies FROM sample`).Scan(&exchange, &result, &redactions, &head, &bodies)
	if err != nil || exchange != "0123" || result != "candidate_only" || redactions != 5 || len(head) != 1 || len(bodies) != 2 {
		t.Errorf("the sample: %s %s %d %x %x, %v", exchange, result, redactions, head, bodies, err)
	}
}

func checkMigratedSeries(t *testing.T, db *DB) {
	t.Helper()
	hour, minute := time.Unix(1748862000, 0).UTC(), time.Unix(1748865600, 0).UTC()
	whole := []Point{
		{Minute: hour, Span: time.Hour, Compared: 12, Unknown: 2, Failed: 1, Raw: 10, Noise: 3, Counts: diff.Counts{CandidateOnly: 9, ControlOnly: 1, Both: 1}},
		{Minute: minute, Span: time.Minute, Compared: 18, Unknown: 4, Raw: 13, Noise: 2, Counts: diff.Counts{CandidateOnly: 11, ControlOnly: 1, Both: 2}},
	}
	of := func(compared int64, c diff.Counts, at Point) Point {
		return Point{Minute: at.Minute, Span: at.Span, Compared: compared, Raw: c.CandidateOnly + c.Both, Noise: c.ControlOnly + c.Both, Counts: c}
	}
	price := []Point{
		of(11, diff.Counts{CandidateOnly: 8, ControlOnly: 1, Both: 1}, whole[0]), of(18, diff.Counts{CandidateOnly: 12, ControlOnly: 1, Both: 1}, whole[1]),
	}
	none := []Point{of(11, diff.Counts{}, whole[0]), of(18, diff.Counts{}, whole[1])}
	for _, c := range []struct {
		what string
		f    Filter
		want []Point
	}{
		{"all routes", Filter{}, whole},
		{"the route", Filter{Route: "GET /a"}, whole},
		{"the field", Filter{Route: "GET /a", Field: "body.price"}, price},
		{"the field of all routes", Filter{Field: "body.price"}, price},
		{"a test that was not kept", Filter{Route: "GET /a", Field: "body.price", Test: diff.TestType}, none},
		{"the run before", Filter{Run: 1, Route: "GET /a"}, []Point{{Minute: time.Unix(1748858400, 0).UTC(), Span: time.Hour, Compared: 9}}},
	} {
		got, err := db.Series(context.Background(), c.f)
		if d := cmp.Diff(c.want, got); err != nil || d != "" {
			t.Errorf("series of %s: %v (-want +got):\n%s", c.what, err, d)
		}
	}
	var zero int
	if err := db.file.read.QueryRow(`SELECT count(*) FROM series_name WHERE test NOT IN ('', 'value')`).Scan(&zero); err != nil || zero != 0 {
		t.Errorf("%d names are of tests that the second schema did not know, %v", zero, err)
	}
}

// What is asked of the series is found by keys alone, whatever their number: only the moments of the run, and the names of
// one field, are gone through.
func TestSeriesAreFoundByKeys(t *testing.T) {
	db := openStore(t, testConfig(t), Deps{})
	for what, f := range map[string]Filter{
		"all routes": {Run: 1}, "a route": {Run: 1, Route: "GET /a"},
		"a field": {Run: 1, Route: "GET /a", Field: "body.x"}, "a field of all routes": {Run: 1, Field: "body.x"},
	} {
		query, args := seriesQuery(f)
		rows, err := db.file.read.QueryContext(context.Background(), `EXPLAIN QUERY PLAN `+query, args...)
		plan, err := scanAll(rows, err, func(scan func(...any) error, line *string) error {
			var id, parent, unused int
			return scan(&id, &parent, &unused, line)
		})
		if err != nil || len(plan) == 0 {
			t.Fatalf("%s: %q, %v", what, plan, err)
		}
		for _, line := range plan { // as "SCAN r", or "SCAN series_name USING INDEX …"; s are three spans
			table, scan := strings.CutPrefix(line, "SCAN ")
			table, _, _ = strings.Cut(table, " ")
			if scan && table != "CONSTANT" && table != "s" {
				t.Errorf("%s goes through a whole table: %q", what, plan)
			}
		}
	}
}
