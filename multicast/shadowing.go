package multicast

// Shadowing is the switch and the default rate.
type Shadowing struct {
	Enabled bool  `json:"enabled"`
	Sample  Share `json:"sample"` // marshals as "1%"
}

// shadowing is what every request looks at; it is replaced whole.
type shadowing struct {
	Shadowing
	set      bool // the rate was, by SetShadowing
	guarded  bool // the guard has paused it
	step     int  // of the ramp, from 0
	possible bool // there is a candidate
	running  bool // Run runs
}

func (s *shadowing) on() bool { return s.Enabled && s.running && s.possible }

// Shadowing returns the switch and the rate in force.
func (p *Proxy) Shadowing() Shadowing { return p.shadowing.Load().Shadowing }

// SetShadowing sets the switch and the default rate; nil leaves either as it is. A rate ends the ramp. It takes effect at
// once: with the switch off, what waits is dropped, what is in flight is cancelled, and nothing more is asked. It returns
// what is now in force.
func (p *Proxy) SetShadowing(enabled *bool, sample *Share) Shadowing {
	p.change.Lock()
	defer p.change.Unlock()
	next := *p.shadowing.Load()
	if enabled != nil {
		next.Enabled = *enabled
	}
	if sample != nil {
		next.Sample, next.set = min(*sample, Whole), true
	}
	p.shadowing.Store(&next)
	p.dispatcher.turn(next.Enabled)
	return next.Shadowing
}

func (p *Proxy) setGuarded(guarded bool) {
	if p.shadowing.Load().guarded == guarded { // the guard alone sets it
		return
	}
	p.change.Lock()
	defer p.change.Unlock()
	next := *p.shadowing.Load()
	next.guarded = guarded
	p.shadowing.Store(&next)
}

func (p *Proxy) setRunning(running bool) {
	p.change.Lock()
	defer p.change.Unlock()
	next := *p.shadowing.Load()
	next.running = running
	p.shadowing.Store(&next)
}
