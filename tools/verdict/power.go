package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"shadowdiff/diff"
)

// middle is the j of a hypothesis in the middle of some sixty.
const middle = 25

// real is a difference that is there: p of the requests differ on the candidate's side alone, q on the control's alone,
// both of them on both.
type real struct {
	name       string
	p, q, both float64
	evidence   func(b, c int64) float64
}

// when is how many requests one run took.
type when struct {
	twenty, confirmed, diffy int
	still                    bool // Diffy's rule flags it when ours confirms
}

// watched looks at a difference after every request until it is confirmed; 0 is never.
func (r real) watched(rnd *rand.Rand, limit int) (w when) {
	var b, c, both int64
	confirm, look := threshold(middle), int64(0)
	for i := 1; i <= limit; i++ {
		switch u := rnd.Float64(); {
		case u < r.p:
			b++
		case u < r.p+r.q:
			c++
		case u < r.p+r.q+r.both:
			both++
			continue
		default:
			continue
		}
		if w.diffy == 0 && diffyFlags(b+both, c+both, int64(i)) {
			w.diffy = i
		}
		if b+c < look || far(b, c) {
			continue
		}
		look = b + c + (b+c)/500 // beyond 500 discordant requests, at every 0.2 % more of them
		lnE := r.evidence(b, c)
		if w.twenty == 0 && lnE >= math.Log(20) {
			w.twenty = i
		}
		if lnE >= confirm {
			w.confirmed, w.still = i, diffyFlags(b+both, c+both, int64(i))
			return w
		}
	}
	return w
}

// far tells of counts so even that E is below 1, without computing it: a difference of less than one and a half standard
// errors.
func far(b, c int64) bool {
	n := float64(b + c)
	return n > 100 && math.Abs(float64(b-c)) < 1.5*math.Sqrt(n)
}

// all watches so many runs.
func (r real) all(cfg config, runs, limit int, part uint64) []when {
	list := make([]when, runs)
	each(runs, cfg.seed, part, func(run int, rnd *rand.Rand) { list[run] = r.watched(rnd, limit) })
	return list
}

// quantile is the request by which a share of the runs had something; 0 of a run is never.
func quantile(list []when, q float64, of func(when) int) string {
	all := make([]int, len(list))
	for i, w := range list {
		if all[i] = of(w); all[i] == 0 {
			all[i] = math.MaxInt
		}
	}
	slices.Sort(all)
	at := all[min(int(q*float64(len(all))), len(all)-1)]
	if at == math.MaxInt {
		return "never"
	}
	return strconv.Itoa(at)
}

// power is how soon differences are found.
func power(cfg config) []string {
	runs := cfg.of(2000)
	fmt.Printf("\n## Requests until a difference is found: median (95 %%), %d runs\n\n| | E ≥ 20 | confirmed, as the %dth |\n|---|---|---|\n", runs, middle)
	for i, r := range []real{
		{"a fault in 1 % of the requests", 0.01, 0, 0, diff.Evidence},
		{"in 5 %", 0.05, 0, 0, diff.Evidence},
		{"5 points more, under 25 % noise on each side", 0.30, 0.25, 0, diff.Evidence},
		{"a format change under 100 % noise, or 37 places against 1", 1, 0, 0, diff.Evidence},
		{"a drift of 2 % under ±1 % of jitter", 1, 0, 0, diff.EvidenceTwoSided},
	} {
		list := r.all(cfg, runs, 100_000, uint64(400+i))
		of := func(q float64, what func(when) int) string { return quantile(list, q, what) }
		twenty, confirmed := func(w when) int { return w.twenty }, func(w when) int { return w.confirmed }
		fmt.Printf("| %s | %s (%s) | %s (%s) |\n", r.name, of(0.5, twenty), of(0.95, twenty), of(0.5, confirmed), of(0.95, confirmed))
	}
	return nil
}

// found sets a real difference beside Diffy's rule, alone and under noise.
func found(cfg config) (broken []string) {
	fmt.Printf("\n## A real difference, beside Diffy's rule: median requests\n\n" +
		"| more on the candidate's side | noise on each side | runs | E ≥ 20 | confirmed, as the 25th | Diffy's rule: first flagged | flagged at that time | of noise alone it flags |\n|---|---|---|---|---|---|---|---|\n")
	part := uint64(500)
	for _, noise := range []float64{0, 0.01, 0.25} {
		for _, more := range []float64{0.001, 0.01, 0.05} {
			runs, limit := cfg.of(400), 400_000
			if more == 0.001 && noise > 0 {
				runs, limit = cfg.of(100), 20_000_000
			}
			r := real{"", more + noise*(1-noise), noise * (1 - noise), noise * noise, diff.Evidence}
			list := r.all(cfg, runs, limit, part)
			still, alone, alarms := 0, real{"", noise * (1 - noise), noise * (1 - noise), noise * noise, diff.Evidence}, 0
			for _, w := range list {
				still += one(w.still)
			}
			for _, w := range alone.all(cfg, runs, 5000, part+50) {
				alarms += one(w.diffy > 0)
			}
			part++
			fmt.Printf("| %g %% | %g %% | %d | %s | %s | %s | %s | %s |\n", 100*more, 100*noise, runs,
				quantile(list, 0.5, func(w when) int { return w.twenty }), quantile(list, 0.5, func(w when) int { return w.confirmed }),
				quantile(list, 0.5, func(w when) int { return w.diffy }), share(still, runs), share(alarms, runs))
			if quantile(list, 0.95, func(w when) int { return w.confirmed }) == "never" {
				broken = append(broken, fmt.Sprintf("%g %% more under %g %% noise is not found in %d requests", 100*more, 100*noise, limit))
			}
		}
	}
	return broken
}
