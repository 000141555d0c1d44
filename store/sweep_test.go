package store

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"shadowdiff/diff"

	"github.com/google/go-cmp/cmp"
)

// Samples go when they are old, of runs that are over too, and their places are free for new ones.
func TestOldSamplesAreRemoved(t *testing.T) {
	cfg := testConfig(t)
	db := openStore(t, cfg, Deps{})
	former := startRun(t, db, candidateV1)
	db.Record(former.ID, compared("GET /a", noon, field("body.x", 1, 0)))
	run := startRun(t, db, Fingerprint{Candidate: "http://candidate:2"})
	for i := range 20 {
		db.Record(run.ID, compared("GET /a", noon.Add(time.Duration(i)*time.Hour), field("body.x", 1, 0)))
	}
	flush(t, db)
	before := db.Snapshot()
	sweepAll(db, noon.Add(cfg.KeepSamples+5*time.Hour))

	items, _, err := db.Samples(context.Background(), Filter{})
	if err != nil || len(items) != 15 {
		t.Errorf("%d samples are left, %v", len(items), err)
	}
	if items, _, err := db.Samples(context.Background(), Filter{Run: former.ID}); err != nil || len(items) != 0 {
		t.Errorf("%d samples of the run before are left, %v", len(items), err)
	}
	after := db.Snapshot()
	if after.Version == before.Version || len(after.SampleIDs("GET /a", "body.x")) != 10 {
		t.Errorf("shown after the sweep: %v", after.SampleIDs("GET /a", "body.x"))
	}
	for _, id := range after.SampleIDs("GET /a", "body.x") {
		if _, err := db.Sample(context.Background(), id); err != nil {
			t.Errorf("a sample that is shown: %v", err)
		}
	}
	db.Record(run.ID, compared("GET /a", noon.Add(200*time.Hour), field("body.x", 1, 0)))
	flush(t, db)
	if items, _, err := db.Samples(context.Background(), Filter{}); err != nil || len(items) != 16 {
		t.Errorf("%d samples after one more, %v", len(items), err)
	}
	if after.Tallies.Total.Compared != 20 {
		t.Errorf("removing samples changed the counts to %d", after.Tallies.Total.Compared)
	}
}

// The file stays under its size: the oldest samples give way, and the room is given back to the file system.
func TestTheFileStaysUnderItsSize(t *testing.T) {
	cfg := testConfig(t)
	cfg.MaxSize = 4 << 20
	db := openStore(t, cfg, Deps{})
	run := startRun(t, db, candidateV1)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 60 {
		c := compared("GET /image", noon.Add(time.Duration(i)*time.Minute), field(fmt.Sprintf("header.x-%d", i), 1, 0))
		body := make([]byte, 100<<10)
		for j := range body {
			body[j] = byte(random.Uint32())
		}
		c.Exchange.Responses[0].Header.Set("Content-Type", "image/png")
		c.Exchange.Responses[0].Body = body
		db.Record(run.ID, c)
		flush(t, db)
		if db.hasGrown() {
			sweepAll(db, noon)
		}
	}
	flush(t, db)
	sweepAll(db, noon)
	closeStore(t, db) // which merges the log
	info, err := os.Stat(cfg.Path)
	if err != nil || info.Size() > int64(cfg.MaxSize) {
		t.Errorf("%d bytes, %v", info.Size(), err)
	}
	db = openStore(t, cfg, Deps{})
	startRun(t, db, candidateV1)
	items, _, err := db.Samples(context.Background(), Filter{Limit: 500})
	if err != nil || len(items) < 20 || len(items) > 45 {
		t.Fatalf("%d samples are left, %v", len(items), err)
	}
	if newest, oldest := items[0].Fields[0], items[len(items)-1].Fields[0]; newest != "header.x-59" || oldest != fmt.Sprintf("header.x-%d", 60-len(items)) {
		t.Errorf("left are %s down to %s of %d", newest, oldest, len(items))
	}
	if db.Snapshot().Tallies.Total.Compared != 60 {
		t.Error("the counts gave way too")
	}
}

// Minutes become hours after a day, once: also those that are written to again later.
func TestOldMinutesBecomeHours(t *testing.T) {
	db := openStore(t, testConfig(t), Deps{})
	run := startRun(t, db, candidateV1)
	ctx := context.Background()
	record := func(at time.Time) {
		db.Record(run.ID, compared("GET /a", at, field("body.x", 1, 0)))
		db.Record(run.ID, compared("GET /a", at, field("body.y", 0, 1)))
		db.Record(run.ID, unknown("GET /a", at, "stale"))
	}
	for i := range 90 { // 12:00 to 13:29
		record(noon.Add(time.Duration(i) * time.Minute))
	}
	flush(t, db)
	sweepAll(db, noon.Add(25*time.Hour)) // 12:00 to 12:59 are old enough
	sweepAll(db, noon.Add(25*time.Hour))
	points, err := db.Series(ctx, Filter{Route: "GET /a"})
	if err != nil || len(points) != 31 {
		t.Fatalf("%d points, want one hour and 30 minutes, %v", len(points), err)
	}
	want := Point{
		Minute: noon, Span: time.Hour, Compared: 120, Unknown: 60, Raw: 60, Noise: 60,
		Counts: diff.Counts{CandidateOnly: 60, ControlOnly: 60},
	}
	if d := cmp.Diff(want, points[0]); d != "" {
		t.Errorf("the hour (-want +got):\n%s", d)
	}

	record(noon.Add(5 * time.Minute)) // late
	flush(t, db)
	flush(t, db)
	sweepAll(db, noon.Add(25*time.Hour))
	points, err = db.Series(ctx, Filter{})
	if err != nil || len(points) != 31 || points[0].Compared != 122 {
		t.Errorf("the hour after a late minute: %+v, %v", points[0], err)
	}
	points, err = db.Series(ctx, Filter{Route: "GET /a", Field: "body.x", Since: noon.Add(30 * time.Minute), Until: noon.Add(70 * time.Minute)})
	if err != nil || len(points) != 11 || points[0].Raw != 61 || points[1].Raw != 1 || points[1].Compared != 2 || points[1].Noise != 0 {
		t.Errorf("the field's points from 12:30 to 13:10: %+v, %v", points, err)
	}
}

// A minute's series of fields is bounded; the routes' own go on.
func TestSeriesOfFieldsAreBounded(t *testing.T) {
	db := openStore(t, testConfig(t), Deps{})
	run := startRun(t, db, candidateV1)
	for i := range seriesFields + 50 {
		c := compared("GET /a", noon, field(fmt.Sprintf("body.f%d", i), 1, 0))
		c.Exchange = nil
		db.Record(run.ID, c)
	}
	flush(t, db)
	var rows int
	if err := db.file.read.QueryRow(`SELECT count(*) FROM field_series`).Scan(&rows); err != nil || rows != seriesFields+1 {
		t.Errorf("%d fields have a series, %v", rows, err)
	}
	rest, err := db.Series(context.Background(), Filter{Route: "GET /a", Field: diff.Other})
	if err != nil || len(rest) != 1 || rest[0].CandidateOnly != 50 {
		t.Errorf("the others together: %+v, %v", rest, err)
	}
	points, err := db.Series(context.Background(), Filter{Route: "GET /a"})
	if err != nil || points[0].Raw != seriesFields+50 {
		t.Errorf("the route's minute: %+v, %v", points, err)
	}
}

// sweepAll sweeps until nothing is left to do.
func sweepAll(db *DB, now time.Time) {
	for db.sweep(context.Background(), now, time.Time{}) {
	}
}
