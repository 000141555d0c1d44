package multicast

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"
)

// RampConfig are the steps by which the default rate rises while the guard is quiet. Without steps it stays at Config.Sample;
// with them that is not used.
type RampConfig struct {
	Steps []Share       `yaml:"steps"` // rising
	Hold  time.Duration `yaml:"hold"`  // quiet time at each step
}

func (c RampConfig) validate(f *faults) {
	for i, step := range c.Steps {
		key := fmt.Sprintf("ramp.steps[%d]", i)
		switch {
		case step == 0 || step > Whole:
			f.add(key, "must be above 0%% and at most 100%%, is %s", step)
		case i > 0 && step <= c.Steps[i-1]:
			f.add(key, "must be above the step before it, %s, is %s", c.Steps[i-1], step)
		}
	}
	if c.Hold < time.Second && (c.Hold != 0 || len(c.Steps) > 0) {
		f.add("ramp.hold", "must be at least 1s, is %s", c.Hold)
	}
}

// at is the highest step that is not above a rate, or the first.
func (c RampConfig) at(rate Share) int {
	step := 0
	for i, share := range c.Steps {
		if share <= rate {
			step = i
		}
	}
	return step
}

// ramp is how the default rate rises; the proxy's change guards it. Its step is a part of shadowing, which requests look at.
type ramp struct {
	held  time.Duration // quiet time at this step
	asked int64         // exchanges when the step began
}

// begin begins a step.
func (r *ramp) begin(p *Proxy) { r.held, r.asked = 0, p.counters.exchanged.Load() }

// The states of a ramp.
const (
	RampHolding = "holding" // time at this step counts
	RampWaiting = "waiting" // it does not: the guard is not quiet, shadowing is off, or nothing was asked yet
	RampTop     = "top"     // the last step is reached
	RampEnded   = "ended"   // the rate was set by hand
)

// Ramp is how far the default rate has risen.
type Ramp struct {
	Steps []Share `json:"steps"`
	Step  int     `json:"step"` // the one in force, from 1; 0: the rate was set by hand
	Hold  string  `json:"hold"` // quiet time at each step
	Held  string  `json:"held"` // at this one, until now
	State string  `json:"state"`
	Text  string  `json:"text"` // the state, for people
}

// Ramp returns the state of the ramp, or nil where there is none.
func (p *Proxy) Ramp() *Ramp {
	calm, asked := p.guard.calm(), p.counters.exchanged.Load()
	p.change.Lock()
	defer p.change.Unlock()
	now, cfg := p.shadowing.Load(), p.setup.Load().cfg.Ramp
	if len(cfg.Steps) == 0 {
		return nil
	}
	r := &Ramp{
		Steps: cfg.Steps, Step: now.step + 1, Hold: shortDuration(cfg.Hold), Held: shortDuration(p.ramp.held.Truncate(time.Second)), State: RampHolding,
	}
	switch {
	case now.set:
		r.State, r.Step, r.Text = RampEnded, 0, "ended: the rate was set by hand"
	case now.step == len(cfg.Steps)-1:
		r.State, r.Text = RampTop, "the last step is reached"
	case !now.on():
		r.State, r.Text = RampWaiting, "waiting: no shadow is asked"
	case !calm:
		r.State, r.Text = RampWaiting, "waiting: the guard is not quiet"
	case asked == p.ramp.asked:
		r.State, r.Text = RampWaiting, "waiting: no shadow was asked at this step yet"
	default:
		r.Text = fmt.Sprintf("%s after %s more of quiet", cfg.Steps[now.step+1], shortDuration((cfg.Hold - p.ramp.held).Round(time.Second)))
	}
	return r
}

// rate sets the default rate to what it is to be under a configuration.
func (s *shadowing) rate(cfg *Config) {
	switch {
	case s.set:
	case len(cfg.Ramp.Steps) > 0:
		s.step = min(s.step, len(cfg.Ramp.Steps)-1)
		s.Sample = cfg.Ramp.Steps[s.step]
	default:
		s.Sample = cfg.Sample
	}
}

// retread finds the place on the ramp of another setup: the first step, unless it is the same candidate that has climbed one
// already; then the highest step that is not above what was reached. The caller holds change, or is New.
func (p *Proxy) retread(now *shadowing, before *setup, cfg *Config) {
	switch {
	case before == nil, len(before.cfg.Ramp.Steps) == 0, before.cfg.Candidate != cfg.Candidate:
		now.step = 0
	case slices.Equal(before.cfg.Ramp.Steps, cfg.Ramp.Steps):
		return
	default:
		now.step = cfg.Ramp.at(before.cfg.Ramp.Steps[now.step])
	}
	p.ramp.begin(p)
}

// climb counts quiet time, and takes the next step when there was enough of it. Time in which no shadow may be asked, or in
// which the guard is not quiet, does not count; nor does any before the first shadow at this step was asked.
func (p *Proxy) climb(passed time.Duration, calm bool) {
	p.change.Lock()
	now, cfg := *p.shadowing.Load(), &p.setup.Load().cfg
	steps := cfg.Ramp.Steps
	if now.set || now.step >= len(steps)-1 || !now.on() || !calm || p.counters.exchanged.Load() == p.ramp.asked {
		p.change.Unlock()
		return
	}
	if p.ramp.held += passed; p.ramp.held < cfg.Ramp.Hold {
		p.change.Unlock()
		return
	}
	now.step++
	p.step(&now, cfg)
	p.change.Unlock()
	p.stepped("ramp rises", now, steps[now.step-1], fmt.Sprintf("rose to %%s (step %d of %d) after %s of quiet at %%s", now.step+1, len(steps), shortDuration(cfg.Ramp.Hold)))
}

// stepBack takes the step before, when the guard has paused shadowing: it goes on at that one.
func (p *Proxy) stepBack() {
	p.change.Lock()
	now, cfg := *p.shadowing.Load(), &p.setup.Load().cfg
	if now.set || len(cfg.Ramp.Steps) == 0 || now.step == 0 {
		p.ramp.begin(p)
		p.change.Unlock()
		return
	}
	now.step--
	p.step(&now, cfg)
	p.change.Unlock()
	p.stepped("ramp goes back", now, cfg.Ramp.Steps[now.step+1], fmt.Sprintf("went back to %%s (step %d of %d) from %%s, since the guard has paused shadowing", now.step+1, len(cfg.Ramp.Steps)))
}

// step puts a step in force. The caller holds change.
func (p *Proxy) step(now *shadowing, cfg *Config) {
	now.rate(cfg)
	p.shadowing.Store(now)
	p.ramp.begin(p)
}

// stepped tells of a step that was taken from a rate.
func (p *Proxy) stepped(message string, now shadowing, from Share, text string) {
	p.log.Info(message, slog.String("sample", now.Sample.String()), slog.String("before", from.String()), slog.Int("step", now.step+1))
	p.guard.turn("ramp", fmt.Sprintf(text, now.Sample, from))
}

// ErrNoRamp is the error of SetRamp where none is configured.
var ErrNoRamp = errors.New("no ramp is configured: set ramp.steps")

// SetRamp ends the ramp at the rate that it has reached, as setting a rate does, or has it go on: from the highest step that
// is not above the present rate, or else from the first. It fails with ErrNoRamp.
func (p *Proxy) SetRamp(on bool) (Shadowing, error) {
	p.change.Lock()
	defer p.change.Unlock()
	now, cfg := *p.shadowing.Load(), &p.setup.Load().cfg
	switch {
	case len(cfg.Ramp.Steps) == 0:
		return now.Shadowing, ErrNoRamp
	case !on:
		now.set = true
		p.shadowing.Store(&now)
	case now.set:
		now.set, now.step = false, cfg.Ramp.at(now.Sample)
		p.step(&now, cfg)
	}
	return now.Shadowing, nil
}

// RampMark is the step that the ramp has reached, for RestoreRamp in the next process; empty where there is no ramp, or where
// it has ended.
func (p *Proxy) RampMark() string {
	p.change.Lock()
	defer p.change.Unlock()
	now, cfg := p.shadowing.Load(), &p.setup.Load().cfg
	if now.set || len(cfg.Ramp.Steps) == 0 {
		return ""
	}
	return now.Sample.String() + " " + cfg.Candidate
}

// RestoreRamp has the ramp go on from a mark, at the highest step that is not above it. It does nothing, and answers false,
// where the mark is of another candidate, where there is no ramp, or where the rate was set by hand.
func (p *Proxy) RestoreRamp(mark string) bool {
	text, candidate, _ := strings.Cut(mark, " ")
	reached, ok := parseShare(text)
	p.change.Lock()
	defer p.change.Unlock()
	now, cfg := *p.shadowing.Load(), &p.setup.Load().cfg
	if !ok || candidate != cfg.Candidate || now.set || len(cfg.Ramp.Steps) == 0 {
		return false
	}
	now.step = cfg.Ramp.at(reached)
	p.step(&now, cfg)
	return true
}
