package normalize

import (
	"cmp"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func numberValue(t testing.TB, sent string) *Value {
	t.Helper()
	canonical, end, ok := scanNumber(sent, 0)
	if !ok || end != len(sent) {
		t.Fatalf("%.100q is no number", sent)
	}
	return &Value{Type: Number, Text: canonical}
}

func TestRoundingGoesByTheDecimalText(t *testing.T) {
	nines := strings.Repeat("9", 50)
	for _, tc := range []struct {
		sent   string
		places int
		want   string
	}{
		{"1.005", 2, "1.01"}, // a float64 would give 1
		{"1.004", 2, "1"},
		{"-1.005", 2, "-1.01"},
		{"0.5", 0, "1"},
		{"-0.5", 0, "-1"},
		{"2.5", 0, "3"},
		{"0.4999999", 0, "0"},
		{"-0.4", 0, "0"},
		{"0.00", 2, "0"},
		{"0.0042", 2, "0"},
		{"0.005", 2, "0.01"},
		{"79.9999999961", 6, "80"},
		{"0.0000312407", 6, "0.000031"},
		{"0.0000312498", 6, "0.000031"},
		{"9.995", 2, "10"},
		{"99." + nines, 40, "100"},
		{nines + ".5", 0, "1e50"},
		{"9007199254740993.5", 0, "9007199254740994"},
		{"12", 2, "12"},
		{"1.25", 2, "1.25"},
		{"149", -2, "100"},
		{"150", -2, "200"},
		{"-150", -2, "-200"},
		{"50", -2, "100"},
		{"49", -2, "0"},
		{"999", -3, "1000"},
		{"123000", -2, "123000"},
		{"1e1000000", 2, "1e1000000"},
		{"-1e1000000", -1000, "-1e1000000"},
		{"1e-1000000", 2, "0"},
		{"-1e-1000000", 1000, "0"},
		{"1e" + nines, -1000, "1e" + nines},
		{"1e-" + nines, 1000, "0"},
		{"1.5e-30", 30, "2e-30"},
		{"9.5e-30", 30, "1e-29"},
		{"1.25e30", -29, "1.3e30"},
		{"5e-1001", 1000, "1e-1000"},
		{"4e-1001", 1000, "0"},
	} {
		v := numberValue(t, tc.sent)
		before := v.Text
		changed := newRound(tc.places)(v)
		if v.Text != tc.want || changed != (before != v.Text) {
			t.Errorf("%.80s to %d: got %.80s (changed: %t), want %.80s", tc.sent, tc.places, v.Text, changed, tc.want)
		}
	}
}

func TestOnlyNumbersAreRounded(t *testing.T) {
	for _, v := range []Value{{Type: String, Text: "1.005"}, {Type: Bool, Text: "true"}, {}, {Type: Array}, {Type: Object}} {
		before := v.Text
		if newRound(0)(&v) || v.Text != before {
			t.Errorf("%s %q became %q", v.Type, before, v.Text)
		}
	}
}

// Who writes out what an exponent says, or looks at all digits again for each of them, does not end.
func TestRoundingTakesTimeByTheDigitsSent(t *testing.T) {
	digits := strings.Repeat("9", 1<<20)
	for _, test := range []struct{ sent, want string }{
		{digits + ".5", ""},
		{"0." + digits, "1"},
		{"1e" + digits, ""},
		{"1e-" + digits, "0"},
		{"1e999999999999", ""},
		{"1e-999999999999", "0"},
	} {
		v := numberValue(t, test.sent)
		want := cmp.Or(test.want, v.Text) // as it was
		before := v.Text
		if changed := newRound(2)(v); v.Text != want || changed != (want != before) {
			t.Errorf("%.10s… of %d bytes became %.10s…, want %.10s…: changed is %t", test.sent, len(test.sent), v.Text, want, changed)
		}
	}
}

// ratOf is a canonical number of a moderate exponent as a rational.
func ratOf(t testing.TB, number string) *big.Rat {
	t.Helper()
	r, ok := new(big.Rat).SetString(number)
	if !ok {
		t.Fatalf("%q is no number", number)
	}
	return r
}

// roundedRat rounds half away from zero by way of whole numbers.
func roundedRat(r *big.Rat, places int) *big.Rat {
	scale := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(abs(places))), nil))
	if places < 0 {
		scale.Inv(scale)
	}
	scaled := new(big.Rat).Mul(new(big.Rat).Abs(r), scale)
	scaled.Add(scaled, big.NewRat(1, 2))
	whole := new(big.Rat).SetInt(new(big.Int).Quo(scaled.Num(), scaled.Denom()))
	whole.Quo(whole, scale)
	if r.Sign() < 0 {
		whole.Neg(whole)
	}
	return whole
}

// numbers spells numbers of moderate exponents, many of them close to a half or with a row of nines.
func numbers() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		s := rapid.SampledFrom([]string{"", "-"}).Draw(t, "sign") +
			rapid.StringMatching(`0|[1-9][0-9]{0,3}|9{1,30}|[1-9][0-9]{0,2}0{0,24}`).Draw(t, "whole") +
			rapid.StringMatching(`(\.(0{0,24}[0-9]{1,4}|9{1,20}[0-9]|[0-9]?50{0,9}[01]?|49{0,20}))?`).Draw(t, "fraction")
		if rapid.Bool().Draw(t, "has exponent") {
			s += "e" + rapid.StringMatching(`-?[0-9]{1,2}`).Draw(t, "exponent")
		}
		return s
	})
}

func TestRoundingAgreesWithRationals(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		sent := numbers().Draw(rt, "number")
		checkRounding(t, sent, rapid.IntRange(-40, 40).Draw(rt, "places"))
	})
}

func checkRounding(t testing.TB, sent string, places int) {
	t.Helper()
	v := numberValue(t, sent)
	newRound(places)(v)
	if want := roundedRat(ratOf(t, sent), places); ratOf(t, v.Text).Cmp(want) != 0 {
		t.Fatalf("%s to %d places became %s, not %s", sent, places, v.Text, want.FloatString(50))
	}
	checkCanonical(t, v.Text)
}

func checkCanonical(t testing.TB, number string) {
	t.Helper()
	if canonical, end, ok := scanNumber(number, 0); !ok || end != len(number) || canonical != number {
		t.Fatalf("%.100q is not canonical, but %.100q", number, canonical)
	}
}

func FuzzRound(f *testing.F) {
	for _, sent := range []string{"0", "-0.5", "1.005", "99.995", "1e1000000", "1e-1000000", "-9.99e99999999999999999999", "123456789012345678901234567890"} {
		f.Add(sent, 2)
		f.Add(sent, -3)
	}
	f.Fuzz(func(t *testing.T, sent string, places int) {
		canonical, end, ok := scanNumber(sent, 0)
		if !ok || end != len(sent) {
			return
		}
		places %= 1001
		v := &Value{Type: Number, Text: canonical}
		changed := newRound(places)(v)
		checkCanonical(t, v.Text)
		if changed != (v.Text != canonical) {
			t.Fatalf("%q to %d became %q: changed is %t", canonical, places, v.Text, changed)
		}
		if again := v.Text; newRound(places)(v) || v.Text != again {
			t.Fatalf("%q to %d became %q, and then %q", canonical, places, again, v.Text)
		}
		if d := parseDecimal(canonical); d.far == "" && abs(int(d.point)) < 2000 && len(sent) < 4000 {
			checkRounding(t, sent, places)
		}
	})
}
