package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"
)

// Two runs count in turns, and their rows lie mixed in the file; a third comes late to its second field, so that its rows lie
// far apart. All are read as they were, in order, with the transport of all routes added up.
func TestRunsWhoseRowsLieMixedAreRead(t *testing.T) {
	cfg := testConfig(t)
	db := openStore(t, cfg, Deps{})
	late := beginRun(t, db, "v1")
	db.Record(late.ID, compared("GET /late", noon, field("body.first", 1, 0)))
	flush(t, db)
	runs := []Run{late, beginRun(t, db, "v2"), beginRun(t, db, "v3")}
	for i := range 40 {
		for k, run := range runs[1:] {
			at := noon.Add(time.Duration(i) * time.Second)
			route := fmt.Sprintf("GET /r%d", (i*7+k)%5)
			db.Record(run.ID, compared(route, at, field(fmt.Sprintf("body.f%d", 40-i), 2, 0), field(transportField, 4, 0)))
		}
		if i%10 == 9 {
			flush(t, db)
		}
	}
	db.Record(late.ID, compared("GET /late", noon, field("body.a", 1, 0)))
	flush(t, db)
	beginRun(t, db, "v4")
	flush(t, db)
	var was []string
	for _, run := range runs {
		was = append(was, everythingOf(t, db, run.ID))
	}
	closeStore(t, db)

	db = openStore(t, cfg, Deps{})
	startRun(t, db, candidateV1)
	for i, run := range runs {
		if db.ledgers.get(run.ID) != nil {
			t.Fatalf("run %d is in memory", run.ID)
		}
		if got := everythingOf(t, db, run.ID); got != was[i] {
			t.Errorf("run %d:\n%s\nwas\n%s", run.ID, got, was[i])
		}
	}
}

// everythingOf is what a run has counted and comes to.
func everythingOf(t *testing.T, db *DB, id int64) string {
	t.Helper()
	s := snapshotOf(t, db, id)
	all, err := json.Marshal([]any{s.Tallies, s.Verdict, s.Verdict.Routes})
	if err != nil {
		t.Fatal(err)
	}
	return string(all)
}

// What is taken for an id where a run is meant is no name: nobody could ask for it.
func TestWhatIsTakenForAnIDIsNoName(t *testing.T) {
	db := openStore(t, testConfig(t), Deps{})
	for _, name := range []string{"5", "-5", "+5", "99999999999999999999"} {
		if _, _, err := db.BeginRun(context.Background(), Beginning{Fingerprint: candidateV1, New: true, Name: name}); !errors.Is(err, ErrRunText) {
			t.Errorf("%q begins a run: %v", name, err)
		}
	}
	for _, name := range []string{"-", "5.1", "5a", "<5>"} {
		run := beginRun(t, db, name)
		if found, err := db.FindRun(context.Background(), name); err != nil || found.ID != run.ID {
			t.Errorf("%q leads to %+v, %v", name, found, err)
		}
	}
}

// What name the configuration asked for is known in a file that takes the place of one that was removed or is damaged, so
// that the next start goes on with the run.
func TestTheNameThatWasAskedForOutlivesTheFile(t *testing.T) {
	cfg := testConfig(t)
	db := openStore(t, cfg, Deps{})
	asks := Beginning{Fingerprint: candidateV1, Asked: "v1"}
	run, begun, err := db.BeginRun(context.Background(), asks)
	if err != nil || !begun {
		t.Fatalf("%+v, %t, %v", run, begun, err)
	}
	recordMixture(db, run.ID, 5)
	flush(t, db)
	if _, err := db.file.write.Exec(`PRAGMA wal_checkpoint(TRUNCATE)`); err != nil {
		t.Fatal(err)
	}
	damage(t, cfg.Path)
	db.file.unclean = true
	db.checkAfterCrash(context.Background())
	if db.Health().Aside == nil {
		t.Fatal("it was not set aside")
	}
	flush(t, db)
	closeStore(t, db)

	db = openStore(t, cfg, Deps{})
	if again, begun, err := db.BeginRun(context.Background(), asks); err != nil || begun || again.ID != run.ID {
		t.Errorf("%+v goes on as %+v, begun %t, %v", run, again, begun, err)
	}
}
