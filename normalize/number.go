package normalize

import (
	"math"
	"strconv"
	"strings"
)

// Canonical numbers. Every decimal number but zero is ±0.D × 10^P in one way only, where the digits D neither begin nor
// end with 0. Its canonical form is the plain one where that takes at most maxPadding zeros beside D, so that what
// people write is canonical as it stands: 120, 0.05, 9007199254740993. All else is scientific, d.dde±P. Zero is "0".
const maxPadding = 20

// scanNumber reads the JSON number that begins at s[i] and answers its canonical form and where it ends. The canonical
// form is a part of s wherever that is possible. No exponent is ever expanded.
func scanNumber(s string, i int) (canonical string, end int, ok bool) {
	start := i
	if i < len(s) && s[i] == '-' {
		i++
	}
	whole := i
	for i < len(s) && isDigit(s[i]) {
		i++
	}
	digits := i - whole
	if digits == 0 || digits > 1 && s[whole] == '0' {
		return "", i, false
	}
	if i == len(s) || s[i] != '.' && s[i] != 'e' && s[i] != 'E' {
		if digits <= maxPadding && s[whole] != '0' {
			return s[start:i], i, true
		}
		return canonicalNumber(s[start:i], s[whole:i], "", ""), i, true
	}
	var fraction, exponent string
	if s[i] == '.' {
		i++
		from := i
		for i < len(s) && isDigit(s[i]) {
			i++
		}
		if fraction = s[from:i]; fraction == "" {
			return "", i, false
		}
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		i++
		from := i
		if i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		first := i
		for i < len(s) && isDigit(s[i]) {
			i++
		}
		if i == first {
			return "", i, false
		}
		exponent = s[from:i]
	}
	if exponent == "" && s[whole] != '0' && fraction[len(fraction)-1] != '0' {
		return s[start:i], i, true
	}
	return canonicalNumber(s[start:i], s[whole:whole+digits], fraction, exponent), i, true
}

// canonicalNumber is the canonical form of a number whose parts have been told apart.
func canonicalNumber(sent, whole, fraction, exponent string) string {
	fraction = strings.TrimRight(fraction, "0")
	lead := strings.TrimLeft(whole, "0")
	if lead == "" && fraction == "" {
		return "0"
	}
	if exponent == "" && padding(lead, fraction) <= maxPadding {
		if fraction == "" {
			return sent[:len(sent)-trailing(sent, len(whole))]
		}
		return sent[:strings.IndexByte(sent, '.')+1+len(fraction)]
	}
	digits, point := significant(lead, fraction)
	negative := sent[0] == '-'
	if shift, ok := smallExponent(exponent); ok {
		return formatDecimal(negative, digits, int64(point)+shift)
	}
	return scientific(negative, digits, addDecimal(exponent, int64(point)-1))
}

// trailing is how many bytes follow the sign and the whole part in a number as sent.
func trailing(sent string, whole int) int {
	if sent[0] == '-' {
		whole++
	}
	return len(sent) - whole
}

// padding is how many zeros the plain form has beside the significant digits.
func padding(lead, fraction string) int {
	switch {
	case fraction == "":
		return len(lead) - len(strings.TrimRight(lead, "0"))
	case lead == "":
		return len(fraction) - len(strings.TrimLeft(fraction, "0"))
	}
	return 0
}

// significant is D and, as the exponent stands without that of the number, P.
func significant(lead, fraction string) (digits string, point int) {
	digits, point = lead+fraction, len(lead)
	if lead == "" {
		digits = strings.TrimLeft(fraction, "0")
		point = len(digits) - len(fraction)
	}
	return strings.TrimRight(digits, "0"), point
}

// smallExponent is the exponent as a number, if it is far enough from the ends of int64 to be reckoned with.
func smallExponent(exponent string) (int64, bool) {
	if exponent == "" {
		return 0, true
	}
	v, err := strconv.ParseInt(exponent, 10, 64)
	return v, err == nil && v > math.MinInt64/2 && v < math.MaxInt64/2
}

// formatDecimal writes ±0.digits × 10^point.
func formatDecimal(negative bool, digits string, point int64) string {
	n := int64(len(digits))
	switch {
	case point > n+maxPadding || point < -maxPadding:
		return scientific(negative, digits, strconv.FormatInt(point-1, 10))
	case point >= n:
		return sign(negative) + digits + strings.Repeat("0", int(point-n))
	case point > 0:
		return sign(negative) + digits[:point] + "." + digits[point:]
	}
	return sign(negative) + "0." + strings.Repeat("0", int(-point)) + digits
}

func scientific(negative bool, digits, exponent string) string {
	if len(digits) == 1 {
		return sign(negative) + digits + "e" + exponent
	}
	return sign(negative) + digits[:1] + "." + digits[1:] + "e" + exponent
}

func sign(negative bool) string {
	if negative {
		return "-"
	}
	return ""
}

// addDecimal adds a number below 10^18 to a whole decimal number of any length, in time linear in it.
func addDecimal(number string, add int64) string {
	negative := number[0] == '-'
	magnitude := strings.TrimLeft(number, "+-0")
	if negative {
		add = -add // reckoned on the magnitude, whose sign is put back
	}
	// A magnitude too small for this to stay positive has been handled as an int64.
	out := []byte("0" + magnitude)
	carry := add
	for i := len(out) - 1; i >= 0 && carry != 0; i-- {
		sum := int64(out[i]-'0') + carry
		carry = sum / 10
		digit := sum % 10
		if digit < 0 {
			digit += 10
			carry--
		}
		out[i] = byte('0' + digit)
	}
	return sign(negative) + strings.TrimLeft(string(out), "0")
}
