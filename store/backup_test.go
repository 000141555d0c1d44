package store

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A backup that is made while counting goes on opens as a store, agrees with itself, and has what was on the disk when it
// was begun.
func TestBackup(t *testing.T) {
	cfg := testConfig(t)
	db := openStore(t, cfg, Deps{})
	former := startRun(t, db, candidateV1)
	recordMixture(db, former.ID, 9)
	run := startRun(t, db, Fingerprint{Candidate: "http://candidate:2"})
	recordMixture(db, run.ID, 200)
	flush(t, db)
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-stop:
				return
			default:
				recordMixture(db, run.ID, 20)
				if err := db.Flush(context.Background()); err != nil {
					t.Errorf("flush beside a backup: %v", err)
				}
			}
		}
	}()
	c, err := db.OpenBackup(context.Background())
	close(stop)
	<-ended
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if info, err := c.Stat(); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("made as %v, %v", info, err)
	}

	copied := openStore(t, Config{Path: c.Name(), KeepSamples: cfg.KeepSamples, SamplesPerField: 20, MaxSize: cfg.MaxSize}, Deps{})
	startRun(t, copied, Fingerprint{Candidate: "http://candidate:2"})
	all := copied.Snapshot().Tallies
	if n := all.Total.Compared; copied.Snapshot().Run.ID != run.ID || n < 400 || n > db.Snapshot().Tallies.Total.Compared {
		t.Errorf("the copy has %d compared of run %d", n, copied.Snapshot().Run.ID)
	}
	points, err := copied.Series(context.Background(), Filter{})
	if err != nil || len(points) != 1 || points[0].Compared != all.Total.Compared {
		t.Errorf("series of the copy: %+v, %v", points, err)
	}
	if n := checkShown(t, copied); n == 0 {
		t.Error("the copy has no samples")
	}
	if s, err := copied.RunSnapshot(context.Background(), former.ID); err != nil || s.Tallies.Total.Compared != 18 {
		t.Errorf("the run before: %+v, %v", s, err)
	}
}

// Every table of a backup holds what the source's does, the file is gone once it is read, one is made at a time, and nothing
// is left of one that was given up.
func TestBackupIsWhole(t *testing.T) {
	cfg := testConfig(t)
	fill(t, cfg.Path)
	db := openStore(t, cfg, Deps{})
	c, err := db.OpenBackup(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if want, got := counts(t, cfg.Path), counts(t, c.Name()); !cmp.Equal(want, got) || len(want) < 10 {
		t.Errorf("rows: %s", cmp.Diff(want, got))
	}
	if info, err := c.Stat(); err != nil || info.Size() != c.Size || c.Size == 0 {
		t.Errorf("%d bytes are said, %v, %v", c.Size, info, err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}

	db.backups.Lock()
	if _, err := db.OpenBackup(context.Background()); !errors.Is(err, ErrBackupRunning) {
		t.Errorf("beside another one: %v", err)
	}
	db.backups.Unlock()
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := db.OpenBackup(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v", err)
	}
	if left, err := filepath.Glob(cfg.Path + ".*"); err != nil || len(left) != 1 { // the lock
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// counts are the rows of every table of a file.
func counts(t *testing.T, path string) map[string]int {
	t.Helper()
	pool := rawOpen(t, path)
	rows, err := pool.Query(`SELECT name FROM sqlite_schema WHERE type = 'table'`)
	names, err := scanAll(rows, err, func(scan func(...any) error, name *string) error { return scan(name) })
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]int{}
	for _, name := range names {
		var n int
		if err := pool.QueryRow(`SELECT count(*) FROM ` + name).Scan(&n); err != nil {
			t.Fatal(err)
		}
		all[name] = n
	}
	return all
}
