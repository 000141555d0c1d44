package diff

import (
	"strconv"
	"testing"
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

func BenchmarkInterval(b *testing.B) {
	for name, n := range map[string][3]int64{"no noise": {0, 100_000, 0}, "rare": {12, 99_980, 8}, "noisy": {25_000, 50_000, 25_100}, "small": {1, 3, 0}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				Interval(n[0], n[1], n[2], 0.0002)
			}
		})
	}
}
