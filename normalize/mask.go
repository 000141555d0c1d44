package normalize

import (
	"io"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
	"unicode/utf8"
)

// mask replaces what an expression matches in a text.
type mask struct {
	re     *regexp.Regexp
	with   string // put in literally: $1 is no more than that
	before string // of a numbered mask: what stands before the number
	after  string // and behind it
	runsOn bool   // a search may read far beyond the match that it finds
}

// newMask replaces what an expression matches. Matches are found from left to right; one of no characters is none, so
// that .* masks every text but the empty one. The text put in is taken literally. With numbers "<id>" becomes <id 1>,
// <id 2> and so on: a number stands before a closing bracket at the end, or else at the end.
//
// To the expression, what is no character in a text is U+FFFD, one for a lone surrogate and one for each undecodable
// byte. It stays as it was where it is not matched.
//
// A text in which searches would read on and on, and each of them what the others have read, stays as it is.
func newMask(re *regexp.Regexp, with string, numbered bool) textChange {
	m := &mask{re: re, with: textOf(with)}
	if parsed, err := syntax.Parse(re.String(), syntax.Perl); err == nil {
		m.runsOn = runsOn(parsed, false)
	}
	if numbered {
		m.before, m.after = numberedText(m.with)
	}
	return func(text string, seen *numbering) string {
		if !numbered {
			seen = nil
		}
		return m.apply(text, seen)
	}
}

// numberedText is what stands around the number in a text: a space stands before it where a word does.
func numberedText(with string) (before, after string) {
	before = with
	if n := len(with) - 1; n >= 0 && strings.IndexByte(">)]}", with[n]) >= 0 {
		before, after = with[:n], with[n:]
	}
	if before != "" && strings.IndexByte("<([{ #-_:", before[len(before)-1]) < 0 {
		before += " "
	}
	return before, after
}

// apply masks a text. Seen is nil where matches have no numbers. It returns the very text where that stays.
func (m *mask) apply(text string, seen *numbering) string {
	masked := text
	switch {
	case !utf8.ValidString(text):
		masked = m.applyAround(text, seen)
	case m.re.MatchString(text) && m.affords(text):
		masked = m.re.ReplaceAllStringFunc(text, func(match string) string { return m.put(match, seen) })
	}
	if masked == text {
		return text
	}
	return masked
}

// put is what a match becomes.
func (m *mask) put(match string, seen *numbering) string {
	switch {
	case match == "":
		return ""
	case seen == nil:
		return m.with
	}
	return m.before + strconv.Itoa(seen.of(match)) + m.after
}

// applyAround masks a text in which not all is characters. The expression is held against its plain form.
func (m *mask) applyAround(text string, seen *numbering) string {
	plain := plainText(text)
	if !m.affords(plain) {
		return text
	}
	var out []byte
	at, done := 0, 0 // where the plain form and the text have come to
	for _, match := range m.re.FindAllStringIndex(plain, -1) {
		start := done + sentLength(text[done:], plain[at:match[0]])
		end := start + sentLength(text[start:], plain[match[0]:match[1]])
		out = append(out, text[done:start]...)
		out = append(out, m.put(text[start:end], seen)...)
		at, done = match[1], end
	}
	return string(append(out, text[done:]...))
}

// plainText is a text with U+FFFD for all that is no character in it.
func plainText(text string) string {
	out := make([]byte, 0, len(text)+len(text)/2)
	for i := 0; i < len(text); {
		n := atomLength(text[i:])
		if r, _ := utf8.DecodeRuneInString(text[i:]); r == utf8.RuneError {
			out = utf8.AppendRune(out, utf8.RuneError)
		} else {
			out = append(out, text[i:i+n]...)
		}
		i += n
	}
	return string(out)
}

// sentLength is how many bytes of a text a beginning of its plain form stands for.
func sentLength(text, plain string) int {
	n := 0
	for range plain {
		n += atomLength(text[n:])
	}
	return n
}

// atomLength is how many bytes the character, lone surrogate or undecodable byte at the beginning of a text takes.
func atomLength(text string) int {
	r, n := utf8.DecodeRuneInString(text)
	if r == utf8.RuneError && n == 1 {
		if text[0] == badByte {
			return min(2, len(text))
		}
		return min(3, len(text))
	}
	return n
}

// runsOn tells whether searches with an expression may read far beyond what they find: below a choice of some kind it has
// a repetition without end. While (<!--.*-->|<) looks for the end of a comment, it has found a match long since, and will
// look for that end again behind it.
func runsOn(re *syntax.Regexp, choice bool) bool {
	switch re.Op {
	case syntax.OpStar, syntax.OpPlus, syntax.OpRepeat:
		if choice && (re.Op != syntax.OpRepeat || re.Max < 0) {
			return true
		}
		choice = true
	case syntax.OpAlternate, syntax.OpQuest:
		choice = true
	}
	for _, sub := range re.Sub {
		if runsOn(sub, choice) {
			return true
		}
	}
	return false
}

const (
	shortText   = 64 // bytes, up to which searches may read what they will
	readsOfText = 16 // how many times over all searches together may read a longer text
)

// affords tells whether all searches in a text take time linear in it. It counts what they read; that they begin at the
// text's beginning for once, where ^ holds, hardly matters to that.
func (m *mask) affords(text string) bool {
	if !m.runsOn || len(text) <= shortText {
		return true
	}
	left := readsOfText * len(text)
	for at := 0; at < len(text); {
		reader := runeCounter{text: text[at:]}
		match := m.re.FindReaderIndex(&reader)
		if left -= reader.at; left < 0 {
			return false
		}
		if match == nil {
			return true
		}
		at += max(match[1], 1)
	}
	return true
}

// runeCounter reads a text and knows how much of it has been read.
type runeCounter struct {
	text string
	at   int
}

// ReadRune is io.RuneReader's.
func (c *runeCounter) ReadRune() (r rune, size int, err error) {
	if c.at == len(c.text) {
		return 0, 0, io.EOF
	}
	r, size = utf8.DecodeRuneInString(c.text[c.at:])
	c.at += size
	return r, size, nil
}
