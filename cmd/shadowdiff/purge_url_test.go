package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"shadowdiff/traffic"
	"shadowdiff/web"
)

// TestPurgeOfARunningService plants a secret in every part of requests and answers, has the service purge itself while one
// request is under way, and looks for the secret in all files and behind every address, at once, after more traffic, and
// when the service has ended.
func TestPurgeOfARunningService(t *testing.T) {
	t.Parallel()
	arrived, goOn := make(chan struct{}), make(chan struct{})
	answer := func(name string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/slow" && name == "primary" {
				close(arrived)
				<-goOn
			}
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("X-Customer", r.Header.Get("X-Customer")+name)
			fmt.Fprintf(w, `{"note": %q, "by": %q}`, r.URL.Query().Get("customer")+" "+name, name)
		}
	}
	primary, secondary, candidate := newPeer(t, "p", answer("primary")), newPeer(t, "s", answer("secondary")), newPeer(t, "c", answer("candidate"))
	folder := filepath.Join(t.TempDir(), "recordings")
	l := serveFile(t, addresses(primary, secondary, candidate)+"record: {dir: "+folder+"}\n")
	c := l.connect()
	for range 30 {
		c.get("/orders?customer="+planted, "X-Customer: "+planted)
		c.get("/notes?customer="+planted, "X-Customer: "+planted)
	}
	l.settled()
	l.flush()
	l.eventually("all are recorded", func() bool { return l.svc.proxy.Counts().Record.Written == 60 })
	if n := plantedIn(l.everything()); len(n) < 10 {
		t.Fatalf("the secret is shown on %v only, so that its absence would show little", n)
	}
	if n := recordedWith(t, folder, planted); n != 60 {
		t.Fatalf("the secret is in %d recordings", n)
	}

	late := make(chan struct{})
	go func() {
		defer close(late)
		l.connect().get("/slow?customer="+planted, "X-Customer: "+planted)
	}()
	<-arrived
	code, out, errs := purgeWith("-url", l.svc.AdminURL(), "-samples")
	if code != exitTrouble || !strings.Contains(errs, "give -yes") || !strings.Contains(out, " has, of what is to be deleted: ") || recordedWith(t, folder, planted) < 60 {
		t.Errorf("without -yes: %d, %q, %q", code, out, errs)
	}
	code, out, errs = purgeWith("-url", l.svc.AdminURL(), "-samples", "-yes")
	if code != exitOK || errs != "" || !strings.Contains(out, "\ndeleted: ") || !strings.Contains(out, " exchanges in ") {
		t.Errorf("with -yes: %d, %q, %q", code, out, errs)
	}
	close(goOn)
	<-late
	for range 30 {
		c.get("/orders?customer=nobody")
	}
	l.settled()
	l.flush()
	l.eventually("what came later is recorded", func() bool {
		n := l.svc.proxy.Counts().Record
		return n.Written >= 90 && n.Written+n.Dropped["purged"] == n.Sampled && n.Dropped["purged"] == 1
	})
	for _, where := range plantedIn(l.everything()) {
		t.Errorf("the secret is shown on %s", where)
	}
	if n := recordedWith(t, folder, "nobody"); n != 30 {
		t.Errorf("%d were recorded afterwards", n)
	}
	if told := l.page("/api/v1/activity?action=purge"); !strings.Contains(told, " samples and ") {
		t.Errorf("the activity: %s", told)
	}
	l.stop()
	for _, dir := range []string{filepath.Dir(l.svc.cfg.Load().Store.Path), folder} {
		files, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if hasPlanted(t, filepath.Join(dir, file.Name())) {
				t.Errorf("the secret is in %s", file.Name())
			}
		}
	}
	if n := recordedWith(t, folder, planted); n != 0 {
		t.Errorf("the secret is in %d recordings", n)
	}
	if strings.Contains(l.log.String(), planted) {
		t.Error("the secret is in the log")
	}
	runs, _, err := l.restarted().svc.db.Runs(t.Context(), 500, "") // the walk through the addresses has begun some
	compared := int64(0)
	for _, r := range runs {
		compared += r.Summary.Compared
	}
	if err != nil || compared != 91 {
		t.Errorf("%d are counted, %v", compared, err)
	}
}

// plantedIn are the addresses whose answers hold the secret.
func plantedIn(shown map[string]string) (where []string) {
	for at, text := range shown {
		if strings.Contains(text, planted) {
			where = append(where, at)
		}
	}
	return where
}

// recordedWith counts the recorded exchanges in which a text stands.
func recordedWith(t *testing.T, folder, text string) (n int) {
	t.Helper()
	files, err := traffic.Files([]string{folder})
	if err != nil {
		return 0 // there is none any more
	}
	for _, file := range files {
		r, err := traffic.Open(file, "")
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		for {
			rec, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if line, err := json.Marshal(rec); err != nil || bytes.Contains(line, []byte(text)) {
				n++
			}
		}
	}
	return n
}

// TestPurgeOfARunOverTheAPI deletes what is of one run, tells what is left beside, and refuses what it does not understand.
func TestPurgeOfARunOverTheAPI(t *testing.T) {
	t.Parallel()
	p, s, cand := newPeer(t, "p", nil), newPeer(t, "s", nil), newPeer(t, "c", nil)
	l := serveFile(t, addresses(p, s, cand)+"run: v1\n")
	c := l.connect()
	l.askedOf(c, 5, "/a")
	var run runOf
	l.call(http.MethodPost, "/api/v1/runs", `{"name": "v2"}`, http.StatusCreated, &run)
	l.askedOf(c, 5, "/a")
	l.flush()
	backup := filepath.Join(filepath.Dir(l.svc.cfg.Load().Store.Path), "saved.db")
	if code := run0("backup", "-url", l.svc.AdminURL(), "-o", backup); code != exitOK {
		t.Fatalf("backup: %d", code)
	}
	var done web.Purged
	l.call(http.MethodPost, "/api/v1/purge", `{"run": "v1", "dry_run": true}`, http.StatusOK, &done)
	would := done.Database
	if !done.DryRun || would.Samples < 1 || done.Recordings != nil || len(done.Left) != 1 || done.Left[0].Path != backup || done.Left[0].Bytes < 4096 {
		t.Errorf("it would be %+v", done)
	}
	l.call(http.MethodPost, "/api/v1/purge", `{"run": "v1"}`, http.StatusOK, &done)
	if done.DryRun || done.Database != would {
		t.Errorf("it was %+v, and would be %+v", done.Database, would)
	}
	l.call(http.MethodPost, "/api/v1/purge", `{"run": "v1", "dry_run": true}`, http.StatusOK, &done)
	if done.Database.Samples+done.Database.Profiles != 0 {
		t.Errorf("left: %+v", done.Database)
	}
	l.call(http.MethodPost, "/api/v1/purge", `{"before": "1h"}`, http.StatusOK, &done)
	if done.Database.Samples != 0 {
		t.Errorf("from before an hour: %+v", done.Database)
	}
	var list struct{ Items []struct{ Run int64 } }
	l.call(http.MethodGet, "/api/v1/samples?run=v2", "", http.StatusOK, &list)
	if len(list.Items) == 0 {
		t.Error("the other run has no samples any more")
	}
	for body, want := range map[string]string{
		``: "not a JSON object", `{}`: "one thing", `{"samples": true, "run": "v1"}`: "one thing", `{"samples": false}`: "one thing",
		`{"samples": 1}`: "neither true nor false", `{"before": "monday"}`: "give a time", `{"all": true}`: `unknown key "all"`,
	} {
		if detail := l.refusal(http.MethodPost, "/api/v1/purge", body, http.StatusBadRequest); !strings.Contains(detail, want) {
			t.Errorf("%s: %s", body, detail)
		}
	}
	if detail := l.refusal(http.MethodPost, "/api/v1/purge", `{"run": "v3"}`, http.StatusNotFound); !strings.Contains(detail, `did you mean "v`) {
		t.Error(detail)
	}
	if code, _, errs := purgeWith("-url", l.svc.AdminURL(), "-run", "v3", "-yes"); code != exitTrouble || !strings.Contains(errs, `there is no run "v3"`) {
		t.Errorf("a run that is not there: %d, %s", code, errs)
	}
}

// run0 runs a command whose words nobody wants.
func run0(args ...string) int {
	return run(args, stdio{in: strings.NewReader(""), out: io.Discard, err: io.Discard})
}
