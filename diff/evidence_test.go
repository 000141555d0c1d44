package diff

import (
	"encoding/csv"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
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

func BenchmarkEvidence(b *testing.B) {
	for name, n := range map[string][2]int64{"small": {12, 9}, "clean": {40, 0}, "thousands": {5000, 5100}, "huge": {100_000_000, 100_000_100}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				Evidence(n[0], n[1])
			}
		})
	}
}
