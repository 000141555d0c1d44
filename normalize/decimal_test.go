package normalize

import (
	"math/big"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func decimals(numbers ...string) []decimal {
	out := make([]decimal, len(numbers))
	for i, s := range numbers {
		canonical, _, _ := scanNumber(s, 0)
		out[i] = parseDecimal(canonical)
	}
	return out
}

func TestSignsOfSums(t *testing.T) {
	nines := strings.Repeat("9", 40)
	for _, tc := range []struct {
		terms []string
		want  int
	}{
		{nil, 0},
		{[]string{"0", "0"}, 0},
		{[]string{"0.1", "0.2", "-0.3"}, 0},
		{[]string{"0.1", "0.2", "-0.30000000000000001"}, -1},
		{[]string{"1e1000000", "-1e999999"}, 1},
		{[]string{"1e1000000", "-1e1000000", "-1e-1000000"}, -1},
		{[]string{"1e1000000", "-1e1000000", "1e-1000000", "-1e-1000000"}, 0},
		{[]string{"1", "-0." + nines, "-1e-40"}, 0},
		{[]string{"1", "-0." + nines, "-1e-41"}, 1},
		{[]string{"1", "-0." + nines, "-1.1e-40"}, -1},
		{[]string{"1e" + nines, "-1e" + nines, "1"}, 1},
		{[]string{"1e" + nines, "-9.9e" + nines[1:] + "8", "0"}, 1},
		{[]string{"1e1" + strings.Repeat("0", 40), "-10e" + nines}, 0},
		{[]string{"1e-1" + strings.Repeat("0", 40), "-0.1e-" + nines}, 0},
		{[]string{"1e100000000000000000", "-10e99999999999999999"}, 0},
		{[]string{"1e100000000000000000", "-9.9e99999999999999999"}, 1},
		{[]string{"-1e-100000000000000000", "0.1e-99999999999999999", "1e-99999999999999999999"}, 1},
		{[]string{"1e1234567", "5", "-1e1234567", "-2", "-3"}, 0},
	} {
		if got := signOfSum(decimals(tc.terms...)); got != tc.want {
			t.Errorf("%.100v: got %d, want %d", tc.terms, got, tc.want)
		}
		slices.Reverse(tc.terms)
		if got := signOfSum(decimals(tc.terms...)); got != tc.want {
			t.Errorf("%.100v: got %d, want %d", tc.terms, got, tc.want)
		}
	}
}

func TestSignsOfSumsAgreeWithRationals(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		terms := rapid.SliceOfN(numbers(), 0, 4).Draw(rt, "terms")
		sum := new(big.Rat)
		for _, s := range terms {
			sum.Add(sum, ratOf(t, s))
		}
		if rapid.Bool().Draw(rt, "cancelled") {
			terms = append(terms, new(big.Rat).Neg(sum).FloatString(130))
			sum = new(big.Rat)
		}
		if got := signOfSum(decimals(terms...)); got != sum.Sign() {
			t.Fatalf("%v: got %d, want %d", terms, got, sum.Sign())
		}
	})
}

// Who writes out what an exponent says, or looks at all digits again for each of them, does not end.
func TestSumsTakeTimeByTheDigits(t *testing.T) {
	digits := strings.Repeat("9", 1<<20)
	for _, test := range []struct {
		a, b string
		want int // the sign of both and of -0.01
	}{
		{"0." + digits, "-0." + digits + "1", -1},
		{"1e" + digits, "-1e" + digits, -1},
		{"1e" + digits, "-1e-" + digits, 1},
		{"1e" + digits, "-1e" + digits[1:] + "8", 1},
		{digits + "e999999999999", "-" + digits + "e999999999999", -1},
	} {
		if got := signOfSum(decimals(test.a, test.b, "-0.01")); got != test.want {
			t.Errorf("%.20s… and %.20s…: got %d, want %d", test.a, test.b, got, test.want)
		}
	}
}
