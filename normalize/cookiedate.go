package normalize

import (
	"strings"
	"time"
)

// parseDate reads a date as RFC 6265, section 5.1.1, tells browsers to: the first time of day, day, month and year that
// stand in it, in whatever order; zones are not looked at.
func parseDate(text string) (time.Time, bool) {
	d := cookieDate{day: -1, month: -1, year: -1, hour: -1}
	for text != "" {
		begin := strings.IndexFunc(text, isDatePart)
		if begin < 0 {
			break
		}
		text = text[begin:]
		end := strings.IndexFunc(text, func(r rune) bool { return !isDatePart(r) })
		if end < 0 {
			end = len(text)
		}
		d.take(text[:end])
		text = text[end:]
	}
	return d.time()
}

// isDatePart tells what belongs to a word of a date; all else separates.
func isDatePart(r rune) bool {
	return r == ':' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || r < ' ' && r != '\t' || r >= 0x7F
}

// cookieDate is the parts found so far; -1 is one that was not.
type cookieDate struct{ hour, minute, second, day, month, year int }

// take tries a word as each part that is not there yet.
func (d *cookieDate) take(word string) {
	if d.hour < 0 && d.timeOfDay(word) {
		return
	}
	if n, ok := digits(word, 1, 2); ok && d.day < 0 {
		d.day = n
		return
	}
	if d.month < 0 && len(word) >= 3 {
		if at := strings.Index("jan feb mar apr may jun jul aug sep oct nov dec", strings.ToLower(word[:3])); at >= 0 && at%4 == 0 {
			d.month = at/4 + 1
			return
		}
	}
	if n, ok := digits(word, 2, 4); ok && d.year < 0 {
		d.year = n
	}
}

func (d *cookieDate) timeOfDay(word string) bool {
	hour, rest, one := strings.Cut(word, ":")
	minute, second, two := strings.Cut(rest, ":")
	h, okH := digits(hour, 1, 2)
	m, okM := digits(minute, 1, 2)
	s, okS := digits(second, 1, 2)
	if !one || !two || !okH || !okM || !okS || len(hour) > 2 || len(minute) > 2 {
		return false
	}
	d.hour, d.minute, d.second = h, m, s
	return true
}

// digits reads the number that a word begins with, of so many digits; what follows it is no digit and does not matter.
func digits(word string, least, most int) (n int, ok bool) {
	i := 0
	for i < len(word) && isDigit(word[i]) {
		if i == most {
			return 0, false
		}
		n = 10*n + int(word[i]-'0')
		i++
	}
	return n, i >= least
}

func (d *cookieDate) time() (time.Time, bool) {
	switch {
	case 70 <= d.year && d.year <= 99:
		d.year += 1900
	case 0 <= d.year && d.year <= 69:
		d.year += 2000
	}
	if d.hour < 0 || d.hour > 23 || d.minute > 59 || d.second > 59 || d.day < 1 || d.month < 1 || d.year < 1601 {
		return time.Time{}, false
	}
	at := time.Date(d.year, time.Month(d.month), d.day, d.hour, d.minute, d.second, 0, time.UTC)
	return at, at.Day() == d.day
}
