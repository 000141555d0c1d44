package normalize

import (
	"bytes"
	"math/bits"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

const bom = "\xEF\xBB\xBF"

func hasBOM(data []byte) bool { return bytes.HasPrefix(data, []byte(bom)) }

func hasNewline(s string) bool { return strings.IndexByte(s, '\n') >= 0 }

// skipSpace answers where JSON's white space ends.
func skipSpace(s string, i int) int {
	for i < len(s) && (s[i] == ' ' || s[i] == '\n' || s[i] == '\t' || s[i] == '\r') {
		i++
	}
	return i
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// special marks, in the highest bit of each byte, the bytes of a word that end a plain run of a string: a quote, a
// backslash or a control character. Marks above the lowest may be false.
func special(word uint64) uint64 {
	quote, backslash := word^(ones*'"'), word^(ones*'\\')
	return ((word-ones*0x20)&^word | (quote-ones)&^quote | (backslash-ones)&^backslash) & highs
}

// str reads a string whose opening quote stands before s[i], and answers its text and where it ends. The text is a part
// of the body where nothing has to be unescaped.
func (p *parser) str(i int) (text string, end int, ok bool) {
	s, start := p.text, i
	var beyond uint64 // ASCII: bytes with the highest bit
	for i+8 <= len(s) {
		word := load64(s, i)
		mark := special(word)
		if mark == 0 {
			beyond |= word
			i += 8
			continue
		}
		n := bits.TrailingZeros64(mark) &^ 7
		beyond |= word & (1<<n - 1)
		i += n / 8
		break
	}
	for ; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			text = s[start:i]
			if beyond&highs != 0 && !utf8.ValidString(text) {
				text = textOf(text)
			}
			return text, i + 1, true
		case c == '\\':
			return p.unescape(start, i)
		case c < ' ':
			return "", i, p.fail(i, "a control character within a string")
		}
		beyond |= uint64(s[i])
	}
	return "", i, p.fail(i, "a string does not end")
}

// unescape reads on from the first backslash of a string that began at start.
func (p *parser) unescape(start, i int) (text string, end int, ok bool) {
	s := p.text
	out := appendBytes(p.unescaped[:0], s[start:i])
	defer func() { p.unescaped = out[:0] }()
	for i < len(s) {
		run := i
		for i < len(s) && s[i] != '"' && s[i] != '\\' && s[i] >= ' ' {
			i++
		}
		out = appendBytes(out, s[run:i])
		switch {
		case i == len(s):
		case s[i] == '"':
			return string(out), i + 1, true
		case s[i] < ' ':
			return "", i, p.fail(i, "a control character within a string")
		default:
			if out, i, ok = appendEscape(out, s, i+1); !ok {
				return "", i, p.fail(i, "a broken escape")
			}
		}
	}
	return "", i, p.fail(i, "a string does not end")
}

// appendEscape appends what the escape behind the backslash before s[i] stands for, and answers where it ends.
func appendEscape(out []byte, s string, i int) ([]byte, int, bool) {
	if i == len(s) {
		return out, i, false
	}
	if s[i] != 'u' {
		at := strings.IndexByte(`"\/bfnrt`, s[i])
		if at < 0 {
			return out, i, false
		}
		return append(out, "\"\\/\b\f\n\r\t"[at]), i + 1, true
	}
	r, ok := hex4(s, i+1)
	if !ok {
		return out, i, false
	}
	i += 5
	if !utf16.IsSurrogate(r) {
		return utf8.AppendRune(out, r), i, true
	}
	if i+1 < len(s) && s[i] == '\\' && s[i+1] == 'u' {
		if low, ok := hex4(s, i+2); ok {
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				return utf8.AppendRune(out, pair), i + 6, true
			}
		}
	}
	return appendSurrogate(out, r), i, true
}

// hex4 reads the four hex digits at s[i].
func hex4(s string, i int) (rune, bool) {
	if i+4 > len(s) {
		return 0, false
	}
	for _, c := range []byte(s[i : i+4]) {
		if !isHexDigit(c) {
			return 0, false
		}
	}
	v, err := strconv.ParseUint(s[i:i+4], 16, 16)
	return rune(v), err == nil
}
