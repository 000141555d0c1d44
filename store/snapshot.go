package store

import (
	"maps"
	"slices"
	"time"

	"shadowdiff/diff"
	"shadowdiff/multicast"
)

// Snapshot is the state after one flush. It is immutable: a page rendered from it agrees with itself.
type Snapshot struct {
	Version  uint64 // grows with every flush that changed something
	Time     time.Time
	Run      Run // zero before the first StartRun
	Tallies  *diff.Tallies
	Verdict  *diff.Verdict    // of the whole run, with its Findings' Samples filled in
	Counters multicast.Counts // the run's own: what the proxy counted while it was in force, over restarts

	samples map[string]map[string][]int64 // by route and field
	judge   diff.Config                   // of the verdict, for the first attempt at a name
}

// SampleIDs returns the samples to look at first for a field of a route, the most telling first, ten at most; the first
// of them is not displaced by what merely comes later. With an empty field they are exchanges of the route in which
// nothing differed; with an empty route they are of all routes, the most telling one of each first.
func (s *Snapshot) SampleIDs(route, field string) []int64 {
	return slices.Clone(idsOf(s.samples, route, field))
}

func idsOf(samples map[string]map[string][]int64, route, field string) (ids []int64) {
	if route != "" {
		return samples[route][field]
	}
	routes := slices.Sorted(maps.Keys(samples))
	for rank := range telling {
		for _, route := range routes {
			if own := samples[route][field]; rank < len(own) && len(ids) < telling {
				ids = append(ids, own[rank])
			}
		}
	}
	return ids
}

// Snapshot returns the latest one, never nil.
func (db *DB) Snapshot() *Snapshot { return db.snapshot.Load() }

// publish makes the state of the run in force the latest snapshot, has the other runs in memory show theirs, and wakes the
// watchers. It is called with flushing held, and by Open.
func (db *DB) publish() {
	db.showing.Lock()
	defer db.showing.Unlock()
	s := &Snapshot{Version: 1, Time: time.Now().UTC(), Tallies: &diff.Tallies{}, judge: db.deps.Judge}
	if before := db.snapshot.Load(); before != nil {
		s.Version = before.Version + 1
	}
	now := db.ledgers.current()
	if now != nil {
		now.show(s)
	} else {
		s.Verdict, _ = diff.Judge(s.Tallies, db.deps.Judge)
	}
	for _, l := range db.ledgers.all() {
		if l != now && l.news() {
			own := &Snapshot{Version: s.Version, Time: s.Time, judge: s.judge}
			l.show(own)
			l.shown.Store(own)
		}
	}
	db.snapshot.Store(s)
	db.watchers.wake(s.Version)
}

// show fills a snapshot with the run's state.
func (l *ledger) show(s *Snapshot) {
	s.Run, s.Tallies, s.Counters = l.run, l.tallies, l.counters.total
	s.samples = l.sampleIDs()
	s.Verdict = l.filled()
	l.seen = seen{l.verdict, l.run}
	l.profiles.show()
}

// filledRoute is a route's verdict with the samples of its findings, and the one that it was made of.
type filledRoute struct{ from, verdict *diff.Verdict }

// filled is the verdict with the samples of its findings. What is said of a route that has not changed, and of which no
// sample has come or gone, is that of the snapshot before.
func (l *ledger) filled() *diff.Verdict {
	if l.verdict == nil {
		return nil
	}
	v := sampled(l.verdict, l.ids)
	routes := make(map[string]filledRoute, len(l.verdict.Routes))
	v.Routes = make([]*diff.Verdict, len(l.verdict.Routes))
	for i, from := range l.verdict.Routes {
		one := l.routes[*from.Route]
		if one.from != from {
			one = filledRoute{from, sampled(from, l.ids)}
		}
		routes[*from.Route], v.Routes[i] = one, one.verdict
	}
	l.routes = routes
	return v
}

// seen is of what the last snapshot was made.
type seen struct {
	verdict *diff.Verdict
	run     Run
}

// news tells whether a run that is not in force is no longer what its last snapshot shows.
func (l *ledger) news() bool {
	return l.shown.Load() == nil || l.seen != seen{l.verdict, l.run} || l.shelfChanged()
}

// sampleIDs brings the ids of the routes that changed up to date; the others are shared with the snapshot before.
func (l *ledger) sampleIDs() map[string]map[string][]int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	var next map[string]map[string][]int64
	for route, s := range l.shelf.routes {
		if !s.changed {
			continue
		}
		s.changed = false
		if next == nil {
			next = maps.Clone(l.ids)
		}
		next[route] = s.ids()
		delete(l.routes, route)
	}
	if next != nil {
		l.ids = next
	}
	return l.ids
}

// shelfChanged tells that the ids of some route are not those last published.
func (l *ledger) shelfChanged() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.shelf.routes {
		if s.changed {
			return true
		}
	}
	return false
}

// withSamples copies a verdict and those of its routes with the samples of their findings.
func withSamples(v *diff.Verdict, samples map[string]map[string][]int64) *diff.Verdict {
	filled := sampled(v, samples)
	filled.Routes = make([]*diff.Verdict, len(v.Routes))
	for i, route := range v.Routes {
		filled.Routes[i] = sampled(route, samples)
	}
	return filled
}

// sampled copies a verdict with the samples of its findings: the judge may hand out the same one again.
func sampled(v *diff.Verdict, samples map[string]map[string][]int64) *diff.Verdict {
	filled := *v
	filled.Differences = slices.Clone(v.Differences)
	for i := range filled.Differences {
		f := &filled.Differences[i]
		f.Samples = idsOf(samples, f.Route, f.Field)
		if f.Samples == nil {
			f.Samples = []int64{} // "samples": []
		}
	}
	return &filled
}
