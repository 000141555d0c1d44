package diff

import (
	"math"

	"github.com/dustin/go-humanize"
)

// tail is the share of durations that lie above the 99th percentile.
const tail = 0.01

// ratioBounds says where the candidate's 99th percentile over the secondary's lies: the interval that, looked at as often
// as one likes, misses with a chance of at most alpha as long as the distribution of durations stays what it is. Each of
// the two percentiles has half of that. It is 0 to +Inf while there are too few requests to say, some 600.
//
// A percentile is at most x once it is proven that no more than 1 % of the durations lie above x. That is an interval for
// a mean again, and since only the true percentile could be wrongly excluded, it holds for all x at once.
//
// Source: Howard and Ramdas, "Sequential estimation of quantiles with applications to A/B testing and best-arm
// identification" (Bernoulli 2022), for intervals of quantiles that may be watched.
func (m *mixture) ratioBounds(l *LatencyTally, alpha float64) (lower, upper float64) {
	n := l.Candidate.Count()
	if n == 0 || n != l.Secondary.Count() {
		return 0, math.Inf(1)
	}
	few, many := m.tailCounts(n, alpha/2)
	if few < 0 && many > n {
		return 0, math.Inf(1)
	}
	candidateLow, candidateHigh := l.Candidate.percentile(few, many)
	secondaryLow, secondaryHigh := l.Secondary.percentile(few, many)
	if candidateLow > 0 {
		lower = candidateLow / secondaryHigh
	}
	upper = math.Inf(1)
	if secondaryLow > 0 {
		upper = candidateHigh / secondaryLow
	}
	return lower, upper
}

// tailCounts are the most durations out of n above a value that prove the 99th percentile to be no greater, −1 where none
// are few enough, and the fewest that prove it to be no less; n+1 where none are enough.
func (m *mixture) tailCounts(n int64, alpha float64) (few, many int64) {
	of := func(k int64) scores { return scores{float64(k), float64(n - k), 0} }
	few, many = -1, n+1
	if m.atMost(of(0), alpha, tail) {
		few = least(func(k int64) bool { return k > n || !m.atMost(of(k), alpha, tail) }) - 1
	}
	if m.above(of(n), alpha, tail) {
		many = least(func(k int64) bool { return k >= n || m.above(of(k), alpha, tail) })
	}
	return few, many
}

// percentile are the bounds of the 99th percentile, widened by the sketch's own error: 0 and +Inf where nothing bounds
// it.
func (s *Sketch) percentile(few, many int64) (lower, upper float64) {
	upper = math.Inf(1)
	below, n := int64(0), s.Count()
	s.each(func(value float64, count int64) {
		if n-below >= many { // as many are not below this value
			lower = value * (1 - sketchError)
		}
		below += count
		if n-below <= few && math.IsInf(upper, 1) { // no more are above it
			upper = value * (1 + sketchError)
		}
	})
	return lower, upper
}

// ratio judges the 99th percentiles of the scope's latencies against the configuration.
func (s *scope) ratio() (lower, upper float64) {
	alpha := s.watch.cfg.Alpha
	if !s.whole {
		alpha = alphaAt(alpha, s.row.Latency.Order)
	}
	return s.watch.bets.ratioBounds(&s.row.Latency, alpha)
}

// tooSlow says what keeps the latencies from being within max_latency_ratio, if anything does.
func (s *scope) tooSlow() (said string) {
	most := s.watch.cfg.MaxLatencyRatio
	limit := " times the secondary's, over max_latency_ratio (" + humanize.Ftoa(most) + ")"
	switch {
	case most == 0:
	case s.slow():
		return "the 99th percentile of the candidate's latency is at least " + times(s.lower) + limit
	case math.IsInf(s.upper, 1):
		return "max_latency_ratio: there are too few requests to bound the 99th percentiles of latency"
	case s.upper > most:
		return "the 99th percentile of the candidate's latency may be as much as " + times(s.upper) + limit
	}
	return ""
}

// slow tells whether the candidate is too slow beyond doubt.
func (s *scope) slow() bool {
	return s.watch.cfg.MaxLatencyRatio > 0 && s.lower > s.watch.cfg.MaxLatencyRatio
}

// times writes a ratio with two decimals.
func times(ratio float64) string { return humanize.FtoaWithDigits(ratio, 2) }
