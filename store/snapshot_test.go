package store

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"shadowdiff/diff"
)

// verdictOf is the verdict of a route in a snapshot.
func verdictOf(t *testing.T, s *Snapshot, route string) *diff.Verdict {
	t.Helper()
	i := slices.IndexFunc(s.Verdict.Routes, func(v *diff.Verdict) bool { return *v.Route == route })
	if i < 0 {
		t.Fatalf("%s has no verdict", route)
	}
	return s.Verdict.Routes[i]
}

// A snapshot shares with the one before what is said of routes that have not changed; what has changed, be it only a sample
// that came or went, is said anew, and the snapshot before stays as it was.
func TestSnapshotsShareWhatHasNotChanged(t *testing.T) {
	db := openStore(t, testConfig(t), Deps{})
	run := startRun(t, db, candidateV1)
	for _, route := range []string{"GET /a", "GET /b"} {
		db.Record(run.ID, compared(route, noon, field("body.x", 1, 0)))
	}
	flush(t, db)
	first := db.Snapshot()
	db.Record(run.ID, compared("GET /a", noon.Add(time.Second), field("body.x", 1, 0)))
	flush(t, db)
	second := db.Snapshot()
	if verdictOf(t, first, "GET /b") != verdictOf(t, second, "GET /b") {
		t.Error("what has not changed is said anew")
	}
	a, b := verdictOf(t, first, "GET /a").Differences[0], verdictOf(t, second, "GET /a").Differences[0]
	if a.CandidateOnly != 1 || len(a.Samples) != 1 || b.CandidateOnly != 2 || len(b.Samples) != 2 {
		t.Errorf("%+v, then %+v", a, b)
	}
	sampled := 0
	for _, f := range second.Verdict.Differences {
		sampled += len(f.Samples)
	}
	if sampled != 3 {
		t.Errorf("of the whole run: %+v", second.Verdict.Differences)
	}
	if _, err := db.Purge(t.Context(), Purge{}, "api"); err != nil { // the counts stay, and so does what the judge says
		t.Fatal(err)
	}
	third := db.Snapshot()
	for _, route := range []string{"GET /a", "GET /b"} {
		if now, before := verdictOf(t, third, route).Differences[0], verdictOf(t, second, route).Differences[0]; len(now.Samples) != 0 || len(before.Samples) == 0 {
			t.Errorf("%s has the samples %v, and had %v", route, now.Samples, before.Samples)
		}
	}
}

// What publishing costs after one comparison in one of 1,000 routes, where 200 fields of each differ.
func BenchmarkPublishWide(b *testing.B) {
	cfg := DefaultConfig()
	cfg.Path = b.TempDir() + "/bench.db"
	db := openStore(b, cfg, Deps{})
	run := startRun(b, db, candidateV1)
	var fields []diff.FieldComparison
	for i := range 200 {
		fields = append(fields, field(fmt.Sprintf("body.items[].attribute_%d", i), 1, 0))
	}
	record := func(route int, fields ...diff.FieldComparison) {
		c := compared(fmt.Sprintf("GET /service-%d", route), noon, fields...)
		c.Exchange = nil
		db.Record(run.ID, c)
	}
	for route := range 1000 {
		record(route, fields...)
	}
	flush(b, db)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		b.StopTimer()
		i++
		record(i%1000, fields[i%200])
		l := db.ledgers.current()
		db.flushing.Lock()
		l.gather(db, time.Time{})
		b.StartTimer()
		db.publish()
		db.flushing.Unlock()
	}
	if err := db.Flush(context.Background()); err != nil {
		b.Fatal(err)
	}
}
