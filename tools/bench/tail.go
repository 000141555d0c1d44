package main

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// quantile is one of the latencies of all turns together, in milliseconds; of is figures.all or figures.quiet.
func (r *results) quantile(t trial, of func(figures) []time.Duration, p float64) float64 {
	return quantileOf(gather(r.rounds[t], of), p)
}

func gather(turns []figures, of func(figures) []time.Duration) []time.Duration {
	var list []time.Duration
	for _, f := range turns {
		list = append(list, of(f)...)
	}
	return list
}

func quantileOf(latencies []time.Duration, p float64) float64 {
	if len(latencies) == 0 {
		return math.NaN()
	}
	slices.Sort(latencies)
	return percentile(latencies, p).Seconds() * 1000
}

func everyone(f figures) []time.Duration { return f.all }

func undisturbedOnes(f figures) []time.Duration { return f.quiet }

// tailRatio is a trial's p99 of what was not disturbed, relative to another's, with an interval of 95 %: that of 400 times as
// many turns as there were, drawn from them (the bootstrap of Efron, 1979).
func (r *results) tailRatio(t, base trial) spread {
	const draws = 400
	random := rand.New(rand.NewPCG(1, 2)) // the same figures give the same interval
	p99 := func(turns []figures) float64 { return quantileOf(gather(turns, undisturbedOnes), 0.99) }
	draw := func(turns []figures) []figures {
		drawn := make([]figures, len(turns))
		for i := range drawn {
			drawn[i] = turns[random.IntN(len(turns))]
		}
		return drawn
	}
	ratio := spread{median: p99(r.rounds[t]) / p99(r.rounds[base])}
	if t == base || len(r.rounds[t]) < 2 {
		ratio.low, ratio.high = ratio.median, ratio.median
		return ratio
	}
	var drawn []float64
	for range draws {
		drawn = append(drawn, p99(draw(r.rounds[t]))/p99(draw(r.rounds[base])))
	}
	slices.Sort(drawn)
	ratio.low, ratio.high = drawn[draws/40], drawn[draws-1-draws/40]
	return ratio
}

// leftOut is the share of the requests at the fixed rate that something outside has disturbed.
func (r *results) leftOut(t trial) float64 {
	all, quiet := 0, 0
	for _, f := range r.rounds[t] {
		all, quiet = all+len(f.all), quiet+len(f.quiet)
	}
	return 1 - float64(quiet)/float64(all)
}
