package diff

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Explanation writes differences for people: one paragraph for each field and kind, its places below it.
//
//	body.items[].price  value, at 37 places
//	  /items/3/price
//	  - 10
//	  + 11
//	  … 36 more places
type Explanation struct {
	Places int              // shown of each field and kind; 0 means 5
	Fields int              // fields and kinds shown; 0 means 100
	Width  int              // characters shown of a value; 0 means 160
	Noise  map[string]Level // by field: how gravely the control differs there; nil when there is none
	Color  bool             // with the escape sequences of a terminal
}

// Write explains the differences; it says nothing when there are none. Its error is the writer's.
func (e Explanation) Write(w io.Writer, differences []Difference) error {
	e.Places, e.Fields, e.Width = orElse(e.Places, 5), orElse(e.Fields, 100), orElse(e.Width, 160)
	var b strings.Builder
	groups := grouped(differences)
	for i, group := range groups {
		if i == e.Fields {
			fmt.Fprintf(&b, "… %d more fields\n", len(groups)-i)
			break
		}
		e.group(&b, group)
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
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
			fmt.Fprintf(b, "  … %d more places\n", len(group)-i)
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
	}
	return string(k)
}

func (e Explanation) place(b *strings.Builder, d Difference) {
	where := pointers(d)
	switch {
	case where != "" && d.Note != "":
		where += "  " + d.Note
	case where == "":
		where = d.Note
	}
	if where != "" {
		b.WriteString("  " + e.paint("2", e.printable(where)) + "\n")
	}
	if d.Left != "" {
		b.WriteString("  " + e.paint("31", "- "+e.cut(d.Left)) + "\n")
	}
	if d.Right != "" {
		b.WriteString("  " + e.paint("32", "+ "+e.cut(d.Right)) + "\n")
	}
}

// pointers says where a difference is; empty for a whole body and for what is in no body.
func pointers(d Difference) string {
	switch {
	case d.LeftPointer == nil && d.RightPointer == nil:
		return ""
	case d.LeftPointer == nil:
		return *d.RightPointer
	case d.RightPointer == nil || *d.LeftPointer == *d.RightPointer:
		return *d.LeftPointer
	}
	return *d.LeftPointer + " against " + *d.RightPointer
}

// printable quotes a text that holds what a terminal would obey, a key of another's making above all, and shortens one of
// many lines.
func (e Explanation) printable(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		s = string(excerptText(s, 6*len(s)+2*setApart))
	}
	return cut(s, 4*e.Width)
}

// cut shortens a value to the width.
func (e Explanation) cut(x Excerpt) string { return cut(string(x), e.Width) }

func cut(s string, width int) string {
	if utf8.RuneCountInString(s) <= width {
		return s
	}
	return string([]rune(s)[:width-1]) + "…"
}

func (e Explanation) paint(code, s string) string {
	if !e.Color {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}
