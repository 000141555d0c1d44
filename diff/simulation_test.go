package diff

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// The figures that documentation and verdict rest on, by simulation with fixed seeds: looked at after every request.

// pair says on which sides one request differs.
type pair func(rnd *rand.Rand) (candidate, control bool)

// either differs on the candidate's side alone with probability p, on the control's with q.
func either(p, q float64) pair {
	return func(rnd *rand.Rand) (bool, bool) {
		u := rnd.Float64()
		return u < p, u >= p && u < p+q
	}
}

// reached is the request at which the evidence first reaches a threshold, or 0.
func reached(rnd *rand.Rand, of pair, requests int, threshold float64, evidence func(b, c int64) float64) int {
	var b, c int64
	for i := 1; i <= requests; i++ {
		candidate, control := of(rnd)
		if candidate == control {
			continue
		}
		if candidate {
			b++
		} else {
			c++
		}
		if evidence(b, c) >= threshold {
			return i
		}
	}
	return 0
}

func TestFalseAlarmsStayBelowAlpha(t *testing.T) {
	const runs, requests = 400, 2000
	random := func(rnd *rand.Rand) (bool, bool) { // three booleans, independent
		p, s, c := rnd.IntN(2), rnd.IntN(2), rnd.IntN(2)
		return c != p, s != p
	}
	always := func(*rand.Rand) (bool, bool) { return true, true }
	jitter := func(rnd *rand.Rand) (bool, bool) { // which of two noisy numbers is greater
		a, b := rnd.NormFloat64(), rnd.NormFloat64()
		return a > b, a < b
	}
	for name, s := range map[string]struct {
		pair
		evidence func(b, c int64) float64
	}{
		"a random boolean": {random, Evidence},
		"rare noise":       {either(0.001, 0.001), Evidence},
		"always noisy":     {always, Evidence},
		"jitter":           {jitter, EvidenceTwoSided},
	} {
		rnd := rand.New(rand.NewPCG(7, 7))
		alarms := 0
		for range runs {
			if reached(rnd, s.pair, requests, math.Log(20), s.evidence) > 0 {
				alarms++
			}
		}
		t.Logf("%s: %.1f %% of runs reach 20", name, 100*float64(alarms)/runs)
		if alarms > runs*5/100 {
			t.Errorf("%s: %d of %d runs reach 20, more than 5 %%", name, alarms, runs)
		}
	}
}

func TestPowerIsWhatIsSaid(t *testing.T) {
	const runs = 201
	confirm := -math.Log(alphaAt(0.05, 25)) // a middle one among some sixty hypotheses
	for _, s := range []struct {
		name         string
		pair         pair
		evidence     func(b, c int64) float64
		atOnce, last int // median requests until E ≥ 20, and until confirmed as the 25th hypothesis
	}{
		{"a fault in 1 % of requests", either(0.01, 0), Evidence, 670, 1382},
		{"a fault in 5 %", either(0.05, 0), Evidence, 133, 273},
		{"5 points under 25 % noise", either(0.30, 0.25), Evidence, 1721, 3761},
		{"a format change under noise", either(1, 0), Evidence, 7, 14},
		{"a drift of 2 % under ±1 % jitter", either(1, 0), EvidenceTwoSided, 8, 15},
	} {
		for threshold, want := range map[float64]int{math.Log(20): s.atOnce, confirm: s.last} {
			rnd := rand.New(rand.NewPCG(11, 3))
			list := make([]int, runs)
			for i := range list {
				if list[i] = reached(rnd, s.pair, 30_000, threshold, s.evidence); list[i] == 0 {
					list[i] = 30_000
				}
			}
			slices.Sort(list)
			median := list[runs/2]
			t.Logf("%s: ln E of %.1f after %d requests, 95 %% within %d", s.name, threshold, median, list[runs*95/100])
			if math.Abs(float64(median-want)) > 1+0.2*float64(want) {
				t.Errorf("%s: ln E of %.1f after %d requests, want about %d", s.name, threshold, median, want)
			}
		}
	}
}

func TestIntervalsMissTheTruthSeldom(t *testing.T) {
	const runs, requests = 200, 4000
	bets := newMixture()
	for name, s := range map[string]struct{ p, q float64 }{
		"no excess under 25 % noise": {0.25, 0.25}, "an excess of 1 %": {0.01, 0}, "2 % against 1 %": {0.02, 0.01},
	} {
		rnd := rand.New(rand.NewPCG(5, 9))
		of, truth, missed := either(s.p, s.q), s.p-s.q, 0
		for range runs {
			var x scores
			for i := range requests {
				candidate, control := of(rnd)
				switch {
				case candidate:
					x.plus++
				case control:
					x.minus++
				default:
					x.zero++
				}
				// Between two looks that are this close a miss does not come and go.
				if i < 50 || i%10 == 0 {
					if bets.atMost(x, 0.05, truth) || bets.above(x, 0.05, truth) {
						missed++
						break
					}
				}
			}
		}
		t.Logf("%s: %.1f %% of intervals miss", name, 100*float64(missed)/runs)
		if missed > runs*5/100 {
			t.Errorf("%s: %d of %d intervals missed the truth, more than 5 %%", name, missed, runs)
		}
	}
}

// Sixty noisy fields and eight faults arrive one after another; the run is judged all along and confirmations latch.
func TestAWatchedRunMarksFaultsAndNoNoise(t *testing.T) {
	const runs, requests = 20, 1500
	marked, found := 0, 0
	for run := range runs {
		rnd := rand.New(rand.NewPCG(uint64(run), 1))
		tally, watch, seen := NewTally(nil), NewWatch(DefaultConfig()), map[string]bool{}
		for i := range requests {
			var fields []FieldComparison
			for k := range min(68, 1+i/10) {
				p, q := 0.05, 0.05
				name := "body.noise" + string(rune('0'+k))
				if k%8 == 7 {
					p, q, name = 0.1, 0.02, "body.fault"+string(rune('0'+k))
				}
				a, b := Level(0), Level(0)
				if rnd.Float64() < p {
					a = 1
				}
				if rnd.Float64() < q {
					b = 1
				}
				if a+b > 0 {
					fields = append(fields, at(name, a, b))
				}
			}
			tally.Add(compared("GET /a", fields...))
			if i%50 != 0 && i != requests-1 {
				continue
			}
			all, _ := tally.Cut()
			_, fresh := watch.Judge(all)
			tally.Confirm(fresh)
			for _, c := range fresh {
				seen[c.Field] = true
			}
		}
		noise, faults := false, 0
		for name := range seen {
			if name[:6] == "body.n" {
				noise = true
			} else {
				faults++
			}
		}
		if noise {
			marked++
		}
		found += faults
	}
	t.Logf("noise was marked in %d of %d runs; %d of %d faults were found", marked, runs, found, runs*8)
	if marked > 2 {
		t.Errorf("noise was marked in %d of %d runs", marked, runs)
	}
	if found < runs*8*9/10 {
		t.Errorf("only %d of %d faults were found", found, runs*8)
	}
}
