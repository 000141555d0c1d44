package normalize

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// newLower turns characters into their simple lower case, one by one and in no language: İ becomes i, the Kelvin sign k,
// Σ is σ everywhere, ẞ is ß and SS is ss, which stay two.
func newLower() textChange {
	return func(text string, _ *numbering) string {
		i := 0
		for i < len(text) {
			r, n := utf8.DecodeRuneInString(text[i:])
			if hasLower(r) {
				return appendLower(text, i)
			}
			i += n
		}
		return text
	}
}

// hasLower tells whether a character has another lower case. U+FFFD, which stands for an undecodable byte too, has none.
func hasLower(r rune) bool {
	if r < utf8.RuneSelf {
		return 'A' <= r && r <= 'Z'
	}
	return unicode.ToLower(r) != r
}

// appendLower is a text in lower case from some character on.
func appendLower(text string, i int) string {
	out := append(make([]byte, 0, len(text)+8), text[:i]...)
	for i < len(text) {
		r, n := utf8.DecodeRuneInString(text[i:])
		if hasLower(r) {
			out = utf8.AppendRune(out, unicode.ToLower(r))
		} else {
			out = append(out, text[i:i+n]...) // bytes that are no character too
		}
		i += n
	}
	return string(out)
}

// newTrim takes off outer white space as Unicode has it: no-break space is some, zero-width space is not.
func newTrim() textChange {
	return func(text string, _ *numbering) string { return strings.TrimSpace(text) }
}

// newSqueeze makes one plain space of every run of white space, also of one no-break space or line break alone. Outer
// space becomes one space too: trim takes it off.
func newSqueeze() textChange {
	return func(text string, _ *numbering) string {
		i, before := 0, false
		for i < len(text) {
			r, n := utf8.DecodeRuneInString(text[i:])
			space := unicode.IsSpace(r)
			if space && (r != ' ' || before) {
				return squeezed(text, i, before)
			}
			i, before = i+n, space
		}
		return text
	}
}

// squeezed squeezes a text from a character on that white space stands before or not.
func squeezed(text string, i int, before bool) string {
	out := append(make([]byte, 0, len(text)), text[:i]...)
	for i < len(text) {
		r, n := utf8.DecodeRuneInString(text[i:])
		space := unicode.IsSpace(r)
		switch {
		case !space:
			out = append(out, text[i:i+n]...)
		case !before:
			out = append(out, ' ')
		}
		i, before = i+n, space
	}
	return string(out)
}

// graphemeJoiner is what the normalisation puts into runs of over 30 combining marks.
const graphemeJoiner = "\u034F"

// newNFC composes characters as Unicode's normalisation form C does. A text with so many combining marks in a row that
// the normalisation would break the run, and could make two texts one, stays as it is.
func newNFC() textChange {
	return func(text string, _ *numbering) string {
		if norm.NFC.QuickSpanString(text) == len(text) {
			return text
		}
		out := norm.NFC.String(text)
		if out == text || strings.Count(out, graphemeJoiner) != strings.Count(text, graphemeJoiner) {
			return text
		}
		return out
	}
}
