package diff

import (
	"math"
	"time"
)

// suspicion is the ln E from which a test that is not confirmed is shown instead of a lesser one: that of three
// clean requests.
const suspicion = 1.3

// reading is what one test has come to.
type reading struct {
	test      Test
	counts    Counts
	alpha     float64 // what this hypothesis may spend, α_j
	lnE       float64
	minutes   Steadiness
	confirmed *Confirmation
	anew      float64 // how much of one more request is news, 1 but for a drift under state
}

// alphaAt is the share of α that the j-th hypothesis may spend: the sum over all of them stays below α.
func alphaAt(alpha float64, j int) float64 {
	d := float64(j) + 20
	return 20 * alpha / (d * d)
}

// leastToConfirm is the number of requests below which even a difference in each of them is not confirmed as the j-th
// hypothesis.
func leastToConfirm(alpha float64, j int) int64 {
	return least(func(k int64) bool { return Evidence(k, 0) >= -math.Log(alphaAt(alpha, j)) })
}

// least is the smallest k from 1 at which enough holds; enough must hold for all that are larger.
func least(enough func(k int64) bool) int64 {
	high := int64(1)
	for !enough(high) && high < 1<<50 {
		high *= 2
	}
	low := high / 2
	for high-low > 1 {
		if mid := low + (high-low)/2; enough(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return high
}

// readings evaluates the tests of a field in which anything was seen.
func (w *Watch) readings(list []reading, f *FieldTally, n int64, at time.Time) []reading {
	for test := range tests {
		t := &f.Tests[test]
		if t.Counts == (Counts{}) || test == TestDrift && t.Confirmed == nil && f.lopsided() {
			continue
		}
		r := reading{test: test, counts: t.Counts, alpha: alphaAt(w.cfg.Alpha, t.Order), confirmed: t.Confirmed, anew: 1}
		if test == TestDrift {
			r.anew = f.anew()
		}
		if last := len(list) - 1; last >= 0 && test <= TestPresence && list[last].counts == r.counts {
			r.lnE, r.minutes = list[last].lnE, list[last].minutes
		} else {
			r.lnE = r.evidence(r.counts.CandidateOnly)
			r.minutes = t.Minutes.steadiness(w.now, r.plain())
		}
		if r.confirmed == nil && r.lnE >= -math.Log(r.alpha) {
			r.confirmed = &Confirmation{Time: at, Requests: n, Alpha: w.cfg.Alpha}
		}
		list = append(list, r)
	}
	return list
}

// evidence is the reading's ln E if the candidate's side were counted that often.
func (r *reading) evidence(candidate int64) float64 {
	return r.measure()(candidate, r.counts.ControlOnly)
}

// plain is the evidence that the test goes by where each count is news.
func (r *reading) plain() func(b, c int64) float64 {
	if r.test == TestDrift {
		return EvidenceTwoSided
	}
	return Evidence
}

// measure is the evidence that the test goes by.
func (r *reading) measure() func(b, c int64) float64 {
	if r.test != TestDrift {
		return Evidence
	}
	return func(b, c int64) float64 { return evidenceAnew(b, c, r.anew) }
}

// more is how many more requests on the leading side alone would confirm the test.
func (r *reading) more(latency bool) int64 {
	lead, trail := r.counts.CandidateOnly, r.counts.ControlOnly
	measure := Evidence
	if r.test == TestDrift && !latency {
		lead, trail, measure = max(lead, trail), min(lead, trail), r.measure()
	}
	return least(func(k int64) bool { return measure(lead+k, trail) >= -math.Log(r.alpha) })
}

// finding is the reading as a page shows it, without its interval.
func (r *reading) finding(route, field string, n int64) Finding {
	f := Finding{
		Route: route, Field: field, Kind: r.test, Compared: n, LnE: r.lnE, Samples: []int64{},
		CandidateOnly: r.counts.CandidateOnly, ControlOnly: r.counts.ControlOnly, Both: r.counts.Both,
		Steadiness: r.minutes, Informs: field == fieldLatency || field == FieldSize && r.test == TestDrift,
	}
	switch {
	case r.confirmed != nil:
		f.Confirmed, f.ConfirmedAt, f.ConfirmedOn = true, &r.confirmed.Time, r.confirmed.Requests
	case r.lnE > 0:
		f.MoreToConfirm = r.more(field == fieldLatency)
	}
	return f
}

// toShow chooses the reading to show: the gravest that is confirmed, else the gravest under suspicion, else the one that
// counts all that was seen.
func toShow(list []reading) *reading {
	shown := gravest(list, func(r *reading) bool { return r.confirmed != nil })
	if shown == nil {
		shown = gravest(list, func(r *reading) bool { return r.lnE >= suspicion })
	}
	if shown == nil && len(list) > 0 {
		shown = &list[0]
	}
	return shown
}

func gravest(list []reading, of func(*reading) bool) (found *reading) {
	for i := range list {
		if of(&list[i]) {
			found = graver(found, &list[i])
		}
	}
	return found
}

// graver is the graver of two: presence, type, format, value, extent, drift. A nil reading is the least.
func graver(a, b *reading) *reading {
	gravity := func(t Test) int {
		if t <= TestPresence {
			return int(t)
		}
		return -int(t)
	}
	if a == nil || gravity(b.test) > gravity(a.test) {
		return b
	}
	return a
}
