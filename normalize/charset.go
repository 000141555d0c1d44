package normalize

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/transform"
)

// The charsets of two or four bytes a character, which are told apart by a byte-order mark or by where the zeros are.
const (
	utf16LE = "utf-16le"
	utf16BE = "utf-16be"
	utf32LE = "utf-32le"
	utf32BE = "utf-32be"
)

var errCharset = errors.New("some of it is not of that charset")

// toUTF8 answers a text in UTF-8: the very data where it is that already, or where nothing tells another charset. What
// counts is the byte-order mark, then the label, then what the text says of itself. UTF-8 itself is never looked into: its
// bad bytes stay. What is valid UTF-8 is taken for it whatever a label of a charset of bytes says, since such labels are
// wrong more often than other texts are valid by chance.
func toUTF8(data []byte, l label, reserve func(int64) bool) (out []byte, note string, err error) {
	name, mark := markedCharset(data)
	if mark == 0 {
		name = l.charset
		if name == "" && l.isText() {
			name = innerCharset(data, l)
		}
	}
	name = strings.ToLower(name)
	switch {
	case name == "" || !l.isText() && l.charset == "":
		return data, "", nil
	case isWideName(name):
		if bytes.IndexByte(data, 0) < 0 && l.hasBrackets() {
			return data, "", nil // its brackets alone would have a zero
		}
		out, err = fromWide(data[mark:], name, reserve)
	case name == "utf-8" || name == "utf8" || !isEscaping(name) && utf8.Valid(data):
		return data, "", nil
	default:
		out, err = fromCharset(data, name, reserve)
	}
	if err != nil && err != errNoMemory {
		return data, fmt.Sprintf("charset %s: %v: compared as sent", shorten(name, 32), err), err
	}
	return out, "", err
}

// markedCharset is the charset that a byte-order mark tells, and how long the mark is. That of UTF-8 stays: its readers
// know it.
func markedCharset(data []byte) (name string, mark int) {
	switch {
	case hasBOM(data):
		return "utf-8", len(bom)
	case len(data)%4 == 0 && bytes.HasPrefix(data, []byte("\xFF\xFE\x00\x00")):
		return utf32LE, 4
	case len(data)%4 == 0 && bytes.HasPrefix(data, []byte("\x00\x00\xFE\xFF")):
		return utf32BE, 4
	case bytes.HasPrefix(data, []byte("\xFF\xFE")):
		return utf16LE, 2
	case bytes.HasPrefix(data, []byte("\xFE\xFF")):
		return utf16BE, 2
	}
	return "", 0
}

// innerCharset is what a text says of its own charset: by its zeros, in the XML declaration, or in a meta element.
func innerCharset(data []byte, l label) string {
	if l.hasBrackets() {
		if name := zerosCharset(data); name != "" {
			return name
		}
	}
	switch {
	case l.xml:
		return declaredCharset(data)
	case l.html:
		return metaCharset(data)
	}
	return ""
}

// zerosCharset tells a charset by where the zeros are in the first two ASCII characters (RFC 4627, section 3).
func zerosCharset(data []byte) string {
	if len(data) < 4 {
		return ""
	}
	switch [4]bool{data[0] == 0, data[1] == 0, data[2] == 0, data[3] == 0} {
	case [4]bool{true, true, true, false}:
		return utf32BE
	case [4]bool{false, true, true, true}:
		return utf32LE
	case [4]bool{true, false, true, false}:
		return utf16BE
	case [4]bool{false, true, false, true}:
		return utf16LE
	}
	return ""
}

// declaredCharset is the encoding that an XML declaration names. One that can be read like this is of bytes, whatever it
// says.
func declaredCharset(data []byte) string {
	if !bytes.HasPrefix(data, []byte("<?xml")) {
		return ""
	}
	declaration, _, ok := bytes.Cut(data[:min(len(data), 1024)], []byte("?>"))
	_, value, found := bytes.Cut(declaration, []byte("encoding"))
	if !ok || !found {
		return ""
	}
	return quotedCharset(value)
}

// metaCharset is the charset that a meta element among the first 1024 bytes names (WHATWG HTML, section 13.2.3.2).
func metaCharset(data []byte) string {
	head := bytes.ToLower(data[:min(len(data), 1024)])
	for {
		_, rest, ok := bytes.Cut(head, []byte("<meta"))
		if !ok {
			return ""
		}
		tag, _, _ := bytes.Cut(rest, []byte(">"))
		if _, value, ok := bytes.Cut(tag, []byte("charset")); ok {
			return quotedCharset(value)
		}
		head = rest
	}
}

// quotedCharset reads `= "name"`, quoted or not; a wide one is not what it can be.
func quotedCharset(value []byte) string {
	value = bytes.TrimLeft(value, " \t\r\n\f")
	if !bytes.HasPrefix(value, []byte("=")) {
		return ""
	}
	value = bytes.TrimLeft(value[1:], " \t\r\n\f'\"")
	if end := bytes.IndexAny(value, " \t\r\n\f'\";/>"); end >= 0 {
		value = value[:end]
	}
	if isWideName(strings.ToLower(string(value))) {
		return ""
	}
	return string(value)
}

// isWideName tells whether a charset's characters take two or four bytes.
func isWideName(name string) bool {
	for _, wide := range []string{"utf-16", "utf16", "utf-32", "utf32", "ucs-", "iso-10646", "unicode", "csunicode"} {
		if strings.HasPrefix(name, wide) && name != "unicode-1-1-utf-8" {
			return true
		}
	}
	return false
}

// isEscaping tells whether a charset writes other characters in bytes of ASCII, so that all of it is valid UTF-8.
func isEscaping(name string) bool {
	return strings.HasPrefix(name, "iso-2022") || strings.HasPrefix(name, "csiso2022") || name == "utf-7"
}

// fromWide reads UTF-16 and UTF-32. Without a mark and without a byte order in its name it is by its zeros, else big-endian
// (RFC 2781, section 4.3).
func fromWide(data []byte, name string, reserve func(int64) bool) ([]byte, error) {
	four := strings.Contains(name, "32") || strings.HasPrefix(name, "ucs-4")
	var order binary.ByteOrder = binary.BigEndian
	zeros := zerosCharset(data)
	if strings.HasSuffix(name, "le") || !strings.HasSuffix(name, "be") && strings.HasSuffix(zeros, "le") {
		order = binary.LittleEndian
	}
	size := 2
	if four {
		size = 4
	}
	if len(data)%size != 0 {
		return nil, errCharset
	}
	if reserve != nil && !reserve(int64(len(data))*3/2) {
		return nil, errNoMemory
	}
	out := make([]byte, 0, len(data)/size*3)
	for i := 0; i < len(data); i += size {
		r := rune(-1)
		if four {
			if u := order.Uint32(data[i:]); u <= utf8.MaxRune {
				r = rune(u)
			}
		} else {
			r = rune(order.Uint16(data[i:]))
			if utf16.IsSurrogate(r) && i+4 <= len(data) {
				i += 2
				if r = utf16.DecodeRune(r, rune(order.Uint16(data[i:]))); r == utf8.RuneError {
					r = -1
				}
			}
		}
		if !utf8.ValidRune(r) {
			return nil, errCharset // a lone surrogate among them, for which UTF-8 has nothing
		}
		out = utf8.AppendRune(out, r)
	}
	return out, nil
}

// fromCharset reads one of the charsets that the web knows (WHATWG Encoding).
func fromCharset(data []byte, name string, reserve func(int64) bool) ([]byte, error) {
	encoding, err := htmlindex.Get(name)
	if err != nil {
		return nil, errors.New("unknown")
	}
	if known, _ := htmlindex.Name(encoding); known == "replacement" {
		return nil, errors.New("unknown")
	}
	in := inflated{limit: 4 * int64(len(data)), hint: int64(len(data)) * 9 / 8, reserve: reserve}
	out, err := in.read(transform.NewReader(bytes.NewReader(data), encoding.NewDecoder()))
	switch {
	case err != nil:
		return nil, err
	case bytes.Contains(out, []byte("\uFFFD")): // its decoders write that for what they cannot read
		return nil, errCharset
	}
	return out, nil
}
