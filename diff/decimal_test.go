package diff

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

func TestDecimalsCompareExactly(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want int
	}{
		{"1", "1.0", 0},
		{"0", "-0", 0},
		{"0e5", "0.00", 0},
		{"-1", "1", -1},
		{"-2", "-1", -1},
		{"0", "-3", 1},
		{"9007199254740993", "9007199254740992", 1},
		{"18446744073709551617", "18446744073709551618", -1},
		{"0.100000000000000001", "0.1", 1},
		{"1e400", "1e401", -1},
		{"10E399", "1e+400", 0},
		{"-1e999999999", "-1e999999998", -1},
		{"1e4294967296", "10e4294967295", 0},
		{"1e-99999999999999999999", "0", 1},
		{"1e-99999999999999999999", "1e-99999999999999999998", -1},
		{"1e99999999999999999999", "2e99999999999999999998", 1},
		{"120", "0.012e4", 0},
		{"0.05", "0.5", -1},
	} {
		if got := compareDecimals(test.a, test.b); got != test.want {
			t.Errorf("%s against %s: %d, want %d", test.a, test.b, got, test.want)
		}
		if got := compareDecimals(test.b, test.a); got != -test.want {
			t.Errorf("%s against %s: %d, want %d", test.b, test.a, got, -test.want)
		}
	}
}

func TestDecimalsCompareAsRationalsDo(t *testing.T) {
	number := rapid.StringMatching(`-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,20})?(e[+-]?[0-9]{1,2})?`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := number.Draw(t, "a"), number.Draw(t, "b")
		x, _ := new(big.Rat).SetString(a)
		y, _ := new(big.Rat).SetString(b)
		if got, want := compareDecimals(a, b), x.Cmp(y); got != want {
			t.Fatalf("%s against %s: %d, want %d", a, b, got, want)
		}
		sum := new(big.Rat).Sub(x, y)
		c, d := number.Draw(t, "c"), number.Draw(t, "d")
		z, _ := new(big.Rat).SetString(c)
		v, _ := new(big.Rat).SetString(d)
		sum.Add(sum, z.Sub(z, v))
		if got := int(signOfSum([][2]string{{a, b}, {c, d}})); got != sum.Sign() && sum.Sign() != 0 {
			t.Fatalf("%s-%s + %s-%s: %d, want %d", a, b, c, d, got, sum.Sign())
		}
	})
}

func TestSignOfASum(t *testing.T) {
	for _, test := range []struct {
		pairs [][2]string
		want  int8
	}{
		{nil, 0},
		{[][2]string{{"1", "1"}}, 0},
		{[][2]string{{"9007199254740993", "9007199254740992"}}, 1},
		{[][2]string{{"9007199254740993", "9007199254740992"}, {"1", "2.5"}}, -1},
		{[][2]string{{"3", "1"}, {"1", "3"}}, 0},
		{[][2]string{{"1e999999999", "0"}, {"2", "1"}}, 1},
		{[][2]string{{"1e999999999", "0"}, {"1", "2"}}, 0}, // too long to be summed
	} {
		if got := signOfSum(test.pairs); got != test.want {
			t.Errorf("%v: %d, want %d", test.pairs, got, test.want)
		}
	}
}
