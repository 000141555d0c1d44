package diff

import (
	"cmp"
	"math"
	"slices"
)

// scope is what a verdict is of: a whole run, or one of its routes.
type scope struct {
	watch     *Watch
	row       *RouteTally
	whole     bool
	paused    int64 // exchanges of the run that were dropped because the candidate was paused
	awaited   int64 // exchanges of the run in which only the candidate is waited for
	stale     Stale
	owed      bool        // a route, some of whose requests may be among those that the run has lost by the candidate's doing
	few       bool        // a route with too few requests to confirm anything
	standings []*standing // those with something to show, in the order of the tallies
	confirmed []*standing // of these the confirmed ones, most evidence first
	noisiest  *standing
	hidden    []NotJudged
	different []string    // routes that are different by themselves
	alone     []*standing // fields in which the control alone differs, beyond the budget
	erred     []string    // routes on which the candidate answers with more errors
	slowed    []string    // routes on which it is over max_latency_ratio
	worse     []string    // what all three share has become worse
	lower     float64     // the bounds of the ratio of the 99th percentiles
	upper     float64
	silent    int64 // requests in which the control alone failed, less those in which the candidate alone did
}

// add takes in one field of the scope.
func (s *scope) add(st *standing) {
	if st.row == nil { // latency: of interest where the candidate is slower
		if st.finding.Confirmed || st.finding.LnE > 0 {
			s.standings = append(s.standings, st)
		}
		return
	}
	if st.shown == nil {
		return
	}
	s.standings = append(s.standings, st)
	if st.row.Field == fieldTransport {
		c := &st.row.Tests[TestValue].Counts
		s.silent += c.ControlOnly - c.CandidateOnly
	}
	if s.noisiest == nil || st.noise() > s.noisiest.noise() {
		s.noisiest = st
	}
	if st.alone != nil {
		s.alone = append(s.alone, st)
	}
	if st.hidden() {
		s.hidden = append(s.hidden, NotJudged{st.row.Route, st.row.Field, st.n, ratio(st.row.Noise, st.n)})
	}
}

// addTransport takes in the transport of all routes together, which says something where no route's own does: it is not
// confirmed in any, and failed in several.
func (s *scope) addTransport(st *standing) {
	failing := 0
	for _, own := range s.standings {
		if own.row == nil || own.row.Field != fieldTransport {
			continue
		}
		if own.finding.Confirmed {
			return
		}
		failing++
	}
	if st.finding.Confirmed || failing > 1 && st.finding.LnE >= suspicion {
		s.standings = append(s.standings, st)
	}
}

// include takes in a whole route that was judged.
func (s *scope) include(r *routeStanding) {
	s.standings = append(s.standings, r.standings...)
	if n := r.noisiest; n != nil && (s.noisiest == nil || n.noise() > s.noisiest.noise()) {
		s.noisiest = n
	}
	s.silent += r.silent
	s.alone = append(s.alone, r.alone...)
	s.hidden = append(s.hidden, r.last.NotJudged[:min(len(r.last.NotJudged), maxFindings-len(s.hidden))]...)
	if r.last.Word == Different {
		s.different = append(s.different, r.row.Route)
	}
	if r.erring() {
		s.erred = append(s.erred, r.row.Route)
	}
	if r.slow() {
		s.slowed = append(s.slowed, r.row.Route)
	}
}

// verdict computes every figure and then the word.
func (s *scope) verdict(latency *standing) *Verdict {
	row, cfg := s.row, s.watch.cfg
	v := &Verdict{
		Compared: row.Compared, NoControl: row.NoControl, RawRate: ratio(row.Raw, row.Compared), NoiseRate: ratio(row.Noise, row.Compared),
		CandidateOnly: row.Results.CandidateOnly, ControlOnly: row.Results.ControlOnly, Both: row.Results.Both,
		CandidateUp: row.CandidateUp, ControlUp: row.ControlUp,
		Steadiness: row.Minutes.steadiness(s.watch.now, Evidence), Attempt: max(cfg.Attempt, 1),
		CandidateErrors: row.CandidateErrors, ControlErrors: row.ControlErrors,
		Excess:       ratio(row.Results.CandidateOnly-row.Results.ControlOnly, row.Compared),
		ExcessBounds: [2]float64{-1, 1}, EquivBounds: [2]float64{0, 1}, Alpha: cfg.Alpha, Budget: cfg.budget(),
		NotJudged: []NotJudged{}, Differences: s.findings(), Latency: latency.latencyFinding(row),
	}
	if s.whole || cfg.MaxLatencyRatio > 0 {
		s.lower, s.upper = s.ratio()
		if v.Latency.P99Ratio != nil && !math.IsInf(s.upper, 1) {
			v.Latency.P99Bounds = &[2]float64{s.lower, s.upper}
		}
	}
	for _, n := range row.Unknown {
		v.Unknown += n
	}
	if !s.whole {
		v.Route = &row.Route
	}
	low, high := s.watch.bets.interval(s.scores(), cfg.Alpha)
	v.ExcessBounds = [2]float64{low, high}
	if seen := s.seen(); seen > 0 {
		v.Equivalence = rate(v.Excess / seen)
		v.EquivBounds = [2]float64{rate(high / seen), rate(low / seen)}
	} else {
		v.Equivalence = 1 // as much as nothing says: the interval is 0 to 1
	}
	if s.few {
		v.NotJudged = append(v.NotJudged, NotJudged{Route: row.Route, Compared: row.Compared, NoiseRate: v.NoiseRate})
	}
	v.NotJudged = append(v.NotJudged, s.hidden...)
	s.decide(v)
	return v
}

// scores are those of the requests as a whole.
func (s *scope) scores() scores { return s.row.Results.scores(s.row.Compared) }

// seen is the part of the requests in which noise leaves an excess to be seen; dividing the excess by it corrects for
// the noise in the same answers.
//
// Source: Abbott, "A method of computing the effectiveness of an insecticide" (1925).
func (s *scope) seen() float64 { return 1 - ratio(s.row.ControlUp, s.row.Compared) }

// proving is what may prove "equivalent": scores, and seen, without the requests in which the control failed more often
// than the candidate did. A control that does not answer makes nobody equal. To leave out −1s can only raise the bound.
func (s *scope) proving() (scores, float64) {
	silent := max(s.silent, 0)
	c := s.row.Results
	c.ControlOnly = max(c.ControlOnly-silent, 0)
	return c.scores(s.row.Compared - silent), 1 - ratio(s.row.ControlUp-silent, s.row.Compared-silent)
}

// lopsided tells whether the control differs where the candidate does not, in a field or in the requests as a whole. What
// would be "different" with the names swapped is not "equivalent": under a control that differs by itself, as an instance
// of another version does, the candidate's differences can hide. What the control did not answer is left out.
func (s *scope) lopsided() bool {
	c := s.row.Results
	c.ControlOnly -= max(s.silent, 0)
	return len(s.alone) > 0 || s.watch.controlAlone(c, s.row.Compared, s.alpha())
}

// alpha is what the requests as a whole may spend: a route is one hypothesis among many, the run is not.
func (s *scope) alpha() float64 {
	if s.whole {
		return s.watch.cfg.Alpha
	}
	return alphaAt(s.watch.cfg.Alpha, s.row.Order)
}

// proven tells whether the upper bound is within the budget.
func (s *scope) proven() bool {
	now, seen := s.proving()
	return seen > 0 && s.watch.bets.atMost(now, s.watch.cfg.Alpha, s.watch.cfg.budget()*seen)
}

// rate is the equivalence rate for a corrected excess.
func rate(d float64) float64 { return 1 - math.Min(1, math.Max(0, d)) }

func ratio(part, all int64) float64 {
	if all <= 0 {
		return 0
	}
	return float64(part) / float64(all)
}

// latencyFinding sums up the pairs of times.
func (st *standing) latencyFinding(row *RouteTally) LatencyFinding {
	l := &row.Latency
	f := LatencyFinding{
		Slower: l.Slower, Faster: l.Faster, LnE: st.finding.LnE, Confirmed: st.finding.Confirmed, Steadiness: st.finding.Steadiness,
	}
	candidate, ok1 := l.Candidate.Quantile(0.99)
	secondary, ok2 := l.Secondary.Quantile(0.99)
	if ok1 && ok2 && secondary > 0 {
		r := float64(candidate) / float64(secondary)
		f.P99Ratio = &r
	}
	return f
}

// maxFindings is how many differences a verdict lists; a route's own are never more than a fifth of that.
const maxFindings = 10_000

// findings are what the scope's standings show: the confirmed ones first, then by evidence.
func (s *scope) findings() []Finding {
	type key struct {
		confirmed bool
		lnE       float64
		place     int
	}
	keys := make([]key, len(s.standings))
	for i, st := range s.standings {
		keys[i] = key{st.finding.Confirmed, st.finding.LnE, i}
	}
	slices.SortFunc(keys, func(a, b key) int {
		if a.confirmed != b.confirmed {
			if a.confirmed {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(b.lnE, a.lnE), a.place-b.place)
	})
	s.confirmed = nil
	list := make([]Finding, 0, min(len(keys), maxFindings))
	for _, k := range keys {
		st := s.standings[k.place]
		if k.confirmed {
			s.confirmed = append(s.confirmed, st)
		}
		if len(list) < maxFindings {
			list = append(list, st.finding)
			list[len(list)-1].NoControl = s.row.NoControl > 0 && s.row.NoControl == s.row.Compared
		} else if !k.confirmed {
			break
		}
	}
	return list
}
