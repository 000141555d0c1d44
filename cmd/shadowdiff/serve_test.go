package main

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"shadowdiff/fixtures"
	"shadowdiff/multicast"
)

// TestServesWhatThePrimarySentAndCountsEveryRequest sends 10,000 requests through keep-alive connections. The toy shop
// signs each answer with a checksum of the bytes it sent, and the clients check it.
func TestServesWhatThePrimarySentAndCountsEveryRequest(t *testing.T) {
	primary, secondary, candidate := startShops(t)
	s := serveProcess(t, "-primary", primary.url, "-secondary", secondary.url, "-candidate", candidate.url)
	sameHeaders(t, primary.url, s.clients)
	before := s.settled().Requests

	const requests = 10_000
	crowd := fixtures.Traffic{URL: s.clients, Clients: 4, Rate: 1e6, Requests: requests, Seed: 1, Server: "shop-a"}
	if err := crowd.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if c := crowd.Counts(); !c.Good() || c.Answered != requests {
		t.Errorf("clients: %v; last failure: %s", c, c.LastErr)
	}

	c := s.settled()
	if c.Requests != before+requests {
		t.Errorf("%d requests, want %d", c.Requests, before+requests)
	}
	addsUp(t, c)
	if c.Compared < 100 {
		t.Errorf("only %d compared: %+v", c.Compared, c)
	}
	s.eventually("all counts shown", func() bool { return s.shown().Compared == c.Compared })
	t.Logf("%+v", c)

	s.signal(syscall.SIGTERM)
	if code := s.wait(); code != 0 {
		t.Errorf("exit code %d after SIGTERM", code)
	}
}

// addsUp checks the identities of the counters.
func addsUp(t *testing.T, c multicast.Counts) {
	t.Helper()
	if c.Requests != sum(c.Skipped)+sum(c.Dropped)+c.Exchanged {
		t.Errorf("requests ≠ skipped + dropped + exchanged: %+v", c)
	}
	if c.Exchanged != c.Compared+sum(c.Unknown) {
		t.Errorf("exchanged ≠ compared + unknown: %+v", c)
	}
	for role, legs := range c.Shadow {
		if legs.Sent != sum(legs.Outcome) {
			t.Errorf("%s: sent ≠ Σ outcome: %+v", role, legs)
		}
	}
}

// sameHeaders compares status and every header, but for those that are each answer's own, of one request a route.
func sameHeaders(t *testing.T, direct, through string) {
	t.Helper()
	for _, path := range []string{"/products/1001", "/reports/1", "/images/1", "/health", "/no/such/thing", "/search?q=a;b&c=%zz"} {
		want, got := fetchHead(t, direct+path), fetchHead(t, through+path)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: direct against through shadowdiff:\n%s", path, diff)
		}
	}
}

func fetchHead(t *testing.T, address string) http.Header {
	t.Helper()
	res, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		t.Errorf("%s: %v", address, err)
	}
	for _, own := range []string{"Date", "X-Request-Id", "Server", "Content-Length"} {
		if res.Header.Get(own) != "" {
			res.Header.Set(own, "its own")
		}
	}
	res.Header.Set(":status", res.Status)
	return res.Header
}

// TestDeadShadowsChangeNoClientsAnswer kills the candidate, then the secondary, under traffic.
func TestDeadShadowsChangeNoClientsAnswer(t *testing.T) {
	primary, secondary, candidate := startShops(t)
	s := serveProcess(t, "-primary", primary.url, "-secondary", secondary.url, "-candidate", candidate.url)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	crowd := fixtures.Traffic{URL: s.clients, Clients: 4, Rate: 200, Seed: 2, Server: "shop-a"}
	done := make(chan error, 1)
	go func() { done <- crowd.Run(ctx) }()

	s.eventually("comparisons", func() bool { return s.counters().Compared > 50 })
	candidate.signal(syscall.SIGKILL)
	s.eventually("the candidate's failures", func() bool { return failures(s.counters(), "candidate") >= 20 })
	s.eventually("a confirmed difference at transport", func() bool { return s.shown().confirmed("transport") })
	s.eventually("the candidate's pause", func() bool { return s.counters().Circuit["candidate"].State != "closed" })
	secondary.signal(syscall.SIGKILL)
	s.eventually("the secondary's failures", func() bool { return failures(s.counters(), "secondary") >= 1 })
	stop()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if c := crowd.Counts(); !c.Good() {
		t.Errorf("clients: %v; last failure: %s", c, c.LastErr)
	}
	c := s.settled()
	addsUp(t, c)
	if sum(c.Unknown) == 0 {
		t.Errorf("no exchange is unknown, though neither shadow answered: %+v", c)
	}
	if e := s.shown(); e.Verdict != "different" {
		t.Errorf("a dead candidate is found %s", e.Verdict)
	}
}

// failures counts the legs of a role that a dead peer explains.
func failures(c multicast.Counts, role string) int64 {
	o := c.Shadow[role].Outcome
	return o[multicast.OutcomeDial] + o[multicast.OutcomeReset] + o[multicast.OutcomeStale]
}

// TestKillAndRestartLosesASecondAtMost: what was shown is on the disk, and a restart goes on from there.
func TestKillAndRestartLosesASecondAtMost(t *testing.T) {
	primary, secondary, candidate := startShops(t)
	db := filepath.Join(t.TempDir(), "kept.db")
	args := []string{"-primary", primary.url, "-secondary", secondary.url, "-candidate", candidate.url, "-db", db}
	s := serveProcess(t, args...)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	crowd := fixtures.Traffic{URL: s.clients, Clients: 4, Rate: 200, Seed: 3}
	done := make(chan error, 1)
	go func() { done <- crowd.Run(ctx) }()

	s.eventually("comparisons", func() bool { return s.counters().Compared > 200 })
	counted, at := s.counters().Compared, time.Now()
	s.eventually("the same count shown", func() bool { return s.shown().Compared >= counted })
	t.Logf("counted was shown within %v", time.Since(at))
	shown := s.shown()
	s.signal(syscall.SIGKILL)
	s.wait()
	stop()
	<-done

	again := serveProcess(t, args...)
	e := again.shown()
	if e.Compared < shown.Compared || e.Run.ID != shown.Run.ID {
		t.Errorf("shown after the restart: run %d, %d compared; before: run %d, %d", e.Run.ID, e.Compared, shown.Run.ID, shown.Compared)
	}
	crowd = fixtures.Traffic{URL: again.clients, Requests: 50, Rate: 1e6, Seed: 4}
	if err := crowd.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	more := again.settled().Compared
	again.eventually("the counts to go on", func() bool { return again.shown().Compared == e.Compared+more })
}

// slowPrimary answers /slow only when it is told to; everything else at once.
type slowPrimary struct {
	*httptest.Server
	asked, answer chan struct{}
}

func newSlowPrimary(t *testing.T) *slowPrimary {
	p := &slowPrimary{asked: make(chan struct{}), answer: make(chan struct{})}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" && r.Header.Get("X-Shadow-Request") == "" {
			p.asked <- struct{}{}
			<-p.answer
		}
		io.WriteString(w, "whole")
	}))
	t.Cleanup(p.Close)
	return p
}

// get asks in the background; the answer's body, or the error's text, comes over the channel.
func get(address string) <-chan string {
	got := make(chan string, 1)
	go func() {
		res, err := http.Get(address)
		if err != nil {
			got <- err.Error()
			return
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			got <- err.Error()
			return
		}
		got <- string(body)
	}()
	return got
}

// TestSIGTERMDrains: a request under way is answered whole, its shadows are compared, and all that was counted is in the
// store.
func TestSIGTERMDrains(t *testing.T) {
	upstream := newSlowPrimary(t)
	db := filepath.Join(t.TempDir(), "drained.db")
	args := []string{"-primary", upstream.URL, "-secondary", upstream.URL, "-candidate", upstream.URL, "-db", db}
	s := serveProcess(t, args...)
	const quick = 50
	for range quick {
		if got := <-get(s.clients + "/quick"); got != "whole" {
			t.Fatalf("got %q", got)
		}
	}
	slow := get(s.clients + "/slow")
	<-upstream.asked
	s.signal(syscall.SIGTERM)
	s.eventually("refusal of new connections", func() bool {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.clients, "http://"))
		if err == nil {
			conn.Close()
		}
		return err != nil
	})
	upstream.answer <- struct{}{}
	if got := <-slow; got != "whole" {
		t.Errorf("the request under way got %q", got)
	}
	if code := s.wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	again := serveProcess(t, args...)
	if e := again.shown(); e.Compared != quick+1 {
		t.Errorf("%d compared after the restart, want %d", e.Compared, quick+1)
	}
}

// TestASecondSignalEndsAtOnce: whoever asks twice does not wait for the slowest client.
func TestASecondSignalEndsAtOnce(t *testing.T) {
	upstream := newSlowPrimary(t)
	s := serveProcess(t, "-primary", upstream.URL, "-candidate", upstream.URL)
	slow := get(s.clients + "/slow")
	<-upstream.asked
	s.signal(syscall.SIGTERM)
	s.await("the first signal", func(line string) bool { return strings.Contains(line, "asked to stop") })
	s.signal(os.Interrupt)
	if code := s.wait(); code != exitCut {
		t.Errorf("exit code %d, want %d", code, exitCut)
	}
	upstream.answer <- struct{}{}
	<-slow
}

// TestTheSwitchAndTheRateOutliveARestart: what was set on the dashboard wins over the flag, and the log says so.
func TestTheSwitchAndTheRateOutliveARestart(t *testing.T) {
	upstream := newSlowPrimary(t)
	db := filepath.Join(t.TempDir(), "switch.db")
	args := []string{"-primary", upstream.URL, "-candidate", upstream.URL, "-sample", "50%", "-db", db}
	s := serveProcess(t, args...)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, s.dashboard+"/api/v1/shadowing",
		strings.NewReader(`{"enabled": false, "sample": "2.5%"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Fatalf("PUT: %s", res.Status)
	}
	s.signal(syscall.SIGTERM)
	if code := s.wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	again := serveProcess(t, args...)
	var state multicast.Shadowing
	again.get("/api/v1/shadowing", &state)
	if state.Enabled || state.Sample != 2500 {
		t.Errorf("after the restart: %+v", state)
	}
	if !strings.Contains(again.written(), "win over the configuration") {
		t.Error("the log does not say that the configuration does not hold")
	}
}

// TestAPortInUseIsSaid names the address, and what to do.
func TestAPortInUseIsSaid(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	taken := l.Addr().String()
	for _, flags := range [][]string{{"-listen", taken, "-admin", "127.0.0.1:0"}, {"-listen", "127.0.0.1:0", "-admin", taken}} {
		cmd := shadowdiff(t, append([]string{"serve", "-primary", "http://127.0.0.1:1"}, flags...)...)
		out, err := cmd.CombinedOutput()
		if exit, ok := err.(*exec.ExitError); !ok || exit.ExitCode() != exitTrouble {
			t.Errorf("%v: %v, want exit code 2", flags, err)
		}
		if !strings.Contains(string(out), taken) || !strings.Contains(string(out), "choose another with -listen or -admin") {
			t.Errorf("%v: %s", flags, out)
		}
	}
}

// A log that a machine reads has durations with their unit, in groups too.
func TestTheLogSaysDurationsWithTheirUnit(t *testing.T) {
	var b strings.Builder
	newLogger(&b, &b).With("pause", time.Minute).Warn("paused", slog.Duration("duration", 5*time.Second), slog.Group("of", "took", 1500*time.Microsecond), "n", 5)
	for _, want := range []string{`"pause":"1m0s"`, `"duration":"5s"`, `"of":{"took":"1.5ms"}`, `"n":5}`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %s in %s", want, b.String())
		}
	}
}
