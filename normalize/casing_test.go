package normalize

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

func TestTextVerbs(t *testing.T) {
	for _, tc := range []struct {
		verb       string
		sent, want string
	}{
		{"lower", "OSLO", "oslo"},
		{"lower", "oslo", "oslo"},
		{"lower", "", ""},
		{"lower", "STRASSE", "strasse"},
		{"lower", "Straße", "straße"},
		{"lower", "ẞ", "ß"},
		{"lower", "\u212A", "k"}, // Kelvin
		{"lower", "İI", "ii"},
		{"lower", "ΣΑΣ", "σασ"},
		{"lower", "ς", "ς"},
		{"lower", "ÀÉ", "àé"},
		{"lower", "Ⅷ", "ⅷ"},
		{"lower", "\uFFFD", "\uFFFD"},
		{"lower", "A\xED\xA0\x80B\xFF\xC3C", "a\xED\xA0\x80b\xFF\xC3c"},
		{"trim", " a b ", "a b"},
		{"trim", "\t\r\n\u00A0\u2003\u3000\u0085a\u2028", "a"},
		{"trim", "\u200Ba\uFEFF", "\u200Ba\uFEFF"},
		{"trim", "  ", ""},
		{"trim", "", ""},
		{"trim", " \xFF\x85 ", "\xFF\x85"},
		{"trim", "\xED\xA0\x80 ", "\xED\xA0\x80"},
		{"squeeze", "a  b", "a b"},
		{"squeeze", "a b", "a b"},
		{"squeeze", "a\tb\r\nc", "a b c"},
		{"squeeze", "unit\u00A0price", "unit price"},
		{"squeeze", "  a  ", " a "},
		{"squeeze", " \u2003 ", " "},
		{"squeeze", "a \u200B b", "a \u200B b"},
		{"squeeze", "", ""},
		{"squeeze", "é  \xFF\x80  \xED\xA0\x80", "é \xFF\x80 \xED\xA0\x80"},
		{"nfc", "cafe\u0301", "café"},
		{"nfc", "café", "café"},
		{"nfc", "\u212B", "\u00C5"},
		{"nfc", "\u1100\u1161", "가"},
		{"nfc", "ﬁ", "ﬁ"}, // compatibility is another form
		{"nfc", "a\u0323\u0307", "ạ\u0307"},
		{"nfc", "a\u0307\u0323", "ạ\u0307"},
		{"nfc", "e\xED\xA0\x80\u0301\xFF\xCCe\u0301", "e\xED\xA0\x80\u0301\xFF\xCCé"},
		{"nfc", "", ""},
	} {
		got := textVerbs()[tc.verb](tc.sent, nil)
		if got != tc.want {
			t.Errorf("%s %q: got %q, want %q", tc.verb, tc.sent, got, tc.want)
		}
	}
}

func textVerbs() map[string]textChange {
	return map[string]textChange{"lower": newLower(), "trim": newTrim(), "squeeze": newSqueeze(), "nfc": newNFC()}
}

// The normalisation puts a joiner into long runs of marks. A text that has one there as sent is another text.
func TestLongRunsOfMarksStayTwoTexts(t *testing.T) {
	nfc := newNFC()
	plain := "a" + strings.Repeat("\u0301", 40)
	joined := norm.NFC.String(plain)
	if !strings.Contains(joined, graphemeJoiner) {
		t.Fatal("the normalisation leaves long runs whole now: newNFC need not look for joiners")
	}
	if nfc(plain, nil) == nfc(joined, nil) {
		t.Errorf("%q and %q have become one", plain, joined)
	}
}

func TestTextVerbsKeepAllElse(t *testing.T) {
	there, back := wholeAtoms()
	rapid.Check(t, func(rt *rapid.T) {
		text := texts().Draw(rt, "text")
		whole := there.Replace(text)
		for verb, want := range map[string]string{
			"lower":   strings.Map(unicode.ToLower, whole),
			"trim":    strings.TrimFunc(whole, unicode.IsSpace),
			"squeeze": squeezedSlowly(whole),
			"nfc":     norm.NFC.String(whole),
		} {
			change := textVerbs()[verb]
			got := change(text, nil)
			if got != back.Replace(want) {
				t.Fatalf("%s %q: got %q, want %q", verb, text, got, back.Replace(want))
			}
			if again := change(got, nil); again != got {
				t.Fatalf("%s %q: once %q, twice %q", verb, text, got, again)
			}
		}
	})
}

func squeezedSlowly(text string) string {
	var out strings.Builder
	before := false
	for _, r := range text {
		space := unicode.IsSpace(r)
		if space && !before {
			out.WriteByte(' ')
		}
		if !space {
			out.WriteRune(r)
		}
		before = space
	}
	return out.String()
}

// Who looks at the whole text again for each character does not end.
func TestTextVerbsTakeTimeByTheLength(t *testing.T) {
	for _, test := range []struct {
		text    string
		changed []string // by these verbs
	}{
		{strings.Repeat("A", 1<<18), []string{"lower"}},
		{strings.Repeat(" ", 1<<18), []string{"squeeze", "trim"}},
		{strings.Repeat("\u00A0x", 1<<17), []string{"squeeze", "trim"}},
		{strings.Repeat("\xFF\x80", 1<<17), nil},
		{strings.Repeat("\xED\xA0\x80", 1<<16), nil},
		{"a" + strings.Repeat("\u0301", 1<<17), nil},
		{strings.Repeat("a\u0323\u0307", 1<<16), []string{"nfc"}},
	} {
		for verb, change := range textVerbs() {
			got := change(test.text, nil)
			if (got != test.text) != slices.Contains(test.changed, verb) {
				t.Errorf("%s of %.10q…: %.10q… of %d bytes", verb, test.text, got, len(got))
			}
			if again := change(got, nil); again != got {
				t.Errorf("%s of %.10q…: once %d bytes, twice %d", verb, test.text, len(got), len(again))
			}
		}
	}
}

func FuzzTextVerbs(f *testing.F) {
	for _, sent := range []string{" A  B ", "cafe\u0301 \u212A", "\xff\xed\xa0\x80 X", `\ud800\u0301`, "ΣİẞÅ\u00A0"} {
		f.Add([]byte(sent))
	}
	f.Fuzz(func(t *testing.T, sent []byte) {
		text := string(fuzzText(sent))
		for verb, change := range textVerbs() {
			got := change(text, nil)
			checkAtoms(t, got)
			if again := change(got, nil); again != got {
				t.Fatalf("%s %q: once %q, twice %q", verb, text, got, again)
			}
			if undecodable(got) != undecodable(text) {
				t.Fatalf("%s %q: got %q", verb, text, got)
			}
		}
	})
}

// undecodable is what in a text is no character.
func undecodable(text string) string {
	var out strings.Builder
	for i := 0; i < len(text); {
		n := atomLength(text[i:])
		if !utf8.ValidString(text[i : i+n]) {
			out.WriteString(text[i : i+n])
		}
		i += n
	}
	return out.String()
}
