package diff

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// timed counts n pairs of latencies in milliseconds.
func timed(tally *Tally, route string, n int, of func() (candidate, secondary float64)) *Tally {
	for range n {
		c := compared(route)
		candidate, secondary := of()
		c.Latency = LatencyPair{time.Duration(candidate * 1e6), time.Duration(secondary * 1e6)}
		tally.Add(c)
	}
	return tally
}

// lognormal are two hosts, the candidate's slower by a factor.
func lognormal(seed uint64, factor float64) func() (candidate, secondary float64) {
	rnd := rand.New(rand.NewPCG(seed, 8))
	return func() (float64, float64) {
		return 10 * factor * math.Exp(rnd.NormFloat64()/2), 10 * math.Exp(rnd.NormFloat64()/2)
	}
}

func atMost(ratio float64) func(*Config) { return func(c *Config) { c.MaxLatencyRatio = ratio } }

func TestEquivalentWaitsUntilTheLatencyRatioIsProven(t *testing.T) {
	tally := timed(NewTally(nil), "GET /a", 3, func() (float64, float64) { return 1, 100 })
	v := judged(t, tally, atMost(1.5), func(c *Config) { c.Budget, c.MinCompared = 90_000, 1 })
	if !slices.Contains(v.Reasons, "max_latency_ratio: there are too few requests to bound the 99th percentiles of latency") || v.Latency.P99Bounds != nil {
		t.Errorf("after 3 requests: %q, %v", v.Reasons, v.Latency.P99Bounds)
	}

	tally = timed(NewTally(nil), "GET /a", 5000, lognormal(1, 1))
	v = judged(t, tally, atMost(1.1))
	if v.Word != Undecided || !strings.HasPrefix(v.Reasons[0], "the 99th percentile of the candidate's latency may be as much as 1.") ||
		!strings.HasSuffix(v.Reasons[0], " times the secondary's, over max_latency_ratio (1.1)") || v.MoreNeeded == nil {
		t.Errorf("%s: %q, %v", v.Word, v.Reasons, v.MoreNeeded)
	}
	if v := judged(t, tally); v.Word != Equivalent || v.Latency.P99Bounds == nil {
		t.Errorf("not judged: %s, %q", v.Word, v.Reasons)
	}
	timed(tally, "GET /a", 45_000, lognormal(2, 1))
	v = judged(t, tally, atMost(1.2))
	if bounds := v.Latency.P99Bounds; v.Word != Equivalent || bounds == nil || !(bounds[0] < 1 && 1 < bounds[1] && bounds[1] <= 1.2) {
		t.Errorf("%s: %q, %v", v.Word, v.Reasons, v.Latency.P99Bounds)
	}
	same(t, "the route's verdict", v.Routes[0].Word, Equivalent)
}

func TestACandidateThatIsTooSlowIsNeverEquivalent(t *testing.T) {
	v := judged(t, timed(NewTally(nil), "GET /a", 20_000, lognormal(3, 2)), atMost(1.5))
	if v.Word != Undecided || !strings.HasPrefix(v.Reasons[0], "the 99th percentile of the candidate's latency is at least 1.") || v.MoreNeeded != nil {
		t.Errorf("%s: %q, %v", v.Word, v.Reasons, v.MoreNeeded)
	}

	// One slow route among many is not to be seen in the whole run's percentiles.
	tally := timed(timed(NewTally(nil), "GET /fast", 400_000, lognormal(4, 1)), "GET /slow", 1500, func() (float64, float64) { return 12, 6 })
	want(t, judged(t, tally, atMost(1.5)), Undecided, "over max_latency_ratio by themselves: GET /slow",
		"beside the verdict: GET /slow is slower than the control; one burst so far")
}

// The bounds hold the true ratio at every look, in all but few runs, with a heavy tail too.
func TestRatioBoundsMissSeldom(t *testing.T) {
	const runs, requests = 200, 4000
	bets, rnd, missed := newMixture(), rand.New(rand.NewPCG(12, 1)), 0
	pareto := func() time.Duration { return time.Duration(1e6 * math.Pow(1-rnd.Float64(), -1/1.5)) }
	for range runs {
		var l LatencyTally
		for i := range requests {
			l.add(LatencyPair{pareto(), pareto()}, noon)
			if i%100 != 99 {
				continue
			}
			if lower, upper := bets.ratioBounds(&l, 0.05); lower > 1 || upper < 1 {
				missed++
				break
			}
		}
	}
	t.Logf("%.1f %% of the intervals of a ratio miss", 100*float64(missed)/runs)
	if missed > runs*5/100 {
		t.Errorf("%d of %d intervals missed, more than 5 %%", missed, runs)
	}
}

func TestRatioBoundsCloseIn(t *testing.T) {
	bets := newMixture()
	var l LatencyTally
	lower, upper := bets.ratioBounds(&l, 0.05)
	same(t, "of nothing", [2]float64{lower, upper}, [2]float64{0, math.Inf(1)})
	of := lognormal(5, 1.3)
	width := math.Inf(1)
	for _, n := range []int{2000, 10_000, 50_000} {
		for l.Candidate.Count() < int64(n) {
			c, s := of()
			l.add(LatencyPair{time.Duration(c * 1e6), time.Duration(s * 1e6)}, noon)
		}
		lower, upper := bets.ratioBounds(&l, 0.05)
		t.Logf("%d requests: %.2f to %.2f", n, lower, upper)
		if !(lower < 1.3 && 1.3 < upper && upper-lower < width) {
			t.Errorf("%d requests: %v to %v, before it was %v wide", n, lower, upper, width)
		}
		width = upper - lower
	}
	if width > 0.3 {
		t.Errorf("still %v wide", width)
	}
}
