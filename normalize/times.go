package normalize

import (
	"strconv"
	"strings"
	"time"
)

// instant is a point in time, to any number of fractional digits.
type instant struct {
	form     timeForm
	second   int64  // since 1970, leap seconds not counted; a leap second has the number of the one after it
	leap     bool   // within a leap second
	fraction string // digits of a second, without zeros at the end
}

// timeForm is how a time is written.
type timeForm uint8

const (
	formZoned   timeForm = iota // RFC 3339 and its kin, with a zone
	formLocal                   // the same without a zone: no instant, but as far from others of its form as they are apart
	formDate                    // a date alone, as local
	formHTTP                    // RFC 1123, as in HTTP headers and mail
	formEpoch                   // seconds since 1970
	formEpochMS                 // milliseconds since 1970
)

// readTime reads a string or number that is a time in one of the forms.
func readTime(v *Value) (instant, bool) {
	switch {
	case v.Type != String && v.Type != Number || len(v.Text) < len("2006-01-02"):
		return instant{}, false
	case isEpochText(v.Text):
		return epochTime(v.Text), true
	case v.Type == Number:
		return instant{}, false
	case isDigit(v.Text[0]) && isDigit(v.Text[1]) && isDigit(v.Text[2]):
		return isoTime(v.Text)
	}
	return httpTime(v.Text)
}

// isEpochText tells whether a text is ten digits, which are seconds from 2001 to 2286, or thirteen, milliseconds of the same
// years. Both may have a fraction. Numbers of other lengths are too often something else: 20240301, 202403011200.
func isEpochText(text string) bool {
	n := 0
	for n < len(text) && isDigit(text[n]) {
		n++
	}
	if n != 10 && n != 13 || text[0] == '0' {
		return false
	}
	return n == len(text) || text[n] == '.' && n+1 < len(text) && allDigits(text[n+1:])
}

func allDigits(s string) bool {
	for i := range len(s) {
		if !isDigit(s[i]) {
			return false
		}
	}
	return true
}

func epochTime(text string) instant {
	whole, fraction, _ := strings.Cut(text, ".")
	t := instant{form: formEpoch}
	if len(whole) == 13 {
		t.form = formEpochMS
		if fraction == "" {
			fraction = whole[10:]
		} else {
			fraction = whole[10:] + fraction
		}
		whole = whole[:10]
	}
	t.second, _ = strconv.ParseInt(whole, 10, 64)
	t.fraction = strings.TrimRight(fraction, "0")
	return t
}

// clock is a calendar date and a time of day as they are written.
type clock struct{ year, month, day, hour, minute, second int }

// instant is the clock's instant when it stands so many minutes before UTC. Only what exists is one: a leap second ends
// the last day of a month in UTC.
func (c clock) instant(form timeForm, fraction string, offset int) (instant, bool) {
	date := time.Date(c.year, time.Month(c.month), c.day, c.hour, c.minute, 0, 0, time.UTC)
	if c.month < 1 || c.month > 12 || c.day < 1 || date.Day() != c.day || c.hour > 23 || c.minute > 59 || c.second > 60 {
		return instant{}, false
	}
	date = date.Add(-time.Duration(offset) * time.Minute)
	t := instant{form: form, second: date.Unix() + int64(c.second), leap: c.second == 60, fraction: strings.TrimRight(fraction, "0")}
	if t.leap {
		next := time.Unix(t.second, 0).UTC()
		if form == formLocal || next.Day() != 1 || next.Hour() != 0 || next.Minute() != 0 {
			return instant{}, false
		}
	}
	return t, true
}

// cursor reads a text from left to right. What is not as it must be makes it bad for good.
type cursor struct {
	text string
	bad  bool
}

// number reads so many digits.
func (c *cursor) number(digits int) int {
	if len(c.text) < digits || !allDigits(c.text[:digits]) {
		c.bad = true
		return 0
	}
	n := 0
	for i := range digits {
		n = n*10 + int(c.text[i]-'0')
	}
	c.text = c.text[digits:]
	return n
}

// skip reads over one of some bytes, if it comes next.
func (c *cursor) skip(any string) bool {
	if c.text == "" || strings.IndexByte(any, c.text[0]) < 0 {
		return false
	}
	c.text = c.text[1:]
	return true
}

// must is skip where nothing else may come.
func (c *cursor) must(any string) { c.bad = !c.skip(any) || c.bad }

// fraction reads the digits behind a point or comma, if there is one.
func (c *cursor) fraction() string {
	if !c.skip(".,") {
		return ""
	}
	n := 0
	for n < len(c.text) && isDigit(c.text[n]) {
		n++
	}
	digits := c.text[:n]
	c.text, c.bad = c.text[n:], c.bad || n == 0
	return digits
}

// zone reads the rest as a zone that says how far it is from UTC, and answers that in minutes.
func (c *cursor) zone() (offset int) {
	switch c.text {
	case "Z", "z", "UTC", "GMT":
		c.text = ""
		return 0
	}
	west := strings.HasPrefix(c.text, "-")
	c.must("+-")
	hours, minutes := c.number(2), 0
	if c.text != "" {
		c.skip(":")
		minutes = c.number(2)
	}
	c.bad = c.bad || c.text != "" || hours > 23 || minutes > 59
	if offset = hours*60 + minutes; west {
		return -offset
	}
	return offset
}

// isoTime reads RFC 3339 and what is close to it: a space for the T, a comma for the point, no colons in the offset or no
// minutes, a space before it, UTC or GMT for Z, no seconds, the basic form 20240301T100000Z, no zone, a date alone.
func isoTime(text string) (instant, bool) {
	c := cursor{text: text}
	var t clock
	t.year = c.number(4)
	basic := !c.skip("-")
	t.month = c.number(2)
	if !basic {
		c.must("-")
	}
	t.day = c.number(2)
	if c.text == "" && !c.bad && !basic {
		return t.instant(formDate, "", 0)
	}
	if basic {
		c.must("T")
	} else {
		c.must("Tt ")
	}
	t.hour = c.number(2)
	if !basic {
		c.must(":")
	}
	t.minute = c.number(2)
	fraction := ""
	if !basic && c.skip(":") || basic && c.text != "" && isDigit(c.text[0]) {
		t.second = c.number(2)
		fraction = c.fraction()
	}
	if c.text == "" && !c.bad {
		return t.instant(formLocal, fraction, 0)
	}
	c.skip(" ")
	offset := c.zone()
	if c.bad {
		return instant{}, false
	}
	return t.instant(formZoned, fraction, offset)
}

const (
	weekdays = "MonTueWedThuFriSatSun"
	months   = "JanFebMarAprMayJunJulAugSepOctNovDec"
)

// word reads three letters of a list of such, and answers its place in it.
func (c *cursor) word(list string) int {
	if len(c.text) >= 3 {
		for i := 0; i < len(list); i += 3 {
			if c.text[:3] == list[i:i+3] {
				c.text = c.text[3:]
				return i / 3
			}
		}
	}
	c.bad = true
	return 0
}

// httpTime reads RFC 1123's form as HTTP, cookies and mail write it: "Fri, 01 Mar 2024 10:00:00 GMT". The weekday may be
// missing but not wrong; dashes may stand in the date, one digit for the day, an offset for GMT; seconds may be missing.
// The two older forms of HTTP are left alone: one has a year of two digits, the other no zone.
func httpTime(text string) (instant, bool) {
	c := cursor{text: text}
	weekday := -1
	if !isDigit(text[0]) {
		weekday = c.word(weekdays)
		c.must(",")
		c.must(" ")
		if c.bad { // as nearly all texts are
			return instant{}, false
		}
	}
	var t clock
	if len(c.text) > 1 && isDigit(c.text[1]) {
		t.day = c.number(2)
	} else {
		t.day = c.number(1)
	}
	separator := " "
	if strings.HasPrefix(c.text, "-") {
		separator = "-"
	}
	c.must(separator)
	t.month = c.word(months) + 1
	c.must(separator)
	t.year = c.number(4)
	c.must(" ")
	t.hour = c.number(2)
	c.must(":")
	t.minute = c.number(2)
	if c.skip(":") {
		t.second = c.number(2)
	}
	c.must(" ")
	if c.text == "UT" {
		c.text = "UTC"
	}
	offset := c.zone()
	if c.bad {
		return instant{}, false
	}
	if weekday >= 0 && int(time.Date(t.year, time.Month(t.month), t.day, 0, 0, 0, 0, time.UTC).Weekday()+6)%7 != weekday {
		return instant{}, false
	}
	return t.instant(formHTTP, "", offset)
}

// append appends the instant in its one canonical form, RFC 3339 in UTC without needless zeros: 2024-03-01T10:00:00.25Z.
// Years beyond four digits, which an offset may lead to, are written as they are.
func (t *instant) append(dst []byte) []byte {
	second := t.second
	if t.leap {
		second--
	}
	date := time.Unix(second, 0).UTC()
	year := date.Year()
	if year < 0 {
		dst = append(dst, '-')
		year = -year
	}
	dst = appendPadded(dst, year, 4)
	dst = date.AppendFormat(dst, "-01-02T15:04:")
	if t.leap {
		dst = append(dst, "60"...)
	} else {
		dst = appendPadded(dst, date.Second(), 2)
	}
	if t.fraction != "" {
		dst = append(append(dst, '.'), t.fraction...)
	}
	return append(dst, 'Z')
}

// appendPadded appends a number of at least so many digits.
func appendPadded(dst []byte, n, digits int) []byte {
	for power := 10; digits > 1; digits, power = digits-1, power*10 {
		if n < power {
			dst = append(dst, '0')
		}
	}
	return strconv.AppendInt(dst, int64(n), 10)
}
