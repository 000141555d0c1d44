package store

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"shadowdiff/diff"

	"github.com/google/go-cmp/cmp"
)

// A damaged database of ours is set aside at the start, byte for byte, and the service begins anew and says so.
func TestDamagedIsSetAsideAtTheStart(t *testing.T) {
	for name, harm := range map[string]func(t *testing.T, path string){
		"pages overwritten": damage,
		"cut off": func(t *testing.T, path string) {
			if err := os.Truncate(path, 5*4096); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := testConfig(t)
			fill(t, cfg.Path)
			harm(t, cfg.Path)
			before := read(t, cfg.Path)
			var log bytes.Buffer
			db := openStore(t, cfg, Deps{Log: slog.New(slog.NewTextHandler(&log, nil))})
			aside := db.Health().Aside
			if aside == nil || !strings.HasPrefix(aside.Path, cfg.Path+".damaged-2") || aside.Why == "" || strings.Contains(aside.Why, "move") {
				t.Fatalf("set aside: %+v", aside)
			}
			if !bytes.Equal(read(t, aside.Path), before) {
				t.Error("the file that was set aside is not what it was")
			}
			if n := strings.Count(log.String(), "\n"); n != 1 || !strings.Contains(log.String(), "set aside") {
				t.Errorf("logged %d lines:\n%s", n, &log)
			}
			if run := startRun(t, db, candidateV1); run.ID != 1 {
				t.Errorf("the first run of a new file is %+v", run)
			}
			flush(t, db)
			if said, err := db.Activity(context.Background(), 0); err != nil || len(said) != 1 || !strings.Contains(said[0].Detail, aside.Path) {
				t.Errorf("activity: %+v, %v", said, err)
			}
		})
	}
}

// A database that becomes damaged while it is in use is set aside, and everything that the memory holds is in the new one:
// the counts of the runs in memory, what they confirmed, the minutes, the settings.
func TestDamagedIsSetAsideWhileInUse(t *testing.T) {
	cfg := testConfig(t)
	db := openStore(t, cfg, Deps{})
	former := startRun(t, db, candidateV1)
	recordMixture(db, former.ID, 40)
	run := startRun(t, db, Fingerprint{Candidate: "http://candidate:2"})
	recordMixture(db, run.ID, 40)
	if err := db.SaveSetting(context.Background(), "sample", "1%"); err != nil {
		t.Fatal(err)
	}
	flush(t, db)
	before := db.Snapshot()
	if _, err := db.file.write.Exec(`PRAGMA wal_checkpoint(TRUNCATE)`); err != nil {
		t.Fatal(err)
	}
	damage(t, cfg.Path)

	db.file.unclean = true
	db.checkAfterCrash(context.Background())
	aside := db.Health().Aside
	if aside == nil || !strings.HasPrefix(aside.Path, cfg.Path+".damaged-2") {
		t.Fatalf("set aside: %+v", aside)
	}
	recordMixture(db, run.ID, 5)
	flush(t, db)
	if s := db.Snapshot(); s.Tallies.Total.Compared != 90 || s.Run.ID != run.ID {
		t.Errorf("in memory %d compared of %+v", s.Tallies.Total.Compared, s.Run)
	}
	closeStore(t, db)

	db = openStore(t, cfg, Deps{})
	if again := startRun(t, db, Fingerprint{Candidate: "http://candidate:2"}); again.ID != run.ID || again.Name != run.Name {
		t.Errorf("continued %+v as %+v", run, again)
	}
	after := db.Snapshot()
	if after.Tallies.Total.Compared != 90 {
		t.Errorf("on the disk %d compared", after.Tallies.Total.Compared)
	}
	was, is := before.Tallies.Fields[1].Tests[diff.TestValue], after.Tallies.Fields[1].Tests[diff.TestValue]
	if is.CandidateOnly != 45 || was.Confirmed == nil || !cmp.Equal(was.Confirmed, is.Confirmed) || was.Order != is.Order {
		t.Errorf("a confirmed field was %+v, is %+v", was, is)
	}
	if points, err := db.Series(context.Background(), Filter{}); err != nil || len(points) != 1 || points[0].Compared != 10 {
		t.Errorf("the minute that the new file has: %+v, %v", points, err)
	}
	if s, err := db.RunSnapshot(context.Background(), former.ID); err != nil || s.Tallies.Total.Compared != 80 {
		t.Errorf("the run before: %+v, %v", s, err)
	}
	if value, err := db.Setting(context.Background(), "sample"); err != nil || value != "1%" {
		t.Errorf("the setting is %q, %v", value, err)
	}
	if n := checkShown(t, db); n == 0 {
		t.Error("no sample was kept after the old ones were set aside")
	}
}

// checkShown reads all samples that are shown for the fields of the run in force, and answers how many there are.
func checkShown(t *testing.T, db *DB) (n int) {
	t.Helper()
	s := db.Snapshot()
	for _, f := range s.Tallies.Fields {
		for _, id := range s.SampleIDs(f.Route, f.Field) {
			n++
			if _, err := db.Sample(context.Background(), id); err != nil {
				t.Errorf("a sample that is shown: %v", err)
			}
		}
	}
	return n
}

// A database that is removed or replaced while it is in use is there again after the next flush, with everything: runs that
// are over and samples too. What stands in its place is set aside as it is.
func TestMissingIsWrittenAnew(t *testing.T) {
	for name, c := range map[string]struct {
		harm  func(t *testing.T, path string)
		aside bool
	}{
		"removed": {func(t *testing.T, path string) { remove(t, path) }, false},
		"removed with its log": {func(t *testing.T, path string) {
			remove(t, path)
			remove(t, path+"-wal")
			remove(t, path+"-shm")
		}, false},
		"replaced": {func(t *testing.T, path string) {
			remove(t, path)
			write(t, path, []byte("these are my notes\n"))
		}, true},
		"moved away and another moved in": {func(t *testing.T, path string) {
			other := testConfig(t)
			fill(t, other.Path)
			if err := os.Rename(other.Path, path); err != nil {
				t.Fatal(err)
			}
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := testConfig(t)
			db := openStore(t, cfg, Deps{})
			former := startRun(t, db, candidateV1)
			recordMixture(db, former.ID, 7)
			run := startRun(t, db, Fingerprint{Candidate: "http://candidate:2"})
			recordMixture(db, run.ID, 40)
			flush(t, db)
			before := db.Snapshot()
			c.harm(t, cfg.Path)
			stands := []byte(nil)
			if c.aside {
				stands = read(t, cfg.Path)
			}
			recordMixture(db, run.ID, 1)
			flush(t, db)
			h := db.Health()
			if h.Err != "" || (h.Aside != nil) != c.aside {
				t.Fatalf("health: %+v", h)
			} else if c.aside && !bytes.Equal(read(t, h.Aside.Path), stands) {
				t.Error("what stood in its place was not kept")
			} else if c.aside && !h.Aside.Foreign {
				t.Error("what stood in its place is taken for the database")
			}
			said, err := db.Activity(context.Background(), 1)
			if told := len(said) > 0 && strings.HasPrefix(said[0].Detail, "another file in its place: "+h.Aside.Path); told != c.aside {
				t.Errorf("the activity tells %+v, %v", said, err)
			}
			if n := checkShown(t, db); n < 10 {
				t.Errorf("%d samples are shown", n)
			}
			closeStore(t, db)

			db = openStore(t, cfg, Deps{})
			startRun(t, db, Fingerprint{Candidate: "http://candidate:2"})
			if s := db.Snapshot(); s.Run.ID != run.ID || s.Tallies.Total.Compared != before.Tallies.Total.Compared+2 {
				t.Errorf("on the disk %d compared of %+v", s.Tallies.Total.Compared, s.Run)
			}
			if s, err := db.RunSnapshot(context.Background(), former.ID); err != nil || s.Tallies.Total.Compared != 14 {
				t.Errorf("the run before: %+v, %v", s, err)
			}
			if left, err := filepath.Glob(cfg.Path + ".new*"); err != nil || len(left) != 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

// Where all files were removed and another process has begun anew under their name, that one is left alone; when it has
// ended its file is set aside.
func TestMissingAndTakenByAnother(t *testing.T) {
	cfg := testConfig(t)
	db := openStore(t, cfg, Deps{})
	run := startRun(t, db, candidateV1)
	recordMixture(db, run.ID, 10)
	flush(t, db)
	for _, part := range []string{"", "-wal", "-shm", ".lock"} {
		remove(t, cfg.Path+part)
	}
	other := openStore(t, cfg, Deps{})
	theirs := startRun(t, other, candidateV1)
	recordMixture(other, theirs.ID, 1)
	flush(t, other)
	recordMixture(db, run.ID, 10)
	if err := db.Flush(context.Background()); err == nil || !strings.Contains(err.Error(), "in use by process") {
		t.Errorf("flushed with %v", err)
	}
	recordMixture(other, theirs.ID, 1)
	flush(t, other)
	closeStore(t, other)
	flush(t, db)
	if h := db.Health(); h.Err != "" || h.Aside == nil || !strings.Contains(h.Aside.Path, ".replaced-") {
		t.Errorf("health: %+v", h)
	}
	closeStore(t, db)
	db = openStore(t, cfg, Deps{})
	startRun(t, db, candidateV1)
	if n := db.Snapshot().Tallies.Total.Compared; n != 40 {
		t.Errorf("%d compared", n)
	}
}

// While there is nowhere to write it, counting goes on, and it is written when there is.
func TestMissingFolder(t *testing.T) {
	cfg := testConfig(t)
	dir := filepath.Dir(cfg.Path)
	db := openStore(t, cfg, Deps{})
	run := startRun(t, db, candidateV1)
	recordMixture(db, run.ID, 10)
	flush(t, db)
	away := filepath.Join(t.TempDir(), "away")
	if err := os.Rename(dir, away); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		recordMixture(db, run.ID, 10)
		if err := db.Flush(context.Background()); err == nil || !strings.Contains(err.Error(), "removed or replaced") {
			t.Errorf("flushed with %v", err)
		}
	}
	if h := db.Health(); h.Failures != 3 || db.Snapshot().Tallies.Total.Compared != 80 {
		t.Errorf("health %+v, %d compared", h, db.Snapshot().Tallies.Total.Compared)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	flush(t, db)
	closeStore(t, db)
	db = openStore(t, cfg, Deps{})
	startRun(t, db, candidateV1)
	if n := db.Snapshot().Tallies.Total.Compared; n != 80 {
		t.Errorf("%d compared on the disk", n)
	}
}

// A large file is checked while it is in use, after an unclean end.
func TestLargeFileIsCheckedInTheBackground(t *testing.T) {
	cfg := testConfig(t)
	fill(t, cfg.Path)
	execOn(t, cfg.Path, `INSERT INTO setting (key, value) VALUES ('large', hex(zeroblob(20000000)))`)
	f, err := os.OpenFile(cfg.Path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	for page := int64(4000); page < 4050; page++ {
		if _, err := f.WriteAt([]byte{0xff, 0xff, 0xff, 0xff}, page*pageBytes); err != nil { // the next page of the long value
			t.Fatal(err)
		}
	}
	f.Close()
	write(t, cfg.Path+"-wal", []byte("what an unclean end leaves behind"))
	db := openStore(t, cfg, Deps{})
	startRun(t, db, candidateV1)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- db.Run(ctx) }()
	defer func() { cancel(); <-ended }()
	versions := db.Watch(ctx)
	late := time.After(time.Minute)
	for db.Health().Aside == nil {
		select {
		case <-versions:
		case <-late:
			t.Fatal("the damage was not found")
		}
	}
	run := startRun(t, db, candidateV1)
	recordMixture(db, run.ID, 1)
	if err := db.Flush(context.Background()); err != nil {
		t.Errorf("the new file: %v", err)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
}
