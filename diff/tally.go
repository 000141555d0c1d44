package diff

import (
	"strings"

	"shadowdiff/normalize"
)

// Other is the route, or the field of a route, under which everything beyond the caps is counted.
const Other = "(other)"

const (
	maxRoutes      = 1_000   // beside those of the configuration that come later
	maxRouteFields = 2_000   // of one route
	maxFields      = 200_000 // of all routes together: some 100 MB
)

const (
	fieldLatency   = string(normalize.FieldLatency)
	fieldStatus    = string(normalize.FieldStatus)
	fieldTransport = string(normalize.FieldTransport)
)

// Tally accumulates one run's counts. Its memory grows with what differs, up to 1,000 routes and those that are configured,
// 2,000 differing fields a route and 200,000 in all, never with the number of requests. It is not safe for concurrent use;
// what Cut returns is.
type Tally struct {
	total     RouteTally
	transport TestTally // of all routes together
	paused    int64
	awaited   int64
	stale     Stale
	routes    rows[RouteTally]
	fields    rows[FieldTally]
	byRoute   map[string]*routeRow
	nFields   int
	nRoutes   int
	lastOrder int // j given out last
	last      *Tallies
	changed   bool
}

// routeRow is where one route's counts are.
type routeRow struct {
	*row[RouteTally]
	fields map[string]*row[FieldTally]
}

// NewTally continues from the counts that a former Tally has handed out; nil begins at nothing.
func NewTally(from *Tallies) *Tally {
	if from == nil {
		from = &Tallies{}
	}
	t := &Tally{total: *from.Total.clone(), paused: from.Paused, stale: from.Stale, byRoute: map[string]*routeRow{}, changed: true}
	t.transport.Minutes, t.transport.Confirmed = from.Transport.Minutes, from.Transport.Confirmed
	t.routes = rows[RouteTally]{order: compareRoutes, copy: (*RouteTally).clone}
	t.fields = rows[FieldTally]{order: CompareFields, copy: (*FieldTally).clone}
	t.routes.restore(from.Routes)
	t.fields.restore(from.Fields)
	t.lastOrder = t.total.Latency.Order
	for _, r := range t.routes.sorted {
		t.byRoute[r.now.Route] = &routeRow{r, map[string]*row[FieldTally]{}}
		t.lastOrder = max(t.lastOrder, r.now.Order, r.now.Latency.Order)
	}
	t.nRoutes, t.nFields = len(t.routes.sorted), len(t.fields.sorted)
	for _, f := range t.fields.sorted {
		t.route(f.now.Route, true).fields[f.now.Field] = f
		if f.now.Field == fieldTransport {
			t.transport.Merge(f.now.Tests[TestPresence].Counts)
		}
		for i := range f.now.Tests {
			t.lastOrder = max(t.lastOrder, f.now.Tests[i].Order)
		}
	}
	return t
}

// Add counts one comparison. Hypotheses are numbered in the order in which they show their first discordant request:
// which of the two shadows it was on has no part in that. It answers the route under which the comparison is counted: its
// own, or Other.
func (t *Tally) Add(c *Comparison) (route string) {
	t.changed = true
	counts := t.route(c.Route, c.Configured)
	r := t.routes.write(counts.row)
	r.Given = r.Given || c.Given
	if c.Unknown != "" {
		t.total.unknown(string(c.Unknown))
		r.unknown(string(c.Unknown))
		return r.Route
	}
	t.total.compared(c)
	t.number(&r.Order, r.compared(c))
	t.number(&t.total.Latency.Order, t.total.Latency.add(c.Latency, c.Time))
	t.number(&r.Latency.Order, r.Latency.add(c.Latency, c.Time))
	beyond := FieldComparison{Field: Other}
	for i := range c.Fields {
		fc := &c.Fields[i]
		if f := t.field(counts, r.Route, fc.Field); f != nil {
			t.addField(f, fc, c.Time)
			if fc.Field == fieldTransport {
				t.transport.add(minuteOf(c.Time), fc.Candidate > 0, fc.Control > 0)
			}
		} else {
			beyond.fold(fc)
		}
	}
	if beyond.Candidate > 0 || beyond.Control > 0 {
		t.addField(t.newField(counts, r.Route, Other), &beyond, c.Time)
	}
	return r.Route
}

// Knows tells whether a route has counts of its own.
func (t *Tally) Knows(route string) bool { return t.byRoute[route] != nil }

// KnowsField tells whether a field of a route has counts of its own.
func (t *Tally) KnowsField(route, field string) bool {
	r := t.byRoute[route]
	return r != nil && r.fields[field] != nil
}

// Pause notes how many exchanges of the run have been dropped, since it began, because the candidate was paused for its
// failures. It answers false when that is known.
func (t *Tally) Pause(exchanges int64) (changed bool) {
	changed = t.paused != exchanges
	t.paused = exchanges
	t.changed = t.changed || changed
	return changed
}

// Await notes in how many exchanges of the run only the candidate is waited for at present, and has been for a second: they
// are in no count yet, and what is slow to come is seldom like what has come. It answers false when that is known.
func (t *Tally) Await(exchanges int64) (changed bool) {
	changed = t.awaited != exchanges
	t.awaited = exchanges
	t.changed = t.changed || changed
	return changed
}

// Cease notes how often, since the run began, each shadow has ended a kept connection instead of answering. It answers
// false when that is known.
func (t *Tally) Cease(stale Stale) (changed bool) {
	changed = t.stale != stale
	t.stale = stale
	t.changed = t.changed || changed
	return changed
}

// Confirm marks what Judge has confirmed; what is confirmed already stays as it was, and what is not known is ignored.
func (t *Tally) Confirm(list []Confirmed) {
	for _, c := range list {
		confirmation := c.Confirmation
		route := t.byRoute[c.Route]
		switch {
		case c.Field == fieldLatency && c.Route == "":
			latch(&t.total.Latency.Confirmed, &confirmation)
		case c.Field == fieldTransport && c.Route == "":
			latch(&t.transport.Confirmed, &confirmation)
		case route == nil:
			continue
		case c.Field == fieldLatency:
			latch(&t.routes.write(route.row).Latency.Confirmed, &confirmation)
		case route.fields[c.Field] != nil && c.Test < tests:
			latch(&t.fields.write(route.fields[c.Field]).Tests[c.Test].Confirmed, &confirmation)
		default:
			continue
		}
		t.changed = true
	}
}

func latch(to **Confirmation, c *Confirmation) {
	if *to == nil {
		*to = c
	}
}

// Cut returns all counts as they stand, and of these the ones that changed since the last Cut; the first Cut of a Tally
// that was restored finds nothing changed but the total. Neither changes afterwards, and rows that did not change are
// shared with the last Cut, so that its cost is that of what changed.
func (t *Tally) Cut() (all, changed *Tallies) {
	if !t.changed {
		return t.last, &Tallies{Total: t.last.Total}
	}
	all, changed = &Tallies{Total: *t.total.clone(), Transport: t.transport, Paused: t.paused, Awaited: t.awaited, Stale: t.stale}, &Tallies{}
	changed.Total = all.Total
	all.Routes, changed.Routes = t.routes.cut()
	all.Fields, changed.Fields = t.fields.cut()
	t.last, t.changed = all, false
	return all, changed
}

// route finds or begins a route's counts. Beyond the cap it is Other, unless the route is to have its own all the same.
func (t *Tally) route(name string, own bool) *routeRow {
	if r := t.byRoute[name]; r != nil {
		return r
	}
	if t.nRoutes >= maxRoutes && name != Other && !own {
		return t.route(Other, true)
	}
	name = strings.Clone(name) // not to keep a whole request alive
	r := &routeRow{t.routes.add(&RouteTally{Route: name}), map[string]*row[FieldTally]{}}
	t.byRoute[name] = r
	t.nRoutes++
	return r
}

// field finds or begins a field's counts, nil when the caps leave it to Other.
func (t *Tally) field(route *routeRow, routeName, name string) *row[FieldTally] {
	if f := route.fields[name]; f != nil {
		return f
	}
	if len(route.fields) >= maxRouteFields || t.nFields >= maxFields {
		return nil
	}
	return t.newField(route, routeName, strings.Clone(name))
}

func (t *Tally) newField(route *routeRow, routeName, name string) *row[FieldTally] {
	if f := route.fields[name]; f != nil {
		return f
	}
	f := t.fields.add(&FieldTally{Route: routeName, Field: name})
	route.fields[name] = f
	t.nFields++
	return f
}
