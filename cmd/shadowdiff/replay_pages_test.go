package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// TestAReplayCanBeWatched: its dashboard is there while it goes on, to look at and not to change anything, and its report
// is there at the end.
func TestAReplayCanBeWatched(t *testing.T) {
	t.Parallel()
	asked, goOn := make(chan struct{}), make(chan struct{})
	once := sync.OnceFunc(func() { close(asked) })
	answer := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/things/39" {
				once()
				<-goOn
			}
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, text)
		}
	}
	primary, secondary, candidate := newPeer(t, "p", answer(`{"a":1}`)), newPeer(t, "s", answer(`{"a":1}`)), newPeer(t, "c", answer(`{"a":2}`))
	dir := t.TempDir()
	file, page, data := filepath.Join(dir, "access.log"), filepath.Join(dir, "report.html"), filepath.Join(dir, "report.json")
	if err := os.WriteFile(file, []byte(logOf(40, 0)), 0o600); err != nil {
		t.Fatal(err)
	}
	replay := func(problems io.Writer, more ...string) int {
		args := append([]string{
			"replay", "-primary", primary.URL, "-secondary", secondary.URL, "-candidate", candidate.URL, "-speed", "max",
			"-db", filepath.Join(dir, "a.db"),
		}, more...)
		return run(append(args, file), stdio{strings.NewReader(""), io.Discard, problems})
	}
	told, tell := io.Pipe()
	code := make(chan int, 1)
	go func() {
		code <- replay(tell, "-admin", "127.0.0.1:0", "-report", page)
		tell.Close()
	}()
	lines := bufio.NewScanner(told)
	address := ""
	for address == "" && lines.Scan() {
		if _, rest, found := strings.Cut(lines.Text(), "the dashboard is at "); found {
			address, _, _ = strings.Cut(rest, "/ ")
		}
	}
	go io.Copy(io.Discard, told)
	<-asked
	get := func(method, path, body string) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, address+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(text)
	}
	if status, text := get("GET", "/", ""); status != http.StatusOK || !strings.Contains(text, "replay of access.log") || !strings.Contains(text, "A replay is under way") {
		t.Errorf("the overview: %d %s", status, text)
	}
	for _, path := range []string{"/settings", "/runs", "/fields", "/activity", "/metrics", "/readyz", "/api/v1/counters"} {
		if status, text := get("GET", path, ""); status != http.StatusOK {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
	for path, says := range map[string][2]string{
		"/settings": {"no client is served", "Every client|To take it out again|web.read_only"}, "/runs": {"replay of access.log", "Begin a new run"},
		"/rules": {"this is a replay", "web.read_only"},
	} {
		_, text := get("GET", path, "")
		if !strings.Contains(text, says[0]) {
			t.Errorf("%s does not say %q", path, says[0])
		}
		for wrong := range strings.SplitSeq(says[1], "|") {
			if strings.Contains(text, wrong) {
				t.Errorf("%s says %q", path, wrong)
			}
		}
	}
	for path, body := range map[string]string{"/api/v1/runs": `{"name": "v2"}`, "/api/v1/rules": "drop: body.a", "/api/v1/purge": `{"samples": true}`} {
		if status, text := get("POST", path, body); status != http.StatusForbidden {
			t.Errorf("POST %s: %d %s", path, status, text)
		}
	}
	close(goOn)
	if got := <-code; got != exitDifferent {
		t.Errorf("exit code %d", got)
	}
	if _, err := http.Get(address); err == nil {
		t.Error("the dashboard is there after the end")
	}
	text, err := os.ReadFile(page)
	if err != nil || !bytes.HasPrefix(text, []byte("<!DOCTYPE html>")) && !bytes.HasPrefix(text, []byte("<!doctype html>")) || !bytes.Contains(text, []byte("body.a")) {
		t.Errorf("the report: %v, %.200s", err, text)
	}

	if got := replay(io.Discard, "-report", data); got != exitDifferent {
		t.Errorf("exit code %d", got)
	}
	var report struct {
		Page        string
		Compared    int64
		Differences []struct{ Field string }
		Run         struct{ Name string }
	}
	if text, err = os.ReadFile(data); err == nil {
		err = json.Unmarshal(text, &report)
	}
	if err != nil || report.Compared != 40 || len(report.Differences) == 0 || report.Run.Name != "replay of access.log" || report.Page != "http://127.0.0.1:8881/" {
		t.Errorf("the report as JSON: %+v, %v", report, err)
	}
}

// What is asked for and cannot be had is told before anything is asked.
func TestAReplayThatCannotBeWatched(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "access.log")
	if err := os.WriteFile(file, []byte(logOf(1, 0)), 0o600); err != nil {
		t.Fatal(err)
	}
	p := newPeer(t, "p", nil)
	for want, args := range map[string][]string{
		"web.token: required because":    {"-admin", "0.0.0.0:0"},
		"-report -: standard output has": {"-report", "-"},
		"it is a directory":              {"-report", dir},
		"another program has this port":  {"-admin", strings.TrimPrefix(p.URL, "http://")},
	} {
		args = append([]string{"-primary", p.URL, "-candidate", p.URL + "/c", "-db", filepath.Join(dir, "b.db")}, append(args, file)...)
		if code, _, problems := replayed(t, args...); code != exitTrouble || !strings.Contains(problems, want) {
			t.Errorf("%q: %d %s", args, code, problems)
		}
	}
	if n := p.asked.Load(); n != 0 {
		t.Errorf("%d were asked", n)
	}
	if _, err := os.Stat(filepath.Join(dir, "b.db.replay")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a replay was begun: %v", err)
	}
}
