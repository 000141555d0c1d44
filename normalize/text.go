package normalize

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A text (Value.Text of a string, Member.Key) is valid UTF-8 with two kinds of atoms besides, so that no two different
// JSON strings share one text:
//
//	ED A0..BF 80..BF   a lone surrogate, in the three bytes that UTF-8 would give it
//	FF b               a byte b that is no part of valid UTF-8
//
// Neither begins like a character, and raw bytes that spell a surrogate are three bad bytes.
const badByte = 0xFF

// appendBytes appends raw bytes as a text.
func appendBytes(dst []byte, raw string) []byte {
	for i := 0; i < len(raw); {
		r, n := utf8.DecodeRuneInString(raw[i:])
		if r == utf8.RuneError && n == 1 {
			dst = append(dst, badByte, raw[i])
		} else {
			dst = append(dst, raw[i:i+n]...)
		}
		i += n
	}
	return dst
}

// textOf is the text of raw bytes.
func textOf(raw string) string {
	if utf8.ValidString(raw) {
		return raw
	}
	return string(appendBytes(make([]byte, 0, len(raw)+8), raw))
}

// appendSurrogate appends a lone surrogate, U+D800 to U+DFFF.
func appendSurrogate(dst []byte, r rune) []byte {
	return append(dst, 0xED, byte(0x80|r>>6&0x3F), byte(0x80|r&0x3F))
}

// appendQuoted appends a key, given as a text, in the quoted form of fields: as in JSON, with \xHH for a bad byte.
func appendQuoted(dst []byte, key string) []byte {
	dst = append(dst, '"')
	for i := 0; i < len(key); {
		r, n := utf8.DecodeRuneInString(key[i:])
		switch {
		case r != utf8.RuneError || n > 1:
			dst = appendQuotedRune(dst, r)
		case key[i] == 0xED && i+2 < len(key):
			dst = fmt.Appendf(dst, `\u%04x`, 0xD000|rune(key[i+1]&0x3F)<<6|rune(key[i+2]&0x3F))
			n = 3
		case key[i] == badByte && i+1 < len(key):
			dst = fmt.Appendf(dst, `\x%02x`, key[i+1])
			n = 2
		default:
			dst = fmt.Appendf(dst, `\x%02x`, key[i])
		}
		i += n
	}
	return append(dst, '"')
}

func appendQuotedRune(dst []byte, r rune) []byte {
	switch {
	case r == '"' || r == '\\':
		return append(dst, '\\', byte(r))
	case r == '\n':
		return append(dst, `\n`...)
	case r == '\t':
		return append(dst, `\t`...)
	case unicode.IsPrint(r):
		return utf8.AppendRune(dst, r)
	case r > 0xFFFF:
		r -= 0x10000
		return fmt.Appendf(dst, `\u%04x\u%04x`, 0xD800|r>>10, 0xDC00|r&0x3FF)
	default:
		return fmt.Appendf(dst, `\u%04x`, r)
	}
}

// isInteger tells whether s is a whole number in decimal digits, a sign allowed.
func isInteger(s string) bool {
	s = strings.TrimPrefix(s, "-")
	for i := range len(s) {
		if !isDigit(s[i]) {
			return false
		}
	}
	return s != ""
}

// isUUID tells whether s is a UUID in its usual form of 36 characters.
func isUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		if dash != (s[i] == '-') || !dash && !isHexDigit(s[i]) {
			return false
		}
	}
	return true
}

// isHex tells whether s is at least so many hex digits, in one case and with a decimal digit among them.
func isHex(s string, least int) bool {
	if len(s) < least {
		return false
	}
	var digit, lower, upper bool
	for i := range len(s) {
		switch c := s[i]; {
		case isDigit(c):
			digit = true
		case 'a' <= c && c <= 'f':
			lower = true
		case 'A' <= c && c <= 'F':
			upper = true
		default:
			return false
		}
	}
	return digit && (!lower || !upper)
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isHexDigit(c byte) bool {
	return isDigit(c) || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}
