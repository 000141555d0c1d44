package normalize

import (
	"strings"
	"unicode"
)

// The tests of shapes, by hand since a noisy field is classed in every exchange.

// fits tells whether a text has the form of a layout, in which 0 stands for a digit and all else for itself.
func fits(text, layout string) bool {
	if len(text) != len(layout) {
		return false
	}
	for i := range len(layout) {
		if layout[i] == '0' && !isDigit(text[i]) || layout[i] != '0' && layout[i] != text[i] {
			return false
		}
	}
	return true
}

// within tells whether the two digits at text[i] make a number within bounds.
func within(text string, i, least, most int) bool {
	n := int(text[i]-'0')*10 + int(text[i+1]-'0')
	return least <= n && n <= most
}

func isDate(text string) bool {
	return fits(text, "0000-00-00") && within(text, 5, 1, 12) && within(text, 8, 1, 31)
}

func isTime(text string) bool {
	if len(text) < 20 || !isDate(text[:10]) || text[10] != 'T' && text[10] != 't' && text[10] != ' ' {
		return false
	}
	if !fits(text[11:19], "00:00:00") || !within(text, 11, 0, 23) || !within(text, 14, 0, 59) || !within(text, 17, 0, 60) {
		return false
	}
	rest := text[19:]
	if rest[0] == '.' {
		n := 1
		for n < len(rest) && isDigit(rest[n]) {
			n++
		}
		if n == 1 {
			return false
		}
		rest = rest[n:]
	}
	return rest == "Z" || rest == "z" || fits(rest, "+00:00") || fits(rest, "-00:00")
}

func isEpoch(text string, digits int) bool {
	return len(text) == digits && text[0] == '1' && text[1] >= '4' && isInteger(text) && (text[1] > '4' || text[2] >= '2')
}

func isDecimal(text string) bool {
	whole, fraction, point := strings.Cut(text, ".")
	return isInteger(whole) && (!point || isDigit(firstByte(fraction)) && isInteger(fraction))
}

func firstByte(s string) byte {
	if s == "" {
		return 0
	}
	return s[0]
}

// isHexRun tells whether a text is hex digits in one case.
func isHexRun(text string) bool {
	var lower, upper bool
	for i := range len(text) {
		c := text[i]
		if !isHexDigit(c) {
			return false
		}
		lower = lower || c >= 'a'
		upper = upper || 'A' <= c && c <= 'F'
	}
	return !lower || !upper
}

func isBase64(text string) bool {
	if len(text) < 16 {
		return false
	}
	body := strings.TrimRight(text, "=")
	padding := len(text) - len(body)
	if padding > 2 || padding > 0 && len(text)%4 != 0 {
		return false
	}
	var lower, upper, other bool
	for i := range len(body) {
		switch c := body[i]; {
		case 'a' <= c && c <= 'z':
			lower = true
		case 'A' <= c && c <= 'Z':
			upper = true
		case isDigit(c) || c == '+' || c == '/':
			other = true
		case c != '-' && c != '_':
			return false
		}
	}
	return lower && upper && (padding > 0 || len(text) >= 32 && other)
}

func isURL(text string) bool {
	colon := strings.Index(text[:min(len(text), 34)], "://")
	if colon < 1 || len(text) == colon+3 || text[0]|0x20 < 'a' || text[0]|0x20 > 'z' {
		return false
	}
	for i := range colon {
		c := text[i]
		if !isDigit(c) && (c|0x20 < 'a' || c|0x20 > 'z') && c != '+' && c != '.' && c != '-' {
			return false
		}
	}
	return !hasSpace(text)
}

func isEmail(text string) bool {
	name, host, ok := strings.Cut(text, "@")
	dot := strings.LastIndexByte(host, '.')
	return ok && len(text) <= 254 && name != "" && dot > 0 && dot < len(host)-1 && strings.IndexByte(host, '@') < 0 && !hasSpace(text)
}

func hasSpace(text string) bool { return strings.IndexFunc(text, unicode.IsSpace) >= 0 }
