package normalize

import (
	"bytes"
	"slices"
	"strings"
)

const mediaForm = "application/x-www-form-urlencoded"

// form reads a form (WHATWG URL, section 5.1) into an object: a field's text under its name, an array where the name stands
// more than once. Control characters are in no form; then it is text.
func (r *reader) form(data []byte) (root Value, why string, ok bool) {
	if bytes.IndexFunc(data, func(c rune) bool { return c < ' ' }) >= 0 {
		return Value{}, "a control character", false
	}
	if bytes.IndexByte(data, '=') < 0 {
		return Value{}, "no = in it", false
	}
	fields := make([]Member, 0, 1+bytes.Count(data, []byte{'&'}))
	if !r.charge(cap(fields)) {
		return Value{}, noMemory, false
	}
	for pair := range strings.SplitSeq(string(data), "&") {
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		fields = append(fields, Member{Key: formText(name), Value: stringValue(formText(value))})
	}
	return r.named(fields)
}

// named makes an object of members in the order sent; those of one key become an array.
func (r *reader) named(fields []Member) (root Value, why string, ok bool) {
	slices.SortStableFunc(fields, func(a, b Member) int { return strings.Compare(a.Key, b.Key) })
	members, ok := r.members(distinctKeys(fields))
	if !ok {
		return Value{}, noMemory, false
	}
	for i := range members {
		n := 1
		for n < len(fields) && fields[n].Key == fields[0].Key {
			n++
		}
		members[i] = fields[0]
		if n > 1 {
			items, ok := r.values(n)
			if !ok {
				return Value{}, noMemory, false
			}
			for j := range items {
				items[j] = fields[j].Value
			}
			members[i].Value = arrayValue(items)
		}
		fields = fields[n:]
	}
	return objectValue(members), "", true
}

// distinctKeys counts the keys of sorted members.
func distinctKeys(sorted []Member) int {
	n := 0
	for i := range sorted {
		if i == 0 || sorted[i].Key != sorted[i-1].Key {
			n++
		}
	}
	return n
}

// formText undoes a form's encoding: plus is a space, %XX a byte; a broken %XX stays as it is.
func formText(s string) string {
	if strings.IndexByte(s, '%') < 0 {
		return textOf(strings.ReplaceAll(s, "+", " "))
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '+':
			out = append(out, ' ')
		case c == '%' && i+2 < len(s) && isHexDigit(s[i+1]) && isHexDigit(s[i+2]):
			out = append(out, hexByte(s[i+1])<<4|hexByte(s[i+2]))
			i += 2
		default:
			out = append(out, c)
		}
	}
	return textOf(string(out))
}

func hexByte(c byte) byte {
	if isDigit(c) {
		return c - '0'
	}
	return (c | 0x20) - 'a' + 10
}
