package diff

import (
	"cmp"
	"math/big"
	"strconv"
	"strings"
)

// decimal is a number as a sign, its digits without zeros around them, and the power of ten of the first digit. Zero
// has no digits. The power is a decimal number too, since it may have any length.
type decimal struct {
	negative bool
	digits   string
	power    string
}

// parseDecimal reads a JSON number.
func parseDecimal(s string) decimal {
	var d decimal
	s, d.negative = strings.CutPrefix(s, "-")
	mantissa, exponent, _ := strings.Cut(strings.ToLower(s), "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	whole = strings.TrimLeft(whole, "0")
	digits := whole + fraction
	first := len(whole) - 1 // power of ten of the first digit
	if whole == "" {
		digits = strings.TrimLeft(fraction, "0")
		first = len(digits) - len(fraction) - 1
	}
	d.digits = strings.TrimRight(digits, "0")
	if d.digits == "" {
		return decimal{}
	}
	d.power = addPower(exponent, first)
	return d
}

// addPower adds a small number to an exponent of any length.
func addPower(exponent string, n int) string {
	if small, err := strconv.ParseInt(exponent, 10, 32); err == nil || exponent == "" {
		return strconv.FormatInt(small+int64(n), 10)
	}
	var sum big.Int
	sum.SetString(strings.TrimPrefix(exponent, "+"), 10)
	return sum.Add(&sum, big.NewInt(int64(n))).String()
}

// compareDecimals tells which of two JSON numbers is greater, exactly.
func compareDecimals(a, b string) int {
	x, y := parseDecimal(a), parseDecimal(b)
	if x.sign() != y.sign() {
		return cmp.Compare(x.sign(), y.sign())
	}
	return x.sign() * cmp.Or(comparePowers(x.power, y.power), strings.Compare(x.digits, y.digits))
}

func (d decimal) sign() int {
	switch {
	case d.digits == "":
		return 0
	case d.negative:
		return -1
	}
	return 1
}

// comparePowers compares two whole numbers of any length, written without needless zeros.
func comparePowers(a, b string) int {
	x, xNegative := strings.CutPrefix(a, "-")
	y, yNegative := strings.CutPrefix(b, "-")
	if xNegative != yNegative {
		if xNegative {
			return -1
		}
		return 1
	}
	order := cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(x, y))
	if xNegative {
		return -order
	}
	return order
}

// Bounds of numbers that are summed: beyond them sums are not formed.
const (
	sumDigits = 1000 // digits of a number
	sumPower  = 4    // digits of its power of ten
	sumBits   = 512  // precision of the sum: 154 digits
)

// signOfSum is the sign of the sum of first minus second over all pairs of JSON numbers. It is exact when all
// differences have one sign; otherwise it is that of a sum of 154 digits, or 0 when a number is too long for that.
func signOfSum(pairs [][2]string) int8 {
	var more, less bool
	for _, p := range pairs {
		order := compareDecimals(p[0], p[1])
		more, less = more || order > 0, less || order < 0
	}
	switch {
	case !more && !less:
		return 0
	case !less:
		return 1
	case !more:
		return -1
	}
	sum := new(big.Float).SetPrec(sumBits)
	for _, p := range pairs {
		for k, s := range p {
			v, ok := summand(s)
			if !ok {
				return 0
			}
			if k == 1 {
				v.Neg(v)
			}
			sum.Add(sum, v)
		}
	}
	return int8(sum.Sign())
}

func summand(s string) (*big.Float, bool) {
	d := parseDecimal(s)
	if len(d.digits) > sumDigits || len(strings.TrimPrefix(d.power, "-")) > sumPower {
		return nil, false
	}
	v, ok := new(big.Float).SetPrec(sumBits).SetString(s)
	return v, ok
}
