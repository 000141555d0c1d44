package diff

import (
	"math"
	"time"
)

// refreshed is how many intervals of differences that decide nothing a Watch computes in one call, at some 10 µs each.
const refreshed = 5_000

// standing is one field of one route as it was last judged.
type standing struct {
	row      *FieldTally
	n        int64 // requests that tell of the field
	readings []reading
	shown    *reading
	finding  Finding
	fresh    []Confirmed
	orders   int
	measured measured
	open     int32 // the first minute that is not over, as it was read
	late     bool  // the interval is to be computed when there is one to spare

	decides *reading // gravest confirmed test that makes the route "different"
	over    *reading // gravest confirmed test whose interval reaches over the budget
	alone   *reading // gravest test in which the control alone differs, beyond chance and beyond the budget
}

// measured is what the shown interval was computed from.
type measured struct {
	test Test
	n    int64
	Counts
}

// informs tells of a difference that is shown and may be confirmed, but decides nothing.
func (st *standing) informs() bool { return st.finding.Informs }

// field judges one field anew where its row or its number of requests changed, and tells whether that was so.
func (w *Watch) field(st *standing, row *FieldTally, route *RouteTally, at time.Time) (changed bool) {
	n := route.Judged()
	if row.Field == fieldTransport {
		n = route.Compared
	}
	if st.row == row && st.n == n && !st.late && st.open >= w.now {
		return false
	}
	if st.row != row || st.open < w.now {
		st.row = row
		st.read(w, n, at)
	}
	st.n, st.finding.Compared = n, n
	st.measure(w)
	st.weigh(w)
	return true
}

// read evaluates the row.
func (st *standing) read(w *Watch, n int64, at time.Time) {
	row := st.row
	st.readings = w.readings(st.readings[:0], row, n, at)
	st.fresh, st.orders, st.open = nil, 0, math.MaxInt32
	for i := range st.readings {
		r := &st.readings[i]
		st.open = min(st.open, row.Tests[r.test].Minutes.open(w.now))
		st.orders = max(st.orders, row.Tests[r.test].Order)
		if r.confirmed != nil && row.Tests[r.test].Confirmed == nil {
			st.fresh = append(st.fresh, Confirmed{row.Route, row.Field, r.test, *r.confirmed})
		}
	}
	bounds := st.finding.ExcessBounds
	if st.shown = toShow(st.readings); st.shown != nil { // else only traits were counted
		st.finding = st.shown.finding(row.Route, row.Field, n)
		st.finding.ExcessBounds = bounds
	}
}

// measure brings the shown interval up to date: at once if it is of a confirmed difference, else when it would move by
// more than a few hundredths of its width.
func (st *standing) measure(w *Watch) {
	r := st.shown
	if r == nil {
		return
	}
	now := measured{r.test, st.n, r.counts}
	if now.test != st.measured.test || st.measured.n == 0 {
		st.finding.ExcessBounds = [2]float64{-1, 1}
	}
	if r.confirmed == nil {
		moved := now.moved(st.measured)
		st.late = moved && w.spare == 0
		if !moved || st.late {
			return
		}
		w.spare--
	}
	st.measured, st.late = now, false
	st.finding.ExcessBounds[0], st.finding.ExcessBounds[1] = w.bets.interval(r.counts.scores(st.n), r.alpha)
}

// moved tells whether the counts have changed by more than 2 %, or a fifth of the error that chance gives them.
func (m measured) moved(was measured) bool {
	pairs := math.Abs(float64(m.CandidateOnly-was.CandidateOnly)) + math.Abs(float64(m.ControlOnly-was.ControlOnly))
	return m.test != was.test || m.n < was.n || m.n-was.n > was.n/50 ||
		pairs > math.Sqrt(float64(was.CandidateOnly+was.ControlOnly))/5
}

// weigh finds what the confirmed tests decide. All of them count, not only the one that is shown: a field may be
// missing in a few requests and wrong in many.
func (st *standing) weigh(w *Watch) {
	st.decides, st.over, st.alone = nil, nil, nil
	budget := w.cfg.budget()
	for i := range st.readings {
		r := &st.readings[i]
		if st.row.Field != fieldTransport && r.test <= TestPresence && w.controlAlone(r.counts, st.n, r.alpha) {
			st.alone = graver(st.alone, r)
		}
		if r.confirmed == nil || st.row.Field == FieldSize && r.test == TestDrift {
			continue
		}
		s := r.counts.scores(st.n)
		covered := r.test < TestExtent && st.row.Field != fieldStatus && st.row.Field != fieldTransport && !w.cfg.Strict
		switch {
		case !covered || w.bets.above(s, r.alpha, budget):
			st.decides = graver(st.decides, r)
		case !w.bets.atMost(s, r.alpha, budget):
			st.over = graver(st.over, r)
		}
	}
}

// controlAlone tells whether the control differs where the candidate does not, in excess over the budget: had the two
// swapped names, it would be "different". The counts are looked at first, since most are far from it.
func (w *Watch) controlAlone(c Counts, n int64, alpha float64) bool {
	surplus, budget := float64(c.ControlOnly-c.CandidateOnly), w.cfg.budget()
	if surplus <= budget*float64(n) || surplus*surplus < 4*float64(c.ControlOnly+c.CandidateOnly) {
		return false
	}
	return w.bets.above(c.scores(n).exchanged(), alpha, budget)
}

// noise is the number of requests in which the field differed on one side only and would have without any fault.
func (st *standing) noise() int64 {
	var most int64
	for level := TestValue; level <= TestPresence; level++ {
		c := &st.row.Tests[level].Counts
		most = max(most, 2*min(c.CandidateOnly, c.ControlOnly))
	}
	return most
}

// hidden tells of a field whose value differs on both sides in nearly every request, so that a change of it cannot be
// seen.
func (st *standing) hidden() bool {
	both := st.row.Tests[TestValue].Both
	return both > 0 && float64(both) >= 0.99*float64(st.n)
}

// latency judges how much longer the candidate takes than the secondary.
func (w *Watch) latency(route *RouteTally, at time.Time) *standing {
	l := &route.Latency
	st := &standing{n: l.Slower + l.Faster, orders: l.Order}
	r := &reading{
		test: TestDrift, counts: Counts{CandidateOnly: l.Slower, ControlOnly: l.Faster},
		alpha: alphaAt(w.cfg.Alpha, l.Order), lnE: Evidence(l.Slower, l.Faster), confirmed: l.Confirmed,
		minutes: l.Minutes.steadiness(w.now, Evidence),
	}
	if r.confirmed == nil && r.lnE >= -math.Log(r.alpha) {
		r.confirmed = &Confirmation{Time: at, Requests: st.n, Alpha: w.cfg.Alpha}
		st.fresh = []Confirmed{{route.Route, fieldLatency, TestDrift, *r.confirmed}}
	}
	st.shown = r
	st.finding = r.finding(route.Route, fieldLatency, st.n)
	st.finding.ExcessBounds[0], st.finding.ExcessBounds[1] = w.bets.interval(r.counts.scores(st.n), r.alpha)
	return st
}

// transportShare is the part of α that the transport of all routes together may spend. The numbered hypotheses leave it:
// theirs, 20/(j+20)² for j from 1, add up to 20·ψ′(21) = 0.97542 (ψ′ is the trigamma function).
//
// Source: Abramowitz and Stegun, "Handbook of Mathematical Functions" (1964), 6.4.10 and 6.4.12.
const transportShare = 0.02

// transport judges whether the candidate fails where the secondary does not, over all routes together: a shadow that is
// down is asked some twenty times, and these may be spread over as many routes.
func (w *Watch) transport(t *Tallies) *standing {
	c, n := t.Transport.Counts, t.Total.Compared
	r := reading{
		test: TestPresence, counts: c, alpha: transportShare * w.cfg.Alpha,
		lnE: Evidence(c.CandidateOnly, c.ControlOnly), confirmed: t.Transport.Confirmed,
		minutes: t.Transport.Minutes.steadiness(w.now, Evidence),
	}
	st := &standing{row: &FieldTally{Field: fieldTransport}, n: n}
	if r.confirmed == nil && r.lnE >= -math.Log(r.alpha) {
		r.confirmed = &Confirmation{Time: t.Total.Last, Requests: n, Alpha: w.cfg.Alpha}
		st.fresh = []Confirmed{{"", fieldTransport, r.test, *r.confirmed}}
	}
	st.readings = []reading{r}
	st.shown = &st.readings[0]
	st.finding = r.finding("", fieldTransport, n)
	st.finding.ExcessBounds[0], st.finding.ExcessBounds[1] = w.bets.interval(c.scores(n), r.alpha)
	st.weigh(w)
	return st
}
