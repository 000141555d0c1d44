package diff

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// Judge turns one run's counts into its verdict, and returns what is confirmed by these counts and was not before: the
// caller hands that to Tally.Confirm, so that it stays. It is a function of its arguments alone. Who judges again and
// again uses a Watch.
func Judge(t *Tallies, cfg Config) (*Verdict, []Confirmed) { return NewWatch(cfg).judge(t, -1) }

// Watch judges the same run again and again and remembers what has not changed since. Word, reasons and confirmations
// are those of Judge; only the interval of a difference that is not confirmed, and so decides nothing, may be that of a
// little earlier, or −1 to 1 for some seconds where there are many thousands. It is not safe for concurrent use.
type Watch struct {
	cfg    Config
	bets   *mixture
	routes map[string]*routeStanding
	now    int32 // the minute that the run has come to
	spare  int   // intervals that may still be computed in this call; below 0: any number
	first  int   // the route to begin with, so that all get their turn
}

// NewWatch returns a Watch that has seen nothing.
func NewWatch(cfg Config) *Watch {
	cfg.Alpha = cfg.spending()
	return &Watch{cfg: cfg, bets: newMixture(), routes: map[string]*routeStanding{}}
}

// Judge is Judge for the next state of the run.
func (w *Watch) Judge(t *Tallies) (*Verdict, []Confirmed) { return w.judge(t, refreshed) }

func (w *Watch) judge(t *Tallies, spare int) (*Verdict, []Confirmed) {
	w.now = minuteOf(t.Total.Last)
	standings := w.standings(t, spare)
	all := &scope{watch: w, row: &t.Total, whole: true, paused: t.Paused, awaited: t.Awaited, stale: t.Stale, worse: worsened(t)}
	owes := all.owes()
	latency, transport := w.latency(&t.Total, t.Total.Last), w.transport(t)
	fresh, orders := slices.Concat(latency.fresh, transport.fresh), latency.orders
	for _, s := range standings {
		fresh = append(fresh, s.fresh...)
		orders = max(orders, s.orders)
	}
	least := leastToConfirm(w.cfg.Alpha, orders+1)
	routes := make([]*Verdict, len(standings))
	for i, s := range standings {
		routes[i] = s.judge(least, owes)
		all.include(s)
	}
	all.addTransport(transport)
	v := all.verdict(latency)
	v.Routes = routes
	return v, fresh
}

// standings brings every route up to date. It begins where the last call had no more intervals to spare.
func (w *Watch) standings(t *Tallies, spare int) []*routeStanding {
	fields := make([][]*FieldTally, len(t.Routes))
	rest := t.Fields
	for i, row := range t.Routes {
		n := 0
		for n < len(rest) && rest[n].Route == row.Route {
			n++
		}
		fields[i], rest = rest[:n], rest[n:]
	}
	w.spare = spare
	list, first := make([]*routeStanding, len(t.Routes)), w.first
	for k := range list {
		i, before := (first+k)%len(list), w.spare
		list[i] = w.route(t.Routes[i], fields[i], t.Total.Last)
		if before != 0 && w.spare == 0 { // in the middle of this route, which is then first, or at the end of it
			w.first = i
			if k == 0 {
				w.first++
			}
		}
	}
	w.forget(t)
	return list
}

// forget drops what is known of routes that were merged into others.
func (w *Watch) forget(t *Tallies) {
	if len(w.routes) <= len(t.Routes) {
		return
	}
	maps.DeleteFunc(w.routes, func(name string, _ *routeStanding) bool {
		_, found := slices.BinarySearchFunc(t.Routes, name, func(r *RouteTally, name string) int { return strings.Compare(r.Route, name) })
		return !found
	})
}

// routeStanding is one route as it was last judged.
type routeStanding struct {
	scope
	fields  []*standing // in the order of the tallies
	byField map[string]*standing
	latency *standing
	fresh   []Confirmed
	orders  int   // the highest j in use
	open    int32 // the first minute of the route's own results that is not over, as it was judged
	least   int64
	last    *Verdict // nil when something changed since
}

// route brings a route's standing up to date.
func (w *Watch) route(row *RouteTally, fields []*FieldTally, at time.Time) *routeStanding {
	s := w.routes[row.Route]
	if s == nil {
		s = &routeStanding{byField: map[string]*standing{}}
		w.routes[row.Route] = s
	}
	changed := s.row != row || len(s.fields) != len(fields) || s.open < w.now
	s.fields = s.fields[:0]
	for _, f := range fields {
		st := s.byField[f.Field]
		if st == nil {
			st = &standing{}
			s.byField[f.Field] = st
		}
		changed = w.field(st, f, row, at) || changed
		s.fields = append(s.fields, st)
	}
	if changed {
		s.refresh(w, row, at)
	}
	return s
}

// refresh gathers from the fields what the route's verdict is made of.
func (s *routeStanding) refresh(w *Watch, row *RouteTally, at time.Time) {
	s.scope = scope{watch: w, row: row}
	s.last, s.fresh, s.orders = nil, nil, max(row.Order, row.Latency.Order)
	s.open = min(row.Minutes.open(w.now), row.Latency.Minutes.open(w.now))
	for _, st := range s.fields {
		s.add(st)
		s.orders = max(s.orders, st.orders)
		s.fresh = append(s.fresh, st.fresh...)
	}
	s.latency = w.latency(row, at)
	s.add(s.latency)
	s.fresh = append(s.fresh, s.latency.fresh...)
}

// judge returns the route's verdict, the last one if nothing changed. owes tells that the run has lost too much of which
// nobody knows the route.
func (s *routeStanding) judge(least int64, owes bool) *Verdict {
	if s.last != nil && (s.row.Judged() < least) == (s.row.Judged() < s.least) && s.owed == owes {
		return s.last
	}
	s.least, s.owed = least, owes
	s.few = s.row.Judged() < least
	s.last = s.verdict(s.latency)
	return s.last
}
