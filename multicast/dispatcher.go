package multicast

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// dispatcher decides when the shadows of a flight are asked: at once if each has room, else in the order of arrival, and
// not at all when the queue is full. The pair is the unit: both are asked or neither. Nothing in it blocks.
type dispatcher struct {
	proxy *Proxy

	mu      sync.Mutex // guards what follows; a flight's mu may be taken while it is held, never the other way round
	limit   int        // most flights that wait
	ahead   int64      // most exchanges that wait for the comparers; beyond it no shadow is asked
	room    [3]int     // by role, when none is asked
	running bool       // between Run's begin and the end of its context
	enabled bool       // the switch
	held    time.Time  // until then no shadow is asked: file descriptors are scarce
	free    [3]int     // what is left of the room; below 0 after it was made smaller
	waiting []*flight
	pace    pace
	asked   map[*flight]struct{} // and not delivered yet
	quiet   chan struct{}        // closed when the last one is delivered after running ended
	legs    sync.WaitGroup
}

// offer takes a flight whose request is whole.
func (d *dispatcher) offer(f *flight) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.expire()
	now := time.Now()
	switch {
	case !d.running || !d.enabled:
		f.drop(ReasonDisabled)
	case now.Before(d.held):
		f.drop(ReasonQueue)
	case !d.passes(f, now):
		d.spare(f, now)
	case len(d.waiting) == 0 && d.ready(f.setup.roles):
		d.start(f)
	case len(d.waiting) < d.limit && f.wait():
		d.waiting = append(d.waiting, f)
	default:
		f.drop(ReasonQueue)
	}
}

// wait makes the flight one that waits; it answers false if it has ended.
func (f *flight) wait() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.phase != travelling {
		return false
	}
	f.phase, f.waiting = queued, time.Now()
	return true
}

// ready reports whether every shadow has room. The caller holds mu.
func (d *dispatcher) ready(roles []Role) bool {
	for _, role := range roles {
		if d.free[role] <= 0 {
			return false
		}
	}
	return d.proxy.comparers.load.Load() < d.ahead
}

// start asks the shadows. The caller holds mu.
func (d *dispatcher) start(f *flight) {
	roles := f.setup.roles
	if !f.begin(len(roles)) {
		return
	}
	for _, role := range roles {
		d.free[role]--
		f.setup.shadows[role].circuit.ask(f)
	}
	d.asked[f] = struct{}{}
	d.legs.Add(len(roles))
	f.ask(roles)
}

// pump starts what may start, and drops what comes to a paused shadow. The caller holds mu.
func (d *dispatcher) pump() {
	for d.expire(); len(d.waiting) > 0; d.expire() { // each has a time of its own
		f := d.waiting[0]
		now := time.Now()
		passes := d.passes(f, now)
		if passes && (!d.ready(f.setup.roles) || d.early(now)) {
			return
		}
		d.shift()
		if passes {
			d.step(f.setup.roles, now)
			d.start(f)
		} else {
			d.spare(f, now)
		}
	}
}

// expire drops what has waited for longer than its shadows would be given. The caller holds mu.
func (d *dispatcher) expire() {
	for len(d.waiting) > 0 && time.Since(d.waiting[0].waiting) > d.waiting[0].route.longest() {
		d.waiting[0].drop(ReasonQueue)
		d.shift()
	}
}

// shift takes the first out of the queue. The caller holds mu.
func (d *dispatcher) shift() {
	d.waiting[0] = nil
	d.waiting = d.waiting[1:]
}

// release gives back the room of one leg, which has ended so.
func (d *dispatcher) release(f *flight, role Role, outcome Outcome, took time.Duration) {
	shadow := f.setup.shadows[role]
	d.mu.Lock()
	d.free[role]++
	d.pace.landed(role, took)
	turned := shadow.circuit.landed(f, outcome, time.Now())
	now := shadow.circuit.read()
	d.pump()
	d.mu.Unlock()
	if turned {
		shadow.turned(now, outcome)
	}
}

// remove takes a flight that has ended out of the queue.
func (d *dispatcher) remove(f *flight) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if i := slices.Index(d.waiting, f); i >= 0 {
		d.waiting = slices.Delete(d.waiting, i, i+1)
	}
}

// delivered forgets an exchange for good.
func (d *dispatcher) delivered(f *flight) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.asked, f)
	d.pump()
	d.hush()
}

// hush tells Run that nothing is left. The caller holds mu.
func (d *dispatcher) hush() {
	if !d.running && len(d.asked) == 0 && d.quiet != nil {
		close(d.quiet)
		d.quiet = nil
	}
}

func (d *dispatcher) queued() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.waiting)
}

// late is how long the candidate may take before it counts as one that is waited for.
const late = time.Second

// awaited counts the exchanges in which only the candidate is waited for, and has been for some time.
func (d *dispatcher) awaited() (n int64) {
	before := time.Now().Add(-late)
	d.mu.Lock()
	defer d.mu.Unlock()
	for f := range d.asked {
		if f.awaits(before) {
			n++
		}
	}
	return n
}

// run lets flights be offered.
func (d *dispatcher) run() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.running = true
}

// stop takes no more flights and drops those that wait; the channel is closed when the last exchange was delivered.
func (d *dispatcher) stop() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.running = false
	d.dropWaiting(ReasonDisabled)
	quiet := make(chan struct{})
	d.quiet = quiet
	d.hush()
	return quiet
}

// turn switches shadowing on, or off: then what waits is dropped and what is in flight cancelled.
func (d *dispatcher) turn(on bool) {
	d.mu.Lock()
	d.enabled = on
	if !on {
		d.dropWaiting(ReasonDisabled)
	}
	d.mu.Unlock()
	if !on {
		d.failAll(ReasonCancelled)
	}
}

// dropWaiting empties the queue. The caller holds mu.
func (d *dispatcher) dropWaiting(reason Reason) {
	for _, f := range d.waiting {
		f.drop(reason)
	}
	d.waiting = nil
	d.pace.stop()
}

// failAll ends every exchange that is not delivered yet.
func (d *dispatcher) failAll(reason Reason) {
	d.mu.Lock()
	asked := slices.Collect(maps.Keys(d.asked))
	d.mu.Unlock()
	for _, f := range asked {
		f.fail(reason)
	}
}

// resize takes over the limits of another configuration.
func (d *dispatcher) resize(cfg *ShadowConfig, roles []Role, rooms [3]int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(roles) == 0 {
		return // what waits came under a setup with shadows, and keeps its limits
	}
	d.limit, d.ahead = cfg.Queue, 0
	for _, role := range roles {
		room := rooms[role]
		d.free[role] += room - d.room[role]
		d.room[role] = room
		d.ahead = max(d.ahead, int64(room+d.limit))
	}
	d.pump()
}
