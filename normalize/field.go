package normalize

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Field names a place in a response as pages show it and rules take it: `status`, `header.content-type`,
// `body.items[].price`, `body["a.b"]`. Its text is always valid UTF-8 and parses with ParseField.
type Field string

// The fields that stand alone, and the one all places in a body grow from.
const (
	FieldStatus    Field = "status"
	FieldBody      Field = "body"
	FieldTransport Field = "transport" // whether there was an answer at all
	FieldLatency   Field = "latency"
)

// HeaderField names a response header; the name may be in any case.
func HeaderField(name string) Field {
	return Field(appendKey([]byte("header"), textOf(strings.ToLower(name))))
}

// TrailerField names a trailer; the name may be in any case.
func TrailerField(name string) Field {
	return Field(appendKey([]byte("trailer"), textOf(strings.ToLower(name))))
}

// CookieField names a cookie as a whole. Unlike header names, cookie names keep their case.
func CookieField(name string) Field { return Field(appendKey([]byte("cookie"), textOf(name))) }

// CookieAttributeField names one attribute of a cookie.
func CookieAttributeField(name, attribute string) Field {
	return Field(appendKey(appendKey([]byte("cookie"), textOf(name)), textOf(attribute)))
}

// Key is the field of the member of f under a key, given as Member.Key holds it. A key that looks like an id becomes
// `{}`, so that a map from ids to things is one field and not thousands.
func (f Field) Key(key string) Field {
	if FoldsKey(key) {
		return f + ".{}"
	}
	return Field(appendKey([]byte(f), key))
}

// Elements is the field of any element of the array at f.
func (f Field) Elements() Field { return f + "[]" }

// maxKey is how long, in bytes, a key may be and still stand in a field's name.
const maxKey = 128

// FoldsKey tells whether an object key looks like an id: a whole number, a UUID, or at least eight hex digits of one
// case with a decimal digit among them (words like "fabaceae" are spared). Keys of over 128 bytes count as ids too.
func FoldsKey(key string) bool {
	return isInteger(key) || isUUID(key) || isHex(key, 8) || len(key) > maxKey
}

// AppendPointerKey appends the RFC 6901 reference token of an object key, given as Member.Key holds it. What is not
// valid UTF-8 in the key becomes U+FFFD, since a pointer is text.
func AppendPointerKey(pointer []byte, key string) []byte {
	pointer = append(pointer, '/')
	for _, r := range key { // ranging turns every bad byte into U+FFFD
		switch r {
		case '~':
			pointer = append(pointer, "~0"...)
		case '/':
			pointer = append(pointer, "~1"...)
		default:
			pointer = utf8.AppendRune(pointer, r)
		}
	}
	return pointer
}

// AppendPointerIndex appends the RFC 6901 reference token of an array element.
func AppendPointerIndex(pointer []byte, index int) []byte {
	return strconv.AppendInt(append(pointer, '/'), int64(index), 10)
}

// appendKey appends `.key`, or `["key"]` when the key is not a plain word.
func appendKey(dst []byte, key string) []byte {
	if isWord(key) {
		return append(append(dst, '.'), key...)
	}
	return append(appendQuoted(append(dst, '['), key), ']')
}

// isWord tells whether a key may stand in a field without quotes.
func isWord(key string) bool {
	for _, r := range key {
		if !isWordRune(r) {
			return false
		}
	}
	return key != ""
}

func isWordRune(r rune) bool {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '-', r == '$', r == '@', r == '#':
		return true
	}
	return r > unicode.MaxASCII && r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r))
}
