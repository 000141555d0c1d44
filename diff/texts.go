package diff

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"shadowdiff/normalize"
)

// lead is how much of a long text is shown before the first difference.
const lead = 80

// texts shows two different texts so that the difference is seen: long ones from shortly before it on, and with a note
// where the two would look alike.
func texts(left, right string, limit int) (l, r Excerpt, note string) {
	at := differAt(left, right)
	note = lookAlike(left[at:], right[at:])
	if from := windowFrom(left, at); max(len(left), len(right)) > limit/2 && from > 0 {
		note = normalize.JoinNotes(fmt.Sprintf("from character %d on", 1+utf8.RuneCountInString(left[:at])), note)
		return excerptText("…"+left[from:], limit), excerptText("…"+right[from:], limit), note
	}
	return excerptText(left, limit), excerptText(right, limit), note
}

func excerptText(s string, limit int) Excerpt {
	x := excerpter{buf: make([]byte, 0, min(limit, len(s)+8)), room: limit - setApart}
	x.text(s)
	return Excerpt(x.buf)
}

// differAt is the place of the first character that is not the same in both.
func differAt(left, right string) int {
	at := 0
	for at < len(left) && at < len(right) && left[at] == right[at] {
		at++
	}
	for at > 0 && (at < len(left) && !utf8.RuneStart(left[at]) || at < len(right) && !utf8.RuneStart(right[at])) {
		at--
	}
	return at
}

// windowFrom is where to begin showing a text that differs at a place.
func windowFrom(s string, at int) int {
	from := max(at-lead, 0)
	for from > 0 && !utf8.RuneStart(s[from]) {
		from--
	}
	return from
}

// lookAlike names the characters that two texts begin with where a person may not tell them apart: invisible and
// combining ones, bad bytes, and letters of alphabets that have doubles (U+212B and U+00C5 are both Å).
func lookAlike(left, right string) string {
	l, _ := utf8.DecodeRuneInString(left)
	r, _ := utf8.DecodeRuneInString(right)
	if odd(left) || odd(right) || hasDoubles(l) && hasDoubles(r) {
		return named(left) + " against " + named(right)
	}
	return ""
}

// odd tells whether one of the first two characters is not plain to see.
func odd(s string) bool {
	for range 2 {
		r, n := utf8.DecodeRuneInString(s)
		if n == 0 {
			return false
		}
		if r == utf8.RuneError || unicode.IsMark(r) || !unicode.IsPrint(r) && !strings.ContainsRune("\n\r\t", r) {
			return true
		}
		s = s[n:]
	}
	return false
}

func hasDoubles(r rune) bool {
	return r > unicode.MaxASCII && unicode.IsLetter(r) && unicode.In(r, unicode.Latin, unicode.Greek, unicode.Cyrillic)
}

// named is the code point that a text begins with, and the marks that are combined with it.
func named(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	switch {
	case n == 0:
		return "the end"
	case r != utf8.RuneError || n > 1:
		name := fmt.Sprintf("%U", r)
		if mark, _ := utf8.DecodeRuneInString(s[n:]); unicode.IsMark(mark) {
			name += fmt.Sprintf(" %U", mark)
		}
		return name
	}
	if r, _ = atomOf(s); r < 0 {
		return fmt.Sprintf("byte %#02x", -r)
	}
	return fmt.Sprintf("lone surrogate %U", r)
}

// lines shows two different texts at their first differing line.
func lines(left, right string, limit int) (l, r Excerpt, note string) {
	at := differAt(left, right)
	from := 1 + strings.LastIndexByte(left[:at], '\n')
	number := 1 + strings.Count(left[:from], "\n")
	l, r, note = texts(lineAt(left, from), lineAt(right, from), limit)
	note = normalize.JoinNotes(fmt.Sprintf("line %d of %s is the first that differs", number, counts(left, right)), note)
	return l, r, normalize.JoinNotes(note, onlyEnds(left, right))
}

// onlyEnds says so when two texts differ in nothing but how lines end.
func onlyEnds(left, right string) string {
	if strings.TrimRight(left, "\r\n") == strings.TrimRight(right, "\r\n") {
		return "only what ends the text differs"
	}
	l, r := strings.Contains(left, "\r\n"), strings.Contains(right, "\r\n")
	if l == r && !l || strings.ReplaceAll(left, "\r\n", "\n") != strings.ReplaceAll(right, "\r\n", "\n") {
		return ""
	}
	switch {
	case !r:
		return "only the line ends differ: CRLF against LF"
	case !l:
		return "only the line ends differ: LF against CRLF"
	}
	return "only the line ends differ: CRLF and LF are mixed"
}

func lineAt(s string, from int) string {
	if end := strings.IndexByte(s[from:], '\n'); end >= 0 {
		return s[from : from+end+1]
	}
	return s[from:]
}

// counts says how many lines both have.
func counts(left, right string) string {
	l, r := lineCount(left), lineCount(right)
	if l == r {
		return fmt.Sprint(l)
	}
	return fmt.Sprintf("%d against %d", l, r)
}

func lineCount(s string) int {
	n := strings.Count(s, "\n")
	if !strings.HasSuffix(s, "\n") {
		n++
	}
	return n
}
