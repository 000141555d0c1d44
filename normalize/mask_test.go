package normalize

import (
	"regexp"
	"regexp/syntax"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

const uuidExpression = `(?i)[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`

func TestMasksPutInTheirText(t *testing.T) {
	for _, tc := range []struct{ pattern, with, text, want string }{
		{uuidExpression, "<id>", "http://h.test/pos/7d9f4c1e-52b8-4a36-9c0d-1e2f3a4b5c6d", "http://h.test/pos/<id>"},
		{uuidExpression, "<id>", "7D9F4C1E-52B8-4A36-9C0D-1E2F3A4B5C6D", "<id>"},
		{uuidExpression, "<id>", "", ""},
		{uuidExpression, "<id>", "user-17", "user-17"},
		{`\d+`, "n", "a1b22c333", "anbncn"},
		{`(\d+)`, "$1${1}\\1", "a1", "a$1${1}\\1"},
		{`\d+`, "", "a1b2", "ab"},
		{`.*`, "<any>", "all of it", "<any>"},
		{`.*`, "<any>", "", ""},
		{`x*`, "-", "axxb", "a-b"},
		{`^`, "-", "ab", "ab"},
		{`\b`, "-", "a b", "a b"},
		{`a|b*`, "-", "abbc", "--c"},
		{`^\d`, "-", "11", "-1"},
		{`(?m)^\d`, "-", "11\n11", "-1\n-1"},
		{`é`, "e", "caféé", "cafee"},
		{`a`, "a", "banana", "banana"},
	} {
		if got := newMask(regexp.MustCompile(tc.pattern), tc.with, false)(tc.text, nil); got != tc.want {
			t.Errorf("%s with %q in %q: got %q, want %q", tc.pattern, tc.with, tc.text, got, tc.want)
		}
	}
}

func TestNumberedMasksKeepIdentity(t *testing.T) {
	ids := newMask(regexp.MustCompile(`u-\w+`), "<id>", true)
	var seen numbering
	for _, tc := range []struct{ text, want string }{
		{"u-ada likes u-bob", "<id 1> likes <id 2>"},
		{"u-bob likes u-eve", "<id 2> likes <id 3>"},
		{"nobody", "nobody"},
		{"u-ada", "<id 1>"},
		{"u-a\xED\xA0\x80 u-ada", "<id 4>\xED\xA0\x80 <id 1>"},
	} {
		if got := ids(tc.text, &seen); got != tc.want {
			t.Errorf("%q: got %q, want %q", tc.text, got, tc.want)
		}
	}
	var another numbering
	if got := ids("u-bob", &another); got != "<id 1>" {
		t.Errorf("in another document: %q", got)
	}
}

func TestWhereTheNumberStands(t *testing.T) {
	for _, tc := range []struct{ with, want string }{
		{"<id>", "<id 1>"},
		{"[order]", "[order 1]"},
		{"{x}", "{x 1}"},
		{"(a b)", "(a b 1)"},
		{"id", "id 1"},
		{"id-", "id-1"},
		{"#", "#1"},
		{"<>", "<1>"},
		{"<id> ", "<id> 1"},
		{"", "1"},
		{">", "1>"},
	} {
		if got := newMask(regexp.MustCompile(`x`), tc.with, true)("x", new(numbering)); got != tc.want {
			t.Errorf("%q: got %q, want %q", tc.with, got, tc.want)
		}
	}
}

// What is no character is one to an expression, and is never cut into.
func TestMasksLeaveWholeWhatIsNoCharacter(t *testing.T) {
	const lone, another, bad = "\xED\xA0\x80", "\xED\xB0\x80", "\xFF\x80"
	for _, tc := range []struct{ pattern, text, want string }{
		{`b`, "a" + lone + "b" + bad + "c", "a" + lone + "*" + bad + "c"},
		{`.`, lone + another + bad, "***"},
		{`^.`, lone + another, "*" + another},
		{`.$`, lone + bad, lone + "*"},
		{`a.b`, "a" + lone + "ba" + bad + "b", "**"},
		{`a.ba`, "a" + lone + "ba" + bad + "b", "*" + bad + "b"},
		{`\x{FFFD}`, "\uFFFD" + lone, "**"},
		{`[^a]+`, "a" + bad + bad + "a", "a*a"},
		{`\x{FF}`, bad + "ÿ", bad + "*"},
		{`x`, lone + bad, lone + bad},
		{`x*`, lone + "x" + bad, lone + "*" + bad},
	} {
		if got := newMask(regexp.MustCompile(tc.pattern), "*", false)(tc.text, nil); got != tc.want {
			t.Errorf("%s in %q: got %q, want %q", tc.pattern, tc.text, got, tc.want)
		}
	}
}

// texts draws texts in which not all is characters.
func texts() *rapid.Generator[string] {
	atom := rapid.SampledFrom([]string{"a", "b", "x", "1", " ", "é", "e\u0301", "\u00A0", "\u2003", "🚀", "\uFFFD", "İ", "Σ", "\n", "\xED\xA0\x80", "\xED\xB0\x81", "\xFF\x80", "\xFF\xC3", "\xFF\xFF"})
	return rapid.Map(rapid.SliceOf(atom), func(atoms []string) string { return strings.Join(atoms, "") })
}

// wholeAtoms puts private characters for all that is no character, and back.
func wholeAtoms() (there, back *strings.Replacer) {
	var forth, home []string
	for i, atom := range []string{"\xED\xA0\x80", "\xED\xB0\x81", "\xFF\x80", "\xFF\xC3", "\xFF\xFF"} {
		private := string(rune(0xF0000 + i))
		forth, home = append(forth, atom, private), append(home, private, atom)
	}
	return strings.NewReplacer(forth...), strings.NewReplacer(home...)
}

func TestMasksAgreeWithTheStandardLibrary(t *testing.T) {
	there, back := wholeAtoms()
	rapid.Check(t, func(rt *rapid.T) {
		re := regexp.MustCompile(rapid.SampledFrom([]string{`.`, `a.b`, `[^a]`, `[^a]+x`, `\w+`, `.+?x`, `\bx`, `(?s).*`, `a?.$`, `é|\n`, `\S+`}).Draw(rt, "pattern"))
		text := texts().Draw(rt, "text")
		got := newMask(re, "<$1>", false)(text, nil)
		if want := back.Replace(re.ReplaceAllStringFunc(there.Replace(text), func(match string) string {
			if match == "" {
				return ""
			}
			return "<$1>"
		})); got != want {
			t.Fatalf("%s in %q: got %q, want %q", re, text, got, want)
		}
	})
}

func TestMasksOfLongTexts(t *testing.T) {
	const uuid = "7d9f4c1e-52b8-4a36-9c0d-1e2f3a4b5c6d "
	for _, tc := range []struct {
		pattern, part string
		parts         int
		end           string
		masked        string // what a part becomes
	}{
		{`x*`, "y", 1 << 16, "", "y"},
		{`y`, "y", 1 << 16, "", "<id 1>"},
		{`.`, "\xED\xA0\x80", 1 << 16, "", "<id 1>"},
		{`(y+)+$`, "y", 1 << 16, "z", "y"},
		{uuidExpression, uuid, 1 << 12, "", "<id 1> "},
	} {
		got := newMask(regexp.MustCompile(tc.pattern), "<id>", true)(strings.Repeat(tc.part, tc.parts)+tc.end, new(numbering))
		if want := strings.Repeat(tc.masked, tc.parts) + tc.end; got != want {
			t.Errorf("%s in %d times %q: got %.40q… of %d bytes, want %d", tc.pattern, tc.parts, tc.part, got, len(got), len(want))
		}
	}
}

// Whoever sends many beginnings of what an expression may find, and never the end of one, makes every search read all.
// Such a text stays as it is once that has been read several times over.
func TestMasksThatWouldReadOnAndOn(t *testing.T) {
	for _, tc := range []struct{ pattern, harmless, harmful string }{
		{`(?s)<!--.*?-->|\s+`, "<!-- a --> b <!-- c --> d", "<!-- "},
		{`a.*b|a`, "aab a", "a"},
		{`a(.*b)?`, "ab", "a"},
		{`x[xy]*z|x`, "x xyz", "xy"},
	} {
		change := newMask(regexp.MustCompile(tc.pattern), "*", false)
		for _, text := range []string{tc.harmless, strings.Repeat(tc.harmless, 1000)} {
			if want := regexp.MustCompile(tc.pattern).ReplaceAllString(text, "*"); change(text, nil) != want {
				t.Errorf("%s in %.40q: got %.40q, want %.40q", tc.pattern, text, change(text, nil), want)
			}
		}
		for _, text := range []string{strings.Repeat(tc.harmful, 1<<12), strings.Repeat(tc.harmful, 1<<12) + "\xED\xA0\x80"} {
			if got := change(text, nil); got != text {
				t.Errorf("%s in %d bytes: got %.40q…", tc.pattern, len(text), got)
			}
		}
	}
}

func TestExpressionsThatReadOn(t *testing.T) {
	for pattern, want := range map[string]bool{
		uuidExpression: false, `\d+`: false, `token=[^&]*`: false, `https?://\S+`: false, `(foo|bar)=\w+;`: false, `.*`: false, `a{2,5}|b`: false,
		`a|b+`: true, `(\.\d+)?`: true, `(a+)+`: true, `(a{2,}b)?`: true, `(?:a+b){3}`: true, `((x)|(y*))z`: true,
	} {
		parsed, err := syntax.Parse(pattern, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		if got := runsOn(parsed, false); got != want {
			t.Errorf("%s: %t", pattern, got)
		}
	}
}

func FuzzMask(f *testing.F) {
	for _, pattern := range []string{`.`, `a.b`, `x*`, `\d+`, `(?i)é`, `^.*$`, `[^\x{FFFD}]`, `\xff`} {
		f.Add(pattern, "<id>", []byte("a1b\xff\xed\xa0\x80é"), true)
		f.Add(pattern, "", []byte(`\ud800 x \udc00`), false)
	}
	f.Fuzz(func(t *testing.T, pattern, with string, sent []byte, numbered bool) {
		re, err := regexp.Compile(pattern)
		if err != nil || len(pattern) > 100 || len(sent) > 1000 || len(with) > 100 {
			return
		}
		text := string(fuzzText(sent))
		var seen numbering
		change := newMask(re, with, numbered)
		got := change(text, &seen)
		checkAtoms(t, got)
		if again := change(text, &seen); again != got {
			t.Fatalf("%s in %q: once %q, then %q", pattern, text, got, again)
		}
		if !re.MatchString(plainText(text)) && got != text {
			t.Fatalf("%s does not match in %q, which became %q", pattern, text, got)
		}
		if !(&mask{re: re, runsOn: true}).affords(plainText(text)) {
			return
		}
		// Around the matches all stays: it is what the expression leaves of the plain form.
		if rest := newMask(re, "", false)(text, nil); plainText(rest) != re.ReplaceAllLiteralString(plainText(text), "") {
			t.Fatalf("%s leaves %q of %q", pattern, rest, text)
		}
	})
}

// fuzzText is the text that JSON's reader makes of these bytes as a string: escapes for lone surrogates count.
func fuzzText(sent []byte) []byte {
	var p parser
	p.text = string(sent) + `"`
	if text, _, ok := p.str(0); ok {
		return []byte(text)
	}
	return appendBytes(nil, string(sent))
}

// checkAtoms tells whether a text is one: characters, lone surrogates and bad bytes in their own forms.
func checkAtoms(t testing.TB, text string) {
	t.Helper()
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		switch {
		case r != utf8.RuneError || n > 1:
		case text[i] == badByte && i+1 < len(text):
			n = 2
		case i+2 < len(text) && text[i] == 0xED && text[i+1] >= 0xA0 && text[i+2] >= 0x80 && text[i+2] < 0xC0:
			n = 3
		default:
			t.Fatalf("%q is no text at %d", text, i)
		}
		i += n
	}
}
