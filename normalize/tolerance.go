package normalize

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Tolerance is how far two numbers, or two times, may lie apart and still be equal, the bound included. All is reckoned
// exactly, in decimal digits.
type Tolerance struct {
	unit  toleranceUnit
	bound decimal // a distance, a distance in seconds, or with toleratePercent a share
	text  string
}

type toleranceUnit uint8

const (
	tolerateNumber  toleranceUnit = iota // numbers: |a-b| is at most the bound
	toleratePercent                      // numbers: |a-b| is at most this share of the larger of |a| and |b|
	tolerateTime                         // times: so many seconds
)

// parseTolerance reads what stands behind within: 0.01, 1% or 2s. Its error says what is possible.
func parseTolerance(text string) (*Tolerance, error) {
	if share, ok := strings.CutSuffix(text, "%"); ok {
		return percentTolerance(text, share)
	}
	if canonical, end, ok := scanNumber(text, 0); ok && end == len(text) {
		if canonical[0] == '-' {
			return nil, fmt.Errorf("%q: a distance is not below 0", text)
		}
		return &Tolerance{unit: tolerateNumber, bound: parseDecimal(canonical), text: canonical}, nil
	}
	return timeTolerance(text)
}

// maxShareDigits is how many digits a percentage may have, so that it can be multiplied with in 64 bits.
const maxShareDigits = 17

func percentTolerance(text, share string) (*Tolerance, error) {
	canonical, end, ok := scanNumber(share, 0)
	if !ok || end != len(share) || strings.Contains(canonical, "e") {
		return nil, fmt.Errorf("%q: a share is a number from 0 to 100 with a %%, such as 1%%", text)
	}
	bound := parseDecimal(canonical)
	hundred := [...]decimal{bound, parseDecimal("-100")}
	if bound.negative || bound.size() > maxShareDigits || signOfSum(hundred[:]) > 0 {
		return nil, fmt.Errorf("%q: a share is from 0%% to 100%% and has at most %d digits", text, maxShareDigits)
	}
	return &Tolerance{unit: toleratePercent, bound: bound, text: canonical + "%"}, nil
}

// timeTolerance reads a duration as Go writes it, or one that begins with days: 500ms, 1m30s, 7d, 1d12h.
func timeTolerance(text string) (*Tolerance, error) {
	wrong := fmt.Errorf("%q: must be a number such as 0.01, a share such as 1%% or a duration such as 500ms, 2s or 1d", text)
	var days int64
	rest := text
	if number, after, ok := strings.Cut(text, "d"); ok {
		var err error
		if days, err = strconv.ParseInt(number, 10, 64); err != nil || days < 0 || days > maxTolerance || number[0] == '+' {
			return nil, wrong
		}
		rest = after
	}
	var d time.Duration
	if rest != "" || text == "" {
		var err error
		if d, err = time.ParseDuration(rest); err != nil || strings.ContainsAny(rest[:1], "+-") {
			return nil, wrong
		}
	}
	if d > math.MaxInt64-time.Duration(days)*24*time.Hour {
		return nil, fmt.Errorf("%q: a duration is at most %d days", text, maxTolerance)
	}
	d += time.Duration(days) * 24 * time.Hour
	canonical, _, _ := scanNumber(strconv.FormatInt(int64(d), 10)+"e-9", 0)
	return &Tolerance{unit: tolerateTime, bound: parseDecimal(canonical), text: canonical + "s"}, nil
}

// maxTolerance is how many days a duration may have: about what fits into a time.Duration.
const maxTolerance = 100_000

// String is the tolerance's canonical text: two that are the same are spelt the same. Durations are in seconds.
func (t *Tolerance) String() string { return t.text }

// takes tells whether the tolerance is one for a value: of numbers for a number, of times for a time.
func (t *Tolerance) takes(v *Value) bool {
	if t.unit != tolerateTime {
		return v.Type == Number
	}
	_, ok := readTime(v)
	return ok
}

// Close tells whether two values are equal or no farther apart than the tolerance: two numbers, or two times that are
// written in the same form, whatever their zones and their fractions. A time with a zone is in no distance of one without,
// an epoch in seconds in none of one in milliseconds: coerce makes one form of them. A number in a string is a text.
func (t *Tolerance) Close(a, b *Value) bool {
	if a.Type != b.Type || a.Type != Number && a.Type != String {
		return a.Equal(b)
	}
	switch {
	case a.Text == b.Text:
		return true
	case t.unit == tolerateTime:
		x, okX := readTime(a)
		y, okY := readTime(b)
		return okX && okY && x.form == y.form && nearInTime(x, y, t.bound)
	case a.Type == String:
		return false
	}
	x, y := parseDecimal(a.Text), parseDecimal(b.Text)
	if t.unit == tolerateNumber {
		return near(x, y, t.bound)
	}
	return near(x, y, t.bound.percentOf(&x)) || near(x, y, t.bound.percentOf(&y))
}

// near tells whether x and y are at most a bound apart.
func near(x, y, bound decimal) bool {
	bound.negative = true
	y.negative = !y.negative
	forth := [...]decimal{x, y, bound}
	x.negative, y.negative = !x.negative, !y.negative
	back := [...]decimal{x, y, bound}
	return signOfSum(forth[:]) <= 0 && signOfSum(back[:]) <= 0
}

// nearInTime tells whether two instants are at most so many seconds apart.
func nearInTime(x, y instant, bound decimal) bool {
	// Within a leap second counts as after it; what comes after the leap second is one second more away than that.
	if x.leap && !y.leap && y.second >= x.second {
		x.second--
	}
	if y.leap && !x.leap && x.second >= y.second {
		y.second--
	}
	if x.second < y.second {
		x, y = y, x
	}
	bound.negative = true
	seconds := parseDecimal(strconv.FormatInt(x.second-y.second, 10))
	more, less := fractionDecimal(x.fraction), fractionDecimal(y.fraction)
	less.negative = true
	forth := [...]decimal{seconds, more, less, bound}
	seconds.negative, more.negative, less.negative = true, true, false
	back := [...]decimal{seconds, more, less, bound}
	return signOfSum(forth[:]) <= 0 && signOfSum(back[:]) <= 0
}

// fractionDecimal is the number that digits behind a point stand for.
func fractionDecimal(digits string) decimal {
	fraction := strings.TrimLeft(digits, "0")
	return decimal{fraction: fraction, point: int64(len(fraction) - len(digits))}
}

// percentOf is d percent of a number's magnitude.
func (d *decimal) percentOf(number *decimal) decimal {
	share, _ := strconv.ParseUint(d.whole+d.fraction, 10, 64)
	product := strings.TrimLeft(number.times(share), "0")
	return decimal{
		whole: product,
		point: int64(len(product)) + number.point - int64(number.size()) + d.point - int64(d.size()) - 2,
		far:   number.far,
	}
}

// times multiplies the digits, taken for a whole number, with one below 10^17. Zeros may begin the product.
func (d *decimal) times(factor uint64) string {
	out := make([]byte, d.size()+maxShareDigits)
	var carry uint64
	for i := range out {
		if at := d.size() - 1 - i; at >= 0 {
			carry += uint64(d.digit(int64(at))) * factor
		}
		out[len(out)-1-i] = byte('0' + carry%10)
		carry /= 10
	}
	return string(out)
}
