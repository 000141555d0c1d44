package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"shadowdiff/tools/rig"
)

// TestMain lets this test binary be its own upstream, as the program is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[len(os.Args)-1] == "upstream" {
		if err := runUpstream(upstreamConfig{size: 500, role: "candidate", delay: 30 * time.Millisecond, rows: 2}); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

func testUpstream(t *testing.T) *upstream {
	u := &upstream{}
	var err error
	if u.Child, err = rig.Start("upstream", self(), "upstream"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = u.Stop(0) })
	line, err := u.Line(t.Context(), func(string) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(line), &u.addrs); err != nil {
		t.Fatal(err)
	}
	return u
}

// measure lets a load run until it has measured n answers.
func measure(t *testing.T, l *load, n int) *tally {
	l.limit = n
	l.phase.Store(measuring)
	took, err := l.run()
	if err != nil {
		t.Fatal(err)
	}
	return took
}

func TestLoad(t *testing.T) {
	u := testUpstream(t)
	for _, mode := range []string{same, noisy} {
		took := measure(t, &load{addr: u.addrs[mode][0], conns: 4, want: newAnswer(500, "candidate", mode)}, 100)
		if len(took.latencies) < 100 || len(took.errors) > 0 {
			t.Errorf("%s: %d answers, errors %v", mode, len(took.latencies), took.errors)
		}
	}
	took := measure(t, &load{addr: u.addrs[same][0], conns: 4, want: newAnswer(500, "candidate", noisy)}, 10)
	if took.errors["another body"] == 0 || len(took.latencies) > 0 {
		t.Errorf("another body: %d answers, errors %v", len(took.latencies), took.errors)
	}
	most, err := u.most()
	if err != nil || most[same][0] != 4 || most[noisy][0] != 4 || most[hanging][0] != 0 || most[same][1] != 0 {
		t.Errorf("connections %v, %v", most, err)
	}
}

// A slow upstream is asked less in a closed loop. At a rate it is not, and what waits for a connection is measured from
// when it was due: 100 requests a second over one connection that takes 30 ms each fall behind, further with each.
func TestLoadAtARate(t *testing.T) {
	u := testUpstream(t)
	want := newAnswer(500, "candidate", slow)
	closed := measure(t, &load{addr: u.addrs[slow][0], conns: 1, want: want}, 10)
	paced := measure(t, &load{addr: u.addrs[slow][0], conns: 1, want: want, rate: 100}, 10)
	if len(closed.errors)+len(paced.errors) > 0 || len(closed.latencies) < 10 || len(paced.latencies) < 10 {
		t.Fatalf("%d and %d answers, errors %v and %v", len(closed.latencies), len(paced.latencies), closed.errors, paced.errors)
	}
	for _, l := range append(closed.latencies, paced.latencies...) {
		if l < 30*time.Millisecond {
			t.Errorf("an answer after %v, before it was sent", l)
		}
	}
	n := len(paced.latencies)
	behind := time.Duration(n-1) * 20 * time.Millisecond // 30 for each, less the 10 between two
	if last := paced.latencies[n-1]; last < behind {
		t.Errorf("answer %d after %v, want at least %v", n, last, behind)
	}
}

func TestLoadOfNobody(t *testing.T) {
	addr, err := rig.FreeAddr()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (&load{addr: addr, conns: 1}).run(); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("got %v", err)
	}
}
