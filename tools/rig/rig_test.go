package rig

import (
	"reflect"
	"strings"
	"testing"
)

func TestFaultsOfCounts(t *testing.T) {
	whole := func() Counts {
		return Counts{
			Requests: 100, Skipped: Words{"method": 3}, Dropped: Words{"queue": 2}, Exchanged: 95, Compared: 94,
			Unknown: Words{"oversize": 1},
			Shadow: map[string]Leg{
				"secondary": {Sent: 95, Outcome: Words{"ok": 95}},
				"candidate": {Sent: 95, Outcome: Words{"ok": 94, "oversize": 1}},
			},
			InFlight: Words{"secondary": 0, "candidate": 0},
		}
	}
	if faults := whole().Faults(); faults != nil {
		t.Fatalf("faults in whole counts: %q", faults)
	}
	for name, c := range map[string]struct {
		harm func(*Counts)
		want []string
	}{
		"a request is nowhere":    {func(c *Counts) { c.Requests++ }, []string{"requests = skipped + dropped + exchanged: 101 and 100, +1"}},
		"an exchange is nowhere":  {func(c *Counts) { c.Compared-- }, []string{"exchanged = compared + unknown: 95 and 94, +1"}},
		"an exchange is twice":    {func(c *Counts) { c.Unknown["timeout"]++ }, []string{"exchanged = compared + unknown: 95 and 96, -1"}},
		"a leg has no outcome":    {func(c *Counts) { c.Shadow["candidate"].Outcome["ok"]-- }, []string{"candidate: sent = outcomes: 95 and 94, +1"}},
		"a request is under way":  {func(c *Counts) { c.Open = 1 }, []string{"open: 1 and 0, +1"}},
		"a leg is under way":      {func(c *Counts) { c.InFlight["secondary"] = 2 }, []string{"in flight: 2 and 0, +2"}},
		"something waits":         {func(c *Counts) { c.Queue = 1 }, []string{"queue: 1 and 0, +1"}},
		"something is still held": {func(c *Counts) { c.Captured = 7 }, []string{"captured bytes: 7 and 0, +7"}},
	} {
		counts := whole()
		c.harm(&counts)
		if got := counts.Faults(); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestCountsSince(t *testing.T) {
	before := Counts{Requests: 10, Exchanged: 8, Compared: 7, Dropped: Words{"queue": 2}, Shadow: map[string]Leg{
		"candidate": {Sent: 8, Outcome: Words{"ok": 8}},
	}}
	now := Counts{Requests: 110, Exchanged: 98, Compared: 90, Dropped: Words{"queue": 2, "memory": 10}, Queue: 3, Shadow: map[string]Leg{
		"candidate": {Sent: 98, Outcome: Words{"ok": 88, "timeout": 10}},
	}}
	since := now.Since(before)
	if since.Requests != 100 || since.Exchanged != 90 || since.Compared != 83 || since.Queue != 3 || since.Sampled() != 100 {
		t.Errorf("got %+v", since)
	}
	if want := (Words{"memory": 10}); !reflect.DeepEqual(since.Dropped, want) {
		t.Errorf("dropped %v, want %v", since.Dropped, want)
	}
	if want := (Leg{Sent: 90, Outcome: Words{"ok": 80, "timeout": 10}}); !reflect.DeepEqual(since.Shadow["candidate"], want) {
		t.Errorf("the candidate's %v, want %v", since.Shadow["candidate"], want)
	}
}

func TestWordsAreListedByNumber(t *testing.T) {
	if got := (Words{"a": 1, "b": 20, "c": 0, "d": 20}).String(); got != "b 20, d 20, a 1" {
		t.Errorf("got %q", got)
	}
	if got := (Words{"a": 0}).String(); got != "none" {
		t.Errorf("got %q", got)
	}
}

func TestMetric(t *testing.T) {
	text := []byte("# HELP go_goroutines Number.\n# TYPE go_goroutines gauge\ngo_goroutines_more 9\ngo_goroutines 17\nx{a=\"b\"} 3\n")
	if v, err := metric(text, "go_goroutines"); v != 17 || err != nil {
		t.Errorf("got %v, %v", v, err)
	}
	if _, err := metric(text, "x"); err == nil {
		t.Error("a metric with labels was read")
	}
}

func TestChild(t *testing.T) {
	c, err := Start("story", "/bin/sh", "-c", "echo one; read line; echo got $line; exit 3")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Line(t.Context(), func(line string) bool { return line == "one\n" }); err != nil {
		t.Fatal(err)
	}
	if err := c.Tell("two"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Line(t.Context(), func(line string) bool { return line == "got two\n" }); err != nil {
		t.Fatal(err)
	}
	if err := c.Err(); err == nil || err.Error() != "exit status 3" {
		t.Errorf("it ended with %v", err)
	}
	if _, err := c.Line(t.Context(), func(string) bool { return false }); err == nil || !strings.Contains(err.Error(), "story ended") {
		t.Errorf("waiting for a line of a child that is gone: %v", err)
	}
}

// A child that does not end when it is asked to is ended, with what it started.
func TestChildIsEnded(t *testing.T) {
	c, err := Start("stubborn", "/bin/sh", "-c", "trap '' TERM; echo ready; while :; do read line || sleep 60; done")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Line(t.Context(), func(line string) bool { return line == "ready\n" }); err != nil {
		t.Fatal(err)
	}
	if err := c.Stop(0); err == nil || err.Error() != "signal: killed" {
		t.Errorf("it ended with %v", err)
	}
}

func TestOnlyTheFirstAndLastLinesAreKept(t *testing.T) {
	c, err := Start("chatty", "/bin/sh", "-c", "i=0; while [ $i -lt 1000 ]; do echo $i; i=$((i+1)); done")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Err(); err != nil {
		t.Fatal(err)
	}
	lines := c.Lines()
	if len(lines) != 2*keptLines || lines[0] != "0\n" || lines[keptLines-1] != "49\n" || lines[len(lines)-1] != "999\n" {
		t.Errorf("kept %d: %q", len(lines), lines)
	}
}
