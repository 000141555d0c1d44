package diff

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// A course is the same in whatever order requests come, and however they are split and added up.
func TestACourseDoesNotDependOnOrderOrSplit(t *testing.T) {
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 6))
		base, width := int64(rnd.IntN(1<<25)), 1<<rnd.IntN(14)
		list := make([]int64, 1+rnd.IntN(60))
		for i := range list {
			list[i] = base + int64(rnd.IntN(width))
		}
		var whole, sum Course
		parts := make([]Course, 1+rnd.IntN(4))
		for _, minute := range list {
			whole.add(minute, 0, Span{Compared: 1, Noise: minute % 2})
		}
		for _, k := range rnd.Perm(len(list)) {
			parts[rnd.IntN(len(parts))].add(list[k], 0, Span{Compared: 1, Noise: list[k] % 2})
		}
		for _, k := range rnd.Perm(len(parts)) {
			sum.merge(&parts[k])
		}
		same(t, fmt.Sprintf("seed %d", seed), sum, whole)
		var compared int64
		for _, s := range whole.Spans {
			compared += s.Compared
		}
		same(t, "compared", compared, int64(len(list)))
	}
}

func TestACourseWidensAsTheRunGoesOn(t *testing.T) {
	var c Course
	for minute := range int64(8) {
		c.add(1024+minute, 0, Span{Compared: 1})
	}
	same(t, "eight minutes", []any{c.Shift, c.First, c.Used}, []any{uint8(0), int64(1024), int64(8)})
	c.add(1024+8, 0, Span{Compared: 5})
	same(t, "nine minutes", c, Course{Shift: 1, First: 512, Used: 5, Spans: [8]Span{{Compared: 2}, {Compared: 2}, {Compared: 2}, {Compared: 2}, {Compared: 5}}})
	same(t, "the first four", c.within(1024, 1028), Span{Compared: 4})
	var hostile Course // a clock that jumps from one end to the other
	hostile.add(-1<<31, 0, Span{Compared: 1})
	hostile.add(1<<31-1, 0, Span{Compared: 1})
	same(t, "from one end of time to the other", hostile.within(-1<<40, 1<<40), Span{Compared: 2})
}

// worse are the asides about what has risen, of a run of two hours whose noise and errors are as of says for each route
// and minute.
func worse(t *testing.T, seed uint64, routes func(minute int) (requests []int), of func(route, minute int) (noise, errors float64)) []string {
	t.Helper()
	rnd, tally := rand.New(rand.NewPCG(seed, 9)), NewTally(nil)
	seen := map[string]bool{}
	for minute := range 120 {
		for route, n := range routes(minute) {
			noise, errors := of(route, minute)
			for range n {
				var fields []FieldComparison
				if rnd.Float64() < noise {
					fields = append(fields, at("body.x", 0, 1))
				}
				c := compared(fmt.Sprintf("GET /%d", route), fields...)
				c.Time, c.PrimaryError = noon.Add(time.Duration(minute)*time.Minute), rnd.Float64() < errors
				tally.Add(c)
			}
		}
		all, _ := tally.Cut()
		for _, said := range worsened(all) { // looked at every minute
			seen[said[:strings.Index(said, " since")]] = true
		}
	}
	var list []string
	for _, what := range []string{"beside the verdict: the noise has risen", "beside the verdict: the primary's errors have risen"} {
		if seen[what] {
			list = append(list, what)
		}
	}
	return list
}

func TestARiseOfNoiseOrErrorsIsSaid(t *testing.T) {
	steady := func(int) []int { return []int{150, 100} }
	same(t, "noise four times as much", worse(t, 1, steady, func(_, minute int) (float64, float64) {
		return []float64{0.02, 0.08}[minute/60], 0.001
	}), []string{"beside the verdict: the noise has risen"})
	same(t, "the primary's errors", worse(t, 1, steady, func(_, minute int) (float64, float64) {
		return 0.1, []float64{0.001, 0.05}[minute/60]
	}), []string{"beside the verdict: the primary's errors have risen"})
}

func TestNoWolfIsCried(t *testing.T) {
	none := []string(nil)
	for seed := range uint64(3) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		same(t, "noise as ever", worse(t, seed, func(int) []int { return []int{150, 100} },
			func(int, int) (float64, float64) { return 0.25, 0.02 }), none)
		same(t, "traffic that moves to a noisy route", worse(t, seed, func(minute int) []int { return []int{240 - 2*minute, 20 + 2*minute} },
			func(route, _ int) (float64, float64) { return []float64{0.01, 0.5}[route], []float64{0, 0.1}[route] }), none)
		same(t, "one bad minute", worse(t, seed, func(int) []int { return []int{600} }, func(_, minute int) (float64, float64) {
			if minute == 100 {
				return 0.1, 0.2
			}
			return 0.02, 0.001
		}), none)
		same(t, "noise that comes and goes by half", worse(t, seed, func(int) []int { return []int{200 + rnd.IntN(100)} },
			func(int, int) (float64, float64) { return 0.05 + 0.04*rnd.Float64(), 0.001 }), none)
		same(t, "little traffic", worse(t, seed, func(int) []int { return []int{3} },
			func(_, minute int) (float64, float64) { return []float64{0.1, 0.4}[minute/60], 0 }), none)
	}
}

// What has risen stands beside the verdict and decides nothing.
func TestARiseStandsBesideTheVerdict(t *testing.T) {
	tally := NewTally(nil)
	for i := range 60_000 {
		var fields []FieldComparison
		if k := i % 100; k < 1 || i >= 30_000 && k < 10 {
			fields = append(fields, at("body.x", 1, 1))
		}
		c := compared("GET /a", fields...)
		c.Time = noon.Add(time.Duration(i) * 100 * time.Millisecond)
		tally.Add(c)
	}
	want(t, judged(t, tally), Equivalent,
		"at most 0.0082 % of the requests differ because of the candidate, within the budget of 0.1 %",
		"beside the verdict: the noise has risen since the run began, from 1 % of the requests to 10 %: it may be the candidate's load on what all three share")
}
