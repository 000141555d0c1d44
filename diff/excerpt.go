package diff

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"shadowdiff/normalize"
)

// excerpter writes values as JSON text and cuts what does not fit; where it has cut, it says so.
type excerpter struct {
	buf  []byte
	room int // bytes left, those set apart for closing and for saying what was cut not counted
}

// setApart is kept for each open array or object: `,"…":"1234567890 more"}` and a little.
const setApart = 32

func excerptOf(v *normalize.Value, limit int) Excerpt {
	if v == nil {
		return ""
	}
	x := excerpter{buf: make([]byte, 0, min(limit, len(v.Text)+16*v.Size+8)), room: limit - setApart}
	x.value(v)
	return Excerpt(x.buf)
}

// excerptOfText is for bytes that are no JSON: a header, a line, a summary.
func excerptOfText(s string, limit int) Excerpt {
	x := excerpter{buf: make([]byte, 0, min(limit, len(s)+8)), room: limit - setApart}
	x.text(strings.ToValidUTF8(s, "\uFFFD"))
	return Excerpt(x.buf)
}

func (x *excerpter) write(s string) {
	x.buf = append(x.buf, s...)
	x.room -= len(s)
}

func (x *excerpter) value(v *normalize.Value) {
	switch v.Type {
	case normalize.Null:
		x.write("null")
	case normalize.Bool:
		x.write(v.Text)
	case normalize.Number:
		x.number(v)
	case normalize.String:
		x.text(v.Text)
	case normalize.Array:
		x.array(v)
	case normalize.Object:
		x.object(v)
	}
}

// number writes a number as it was sent.
func (x *excerpter) number(v *normalize.Value) {
	if len(v.Raw) > 0 && len(v.Raw) <= max(x.room, 24) {
		x.buf = append(x.buf, v.Raw...)
		x.room -= len(v.Raw)
		return
	}
	sent := string(v.Raw)
	if sent == "" {
		sent = v.Text
	}
	if len(sent) > max(x.room, 24) {
		x.write(fmt.Sprintf(`"%s…"`, sent[:min(len(sent), max(x.room, 8)-5)]))
		return
	}
	x.write(sent)
}

func (x *excerpter) array(v *normalize.Value) {
	x.inside("[]", len(v.Items), 8, `"… %d more"`, func(i int) { x.value(&v.Items[i]) })
}

func (x *excerpter) object(v *normalize.Value) {
	x.inside("{}", len(v.Members), 24, `"…":"%d more"`, func(i int) {
		x.text(v.Members[i].Key)
		x.write(":")
		x.value(&v.Members[i].Value)
	})
}

// inside writes the parts that something has between its brackets: while there is room for at least so much, and then how
// many more there are.
func (x *excerpter) inside(brackets string, parts, least int, more string, part func(i int)) {
	if x.room < 2*setApart && parts > 0 {
		x.write(`"…"`)
		return
	}
	x.room -= setApart
	x.write(brackets[:1])
	for i := range parts {
		if i > 0 {
			x.write(",")
		}
		if x.room < least {
			x.write(fmt.Sprintf(more, parts-i))
			break
		}
		part(i)
	}
	x.write(brackets[1:])
	x.room += setApart
}

// text writes a JSON string. What a person could not see, or tell apart from a space, is escaped.
func (x *excerpter) text(s string) {
	x.write(`"`)
	for i := 0; i < len(s); {
		if x.room < 8 {
			x.write("…")
			break
		}
		if n := plain(s[i:], x.room-7); n > 0 {
			x.write(s[i : i+n])
			i += n
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '"' || r == '\\':
			x.write(`\` + s[i:i+1])
		case r == '\n':
			x.write(`\n`)
		case r == '\t':
			x.write(`\t`)
		case r == '\r':
			x.write(`\r`)
		case r == utf8.RuneError && n == 1:
			n = x.atom(s[i:])
		case visible(r):
			x.write(s[i : i+n])
		case r > 0xFFFF:
			high, low := utf16.EncodeRune(r)
			x.write(fmt.Sprintf(`\u%04x\u%04x`, high, low))
		default:
			x.write(fmt.Sprintf(`\u%04x`, r))
		}
		i += n
	}
	x.write(`"`)
}

// plain is how many characters s begins with, up to most, that are printable ASCII and need no escape.
func plain(s string, most int) int {
	n := 0
	for n < len(s) && n < most && ' ' <= s[n] && s[n] <= '~' && s[n] != '"' && s[n] != '\\' {
		n++
	}
	return n
}

// visible tells whether a person sees a character and a terminal takes it for nothing else. Marks belong to the letters
// before them.
func visible(r rune) bool {
	switch r {
	case 0x115F, 0x1160, 0x2800, 0x3164, 0xFFA0: // letters and symbols that are blank
		return false
	}
	return unicode.IsPrint(r) || unicode.IsMark(r)
}

// atom writes what stands in a Value's text for a lone surrogate or for a bad byte, and returns its length.
func (x *excerpter) atom(s string) int {
	r, n := atomOf(s)
	if r >= 0 {
		x.write(fmt.Sprintf(`\u%04x`, r))
	} else {
		x.write("\uFFFD")
	}
	return n
}

// atomOf reads the atom at the beginning of a text: a lone surrogate, or minus a bad byte.
func atomOf(s string) (r rune, n int) {
	switch {
	case s[0] == 0xED && len(s) >= 3:
		return 0xD000 | rune(s[1]&0x3F)<<6 | rune(s[2]&0x3F), 3
	case s[0] == 0xFF && len(s) >= 2:
		return -rune(s[1]), 2
	}
	return -rune(s[0]), 1
}
