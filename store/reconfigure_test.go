package store

import (
	"context"
	"testing"
	"time"

	"shadowdiff/diff"
	"shadowdiff/multicast"
)

// Another budget judges what was counted before it; what is redacted holds for the samples that come.
func TestReconfigured(t *testing.T) {
	cfg := testConfig(t)
	db := openStore(t, cfg, Deps{})
	run := startRun(t, db, candidateV1)
	ask := func(n int, at time.Time) {
		for i := range n {
			db.Record(run.ID, compared("GET /quiet", at.Add(time.Duration(i)*time.Millisecond)))
		}
		c := compared("GET /quiet", at, field("body.price", 1, 0))
		c.Exchange.Request.Target = "/quiet?pin=1234"
		db.Record(run.ID, c)
		flush(t, db)
	}
	ask(300, noon)
	before := db.Snapshot()
	if before.Verdict.Word != diff.Undecided {
		t.Fatalf("300 requests are %s", before.Verdict.Word)
	}

	judge := diff.DefaultConfig()
	judge.Budget, judge.MinCompared = multicast.Whole/5, 100
	cfg.Redact, cfg.SamplesPerField, cfg.Path = []string{"query.pin"}, 5, "elsewhere.db"
	if err := db.Reconfigure(cfg, judge, 0); err != nil {
		t.Fatal(err)
	}
	flush(t, db)
	if now := db.Snapshot(); now.Verdict.Word != diff.Equivalent || now.Verdict.Compared != before.Verdict.Compared || now.Run != before.Run {
		t.Errorf("judged again: %s on %d of run %d", now.Verdict.Word, now.Verdict.Compared, now.Run.ID)
	}
	ask(1, noon.Add(time.Hour))
	samples, _, err := db.Samples(context.Background(), Filter{Field: "body.price"})
	if err != nil || len(samples) != 2 {
		t.Fatalf("%d samples, %v", len(samples), err)
	}
	for i, want := range []string{"/quiet?pin=%5Bredacted%5D", "/quiet?pin=1234"} { // the newest first
		if got := samples[i].Request.Target; got != want {
			t.Errorf("sample %d is of %s, want %s", samples[i].ID, got, want)
		}
	}

	cfg.Redact = []string{"nowhere"}
	if err := db.Reconfigure(cfg, diff.DefaultConfig(), 0); err == nil {
		t.Error("a place that is none was taken")
	}
	flush(t, db)
	if now := db.Snapshot(); now.Verdict.Word != diff.Equivalent {
		t.Errorf("what failed changed the verdict to %s", now.Verdict.Word)
	}
}
