package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"shadowdiff/diff"
	"shadowdiff/multicast"
	"shadowdiff/store"
)

// purgeWith runs the command where nobody can be asked.
func purgeWith(args ...string) (code int, out, errs string) {
	var stdout, stderr bytes.Buffer
	code = run(append([]string{"purge"}, args...), stdio{in: strings.NewReader("y\n"), out: &stdout, err: &stderr})
	return code, stdout.String(), stderr.String()
}

const planted = "planted-secret-4929123456789012"

// stockedDatabase is a database with one sample, whose shadow id is the secret: it stands in the file as it is.
func stockedDatabase(t *testing.T) string {
	t.Helper()
	cfg := store.DefaultConfig()
	cfg.Path = filepath.Join(t.TempDir(), "shadowdiff.db")
	db, err := store.Open(cfg, store.Deps{Judge: diff.DefaultConfig()})
	if err != nil {
		t.Fatal(err)
	}
	started, err := db.StartRun("v1", store.Fingerprint{Candidate: "http://candidate"})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	db.Record(started.ID, &diff.Comparison{
		Time: now, Route: "GET /a", Result: diff.Agree,
		Exchange: &multicast.Exchange{ID: planted, Time: now, Route: "GET /a", Request: multicast.Request{Method: "GET", Target: "/a"}},
	})
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return cfg.Path
}

func hasPlanted(t *testing.T, file string) bool {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Contains(text, []byte(planted))
}

// It says what it would delete, deletes it only when told to, and says what it deleted.
func TestPurge(t *testing.T) {
	file := stockedDatabase(t)
	if !hasPlanted(t, file) {
		t.Fatal("the secret is not in the file")
	}
	backup := filepath.Join(filepath.Dir(file), "saved.db")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(backup, text, 0o600); err != nil {
		t.Fatal(err)
	}
	aside := file + ".damaged-20261130T100000Z"
	if err := os.WriteFile(aside, text, 0o600); err != nil {
		t.Fatal(err)
	}

	code, out, errs := purgeWith("-db", file, "-samples")
	if code != exitTrouble || errs != "shadowdiff purge: nothing was deleted: give -yes to delete it\n" || !hasPlanted(t, file) {
		t.Errorf("without -yes: %d, %q", code, errs)
	}
	for _, want := range []string{
		"of what is to be deleted: 1 sample (", "not touched: " + backup + " (", "not touched: " + aside + " (",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %q, but\n%s", want, out)
		}
	}
	code, out, errs = purgeWith("-db", file, "-samples", "-yes")
	if code != exitOK || errs != "" || !strings.Contains(out, "\ndeleted: 1 sample (") {
		t.Errorf("with -yes: %d, %q, %q", code, out, errs)
	}
	if hasPlanted(t, file) || !hasPlanted(t, backup) || !hasPlanted(t, aside) {
		t.Error("the secret is left in the database, or gone from what is not to be touched")
	}

	dir := filepath.Dir(file)
	config := filepath.Join(dir, "shadowdiff.yaml")
	recordings := filepath.Join(dir, "recordings")
	if err := os.MkdirAll(recordings, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(recordings, "x.ndjson.zst"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config, []byte("primary: http://127.0.0.1:9001\nstore: {path: "+file+"}\nrecord: {dir: "+recordings+"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errs = purgeWith("-config", config, "-all", "-yes")
	if code != exitOK || errs != "" || !strings.Contains(out, recordings+" has, of what is to be deleted: at most ") || !strings.Contains(out, "\ndeleted: 2 files, ") {
		t.Errorf("all: %d, %q, %q", code, out, errs)
	}
	for name, stays := range map[string]bool{file: false, aside: false, backup: true, recordings: true, filepath.Join(recordings, "x.ndjson.zst"): false} {
		if _, err := os.Stat(name); (err == nil) != stays {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPurgeTrouble(t *testing.T) {
	file := stockedDatabase(t)
	for want, args := range map[string][]string{
		"one of -samples, -before TIME, -run NAME and -all":  {"-db", file},
		"say what is to be deleted":                          {"-db", file, "-samples", "-all"},
		"no database is named":                               {"-samples"},
		`-before: must be a time such as 2026-11-30`:         {"-db", file, "-before", "monday"},
		`no run is called "v2"`:                              {"-db", file, "-run", "v2", "-yes"},
		"does not exist: -db names the file that store.path": {"-db", file + "x", "-samples", "-yes"},
		`unexpected argument "now"`:                          {"-db", file, "-samples", "now"},
		"-url excludes -db and -config":                      {"-db", file, "-url", "http://127.0.0.1:8881", "-samples"},
		"-all deletes the database itself":                   {"-url", "http://127.0.0.1:8881", "-all"},
		"-url: not a URL":                                    {"-url", "127.0.0.1:8881", "-samples"},
	} {
		if code, _, errs := purgeWith(args...); code != exitTrouble || !strings.Contains(errs, want) {
			t.Errorf("%q: %d, %q", args, code, errs)
		}
	}
	cfg := store.DefaultConfig()
	cfg.Path = file
	db, err := store.Open(cfg, store.Deps{Judge: diff.DefaultConfig()})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, what := range []string{"-samples", "-all"} {
		if code, _, errs := purgeWith("-db", file, what, "-yes"); code != exitTrouble || !strings.Contains(errs, "stop that one") {
			t.Errorf("in use, %s: %d, %q", what, code, errs)
		}
	}
}

func TestTimeBefore(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"7d": now.AddDate(0, 0, -7), "90m": now.Add(-90 * time.Minute), "2026-11-29": time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC),
		"2026-11-29T10:00:00+01:00": time.Date(2026, 11, 29, 9, 0, 0, 0, time.UTC),
	} {
		if at, err := timeBefore(text, now); err != nil || !at.Equal(want) {
			t.Errorf("%s is %v, %v", text, at, err)
		}
	}
}

func TestAgreed(t *testing.T) {
	for answer, good := range map[string]bool{"y\n": true, "Yes\n": true, "y": true, "\n": false, "n\n": false, "": false, "yep\n": false} {
		if err := agreed(strings.NewReader(answer)); (err == nil) != good {
			t.Errorf("%q: %v", answer, err)
		}
	}
}
