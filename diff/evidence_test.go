package diff

import (
	"encoding/csv"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// vectors are the rows of one kind, as exact values computed elsewhere, with the digits that were printed.
func vectors(t *testing.T, kind string) [][]string {
	t.Helper()
	f, err := os.Open("testdata/verdict_vectors.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.Comment, r.FieldsPerRecord = '#', -1
	all, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]string
	for _, row := range all {
		if row[0] == kind {
			rows = append(rows, row[1:])
		}
	}
	if len(rows) < 10 {
		t.Fatalf("only %d vectors of kind %s", len(rows), kind)
	}
	return rows
}

func integer(t *testing.T, s string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// printed tells whether got agrees with a printed number within half a unit of its last digit.
func printed(t *testing.T, got float64, want string) bool {
	t.Helper()
	w, err := strconv.ParseFloat(want, 64)
	if err != nil {
		t.Fatal(err)
	}
	_, digits, _ := strings.Cut(want, ".")
	return math.Abs(got-w) <= 0.5001*math.Pow(10, -float64(len(digits)))
}

func TestEvidenceAgreesWithTheVectorsToThePrintedDigits(t *testing.T) {
	for _, row := range vectors(t, "evidence") {
		if got := Evidence(integer(t, row[0]), integer(t, row[1])); !printed(t, got, row[2]) {
			t.Errorf("Evidence(%s, %s) = %.12g, want %s", row[0], row[1], got, row[2])
		}
	}
	for _, row := range vectors(t, "two_sided") {
		if got := EvidenceTwoSided(integer(t, row[0]), integer(t, row[1])); !printed(t, got, row[2]) {
			t.Errorf("EvidenceTwoSided(%s, %s) = %.12g, want %s", row[0], row[1], got, row[2])
		}
	}
}

// near tells whether two logarithms agree to twelve digits, or to 10⁻¹² near zero.
func near(a, b float64) bool { return math.Abs(a-b) <= 1e-12*math.Max(1, math.Abs(b)) }

// lnMean is the logarithm of the mean of two numbers given by theirs.
func lnMean(a, b float64) float64 {
	top := math.Max(a, b)
	return top + math.Log((math.Exp(a-top)+math.Exp(b-top))/2)
}

// The promise rests on this: before a fair discordant request, the evidence expected after it is the evidence now.
func TestEvidenceIsAFairGame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		counts := rapid.OneOf(rapid.Int64Range(0, 60), rapid.Int64Range(0, 50_000), rapid.Int64Range(0, 3_000_000))
		b, c := counts.Draw(t, "b"), counts.Draw(t, "c")
		if now, next := Evidence(b, c), lnMean(Evidence(b+1, c), Evidence(b, c+1)); !near(next, now) {
			t.Errorf("Evidence(%d, %d) = %.15g, the mean of what follows %.15g", b, c, now, next)
		}
		if now, next := EvidenceTwoSided(b, c), lnMean(EvidenceTwoSided(b+1, c), EvidenceTwoSided(b, c+1)); !near(next, now) {
			t.Errorf("EvidenceTwoSided(%d, %d) = %.15g, the mean of what follows %.15g", b, c, now, next)
		}
		if both, sides := EvidenceTwoSided(b, c), lnMean(Evidence(b, c), Evidence(c, b)); !near(sides, both) {
			t.Errorf("EvidenceTwoSided(%d, %d) = %.15g, the mean of the sides %.15g", b, c, both, sides)
		}
	})
}

func TestEvidenceStaysFiniteAndOrderedAtTheEdges(t *testing.T) {
	edges := []int64{math.MinInt64, -1, 0, 1, 15, 16, 17, 20_000, 20_001, 1 << 31, 1 << 53, 1 << 60, math.MaxInt64}
	for _, b := range edges {
		for _, c := range edges {
			for _, e := range []float64{Evidence(b, c), EvidenceTwoSided(b, c)} {
				if math.IsNaN(e) || math.IsInf(e, 0) {
					t.Errorf("evidence of (%d, %d) is %v", b, c, e)
				}
			}
			if b > c && c >= 0 && Evidence(b, c) < Evidence(c, b) {
				t.Errorf("(%d, %d) has less evidence than the reverse", b, c)
			}
		}
	}
}

// Both ways to the same integral meet where one takes over from the other.
func TestEvidenceHasNoSeam(t *testing.T) {
	for _, more := range []float64{0, 1, 100, 10_000, 1_000_000} {
		series, integral := lnTail(20_000, 20_000+more), math.Log(tailIntegral(20_000, more))
		if !near(series, integral) {
			t.Errorf("c = b + %v: %.15g by the series, %.15g by the integral", more, series, integral)
		}
	}
}

func BenchmarkEvidence(b *testing.B) {
	for name, n := range map[string][2]int64{"small": {12, 9}, "clean": {40, 0}, "thousands": {5000, 5100}, "huge": {100_000_000, 100_000_100}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				Evidence(n[0], n[1])
			}
		})
	}
}
