package web

import (
	"sync"
	"time"

	"shadowdiff/store"
)

const (
	recentStep   = 2 * time.Second
	recentSpan   = 10 * time.Minute
	recentRoutes = 100 // followed one by one; the others only in the total
)

// recent remembers the totals of the snapshots that went by, so that the first minutes of a run can be drawn in steps of
// seconds: the store keeps minutes. The zero recent is ready.
type recent struct {
	mu   sync.Mutex
	run  int64
	seen []glance // oldest first
}

// glance is what one snapshot had counted, by route; the empty route is the total.
type glance struct {
	at     time.Time
	counts map[string]glanced
}

type glanced struct{ compared, raw, noise int64 }

// see adds a snapshot, if it is newer than the last by a step.
func (r *recent) see(snap *store.Snapshot) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.run != snap.Run.ID {
		r.run, r.seen = snap.Run.ID, nil
	}
	if n := len(r.seen); n > 0 && snap.Time.Sub(r.seen[n-1].at) < recentStep {
		return
	}
	if snap.Tallies.Total.Compared == 0 {
		return
	}
	total := &snap.Tallies.Total
	g := glance{at: snap.Time, counts: map[string]glanced{"": {total.Compared, total.Raw, total.Noise}}}
	for _, t := range snap.Tallies.Routes[:min(len(snap.Tallies.Routes), recentRoutes)] {
		g.counts[t.Route] = glanced{t.Compared, t.Raw, t.Noise}
	}
	r.seen = append(r.seen, g)
	for len(r.seen) > 1 && snap.Time.Sub(r.seen[0].at) > recentSpan {
		r.seen = r.seen[1:]
	}
}

// points are the steps of one route since the first request of the run, or none when what was seen begins too late to
// tell of most of it.
func (r *recent) points(route string, first time.Time) []store.Point {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.seen) < 3 || r.seen[0].at.Sub(first) > r.seen[len(r.seen)-1].at.Sub(r.seen[0].at) {
		return nil
	}
	var points []store.Point
	var before glanced
	for _, g := range r.seen {
		now, known := g.counts[route]
		if !known {
			continue
		}
		if now.compared > before.compared {
			points = append(points, store.Point{
				Minute: g.at.Truncate(time.Second), Span: recentStep, Compared: now.compared - before.compared,
				Raw: now.raw - before.raw, Noise: now.noise - before.noise,
			})
		}
		before = now
	}
	return points
}
