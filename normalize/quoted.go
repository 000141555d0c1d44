package normalize

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// quoted reads a key or string in quotes: JSON's escapes, and \xHH for a byte that is no part of valid UTF-8. The result
// is a text.
func (p *fieldParser) quoted() (string, error) {
	start := p.at
	p.at++
	var out []byte
	for p.more() {
		c := p.text[p.at]
		switch {
		case c == '"':
			p.at++
			return string(out), nil
		case c == '\\':
			var err error
			if out, err = p.escape(out); err != nil {
				return "", err
			}
		default:
			_, n := utf8.DecodeRuneInString(p.rest())
			out = appendBytes(out, p.text[p.at:p.at+n])
			p.at += n
		}
	}
	return "", p.fail(start, `the quoted key does not end: close it with "`)
}

// escape reads one escape and appends what it stands for.
func (p *fieldParser) escape(out []byte) ([]byte, error) {
	start := p.at
	if p.at+1 >= len(p.text) {
		return nil, p.fail(start, `the escape does not end: write \\ for a backslash`)
	}
	c := p.text[p.at+1]
	p.at += 2
	if i := strings.IndexByte(`"\/bfnrt`, c); i >= 0 {
		return append(out, "\"\\/\b\f\n\r\t"[i]), nil
	}
	switch c {
	case 'x':
		b, ok := p.hex(2)
		if !ok || b < utf8.RuneSelf {
			return nil, p.fail(start, `\x takes the two hex digits of a byte from 80 on: write \u0041 for a character`)
		}
		return append(out, badByte, byte(b)), nil
	case 'u':
		r, ok := p.hex(4)
		if !ok {
			return nil, p.fail(start, `\u takes four hex digits`)
		}
		if !utf16.IsSurrogate(rune(r)) {
			return utf8.AppendRune(out, rune(r)), nil
		}
		if strings.HasPrefix(p.rest(), `\u`) {
			back := p.at
			p.at += 2
			low, ok := p.hex(4)
			if pair := utf16.DecodeRune(rune(r), rune(low)); ok && pair != utf8.RuneError {
				return utf8.AppendRune(out, pair), nil
			}
			p.at = back
		}
		return appendSurrogate(out, rune(r)), nil
	}
	return nil, p.fail(start, `unknown escape \%c: write \\ for a backslash`, c)
}

// hex reads so many hex digits.
func (p *fieldParser) hex(digits int) (uint64, bool) {
	if p.at+digits > len(p.text) {
		return 0, false
	}
	v, err := strconv.ParseUint(p.text[p.at:p.at+digits], 16, 32)
	if err != nil {
		return 0, false
	}
	p.at += digits
	return v, true
}
