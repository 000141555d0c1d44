package store

import (
	"os"
	"testing"
	"time"

	"shadowdiff/diff"

	"github.com/google/go-cmp/cmp"
)

// shaky counts a wrong price each second of some minutes, on routes that also fail and answer with errors.
func shaky(db *DB, run int64, from time.Time, seconds int) {
	for i := range seconds {
		at := from.Add(time.Duration(i) * time.Second)
		c := compared("GET /a", at, field("body.price", 1, 0))
		c.CandidateError, c.PrimaryError = i%3 == 0, i%5 == 0
		db.Record(run, c)
		down := compared("GET /b", at, field("transport", 4, 0))
		down.Failed, down.CandidateError, down.Latency = true, true, diff.LatencyPair{}
		db.Record(run, down)
	}
}

// A restart in the middle of a minute neither loses nor doubles it: the counts are those of a program that ran on.
func TestARestartInAMinuteLosesAndDoublesNothing(t *testing.T) {
	begin := time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC)
	ran, stopped := testConfig(t), testConfig(t)
	db := openStore(t, ran, Deps{})
	shaky(db, startRun(t, db, candidateV1).ID, begin, 600)
	flush(t, db)
	want := db.Snapshot()

	for part := range 6 { // each ends half-way through a minute, all but the last
		db := openStore(t, stopped, Deps{})
		run := startRun(t, db, candidateV1)
		from, seconds := begin.Add(time.Duration(part)*90*time.Second), 90
		if part == 5 {
			seconds = 150
		}
		shaky(db, run.ID, from, seconds/2)
		flush(t, db)
		shaky(db, run.ID, from.Add(time.Duration(seconds/2)*time.Second), seconds-seconds/2)
		flush(t, db)
		got := db.Snapshot()
		closeStore(t, db)
		if part < 5 {
			continue
		}
		unconfirmed := cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Confirmed" }, cmp.Ignore())
		if d := cmp.Diff(want.Tallies, got.Tallies, bySketch(), unconfirmed); d != "" {
			t.Errorf("tallies (-ran on +restarted):\n%s", d)
		}
		price := got.Verdict.Differences[0]
		for _, f := range got.Verdict.Differences {
			if f.Field == "body.price" {
				price = f
			}
		}
		if price.Steadiness != (diff.Steadiness{Steady: true, MinutesCandidate: 9}) {
			t.Errorf("the price is %+v", price)
		}
	}
	total := want.Tallies.Total
	if total.CandidateErrors != 800 || want.Tallies.Transport.Minutes.Candidate != 9 || total.Course.Used == 0 {
		t.Errorf("of the whole run: %d errors, transport %+v, course %+v", total.CandidateErrors, want.Tallies.Transport.Minutes, total.Course)
	}
}

// A database from before minutes were counted goes on, and counts them from now on.
func TestMinutesAreCountedInADatabaseOfBefore(t *testing.T) {
	cfg := testConfig(t)
	rows, err := os.ReadFile("testdata/schema1.sql")
	if err != nil {
		t.Fatal(err)
	}
	step := func(name string) string {
		text, err := migrations.ReadFile("migrations/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	execOn(t, cfg.Path, step("0001_first.sql")+"BEGIN;"+string(rows)+"COMMIT;"+step("0002_route_fold.sql")+"PRAGMA user_version = 2")
	db := openStore(t, cfg, Deps{})
	run := startRun(t, db, candidateV1)
	price := counted(t, db.Snapshot().Tallies, "GET /products/featured", "body.price").Tests[diff.TestValue]
	if price.CandidateOnly != 30 || price.Minutes != (diff.Minutes{}) {
		t.Fatalf("of before: %+v", price)
	}
	begin := time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)
	for i := range 3 {
		db.Record(run.ID, compared("GET /products/featured", begin.Add(time.Duration(i)*time.Minute), field("body.price", 1, 0)))
	}
	flush(t, db)
	closeStore(t, db)
	db = openStore(t, cfg, Deps{})
	startRun(t, db, candidateV1)
	price = counted(t, db.Snapshot().Tallies, "GET /products/featured", "body.price").Tests[diff.TestValue]
	if m := price.Minutes; price.CandidateOnly != 33 || m.Candidate != 2 || m.Lean != 1 {
		t.Errorf("after three more: %+v", price)
	}
}

// A minute that begins while a flush is under way goes to the disk with the counts that it belongs to, not one flush later:
// a process that is killed between the two would have them in the totals alone, for good.
func TestAMinuteIsWrittenWithItsCounts(t *testing.T) {
	cfg := testConfig(t)
	db := openStore(t, cfg, Deps{})
	run := startRun(t, db, candidateV1)
	db.Record(run.ID, compared("GET /a", noon))
	flush(t, db)
	closeStore(t, db)
	db = openStore(t, cfg, Deps{})
	startRun(t, db, candidateV1)
	db.Record(run.ID, compared("GET /a", noon.Add(time.Minute)))
	db.flushing.Lock()
	l := db.ledgers.current()
	l.gather(db, time.Time{}) // as if it had come after the flush had read what the disk has of open minutes
	collected := len(l.backlog.series.routes)
	db.flushing.Unlock()
	if collected != 2 { // the route, and all routes
		t.Errorf("%d rows of the new minute are on board with its counts", collected)
	}
	db.Record(run.ID, compared("GET /a", noon.Add(time.Second))) // a minute that the disk knows more of
	flush(t, db)
	points, err := db.Series(t.Context(), Filter{})
	if err != nil || len(points) != 2 || points[0].Compared != 2 || points[1].Compared != 1 {
		t.Errorf("%+v, %v", points, err)
	}
}
