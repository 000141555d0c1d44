package normalize

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"
)

// redactText takes values out of what cannot be parsed, a truncated JSON text above all: it looks for members (a quoted
// name with a colon, or a literal name with a colon or an equals sign) and XML elements whose name is the last step of a
// pattern, wherever they stand. A pattern whose last step names nothing gives it no name to look for: then the text is withheld as a whole.
func redactText(patterns []*Pattern, data []byte) ([]byte, int) {
	names := make([]*segment, 0, len(patterns))
	for _, p := range patterns {
		name := lastName(p)
		if name == nil {
			return []byte(Redacted), 1
		}
		names = append(names, name)
	}
	t := textRedactor{names: names, data: plainQuotes(data)}
	if out, n := t.run(); n > 0 {
		return out, n
	}
	return data, 0
}

// lastName is the last step of a pattern that takes keys by their name, as a text has it: elements of a named array, and
// the text of a named element of markup, are all of it, and an attribute stands without the @. It is nil where that step
// names nothing.
func lastName(p *Pattern) *segment {
	last := len(p.segments) - 1
	for last >= 0 {
		s := &p.segments[last]
		if s.kind != stepAny && s.kind != stepIndex && (s.kind != stepKey || s.key != textKey) {
			break
		}
		last--
	}
	if last < 0 || !p.segments[last].names() {
		return nil
	}
	s := p.segments[last]
	if s.kind == stepKey {
		s.key = strings.TrimPrefix(s.key, "@")
	}
	return &s
}

// hexQuote is how some encoders write a quote within JSON within a string.
const hexQuote = `\u0022`

// plainQuotes writes each hexQuote as the quote that it stands for, with as many backslashes as the depth asks for: where
// JSON was put into a string twice, the quote's backslash was escaped in its turn.
func plainQuotes(data []byte) []byte {
	if !bytes.Contains(data, []byte(hexQuote)) {
		return data
	}
	out := make([]byte, 0, len(data))
	run := 0 // backslashes just written
	for i := 0; i < len(data); i++ {
		if run > 0 && bytes.HasPrefix(data[i:], []byte(hexQuote[1:])) {
			out = append(append(out, bytes.Repeat([]byte{'\\'}, run-1)...), '"')
			i += len(hexQuote) - 2
			run = 0
			continue
		}
		if run++; data[i] != '\\' {
			run = 0
		}
		out = append(out, data[i])
	}
	return out
}

// names tells whether a segment takes keys by their name.
func (s *segment) names() bool {
	return s.kind == stepKey || s.kind == stepRegexp || s.kind == stepIDKey
}

// textRedactor reads a text once from left to right.
type textRedactor struct {
	names []*segment
	data  []byte
	out   []byte
	done  int // bytes of data already in out, or taken out
	count int
}

func (t *textRedactor) run() ([]byte, int) {
	for i := 0; i < len(t.data); i++ {
		switch c := t.data[i]; {
		case i < t.done:
		case (c == ':' || c == '=') && t.isNamed(i):
			t.takeValue(i + 1)
		case c == '>':
			t.takeElement(i)
		}
	}
	if t.count == 0 {
		return t.data, 0
	}
	return append(t.out, t.data[t.done:]...), t.count
}

// longestName is the longest key that is looked at, in bytes.
const longestName = 1024

// isNamed tells whether the key that ends before data[i] is one of the names.
func (t *textRedactor) isNamed(i int) bool {
	before := bytes.TrimRight(t.data[t.done:i], " \t\r\n\\")
	if len(before) == 0 {
		return false
	}
	if quote := before[len(before)-1]; quote == '"' || quote == '\'' {
		before = bytes.TrimRight(before[:len(before)-1], `\`)
		key := before[bytes.LastIndexByte(before, quote)+1:]
		return len(key) <= longestName && t.takes(keyText(string(key)))
	}
	if t.takes(keyText(string(lastOf(before, isNameByte)))) {
		return true
	}
	// A form's key: user[password], percent-encoded or not.
	path := formPath(formKey(string(lastOf(before, isFormKeyByte))))
	return t.data[i] == '=' && len(path) > 0 && t.takes(path[len(path)-1])
}

// takeElement takes out what an XML element of one of the names holds, whose tag ends at data[i].
func (t *textRedactor) takeElement(i int) {
	before := t.data[max(t.done, i-longestName):i]
	tag := before[bytes.LastIndexByte(before, '<')+1:]
	name, _, _ := bytes.Cut(tag, []byte(" "))
	_, local, qualified := bytes.Cut(name, []byte(":"))
	if !qualified {
		local = name
	}
	if len(tag) == len(before) || bytes.HasPrefix(tag, []byte("/")) || bytes.HasSuffix(tag, []byte("/")) || !t.takes(textOf(string(local))) {
		return
	}
	end := len(t.data)
	if n := bytes.Index(t.data[i:], append([]byte("</"), name...)); n >= 0 {
		end = i + n
	}
	if end > i+1 {
		t.put(i+1, end)
	}
}

// takes tells whether a key is one of the names.
func (t *textRedactor) takes(key string) bool {
	return key != "" && slices.ContainsFunc(t.names, func(s *segment) bool { return s.takesKey(key, true) })
}

// lastOf is the end of a text that is made of such bytes alone; empty where it is too long for a name.
func lastOf(text []byte, allowed func(byte) bool) []byte {
	start := len(text)
	for start > 0 && allowed(text[start-1]) {
		start--
		if len(text)-start > longestName {
			return nil
		}
	}
	return text[start:]
}

func isFormKeyByte(c byte) bool {
	return isNameByte(c) || c == '[' || c == ']' || c == '%' || c == '+' || c == '.'
}

func isNameByte(c byte) bool {
	return c >= utf8.RuneSelf || c == '_' || c == '-' || c == '$' || c == '@' || isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// keyText is a key's text with its escapes undone as far as they are right.
func keyText(key string) string {
	if strings.IndexByte(key, '\\') < 0 {
		return textOf(key)
	}
	var out []byte
	for i := 0; i < len(key); {
		if key[i] == '\\' {
			if next, end, ok := appendEscape(out, key, i+1); ok {
				out, i = next, end
				continue
			}
		}
		out = appendBytes(out, key[i:i+1])
		i++
	}
	return string(out)
}

// takeValue takes out the value that begins at data[i], behind white space, and what may be a comment before it.
func (t *textRedactor) takeValue(i int) {
	i = t.spaceEnd(i)
	start := t.commentsEnd(i)
	if start > i {
		t.put(i, start)
		i = start
	}
	for i < len(t.data) && t.data[i] == '\\' {
		i++
	}
	escapes := i - start // of the quote itself, where this is JSON within a string
	if i < len(t.data) && (t.data[i] == '"' || t.data[i] == '\'') {
		end := t.quoteEnd(i, escapes)
		t.put(i+1, end)
		return
	}
	end := start
	if start < len(t.data) && (t.data[start] == '{' || t.data[start] == '[') {
		end = t.bracketEnd(start)
	} else {
		for end < len(t.data) && strings.IndexByte(",;&}]<>\"\\\r\n", t.data[end]) < 0 {
			end++
		}
	}
	if end > start {
		t.put(start, end)
	}
}

func (t *textRedactor) spaceEnd(i int) int {
	for i < len(t.data) && strings.IndexByte(" \t\r\n", t.data[i]) >= 0 {
		i++
	}
	return i
}

// commentsEnd is where comments as JavaScript has them end that begin at data[i], with the white space behind them. What
// does not end is none.
func (t *textRedactor) commentsEnd(i int) int {
	for {
		rest, end := t.data[i:], "\n"
		switch {
		case bytes.HasPrefix(rest, []byte("/*")):
			end = "*/"
		case !bytes.HasPrefix(rest, []byte("//")):
			return i
		}
		n := bytes.Index(rest[2:], []byte(end))
		if n < 0 {
			return i
		}
		i = t.spaceEnd(i + 2 + n + len(end))
	}
}

// put replaces data[start:end].
func (t *textRedactor) put(start, end int) {
	t.out = append(append(t.out, t.data[t.done:start]...), Redacted...)
	t.done = max(start, end)
	t.count++
}

// quoteEnd is where the content of the quoted value that opens at data[i] ends: before the same quote with as many
// backslashes, or at the end of the text.
func (t *textRedactor) quoteEnd(i, escapes int) int {
	quote := t.data[i]
	run := 0
	for j := i + 1; j < len(t.data); j++ {
		switch c := t.data[j]; {
		case c == '\\':
			run++
			continue
		case c == quote && (escapes == 0 && run%2 == 0 || escapes > 0 && run <= escapes):
			return j - min(run, escapes)
		}
		run = 0
	}
	return len(t.data)
}

// bracketEnd is where the object or array that opens at data[i] ends, or the end of the text.
func (t *textRedactor) bracketEnd(i int) int {
	depth, quoted := 0, false
	for ; i < len(t.data); i++ {
		switch c := t.data[i]; {
		case c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(t.data)
}
