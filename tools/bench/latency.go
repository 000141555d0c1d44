package main

import (
	"math"
	"slices"
	"time"
)

// percentile returns the smallest of the sorted values that at least the share p of all do not exceed (the nearest
// rank); 0 for none.
func percentile(sorted []time.Duration, p float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	rank := int(math.Ceil(p * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

// spread is the median of some figures, with the least and the greatest. All are NaN when there is none.
type spread struct{ low, median, high float64 }

// spreadOf leaves out what is NaN, which stands for a figure that could not be taken.
func spreadOf(figures []float64) spread {
	sorted := slices.DeleteFunc(slices.Clone(figures), math.IsNaN)
	if len(sorted) == 0 {
		return spread{math.NaN(), math.NaN(), math.NaN()}
	}
	slices.Sort(sorted)
	half := len(sorted) / 2
	median := sorted[half]
	if len(sorted)%2 == 0 {
		median = (sorted[half-1] + sorted[half]) / 2
	}
	return spread{sorted[0], median, sorted[len(sorted)-1]}
}
