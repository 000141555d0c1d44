package normalize

import "strings"

// newRound rounds numbers to so many decimal places, at most maxPlaces; below zero they count the other way: -2 is
// hundreds. Halves go away from zero, on the decimal text: 1.005 to 2 places is 1.01, and -0.5 to 0 places is -1. Nothing
// that rounds to zero keeps a sign. Numbers in strings are texts and not rounded: coerce makes numbers of them.
func newRound(places int) valueChange {
	return func(v *Value) bool {
		if v.Type != Number {
			return false
		}
		text := round(v.Text, int64(places))
		if text == v.Text {
			return false
		}
		v.Text = text
		return true
	}
}

// round is the canonical form of a canonical number rounded. It returns the number as given where nothing changes.
func round(number string, places int64) string {
	d := parseDecimal(number)
	switch {
	case d.far != "" && d.far[0] == '-':
		return "0"
	case d.far != "":
		return number
	}
	if d.fraction == "" {
		d.whole = strings.TrimRight(d.whole, "0")
	}
	kept := d.point + places // digits that stay
	switch {
	case kept >= int64(d.size()):
		return number
	case kept < 0:
		return "0"
	}
	digits := append(make([]byte, 0, 64), '0') // for a carry
	digits = append(digits, d.whole[:min(kept, int64(len(d.whole)))]...)
	digits = append(digits, d.fraction[:max(0, kept-int64(len(d.whole)))]...)
	if d.digit(kept) >= 5 {
		increment(digits)
	}
	if digits[0] == '0' {
		digits = digits[1:]
	} else {
		d.point++
	}
	text := strings.TrimRight(string(digits), "0")
	if text == "" {
		return "0"
	}
	return formatDecimal(d.negative, text, d.point)
}

// increment adds one to the last of some decimal digits, the first of which is 0.
func increment(digits []byte) {
	i := len(digits) - 1
	for ; digits[i] == '9'; i-- {
		digits[i] = '0'
	}
	digits[i]++
}
