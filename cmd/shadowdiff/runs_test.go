package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// runOf is what the API says of a run.
type runOf struct {
	ID        int64
	Name      string
	Started   time.Time
	Ended     *time.Time
	Candidate string
	Version   string
	Notes     string
	Attempt   int
	Current   bool
	BegunBy   string `json:"begun_by"`
	Verdict   *string
	Compared  *int64
	Confirmed *int `json:"confirmed_differences"`
	Alpha     *float64
	Rules     string
	Counters  struct{ Requests int64 }
}

// call asks the API, and reads what it answers with the status that it must have.
func (l *live) call(method, path, body string, status int, into any) {
	l.t.Helper()
	got, text := l.ask(method, path, body)
	if got != status {
		l.t.Fatalf("%s %s %s: %d %s", method, path, body, got, text)
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		l.t.Fatalf("%s %s: %v in %s", method, path, err, text)
	}
}

// refusal is the detail of a problem.
func (l *live) refusal(method, path, body string, status int) string {
	l.t.Helper()
	var p struct {
		Status int
		Detail string
	}
	l.call(method, path, body, status, &p)
	if p.Status != status {
		l.t.Errorf("%s %s: the problem has the status %d", method, path, p.Status)
	}
	return p.Detail
}

// askedOf sends so many requests, and waits until the run in force has counted them.
func (l *live) askedOf(c *client, n int, target string) {
	l.t.Helper()
	before := l.svc.db.Snapshot()
	for range n {
		c.get(target)
	}
	l.settled()
	l.eventually("the run has counted them", func() bool {
		now := l.svc.db.Snapshot()
		return now.Run.ID != before.Run.ID || now.Tallies.Total.Compared >= before.Tallies.Total.Compared+int64(n)
	})
}

// TestRunsByTheAPI tells the story of a candidate that is mended: one run finds a fault, and the next does not.
func TestRunsByTheAPI(t *testing.T) {
	t.Parallel()
	answer := func(price string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"price": %s}`, price)
		}
	}
	wrong := make(chan struct{})
	primary, secondary := newPeer(t, "p", answer("1")), newPeer(t, "s", answer("1"))
	candidate := newPeer(t, "c", func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-wrong:
			answer("1")(w, r)
		default:
			answer("2")(w, r)
		}
	})
	l := serveFile(t, addresses(primary, secondary, candidate)+"rules: [{drop: body.at}]\n")
	c := l.connect()
	l.askedOf(c, 1, "/a")
	l.refusal(http.MethodGet, "/api/v1/runs/v2.3.0", "", http.StatusNotFound)

	var first, second runOf
	l.call(http.MethodPost, "/api/v1/runs", `{"name": "v2.3.0", "notes": "the first"}`, http.StatusCreated, &first)
	if first.ID != 2 || first.Attempt != 1 || !first.Current || first.BegunBy != "api" || first.Rules != "- drop: body.at\n" || first.Ended != nil {
		t.Errorf("begun: %+v", first)
	}
	l.askedOf(c, 200, "/a")
	close(wrong)
	l.call(http.MethodPost, "/api/v1/runs", `{"name": "v2.3.1"}`, http.StatusCreated, &second)
	l.askedOf(c, 150, "/a")

	t.Run("read", func(t *testing.T) {
		var was runOf
		for _, ref := range []string{"2", "v2.3.0"} {
			l.call(http.MethodGet, "/api/v1/runs/"+ref, "", http.StatusOK, &was)
			if was.ID != 2 || was.Current || was.Ended == nil || *was.Verdict != "different" || *was.Compared != 200 || *was.Confirmed < 1 ||
				was.Counters.Requests != 200 || was.Notes != "the first" {
				t.Errorf("%s: %+v", ref, was)
			}
			var equivalence struct {
				Run      runOf
				Compared int64
				Verdict  string
			}
			l.call(http.MethodGet, "/api/v1/equivalence?run="+ref, "", http.StatusOK, &equivalence)
			if equivalence.Run.ID != 2 || equivalence.Compared != 200 || equivalence.Verdict != "different" {
				t.Errorf("equivalence of %s: %+v", ref, equivalence)
			}
			for _, path := range []string{"routes", "fields", "samples"} {
				if text := l.page("/api/v1/" + path + "?run=" + ref); !strings.Contains(text, `"route":"GET /a"`) {
					t.Errorf("%s of %s: %s", path, ref, text)
				}
			}
		}
		if text := l.page("/api/v1/fields?run=current"); strings.Contains(text, "body.price") {
			t.Errorf("fields of the present run: %s", text)
		}
		var window struct{ Compared int64 }
		l.call(http.MethodGet, "/api/v1/equivalence?run=2&since=1h", "", http.StatusOK, &window)
		if window.Compared != 200 {
			t.Errorf("its last hour: %+v", window)
		}
		if detail := l.refusal(http.MethodGet, "/api/v1/fields?run=v2.3.2", "", http.StatusNotFound); !strings.Contains(detail, `did you mean "v2.3.`) {
			t.Error(detail)
		}
	})
	t.Run("compared", func(t *testing.T) {
		var a struct {
			Then, Now struct {
				Run      runOf
				Compared int64
			}
			Configuration struct {
				Same  bool
				Rules any
			}
			Counts map[string]int
			Fields []struct{ Route, Field, State, Text string }
		}
		l.call(http.MethodGet, "/api/v1/runs/v2.3.0/compare/current", "", http.StatusOK, &a)
		if a.Then.Run.ID != 2 || a.Now.Run.ID != 3 || a.Then.Compared != 200 || a.Now.Compared != 150 || !a.Configuration.Same {
			t.Errorf("%+v", a)
		}
		found := false
		for _, f := range a.Fields {
			found = found || f.Field == "body.price" && f.Route == "GET /a" && f.State == "gone"
		}
		if !found || a.Counts["gone"] < 1 || a.Counts["still"] != 0 {
			t.Errorf("%+v", a)
		}
		l.call(http.MethodGet, "/api/v1/runs/3/compare/2?state=new&limit=1", "", http.StatusOK, &a)
		if len(a.Fields) != 1 || a.Fields[0].Field != "body.price" || a.Fields[0].State != "new" {
			t.Errorf("the other way round: %+v", a.Fields)
		}
		l.refusal(http.MethodGet, "/api/v1/runs/3/compare/2?state=better", "", http.StatusBadRequest)
		l.refusal(http.MethodGet, "/api/v1/runs/3/compare/17", "", http.StatusNotFound)
	})
	t.Run("changed", func(t *testing.T) {
		var is runOf
		l.call(http.MethodPatch, "/api/v1/runs/v2.3.1", `{"name": "v2.3.0"}`, http.StatusOK, &is)
		if is.ID != 3 || is.Name != "v2.3.0" || is.Attempt != 2 || *is.Alpha != 0.05/6 {
			t.Errorf("renamed: %+v", is)
		}
		l.call(http.MethodPatch, "/api/v1/runs/2", `{"notes": ""}`, http.StatusOK, &is)
		if is.ID != 2 || is.Notes != "" || is.Name != "v2.3.0" {
			t.Errorf("without notes: %+v", is)
		}
		l.call(http.MethodPatch, "/api/v1/runs/1", `{"name": "release/2.3 ü"}`, http.StatusOK, &is)
		l.call(http.MethodGet, "/api/v1/runs/release%2F2.3%20%C3%BC", "", http.StatusOK, &is)
		if is.ID != 1 || is.Attempt != 1 {
			t.Errorf("by a name that has to be escaped: %+v", is)
		}
		if page := l.page("/"); !strings.Contains(page, "<b>v2.3.0</b>, attempt 2") {
			t.Error("the overview does not name the attempt")
		}
		for _, bad := range []struct{ method, path, body, detail string }{
			{http.MethodPatch, "/api/v1/runs/2", `{}`, "nothing to change"},
			{http.MethodPatch, "/api/v1/runs/2", `{"name": ""}`, `name ""`},
			{http.MethodPatch, "/api/v1/runs/2", `{"name": 7}`, "name: 7 is not a text"},
			{http.MethodPost, "/api/v1/runs", `{"name": "7"}`, "id of a run"},
			{http.MethodPost, "/api/v1/runs", `{"nam": "v1"}`, `did you mean "name"`},
			{http.MethodPost, "/api/v1/runs", `{"name": "v1", "version": "a\u0000"}`, "version"},
			{http.MethodPost, "/api/v1/runs", ``, "not a JSON object"},
		} {
			if detail := l.refusal(bad.method, bad.path, bad.body, http.StatusBadRequest); !strings.Contains(detail, bad.detail) {
				t.Errorf("%s: %s", bad.body, detail)
			}
		}
	})
	t.Run("listed", func(t *testing.T) {
		var page struct {
			Items []runOf
			Next  *string
		}
		l.call(http.MethodGet, "/api/v1/runs?limit=2", "", http.StatusOK, &page)
		if len(page.Items) != 2 || page.Items[0].ID != 3 || !page.Items[0].Current || *page.Items[1].Verdict != "different" || page.Next == nil {
			t.Fatalf("%+v", page)
		}
		l.call(http.MethodGet, "/api/v1/runs?limit=2&cursor="+*page.Next, "", http.StatusOK, &page)
		if len(page.Items) != 1 || page.Items[0].ID != 1 || page.Items[0].BegunBy != "start" {
			t.Errorf("%+v", page)
		}
		activity := l.page("/api/v1/activity?action=run")
		for _, told := range []string{`in force: \"v2.3.1\" (id 3)`, `run 3: name \"v2.3.0\" (was \"v2.3.1\"), attempt 2`, `run 2: other notes`, `run 1: name \"release/2.3 ü\"`} {
			if !strings.Contains(activity, told) {
				t.Errorf("the activity does not tell %s: %s", told, activity)
			}
		}
	})
}

// TestARunGoesOnUnderTheNameGivenLast: by the configuration, or by hand since. A restart forgets nothing of it, and another
// name in the configuration counts again.
func TestARunGoesOnUnderTheNameGivenLast(t *testing.T) {
	t.Parallel()
	p := newPeer(t, "same", nil)
	text := addresses(p, p, p)
	l := serveFile(t, text+"run: v2\n")
	expect := func(when, name string, attempt int) {
		t.Helper()
		if run := l.svc.db.Snapshot().Run; run.Name != name || run.Attempt != attempt {
			t.Errorf("%s: %q, attempt %d, want %q, %d", when, run.Name, run.Attempt, name, attempt)
		}
	}
	rule := func(text string) {
		t.Helper()
		var changed ruleChanged
		l.call(http.MethodPost, "/api/v1/rules", text, http.StatusCreated, &changed)
		if !changed.Begun {
			t.Errorf("%s has begun no run", text)
		}
	}
	rule("drop: body.a\n")
	expect("a rule under the configuration's name", "v2", 2)
	var begun runOf
	l.call(http.MethodPost, "/api/v1/runs", `{"name": "v3"}`, http.StatusCreated, &begun)
	rule("drop: body.b\n")
	expect("a rule under a name given by hand", "v3", 2)
	l = l.restarted()
	expect("after a restart", "v3", 2)
	l.stop()
	l.write(text + "run: v2\nrules: [{drop: body.c}]\n")
	l = l.restarted()
	expect("after a restart with another rule", "v3", 3)
	l.call(http.MethodPatch, "/api/v1/runs/current", `{"name": "v3.1"}`, http.StatusOK, &begun)
	rule("drop: body.d\n")
	expect("a rule under a name changed by hand", "v3.1", 2)
	l.reload(text + "run: v4\n")
	expect("another name in the configuration", "v4", 1)
	rule("drop: body.e\n")
	expect("and a rule under it", "v4", 2)
}

// TestRunsCannotBeChangedByWhoMayNot: a page of another site, and nobody under read_only.
func TestRunsCannotBeChangedByWhoMayNot(t *testing.T) {
	t.Parallel()
	p := newPeer(t, "same", nil)
	l := serveFile(t, addresses(p, p, p)+"web: {read_only: true}\n")
	for _, write := range [][3]string{{http.MethodPost, "/api/v1/runs", `{"name": "v1"}`}, {http.MethodPatch, "/api/v1/runs/1", `{"name": "v1"}`}} {
		if detail := l.refusal(write[0], write[1], write[2], http.StatusForbidden); !strings.Contains(detail, "read_only") {
			t.Error(detail)
		}
	}
	l = serveFile(t, addresses(p, p, p))
	for _, write := range [][3]string{{http.MethodPost, "/api/v1/runs", `{"name": "v1"}`}, {http.MethodPatch, "/api/v1/runs/1", `{"name": "v1"}`}} {
		req, err := http.NewRequestWithContext(t.Context(), write[0], l.svc.AdminURL()+write[1], strings.NewReader(write[2]))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Origin", "http://evil.example")
		req.Header.Set("Sec-Fetch-Site", "cross-site")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusForbidden {
			t.Errorf("%s from another site: %s", write[0], res.Status)
		}
	}
	if run := l.svc.db.Snapshot().Run; run.ID != 1 || run.Name != "run 1" {
		t.Errorf("%+v", run)
	}
}

// TestTheCandidateTellsItsVersion over the wire, while a deployment alternates between two of them.
func TestTheCandidateTellsItsVersion(t *testing.T) {
	t.Parallel()
	version := make(chan string, 1000)
	same := func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "same") }
	primary, secondary := newPeer(t, "p", same), newPeer(t, "s", same)
	candidate := newPeer(t, "c", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Build", <-version)
		same(w, r)
	})
	begin := addresses(primary, secondary, candidate) + "version_header: x-build\n"
	l := serveFile(t, begin)
	c := l.connect()
	for i := range 40 {
		version <- []string{"1.0", "1.1"}[i%2]
		c.get("/a")
		l.settled()
	}
	compared := func(name string) int64 {
		t.Helper()
		var run runOf
		l.call(http.MethodGet, "/api/v1/runs/"+name, "", http.StatusOK, &run)
		if run.Version != name {
			t.Errorf("%s: %+v", name, run)
		}
		return *run.Compared
	}
	l.eventually("all are shown", func() bool { return compared("1.0")+compared("1.1") == 40 })
	if one, two := compared("1.0"), compared("1.1"); one != 20 || two != 20 {
		t.Errorf("%d and %d", one, two)
	}
	if s := l.svc.db.Snapshot(); s.Run.Name != "1.1" || s.Tallies.Total.Raw != 0 {
		t.Errorf("in force: %+v; the header itself is compared: %d", s.Run, s.Tallies.Total.Raw)
	}
	l.reload(begin + "sample: 50%\nrun: nightly\n") // another name is asked for
	version <- "1.1"
	l.reload(begin + "run: nightly\n")
	c.get("/a")
	l.settled()
	l.eventually("the named run counts", func() bool {
		s := l.svc.db.Snapshot()
		return s.Run.Name == "nightly" && s.Run.Version == "1.1" && s.Tallies.Total.Compared == 1
	})
}

// TestTheVersionHeaderIsNotCompared unless somebody says so, and it is another one where the configuration names it.
func TestTheVersionHeaderIsNotCompared(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, header, ignored, faults string }{
		{"", "X-App-Version", "X-App-Version", ""},
		{"version_header: X-Build\nheaders: {ignore: [X-Lane]}\n", "X-Build", "X-Lane,X-Build", ""},
		{"headers: {ignore: [x-app-version]}\n", "X-App-Version", "x-app-version", ""},
		{"headers: {compare: [x-app-version]}\n", "X-App-Version", "", ""},
		{"version_header: none\n", "", "", ""},
		{"version_header: X Build\nrun: \"12\"\n", "", "", `run: name "12": would be taken for the id of a run; put a word before it, such as "build 12": not usable; ` +
			`version_header: "X Build" is no header name ("none" switches it off)`},
	} {
		file := filepath.Join(t.TempDir(), "shadowdiff.yaml")
		if err := os.WriteFile(file, []byte("primary: http://127.0.0.1:9001\n"+c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		cfg, faults := readConfig(file, nil, testEnvironment)
		var told []string
		for _, f := range faults {
			told = append(told, f.message)
		}
		slices.Sort(told)
		if strings.Join(told, "; ") != c.faults {
			t.Errorf("%q: %q", c.text, told)
		}
		if len(faults) > 0 {
			continue
		}
		if got := strings.Join(cfg.normal().Headers.Ignore, ","); got != c.ignored || cfg.versionHeader() != c.header {
			t.Errorf("%q: ignored %q, looked at %q", c.text, got, cfg.versionHeader())
		}
		if len(cfg.Normalize.Headers.Ignore) > 1 {
			t.Errorf("%q: the configuration itself has changed: %q", c.text, cfg.Normalize.Headers.Ignore)
		}
	}
}
