package store

import (
	"context"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// A watcher sees the present version at once, then each new one; a slow one sees the latest and holds nobody up.
func TestWatchersSeeTheLatestVersion(t *testing.T) {
	db := openStore(t, testConfig(t), Deps{})
	run := startRun(t, db, candidateV1)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	awake, asleep := db.Watch(ctx), db.Watch(context.Background())
	if v := <-awake; v != db.Snapshot().Version {
		t.Errorf("begins with version %d, the snapshot is %d", v, db.Snapshot().Version)
	}
	for range 5 {
		db.Record(run.ID, compared("GET /a", noon))
		flush(t, db)
		if v := <-awake; v != db.Snapshot().Version {
			t.Errorf("woken for %d, the snapshot is %d", v, db.Snapshot().Version)
		}
	}
	flush(t, db)
	if v := db.Snapshot().Version; v != <-asleep {
		t.Errorf("whoever sleeps does not wake up to %d", v)
	}
	select {
	case v := <-awake:
		t.Errorf("woken for %d although nothing changed", v)
	default:
	}
	cancel()
	if _, open := <-awake; open {
		t.Error("a watch goes on after its context")
	}
	closeStore(t, db)
	if _, open := <-asleep; open {
		t.Error("a watch goes on after the store")
	}
	if _, open := <-db.Watch(context.Background()); open {
		t.Error("a watch begins after the store")
	}
}

// Run flushes by itself, and when it returns all is on the disk and quiet.
func TestRunFlushesAndEnds(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	db := openStore(t, testConfig(t), Deps{})
	run := startRun(t, db, candidateV1)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- db.Run(ctx) }()

	db.Record(run.ID, compared("GET /a", noon))
	for range db.Watch(ctx) {
		if db.Snapshot().Tallies.Total.Compared == 1 {
			break
		}
	}
	db.Record(run.ID, compared("GET /a", noon))
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	var onDisk int
	err := db.file.read.QueryRow(`SELECT compared FROM route_tally WHERE route = ''`).Scan(&onDisk)
	if err != nil || onDisk != 2 {
		t.Errorf("%d of 2 on the disk when Run returned, %v", onDisk, err)
	}
	closeStore(t, db)
	if err := db.Flush(context.Background()); err == nil {
		t.Error("a closed store flushes")
	}
}

// Many record and many read while the writer writes: every snapshot agrees with itself, and nothing is lost.
func TestReadersWhileWriting(t *testing.T) {
	db := openStore(t, testConfig(t), Deps{})
	run := startRun(t, db, candidateV1)
	ctx, cancel := context.WithCancel(context.Background())
	var writers, others sync.WaitGroup
	others.Go(func() { _ = db.Run(ctx) })
	for range 4 {
		writers.Go(func() {
			for i := range 2000 {
				at := noon.Add(time.Duration(i) * 50 * time.Millisecond)
				db.Record(run.ID, compared("GET /a", at, field("body.x", 1, 0), field("body.y", 1, 1)))
			}
		})
	}
	for range 3 {
		others.Go(func() {
			for range db.Watch(ctx) {
				s := db.Snapshot()
				if v := s.Verdict; v.Compared != s.Tallies.Total.Compared {
					t.Errorf("a snapshot of %d compared was judged at %d", s.Tallies.Total.Compared, v.Compared)
				}
				items, _, err := db.Samples(context.Background(), Filter{Limit: 5})
				if err != nil {
					t.Error(err)
				}
				for _, item := range items {
					if _, err := db.Sample(context.Background(), item.ID); err != nil {
						t.Logf("sample %d was displaced meanwhile: %v", item.ID, err)
					}
				}
				if _, err := db.Series(context.Background(), Filter{Field: "body.x", Route: "GET /a"}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	flush(t, db)
	cancel()
	others.Wait()
	s := db.Snapshot()
	if s.Tallies.Total.Compared != 8000 || s.Tallies.Fields[0].Raw != 8000 {
		t.Errorf("%d of 8000 compared, field in %d", s.Tallies.Total.Compared, s.Tallies.Fields[0].Raw)
	}
}
