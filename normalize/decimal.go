package normalize

import (
	"strconv"
	"strings"
)

// decimal is a canonical number taken apart: ±0.D × 10^(point+far). Its digits D begin with none that is 0, and are the
// whole and the fraction behind each other; zero has none. Nothing is copied or expanded.
type decimal struct {
	negative bool
	whole    string
	fraction string
	point    int64
	far      string // an exponent too long to be reckoned with in point, or ""
}

// smallDigits is how long an exponent may be to count in point. All that is reckoned with points stays far below 2^63.
const smallDigits = 17

// parseDecimal takes a canonical number apart.
func parseDecimal(canonical string) (d decimal) {
	canonical, d.negative = strings.CutPrefix(canonical, "-")
	mantissa, exponent, _ := strings.Cut(canonical, "e")
	d.whole, d.fraction, _ = strings.Cut(mantissa, ".")
	if d.whole == "0" {
		sent := d.fraction
		d.whole, d.fraction = "", strings.TrimLeft(sent, "0")
		d.point = int64(len(d.fraction) - len(sent))
	} else {
		d.point = int64(len(d.whole))
	}
	switch {
	case exponent == "":
	case len(exponent) <= smallDigits:
		shift, _ := strconv.ParseInt(exponent, 10, 64)
		d.point += shift
	default:
		d.far = exponent
	}
	return d
}

// size is how many digits there are.
func (d *decimal) size() int { return len(d.whole) + len(d.fraction) }

// digit is the value of the digit at i, 0 beyond either end.
func (d *decimal) digit(i int64) int64 {
	switch whole := int64(len(d.whole)); {
	case i < 0 || i >= int64(d.size()):
		return 0
	case i < whole:
		return int64(d.whole[i] - '0')
	default:
		return int64(d.fraction[i-whole] - '0')
	}
}

// farApart is more than any number has digits: gaps between exponents are cut off there.
const farApart = 1_000_000_000_000_000_000

// gap is by how much the exponent of d is above another's, cut off where that is farther than any number is long.
func (d *decimal) gap(other *decimal) int64 {
	gap := d.point - other.point
	if d.far != other.far {
		gap += subtractFar(d.far, other.far)
	}
	return gap
}

// subtractFar is a minus b, whole decimal numbers of any length, cut off at farApart. It takes time linear in them.
func subtractFar(a, b string) int64 {
	a, aNegative := strings.CutPrefix(a, "-")
	b, bNegative := strings.CutPrefix(b, "-")
	var sum int64
	length := max(len(a), len(b))
	for i := range length {
		switch { // one more digit would lead beyond, whatever it is
		case sum > farApart/10:
			return farApart
		case sum < -farApart/10:
			return -farApart
		}
		sum = sum*10 + signed(digitFromEnd(a, length-i), aNegative) - signed(digitFromEnd(b, length-i), bNegative)
	}
	return sum
}

// digitFromEnd is the digit of s so far from its end, 1 being the last.
func digitFromEnd(s string, i int) int64 {
	if i > len(s) {
		return 0
	}
	return int64(s[len(s)-i] - '0')
}

func signed(n int64, negative bool) int64 {
	if negative {
		return -n
	}
	return n
}

// signOfSum is the sign of the exact sum of a few decimals. It adds them digit by digit from the left, until what is to
// come cannot turn the sign any more; gaps between them are jumped over, so that it takes time linear in their digits,
// whatever their exponents. It reorders terms.
func signOfSum(terms []decimal) int {
	for len(terms) > 0 {
		n := 0
		for i := range terms { // the highest to the front, zeros out
			if terms[i].size() == 0 {
				continue
			}
			terms[n], terms[i] = terms[i], terms[n]
			if terms[n].gap(&terms[0]) > 0 {
				terms[0], terms[n] = terms[n], terms[0]
			}
			n++
		}
		sign, rest := addDigits(terms[:n])
		if sign != 0 {
			return sign
		}
		terms = rest
	}
	return 0
}

// addDigits adds terms, the first of which is highest, until the sign of the sum is known. Terms that begin behind all
// the others, when those have come to nothing, are left as the rest.
func addDigits(terms []decimal) (sign int, rest []decimal) {
	var sum int64
	for at := int64(0); len(terms) > 0; at++ {
		over := true
		for i := range terms {
			offset := at - terms[0].gap(&terms[i])
			over = over && (offset < 0 || offset >= int64(terms[i].size()))
		}
		if over && sum == 0 {
			return 0, unbegun(terms, at)
		}
		sum *= 10
		for i := range terms {
			sum += signed(terms[i].digit(at-terms[0].gap(&terms[i])), terms[i].negative)
		}
		// Of each term less than one is to come.
		switch most := int64(len(terms)); {
		case sum >= most:
			return 1, nil
		case sum <= -most:
			return -1, nil
		}
	}
	return 0, nil
}

// unbegun keeps the terms that begin behind a digit of the first.
func unbegun(terms []decimal, at int64) []decimal {
	n := 0
	first := terms[0]
	for i := range terms {
		if first.gap(&terms[i]) > at {
			terms[n] = terms[i]
			n++
		}
	}
	return terms[:n]
}
