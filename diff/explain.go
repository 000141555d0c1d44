package diff

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"shadowdiff/normalize"
)

// Explanation writes differences for people: one paragraph for each field and kind, its places below it.
//
//	body.items[].price  value, at 37 places
//	  /items/3/price
//	  - 10
//	  + 11
//	  … 36 more places
//
// Long values are shown where they differ. What a terminal would obey, or a person could not see, is written as JSON's
// escapes.
type Explanation struct {
	Places int              // shown of each field and kind; 0 means 5
	Fields int              // fields and kinds shown; 0 means 100
	Width  int              // characters shown of a value; 0 means 160
	Noise  map[string]Level // by field: how gravely the control differs there; nil when there is none
	Color  bool             // with the escape sequences of a terminal

	// Left and Right are the bodies, so that of texts more than the first differing line is shown. They may be nil.
	Left, Right *normalize.Body
}

// Write explains the differences; it says nothing when there are none. Its error is the writer's.
func (e Explanation) Write(w io.Writer, differences []Difference) error {
	e.Places, e.Fields, e.Width = orElse(e.Places, 5), orElse(e.Fields, 100), orElse(e.Width, 160)
	var b strings.Builder
	groups := grouped(differences)
	for i, group := range groups {
		if i == e.Fields {
			fmt.Fprintf(&b, "… %s\n", more(len(groups)-i, "field"))
			break
		}
		e.group(&b, group)
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func more(n int, word string) string {
	return strings.Replace(several(n, word), " ", " more ", 1)
}

func several(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

func orElse(n, other int) int {
	if n == 0 {
		return other
	}
	return n
}

// grouped puts the differences of one field and kind together, in the order of their first ones.
func grouped(differences []Difference) (groups [][]Difference) {
	type key struct {
		field string
		kind  Kind
	}
	places := map[key]int{}
	for _, d := range differences {
		k := key{d.Field, d.Kind}
		at, ok := places[k]
		if !ok {
			at = len(groups)
			places[k] = at
			groups = append(groups, nil)
		}
		groups[at] = append(groups[at], d)
	}
	return groups
}

func (e Explanation) group(b *strings.Builder, group []Difference) {
	first := group[0]
	b.WriteString(e.paint("1", first.Field) + "  " + meaning(first.Kind))
	if len(group) > 1 {
		fmt.Fprintf(b, ", at %d places", len(group))
	}
	if e.Noise[first.Field] >= first.Kind.Level() {
		b.WriteString(e.paint("2", "  (noise: the secondary differs here too)"))
	}
	b.WriteByte('\n')
	for i, d := range group {
		if i == e.Places {
			fmt.Fprintf(b, "  … %s\n", more(len(group)-i, "place"))
			break
		}
		e.place(b, d)
	}
}

// meaning is the kind's word, with what it means where the word does not say that.
func meaning(k Kind) string {
	switch k {
	case KindMissing:
		return "missing on the right"
	case KindExtra:
		return "extra on the right"
	case KindOrder:
		return "order: the same elements in another order"
	case KindContent:
		return "content: bodies of different kinds"
	case KindFormat:
		return "format: the same type in another form"
	case KindFailed:
		return "failed: one side gave no answer"
	}
	return string(k)
}

func (e Explanation) place(b *strings.Builder, d Difference) {
	if d.Field == string(normalize.FieldBody) && d.Kind == KindValue && e.texts() && e.lines(b) {
		return
	}
	where := pointers(d)
	switch {
	case where != "" && d.Note != "":
		where += "  " + d.Note
	case where == "":
		where = d.Note
	}
	e.remark(b, where)
	left, right := e.values(d.Left, d.Right)
	if d.Left != "" {
		b.WriteString("  " + e.paint("31", "- "+left) + "\n")
	}
	if d.Right != "" {
		b.WriteString("  " + e.paint("32", "+ "+right) + "\n")
	}
}

// remark writes what is said of a place.
func (e Explanation) remark(b *strings.Builder, text string) {
	if text != "" {
		b.WriteString("  " + e.paint("2", e.printable(text)) + "\n")
	}
}

// pointers says where a difference is; empty for a whole body and for what is in no body, and where the field says it
// already.
func pointers(d Difference) string {
	switch {
	case d.LeftPointer == nil && d.RightPointer == nil:
		return ""
	case d.LeftPointer == nil:
		return beyondField(d.Field, *d.RightPointer)
	case d.RightPointer == nil || *d.LeftPointer == *d.RightPointer:
		return beyondField(d.Field, *d.LeftPointer)
	}
	return *d.LeftPointer + " on the left, " + *d.RightPointer + " on the right"
}

// beyondField is the pointer, or nothing where it has the same words as the field.
func beyondField(field, pointer string) string {
	if path, ok := strings.CutPrefix(field, string(normalize.FieldBody)); ok && strings.ReplaceAll(pointer, "/", ".") == path {
		return ""
	}
	return pointer
}

// printable quotes a text that holds what a terminal would obey, a key of another's making above all, and shortens one of
// many lines.
func (e Explanation) printable(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return !visible(r) }) {
		s = string(excerptText(s, 6*len(s)+2*setApart))
	}
	return cut(s, 4*e.Width)
}

func cut(s string, width int) string {
	if utf8.RuneCountInString(s) <= width {
		return s
	}
	return string([]rune(s)[:width-1]) + "…"
}

// values shows two values, long ones around what differs in them, with that part turned around in colour.
func (e Explanation) values(l, r Excerpt) (left, right string) {
	if l == "" || r == "" {
		return cut(string(l), e.Width), cut(string(r), e.Width)
	}
	a, b := glyphs(string(l)), glyphs(string(r))
	head, tail := 0, 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	return e.around(a, head, len(a)-tail), e.around(b, head, len(b)-tail)
}

// glyphs cuts a JSON text into what is seen as one character: escapes stay whole.
func glyphs(s string) (out []string) {
	for s != "" {
		_, n := utf8.DecodeRuneInString(s)
		switch {
		case len(s) >= 6 && s[0] == '\\' && s[1] == 'u':
			n = 6
		case len(s) >= 2 && s[0] == '\\':
			n = 2
		}
		out = append(out, s[:n])
		s = s[n:]
	}
	return out
}

// around shows the cells from one place to another, of a long text with what leads up to them and what follows.
func (e Explanation) around(text []string, from, to int) string {
	start, end := 0, len(text)
	if beside := e.Width / 4; len(text) > e.Width {
		start = max(0, from-beside)
		end = min(len(text), max(to+beside, start+2*beside), start+e.Width)
	}
	to = min(to, end)
	changed := strings.Join(text[from:to], "")
	if e.Color && changed != "" && to-from < len(text) {
		changed = "\x1b[7m" + changed + "\x1b[27m"
	}
	out := strings.Join(text[start:from], "") + changed + strings.Join(text[to:end], "")
	if start > 0 {
		out = "…" + out
	}
	if end < len(text) {
		out += "…"
	}
	return out
}

func (e Explanation) paint(code, s string) string {
	if !e.Color {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}
