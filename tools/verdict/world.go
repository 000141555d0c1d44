package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"shadowdiff/diff"
)

// world is a kind of traffic in which the candidate is as good as the control, but for the faults that it names.
type world struct {
	name     string
	requests int
	runs     int
	begin    func(rnd *rand.Rand) func() *diff.Comparison // one run's requests
	fault    func(field string) bool                      // a mark of it is right; nil: none is
}

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// compared is what the comparer makes of what it found at each field.
func compared(fields ...diff.FieldComparison) *diff.Comparison {
	c := &diff.Comparison{Time: noon, Route: "GET /a", Result: diff.Agree, Fields: fields}
	for _, f := range fields {
		c.Raw = c.Raw || f.Candidate > 0
		c.Noise = c.Noise || f.Control > 0
		c.CandidateUp = c.CandidateUp || f.Candidate > f.Control
		c.ControlUp = c.ControlUp || f.Control > f.Candidate
	}
	switch {
	case c.CandidateUp && !c.ControlUp:
		c.Result = diff.CandidateOnly
	case c.ControlUp && !c.CandidateUp:
		c.Result = diff.ControlOnly
	case c.Raw || c.Noise:
		c.Result = diff.Both
	}
	return c
}

// at is a field that differs at so many places on either side, at one level.
func at(field string, candidate, control int) diff.FieldComparison {
	return diff.FieldComparison{
		Field: field, Candidate: diff.Level(min(candidate, 1)), Control: diff.Level(min(control, 1)),
		CandidatePlaces: candidate, ControlPlaces: control,
	}
}

func one(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

func sign(x float64) int8 { return int8(one(x > 0) - one(x < 0)) }

// always is a kind of traffic whose requests have nothing to do with one another.
func always(of func(rnd *rand.Rand) *diff.Comparison) func(rnd *rand.Rand) func() *diff.Comparison {
	return func(rnd *rand.Rand) func() *diff.Comparison { return func() *diff.Comparison { return of(rnd) } }
}

func randomBoolean(rnd *rand.Rand) diff.FieldComparison {
	p, s, c := rnd.IntN(2), rnd.IntN(2), rnd.IntN(2)
	f := at("body.boolean", one(c != p), one(s != p))
	f.Drift, f.Trait = int8(c-s), int8(s-p)
	return f
}

// worlds are the kinds of noise that are watched.
func worlds() []world {
	return []world{
		{"a random boolean", 5000, 400, always(func(rnd *rand.Rand) *diff.Comparison { return compared(randomBoolean(rnd)) }), nil},
		{"candidate-only and control-only 25 % each", 5000, 400, always(func(rnd *rand.Rand) *diff.Comparison {
			u := rnd.IntN(4)
			return compared(at("body.x", one(u == 0), one(u == 1)))
		}), nil},
		{"rare noise (0.1 % on each side)", 5000, 400, always(func(rnd *rand.Rand) *diff.Comparison {
			return compared(at("body.x", one(rnd.Float64() < 0.001), one(rnd.Float64() < 0.001)))
		}), nil},
		{"an always-noisy timestamp, as a number", 5000, 400, always(func(rnd *rand.Rand) *diff.Comparison {
			f := at("body.at", 1, 1) // both shadows are asked later than the primary
			f.Drift, f.Trait = sign(rnd.NormFloat64()), sign(2+rnd.NormFloat64())
			return compared(f)
		}), nil},
		{"a noisy array of 20 numbers", 5000, 400, always(noisyArray), nil},
		{"a number that jitters by 1 %", 5000, 400, always(func(rnd *rand.Rand) *diff.Comparison {
			p, s, c := rnd.NormFloat64(), rnd.NormFloat64(), rnd.NormFloat64()
			f := at("body.score", 1, 1)
			f.Drift, f.Trait = sign(c-s), sign(s-p)
			return compared(f)
		}), nil},
		{"heavy-tailed latency (Pareto, no variance)", 5000, 200, always(func(rnd *rand.Rand) *diff.Comparison {
			c := compared()
			c.Latency = diff.LatencyPair{Candidate: pareto(rnd), Secondary: pareto(rnd)}
			return c
		}), nil},
		{"whichever is asked second fails ten times as often", 5000, 400, always(func(rnd *rand.Rand) *diff.Comparison {
			chances := [2]float64{0.02, 0.002}
			second := rnd.IntN(2)
			return answered(rnd, chances[second], chances[1-second])
		}), nil},
		{"the secondary fails ten times as often", 5000, 400, always(func(rnd *rand.Rand) *diff.Comparison {
			return answered(rnd, 0.002, 0.02)
		}), nil},
		{"the candidate fails ten times as often: other fields", 5000, 400, always(func(rnd *rand.Rand) *diff.Comparison {
			return answered(rnd, 0.02, 0.002)
		}), func(field string) bool { return field == "transport" }},
	}
}

func noisyArray(rnd *rand.Rand) *diff.Comparison {
	var places [2]int
	var sum float64
	for range 20 {
		for side := range places {
			if rnd.IntN(10) == 0 {
				places[side]++
				sum += float64(1-2*side) * rnd.NormFloat64()
			}
		}
	}
	f := at("body.items[].price", places[0], places[1])
	f.Drift = sign(sum)
	return compared(f)
}

func pareto(rnd *rand.Rand) time.Duration {
	return time.Duration(float64(time.Millisecond) * math.Pow(1-rnd.Float64(), -1/1.5))
}

// answered is a request to shadows that fail with some chance, and whose answers have a random boolean.
func answered(rnd *rand.Rand, candidate, control float64) *diff.Comparison {
	c, s := rnd.Float64() < candidate, rnd.Float64() < control
	switch {
	case c && s: // nothing is judged
		return &diff.Comparison{Time: noon, Route: "GET /a", Unknown: "shadows_failed"}
	case c || s:
		failed := compared(diff.FieldComparison{
			Field: "transport", Candidate: diff.Level(4 * one(c)), Control: diff.Level(4 * one(s)),
			CandidatePlaces: one(c), ControlPlaces: one(s),
		})
		failed.Failed = true
		return failed
	}
	return compared(randomBoolean(rnd))
}

// arrival is a run in which fields begin to differ one after another: so many with noise, at rates from low to high on
// each side, and among them faults that the candidate has in a share of the requests more.
type arrival struct {
	noisy, faults, every int // every: requests between two beginnings
	low, high, excess    float64
	first                bool // the faults are there from the start
}

func (a arrival) begin(rnd *rand.Rand) func() *diff.Comparison {
	names, rates := make([]string, a.noisy+a.faults), make([]float64, a.noisy+a.faults)
	bad := make([]bool, len(names))
	places := rnd.Perm(len(names))
	if a.first {
		slices.Sort(places)
	}
	for _, k := range places[:a.faults] {
		bad[k] = true
	}
	for k := range names {
		names[k], rates[k] = fmt.Sprintf("body.noise%d", k), a.low*math.Pow(a.high/a.low, rnd.Float64())
		if bad[k] {
			names[k] = fmt.Sprintf("body.fault%d", k)
		}
	}
	request, begun := 0, 0
	if a.first {
		begun = a.faults
	}
	return func() *diff.Comparison {
		request++
		var fields []diff.FieldComparison
		for k := range min(len(names), begun+1+request/a.every) {
			p, q := rates[k], rates[k]
			if bad[k] {
				p += a.excess
			}
			if c, s := rnd.Float64() < p, rnd.Float64() < q; c || s {
				fields = append(fields, at(names[k], one(c), one(s)))
			}
		}
		return compared(fields...)
	}
}

func lognormal(rnd *rand.Rand) time.Duration {
	return time.Duration(float64(10*time.Millisecond) * math.Exp(rnd.NormFloat64()/2))
}
