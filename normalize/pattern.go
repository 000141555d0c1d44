package normalize

import (
	"regexp"
	"strconv"
	"strings"
)

// Pattern is a field with wildcards, parsed: what a rule or a redaction names.
type Pattern struct {
	root     string    // status, header, cookie, trailer, body, query, transport or latency
	segments []segment // below the root; never two ** in a row
}

// segment is one step below a root.
type segment struct {
	kind  segmentKind
	key   string         // of stepKey and stepWhere, as a text
	index int            // of stepIndex
	re    *regexp.Regexp // of stepRegexp
	want  Value          // of stepWhere: a scalar
}

type segmentKind uint8

const (
	stepKey    segmentKind = iota // .key or ["key"]
	stepAnyKey                    // .*
	stepIDKey                     // .{}: a key that looks like an id, as pages show it
	stepRegexp                    // .{/re/}
	stepDeep                      // .**
	stepAny                       // []
	stepIndex                     // [3]
	stepWhere                     // [id="a7"]
)

// String is the canonical spelling of the pattern.
func (p *Pattern) String() string {
	out := []byte(p.root)
	for i := range p.segments {
		out = p.segments[i].append(out)
	}
	return string(out)
}

func (s *segment) append(dst []byte) []byte {
	switch s.kind {
	case stepKey:
		return appendKey(dst, s.key)
	case stepAnyKey:
		return append(dst, ".*"...)
	case stepIDKey:
		return append(dst, ".{}"...)
	case stepRegexp:
		return append(append(append(dst, ".{/"...), strings.ReplaceAll(s.re.String(), "/", `\/`)...), "/}"...)
	case stepDeep:
		return append(dst, ".**"...)
	case stepAny:
		return append(dst, "[]"...)
	case stepIndex:
		return append(strconv.AppendInt(append(dst, '['), int64(s.index), 10), ']')
	default:
		dst = append(dst, '[')
		if isWord(s.key) {
			dst = append(dst, s.key...)
		} else {
			dst = appendQuoted(dst, s.key)
		}
		dst = append(dst, '=')
		switch s.want.Type {
		case String:
			dst = appendQuoted(dst, s.want.Text)
		case Null:
			dst = append(dst, "null"...)
		default:
			dst = append(dst, s.want.Text...)
		}
		return append(dst, ']')
	}
}

// takesKey tells whether the segment takes a member under this key. With fold, the case of ASCII letters in a literal
// key does not matter.
func (s *segment) takesKey(key string, fold bool) bool {
	switch s.kind {
	case stepKey:
		return s.key == key || fold && strings.EqualFold(s.key, key)
	case stepAnyKey, stepDeep:
		return true
	case stepIDKey:
		return FoldsKey(key)
	case stepRegexp:
		return s.re.MatchString(key)
	}
	return false
}

// takesElement tells whether the segment takes an element of an array.
func (s *segment) takesElement(v *Value) bool {
	switch s.kind {
	case stepAny, stepDeep:
		return true
	case stepIndex:
		return s.index == v.Index
	case stepWhere:
		member := v.Member(s.key)
		return member != nil && member.Type == s.want.Type && member.Text == s.want.Text
	}
	return false
}
