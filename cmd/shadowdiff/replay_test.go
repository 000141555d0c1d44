package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"shadowdiff/diff"
	"shadowdiff/fixtures"
	"shadowdiff/store"
)

// asked counts by path what an upstream is asked.
type asked struct {
	mu    sync.Mutex
	paths map[string]int
	last  map[string]*http.Request
}

func (a *asked) count(r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.paths == nil {
		a.paths, a.last = map[string]int{}, map[string]*http.Request{}
	}
	a.paths[r.URL.Path]++
	a.last[r.URL.Path] = r.Clone(r.Context())
}

func (a *asked) read() (distinct, most int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, n := range a.paths {
		most = max(most, n)
	}
	return len(a.paths), most
}

func (a *asked) request(path string) *http.Request {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.last[path]
}

// counted is an upstream that counts what it is asked.
func counted(t *testing.T, a *asked, wait time.Duration) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.count(r)
		if wait > 0 {
			select {
			case <-time.After(wait): // as one that has something to do
			case <-r.Context().Done():
				return
			}
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"a":1}`)
	}))
	t.Cleanup(s.Close)
	return s
}

// logOf is an access log of so many requests, each for a path of its own, with a line of garbage after every one of so many.
func logOf(n, garbage int) string {
	var b strings.Builder
	at := time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC)
	for i := range n {
		fmt.Fprintf(&b, "10.0.0.1 - - [%s] \"GET /things/%d HTTP/1.1\" 200 7 \"-\" \"tool/1\"\n", at.Add(time.Duration(i/100)*time.Second).Format("02/Jan/2006:15:04:05 -0700"), i)
		if garbage > 0 && i%garbage == 0 {
			b.WriteString("\x16\x03\x01 nothing that a log has\n")
		}
	}
	return b.String()
}

// replayed runs the command in this process.
func replayed(t *testing.T, args ...string) (code int, out, problems string) {
	t.Helper()
	var o, e bytes.Buffer
	code = run(append([]string{"replay"}, args...), stdio{strings.NewReader(""), &o, &e})
	return code, o.String(), e.String()
}

// replayedAs is what -json prints.
func replayedAs(t *testing.T, args ...string) (r replayJSON) {
	t.Helper()
	code, out, problems := replayed(t, append([]string{"-json"}, args...)...)
	if err := json.Unmarshal([]byte(out), &r); err != nil || r.Exit != code {
		t.Fatalf("%v, exit code %d, %s\n%s", err, code, out, problems)
	}
	return r
}

// threeShops are the instances of the toy shop; each takes seconds under the race detector.
func threeShops(t *testing.T) (urls []string) {
	t.Helper()
	for _, role := range []string{"primary", "secondary", "candidate"} {
		var faults []fixtures.Fault
		if role == "candidate" {
			faults = fixtures.Faults()
		}
		name, err := fixtures.InstanceName(role)
		if err != nil {
			t.Fatal(err)
		}
		s := httptest.NewServer(fixtures.NewUpstream(name, faults))
		t.Cleanup(s.Close)
		urls = append(urls, s.URL)
	}
	return urls
}

// deciding are the confirmed differences that a verdict is made of.
func deciding(v *diff.Verdict) (list []string) {
	for _, f := range v.Differences {
		if f.Confirmed && !f.Informs && f.Field != "latency" && f.Field != "size" {
			list = append(list, f.Route+" "+f.Field)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// TestARecordingReplaysToTheSameDifferences: 10,000 requests are recorded beside shadowing, and replayed at four times the
// speed against fresh instances; and against the recorded answers.
func TestARecordingReplaysToTheSameDifferences(t *testing.T) {
	t.Parallel()
	requests, rate := int64(10_000), 2000.
	if underRace {
		requests, rate = 1500, 400
	}
	dir := filepath.Join(t.TempDir(), "recordings")
	shop := threeShops(t)
	l := serveFile(t, fmt.Sprintf("primary: %s\nsecondary: %s\ncandidate: %s\nrecord: {dir: %s}\nshadow: {queue: 10000}\n", shop[0], shop[1], shop[2], dir))
	crowd := fixtures.Traffic{URL: l.svc.ProxyURL(), Requests: requests, Rate: rate, Seed: 7}
	if err := crowd.Run(t.Context()); err != nil || !crowd.Counts().Good() {
		t.Fatalf("%v, %v", err, crowd.Counts())
	}
	l.settled()
	l.eventually("all is written", func() bool {
		c := l.svc.proxy.Counts().Record
		return c != nil && c.Sampled == requests && c.Written == requests
	})
	acts, _, err := l.svc.db.FindActivity(t.Context(), store.ActivityFilter{Action: "recording", Limit: 5})
	if err != nil || len(acts) != 1 || acts[0].Detail != "began in "+dir || l.svc.instance().Recording.Dir != dir {
		t.Errorf("%v: the activity has %+v, the instance %q", err, acts, l.svc.instance().Recording.Dir)
	}
	l.stop()
	lived := deciding(l.svc.db.Snapshot().Verdict)

	again := threeShops(t)
	r := replayedAs(t, "-primary", again[0], "-secondary", again[1], "-candidate", again[2], "-db", filepath.Join(t.TempDir(), "r.db"), "-speed", "4x", dir)
	posts := r.Replay.LeftOut["method"]
	if r.Replay.Read != requests || r.Replay.Asked+posts != requests || posts == 0 || r.Replay.Compared != r.Replay.Asked || r.Replay.Bad != 0 {
		t.Errorf("%+v", r.Replay)
	}
	if r.Exit != exitDifferent {
		t.Errorf("exit code %d: %v", r.Exit, r.Answer.Reasons)
	}
	if wrong := cmp.Diff(lived, deciding(r.Answer)); wrong != "" && !underRace || len(deciding(r.Answer)) < 5 {
		t.Errorf("what the service has confirmed against what the replay has:\n%s", wrong)
	}
	from := replayedAs(t, "-against", "recorded", "-secondary", again[1], "-candidate", again[2], "-db", filepath.Join(t.TempDir(), "a.db"), "-speed", "max", dir)
	if from.Replay.Compared != r.Replay.Compared || !slices.Contains(deciding(from.Answer), "GET /orders/{id} header.cache-control") {
		t.Errorf("against recorded: %+v, %q", from.Replay, deciding(from.Answer))
	}
	for _, found := range deciding(from.Answer) {
		if !slices.Contains(lived, found) && !underRace {
			t.Errorf("against recorded alone: %s", found)
		}
	}
}

// TestAKilledReplayAsksNothingTwice: it resumes behind what was asked, and its counts go on.
func TestAKilledReplayAsksNothingTwice(t *testing.T) {
	t.Parallel()
	const requests = 2000
	var primary, secondary asked
	p, s, c := counted(t, &primary, 2*time.Millisecond), counted(t, &secondary, 0), counted(t, new(asked), 0)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "access.log"), []byte(logOf(requests, 0)), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{
		"replay", "-primary", p.URL, "-secondary", s.URL, "-candidate", c.URL, "-rate", "1000/s", "-concurrency", "8",
		"-db", filepath.Join(dir, "r.db"), "-json",
	}
	begin := func(more ...string) *exec.Cmd {
		cmd := shadowdiff(t, append(append(slices.Clone(args), more...), filepath.Join(dir, "access.log"))...)
		return cmd
	}
	killed := start(t, begin(), (*exec.Cmd).StderrPipe)
	for tick := time.NewTicker(5 * time.Millisecond); ; {
		<-tick.C
		if n, _ := primary.read(); n > requests/4 {
			tick.Stop()
			break
		}
	}
	killed.signal(syscall.SIGKILL)
	killed.wait()
	before, _ := primary.read()
	if before >= requests {
		t.Fatalf("it was killed too late: after %d", before)
	}
	out, err := begin("-resume").Output()
	var r replayJSON
	if failed := json.Unmarshal(out, &r); failed != nil {
		t.Fatalf("%v, %v: %s", failed, err, out)
	}
	distinct, most := primary.read()
	if shadowed, twice := secondary.read(); most != 1 || twice != 1 || shadowed > requests {
		t.Errorf("asked of one path: %d times of the primary, %d times of the secondary", most, twice)
	}
	if lost := requests - distinct; lost < 0 || lost > 8 {
		t.Errorf("%d requests were never asked: more than were under way", lost)
	}
	if r.Replay.Before+r.Replay.Asked != requests || r.Replay.Before == 0 || r.Answer.Compared < r.Replay.Compared {
		t.Errorf("%+v, the run has compared %d", r.Replay, r.Answer.Compared)
	}
	if again, err := begin("-resume").CombinedOutput(); err == nil || !strings.Contains(string(again), "no replay was interrupted here") {
		t.Errorf("what is complete is resumed: %v, %s", err, again)
	}
}

// TestAnInterruptedReplayIsGoneOnWith: at SIGINT what is under way ends, and -resume asks exactly the rest.
func TestAnInterruptedReplayIsGoneOnWith(t *testing.T) {
	t.Parallel()
	const requests = 1000
	var primary asked
	p, s := counted(t, &primary, 0), counted(t, new(asked), 0)
	log := filepath.Join(t.TempDir(), "access.log")
	if err := os.WriteFile(log, []byte(logOf(requests, 0)), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"replay", "-primary", p.URL, "-secondary", s.URL, "-candidate", s.URL, "-db", filepath.Join(t.TempDir(), "r.db")}
	cmd := shadowdiff(t, append(args, "-rate", "200/s", log)...)
	first := start(t, cmd, (*exec.Cmd).StderrPipe)
	for tick := time.NewTicker(5 * time.Millisecond); ; {
		<-tick.C
		if n, _ := primary.read(); n > 100 {
			tick.Stop()
			break
		}
	}
	first.signal(os.Interrupt)
	if code := first.wait(); code != exitTrouble || !strings.Contains(first.written(), "-resume goes on") {
		t.Errorf("exit code %d: %s", code, first.written())
	}
	other := filepath.Join(t.TempDir(), "other.log")
	if err := os.WriteFile(other, []byte(logOf(5, 0)), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := shadowdiff(t, append(args, "-resume", other)...).CombinedOutput(); err == nil || !strings.Contains(string(out), "is another file than when the replay began") {
		t.Errorf("another file is resumed: %v, %s", err, out)
	}
	out, err := shadowdiff(t, append(args, "-resume", "-speed", "max", log)...).CombinedOutput()
	if distinct, most := primary.read(); distinct != requests || most != 1 {
		t.Errorf("%d requests were asked, one of them %d times: %v\n%s", distinct, most, err, out)
	}
	if !strings.Contains(string(out), "on 1,000 compared requests") {
		t.Errorf("the run has not all of it:\n%s", out)
	}
}

// TestGarbageIsCountedNamedAndSkipped: one line of a hundred is none.
func TestGarbageIsCountedNamedAndSkipped(t *testing.T) {
	t.Parallel()
	var primary asked
	p, s := counted(t, &primary, 0), counted(t, new(asked), 0)
	log := filepath.Join(t.TempDir(), "access.log")
	if err := os.WriteFile(log, []byte(logOf(3000, 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, problems := replayed(t, "-primary", p.URL, "-secondary", s.URL, "-candidate", s.URL, "-db", filepath.Join(t.TempDir(), "r.db"), "-speed", "max", log)
	if code != exitUndecided && code != exitEquivalent {
		t.Errorf("exit code %d\n%s%s", code, out, problems)
	}
	for _, want := range []string{"Asked 3,000 of 3,000 requests", "30  lines left out: they hold no request"} {
		if !strings.Contains(out, want) {
			t.Errorf("nothing of %q in\n%s", want, out)
		}
	}
	for _, want := range []string{log + ":2: no line of an access log", "and 10 more lines that hold no request"} {
		if !strings.Contains(problems, want) {
			t.Errorf("nothing of %q in\n%s", want, problems)
		}
	}
}

// A replay that asks nothing leaves no run behind: it would count as an attempt of that name, and make the next one judge
// more strictly. What was left out is told all the same.
func TestAReplayThatAsksNothingBeginsNoRun(t *testing.T) {
	var a asked
	s, dir := counted(t, &a, 0), t.TempDir()
	writes, reads, db := filepath.Join(dir, "writes.log"), filepath.Join(dir, "reads.log"), filepath.Join(dir, "a.db")
	text := logOf(3, 0)
	for name, text := range map[string]string{writes: strings.ReplaceAll(text, "GET", "POST") + "garbage\n", reads: text} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"-primary", s.URL, "-candidate", s.URL, "-db", db, "-speed", "max", "-run", "v2"}
	code, out, problems := replayed(t, append(args, writes)...)
	if code != exitTrouble || !strings.Contains(problems, "writes.log:4") || !strings.Contains(problems, "no request that may be asked") ||
		!strings.Contains(out, "3  left out: their method changes something") || !strings.Contains(out, "1  lines left out") {
		t.Errorf("exit code %d\n%s\n%s", code, out, problems)
	}
	if r := replayedAs(t, append(args, writes)...); r.Trouble == "" || r.Run.ID != 0 || r.Replay.LeftOut["method"] != 3 || r.Answer != nil {
		t.Errorf("%+v", r)
	}
	if _, err := os.Stat(db); !os.IsNotExist(err) {
		t.Errorf("a database was made: %v", err)
	}
	if r := replayedAs(t, append(args, writes, reads)...); r.Run.ID != 1 || r.Run.Attempt > 1 || r.Replay.Asked != 3 {
		t.Errorf("the first that asks: %+v", r)
	}
}

// A request whose route is not to be shadowed is asked of nobody, and not said to have been.
func TestAReplayLeavesOutWhatIsNotShadowed(t *testing.T) {
	t.Parallel()
	var a asked
	s, dir := counted(t, &a, 0), t.TempDir()
	log, cfg := filepath.Join(dir, "access.log"), filepath.Join(dir, "shadowdiff.yaml")
	for name, text := range map[string]string{
		log: logOf(4, 0),
		cfg: fmt.Sprintf("primary: %[1]s\nsecondary: %[1]s\ncandidate: %[1]s\nroutes: [{match: /things/2, shadow: false}]\n", s.URL),
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"-config", cfg, "-db", filepath.Join(dir, "a.db"), "-speed", "max", log}
	if _, out, _ := replayed(t, args...); !strings.Contains(out, "\nAsked 3 of 4 requests") || !strings.Contains(out, "1  left out: the configuration says shadow: false") {
		t.Error(out)
	}
	if c := replayedAs(t, args...).Replay; c.Asked != 3 || c.Compared != 3 || c.LeftOut["route"] != 1 || len(c.Unknown) > 0 {
		t.Errorf("%+v", c)
	}
	if paths, _ := a.read(); paths != 3 || a.request("/things/2") != nil {
		t.Errorf("%d paths were asked", paths)
	}
}

// TestWhatOthersRecordedIsReplayed: each format, with what it cannot have left out, and the header rewritten.
func TestWhatOthersRecordedIsReplayed(t *testing.T) {
	t.Parallel()
	shop := threeShops(t)
	for file, want := range map[string]struct{ asked, method, answers int64 }{
		"nginx.log":    {60, 2, 0},
		"goreplay.gor": {15, 1, 14},
		"chromium.har": {7, 1, 7},
		"curl.txt":     {7, 3, 0},
	} {
		path := "../../fixtures/recorded/" + file
		r := replayedAs(t, "-primary", shop[0], "-secondary", shop[1], "-candidate", shop[2], "-db", filepath.Join(t.TempDir(), "r.db"), "-speed", "max", path)
		if c := r.Replay; c.Asked != want.asked || c.Compared != want.asked || c.LeftOut["method"] != want.method || c.Bad != 0 {
			t.Errorf("%s: %+v", file, c)
		}
		if want.answers == 0 {
			continue
		}
		r = replayedAs(t, "-against", "recorded", "-secondary", shop[1], "-candidate", shop[2], "-db", filepath.Join(t.TempDir(), "a.db"), "-speed", "max", path)
		if c := r.Replay; c.Asked != want.answers || c.Compared != want.answers {
			t.Errorf("%s against recorded: %+v", file, c)
		}
	}
}

// TestHeadersAreRewritten: what was redacted is not sent, and what is given stands for it.
func TestHeadersAreRewritten(t *testing.T) {
	var primary asked
	p, s := counted(t, &primary, 0), counted(t, new(asked), 0)
	list := filepath.Join(t.TempDir(), "own.ndjson")
	line := `{"request":{"method":"%s","target":"%s","host":"shop.example","headers":{"Authorization":["[redacted]"],"Cookie":["sid=[redacted]"],"X-Old":["1"],"X-Tenant":["%s"]}}}` + "\n"
	text := fmt.Sprintf(line, "GET", "/a", "acme") + fmt.Sprintf(line, "POST", "/b", "acme") + fmt.Sprintf(line, "GET", "/c", "other") + fmt.Sprintf(line, "DELETE", "/d", "acme")
	if err := os.WriteFile(list, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("REPLAY_TOKEN", "fresh")
	r := replayedAs(t, "-primary", p.URL, "-secondary", s.URL, "-candidate", s.URL, "-db", filepath.Join(t.TempDir(), "r.db"), "-speed", "max",
		"-methods", "GET,post", "-match", "header.X-Tenant=acme", "-header", "Authorization: Bearer ${REPLAY_TOKEN}", "-header", "X-Old:", list)
	if c := r.Replay; c.Asked != 2 || c.LeftOut["match"] != 1 || c.LeftOut["method"] != 1 || c.Redacted["Cookie"] != 2 || c.Redacted["Authorization"] != 0 {
		t.Errorf("%+v", c)
	}
	for _, path := range []string{"/a", "/b"} {
		got := primary.request(path)
		if got == nil {
			t.Fatalf("%s is not asked", path)
		}
		if h := got.Header; h.Get("Authorization") != "Bearer fresh" || h["Cookie"] != nil || h["X-Old"] != nil || got.Host != "shop.example" || h.Get("X-Tenant") != "acme" {
			t.Errorf("%s is asked with %v of %s", path, h, got.Host)
		}
	}
}

// TestAPrimaryThatIsDownEndsTheReplay, which can be gone on with.
func TestAPrimaryThatIsDownEndsTheReplay(t *testing.T) {
	t.Parallel()
	s := counted(t, new(asked), 0)
	down := httptest.NewServer(nil)
	down.Close()
	log := filepath.Join(t.TempDir(), "access.log")
	if err := os.WriteFile(log, []byte(logOf(1000, 0)), 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, problems := replayed(t, "-primary", down.URL, "-secondary", s.URL, "-candidate", s.URL, "-db", filepath.Join(t.TempDir(), "r.db"), "-speed", "max", "-concurrency", "4", log)
	if code != exitTrouble || !strings.Contains(problems, "the primary has given no answer to 20 requests running") {
		t.Errorf("exit code %d: %s", code, problems)
	}
}
