package diff

import (
	"math"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

func TestIntervalAgreesWithTheVectorsToThePrintedDigits(t *testing.T) {
	for _, row := range vectors(t, "interval") {
		alpha, err := strconv.ParseFloat(row[3], 64)
		if err != nil {
			t.Fatal(err)
		}
		lower, upper := Interval(integer(t, row[0]), integer(t, row[1]), integer(t, row[2]), alpha)
		if !printed(t, lower, row[4]) || !printed(t, upper, row[5]) {
			t.Errorf("Interval(%s) = %.8f, %.8f, want %s, %s", row[:4], lower, upper, row[4], row[5])
		}
	}
}

func TestIntervalHoldsItsMeanAndAnswersLikeTheShortcuts(t *testing.T) {
	bets := newMixture()
	rapid.Check(t, func(t *rapid.T) {
		counts := rapid.OneOf(rapid.Int64Range(0, 5), rapid.Int64Range(0, 1000), rapid.Int64Range(0, 1_000_000_000))
		b, z, c := counts.Draw(t, "b"), counts.Draw(t, "z"), counts.Draw(t, "c")
		alpha := math.Pow(10, -rapid.Float64Range(0.31, 9).Draw(t, "-lg alpha"))
		lower, upper := Interval(b, z, c, alpha)
		if b+z+c == 0 {
			if lower != -1 || upper != 1 {
				t.Fatalf("without a request %v to %v", lower, upper)
			}
			return
		}
		mean := float64(b-c) / float64(b+z+c)
		if !(-1 <= lower && lower <= mean && mean <= upper && upper <= 1) {
			t.Fatalf("%v to %v does not hold the mean %v", lower, upper, mean)
		}
		if l, u := Interval(c, z, b, alpha); l != -upper || u != -lower {
			t.Errorf("exchanged sides give %v to %v instead of %v to %v", l, u, -upper, -lower)
		}
		s := scores{float64(b), float64(z), float64(c)}
		for _, at := range []float64{-0.5, 0, 0.001, 0.01, 0.5, upper + 1e-6, upper - 1e-6, lower - 1e-6, lower + 1e-6} {
			clear := math.Abs(at-upper) > 1e-9 && math.Abs(at-lower) > 1e-9 && math.Abs(at) < 1
			if clear && bets.atMost(s, alpha, at) != (upper <= at) {
				t.Errorf("atMost(%v) is not what the upper bound %v says", at, upper)
			}
			if clear && bets.above(s, alpha, at) != (lower > at) {
				t.Errorf("above(%v) is not what the lower bound %v says", at, lower)
			}
		}
	})
}

func TestIntervalNarrowsWithEveryAgreement(t *testing.T) {
	last := 1.0
	for z := int64(1); z < 1<<60; z *= 3 {
		_, upper := Interval(3, z, 2, 0.05)
		if !(upper < last) {
			t.Fatalf("after %d agreements the bound is %v, no less than %v", z, upper, last)
		}
		last = upper
	}
}

func TestIntervalAtTheEdges(t *testing.T) {
	for _, n := range [][3]int64{
		{0, 0, 0},
		{math.MaxInt64, 0, 0},
		{0, math.MaxInt64, 0},
		{0, 0, math.MaxInt64},
		{-1, -1, -1},
		{math.MaxInt64, math.MaxInt64, math.MaxInt64},
		{1_000_000_000, 1, 0},
		{1, 0, 1_000_000_000},
		{100_000, 0, 1},
	} {
		for _, alpha := range []float64{0.5, 0.05, 1e-12, 1e-300} {
			lower, upper := Interval(n[0], n[1], n[2], alpha)
			if !(-1 <= lower && lower <= upper && upper <= 1) {
				t.Errorf("Interval(%v, %v) = %v, %v", n, alpha, lower, upper)
			}
		}
	}
}

// What the proof of 0.1 % costs, as the documentation says it.
func TestPriceOfAProof(t *testing.T) {
	bets := newMixture()
	for _, price := range []struct{ noise, budget, low, high float64 }{
		{0, 0.01, 489, 489},
		{0, 0.001, 4906, 4906},
		{0.001, 0.001, 25_000, 26_000},
		{0.01, 0.001, 260_000, 265_000},
		{0.25, 0.001, 7.2e6, 7.3e6},
	} {
		n := float64(least(func(k int64) bool {
			m := float64(k)
			return bets.atMost(scores{m * price.noise, m * (1 - 2*price.noise), m * price.noise}, 0.05, price.budget)
		}))
		if n < price.low || n > price.high {
			t.Errorf("noise %v on each side: %v requests prove %v, want %v to %v", price.noise, n, price.budget, price.low, price.high)
		}
	}
}

func BenchmarkInterval(b *testing.B) {
	for name, n := range map[string][3]int64{"no noise": {0, 100_000, 0}, "rare": {12, 99_980, 8}, "noisy": {25_000, 50_000, 25_100}, "small": {1, 3, 0}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				Interval(n[0], n[1], n[2], 0.0002)
			}
		})
	}
}
