package normalize

import (
	"math/big"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func mustTolerance(t testing.TB, text string) *Tolerance {
	t.Helper()
	tolerance, err := parseTolerance(text)
	if err != nil {
		t.Fatal(err)
	}
	return tolerance
}

// checkClose asks in both directions.
func checkClose(t *testing.T, within, left, right string, want bool) {
	t.Helper()
	a, b, tolerance := mustParse(t, left), mustParse(t, right), mustTolerance(t, within)
	if got := tolerance.Close(a, b); got != want {
		t.Errorf("%.80s and %.80s within %s: %t", left, right, within, got)
	}
	if got := tolerance.Close(b, a); got != want {
		t.Errorf("%.80s and %.80s within %s: %t", right, left, within, got)
	}
	if !tolerance.Close(a, a) || !tolerance.Close(b, b) {
		t.Errorf("within %s, %.80s or %.80s is not close to itself", within, left, right)
	}
}

func TestNumbersWithinADistance(t *testing.T) {
	nines := strings.Repeat("9", 50)
	for _, tc := range []struct {
		within, left, right string
		close               bool
	}{
		{"0.01", "6", "6.004", true},
		{"0.1", "1.0", "1.1", true}, // with float64, 1.1-1.0 is over 0.1
		{"0.01", "10.00", "10.01", true},
		{"0.01", "10.00", "10.0100000000000000000001", false},
		{"0.1", "0.3", "0.2", true},
		{"0.1", "0.30000000000000001", "0.2", false},
		{"0.5", "9007199254740993", "9007199254740992", false},
		{"1", "9007199254740993", "9007199254740992", true},
		{"0", "1.0", "1", true},
		{"0", "1", "1.0000000000000000000000001", false},
		{"2", "-1", "1", true},
		{"1.999", "-1", "1", false},
		{"1", "0", "-0", true},
		{"1e-6", "0.4999999", "0.5000001", true},
		{"1", "1e1000000", "1e999999", false},
		{"1e1000000", "1e1000000", "1e999999", true},
		{"1e1000000", "1e1000000", "0", true},
		{"1e1000000", "1e1000000", "-1e-1000000", false},
		{"1e-1000000", "1e-1000000", "2e-1000000", true},
		{"1e-1000000", "1e-1000000", "2.1e-1000000", false},
		{"1e" + nines, "1e" + nines, "2e" + nines, true},
		{"1e" + nines, "1e" + nines, "2.0000001e" + nines, false},
		{"1", "1e" + nines, "1.1e" + nines, false},
		{"1", "1e-" + nines, "-1e-" + nines, true},
		{"1", nines, "1e50", true},
		{"0.9", nines, "1e50", false},
	} {
		checkClose(t, tc.within, tc.left, tc.right, tc.close)
	}
}

func TestNumbersWithinAShareOfTheLarger(t *testing.T) {
	nines := strings.Repeat("9", 50)
	for _, tc := range []struct {
		within, left, right string
		close               bool
	}{
		{"1%", "1000", "1001", true},
		{"1%", "100", "99", true},
		{"1%", "100", "98.9999999999999999999", false},
		{"1%", "99", "100", true}, // of the larger, not of the left one
		{"1%", "-100", "-99", true},
		{"1%", "-1", "1", false},
		{"100%", "-1", "1", false},
		{"100%", "1", "0", true},
		{"1%", "0", "0.0001", false},
		{"1%", "0", "0.0", true},
		{"0%", "1", "1.0", true},
		{"0%", "1", "1.00000001", false},
		{"0.5%", "200", "199", true},
		{"0.5%", "200", "198.99", false},
		{"33.3%", "3", "2.001", true},
		{"33.3%", "3", "2.0009", false},
		{"10%", "1e1000000", "9e999999", true},
		{"10%", "1e1000000", "8.9e999999", false},
		{"10%", "1e-1000000", "0.9e-1000000", true},
		{"10%", "1e" + nines, "9e" + strings.Repeat("9", 49) + "8", true},
		{"10%", "1e" + nines, "8.99e" + strings.Repeat("9", 49) + "8", false},
		{"1.0000000000000001%", nines, "1", false},
	} {
		checkClose(t, tc.within, tc.left, tc.right, tc.close)
	}
}

func TestTimesWithinADuration(t *testing.T) {
	for _, tc := range []struct {
		within, left, right string
		close               bool
	}{
		{"2s", `"2024-03-01T10:00:00Z"`, `"2024-03-01T10:00:02Z"`, true},
		{"2s", `"2024-03-01T10:00:00Z"`, `"2024-03-01T10:00:02.000000000000000000001Z"`, false},
		{"2s", `"2024-03-01T10:00:00.5Z"`, `"2024-03-01T10:00:02.500Z"`, true},
		{"2s", `"2024-03-01T10:00:00.5Z"`, `"2024-03-01T10:00:02.4Z"`, true},
		{"2s", `"2024-02-29T23:59:59Z"`, `"2024-03-01T02:00:01+02:00"`, true},
		{"2s", `"2024-03-01T10:00:00+02:00"`, `"2024-03-01T10:00:00Z"`, false},
		{"1ns", `"2024-03-01T10:00:00.123456789Z"`, `"2024-03-01T10:00:00.123456788Z"`, true},
		{"1ns", `"2024-03-01T10:00:00.1234567891Z"`, `"2024-03-01T10:00:00.123456788Z"`, false},
		{"0s", `"2024-03-01T10:00:00.0Z"`, `"2024-03-01T11:00:00+01:00"`, true},
		{"1m30s", `"2024-03-01T10:00:00Z"`, `"2024-03-01T10:01:30Z"`, true},
		{"1d", `"2024-03-01T10:00:00Z"`, `"2024-03-02T10:00:00Z"`, true},
		{"1d12h", `"2024-03-01T10:00:00Z"`, `"2024-03-02T22:00:01Z"`, false},
		{"1s", `"1969-12-31T23:59:59.5Z"`, `"1970-01-01T00:00:00.5Z"`, true},
		{"1s", `"1969-12-31T23:59:59.5Z"`, `"1970-01-01T00:00:00.6Z"`, false},
		{"1s", `"Fri, 01 Mar 2024 10:00:00 GMT"`, `"Fri, 01 Mar 2024 10:00:01 GMT"`, true},
		// A minute with a leap second is 61 seconds.
		{"1s", `"2016-12-31T23:59:59Z"`, `"2016-12-31T23:59:60Z"`, true},
		{"1s", `"2016-12-31T23:59:60Z"`, `"2017-01-01T00:00:00Z"`, true},
		{"0.999s", `"2016-12-31T23:59:60Z"`, `"2017-01-01T00:00:00Z"`, false},
		{"0s", `"2016-12-31T23:59:60.5Z"`, `"2017-01-01T00:59:60.50+01:00"`, true},
		{"1s", `"2016-12-31T23:59:60.5Z"`, `"2017-01-01T00:00:00.6Z"`, false},
		// Epochs, as the shape classes have them.
		{"2s", `1764499267`, `1764499269`, true},
		{"2s", `1764499267`, `1764499270`, false},
		{"2s", `1764499267.25`, `1764499269.25`, true},
		{"2s", `1764499267123`, `1764499269123`, true},
		{"2s", `1764499267123`, `1764499269124`, false},
		{"2s", `"1764499267123"`, `"1764499269123"`, true},
		{"2s", `20240301`, `20240302`, false},
		{"2s", `202403011200`, `202403011201`, false},
		{"2s", `1`, `2`, false},
		// Times without a zone, and dates, are that far apart from each other.
		{"2s", `"2024-03-01T10:00:00"`, `"2024-03-01 10:00:02"`, true},
		{"1d", `"2024-02-29"`, `"2024-03-01"`, true},
		{"23h", `"2024-02-29"`, `"2024-03-01"`, false},
		// Another form is another value: coerce makes one of them.
		{"2s", `"2024-03-01T10:00:00"`, `"2024-03-01T10:00:00Z"`, false},
		{"1d", `"2024-03-01"`, `"2024-03-01T10:00:00Z"`, false},
		{"2s", `"2024-03-01T10:00:00Z"`, `"Fri, 01 Mar 2024 10:00:00 GMT"`, false},
		{"2s", `"1764499267"`, `1764499267`, false},
		{"2s", `1764499267`, `1764499267000`, false},
		{"2s", `"2024-03-01T10:00:00Z"`, `null`, false},
		{"2s", `"soon"`, `"later"`, false},
		{"2s", `"2024-02-30T10:00:00Z"`, `"2024-02-30T10:00:01Z"`, false},
	} {
		checkClose(t, tc.within, tc.left, tc.right, tc.close)
	}
}

func TestAllElseIsCloseOnlyWhenEqual(t *testing.T) {
	others := []string{`null`, `true`, `false`, `"1"`, `"1.001"`, `""`, `[]`, `[1]`, `[1.001]`, `{}`, `{"a":1}`, `"2024-03-01T10:00:00Z"`, `1`}
	for _, within := range []string{"0.01", "1%", "100%", "2s"} {
		for i, left := range others {
			for j, right := range others {
				checkClose(t, within, left, right, i == j)
			}
		}
	}
}

func TestTolerancesAreSpeltOneWay(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"0.01", "0.01"},
		{"0.010", "0.01"},
		{"1e-2", "0.01"},
		{"0", "0"},
		{"1%", "1%"},
		{"1.0%", "1%"},
		{"100%", "100%"},
		{"2s", "2s"},
		{"2000ms", "2s"},
		{"1m30s", "90s"},
		{"1d", "86400s"},
		{"1d12h", "129600s"},
		{"250µs", "0.00025s"},
		{"0s", "0s"},
	} {
		if got := mustTolerance(t, tc.text).String(); got != tc.want {
			t.Errorf("%s: got %s, want %s", tc.text, got, tc.want)
		}
	}
}

func TestWhatIsNoTolerance(t *testing.T) {
	for _, text := range []string{
		"", " ", "abc", "-1", "-0.5", "1 s", "%", "-1%", "101%", "100.0000001%", "1e3%", "1.23456789012345678%", "5x", "-2s", "+2s", "d", "1d-1h",
		"-1d", "1.5d", "+1d", "100001d", "9999999999999999h", "NaN", "Inf", "0x1", "1%%", ".5%",
	} {
		if tolerance, err := parseTolerance(text); err == nil {
			t.Errorf("%q is taken for %s", text, tolerance)
		}
	}
}

func TestToleranceTakesItsKindOfValue(t *testing.T) {
	for _, tc := range []struct {
		within, value string
		want          bool
	}{
		{"0.01", `1`, true},
		{"0.01", `"1"`, false},
		{"1%", `1`, true},
		{"1%", `[1]`, false},
		{"2s", `1`, false},
		{"2s", `1764499267`, true},
		{"2s", `"2024-03-01T10:00:00Z"`, true},
		{"2s", `"2024-03-01"`, true},
		{"2s", `"soon"`, false},
		{"2s", `null`, false},
	} {
		if got := mustTolerance(t, tc.within).takes(mustParse(t, tc.value)); got != tc.want {
			t.Errorf("%s takes %s: %t", tc.within, tc.value, got)
		}
	}
}

// closeRats is what Close promises of two numbers, in rationals.
func closeRats(a, b *big.Rat, within string) bool {
	share, percent := strings.CutSuffix(within, "%")
	bound, _ := new(big.Rat).SetString(share)
	if percent {
		larger := new(big.Rat).Abs(a)
		if other := new(big.Rat).Abs(b); other.Cmp(larger) > 0 {
			larger = other
		}
		bound.Mul(bound, larger).Quo(bound, big.NewRat(100, 1))
	}
	distance := new(big.Rat).Sub(a, b)
	return distance.Abs(distance).Cmp(bound) <= 0
}

func TestCloseAgreesWithRationals(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		a, b := numbers().Draw(rt, "a"), numbers().Draw(rt, "b")
		within := rapid.StringMatching(`[0-9]{1,2}(\.[0-9]{1,5})?%?`).Draw(rt, "within")
		within = strings.TrimLeft(within[:len(within)-1], "0") + within[len(within)-1:]
		if within[0] == '.' || within[0] == '%' {
			within = "0" + within
		}
		if rapid.Bool().Draw(rt, "on the bound") && !strings.HasSuffix(within, "%") {
			sum := new(big.Rat).Add(ratOf(t, a), ratOf(t, within))
			b = sum.FloatString(130)
		}
		tolerance := mustTolerance(t, within)
		want := closeRats(ratOf(t, a), ratOf(t, b), within)
		if got := tolerance.Close(numberValue(t, a), numberValue(t, b)); got != want {
			t.Fatalf("%s and %s within %s: %t", a, b, within, got)
		}
	})
}

// Who writes out what an exponent says, or looks at all digits again for each of them, does not end.
func TestCloseTakesTimeByTheDigits(t *testing.T) {
	digits := strings.Repeat("9", 1<<20)
	all := []string{"0.01", "1.23456789%", "1e999999999"}
	for _, test := range []struct {
		left, right string
		within      []string // that they are close within
	}{
		{"0." + digits, "0." + digits + "1", all},
		{"1e" + digits, "2e" + digits, nil},
		{"1e" + digits, "-1e-" + digits, nil},
		{digits, "1", all[2:]},
	} {
		a, b := numberValue(t, test.left), numberValue(t, test.right)
		for _, within := range all {
			if got := mustTolerance(t, within).Close(a, b); got != slices.Contains(test.within, within) {
				t.Errorf("%.10s… and %.10s… within %s: %t", test.left, test.right, within, got)
			}
		}
	}
}

func FuzzTolerance(f *testing.F) {
	for _, within := range []string{"0.01", "1%", "2s", "1e1000000", "33.3%"} {
		f.Add(within, `1.1`, `1`)
		f.Add(within, `1e1000000`, `-1e-99999999999999999999`)
		f.Add(within, `"2024-03-01T10:00:00.25Z"`, `"2024-03-01T10:00:02.250+0000"`)
		f.Add(within, `1764499267123`, `1764499267.5`)
	}
	f.Fuzz(func(t *testing.T, within, left, right string) {
		tolerance, err := parseTolerance(within)
		if err != nil {
			return
		}
		again, err := parseTolerance(tolerance.String())
		if err != nil || again.String() != tolerance.String() {
			t.Fatalf("%q is spelt %q, and that %v, %v", within, tolerance, again, err)
		}
		a, _ := parseJSON(t, left)
		b, _ := parseJSON(t, right)
		if a == nil || b == nil {
			return
		}
		got := tolerance.Close(a, b)
		if got != tolerance.Close(b, a) || !tolerance.Close(a, a) || a.Equal(b) && !got {
			t.Fatalf("%q: %s and %s: %t, the other way round %t", within, left, right, got, tolerance.Close(b, a))
		}
		if got && a.Type != b.Type {
			t.Fatalf("%q: %s and %s are close", within, left, right)
		}
		if a.Type == Number && b.Type == Number && tolerance.unit != tolerateTime && moderate(a.Text) && moderate(b.Text) && moderate(strings.TrimSuffix(tolerance.text, "%")) {
			if want := closeRats(ratOf(t, a.Text), ratOf(t, b.Text), tolerance.text); got != want {
				t.Fatalf("%q: %s and %s: %t", within, left, right, got)
			}
		}
	})
}

// moderate tells whether a canonical number can be expanded at no great cost.
func moderate(number string) bool {
	d := parseDecimal(number)
	return d.far == "" && d.point > -2000 && d.point < 2000 && len(number) < 4000
}
