package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"shadowdiff/diff"
	"shadowdiff/store"
)

// saveWith runs the command.
func saveWith(args ...string) (code int, out, errs string) {
	var stdout, stderr bytes.Buffer
	code = run(append([]string{"backup"}, args...), stdio{in: strings.NewReader(""), out: &stdout, err: &stderr})
	return code, stdout.String(), stderr.String()
}

// The command saves the database of a service that goes on, for its owner alone; what it saved can be served from.
func TestBackupOfARunningService(t *testing.T) {
	known := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"price": 1}`) }))
	defer known.Close()
	l := serveFile(t, fmt.Sprintf("primary: %[1]s\nsecondary: %[1]s\ncandidate: %[1]s\nweb: {token: a-long-token-of-this-test}\n", known.URL))
	resp, err := http.Get(l.svc.ProxyURL() + "/products/1")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	l.eventually("it is counted", func() bool { return l.svc.db.Snapshot().Tallies.Total.Compared == 1 })
	dir := t.TempDir()
	token, file := filepath.Join(dir, "token"), filepath.Join(dir, "saved.db")
	if err := os.WriteFile(token, []byte("a-long-token-of-this-test\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errs := saveWith("-url", l.svc.AdminURL(), "-token-file", token, "-o", file)
	if code != exitOK || !strings.HasPrefix(out, file+": ") || errs != "" {
		t.Fatalf("%d, %q, %q", code, out, errs)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("saved as %v, %v", info, err)
	}
	code, _, errs = saveWith("-url", l.svc.AdminURL(), "-token-file", token, "-o", file)
	if code != exitTrouble || !strings.Contains(errs, file+" exists and is not written over: name another file") {
		t.Errorf("again: %d, %q", code, errs)
	}
	cfg := store.DefaultConfig()
	cfg.Path = file
	db, err := store.Open(cfg, store.Deps{Judge: diff.DefaultConfig()})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if s, err := db.RunSnapshot(t.Context(), 1); err != nil || s.Tallies.Total.Compared != 1 {
		t.Errorf("saved %+v, %v", s, err)
	}
}

// Whatever goes wrong is named, and leaves nothing behind.
func TestBackupTrouble(t *testing.T) {
	begin := "SQLite format 3\x00"
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"wrong token": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, `{"detail": "a token is needed"}`)
		}, "the token is wrong or missing"},
		"no room": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusInsufficientStorage)
			fmt.Fprint(w, `{"detail": "not enough room: the copy takes 3 MiB"}`)
		}, "not enough room: the copy takes 3 MiB"},
		"another is under way": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusConflict)
			fmt.Fprint(w, `{"detail": "another backup is under way"}`)
		}, "another backup is under way"},
		"another service": {func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, "<html>hello and welcome</html>")
		}, "what it answers is no database"},
		"broken off": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100000")
			fmt.Fprint(w, begin+strings.Repeat("x", 5000))
			panic(http.ErrAbortHandler)
		}, "the backup broke off after 4.9 KiB"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(c.answer)
			defer server.Close()
			dir := t.TempDir()
			code, out, errs := saveWith("-url", server.URL, "-o", filepath.Join(dir, "saved.db"))
			if code != exitTrouble || out != "" || !strings.Contains(errs, c.want) {
				t.Errorf("%d, %q, %q", code, out, errs)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "-o FILE is missing"},
		{[]string{"x.db"}, `unexpected argument "x.db"`},
		{[]string{"-o", filepath.Join(t.TempDir(), "no", "x.db")}, "cannot be written"},
		{[]string{"-url", "localhost:1", "-o", filepath.Join(t.TempDir(), "x.db")}, "-url: give scheme and host"},
	} {
		if code, _, errs := saveWith(c.args...); code != exitTrouble || !strings.Contains(errs, c.want) {
			t.Errorf("%q: %d, %q", c.args, code, errs)
		}
	}
}
