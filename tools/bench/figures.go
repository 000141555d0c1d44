package main

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"shadowdiff/tools/rig"
)

// figures are what one trial gave in one turn.
type figures struct {
	requests int
	took     time.Duration
	all      []time.Duration // latencies
	quiet    []time.Duration // of them, those that nothing outside has disturbed
	cpu      time.Duration   // of the proxy, for all requests; 0: there is no proxy
	rss      int64
	errors   map[string]int
	counts   rig.Counts       // ours
	most     map[string]int64 // connections at once, by shadow
}

// results are the figures of all trials, by turn.
type results struct {
	trials []trial
	turns  map[trial][]figures
}

// measured tells whether a trial has figures.
func (r *results) measured(t trial) bool { return len(r.turns[t]) > 0 && slices.Contains(r.trials, t) }

// A figure is of several turns together; NaN where there is none.

// rate is requests a second.
func rate(turns []figures) float64 {
	var took time.Duration
	for _, f := range turns {
		took += f.took
	}
	return float64(requests(turns)) / took.Seconds()
}

func requests(turns []figures) (n int) {
	for _, f := range turns {
		n += f.requests
	}
	return n
}

// cpuPerRequest is in microseconds.
func cpuPerRequest(turns []figures) float64 {
	var cpu time.Duration
	for _, f := range turns {
		cpu += f.cpu
	}
	if cpu == 0 || requests(turns) == 0 {
		return math.NaN()
	}
	return cpu.Seconds() * 1e6 / float64(requests(turns))
}

// p50 and p99 are milliseconds, of what nothing outside has disturbed.
func p50(turns []figures) float64 { return quantile(turns, undisturbedOnes, 0.50) }

func p99(turns []figures) float64 { return quantile(turns, undisturbedOnes, 0.99) }

// p99OfAll is of all.
func p99OfAll(turns []figures) float64 { return quantile(turns, everyone, 0.99) }

func everyone(f figures) []time.Duration { return f.all }

func undisturbedOnes(f figures) []time.Duration { return f.quiet }

func quantile(turns []figures, of func(figures) []time.Duration, p float64) float64 {
	var list []time.Duration
	for _, f := range turns {
		list = append(list, of(f)...)
	}
	if len(list) == 0 {
		return math.NaN()
	}
	slices.Sort(list)
	return percentile(list, p).Seconds() * 1000
}

// percentile returns the smallest of the sorted values that at least the share p of all do not exceed (the nearest
// rank); 0 for none.
func percentile(sorted []time.Duration, p float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	rank := int(math.Ceil(p * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

// leftOut is the share of the requests that something outside has disturbed.
func leftOut(turns []figures) float64 {
	all, quiet := 0, 0
	for _, f := range turns {
		all, quiet = all+len(f.all), quiet+len(f.quiet)
	}
	return 1 - float64(quiet)/float64(all)
}

// compared is the share that was compared of the sampled exchanges that ended meanwhile.
func compared(turns []figures) float64 {
	counts := counts(turns)
	ended := counts.Compared + counts.Dropped.Sum() + counts.Unknown.Sum()
	if ended == 0 {
		return math.NaN()
	}
	return float64(counts.Compared) / float64(ended)
}

// rss is the greatest, in MiB.
func rss(turns []figures) (most float64) {
	for _, f := range turns {
		most = max(most, float64(f.rss)/(1<<20))
	}
	return most
}

// faults counts what clients saw.
func faults(turns []figures) rig.Words {
	sum := make(rig.Words)
	for _, f := range turns {
		for what, n := range f.errors {
			sum[what] += int64(n)
		}
	}
	return sum
}

// counts adds up what became of the requests.
func counts(turns []figures) rig.Counts {
	sum := rig.Counts{Skipped: rig.Words{}, Dropped: rig.Words{}, Unknown: rig.Words{}}
	for _, f := range turns {
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

// connections is the most that any shadow had at once.
func connections(turns []figures) (most int64) {
	for _, f := range turns {
		for _, n := range f.most {
			most = max(most, n)
		}
	}
	return most
}

// ratio is a figure with its interval.
type ratio struct{ low, value, high float64 }

// ratio compares a figure of all turns together with another trial's, with an interval of 95 %: that of 400 times as many
// turns as there were, drawn from them, the same for both (the bootstrap of Efron, 1979, of pairs).
func (r *results) ratio(t, base trial, figure func([]figures) float64) ratio {
	const draws = 400
	mine, theirs := r.turns[t], r.turns[base]
	n := min(len(mine), len(theirs))
	value := figure(mine) / figure(theirs)
	if t == base || n < 2 {
		return ratio{value, value, value}
	}
	random := rand.New(rand.NewPCG(1, 2)) // the same figures give the same interval
	drawn := make([]float64, draws)
	for i := range drawn {
		var some, others []figures
		for range n {
			turn := random.IntN(n)
			some, others = append(some, mine[turn]), append(others, theirs[turn])
		}
		drawn[i] = figure(some) / figure(others)
	}
	slices.Sort(drawn)
	return ratio{drawn[draws/40], value, drawn[draws-1-draws/40]}
}
