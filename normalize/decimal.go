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

// digit is the value of the digit at i.
func (d *decimal) digit(i int64) int64 {
	if whole := int64(len(d.whole)); i >= whole {
		return int64(d.fraction[i-whole] - '0')
	}
	return int64(d.whole[i] - '0')
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

// maxTerms is how many decimals a sum may have.
const maxTerms = 8

// signOfSum is the sign of the exact sum of a few decimals. It adds them digit by digit from the left, until what is to
// come cannot turn the sign any more; gaps between them are jumped over, so that it takes time linear in their digits,
// whatever their exponents. It reorders terms, of which there are at most maxTerms.
func signOfSum(terms []decimal) int {
	for {
		n := 0
		for i := range terms { // the highest to the front, zeros out
			if terms[i].size() == 0 {
				continue
			}
			if n < i {
				terms[n] = terms[i]
			}
			if n > 0 && terms[n].gap(&terms[0]) > 0 {
				terms[0], terms[n] = terms[n], terms[0]
			}
			n++
		}
		if n == 0 {
			return 0
		}
		sign, rest := addDigits(terms[:n])
		if sign != 0 {
			return sign
		}
		terms = rest
	}
}

// addDigits adds terms, the first of which is highest, until the sign of the sum is known. Terms that begin behind all
// the others, when those have come to nothing, are left as the rest.
func addDigits(terms []decimal) (sign int, rest []decimal) {
	var starts [maxTerms]int64 // the digit of the first term at which another begins
	for i := range terms {
		starts[i] = terms[0].gap(&terms[i])
	}
	var sum int64
	most := int64(len(terms)) // of each term less than one is to come
	for at := int64(0); ; at++ {
		over := true
		sum *= 10
		for i := range terms {
			offset := at - starts[i]
			if offset < 0 || offset >= int64(terms[i].size()) {
				continue
			}
			over = false
			sum += signed(terms[i].digit(offset), terms[i].negative)
		}
		switch {
		case sum >= most:
			return 1, nil
		case sum <= -most:
			return -1, nil
		case over && sum == 0:
			return 0, unbegun(terms, starts[:], at)
		}
	}
}

// unbegun keeps the terms that begin behind a digit of the first.
func unbegun(terms []decimal, starts []int64, at int64) []decimal {
	n := 0
	for i := range terms {
		if starts[i] > at {
			terms[n] = terms[i]
			n++
		}
	}
	return terms[:n]
}
