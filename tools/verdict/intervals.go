package main

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/dustin/go-humanize"

	"shadowdiff/diff"
)

// misses is how often an interval ever misses the truth, over 20,000 requests.
func misses(cfg config) (broken []string) {
	const requests = 20_000
	fmt.Printf("\n## Intervals that ever miss the truth, watched over %s requests\n\n| excess | runs | missed | fails above |\n|---|---|---|---|\n", humanize.Comma(requests))
	for i, s := range []struct {
		name string
		p, q float64
	}{
		{"none, without noise", 0, 0},
		{"none, 1 % noise on each side", 0.01, 0.01},
		{"none, 25 % noise on each side", 0.25, 0.25},
		{"1 %, without noise", 0.01, 0},
		{"2 % against 1 %", 0.02, 0.01},
		{"0.1 %", 0.001, 0},
	} {
		runs := cfg.of(300)
		missed := make([]bool, runs)
		each(runs, cfg.seed, uint64(600+i), func(run int, rnd *rand.Rand) {
			var b, z, c int64
			look := 1
			for n := 1; n <= requests && !missed[run]; n++ {
				switch u := rnd.Float64(); {
				case u < s.p:
					b++
				case u < s.p+s.q:
					c++
				default:
					z++
				}
				if n >= look { // between looks this close a miss does not come and go
					look = n + 1 + n/100
					low, high := diff.Interval(b, z, c, alpha)
					missed[run] = low > s.p-s.q || high < s.p-s.q
				}
			}
		})
		fmt.Printf("| %s | %d | %s | %s |\n", s.name, runs, share(count(missed), runs), share(most(runs), runs))
		broken = append(broken, exceeded("the interval of "+s.name, count(missed), runs)...)
	}
	return broken
}

// ratios is how often equal hosts with heavy tails are said to be of different speed by the ratio of their 99th
// percentiles, and from when on it is proven to be small.
func ratios(cfg config) (broken []string) {
	const requests = 20_000
	fmt.Printf("\n## The ratio of the 99th percentiles of two equal hosts, looked at every 200 of %s requests\n\n"+
		"| latency | runs | interval misses 1 | fails above | below 1.5 proven after, median |\n|---|---|---|---|---|\n", humanize.Comma(requests))
	for i, s := range []struct {
		name string
		of   func(*rand.Rand) time.Duration
	}{
		{"Pareto, no variance", pareto},
		{"lognormal, σ = 0.5", lognormal},
	} {
		runs := cfg.of(100)
		missed, proven := make([]bool, runs), make([]when, runs)
		each(runs, cfg.seed, uint64(700+i), func(run int, rnd *rand.Rand) {
			tally := diff.NewTally(nil)
			for n := 1; n <= requests; n++ {
				c := compared()
				c.Latency = diff.LatencyPair{Candidate: s.of(rnd), Secondary: s.of(rnd)}
				tally.Add(c)
				if n%200 != 0 {
					continue
				}
				all, _ := tally.Cut()
				v, _ := diff.Judge(all, diff.DefaultConfig())
				if bounds := v.Latency.P99Bounds; bounds != nil {
					missed[run] = missed[run] || bounds[0] > 1 || bounds[1] < 1
					if bounds[1] <= 1.5 && proven[run].twenty == 0 {
						proven[run].twenty = n
					}
				}
			}
		})
		fmt.Printf("| %s | %d | %s | %s | %s |\n", s.name, runs, share(count(missed), runs), share(most(runs), runs),
			quantile(proven, 0.5, func(w when) int { return w.twenty }))
		broken = append(broken, exceeded("the ratio's interval, "+s.name, count(missed), runs)...)
	}
	return broken
}

// proofs is what noise makes a proof cost, where it is just as frequent on both sides as it ought to be.
func proofs(config) []string {
	fmt.Print("\n## Requests that prove the corrected excess within a budget\n\n| noise on each side | 0.1 % | 1 % |\n|---|---|---|\n")
	for _, noise := range []float64{0, 0.001, 0.01, 0.25} {
		fmt.Printf("| %g %% | %s | %s |\n", 100*noise, needed(noise, 0.001), needed(noise, 0.01))
	}
	return nil
}

func needed(noise, budget float64) string {
	enough := func(n int64) bool {
		side := int64(noise*float64(n) + 0.5)
		_, high := diff.Interval(side, n-2*side, side, alpha)
		return high <= budget*(1-noise)
	}
	low, high := int64(0), int64(1)
	for !enough(high) {
		low, high = high, 2*high
	}
	for high-low > 1 {
		if mid := (low + high) / 2; enough(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return humanize.Comma(high)
}
