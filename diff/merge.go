package diff

import (
	"maps"
	"slices"
	"time"
)

// Merge adds the counts of routes to those of another and forgets them: from then on all of them are one. The total
// stays as it is, and no count is lost. What is not known is ignored.
//
// What was confirmed for one of them is confirmed for the whole, since it holds for a part of it; of several
// confirmations the earliest stands. A hypothesis to which more than one of them had discordant requests is a new one:
// it gets the next number, so that the promise about all hypotheses of a run holds whatever is merged. If only one of
// them had any, its evidence is what it was, and it keeps its number.
func (t *Tally) Merge(into string, from ...string) {
	parts := t.detach(into, from)
	if len(parts) == 0 {
		return
	}
	m := merging{tally: t, target: t.route(into, true), several: map[*int]bool{}}
	for _, part := range parts {
		m.route(part.now)
		for _, name := range slices.Sorted(maps.Keys(part.fields)) {
			m.field(part.fields[name].now)
		}
	}
	m.number()
}

// detach takes routes and their fields out of the tally, in the order of their names.
func (t *Tally) detach(into string, from []string) (parts []*routeRow) {
	routes, fields := map[*row[RouteTally]]bool{}, map[*row[FieldTally]]bool{}
	for _, name := range slices.Sorted(slices.Values(from)) {
		r := t.byRoute[name]
		if r == nil || name == into {
			continue
		}
		parts = append(parts, r)
		delete(t.byRoute, name)
		routes[r.row] = true
		for _, f := range r.fields {
			fields[f] = true
		}
	}
	if len(parts) > 0 {
		t.changed = true
		t.nRoutes -= len(routes)
		t.nFields -= len(fields)
		t.routes.drop(routes)
		t.fields.drop(fields)
	}
	return parts
}

// merging is one call of Merge.
type merging struct {
	tally   *Tally
	target  *routeRow
	several map[*int]bool // numbers of hypotheses to which more than one route had discordant requests
}

func (m *merging) route(from *RouteTally) {
	to := m.tally.routes.write(m.target.row)
	to.merge(from)
	m.order(&to.Order, from.Order)
	m.order(&to.Latency.Order, from.Latency.Order)
	earliest(&to.Latency.Confirmed, from.Latency.Confirmed)
}

// merge adds all that another route has counted; orders and confirmations are left alone.
func (r *RouteTally) merge(from *RouteTally) {
	r.Compared += from.Compared
	for reason, n := range from.Unknown {
		if r.Unknown == nil {
			r.Unknown = map[string]int64{}
		}
		r.Unknown[reason] += n
	}
	r.Failed += from.Failed
	r.Results.Merge(from.Results)
	r.Raw += from.Raw
	r.Noise += from.Noise
	r.CandidateUp += from.CandidateUp
	r.ControlUp += from.ControlUp
	r.NoControl += from.NoControl
	r.CandidateErrors += from.CandidateErrors
	r.ControlErrors += from.ControlErrors
	r.Minutes.merge(from.Minutes)
	r.Course.merge(&from.Course)
	r.Latency.merge(&from.Latency)
	stretch(&r.First, &r.Last, from.First, from.Last)
}

func (l *LatencyTally) merge(from *LatencyTally) {
	l.Slower += from.Slower
	l.Faster += from.Faster
	l.Minutes.merge(from.Minutes)
	l.Candidate.Merge(&from.Candidate)
	l.Secondary.Merge(&from.Secondary)
}

// field adds a field. A route may have more fields of its own by that than it may begin: all routes together have not.
func (m *merging) field(from *FieldTally) {
	t := m.tally
	to := t.fields.write(t.newField(m.target, m.target.now.Route, from.Field))
	to.merge(from)
	for i := range to.Tests {
		m.order(&to.Tests[i].Order, from.Tests[i].Order)
		earliest(&to.Tests[i].Confirmed, from.Tests[i].Confirmed)
	}
}

// merge adds all that was counted of a field elsewhere; orders and confirmations are left alone.
func (f *FieldTally) merge(from *FieldTally) {
	f.Raw += from.Raw
	f.Noise += from.Noise
	for i := range f.Tests {
		f.Tests[i].Counts.Merge(from.Tests[i].Counts)
		f.Tests[i].Minutes.merge(from.Tests[i].Minutes)
	}
	f.TraitGreater += from.TraitGreater
	f.TraitLess += from.TraitLess
	f.TraitTurns += from.TraitTurns
	if f.TraitLast == 0 {
		f.TraitLast = from.TraitLast
	}
	stretch(&f.First, &f.Last, from.First, from.Last)
}

// Merge adds what was counted elsewhere.
func (c *Counts) Merge(o Counts) {
	c.CandidateOnly += o.CandidateOnly
	c.ControlOnly += o.ControlOnly
	c.Both += o.Both
}

// order takes in the number of a part's hypothesis.
func (m *merging) order(to *int, from int) {
	switch {
	case from == 0:
	case *to == 0:
		*to = from
	default:
		*to = min(*to, from)
		m.several[to] = true
	}
}

// number gives new numbers, in the order in which the hypotheses began.
func (m *merging) number() {
	orders := slices.SortedFunc(maps.Keys(m.several), func(a, b *int) int { return *a - *b })
	for _, order := range orders {
		m.tally.lastOrder++
		*order = m.tally.lastOrder
	}
}

// earliest keeps the earlier of two confirmations.
func earliest(to **Confirmation, from *Confirmation) {
	if *to == nil || from != nil && from.before(*to) {
		*to = from
	}
}

func (c *Confirmation) before(o *Confirmation) bool {
	if !c.Time.Equal(o.Time) {
		return c.Time.Before(o.Time)
	}
	return c.Requests < o.Requests
}

// stretch makes first and last hold another span; a span of nothing has no times.
func stretch(first, last *time.Time, from, until time.Time) {
	if !from.IsZero() {
		spread(first, last, from)
		spread(first, last, until)
	}
}

// Named lists the routes whose names were not given.
func (t *Tally) Named() (routes []string) {
	for name, r := range t.byRoute {
		if !r.now.Given {
			routes = append(routes, name)
		}
	}
	return routes
}
