package multicast

import "time"

// pace spreads out the beginnings of exchanges that have waited. Legs that begin in one instant end in one instant, and
// what waits begins then: without a pace, slow shadows make bursts that never dissolve, and a client whose request falls
// into one waits for the processor. The dispatcher's mu guards it.
type pace struct {
	took  [3]time.Duration // a leg's time by role, smoothed
	next  time.Time        // nothing that has waited begins before
	timer *time.Timer      // calls pump
	rings time.Time        // when the timer does, or did
}

// landed takes note of how long a leg took.
func (p *pace) landed(role Role, took time.Duration) {
	const smooth = 16 // legs that a change takes to show, about
	p.took[role] += (took - p.took[role]) / smooth
}

const (
	// paceShortest is the gap below which a pace is not worth a timer.
	paceShortest = 100 * time.Microsecond
	// paceLongest is the gap that is enough for any burst. A longer one would only keep what waits from shadows that have
	// become fast again.
	paceLongest = 5 * time.Millisecond
)

// gap is half of what keeps every place taken: so the pace spreads a burst, and never leaves a place empty for long.
func (d *dispatcher) gap(roles []Role) time.Duration {
	var gap time.Duration
	for _, role := range roles {
		gap = max(gap, d.pace.took[role]/time.Duration(2*max(1, d.room[role])))
	}
	return min(gap, paceLongest)
}

// early reports whether what waits is to wait on for the pace, and sees to it that it begins then. The caller holds mu.
func (d *dispatcher) early(now time.Time) bool {
	wait := d.pace.next.Sub(now)
	switch {
	case wait <= 0:
		return false
	case d.pace.rings.Equal(d.pace.next): // it has been set before, and each leg that ends comes by here
		return true
	case d.pace.timer == nil:
		d.pace.timer = time.AfterFunc(wait, d.resume)
	default:
		d.pace.timer.Reset(wait)
	}
	d.pace.rings = d.pace.next
	return true
}

// step notes that something that has waited begins. The caller holds mu.
func (d *dispatcher) step(roles []Role, now time.Time) {
	if gap := d.gap(roles); gap >= paceShortest {
		d.pace.next = now.Add(gap)
	}
}

// stop ends the wait for the pace, when nothing waits any more.
func (p *pace) stop() {
	if p.timer != nil {
		p.timer.Stop()
		p.rings = time.Time{}
	}
}

// resume goes on after a wait for the pace.
func (d *dispatcher) resume() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pump()
}
