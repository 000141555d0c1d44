package multicast

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func ramped(hold time.Duration, steps ...Share) func(*Config) {
	return func(cfg *Config) {
		cfg.Ramp = RampConfig{steps, hold}
		cfg.Guard.PrimaryP99 = 300 * time.Millisecond
	}
}

// minutes lets time pass in which the primary answers quickly, and a shadow is asked each second.
func (g *guarded) minutes(n int) {
	for range n * 60 {
		g.proxy.counters.exchanged.Add(1)
		g.answers(1, 50, 20*time.Millisecond, false)
	}
}

func (g *guarded) rate(want Share, when string) {
	g.t.Helper()
	if got := g.proxy.Shadowing().Sample; got != want {
		g.t.Errorf("%s: the rate is %s, want %s; %+v", when, got, want, g.proxy.Ramp())
	}
}

// The rate rises by one step after each quiet hold, and stays at the last.
func TestRampRises(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuarded(t, ramped(10*time.Minute, 1000, 5000, 25_000, Whole))
		defer g.end()
		g.rate(1000, "at the start")
		g.minutes(9)
		g.rate(1000, "after 9 min")
		if r := g.proxy.Ramp(); r.State != RampHolding || r.Step != 1 || r.Hold != "10m" || !strings.HasPrefix(r.Held, "8m5") || !strings.HasPrefix(r.Text, "5% after 1m") {
			t.Errorf("%+v", r)
		}
		g.minutes(2)
		g.rate(5000, "after 11 min")
		g.minutes(10)
		g.rate(25_000, "after 21 min")
		g.minutes(10)
		g.rate(Whole, "after 31 min")
		g.minutes(30)
		g.rate(Whole, "after an hour")
		if r := g.proxy.Ramp(); r.State != RampTop || r.Step != 4 {
			t.Errorf("%+v", r)
		}
		want := []string{
			"ramp rose to 5% (step 2 of 4) after 10m of quiet at 1%", "ramp rose to 25% (step 3 of 4) after 10m of quiet at 5%",
			"ramp rose to 100% (step 4 of 4) after 10m of quiet at 25%",
		}
		if told := g.told(); !slices.Equal(told, want) {
			t.Errorf("told %q", told)
		}
		if n := strings.Count(g.log.String(), "ramp rises"); n != 3 {
			t.Errorf("%d lines in the log:\n%s", n, g.log)
		}
	})
}

// Time does not count before a shadow was asked, nor while the switch is off.
func TestRampWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuarded(t, ramped(time.Minute, 1000, Whole))
		defer g.end()
		g.answers(600, 50, 20*time.Millisecond, false)
		g.rate(1000, "when nothing was asked")
		if r := g.proxy.Ramp(); r.State != RampWaiting || r.Text != "waiting: no shadow was asked at this step yet" {
			t.Errorf("%+v", r)
		}
		off, on := false, true
		g.proxy.SetShadowing(&off, nil)
		g.minutes(10)
		g.rate(1000, "switched off")
		if r := g.proxy.Ramp(); r.State != RampWaiting || r.Text != "waiting: no shadow is asked" {
			t.Errorf("%+v", r)
		}
		g.proxy.SetShadowing(&on, nil)
		g.minutes(2)
		g.rate(Whole, "switched on")
	})
}

// A pause takes the step before, which is held again when shadowing goes on.
func TestRampGoesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuarded(t, ramped(2*time.Minute, 1000, 5000, Whole))
		defer g.end()
		g.minutes(3)
		g.rate(5000, "after a hold")
		g.answers(12, 50, 400*time.Millisecond, false)
		g.paused(true, "slow")
		g.rate(1000, "paused")
		if r := g.proxy.Ramp(); r.State != RampWaiting || r.Step != 1 || r.Text != "waiting: the guard is not quiet" {
			t.Errorf("%+v", r)
		}
		g.minutes(2)
		g.paused(false, "calm again")
		g.rate(1000, "calm again")
		g.minutes(3)
		g.rate(5000, "after another hold")
		told := g.told()
		if len(told) != 5 || told[2] != "ramp went back to 1% (step 1 of 3) from 5%, since the guard has paused shadowing" {
			t.Errorf("told %q", told)
		}
	})
}

// A rate set by hand ends the ramp, at a pause too; it goes on when it is asked to, from the step that fits.
func TestRampEndsByHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuarded(t, ramped(time.Minute, 1000, 5000, 25_000, Whole))
		defer g.end()
		hand := Share(30_000)
		g.proxy.SetShadowing(nil, &hand)
		g.minutes(10)
		g.rate(hand, "by hand")
		if r := g.proxy.Ramp(); r.State != RampEnded || r.Step != 0 || g.proxy.RampMark() != "" {
			t.Errorf("%+v, marked %q", r, g.proxy.RampMark())
		}
		if now, err := g.proxy.SetRamp(true); err != nil || now.Sample != 25_000 {
			t.Errorf("%+v, %v", now, err)
		}
		g.minutes(2)
		g.rate(Whole, "after a hold")
		if now, err := g.proxy.SetRamp(false); err != nil || now.Sample != Whole || g.proxy.Ramp().State != RampEnded {
			t.Errorf("%+v, %v", now, err)
		}
		cfg := g.proxy.setup.Load().cfg
		cfg.Ramp.Steps = nil
		if err := g.proxy.Reconfigure(cfg, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := g.proxy.SetRamp(true); !errors.Is(err, ErrNoRamp) || g.proxy.Ramp() != nil {
			t.Errorf("without a ramp: %v", err)
		}
		g.rate(Whole, "by hand still")
	})
}

// The step outlives the process and a reload; other steps are entered where they fit, another candidate begins below.
func TestRampIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuarded(t, ramped(time.Minute, 1000, 5000, 25_000, Whole))
		defer g.end()
		g.minutes(3)
		g.rate(25_000, "after two holds")
		mark := g.proxy.RampMark()
		again := newGuarded(t, ramped(time.Minute, 1000, 10_000, Whole))
		defer again.end()
		if !again.proxy.RestoreRamp(mark) {
			t.Errorf("%q is not taken", mark)
		}
		again.rate(10_000, "restored")
		for _, other := range []string{"", "25%", "25% http://127.0.0.1:99", "a% http://127.0.0.1:3"} {
			if again.proxy.RestoreRamp(other) {
				t.Errorf("%q is taken", other)
			}
		}
		for _, c := range []struct {
			change func(*Config)
			want   Share
		}{
			{func(cfg *Config) { cfg.Ramp.Hold = time.Hour }, 10_000},
			{func(cfg *Config) { cfg.Ramp.Steps = []Share{500, 9000, 50_000} }, 9000},
			{func(cfg *Config) { cfg.Candidate = "http://127.0.0.1:4" }, 500},
			{func(cfg *Config) { cfg.Ramp.Steps, cfg.Sample = nil, 70_000 }, 70_000},
			{func(cfg *Config) { cfg.Ramp.Steps = []Share{2000, 3000} }, 2000},
		} {
			cfg := again.proxy.setup.Load().cfg
			c.change(&cfg)
			if err := again.proxy.Reconfigure(cfg, nil); err != nil {
				t.Fatal(err)
			}
			again.rate(c.want, fmt.Sprint(cfg.Ramp, cfg.Candidate))
		}
	})
}

func TestGuardAndRampAreValidated(t *testing.T) {
	cfg := DefaultConfig()
	cfg.Primary = "http://127.0.0.1:9001"
	cfg.Guard = GuardConfig{PrimaryP99: -1, PrimaryErrors: Whole + 1, Memory: 512, CPU: Whole + 1}
	cfg.Ramp = RampConfig{Steps: []Share{0, 5000, 5000, 1000, Whole, Whole + 1}, Hold: time.Millisecond}
	var got []string
	for _, err := range cfg.Validate() {
		got = append(got, err.Error())
	}
	want := []string{
		"guard.primary_p99: must be 0 or more, is -1ns", "guard.primary_errors: must be at most 100%, is 100.001%",
		"guard.memory: must be 0 or at least 16MiB, is 512B", "guard.cpu: must be at most 100%, is 100.001%",
		"ramp.steps[0]: must be above 0% and at most 100%, is 0%", "ramp.steps[2]: must be above the step before it, 5%, is 5%",
		"ramp.steps[3]: must be above the step before it, 5%, is 1%", "ramp.steps[5]: must be above 0% and at most 100%, is 100.001%",
		"ramp.hold: must be at least 1s, is 1ms",
	}
	if !slices.Equal(got, want) {
		t.Errorf("faults\n%s", strings.Join(got, "\n"))
	}
}
