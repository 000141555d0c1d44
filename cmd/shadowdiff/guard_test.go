package main

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"shadowdiff/multicast"
)

// TestTheGuardOfARunningService: a reload sets a limit that this process is over, shadowing pauses by itself, and the log,
// the page, the API, the activity and the metrics say so; clients are served all the same. Without the limit it goes on.
func TestTheGuardOfARunningService(t *testing.T) {
	t.Parallel()
	primary, secondary, candidate := newPeer(t, "primary", nil), newPeer(t, "secondary", nil), newPeer(t, "candidate", nil)
	begin := addresses(primary, secondary, candidate)
	l := serveFile(t, begin)
	if state := l.page("/api/v1/shadowing"); state != `{"enabled":true,"sample":"100%"}`+"\n" {
		t.Errorf("without a guard: %s", state)
	}
	done := l.reload(begin + "guard: {memory: 16MiB, primary_p99: 1m}\nramp: {steps: [50%, 100%], hold: 1h}\n")
	if changed := strings.Join(done.Changed, ", "); changed != "guard.primary_p99: 1m0s (was 0s), guard.memory: 16MiB (was 0), ramp.steps, ramp.hold: 1h0m0s (was 10m0s)" {
		t.Errorf("changed %q", changed)
	}
	var state struct {
		Sample multicast.Share
		Guard  *multicast.Guard
		Ramp   *multicast.Ramp
	}
	read := func() {
		state.Guard, state.Ramp = nil, nil
		if err := json.Unmarshal([]byte(l.page("/api/v1/shadowing")), &state); err != nil {
			t.Fatal(err)
		}
	}
	if read(); state.Sample != multicast.Whole/2 || state.Ramp.Step != 1 || state.Guard.Paused {
		t.Errorf("%+v", state)
	}
	l.eventually("a pause", func() bool { read(); return state.Guard.Paused })
	c := l.connect()
	before := l.settled()
	for range 4 {
		if got := c.get("/a"); got != "200 primary" {
			t.Errorf("a client got %q", got)
		}
	}
	after := l.settled()
	if n := after.Skipped[multicast.ReasonGuard] - before.Skipped[multicast.ReasonGuard]; n < 1 || n > 3 || after.Exchanged != before.Exchanged {
		t.Errorf("of four requests %d were skipped for the guard: %+v", n, after)
	}
	for where, texts := range map[string][]string{
		"/":                 {"The guard has paused shadowing since", "memory is ", "MiB, over 16MiB", " by the guard"},
		"/metrics":          {`shadowdiff_guard_paused{limit="memory"} 1`, `shadowdiff_guard_pauses_total{limit="memory"} 1`, `shadowdiff_guard_paused{limit="primary_p99"} 0`},
		"/readyz":           {`"status":"ok"`},
		"/api/v1/shadowing": {`"reason":"memory is `},
	} {
		page := l.page(where)
		for _, text := range texts {
			if !strings.Contains(page, text) {
				t.Errorf("%s does not say %q", where, text)
			}
		}
	}
	l.eventually("the activity", func() bool { return strings.Contains(l.page("/api/v1/activity"), `"actor":"guard"`) })
	l.reload(begin)
	l.eventually("shadowing goes on", func() bool {
		before := l.settled()
		c.get("/a")
		return l.settled().Exchanged > before.Exchanged
	})
	for _, line := range []string{"guard pauses shadowing", "guard lets shadowing go on"} {
		if n := strings.Count(l.log.String(), line); n != 1 {
			t.Errorf("the log has %d times %q", n, line)
		}
	}
}

// TestTheRampOutlivesARestart: its step is kept, and the log warns that nothing watches.
func TestTheRampOutlivesARestart(t *testing.T) {
	t.Parallel()
	primary, secondary, candidate := newPeer(t, "primary", nil), newPeer(t, "secondary", nil), newPeer(t, "candidate", nil)
	file := writeConfig(t, addresses(primary, secondary, candidate)+"ramp: {steps: [50%, 100%], hold: 1s}\n")
	args := []string{"-config", file, "-db", filepath.Join(t.TempDir(), "ramp.db")}
	s := serveProcess(t, args...)
	var state struct {
		Sample multicast.Share
		Ramp   multicast.Ramp
	}
	deadline := time.Now().Add(90 * time.Second)
	for s.get("/api/v1/shadowing", &state); state.Ramp.State != multicast.RampTop; s.get("/api/v1/shadowing", &state) {
		if time.Now().After(deadline) {
			t.Fatalf("the ramp stands still: %+v", state)
		}
		res, err := http.Get(s.clients + "/a")
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
	}
	if !strings.Contains(s.written(), "the ramp rises and nothing watches") || !strings.Contains(s.written(), "ramp rises") {
		t.Error("the log says neither that nothing watches nor that the ramp rises")
	}
	s.signal(syscall.SIGTERM)
	if code := s.wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	again := serveProcess(t, args...)
	if again.get("/api/v1/shadowing", &state); state.Sample != multicast.Whole || state.Ramp.Step != 2 {
		t.Errorf("after the restart: %+v", state)
	}
	if log := again.written(); !strings.Contains(log, "ramp restored") || strings.Contains(log, "win over the configuration") {
		t.Errorf("the log:\n%s", log)
	}
}
