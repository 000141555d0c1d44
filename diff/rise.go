package diff

import "math"

const (
	riseBase = 1000 // requests at the least in the run's first stretch
	riseLast = 500  // and in each of its last two spans
	riseSide = 30   // requests of a route at the least, in each of two stretches that are compared
)

// rise is what the verdict cannot see: something that all three share has become worse since the run began.
type rise struct{ from, to float64 }

// rises compares the last two spans of the run with its first stretch; what is counted is part of one. Both must show
// it, so that a moment's trouble does not. Since traffic changes, each route is compared with itself, weighted by its
// requests in the later span (direct standardisation). It is descriptive: no α is spent and nothing is decided by it.
func rises(t *Tallies, part func(Span) int64) (r rise, risen bool) {
	c := &t.Total.Course
	used, spans := int(c.Used), 0
	for used > 0 && c.Spans[used-1].Compared < riseLast { // the last may have just begun
		used--
	}
	base := int64(0)
	for spans < used && base < riseBase {
		base += c.Spans[spans].Compared
		spans++
	}
	if base < riseBase || used-spans < 2 || used < 4 {
		return rise{}, false
	}
	minute := func(span int) int64 { return (c.First + int64(span)) << c.Shift }
	for k := used - 2; k < used; k++ {
		if r, risen = riseOf(t.Routes, [2]int64{minute(0), minute(spans)}, [2]int64{minute(k), minute(k + 1)}, part); !risen {
			return rise{}, false
		}
	}
	return r, true
}

// riseOf compares one span with a stretch before it. A rise is one to twice as much, by a point at least, and by six
// times what chance gives.
func riseOf(routes []*RouteTally, early, late [2]int64, part func(Span) int64) (rise, bool) {
	var weight, all, before, after, variance float64
	for _, r := range routes {
		was, is := r.Course.within(early[0], early[1]), r.Course.within(late[0], late[1])
		all += float64(is.Compared)
		if min(was.Compared, is.Compared) < riseSide {
			continue
		}
		n, m := float64(was.Compared), float64(is.Compared)
		weight += m
		before += m * float64(part(was)) / n
		after += float64(part(is))
		p, q := (float64(part(was))+1)/(n+2), (float64(part(is))+1)/(m+2)
		variance += m*m*p*(1-p)/n + m*q*(1-q)
	}
	if weight < all/2 || weight == 0 {
		return rise{}, false
	}
	r := rise{before / weight, after / weight}
	return r, r.to >= 2*r.from && r.to-r.from >= 0.01 && r.to-r.from >= 6*math.Sqrt(variance)/weight
}

// worsened says what all three share has risen.
func worsened(t *Tallies) (said []string) {
	const may = ": it may be the candidate's load on what all three share"
	if r, risen := rises(t, func(s Span) int64 { return s.Noise }); risen {
		said = append(said, "beside the verdict: the noise has risen since the run began, from "+
			percent(r.from)+" of the requests to "+percent(r.to)+may)
	}
	if r, risen := rises(t, func(s Span) int64 { return s.Errors }); risen {
		said = append(said, "beside the verdict: the primary's errors have risen since the run began, from "+
			percent(r.from)+" of the compared requests to "+percent(r.to)+may)
	}
	return said
}
