package store

import (
	"context"
	"errors"
	"testing"
	"time"

	"shadowdiff/diff"
	"shadowdiff/multicast"
)

// secretive is a comparison whose exchange was asked now, and has the secret in its answer and in what is profiled.
func secretive(route string, body []byte) *diff.Comparison {
	c := compared(route, time.Now(), field("body.x", 1, 0))
	c.Exchange.Responses[multicast.Primary].Header.Set("Content-Type", "image/png")
	c.Exchange.Responses[multicast.Primary].Body = body
	return profiled(c)
}

// profiled has the secret value stand in the field of a comparison.
func profiled(c *diff.Comparison) *diff.Comparison {
	seen := diff.SeenValue{Shape: "string", Text: `"` + secretValue + `"`, Length: int64(len(secretValue))}
	c.Values = []diff.FieldValues{{Field: "body.x", Candidate: 1, Places: [][3]diff.SeenValue{{seen, seen, seen}}}}
	return c
}

// An open store deletes what it has on the disk, what is on its way there, and what it would learn of exchanges that were
// asked before; nothing of it comes back with a flush, and counting goes on.
func TestPurgeOfAnOpenStore(t *testing.T) {
	cfg := testConfig(t)
	db := openStore(t, cfg, Deps{})
	run := startRun(t, db, candidateV1)
	body, needle := secretBody()
	db.Record(run.ID, secretive("GET /written", body))
	flush(t, db)
	if holds(t, cfg.Path, needle) == 0 || holds(t, cfg.Path, []byte(secretValue)) == 0 {
		t.Fatal("the secrets are not in the file, so that their absence would show nothing")
	}
	late := secretive("GET /late", body) // asked before the purge, compared after it
	db.samplesFrom = time.Now().Add(time.Hour)
	db.Record(run.ID, secretive("GET /packed", body))
	if err := db.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	db.Record(run.ID, secretive("GET /picked", body))
	db.samplesFrom = time.Time{}

	if n, err := db.CountPurge(t.Context(), Purge{}); err != nil || n.Samples != 3 || n.Profiles < 1 {
		t.Errorf("to be deleted: %+v, %v", n, err)
	}
	n, err := db.Purge(t.Context(), Purge{}, "api")
	if err != nil || n.Samples != 3 || n.SampleBytes < 600<<10 {
		t.Errorf("purged %+v, %v", n, err)
	}
	gone := func(when string) {
		t.Helper()
		if holds(t, cfg.Path, needle)+holds(t, cfg.Path, []byte(secretValue)) != 0 {
			t.Errorf("%s a secret is in the file", when)
		}
		for _, route := range []string{"GET /written", "GET /packed", "GET /picked", "GET /late"} {
			if ids := db.Snapshot().SampleIDs(route, "body.x"); len(ids) > 0 {
				t.Errorf("%s %s has the samples %v", when, route, ids)
			}
			if f, err := db.Profile(t.Context(), run.ID, route, "body.x"); !errors.Is(err, ErrNotFound) {
				t.Errorf("%s %s has a profile: %+v, %v", when, route, f, err)
			}
			if a, err := db.Attributes(t.Context(), run.ID, route); !errors.Is(err, ErrNotFound) {
				t.Errorf("%s %s has attributes: %+v, %v", when, route, a, err)
			}
		}
		if held := db.budget.held.Load(); held != 0 {
			t.Errorf("%s %d bytes wait for the disk", when, held)
		}
	}
	gone("at once")
	db.Record(run.ID, late)
	flush(t, db)
	gone("after a flush")
	if total := db.Snapshot().Tallies.Total; total.Compared != 4 || total.Results.CandidateOnly != 4 {
		t.Errorf("counted: %+v", total)
	}
	told, err := db.Activity(t.Context(), 1)
	if err != nil || len(told) != 1 || told[0].Action != "purge" || told[0].Actor != "api" {
		t.Errorf("the activity tells %+v, %v", told, err)
	}
	db.Record(run.ID, compared("GET /a", time.Now(), field("body.x", 1, 0)))
	flush(t, db)
	if items, _, err := db.Samples(t.Context(), Filter{}); err != nil || len(items) != 1 || items[0].Route != "GET /a" {
		t.Errorf("samples afterwards: %+v, %v", items, err)
	}
	closeStore(t, db)
	if holds(t, cfg.Path, needle)+holds(t, cfg.Path, []byte(secretValue)) != 0 {
		t.Error("a secret is in the file after the end")
	}
	db = openStore(t, cfg, Deps{})
	if again := startRun(t, db, candidateV1); again.ID != run.ID || db.Snapshot().Tallies.Total.Compared != 5 {
		t.Errorf("the run goes on as %+v with %+v", again, db.Snapshot().Tallies.Total)
	}
}

// A purge of one run, or of what is old, leaves the rest where it is, on the disk and in memory.
func TestPurgeOfAnOpenStoreWithinLimits(t *testing.T) {
	db := openStore(t, testConfig(t), Deps{})
	samples := func(run Run) int { return len(db.Snapshot().SampleIDs("GET /"+run.Name, "body.x")) }
	begin := func(name string) Run {
		t.Helper()
		run := beginRun(t, db, name)
		db.Record(run.ID, profiled(compared("GET /"+name, noon, field("body.x", 1, 0))))
		db.Record(run.ID, compared("GET /"+name, noon.Add(time.Hour), field("body.x", 1, 0)))
		flush(t, db)
		return run
	}
	first, second := begin("one"), begin("two")
	if n, err := db.Purge(t.Context(), Purge{Run: "one"}, "api"); err != nil || n.Samples != 2 {
		t.Errorf("the run before: %+v, %v", n, err)
	}
	if items, _, err := db.Samples(t.Context(), Filter{Run: first.ID}); err != nil || len(items) != 0 || samples(second) != 2 {
		t.Errorf("the run before has %+v, %v; this one %d", items, err, samples(second))
	}
	if n, err := db.Purge(t.Context(), Purge{Before: noon.Add(time.Minute)}, "api"); err != nil || n.Samples != 1 || n.Profiles != 0 || samples(second) != 1 {
		t.Errorf("what is old: %+v, %v, %d left", n, err, samples(second))
	}
	if _, err := db.Profile(t.Context(), second.ID, "GET /two", "body.x"); err != nil {
		t.Errorf("the profile of the run that goes on: %v", err)
	}
	if _, err := db.Purge(t.Context(), Purge{Run: "three"}, "api"); !errors.Is(err, ErrNotFound) {
		t.Errorf("a run that is not there: %v", err)
	}
	times, err := db.PurgeTimes(t.Context(), Purge{Run: "one"})
	if err != nil || len(times) != 1 || !times[0].From.Equal(first.Started) || !times[0].Until.Equal(second.Started) {
		t.Errorf("the run before was in force %+v, %v", times, err)
	}
	if times, err := db.PurgeTimes(t.Context(), Purge{Before: noon}); err != nil || len(times) != 1 || !times[0].From.IsZero() || !times[0].Until.Equal(noon) {
		t.Errorf("what is old is of %+v, %v", times, err)
	}
}

// While somebody reads, the log cannot be cut off: the purge waits for that, and does not leave the secret there.
func TestPurgeWaitsForReaders(t *testing.T) {
	cfg := testConfig(t)
	db := openStore(t, cfg, Deps{})
	run := startRun(t, db, candidateV1)
	body, needle := secretBody()
	db.Record(run.ID, secretive("GET /a", body))
	flush(t, db)
	reader, err := db.file.read.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var n int
	if err := reader.QueryRow(`SELECT count(*) FROM sample`).Scan(&n); err != nil || n != 1 {
		t.Fatalf("%d samples, %v", n, err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := db.Purge(context.Background(), Purge{}, "api")
		done <- err
	}()
	deleted := func() bool { return len(db.Snapshot().SampleIDs("GET /a", "body.x")) == 0 }
	for wake := db.Watch(t.Context()); !deleted(); {
		<-wake
	}
	if err := reader.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if holds(t, cfg.Path, needle) != 0 {
		t.Error("the secret is in the file")
	}
}

// What cannot be done changes nothing.
func TestPurgeRefused(t *testing.T) {
	cfg := testConfig(t)
	db := openStore(t, cfg, Deps{})
	run := startRun(t, db, candidateV1)
	db.Record(run.ID, compared("GET /a", noon, field("body.x", 1, 0)))
	flush(t, db)
	db.backups.Lock()
	if _, err := db.Purge(t.Context(), Purge{}, "api"); !errors.Is(err, ErrBackupRunning) {
		t.Errorf("while a backup is made: %v", err)
	}
	db.backups.Unlock()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := db.Purge(gone, Purge{}, "api"); !errors.Is(err, context.Canceled) {
		t.Errorf("asked for by nobody: %v", err)
	}
	if ids := db.Snapshot().SampleIDs("GET /a", "body.x"); len(ids) != 1 {
		t.Errorf("the samples are %v", ids)
	}
	closeStore(t, db)
	if _, err := db.Purge(t.Context(), Purge{}, "api"); err == nil {
		t.Error("a closed store was purged")
	}
}
