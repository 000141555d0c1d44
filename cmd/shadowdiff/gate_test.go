package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"shadowdiff/multicast"
)

// trial is a service with three upstreams of which the candidate's price is what a test makes it.
type trial struct {
	*live
	price atomic.Int64 // of the candidate; the others' is 1
}

// startTrial serves with this configuration; the upstreams are added to it.
func startTrial(t *testing.T, text string) *trial {
	t.Helper()
	tr := &trial{}
	tr.price.Store(1)
	upstream := func(price func() int64) string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"path":%q,"price":"%d"}`, r.URL.Path, price())
		}))
		t.Cleanup(server.Close)
		return server.URL
	}
	known := upstream(func() int64 { return 1 })
	tr.live = serveFile(t, fmt.Sprintf("primary: %s\nsecondary: %s\ncandidate: %s\n%s",
		known, known, upstream(tr.price.Load), text))
	return tr
}

// send asks the primary through the proxy so often, and waits until the dashboard knows of it.
func (tr *trial) send(n int, path string) {
	tr.t.Helper()
	before := tr.compared()
	for range n {
		res, err := http.Get(tr.svc.ProxyURL() + path)
		if err != nil {
			tr.t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, res.Body)
		res.Body.Close()
	}
	tr.eventually("the dashboard knows of all", func() bool { return tr.compared() >= before+int64(n) })
}

func (tr *trial) compared() int64 { return tr.svc.db.Snapshot().Verdict.Compared }

// said is what a gate came to.
type said struct {
	code     int
	out, err string
}

// gated runs the command in this process, at a pace that a test can bear.
func gated(args ...string) said {
	var out, err bytes.Buffer
	code := gateAtPace(args, stdio{strings.NewReader(""), &out, &err}, 10*time.Millisecond, time.Second)
	return said{code, out.String(), err.String()}
}

// must fails unless the code is that, and the texts were written somewhere.
func (s said) must(t *testing.T, what string, code int, texts ...string) {
	t.Helper()
	if s.code != code {
		t.Errorf("%s: exit code %d, want %d\n%s\n%s", what, s.code, code, s.out, s.err)
	}
	for _, text := range texts {
		if !strings.Contains(s.out+s.err, text) {
			t.Errorf("%s: %q is not said in\n%s\n%s", what, text, s.out, s.err)
		}
	}
}

// proves needs some hundred requests.
const proves = "verdict: {budget: 5%, min_compared: 20}\n"

func TestAGateAnswersByItsCode(t *testing.T) {
	t.Parallel()
	tr := startTrial(t, proves)
	at := []string{"-url", tr.svc.AdminURL()}
	gate := func(more ...string) said { return gated(append(slices.Clone(at), more...)...) }

	gate("-wait", "0").must(t, "nothing compared", exitUndecided, "UNDECIDED: run 1, on 0 compared requests",
		"nothing has been compared yet", "The time is over (-wait 0s)")
	tr.send(10, "/items")
	gate("-wait", "0").must(t, "too few", exitUndecided, "more would prove it equivalent", "No difference is confirmed.")
	gate("-wait", "0", "-route", "GET /other").must(t, "a route that nobody asked for", exitUndecided,
		"no request of this route has been compared yet", "GET /other in run 1")
	tr.send(140, "/items")
	gate().must(t, "enough", exitEquivalent, "EQUIVALENT: run 1, on 150 compared requests", tr.svc.AdminURL()+"/  run 1 since 20")
	tr.price.Store(2)
	tr.send(60, "/prices")
	gate().must(t, "another price", exitDifferent, "DIFFERENT: run 1", "body.price on GET /prices differs",
		"differs in 60, control in 0, of 60", tr.svc.AdminURL()+"/fields/")
	gate("-route", "GET /prices").must(t, "its route", exitDifferent, "DIFFERENT: GET /prices in run 1, on 60")
	gate("-route", "GET /items").must(t, "another route", exitEquivalent, "EQUIVALENT: GET /items in run 1, on 150")
}

func TestAGateTellsTrouble(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(elsewhere.Close)
	moved := httptest.NewServer(http.RedirectHandler("http://other.example/", http.StatusFound))
	t.Cleanup(moved.Close)
	dead := httptest.NewServer(nil)
	dead.Close()
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"connection refused":                        {"-url", dead.URL, "-wait", "50ms"},
		"no answer within 1s":                       {"-url", dead.URL, "-wait", "1h"},
		"no shadowdiff answers here":                {"-url", elsewhere.URL},
		"leads elsewhere, to http://other.example/": {"-url", moved.URL},
		"give scheme and host":                      {"-url", "127.0.0.1:8881"},
		"would be seen by others":                   {"-url", "http://me:secret@127.0.0.1:8881"},
		"is given twice":                            {"-url", dead.URL, "-url", dead.URL + "/"},
		"did you mean -wait?":                       {"-wiat", "1m"},
		"unexpected argument":                       {"v2"},
		"is below 0":                                {"-wait", "-1s"},
		"for flag -wait: give a time with its unit": {"-wait", "5"},
		"-junit -: standard output has the verdict": {"-junit", "-"},
		"-report -: standard output has the verdic": {"-report", "-"},
		"-token-file: open":                         {"-token-file", filepath.Join(t.TempDir(), "none")},
		"is empty":                                  {"-token-file", empty},
		"holds no certificate":                      {"-ca", empty},
		"none does not exist":                       {"-junit", filepath.Join(t.TempDir(), "none", "j.xml")},
		"give a file in it":                         {"-report", t.TempDir()},
		"give one -url":                             {"-report", "r.html", "-url", "http://a", "-url", "http://b"},
	} {
		s := gated(args...)
		s.must(t, strings.Join(args, " "), exitTrouble, want)
		if strings.Contains(s.out+s.err, "secret") {
			t.Errorf("%v: the password is told: %s%s", args, s.out, s.err)
		}
	}
}

// A token is taken from its file, and a wrong one is trouble at once, however long the gate may wait.
func TestAGateShowsItsToken(t *testing.T) {
	t.Parallel()
	tr := startTrial(t, "web: {token: sesame}\n")
	file := filepath.Join(t.TempDir(), "token")
	for token, want := range map[string]said{"sesame\n": {exitUndecided, "UNDECIDED", ""}, "wrong-one": {exitTrouble, "the token is wrong or missing", ""}} {
		if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
			t.Fatal(err)
		}
		wait := map[int]string{exitUndecided: "0", exitTrouble: "1h"}[want.code]
		s := gated("-url", tr.svc.AdminURL(), "-token-file", file, "-wait", wait)
		s.must(t, token, want.code, want.out)
		if strings.Contains(s.out+s.err, strings.TrimSpace(token)) {
			t.Errorf("the token is told: %s%s", s.out, s.err)
		}
	}
	cmd := shadowdiff(t, "gate", "-url", tr.svc.AdminURL(), "-wait", "0")
	cmd.Env = append(cmd.Env, "SHADOWDIFF_TOKEN=sesame")
	if out, err := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != exitUndecided {
		t.Errorf("with the token in the environment: %v\n%s", err, out)
	}
}

// Neither of two proxies has seen enough; both together have.
func TestCountsOfSeveralServicesAddUp(t *testing.T) {
	t.Parallel()
	one, other := startTrial(t, proves), startTrial(t, proves)
	fellow := startTrial(t, "verdict: {budget: 1%, min_compared: 20}\n")
	one.send(60, "/items")
	other.send(70, "/items")
	each := []string{"-url", one.svc.AdminURL(), "-wait", "0"}
	gated(each...).must(t, "one alone", exitUndecided)
	gated(append(each, "-url", other.svc.AdminURL())...).must(t, "other candidates", exitTrouble, "cannot be added up", "candidate is http://")
	same := startTwin(t, one)
	same.send(70, "/items")
	both := append(each, "-url", same.svc.AdminURL())
	gated(both...).must(t, "both", exitEquivalent, "EQUIVALENT: run 1, on 130 compared requests", "60 compared", "70 compared")
	gated(append(both, "-route", "GET /items")...).must(t, "a route of both", exitEquivalent, "GET /items in run 1, on 130")
	gated(append(each, "-url", strings.Replace(one.svc.AdminURL(), "127.0.0.1", "localhost", 1))...).must(t, "one under two names",
		exitTrouble, "the same service under two addresses")
	gated(append(each, "-url", fellow.svc.AdminURL())...).must(t, "judged otherwise", exitTrouble, "verdict.budget is 5% and 1%")

	one.price.Store(2)
	one.send(8, "/prices")
	same.send(8, "/prices")
	file := filepath.Join(t.TempDir(), "j.xml")
	gated(append(both, "-junit", file)...).must(t, "a price that is wrong on both", exitDifferent, "body.price on GET /prices differs", "of 16")
	if report := readJUnit(t, file); report.Suites[0].Tests != 3 || report.Suites[0].Failures != 2 {
		t.Errorf("JUnit of both: %+v", report)
	}
}

// Runs of different names are not added up, unless nobody has named them.
func TestRunsOfDifferentNamesDoNotAddUp(t *testing.T) {
	t.Parallel()
	one := startTrial(t, proves)
	other := startTwin(t, one)
	begin := func(tr *trial, name string) {
		t.Helper()
		if status, answer := tr.ask(http.MethodPost, "/api/v1/runs", `{"name": "`+name+`"}`); status != http.StatusCreated {
			t.Fatalf("%d %s", status, answer)
		}
	}
	both := []string{"-url", one.svc.AdminURL(), "-url", other.svc.AdminURL(), "-wait", "0"}
	begin(one, "")
	gated(both...).must(t, "run 2 and run 1", exitUndecided)
	begin(one, "v2")
	gated(both...).must(t, "v2 and run 1", exitTrouble, `"v2" at `+one.svc.AdminURL()+` and "run 1" at `, "give the one that is meant with -run")
	begin(other, "v2")
	gated(both...).must(t, "v2 on both", exitUndecided)
	begin(other, "v3")
	gated(both...).must(t, "v2 and v3", exitTrouble, `"v2" at `, `"v3" at `)
	gated(append(both, "-run", "v2")...).must(t, "v2 by its name", exitUndecided)
}

// A verdict that is on a part of what was sampled says so.
func TestAGateTellsWhatWasDropped(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	shop := newPeer(t, "shop", func(_ http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Shadow-Request") != "" {
			<-hold
		}
	})
	l := serveFile(t, addresses(shop, shop, shop)+"shadow: {concurrency: 1, queue: 1, timeout: 1h}\n")
	c := l.connect()
	for range 5 {
		if got := c.get("/items"); got != "200 " {
			t.Errorf("got %q", got)
		}
	}
	l.eventually("three are dropped", func() bool { return l.svc.proxy.Counts().Dropped[multicast.ReasonQueue] == 3 })
	close(hold)
	l.settled()
	l.eventually("they are told", func() bool { return l.svc.db.Snapshot().Counters.Compared == 2 })
	s := gated("-url", l.svc.AdminURL(), "-wait", "0")
	s.must(t, "most were dropped", exitUndecided, "Not looked at: at "+l.svc.AdminURL()+"/ 60 % of the sampled requests were dropped: 3 as queue (lower the rate")
	s = gated("-url", l.svc.AdminURL(), "-wait", "0", "-json")
	s.must(t, "as JSON", exitUndecided, `"dropped":{"queue":3}`)
}

// startTwin is another proxy before the same upstreams.
func startTwin(t *testing.T, of *trial) *trial {
	t.Helper()
	text, err := os.ReadFile(of.file)
	if err != nil {
		t.Fatal(err)
	}
	return &trial{live: serveFile(t, string(text))}
}

// What one proxy has found different is not shipped because others dilute it.
func TestASumIsNoMoreHopefulThanItsParts(t *testing.T) {
	t.Parallel()
	one := startTrial(t, "verdict: {budget: 20%, min_compared: 20}\n")
	calm := startTwin(t, one)
	calm.send(450, "/items")
	one.price.Store(2)
	one.send(40, "/items")
	gated("-url", one.svc.AdminURL()).must(t, "the one", exitDifferent)
	gated("-url", calm.svc.AdminURL()).must(t, "the calm one", exitEquivalent)
	gated("-url", one.svc.AdminURL(), "-url", calm.svc.AdminURL(), "-wait", "0").must(t, "both", exitUndecided,
		"together they would be equivalent, but "+one.svc.AdminURL()+" is different by itself")
}

func readJUnit(t *testing.T, file string) (report junitSuites) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := xml.Unmarshal(text, &report); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return report
}

func TestAGateWritesJUnit(t *testing.T) {
	t.Parallel()
	tr := startTrial(t, proves)
	file := filepath.Join(t.TempDir(), "shadowdiff.xml")
	at := []string{"-url", tr.svc.AdminURL(), "-junit", file, "-wait", "0"}
	type counts struct{ tests, failures, errors, skipped int }
	check := func(what string, code int, want counts) junitSuite {
		t.Helper()
		gated(at...).must(t, what, code)
		s := readJUnit(t, file).Suites[0]
		if got := (counts{s.Tests, s.Failures, s.Errors, s.Skipped}); got != want {
			t.Errorf("%s: %+v, want %+v", what, got, want)
		}
		return s
	}
	check("nothing", exitUndecided, counts{tests: 1, failures: 1})
	tr.send(5, "/few<&>\"")
	tr.send(150, "/items")
	s := check("enough", exitEquivalent, counts{tests: 3, skipped: 1})
	if s.Cases[1].Class != "shadowdiff.routes" || s.Cases[0].Name != "verdict" {
		t.Errorf("cases: %+v", s.Cases)
	}
	tr.price.Store(2)
	tr.send(60, "/prices")
	s = check("a price", exitDifferent, counts{tests: 4, failures: 2, skipped: 1})
	last := s.Cases[3]
	if last.Name != "GET /prices" || last.Failure == nil || !strings.Contains(last.Failure.Text, "body.price (value): differs in 60, control in 0, of 60") {
		t.Errorf("the route: %+v", last)
	}
	at[1] = "http://127.0.0.1:1"
	s = check("trouble", exitTrouble, counts{tests: 1, errors: 1})
	if e := s.Cases[0].Error; e == nil || !strings.Contains(e.Message, "connection refused") {
		t.Errorf("the error: %+v", e)
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(file), ".shadowdiff-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestAGatePrintsOneObject(t *testing.T) {
	t.Parallel()
	tr := startTrial(t, proves)
	tr.price.Store(2)
	tr.send(60, "/prices")
	s := gated("-url", tr.svc.AdminURL(), "-json")
	s.must(t, "as JSON", exitDifferent)
	var got struct {
		Exit     int
		Verdict  string
		Trouble  *string
		Services []struct {
			URL string
			Run struct{ Name string }
		}
		Pages       []string
		Equivalence struct {
			Compared    int64
			Reasons     []string
			Differences []struct{ Field string }
		}
	}
	var any map[string]any
	if err := json.Unmarshal([]byte(s.out), &any); err != nil {
		t.Fatalf("%v in %s", err, s.out)
	}
	if err := json.Unmarshal([]byte(s.out), &got); err != nil {
		t.Fatal(err)
	}
	if got.Exit != 1 || got.Verdict != "different" || got.Trouble != nil || got.Equivalence.Compared != 60 ||
		len(got.Services) != 1 || got.Services[0].Run.Name != "run 1" || len(got.Pages) != len(got.Equivalence.Differences) {
		t.Errorf("%+v", got)
	}
	if page := strings.TrimPrefix(got.Pages[0], tr.svc.AdminURL()); tr.status(page) != http.StatusOK {
		t.Errorf("the page %s is not there", got.Pages[0])
	}
	s = gated("-url", "http://127.0.0.1:1", "-wait", "0", "-json")
	s.must(t, "trouble as JSON", exitTrouble)
	if err := json.Unmarshal([]byte(s.out), &any); err != nil || any["exit"] != 2.0 || any["equivalence"] != nil || any["trouble"] == "" {
		t.Errorf("%v in %s", err, s.out)
	}
}

// A service that is away for a while, in the midst of the wait, is waited for.
func TestAGateOutlastsARestart(t *testing.T) {
	t.Parallel()
	tr := startTrial(t, proves)
	args := []string{"-config", tr.file, "-db", filepath.Join(t.TempDir(), "restart.db")}
	tr.stop()
	ask := func(s *served, n int) {
		t.Helper()
		for range n {
			res, err := http.Get(s.clients + "/items")
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
		}
	}
	first := serveProcess(t, args...)
	ask(first, 20)
	first.eventually("all are compared", func() bool { return first.shown().Compared == 20 })
	var out bytes.Buffer
	seen, done := &journal{}, make(chan int, 1)
	go func() {
		done <- gateAtPace([]string{"-url", first.dashboard, "-wait", "85s"}, stdio{nil, &out, seen}, 10*time.Millisecond, time.Second)
	}()
	first.eventually("it has looked", func() bool { return strings.Contains(seen.String(), "undecided after 20 compared") })
	first.signal(os.Kill)
	first.wait()
	tr.eventually("it has found nobody", func() bool { return strings.Contains(seen.String(), "connection refused") })
	again := serveProcess(t, append(args, "-admin", strings.TrimPrefix(first.dashboard, "http://"))...)
	ask(again, 150)
	said{<-done, out.String(), seen.String()}.must(t, "afterwards", exitEquivalent, "it answers again", "EQUIVALENT: run 1, on 1")
}

// A second signal is not needed: the gate ends with what it has last seen.
func TestAGateIsInterrupted(t *testing.T) {
	t.Parallel()
	tr := startTrial(t, proves)
	tr.send(20, "/items")
	gate := start(t, shadowdiff(t, "gate", "-url", tr.svc.AdminURL(), "-wait", "1h"), (*exec.Cmd).StderrPipe)
	gate.await("a look", func(line string) bool { return strings.Contains(line, "undecided after 20 compared requests") })
	gate.signal(os.Interrupt)
	if code := gate.wait(); code != exitTrouble {
		t.Errorf("exit code %d", code)
	}
	if text := gate.written(); !strings.Contains(text, "interrupted before a decision") {
		t.Errorf("it has said\n%s", text)
	}
}
