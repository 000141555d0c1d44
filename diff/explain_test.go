package diff

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func ExampleExplanation_Write() {
	t := &testing.T{}
	differences, _ := Compare(
		documentOf(t, `{"id":"7","items":[{"price":10},{"price":11}]}`),
		documentOf(t, `{"id":7,"items":[{"price":12},{"price":13}]}`), DefaultLimits())
	var b strings.Builder
	e := Explanation{Places: 1, Noise: map[string]Level{"body.id": KindValue.Level(), "body.items[].price": KindValue.Level()}}
	if err := e.Write(&b, differences); err != nil {
		panic(err)
	}
	fmt.Print(b.String())
	// Output:
	// body.id  type
	//   string against number
	//   - "7"
	//   + 7
	//
	// body.items[].price  value, at 2 places  (noise: the secondary differs here too)
	//   /items/0/price
	//   - 10
	//   + 12
	//   … 1 more place
}

func TestAnExplanationIsBounded(t *testing.T) {
	var differences []Difference
	for i := range 5000 {
		differences = append(differences, Difference{Field: fmt.Sprintf("body.f%d", i%1000), Kind: KindValue, Left: Excerpt(`"` + strings.Repeat("é", 900) + `"`)})
	}
	var b strings.Builder
	if err := (Explanation{Color: true}).Write(&b, differences); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "… 900 more fields\n") || b.Len() > 300_000 || !strings.Contains(b.String(), "\x1b[1mbody.f0\x1b[0m") {
		t.Errorf("%d bytes: %.300s", b.Len(), b.String())
	}
}

// A key is of another's making: what a terminal would obey is not sent to it.
func TestAnExplanationIsPlain(t *testing.T) {
	differences, _ := Compare(
		documentOf(t, `{"\u001b[31m\u202e":1,"a\"b":1,"`+strings.Repeat("k", 5000)+`":1}`),
		documentOf(t, `{"\u001b[31m\u202e":2,"a\"b":2,"`+strings.Repeat("k", 5000)+`":2}`), DefaultLimits())
	var b strings.Builder
	if err := (Explanation{}).Write(&b, differences); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(b.String(), "\x1b\u202e") || !strings.Contains(b.String(), "\n  \"/\\u001b[31m\\u202e\"\n") ||
		!strings.Contains(b.String(), "\n  /a\"b\n") {
		t.Errorf("%.400q", b.String())
	}
	for line := range strings.Lines(b.String()) {
		if len(line) > 2000 {
			t.Errorf("a line of %d bytes: %.80s", len(line), line)
		}
	}
}

// explained is the text for two answers, as the command shows it.
func explained(t *testing.T, e Explanation, left, right string) string {
	t.Helper()
	l, r := documentOf(t, left), documentOf(t, right)
	differences, _ := Compare(l, r, DefaultLimits())
	e.Left, e.Right = &l.Body, &r.Body
	var b strings.Builder
	if err := e.Write(&b, differences); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// A long value is shown where it differs, wherever that is.
func TestAnExplanationShowsWhereValuesDiffer(t *testing.T) {
	for _, n := range []int{100, 200, 700, 5000, 50_000} {
		same := strings.Repeat("é", n)
		text := explained(t, Explanation{}, `["`+same+`old`+same+`"]`, `["`+same+`new"]`)
		if !strings.Contains(text, "éold") || !strings.Contains(text, `énew"`) {
			t.Errorf("%d: %s", n, text)
		}
		for line := range strings.Lines(text) {
			if utf8.RuneCountInString(line) > 170 {
				t.Errorf("%d: %d characters: %s", n, utf8.RuneCountInString(line), line)
			}
		}
	}
}

func TestAnExplanationPaintsWhatDiffers(t *testing.T) {
	text := explained(t, Explanation{Color: true}, `["a\u0001b"]`, `["a\u0002b"]`)
	for _, want := range []string{
		"\x1b[31m- \"a\x1b[7m\\u0001\x1b[27mb\"\x1b[0m\n", "\x1b[32m+ \"a\x1b[7m\\u0002\x1b[27mb\"\x1b[0m\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %q", want, text)
		}
	}
	if text := explained(t, Explanation{Color: true}, `[1]`, `[2]`); !strings.Contains(text, "\x1b[31m- 1\x1b[0m\n") {
		t.Errorf("%q", text)
	}
}

// A pointer that says no more than the field is left out.
func TestAnExplanationSaysWhere(t *testing.T) {
	for _, test := range []struct{ left, right, want string }{
		{`{"a":{"b":1}}`, `{"a":{"b":2}}`, "body.a.b  value\n  - 1"},
		{`{"a.b":1}`, `{"a.b":2}`, "body[\"a.b\"]  value\n  /a.b\n"},
		{`[[1,2,3],{"a":1,"b":1}]`, `[0,[1,2,3],{"a":2,"b":1}]`, "/1/a on the left, /2/a on the right\n"},
		{`[1]`, ``, "body  missing on the right\n  - [1]"},
	} {
		if text := explained(t, Explanation{}, test.left, test.right); !strings.Contains(text, test.want) {
			t.Errorf("%s against %s: %s", test.left, test.right, text)
		}
	}
}

func TestAnExplanationOfTextsShowsTheirLines(t *testing.T) {
	var many strings.Builder
	for i := range 50 {
		fmt.Fprintf(&many, "%d\nx\n", i)
	}
	for _, test := range []struct{ left, right, want string }{
		{"one\ntwo\nthree\nfour\n", "one\n2\nthree\n", `body  value
  4 lines on the left, 3 on the right; both: not JSON: at byte 0: no value begins like this
  line 2
  - "two\n"
  + "2\n"
  line 4 on the left
  - "four\n"
`},
		{"a\nb \n", "a\nb\u00a0\n", "\n  line 2  U+0020 against U+00A0\n"},
		{"x\nx\n", many.String(), "+ … 92 more lines\n"},
		{many.String(), strings.ReplaceAll(many.String(), "x", "y"), "  … 45 more places\n"},
		{"x", "x\n", "  line 1\n  - \"x\"\n  + \"x\\n\"\n"},
		{"x" + strings.Repeat("a", hunkBytes/2), "x" + strings.Repeat("a", hunkBytes/2) + "b", "line 1 of 1 is the first that differs"},
	} {
		if text := explained(t, Explanation{}, test.left, test.right); !strings.Contains(text, test.want) {
			t.Errorf("%.100q against %.100q:\n%.1000s\nwant\n%s", test.left, test.right, text, test.want)
		}
	}
}

// What cannot be seen is written as an escape, marks and letters of any script as they are.
func TestVisible(t *testing.T) {
	for text, want := range map[string]string{
		"日本語 é e\u0301 👍🏽":                           `"日本語 é e` + "\u0301" + ` 👍🏽"`,
		"\x1b\x7f\u0085":                             `"\u001b\u007f\u0085"`,
		"\u202e\u200b\ufeff\u00ad\u00a0\u3000\u2028": `"\u202e\u200b\ufeff\u00ad\u00a0\u3000\u2028"`,
		"\u3164\u2800\U000E0041":                     `"\u3164\u2800\udb40\udc41"`,
	} {
		if got := string(excerptText(text, 2<<10)); got != want {
			t.Errorf("%q is shown as %s, want %s", text, got, want)
		}
	}
}
