package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"

	"shadowdiff/diff"
)

// each runs something for every number below n, on all cores. Every run has random numbers of its own, so that the
// order has no part in what comes out.
func each(n int, seed, part uint64, do func(run int, rnd *rand.Rand)) {
	var wait sync.WaitGroup
	next := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			for run := range next {
				do(run, rand.New(rand.NewPCG(seed<<32|part, uint64(run))))
			}
		})
	}
	for run := range n {
		next <- run
	}
	close(next)
	wait.Wait()
}

// most is how many of so many runs may go wrong: more would happen once in ten thousand times if each went wrong with
// the chance alpha.
func most(runs int) int {
	// P(X ≥ k) for the binomial distribution, summed from the top.
	logs := func(k int) float64 {
		n, x := float64(runs), float64(k)
		choose, _ := math.Lgamma(n + 1)
		a, _ := math.Lgamma(x + 1)
		b, _ := math.Lgamma(n - x + 1)
		return choose - a - b + x*math.Log(alpha) + (n-x)*math.Log1p(-alpha)
	}
	above := 0.0
	for k := runs; k > 0; k-- {
		if above += math.Exp(logs(k)); above > 1e-4 {
			return k
		}
	}
	return 0
}

func share(part, all int) string { return fmt.Sprintf("%.1f %%", 100*float64(part)/float64(all)) }

func count(list []bool) (n int) {
	for _, yes := range list {
		n += one(yes)
	}
	return n
}

// exceeded says that something went wrong in more runs than chance has it.
func exceeded(what string, wrong, runs int) []string {
	if wrong <= most(runs) {
		return nil
	}
	return []string{fmt.Sprintf("%s: in %d of %d runs, more than %d", what, wrong, runs, most(runs))}
}

// falseAlarms watches noise after every request.
func falseAlarms(cfg config) (broken []string) {
	fmt.Print("\n## Noise that is ever marked, in runs of 5,000 requests\n\n" +
		"| no real difference | runs | shadowdiff | E ≥ 20, one test | Diffy's rule | z-test at 5 % | fails above |\n|---|---|---|---|---|---|---|\n")
	for i, w := range worlds() {
		runs, part := cfg.of(w.runs), uint64(100+i)
		broken = append(broken, agrees(cfg, w.name, w.begin, part)...)
		ours, twenty, diffy, z := make([]bool, runs), make([]bool, runs), make([]bool, runs), make([]bool, runs)
		each(runs, cfg.seed, part, func(run int, rnd *rand.Rand) {
			next, watch := w.begin(rnd), newWatcher()
			for range w.requests {
				for _, f := range watch.add(next()) {
					if t := f.Tests[diff.TestValue]; f.Field != "transport" { // of one test alone
						twenty[run] = twenty[run] || diff.Evidence(t.CandidateOnly, t.ControlOnly) >= math.Log(20)
						z[run] = z[run] || zFlags(t.CandidateOnly, t.ControlOnly)
					}
				}
			}
			for m := range watch.known {
				ours[run] = ours[run] || w.fault == nil || !w.fault(m.field)
			}
			for field := range watch.diffy {
				diffy[run] = diffy[run] || w.fault == nil || !w.fault(field)
			}
		})
		fmt.Printf("| %s | %d | %s | %s | %s | %s | %s |\n", w.name, runs, share(count(ours), runs), share(count(twenty), runs),
			share(count(diffy), runs), share(count(z), runs), share(most(runs), runs))
		broken = append(broken, exceeded(w.name+": marked", count(ours), runs)...)
		broken = append(broken, exceeded(w.name+": E ≥ 20", count(twenty), runs)...)
	}
	return broken
}

// zFlags is the ordinary one-sided test, which is meant to be looked at once.
func zFlags(b, c int64) bool {
	return b > c && float64(b-c)/math.Sqrt(float64(b+c)) > 1.6449
}

// agrees has Watch.Judge say whether it marks what the simulation does, over two short runs.
func agrees(cfg config, name string, begin func(*rand.Rand) func() *diff.Comparison, part uint64) (broken []string) {
	errs := make([]error, 2)
	each(len(errs), cfg.seed, part<<8, func(run int, rnd *rand.Rand) { errs[run] = checked(begin(rnd), cfg.of(600)) })
	for _, err := range errs {
		if err != nil {
			broken = append(broken, name+": "+err.Error())
		}
	}
	return broken
}

// onceLooked looks at rare noise once, after 1,000 requests.
func onceLooked(cfg config) []string {
	runs := cfg.of(20_000)
	diffy, ours := make([]bool, runs), make([]bool, runs)
	each(runs, cfg.seed, 200, func(run int, rnd *rand.Rand) {
		var b, c, both int64
		for range 1000 {
			switch x, y := rnd.Float64() < 0.001, rnd.Float64() < 0.001; {
			case x && y:
				both++
			case x:
				b++
			case y:
				c++
			}
		}
		diffy[run], ours[run] = diffyFlags(b+both, c+both, 1000), diff.Evidence(b, c) >= math.Log(20)
	})
	fmt.Printf("\nRare noise (0.1 %% on each side), looked at once after 1,000 requests, %d runs: Diffy's rule %s, E ≥ 20 %.2f %%.\n",
		runs, share(count(diffy), runs), 100*float64(count(ours))/float64(runs))
	return exceeded("rare noise, looked at once", count(ours), runs)
}

// manyFields has fields arrive one after another, with faults among them.
func manyFields(cfg config) (broken []string) {
	fmt.Print("\n## Fields that arrive one after another, with true faults among them\n\n" +
		"| noisy fields, faults | requests | runs | shadowdiff marks noise | faults found | latched e-BH marks noise | Diffy's rule | fails above |\n|---|---|---|---|---|---|---|---|\n")
	for i, m := range []struct {
		arrival
		requests, runs, look int
	}{
		{arrival{60, 8, 50, 0.25, 0.25, 0.2, true}, 5000, 300, 10},
		{arrival{1000, 24, 4, 0.002, 0.1, 0.05, false}, 6000, 150, 100},
	} {
		runs, part := cfg.of(m.runs), uint64(300+i)
		broken = append(broken, agrees(cfg, fmt.Sprintf("%d noisy fields", m.noisy), m.begin, part)...)
		ours, ebh, diffy, faults := make([]bool, runs), make([]bool, runs), make([]bool, runs), make([]int, runs)
		each(runs, cfg.seed, part, func(run int, rnd *rand.Rand) {
			next, watch, latched := m.begin(rnd), newWatcher(), map[string]bool{}
			for request := range m.requests {
				watch.add(next())
				if request%m.look == 0 { // a look at each request would only add to its alarms
					all, _ := watch.tally.Cut()
					eBH(all, latched)
				}
			}
			seen := map[string]bool{}
			for mark := range watch.known {
				seen[mark.field] = true
			}
			for field := range seen {
				ours[run] = ours[run] || isNoise(field)
				faults[run] += one(!isNoise(field))
			}
			for field := range latched {
				ebh[run] = ebh[run] || isNoise(field)
			}
			for field := range watch.diffy {
				diffy[run] = diffy[run] || isNoise(field)
			}
		})
		found := 0
		for _, n := range faults {
			found += n
		}
		what := fmt.Sprintf("%d noisy fields beside %d faults", m.noisy, m.faults)
		fmt.Printf("| %d, %d | %d | %d | %s | %s | %s | %s | %s |\n", m.noisy, m.faults, m.requests, runs, share(count(ours), runs),
			share(found, runs*m.faults), share(count(ebh), runs), share(count(diffy), runs), share(most(runs), runs))
		broken = append(broken, exceeded(what, count(ours), runs)...)
	}
	return broken
}

func isNoise(field string) bool { return strings.HasPrefix(field, "body.noise") }

// eBH is the obvious procedure: the k fields with most evidence are marked where the k-th has E ≥ K/(alpha·k), for the
// greatest k, K being how many fields have shown a discordant request; and what is marked stays so.
func eBH(all *diff.Tallies, latched map[string]bool) {
	type field struct {
		name string
		lnE  float64
	}
	var list []field
	for _, f := range all.Fields {
		if t := f.Tests[diff.TestValue]; t.CandidateOnly+t.ControlOnly > 0 {
			list = append(list, field{f.Field, diff.Evidence(t.CandidateOnly, t.ControlOnly)})
		}
	}
	slices.SortFunc(list, func(a, b field) int { return one(a.lnE < b.lnE) - one(a.lnE > b.lnE) })
	for k := len(list); k > 0; k-- {
		if list[k-1].lnE >= math.Log(float64(len(list))/(alpha*float64(k))) {
			for _, f := range list[:k] {
				latched[f.name] = true
			}
			return
		}
	}
}
