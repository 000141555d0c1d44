package diff

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// The promise: whoever looks after every request, and latches what is confirmed, sees noise marked in at most alpha of
// the runs. Here it is kept by the product's own Tally and evidence in few runs; `make bench-verdict` has many.

// noises are kinds of traffic in which the candidate is as good as the control.
func noises() map[string]func(rnd *rand.Rand) *Comparison {
	sign := func(x float64) int8 {
		switch {
		case x > 0:
			return 1
		case x < 0:
			return -1
		}
		return 0
	}
	yes := func(is bool) Level {
		if is {
			return 1
		}
		return 0
	}
	boolean := func(rnd *rand.Rand) FieldComparison {
		p, s, c := rnd.IntN(2), rnd.IntN(2), rnd.IntN(2)
		f := at("body.boolean", yes(c != p), yes(s != p))
		f.Drift, f.Trait = int8(c-s), int8(s-p)
		return f
	}
	answered := func(rnd *rand.Rand, candidate, control float64) *Comparison {
		c, s := rnd.Float64() < candidate, rnd.Float64() < control
		switch {
		case c && s:
			return &Comparison{Route: "GET /a", Unknown: "shadows_failed"}
		case c:
			failed := compared("GET /a", candidateFails)
			failed.Failed = true
			return failed
		case s:
			failed := compared("GET /a", controlFails)
			failed.Failed = true
			return failed
		}
		return compared("GET /a", boolean(rnd))
	}
	return map[string]func(rnd *rand.Rand) *Comparison{
		"a random boolean": func(rnd *rand.Rand) *Comparison { return compared("GET /a", boolean(rnd)) },
		"rare noise": func(rnd *rand.Rand) *Comparison {
			return compared("GET /a", at("body.x", yes(rnd.Float64() < 0.001), yes(rnd.Float64() < 0.001)))
		},
		"an always-noisy timestamp": func(rnd *rand.Rand) *Comparison {
			f := at("body.at", 1, 1)
			f.Drift, f.Trait = sign(rnd.NormFloat64()), sign(2+rnd.NormFloat64())
			return compared("GET /a", f)
		},
		"a noisy array": func(rnd *rand.Rand) *Comparison {
			f := FieldComparison{Field: "body.items[].price"}
			for range 20 {
				f.CandidatePlaces += int(yes(rnd.IntN(10) == 0))
				f.ControlPlaces += int(yes(rnd.IntN(10) == 0))
			}
			f.Candidate, f.Control = yes(f.CandidatePlaces > 0), yes(f.ControlPlaces > 0)
			f.Drift = sign(rnd.NormFloat64())
			return compared("GET /a", f)
		},
		"a jittering number": func(rnd *rand.Rand) *Comparison {
			p, s, c := rnd.NormFloat64(), rnd.NormFloat64(), rnd.NormFloat64()
			f := at("body.score", 1, 1)
			f.Drift, f.Trait = sign(c-s), sign(s-p)
			return compared("GET /a", f)
		},
		"heavy-tailed latency": func(rnd *rand.Rand) *Comparison {
			c := compared("GET /a")
			pareto := func() time.Duration { return time.Duration(1e6 * math.Pow(1-rnd.Float64(), -1/1.5)) }
			c.Latency = LatencyPair{pareto(), pareto()}
			return c
		},
		"whichever is asked second fails ten times as often": func(rnd *rand.Rand) *Comparison {
			if rnd.IntN(2) == 0 {
				return answered(rnd, 0.02, 0.002)
			}
			return answered(rnd, 0.002, 0.02)
		},
		"the secondary fails ten times as often": func(rnd *rand.Rand) *Comparison { return answered(rnd, 0.002, 0.02) },
		"the candidate fails ten times as often": func(rnd *rand.Rand) *Comparison { return answered(rnd, 0.04, 0.004) },
	}
}

// watchful looks at every test of the rows that the last request changed, as the judge does at all.
func watchful(w *Watch, tally *Tally) {
	all, changed := tally.Cut()
	w.now = minuteOf(all.Total.Last)
	var fresh []Confirmed
	for _, f := range changed.Fields {
		var st standing
		st.row = f
		st.read(w, all.Total.Compared, all.Total.Last)
		fresh = append(fresh, st.fresh...)
	}
	for _, r := range append(changed.Routes, &all.Total) {
		if l := &r.Latency; l.Confirmed == nil && Evidence(l.Slower, l.Faster) >= -math.Log(alphaAt(w.cfg.Alpha, l.Order)) {
			fresh = append(fresh, Confirmed{r.Route, fieldLatency, TestDrift, Confirmation{}})
		}
	}
	if c := all.Transport; c.Confirmed == nil && Evidence(c.CandidateOnly, c.ControlOnly) >= -math.Log(transportShare*w.cfg.Alpha) {
		fresh = append(fresh, Confirmed{"", fieldTransport, TestPresence, Confirmation{}})
	}
	tally.Confirm(fresh)
}

// confirmedIn lists what was confirmed of a run.
func confirmedIn(all *Tallies) (list []string) {
	for _, f := range all.Fields {
		if slices.ContainsFunc(f.Tests[:], func(t TestTally) bool { return t.Confirmed != nil }) {
			list = append(list, f.Field)
		}
	}
	for _, r := range append(slices.Clone(all.Routes), &all.Total) {
		if r.Latency.Confirmed != nil {
			list = append(list, fieldLatency)
		}
	}
	if all.Transport.Confirmed != nil {
		list = append(list, fieldTransport)
	}
	return list
}

func TestThePromiseIsKeptForEveryKindOfNoise(t *testing.T) {
	const runs, requests = 40, 1000
	for name, of := range noises() {
		t.Run(name, func(t *testing.T) {
			alarms := 0
			for run := range uint64(runs) {
				rnd, tally, watch := rand.New(rand.NewPCG(run, 21)), NewTally(nil), NewWatch(DefaultConfig())
				for range requests {
					tally.Add(of(rnd))
					watchful(watch, tally)
				}
				all, _ := tally.Cut()
				found := confirmedIn(all)
				if strings.HasPrefix(name, "the candidate fails") { // it does: of the other fields nothing may be said
					if !slices.Contains(found, fieldTransport) {
						t.Error("a candidate that fails ten times as often was not noticed")
					}
					found = slices.DeleteFunc(found, func(field string) bool { return field == fieldTransport })
				}
				if len(found) > 0 {
					alarms++
				}
			}
			t.Logf("noise was marked in %d of %d runs", alarms, runs)
			if alarms > runs*5/100 {
				t.Errorf("noise was marked in %d of %d runs, more than 5 %%", alarms, runs)
			}
		})
	}
}

// A thousand noisy fields arrive one after another beside 24 true faults.
func TestThePromiseIsKeptForAThousandFields(t *testing.T) {
	const runs, requests, noisy, faults = 3, 2500, 1000, 24
	alarms, found := 0, 0
	for run := range uint64(runs) {
		rnd, tally, watch := rand.New(rand.NewPCG(run, 22)), NewTally(nil), NewWatch(DefaultConfig())
		names, rates := make([]string, noisy+faults), make([]float64, noisy+faults)
		for place, k := range rnd.Perm(noisy + faults) {
			names[k], rates[k] = fmt.Sprintf("body.noise%d", k), 0.002*math.Pow(50, rnd.Float64())
			if place < faults {
				names[k] = fmt.Sprintf("body.fault%d", k)
			}
		}
		for request := range requests {
			var fields []FieldComparison
			for k := range min(len(names), 1+request) {
				p := rates[k]
				if strings.HasPrefix(names[k], "body.fault") {
					p += 0.1
				}
				var candidate, control Level
				if rnd.Float64() < p {
					candidate = 1
				}
				if rnd.Float64() < rates[k] {
					control = 1
				}
				if candidate+control > 0 {
					fields = append(fields, at(names[k], candidate, control))
				}
			}
			tally.Add(compared("GET /a", fields...))
			watchful(watch, tally)
		}
		all, _ := tally.Cut()
		noise := false
		for _, field := range confirmedIn(all) {
			if strings.HasPrefix(field, "body.noise") {
				noise = true
			} else {
				found++
			}
		}
		if noise {
			alarms++
		}
	}
	t.Logf("noise was marked in %d of %d runs; %d of %d faults were found", alarms, runs, found, runs*faults)
	if alarms > 0 {
		t.Errorf("noise was marked in %d of %d runs", alarms, runs)
	}
	if found < runs*faults*9/10 {
		t.Errorf("only %d of %d faults were found", found, runs*faults)
	}
}

// What looks at the changed rows alone confirms what Watch.Judge confirms, at the same request.
func TestLookingAtWhatChangedConfirmsWhatTheJudgeDoes(t *testing.T) {
	for name, of := range noises() {
		rnd, again := rand.New(rand.NewPCG(5, 23)), rand.New(rand.NewPCG(5, 23))
		quick, slow := NewTally(nil), NewTally(nil)
		look, judge := NewWatch(DefaultConfig()), NewWatch(DefaultConfig())
		bad := at("body.bad", 1, 0)
		for i := range 300 {
			a, b := of(rnd), of(again)
			if i%9 == 0 && a.Unknown == "" && !a.Failed {
				a.Fields, b.Fields = append(a.Fields, bad), append(b.Fields, bad)
			}
			quick.Add(a)
			slow.Add(b)
			watchful(look, quick)
			all, _ := slow.Cut()
			_, fresh := judge.Judge(all)
			slow.Confirm(fresh)
			x, _ := quick.Cut()
			y, _ := slow.Cut()
			if !slices.Equal(confirmedIn(x), confirmedIn(y)) {
				t.Fatalf("%s: after %d requests %v, the judge has %v", name, i+1, confirmedIn(x), confirmedIn(y))
			}
		}
		all, _ := quick.Cut()
		if !slices.Contains(confirmedIn(all), "body.bad") {
			t.Errorf("%s: the fault was not found: %v", name, confirmedIn(all))
		}
	}
}
