package store

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"shadowdiff/diff"
	"shadowdiff/multicast"

	"github.com/google/go-cmp/cmp"
)

// bySketch compares sketches by what they hold.
func bySketch() cmp.Option {
	return cmp.Comparer(func(a, b diff.Sketch) bool {
		x, _ := a.MarshalBinary()
		y, _ := b.MarshalBinary()
		return bytes.Equal(x, y)
	})
}

// A restart with the same candidate and rules goes on where the run stood: counts, order, confirmations, latencies,
// minutes, samples and the proxy's counters.
func TestRestartContinuesTheRun(t *testing.T) {
	cfg := testConfig(t)
	proxy := multicast.Counts{Requests: 7, Skipped: map[multicast.Reason]int64{"method": 3}}
	deps := Deps{Counters: func() multicast.Counts { return proxy }}
	db := openStore(t, cfg, deps)
	run := startRun(t, db, candidateV1)
	if run.ID != 1 || run.Name != "run 1" {
		t.Fatalf("the first run is %+v", run)
	}
	proxy.Requests, proxy.Skipped = 107, map[multicast.Reason]int64{"method": 5} // 100 and 2 of them the run's
	recordMixture(db, run.ID, 40)
	flush(t, db)
	before := db.Snapshot()
	if before.Tallies.Total.Compared != 80 || len(before.Tallies.Fields) != 2 {
		t.Fatalf("counted %d compared and %d fields", before.Tallies.Total.Compared, len(before.Tallies.Fields))
	}
	price := before.Tallies.Fields[1].Tests[diff.TestValue]
	if price.Confirmed == nil || price.Order == 0 {
		t.Fatalf("40 candidate-only requests of 40 are not confirmed: %+v", price)
	}
	closeStore(t, db)

	proxy.Requests, proxy.Skipped = 10, nil // another process, another proxy
	db = openStore(t, cfg, deps)
	if again := startRun(t, db, candidateV1); again != run {
		t.Fatalf("continued %+v as %+v", run, again)
	}
	after := db.Snapshot()
	if d := cmp.Diff(before.Tallies, after.Tallies, bySketch()); d != "" {
		t.Errorf("tallies after a restart (-before +after):\n%s", d)
	}
	if d := cmp.Diff(before.Verdict, after.Verdict); d != "" {
		t.Errorf("verdict after a restart (-before +after):\n%s", d)
	}
	if got := after.SampleIDs("GET /products/{id}", "body.price"); len(got) != 10 {
		t.Errorf("samples of the field after a restart: %v", got)
	}

	proxy.Requests, proxy.Skipped = 15, map[multicast.Reason]int64{"loop": 1}
	recordMixture(db, run.ID, 5)
	flush(t, db)
	last := db.Snapshot()
	if got := last.Tallies.Total.Compared; got != 90 {
		t.Errorf("80 and 10 compared are %d", got)
	}
	if again := last.Tallies.Fields[1].Tests[diff.TestValue]; *again.Confirmed != *price.Confirmed || again.Order != price.Order {
		t.Errorf("confirmed anew: %+v, was %+v", again, price)
	}
	if c := last.Counters; c.Requests != 105 || c.Skipped["method"] != 2 || c.Skipped["loop"] != 1 {
		t.Errorf("the run's counters: %+v", c)
	}
	points, err := db.Series(context.Background(), Filter{})
	if err != nil || len(points) != 1 || points[0].Compared != 90 || points[0].Unknown != 45 {
		t.Errorf("the minute that both processes counted in: %+v, %v", points, err)
	}
}

// recordMixture records n exchanges of each sort, all in one minute.
func recordMixture(db *DB, run int64, n int) {
	for i := range n {
		at := noon.Add(time.Duration(i) * time.Millisecond)
		db.Record(run, compared("GET /products/{id}", at, field("body.generated_at", 1, 1), field("body.price", 1, 0)))
		db.Record(run, compared("GET /health", at))
		db.Record(run, unknown("GET /health", at, "shadows_failed"))
	}
}

// Another candidate or other rules begin a new run; what is under way still counts for the old one.
func TestAnotherFingerprintBeginsANewRun(t *testing.T) {
	cfg := testConfig(t)
	proxy := multicast.Counts{}
	db := openStore(t, cfg, Deps{Counters: func() multicast.Counts { return proxy }})
	first := startRun(t, db, candidateV1)
	db.Record(first.ID, compared("GET /a", noon))
	proxy.Requests = 3
	second := startRun(t, db, Fingerprint{Candidate: candidateV1.Candidate, Rules: "other rules"})
	if second.ID != 2 {
		t.Fatalf("the second run is %+v", second)
	}
	proxy.Requests = 10
	db.Record(first.ID, compared("GET /a", noon)) // it was begun before
	db.Record(second.ID, compared("GET /b", noon))
	flush(t, db)
	if s := db.Snapshot(); s.Run != second || s.Tallies.Total.Compared != 1 || s.Counters.Requests != 7 {
		t.Errorf("run in force: %+v with %d compared of %d requests", s.Run, s.Tallies.Total.Compared, s.Counters.Requests)
	}
	points, err := db.Series(context.Background(), Filter{Run: first.ID})
	if err != nil || len(points) != 1 || points[0].Compared != 2 {
		t.Errorf("series of the first run: %+v, %v", points, err)
	}
	closeStore(t, db)

	db = openStore(t, cfg, Deps{})
	third := startRun(t, db, candidateV1)
	if third.ID != 3 {
		t.Errorf("only the last run is continued, yet %+v is", third)
	}
	db.Record(99, compared("GET /a", noon))
	if db.Health().Stray != 1 {
		t.Error("a comparison of no run was not noted")
	}
}

// A candidate that died is remembered as such: what its failures on all routes together have confirmed, which samples show
// it, and how many exchanges were dropped while it was paused.
func TestRestartRemembersADeadCandidate(t *testing.T) {
	cfg := testConfig(t)
	proxy := multicast.Counts{}
	deps := Deps{Counters: func() multicast.Counts { return proxy }}
	db := openStore(t, cfg, deps)
	run := startRun(t, db, candidateV1)
	for i := range 6000 {
		db.Record(run.ID, compared(fmt.Sprintf("GET /%c", 'a'+i%13), noon))
	}
	flush(t, db)
	if v := db.Snapshot().Verdict; v.Word != diff.Equivalent {
		t.Fatalf("while it lives it is %s: %v", v.Word, v.Reasons)
	}
	proxy.Awaited = 700
	flush(t, db)
	if v := db.Snapshot().Verdict; v.Word != diff.Undecided || db.Snapshot().Tallies.Awaited != 700 {
		t.Errorf("while 700 exchanges wait for it, it is %s: %v", v.Word, v.Reasons)
	}
	proxy.Awaited = 0
	flush(t, db)
	if v := db.Snapshot().Verdict; v.Word != diff.Equivalent {
		t.Errorf("when none waits it is %s: %v", v.Word, v.Reasons)
	}
	proxy.Shadow = map[string]multicast.ShadowLegs{"candidate": {Paused: 700, Outcome: map[multicast.Outcome]int64{multicast.OutcomeStale: 14}}}
	flush(t, db)
	if v := db.Snapshot().Verdict; v.Word != diff.Undecided || db.Snapshot().Tallies.Paused != 700 || db.Snapshot().Tallies.Stale.Candidate != 14 {
		t.Errorf("with 700 exchanges dropped it is %s: %v", v.Word, v.Reasons)
	}
	for i := range 20 {
		c := compared(fmt.Sprintf("GET /%c", 'a'+i%13), noon, field("transport", 4, 0))
		c.Failed = true
		db.Record(run.ID, c)
	}
	flush(t, db)
	before := db.Snapshot()
	first := before.Verdict.Differences[slices.IndexFunc(before.Verdict.Differences, func(f diff.Finding) bool { return !f.Informs })]
	if before.Verdict.Word != diff.Different || first.Route != "" || first.Field != "transport" || !first.Confirmed || len(first.Samples) != 10 {
		t.Errorf("it is %s, first of the differences %+v", before.Verdict.Word, first)
	}
	closeStore(t, db)

	proxy.Shadow = nil
	db = openStore(t, cfg, deps)
	startRun(t, db, candidateV1)
	after := db.Snapshot()
	if d := cmp.Diff(before.Tallies, after.Tallies, bySketch()); d != "" {
		t.Errorf("tallies after a restart (-before +after):\n%s", d)
	}
	if d := cmp.Diff(before.Verdict, after.Verdict); d != "" {
		t.Errorf("verdict after a restart (-before +after):\n%s", d)
	}
}
