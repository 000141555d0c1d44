package main

import (
	"math"
	"slices"
	"time"

	"shadowdiff/tools/rig"
)

// figures are what one trial gave in one round, or turn.
type figures struct {
	requests int
	took     time.Duration
	p50, p99 time.Duration   // at full speed
	all      []time.Duration // latencies at the fixed rate
	quiet    []time.Duration // of them, those that nothing outside has disturbed
	cpu      time.Duration   // of the proxy, for all requests; 0: there is no proxy
	rss      int64
	errors   map[string]int
	counts   rig.Counts       // ours
	most     map[string]int64 // connections at once, by shadow
}

// rate is requests a second.
func (f figures) rate() float64 { return float64(f.requests) / f.took.Seconds() }

// cpuPerRequest is in microseconds.
func (f figures) cpuPerRequest() float64 {
	if f.requests == 0 || f.cpu == 0 {
		return math.NaN()
	}
	return f.cpu.Seconds() * 1e6 / float64(f.requests)
}

// compared is the share that was compared of the sampled exchanges that ended meanwhile.
func (f figures) compared() float64 {
	ended := f.counts.Compared + f.counts.Dropped.Sum() + f.counts.Unknown.Sum()
	if ended == 0 {
		return math.NaN()
	}
	return float64(f.counts.Compared) / float64(ended)
}

// milliseconds is a percentile, or NaN where there was no answer.
func (f figures) milliseconds(d time.Duration) float64 {
	if f.requests == 0 {
		return math.NaN()
	}
	return d.Seconds() * 1000
}

// results are the figures of all trials by round.
type results struct {
	trials []trial
	rounds map[trial][]figures
}

// of gathers one figure over the rounds.
func (r *results) of(t trial, figure func(figures) float64) spread {
	var list []float64
	for _, f := range r.rounds[t] {
		list = append(list, figure(f))
	}
	return spreadOf(list)
}

// ratio compares one figure with that of another trial in the same round, so that a machine whose speed changes between
// rounds matters little.
func (r *results) ratio(t, base trial, figure func(figures) float64) spread {
	var list []float64
	for round, f := range r.rounds[t] {
		if round < len(r.rounds[base]) {
			list = append(list, figure(f)/figure(r.rounds[base][round]))
		}
	}
	return spreadOf(list)
}

// errors counts what clients saw, over all rounds.
func (r *results) errors(t trial) rig.Words {
	sum := make(rig.Words)
	for _, f := range r.rounds[t] {
		for what, n := range f.errors {
			sum[what] += int64(n)
		}
	}
	return sum
}

// counts adds up what became of the requests, over all rounds.
func (r *results) counts(t trial) rig.Counts {
	sum := rig.Counts{Skipped: rig.Words{}, Dropped: rig.Words{}, Unknown: rig.Words{}}
	for _, f := range r.rounds[t] {
		sum.Requests += f.counts.Requests
		sum.Exchanged += f.counts.Exchanged
		sum.Compared += f.counts.Compared
		for to, from := range map[*rig.Words]rig.Words{
			&sum.Skipped: f.counts.Skipped, &sum.Dropped: f.counts.Dropped, &sum.Unknown: f.counts.Unknown,
		} {
			for reason, n := range from {
				(*to)[reason] += n
			}
		}
	}
	return sum
}

// most is the most connections that any shadow had at once in any round.
func (r *results) most(t trial) (most int64) {
	for _, f := range r.rounds[t] {
		for _, n := range f.most {
			most = max(most, n)
		}
	}
	return most
}

// measured tells whether a trial has figures.
func (r *results) measured(t trial) bool { return len(r.rounds[t]) > 0 && slices.Contains(r.trials, t) }

func rate(f figures) float64 { return f.rate() }

func p50(f figures) float64 { return f.milliseconds(f.p50) }

func p99(f figures) float64 { return f.milliseconds(f.p99) }

func cpuPerRequest(f figures) float64 { return f.cpuPerRequest() }

func compared(f figures) float64 { return f.compared() }

func rss(f figures) float64 { return float64(f.rss) / (1 << 20) }
