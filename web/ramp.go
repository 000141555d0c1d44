package web

import (
	"context"
	"fmt"
	"time"

	"shadowdiff/multicast"
)

// keyRamp is the setting under which the ramp's step is kept, in the proxy's own words.
const keyRamp = "ramp.step"

// shadowingAnswer is the switch and the rate, and what moves or pauses them by itself where that is configured.
type shadowingAnswer struct {
	multicast.Shadowing
	Guard   *multicast.Guard `json:"guard,omitempty"`
	Ramp    *multicast.Ramp  `json:"ramp,omitempty"`
	Warning string           `json:"warning,omitempty"` // a change could not be kept
}

func (s *Server) shadowingNow() shadowingAnswer {
	p := s.deps.Proxy
	return shadowingAnswer{Shadowing: p.Shadowing(), Guard: p.Guard(), Ramp: p.Ramp()}
}

// keepsWithin is how long a decision of the guard or the ramp waits for the store.
const keepsWithin = 5 * time.Second

// Turned keeps what the guard and the ramp have decided by themselves: among the activity, and the step over restarts. It is
// multicast.Deps.Turned.
func (s *Server) Turned(turn multicast.Turn) {
	ctx, cancel := context.WithTimeout(context.Background(), keepsWithin)
	defer cancel()
	if err := s.deps.DB.LogActivity(ctx, turn.By, "shadowing", turn.Text); err != nil {
		s.deps.Log.Error("a decision could not be written down", "by", turn.By, "err", err)
	}
	s.switching.Lock()
	defer s.switching.Unlock()
	if err := s.keepRamp(ctx); err != nil {
		s.deps.Log.Error("the ramp's step could not be kept: a restart would forget it", "err", err)
	}
}

// keepRamp keeps the step that the ramp has reached, where there is one. The caller holds switching.
func (s *Server) keepRamp(ctx context.Context) error {
	mark := s.deps.Proxy.RampMark()
	if mark == "" {
		return nil
	}
	return s.deps.DB.SaveSetting(ctx, keyRamp, mark)
}

// restoreRamp has the ramp go on from the step that was kept.
func (s *Server) restoreRamp(ctx context.Context) error {
	mark, err := s.setting(ctx, keyRamp)
	if err != nil || mark == "" {
		return err
	}
	if s.deps.Proxy.RestoreRamp(mark) {
		s.deps.Log.Info("ramp restored", "sample", shareText(s.deps.Proxy.Shadowing().Sample))
	}
	return nil
}

// applyRamp ends the ramp or has it go on, and keeps which: a rate that is kept is one that was set by hand. The caller
// holds switching.
func (s *Server) applyRamp(ctx context.Context, on bool) []error {
	state, err := s.deps.Proxy.SetRamp(on)
	if err != nil {
		return []error{err}
	}
	rate := ""
	if !on {
		rate = shareText(state.Sample)
	}
	return []error{s.deps.DB.SaveSetting(ctx, keySample, rate), s.keepRamp(ctx)}
}

// rampTold tells what became of the ramp, for the record of activity.
func rampTold(before, after *multicast.Ramp) string {
	ended := func(r *multicast.Ramp) bool { return r != nil && r.State == multicast.RampEnded }
	switch {
	case ended(after) && !ended(before):
		return "ramp ended"
	case ended(before) && after != nil && !ended(after):
		return fmt.Sprintf("ramp goes on at step %d of %d", after.Step, len(after.Steps))
	}
	return ""
}

// guardRow and rampRow are lines of the page's state.
func guardRow(g *multicast.Guard) stateRow {
	row := stateRow{Name: "guard", Word: "quiet"}
	for _, l := range g.Limits {
		if row.Text != "" {
			row.Text += "; "
		}
		row.Text += limitText(l)
	}
	row.Text += "."
	if g.Paused {
		row.Word, row.Bad, row.At = "paused", true, *g.Since
		row.Text = g.Reason + ". No shadow is asked until all has been within its limits for a minute. Since"
	}
	return row
}

func limitText(l multicast.GuardLimit) string {
	if l.Value == "" {
		return fmt.Sprintf("%s: too few requests to tell, limit %s", l.Name, l.At)
	}
	return fmt.Sprintf("%s %s, limit %s", l.Name, l.Value, l.At)
}

func rampRow(r *multicast.Ramp) stateRow {
	row := stateRow{Name: "ramp", Word: r.State}
	if r.Step == 0 {
		row.Text = `The rate was set by hand, which ended the ramp. PUT {"ramp": true} to /api/v1/shadowing has it go on.`
		return row
	}
	row.Text = fmt.Sprintf("Step %d of %d, %s; %s.", r.Step, len(r.Steps), r.Steps[r.Step-1], r.Text)
	return row
}

// guarded is the notice of a pause, on every page.
func guarded(g *multicast.Guard) []notice {
	if g == nil || !g.Paused {
		return nil
	}
	return []notice{{
		Before: "The guard has paused shadowing since", At: *g.Since,
		After: fmt.Sprintf(": %s. It goes on by itself after a minute of calm; requests meanwhile are skipped as “guard”.", g.Reason),
	}}
}
