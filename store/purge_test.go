package store

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// secretBody is a body that no compression makes shorter, so that it can be looked for in a file.
func secretBody() (body, needle []byte) {
	random := rand.New(rand.NewPCG(7, 7))
	body = make([]byte, 200<<10)
	for i := range body {
		body[i] = byte(random.Uint32())
	}
	return body, body[100<<10 : 100<<10+24]
}

// stocked is a closed database with two runs: in each two samples, an old one and a later one, and a profile. One sample
// of each holds the secret body, and the profiles of both hold secretValue.
func stocked(t *testing.T) (path string, needle []byte) {
	t.Helper()
	cfg := testConfig(t)
	db := openStore(t, cfg, Deps{})
	body, needle := secretBody()
	for _, name := range []string{"one", "two"} {
		run, err := db.StartRun(name, Fingerprint{Candidate: "http://" + name})
		if err != nil {
			t.Fatal(err)
		}
		c := compared("GET /image", noon, field("header.x-"+name, 1, 0))
		c.Exchange.Responses[0].Header.Set("Content-Type", "image/png")
		c.Exchange.Responses[0].Body = body
		db.Record(run.ID, c)
		db.Record(run.ID, compared("GET /a", noon.Add(time.Hour), field("body.x", 1, 0)))
		flush(t, db)
	}
	closeStore(t, db)
	raw, err := openPool(cfg.Path, 1, plainPragmas())
	if err != nil {
		t.Fatal(err)
	}
	for run := range 2 {
		for _, statement := range []string{
			`INSERT OR REPLACE INTO profile (run, route, field, blob) VALUES (?, 'GET /a', 'body.x', ?)`,
			`INSERT OR REPLACE INTO attribute (run, route, blob) VALUES (?, 'GET /a', ?)`,
		} {
			if _, err := raw.Exec(statement, run+1, []byte(secretValue)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := raw.Close(); err != nil {
		t.Fatal(err)
	}
	return cfg.Path, needle
}

const secretValue = "4929-1234-5678-9012"

// holds counts how often something stands in the database and in what is beside it.
func holds(t *testing.T, path string, needle []byte) (n int) {
	t.Helper()
	files, err := filepath.Glob(path + "*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		n += bytes.Count(text, needle)
	}
	return n
}

func openClosed(t *testing.T, path string) *Closed {
	t.Helper()
	c, err := OpenClosed(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// What was kept of requests and answers is gone from the file itself, and the room with it; counts and verdict stay.
func TestPurgeLeavesNothing(t *testing.T) {
	path, needle := stocked(t)
	if holds(t, path, needle) < 2 || holds(t, path, []byte(secretValue)) < 4 {
		t.Fatal("the secrets are not in the file, so that their absence would show nothing")
	}
	c := openClosed(t, path)
	before := c.Size()
	n, err := c.Purge(context.Background(), Purge{}, "purge")
	if err != nil || n.Samples != 4 || n.Profiles < 4 || n.SampleBytes < 400<<10 {
		t.Errorf("purged %+v, %v", n, err)
	}
	if after := c.Size(); after > before-400<<10 {
		t.Errorf("%d bytes, of %d", after, before)
	}
	if logged := c.file.logSize(); logged != 0 {
		t.Errorf("the log has %d bytes", logged)
	}
	if holds(t, path, needle)+holds(t, path, []byte(secretValue)) != 0 {
		t.Error("a secret is left in the file while it is open")
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if holds(t, path, needle)+holds(t, path, []byte(secretValue)) != 0 {
		t.Error("a secret is left in the file")
	}

	cfg := DefaultConfig()
	cfg.Path = path
	db := openStore(t, cfg, Deps{})
	if s, err := db.RunSnapshot(t.Context(), 2); err != nil || s.Tallies.Total.Compared != 2 {
		t.Errorf("the counts: %+v, %v", s, err)
	}
	run, err := db.StartRun("two", Fingerprint{Candidate: "http://two"})
	if err != nil || run.ID != 2 {
		t.Fatalf("the run goes on as %+v, %v", run, err)
	}
	db.Record(run.ID, compared("GET /a", noon, field("body.x", 1, 0)))
	flush(t, db)
	items, _, err := db.Samples(t.Context(), Filter{})
	if err != nil || len(items) != 1 || db.Snapshot().Tallies.Total.Compared != 3 {
		t.Errorf("%d samples after one more, %v", len(items), err)
	}
	told, err := db.Activity(t.Context(), 50)
	if err != nil || !slices.ContainsFunc(told, func(a Activity) bool {
		return a.Action == "purge" && a.Actor == "purge" && strings.HasPrefix(a.Detail, "4 samples and ")
	}) {
		t.Errorf("the activity tells %+v, %v", told, err)
	}
}

// A sample that was removed by age leaves its bytes in a free page, and a purge takes them, too.
func TestPurgeTakesWhatWasRemovedBefore(t *testing.T) {
	path, needle := stocked(t)
	raw, err := openPool(path, 1, plainPragmas())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := raw.Exec(`DELETE FROM sample`); err != nil {
		t.Fatal(err)
	}
	if err := raw.Close(); err != nil {
		t.Fatal(err)
	}
	if holds(t, path, needle) == 0 {
		t.Fatal("what was removed has left nothing, so that a purge would show nothing")
	}
	c := openClosed(t, path)
	if _, err := c.Purge(t.Context(), Purge{Run: "one"}, "purge"); err != nil {
		t.Fatal(err)
	}
	if holds(t, path, needle) != 0 {
		t.Error("it is left in the file")
	}
}

func TestPurgeWithinLimits(t *testing.T) {
	path, _ := stocked(t)
	c := openClosed(t, path)
	ctx := t.Context()
	if n, err := c.CountPurge(ctx, Purge{Before: noon.Add(time.Minute)}); err != nil || n.Samples != 2 || n.Profiles != 0 {
		t.Errorf("from before one: %+v, %v", n, err) // the runs are of today, and had not ended by then
	}
	if n, err := c.CountPurge(ctx, Purge{Before: time.Now().Add(time.Hour)}); err != nil || n.Samples != 4 || n.Profiles < 2 {
		t.Errorf("from before now: %+v, %v", n, err)
	}
	if _, err := c.CountPurge(ctx, Purge{Run: "three"}); !errors.Is(err, ErrNotFound) {
		t.Errorf("a run that is not there: %v", err)
	}
	n, err := c.Purge(ctx, Purge{Run: "one"}, "purge")
	if err != nil || n.Samples != 2 {
		t.Errorf("a run: %+v, %v", n, err)
	}
	if left, err := c.CountPurge(ctx, Purge{}); err != nil || left.Samples != 2 {
		t.Errorf("left: %+v, %v", left, err)
	}
	if n, err := c.CountPurge(ctx, Purge{Run: "2"}); err != nil || n.Samples != 2 {
		t.Errorf("by its id: %+v, %v", n, err)
	}
}

// A file that is in use is not touched by either.
func TestPurgeRefusesWhatIsInUse(t *testing.T) {
	cfg := testConfig(t)
	openStore(t, cfg, Deps{})
	if _, err := OpenClosed(cfg.Path); err == nil || !strings.Contains(err.Error(), "stop that one") {
		t.Errorf("opened: %v", err)
	}
	if err := RemoveAll(cfg.Path); err == nil || !strings.Contains(err.Error(), "stop that one") {
		t.Errorf("removed: %v", err)
	}
	if _, err := os.Stat(cfg.Path); err != nil {
		t.Error(err)
	}
	if _, err := OpenClosed(cfg.Path + "x"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("one that is not there: %v", err)
	}
	if _, err := os.Stat(cfg.Path + "x.lock"); err == nil {
		t.Error("a lock was made for nothing")
	}
}

// Everything that is made beside a database goes with it; what only looks alike stays.
func TestRemoveAll(t *testing.T) {
	path, needle := stocked(t)
	dir := filepath.Dir(path)
	database, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"shadowdiff.db.damaged-20261130T100000Z", "shadowdiff.db.replaced-20261130T100000Z-2-wal", "shadowdiff.db.backup", "shadowdiff.db.new-2",
		"shadowdiff.db.replay",
		"saved.db", "shadowdiff.db.backup-of-monday", "shadowdiff.db2",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), database, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "notes.txt"), needle, 0o600); err != nil {
		t.Fatal(err)
	}
	found, err := FindRemains(path)
	if err != nil || len(found.Files) != 6 || found.Files[5] != path || len(found.Backups) != 3 {
		t.Errorf("found %+v, %v", found, err)
	}
	if err := RemoveAll(path); err != nil {
		t.Fatal(err)
	}
	var left []string
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		left = append(left, e.Name())
	}
	want := []string{"notes.txt", "saved.db", "shadowdiff.db.backup-of-monday", "shadowdiff.db.lock", "shadowdiff.db2"}
	if !slices.Equal(left, want) {
		t.Errorf("left %q", left)
	}
}

// A file that is no database of ours is not removed, whatever name it has; one whose process was killed at once is.
func TestRemoveAllLeavesWhatIsNotOurs(t *testing.T) {
	notes := filepath.Join(t.TempDir(), "notes.txt")
	write(t, notes, []byte("these are my notes\n"))
	bookmarks := filepath.Join(t.TempDir(), "bookmarks.db")
	execOn(t, bookmarks, `CREATE TABLE bookmarks (url TEXT)`)
	for _, path := range []string{notes, bookmarks} {
		if err := RemoveAll(path); err == nil || !strings.Contains(err.Error(), path+": no database of shadowdiff's") {
			t.Errorf("removing %s: %v", path, err)
		}
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}

	cfg := testConfig(t)
	openStore(t, cfg, Deps{})
	killed := filepath.Join(t.TempDir(), "killed.db")
	for _, part := range []string{"", "-wal"} {
		b, err := os.ReadFile(cfg.Path + part)
		if err != nil {
			t.Fatal(err)
		}
		write(t, killed+part, b)
	}
	if err := RemoveAll(killed); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(killed); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is left: %v", err)
	}
}
