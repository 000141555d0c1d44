package diff

import (
	"math/rand/v2"
	"testing"
	"time"
)

// instance keeps a number for some requests, as its own cache would, and then another.
type instance struct{ number, left int }

func (s *instance) ask(rnd *rand.Rand, kept int) int {
	if s.left == 0 {
		s.number, s.left = rnd.IntN(1000), max(kept/2+rnd.IntN(kept), 1)
	}
	s.left--
	return s.number
}

// driftOf judges a run of an always-noisy number that each instance keeps for some requests, the candidate's with some
// more, and tells after how many requests it has drifted; 0 if it has not.
func driftOf(seed uint64, kept, requests, more int) int {
	rnd := rand.New(rand.NewPCG(seed, 8))
	sign := func(x int) int8 { return int8(min(max(x, -1), 1)) }
	tally, watch := NewTally(nil), NewWatch(DefaultConfig())
	var p, s, c instance
	for i := range requests {
		a, b, d := p.ask(rnd, kept), s.ask(rnd, kept), c.ask(rnd, kept)+more
		one := at("body.rate", 1, 1)
		one.Drift, one.Trait = sign(d-b), sign(b-a)
		this := compared("GET /a", one)
		this.Time = noon.Add(time.Duration(i) * time.Second / 2)
		tally.Add(this)
		if i%20 != 19 {
			continue
		}
		all, _ := tally.Cut()
		if _, fresh := watch.Judge(all); len(fresh) > 0 {
			return i + 1
		}
	}
	return 0
}

// What an instance keeps for a while is no drift: it is greater for a stretch, and less for another.
func TestWhatInstancesKeepForAWhileIsNoDrift(t *testing.T) {
	const runs = 24
	for _, kept := range []int{1, 10, 100, 500} {
		alarms := 0
		for seed := range uint64(runs) {
			if driftOf(seed, kept, 3000, 0) > 0 {
				alarms++
			}
		}
		t.Logf("kept for %d requests: a drift in %d of %d runs", kept, alarms, runs)
		if alarms > runs/10 {
			t.Errorf("kept for %d requests: a drift in %d of %d runs", kept, alarms, runs)
		}
	}
}

// A drift under it takes as many stretches as it takes requests without.
func TestADriftIsFoundThoughInstancesKeepForAWhile(t *testing.T) {
	for _, test := range []struct{ kept, within int }{{1, 200}, {10, 1500}, {50, 8000}} {
		for seed := range uint64(10) {
			if driftOf(seed, test.kept, test.within, 1000) == 0 {
				t.Errorf("kept for %d requests: not found in %d", test.kept, test.within)
			}
		}
	}
}
