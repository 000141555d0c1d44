package multicast

import (
	"log/slog"
	"time"
)

// circuit spares a shadow that is down, and the exchanges that it would spoil. After so many failures running the shadow is
// paused; at the end of the pause one exchange tries it, and either ends the pause or begins a longer one.
//
//	closed ──failures──► open ──pause──► open, one exchange tries ──ok──► closed
//	                       ▲                              │ fails
//	                       └───────────twice as long──────┘
//
// The dispatcher's mu guards it.
type circuit struct {
	failures int           // running
	pause    time.Duration // of this time; 0: closed
	until    time.Time     // the end of the pause
	trial    *flight       // asked after it; nil: none is under way
}

// The numbers of the circuit.
const (
	circuitFailures = 20
	circuitPause    = 5 * time.Second
	circuitLongest  = 60 * time.Second
)

// passes reports whether a shadow may be asked now.
func (c *circuit) passes(now time.Time) bool {
	return c.pause == 0 || c.trial == nil && !now.Before(c.until)
}

// ask notes that f is asked.
func (c *circuit) ask(f *flight) {
	if c.pause > 0 {
		c.trial = f
	}
}

// landed takes the outcome of a leg and answers true when that has opened or closed the circuit. While it is open only the
// trial counts: what was asked before may take long to fail.
func (c *circuit) landed(f *flight, outcome Outcome, now time.Time) (turned bool) {
	trial := c.trial == f
	if trial {
		c.trial = nil
	}
	if c.pause > 0 && !trial {
		return false
	}
	switch outcome {
	case OutcomeOK, OutcomeOversize:
		turned = c.pause > 0
		c.failures, c.pause = 0, 0
	case OutcomeDial, OutcomeTimeout, OutcomeReset, OutcomeProtocol:
		if c.failures++; c.failures >= circuitFailures {
			turned = c.pause == 0
			c.pause = min(max(2*c.pause, circuitPause), circuitLongest)
			c.until = now.Add(c.pause)
		}
	}
	return turned
}

// Circuit is the state of one shadow's circuit.
type Circuit struct {
	State    string     `json:"state"`           // "closed", "open", or "trial": one exchange is trying it
	Failures int        `json:"failures"`        // running
	Until    *time.Time `json:"until,omitempty"` // when a shadow that is paused will be tried
}

func (c *circuit) read() Circuit {
	state := Circuit{State: "closed", Failures: c.failures}
	switch {
	case c.trial != nil:
		state.State = "trial"
	case c.pause > 0:
		until := c.until
		state.State, state.Until = "open", &until
	}
	return state
}

// passes reports whether every shadow of the flight may be asked now. The caller holds mu.
func (d *dispatcher) passes(f *flight, now time.Time) bool {
	for _, role := range f.setup.roles {
		if !f.setup.shadows[role].circuit.passes(now) {
			return false
		}
	}
	return true
}

// spare drops a flight that does not pass, and counts it for each shadow that is paused. The caller holds mu.
func (d *dispatcher) spare(f *flight, now time.Time) {
	if !f.drop(ReasonCircuit) {
		return
	}
	for _, role := range f.setup.roles {
		if !f.setup.shadows[role].circuit.passes(now) {
			d.proxy.counters.legs[role].paused.Add(1)
		}
	}
}

// turned says that a circuit has opened or closed. No lock is held: a log may be slow.
func (s *shadow) turned(now Circuit, outcome Outcome) {
	log := s.complain.log
	if now.Until == nil {
		log.Info("shadow answers again", slog.String("role", s.role.String()))
		return
	}
	log.Warn("shadow fails and is paused", slog.String("role", s.role.String()), slog.Int("failures", now.Failures),
		slog.String("outcome", string(outcome)), slog.Duration("duration", circuitPause))
}

// circuits reads the circuits of a setup.
func (d *dispatcher) circuits(s *setup) map[string]Circuit {
	d.mu.Lock()
	defer d.mu.Unlock()
	circuits := make(map[string]Circuit, len(s.roles))
	for _, role := range s.roles {
		circuits[role.String()] = s.shadows[role].circuit.read()
	}
	return circuits
}
