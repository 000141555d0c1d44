package normalize

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxField bounds a field's text, so that no rule is a burden by its mere length.
const maxField = 4096

// ParseField reads a field or a field with wildcards. Its error names the column, from 1, and the remedy.
func ParseField(text string) (*Pattern, error) {
	if len(text) > maxField {
		return nil, fmt.Errorf("column %d: a field is at most %d bytes long: use wildcards", maxField+1, maxField)
	}
	p := &fieldParser{text: text}
	pattern, err := p.parse()
	if err != nil {
		return nil, err
	}
	return pattern, nil
}

// fieldParser reads one field from left to right.
type fieldParser struct {
	text string
	at   int // byte offset of what is read next
}

// fail says what is wrong at a byte offset and what to write instead.
func (p *fieldParser) fail(at int, format string, args ...any) error {
	column := utf8.RuneCountInString(p.text[:at]) + 1
	return fmt.Errorf("column %d: %s", column, fmt.Sprintf(format, args...))
}

func (p *fieldParser) rest() string { return p.text[p.at:] }

func (p *fieldParser) more() bool { return p.at < len(p.text) }

func (p *fieldParser) parse() (*Pattern, error) {
	root := p.word()
	pattern := &Pattern{root: root}
	switch root {
	case "status", "transport", "latency":
		if p.more() {
			return nil, p.fail(p.at, "%s has nothing below it: write %s alone", root, root)
		}
		return pattern, nil
	case "body", "header", "cookie", "trailer", "query":
	default:
		return nil, p.badRoot(root)
	}
	for p.more() {
		start := p.at
		s, err := p.segment()
		if err != nil {
			return nil, err
		}
		if root != "body" && (s.kind == stepAny || s.kind == stepIndex || s.kind == stepWhere) {
			return nil, p.fail(start, "a %s has no elements: only arrays in the body have", root)
		}
		if n := len(pattern.segments); n > 0 && s.kind == stepDeep && pattern.segments[n-1].kind == stepDeep {
			continue
		}
		pattern.segments = append(pattern.segments, s)
	}
	return pattern, p.checkDepth(pattern)
}

// checkDepth refuses what can never match since only bodies nest, and lowers names that have no case.
func (p *fieldParser) checkDepth(pattern *Pattern) error {
	most := 1
	switch pattern.root {
	case "body":
		return nil
	case "cookie":
		most = 2
	}
	if n := len(pattern.segments); n > most {
		return p.fail(0, "%s takes a name%s and nothing below it: a name with dots is quoted, %s[\"a.b\"]",
			pattern.root, map[bool]string{true: " and an attribute"}[most == 2], pattern.root)
	}
	for i := range pattern.segments {
		if s := &pattern.segments[i]; pattern.root != "query" && (pattern.root != "cookie" || i == 1) {
			s.key = strings.ToLower(s.key)
		}
	}
	return nil
}

func (p *fieldParser) badRoot(root string) error {
	const roots = "body, header, cookie, trailer or status"
	switch {
	case p.text == "":
		return p.fail(0, "the field is empty: it begins with %s", roots)
	case strings.HasPrefix(p.text, "$"):
		return p.fail(0, "this is not JSONPath: write body for $")
	case strings.HasPrefix(p.text, "/"):
		return p.fail(0, "this is not a JSON pointer: write body.a.b for /a/b")
	case strings.HasPrefix(p.text, "["):
		return p.fail(0, "a field begins with %s: for a place in the body write body%s", roots, p.text)
	case root == "" && !strings.HasPrefix(p.text, "*"):
		return p.fail(0, "a field begins with %s", roots)
	}
	if near := Nearest(root, []string{"body", "header", "cookie", "trailer", "status", "transport", "latency", "query"}); near != "" {
		return p.fail(0, "a field does not begin with %q; did you mean %q?", root, near)
	}
	return p.fail(0, "a field begins with %s: for a place in the body write body.%s", roots, p.text)
}

// word reads a run of the characters of plain words; it may be empty.
func (p *fieldParser) word() string {
	start := p.at
	for _, r := range p.rest() {
		if !isWordRune(r) {
			break
		}
		p.at += utf8.RuneLen(r)
	}
	return p.text[start:p.at]
}

func (p *fieldParser) segment() (segment, error) {
	switch p.text[p.at] {
	case '.':
		p.at++
		return p.dotted()
	case '[':
		p.at++
		return p.bracketed()
	case '*', '?':
		return segment{}, p.fail(p.at, "a wildcard stands alone, as in .* or .**: for keys that begin so write .{/^…/}")
	case '/':
		return segment{}, p.fail(p.at, `keys are joined by dots: write "." for "/", or quote the key, ["a/b"]`)
	}
	r, _ := utf8.DecodeRuneInString(p.rest())
	return segment{}, p.fail(p.at, `%q cannot stand in a plain word: quote the key, ["a%cb"]`, r, r)
}

// dotted reads what follows a dot.
func (p *fieldParser) dotted() (segment, error) {
	rest := p.rest()
	switch {
	case strings.HasPrefix(rest, "**"):
		p.at += 2
		return segment{kind: stepDeep}, nil
	case strings.HasPrefix(rest, "*"):
		p.at++
		return segment{kind: stepAnyKey}, nil
	case strings.HasPrefix(rest, "{}"):
		p.at += 2
		return segment{kind: stepIDKey}, nil
	case strings.HasPrefix(rest, "{/"):
		return p.expression()
	case strings.HasPrefix(rest, "{"):
		return segment{}, p.fail(p.at, "a pattern for keys stands between slashes: write {/^tmp-/}")
	case strings.HasPrefix(rest, "["):
		return segment{}, p.fail(p.at-1, "no dot before a bracket: write [] and [\"a.b\"] right behind the name")
	}
	start := p.at
	word := p.word()
	if word == "" {
		if !p.more() {
			return segment{}, p.fail(start, "a key must follow the dot: leave the dot out, or write .* for any key")
		}
		if rest[0] == '.' {
			return segment{}, p.fail(start, `a key must stand between two dots: the empty key is [""]`)
		}
		_, err := p.segment()
		return segment{}, err
	}
	return segment{kind: stepKey, key: word}, nil
}

// expression reads {/re/}; a slash within is written \/.
func (p *fieldParser) expression() (segment, error) {
	start := p.at
	p.at += len("{/")
	var source []byte
	for p.more() && !strings.HasPrefix(p.rest(), "/}") {
		if strings.HasPrefix(p.rest(), `\/`) {
			p.at++
		} else if p.text[p.at] == '\\' && p.at+1 < len(p.text) {
			source = append(source, '\\') // the escaped character follows, whatever it is
			p.at++
		}
		source = append(source, p.text[p.at])
		p.at++
	}
	if !p.more() {
		return segment{}, p.fail(start, "the pattern does not end: close it with /}")
	}
	p.at += len("/}")
	re, err := regexp.Compile(string(source))
	if err != nil {
		return segment{}, p.fail(start, "the pattern is no RE2 expression: %v", err)
	}
	return segment{kind: stepRegexp, re: re}, nil
}

// bracketed reads what follows an opening bracket, up to its end.
func (p *fieldParser) bracketed() (segment, error) {
	open := p.at - 1
	s, err := p.inBrackets(open)
	if err != nil {
		return segment{}, err
	}
	if !strings.HasPrefix(p.rest(), "]") {
		return segment{}, p.fail(p.at, "the bracket does not end here: close it with ]")
	}
	p.at++
	return s, nil
}

func (p *fieldParser) inBrackets(open int) (segment, error) {
	rest := p.rest()
	switch {
	case strings.HasPrefix(rest, "]"):
		return segment{kind: stepAny}, nil
	case strings.HasPrefix(rest, "*]"):
		return segment{}, p.fail(open, "write [] for any element")
	case rest == "":
		return segment{}, p.fail(open, "the bracket does not end: write [] for any element")
	}
	var key string
	if rest[0] == '"' {
		var err error
		if key, err = p.quoted(); err != nil {
			return segment{}, err
		}
		if !strings.HasPrefix(p.rest(), "=") {
			return segment{kind: stepKey, key: key}, nil
		}
	} else {
		key = p.word()
	}
	if strings.HasPrefix(p.rest(), "=") && p.at > open+1 {
		p.at++
		want, err := p.scalar()
		return segment{kind: stepWhere, key: key, want: want}, err
	}
	index, err := strconv.Atoi(key)
	if err != nil || index < 0 {
		return segment{}, p.fail(open+1, `neither [], an element like [3], a quoted key like ["a.b"] nor a choice like [id="a7"]`)
	}
	return segment{kind: stepIndex, index: index}, nil
}

// scalar reads what an element's member is compared with.
func (p *fieldParser) scalar() (Value, error) {
	start := p.at
	if strings.HasPrefix(p.rest(), `"`) {
		text, err := p.quoted()
		return Value{Type: String, Text: text}, err
	}
	end := strings.IndexByte(p.rest(), ']')
	if end < 0 {
		return Value{}, p.fail(start, "the bracket does not end: close it with ]")
	}
	literal := p.rest()[:end]
	p.at += end
	switch literal {
	case "null":
		return Value{}, nil
	case "true", "false":
		return Value{Type: Bool, Text: literal}, nil
	}
	number, rest, ok := scanNumber(literal, 0)
	if !ok || rest != len(literal) {
		return Value{}, p.fail(start, "no JSON value: quote a string, [%s=%q]", "id", literal)
	}
	return Value{Type: Number, Text: number}, nil
}
