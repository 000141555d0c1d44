package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"shadowdiff/multicast"
)

func versionRun(t testing.TB, db *DB, version string) Run {
	t.Helper()
	run, begun, err := db.BeginRun(context.Background(), Beginning{
		Fingerprint: candidateV1, New: true, Name: VersionName(version), Version: version, By: BegunByVersion, Anyway: true,
	})
	if err != nil || !begun || run.Version != version {
		t.Fatalf("%+v, %t, %v", run, begun, err)
	}
	return run
}

// The first version told is that of the run, which takes its name if nobody has named it.
func TestTheFirstVersionNamesTheRun(t *testing.T) {
	db := openStore(t, testConfig(t), Deps{})
	ctx := context.Background()
	unnamed := startRun(t, db, candidateV1)
	run, err := db.TellVersion(ctx, unnamed.ID, "2.3.1")
	if err != nil || run.Name != "2.3.1" || run.Version != "2.3.1" || run.Attempt != 1 || db.Snapshot().Run != run {
		t.Errorf("%+v, %v", run, err)
	}
	named := beginRun(t, db, "nightly")
	run, err = db.TellVersion(ctx, named.ID, "2.3.1")
	if err != nil || run.Name != "nightly" || run.Version != "2.3.1" {
		t.Errorf("%+v, %v", run, err)
	}
	if latest, err := db.VersionRun(ctx, candidateV1, "2.3.1"); err != nil || latest.ID != named.ID {
		t.Errorf("the latest run of the version: %+v, %v", latest, err)
	}
	other := startRun(t, db, Fingerprint{Candidate: candidateV1.Candidate, Rules: "other"})
	if run, err = db.TellVersion(ctx, other.ID, "2.3.1"); err != nil || run.Attempt != 2 {
		t.Errorf("under other rules it is the second attempt at the name: %+v, %v", run, err)
	}
	if _, err := db.VersionRun(ctx, candidateV1, "2.3.2"); !errors.Is(err, ErrNotFound) {
		t.Errorf("a version not seen: %v", err)
	}
	for _, bad := range []string{"a\x01", strings.Repeat("1", 65), "\xff"} {
		if _, err := db.TellVersion(ctx, other.ID, bad); !errors.Is(err, ErrRunText) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if got := VersionName("20261130"); got != "version 20261130" {
		t.Errorf("a number is called %q", got)
	}
}

// The run of an earlier version counts on when it is told again, days after it was over, and may be in force again: with
// all that it had counted, and the proxy's counters of the times it was in force.
func TestAnEarlierVersionGoesOn(t *testing.T) {
	cfg := testConfig(t)
	proxy := multicast.Counts{}
	deps := Deps{Counters: func() multicast.Counts { return proxy }}
	db := openStore(t, cfg, deps)
	ctx := context.Background()
	one := versionRun(t, db, "1")
	recordMixture(db, one.ID, 10)
	proxy.Requests = 30
	two := versionRun(t, db, "2")
	proxy.Requests = 40
	recordMixture(db, two.ID, 3)
	closeStore(t, db)

	proxy.Requests = 0
	db = openStore(t, cfg, deps)
	startRun(t, db, candidateV1)
	proxy.Requests = 5
	found, err := db.VersionRun(ctx, candidateV1, "1")
	if err != nil || found.ID != one.ID {
		t.Fatalf("%+v, %v", found, err)
	}
	recordMixture(db, one.ID, 1)
	flush(t, db)
	if s := snapshotOf(t, db, one.ID); s.Tallies.Total.Compared != 22 || s.Run.Ended == nil || s.Counters.Requests != 30 {
		t.Errorf("%+v: %d compared of %d", s.Run, s.Tallies.Total.Compared, s.Counters.Requests)
	}
	if s := db.Snapshot(); s.Run.ID != two.ID || s.Tallies.Total.Compared != 6 || s.Counters.Requests != 15 {
		t.Errorf("in force %+v: %d compared of %d", s.Run, s.Tallies.Total.Compared, s.Counters.Requests)
	}

	back, err := db.TakeUpRun(ctx, one.ID)
	if err != nil || back.ID != one.ID || back.Ended != nil {
		t.Fatalf("%+v, %v", back, err)
	}
	proxy.Requests = 7
	recordMixture(db, one.ID, 1)
	db.Record(two.ID, compared("GET /a", noon))
	killed := image(t, cfg) // the run in force is on the disk at once
	flush(t, db)
	if s := db.Snapshot(); s.Run.ID != one.ID || s.Tallies.Total.Compared != 24 || s.Counters.Requests != 32 {
		t.Errorf("in force again %+v: %d compared of %d", s.Run, s.Tallies.Total.Compared, s.Counters.Requests)
	}
	if s := snapshotOf(t, db, two.ID); s.Run.Ended == nil || s.Tallies.Total.Compared != 7 || s.Counters.Requests != 15 {
		t.Errorf("over %+v: %d compared of %d", s.Run, s.Tallies.Total.Compared, s.Counters.Requests)
	}
	db = openStore(t, killed, Deps{})
	if run := startRun(t, db, candidateV1); run.ID != one.ID {
		t.Errorf("after a kill %+v is in force", run)
	}
	if points, err := db.Series(ctx, Filter{Run: one.ID}); err != nil || len(points) != 1 || points[0].Compared != 22 {
		t.Errorf("its series: %+v, %v", points, err)
	}
}

// A run is not forgotten while it counts, and only so many are in memory.
func TestRunsInMemoryAreBounded(t *testing.T) {
	db := openStore(t, testConfig(t), Deps{})
	ctx := context.Background()
	for i := range maxLive + 6 {
		versionRun(t, db, fmt.Sprint("v", i))
	}
	flush(t, db)
	db.ledgers.retire(time.Now().Add(2 * retireAfter))
	for id := int64(1); id <= maxLive; id++ {
		if err := db.KeepRun(ctx, id); err != nil {
			t.Fatalf("run %d: %v", id, err)
		}
	}
	if err := db.KeepRun(ctx, maxLive+1); !errors.Is(err, ErrManyRuns) {
		t.Errorf("one more: %v", err)
	}
	if err := db.KeepRun(ctx, 99); !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrManyRuns) {
		t.Errorf("none: %v", err)
	}
	flush(t, db)
	db.ledgers.retire(time.Now().Add(retireAfter - time.Minute))
	db.Record(1, compared("GET /a", noon))
	if n := len(db.ledgers.all()); n != maxLive+1 || db.Health().Stray != 0 {
		t.Errorf("%d are in memory, %d stray", n, db.Health().Stray)
	}
}

// A version begins a run though the disk is full, and counts in it; the disk gets it when there is room.
func TestAVersionBeginsARunOnAFullDisk(t *testing.T) {
	cfg := testConfig(t)
	var log bytes.Buffer
	db := openStore(t, cfg, Deps{Log: slog.New(slog.NewTextHandler(&log, nil))})
	first := versionRun(t, db, "1")
	flush(t, db)
	pragma(t, db, `query_only = 1`)
	if _, _, err := db.BeginRun(context.Background(), Beginning{Fingerprint: candidateV1, New: true, Name: "by hand"}); err == nil {
		t.Error("a run that somebody asks for was begun, and is not on the disk")
	}
	if db.Snapshot().Run != first {
		t.Errorf("in force: %+v", db.Snapshot().Run)
	}
	second := versionRun(t, db, "2")
	again := versionRun(t, db, "2")
	if again.ID != second.ID+1 || again.Attempt != 2 {
		t.Errorf("%+v follows %+v", again, second)
	}
	recordMixture(db, second.ID, 2)
	if db.Flush(context.Background()) == nil {
		t.Error("flushed to a disk that takes nothing")
	}
	if run, err := db.FindRun(context.Background(), "current"); err != nil || run != again {
		t.Errorf("%+v, %v", run, err)
	}
	if s := snapshotOf(t, db, second.ID); s.Tallies.Total.Compared != 4 {
		t.Errorf("%d compared", s.Tallies.Total.Compared)
	}
	if r, err := db.RunRecord(context.Background(), second.ID); err != nil || r.Name != "version 2" || r.Summary.Compared != 4 {
		t.Errorf("%+v, %v", r, err)
	}
	pragma(t, db, `query_only = 0`)
	flush(t, db)
	closeStore(t, db)
	db = openStore(t, cfg, Deps{})
	if run := startRun(t, db, candidateV1); run.ID != again.ID || run.Version != "2" {
		t.Errorf("after a restart %+v is in force", run)
	}
	if s := snapshotOf(t, db, second.ID); s.Tallies.Total.Compared != 4 || s.Run.Ended == nil {
		t.Errorf("%+v: %d compared", s.Run, s.Tallies.Total.Compared)
	}
	if next := versionRun(t, db, "2"); next.Attempt != 3 {
		t.Errorf("the third attempt: %+v", next)
	}
	since, err := db.VersionsSince(context.Background(), time.Now().Add(-time.Hour))
	if err != nil || len(since) != 4 {
		t.Errorf("%v, %v", since, err)
	}
}
