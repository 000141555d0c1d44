package diff

import (
	"fmt"
	"strings"
	"testing"

	"shadowdiff/normalize"
)

// show is one difference on a line: field kind left|right left-pointer|right-pointer note.
func show(d Difference) string {
	pointer := func(p *string) string {
		if p == nil {
			return "-"
		}
		return *p
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s %s|%s %s|%s %s", d.Field, d.Kind, d.Left, d.Right, pointer(d.LeftPointer), pointer(d.RightPointer), d.Note))
}

func TestDifferencesOfBodies(t *testing.T) {
	for _, test := range []struct {
		name, left, right string
		rules             []normalize.RuleConfig
		want              []string
	}{
		{
			name: "nothing", left: `{"tags":["a","b"],"e":[],"rows":[{"x":1}]}`, right: `{"rows":[{"x":1.0}],"tags":["a","b"],"e":[]}`,
		},
		{
			name:  "value, type and a number past 64 bits",
			left:  `{"addr":"12 Main St","id":"1","n":18446744073709551617}`,
			right: `{"addr":"12 Oak Ave","id":1,"n":1}`,
			want: []string{
				`body.addr value "12 Main St"|"12 Oak Ave" /addr|/addr`,
				`body.id type "1"|1 /id|/id string against number`,
				`body.n value 18446744073709551617|1 /n|/n`,
			},
		},
		{
			name:  "keys that are no words, and one that looks like an id",
			left:  `{"first-name":1,"10":1,"a.b":1,"x y":{"~/":1}}`,
			right: `{"first-name":2,"10":2,"a.b":2,"x y":{"~/":2}}`,
			want: []string{
				`body.{} value 1|2 /10|/10`,
				`body["a.b"] value 1|2 /a.b|/a.b`,
				`body.first-name value 1|2 /first-name|/first-name`,
				`body["x y"]["~/"] value 1|2 /x y/~0~1|/x y/~0~1`,
			},
		},
		{
			name: "an element in front", left: `[{"id":1},{"id":2},{"id":3}]`, right: `[{"id":9},{"id":1},{"id":2},{"id":3}]`,
			want: []string{`body[] extra |{"id":9} -|/0`},
		},
		{
			name: "an element in front and one that changed", left: `{"l":[{"id":1,"v":1},{"id":2,"v":1}]}`, right: `{"l":[{"id":9,"v":1},{"id":1,"v":1},{"id":2,"v":3}]}`,
			want: []string{`body.l[] extra |{"id":9,"v":1} -|/l/0`, `body.l[].v value 1|3 /l/1/v|/l/2/v`},
		},
		{
			name: "another format", left: `{"at":"2026-11-30T10:00:00Z"}`, right: `{"at":"1764496800"}`,
			want: []string{`body.at format "2026-11-30T10:00:00Z"|"1764496800" /at|/at time against epoch in s`},
		},
		{
			name: "another order, and one in it", left: `[[1,2],[3]]`, right: `[[3],[1,2]]`,
			want: []string{`body order [[1,2],[3]]|[[3],[1,2]] |`},
		},
		{
			name: "of two equal pairings the one whose types agree", left: `[1,"a"]`, right: `["b"]`,
			want: []string{`body[] missing 1| /0|-`, `body[] value "a"|"b" /1|/0`},
		},
		{
			name: "a copy of a key too many", left: `{"cap":20,"cap":35}`, right: `{"cap":35}`,
			want: []string{`body.cap missing 20| /cap|- duplicate key: 2 copies on the left, 1 on the right`},
		},
		{
			name: "another copy of a key", left: `{"cap":1,"cap":35}`, right: `{"cap":2,"cap":35}`,
			want: []string{`body.cap value 1|2 /cap|/cap duplicate key: an earlier copy differs`},
		},
		{
			name: "unordered, one object left on each side", left: `{"t":[{"a":1},{"a":2,"b":1},{"a":1}]}`, right: `{"t":[{"a":2,"b":9},{"a":1},{"a":1}]}`,
			rules: []normalize.RuleConfig{{Sort: "body.t"}},
			want:  []string{`body.t[].b value 1|9 /t/1/b|/t/0/b`},
		},
		{
			name: "unordered, one word left on each side", left: `{"t":["a","b","a"]}`, right: `{"t":["b","c","a"]}`,
			rules: []normalize.RuleConfig{{Sort: "body.t"}},
			want:  []string{`body.t[] missing "a"| /t/2|-`, `body.t[] extra |"c" -|/t/1`},
		},
		{
			name: "pointers name the documents as sent", left: `{"t":[{"d":0},{"x":1,"d":1},2]}`, right: `{"t":[{"d":9},{"x":2},2]}`,
			rules: []normalize.RuleConfig{{Drop: "body.t[].d"}, {Drop: "body.t[0]"}},
			want:  []string{`body.t[].x value 1|2 /t/1/x|/t/1/x`},
		},
		{
			name: "characters that look the same", left: `{"a":"unit\u00a0price","b":"caf\u00e9","c":"\ud800"}`, right: `{"a":"unit price","b":"cafe\u0301","c":"\udbff"}`,
			want: []string{
				`body.a value "unit\u00a0price"|"unit price" /a|/a U+00A0 against U+0020`,
				"body.b value \"caf\u00e9\"|\"cafe\u0301\" /b|/b U+00E9 against U+0065 U+0301",
				`body.c value "\ud800"|"\udbff" /c|/c lone surrogate U+D800 against lone surrogate U+DBFF`,
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, cut := Compare(documentOf(t, test.left, test.rules...), documentOf(t, test.right, test.rules...), DefaultLimits())
			if cut {
				t.Error("cut")
			}
			var lines []string
			for _, d := range got {
				lines = append(lines, show(d))
			}
			if a, b := strings.Join(lines, "\n"), strings.Join(test.want, "\n"); a != b {
				t.Errorf("got\n%s\nwant\n%s", a, b)
			}
		})
	}
}

// Of an array of 100 objects 37 differ in one field: one field, all places counted and listed.
func TestManyPlacesAreOneField(t *testing.T) {
	array := func(price func(i int) int) string {
		var items []string
		for i := range 100 {
			items = append(items, fmt.Sprintf(`{"id":%d,"price":%d}`, i, price(i)))
		}
		return `{"items":[` + strings.Join(items, ",") + `]}`
	}
	left := array(func(i int) int { return i })
	right := array(func(i int) int {
		if i >= 20 && i < 57 {
			return -i
		}
		return i
	})
	f := newFound(DefaultLimits())
	f.documents(documentOf(t, left), documentOf(t, right))
	if len(f.sums) != 1 || f.sums["body.items[].price"].places != 37 || len(f.differences) != 37 {
		t.Errorf("sums %v, %d listed", f.sums, len(f.differences))
	}
}

func TestWhatIsListedIsBoundedAndWhatIsCountedIsNot(t *testing.T) {
	var left, right strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&left, `{"a":%d,"b":{"c":%d}},`, i, i%10)
		fmt.Fprintf(&right, `{"a":%d,"b":{"c":%d}},`, -i-1, i%10)
	}
	l := `{"first":[` + strings.TrimSuffix(left.String(), ",") + `],"last":1}`
	r := `{"first":[` + strings.TrimSuffix(right.String(), ",") + `],"last":2}`
	f := newFound(DefaultLimits())
	f.documents(documentOf(t, l), documentOf(t, r))
	if f.sums["body.first[].a"].places != 1000 || !f.cut {
		t.Errorf("counted %v, cut %v", f.sums["body.first[].a"], f.cut)
	}
	if n := len(f.differences); n != 201 || f.differences[200].Field != "body.last" {
		t.Errorf("%d listed, the last is %v", n, f.differences[n-1])
	}
}

func TestNamesAreBounded(t *testing.T) {
	deep := func(v string) string { return strings.Repeat(`{"k":[`, 100) + v + strings.Repeat("]}", 100) }
	many := func(v string) string {
		var members []string
		for i := range 100 {
			members = append(members, fmt.Sprintf(`"%c%c":%s`, 'g'+i/20, 'g'+i%20, v))
		}
		return "{" + strings.Join(members, ",") + "}"
	}
	for _, test := range []struct{ name, left, right, field string }{
		{"levels", deep("1"), deep("2"), "body" + strings.Repeat(".k[]", 32) + ".**"},
		{"members", many("1"), many("2"), "body.{}"},
		{"members that are new", `{}`, many("1"), "body.{}"},
		{"a key", `{"` + strings.Repeat("k", 1000) + `":1}`, `{"` + strings.Repeat("k", 1000) + `":2}`, "body.{}"},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newFound(DefaultLimits())
			f.documents(documentOf(t, test.left), documentOf(t, test.right))
			if len(f.sums) != 1 || f.sums[test.field] == nil {
				t.Errorf("fields %v, want %s alone", f.sums, test.field)
			}
			if _, err := normalize.ParseField(test.field); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestDeepNestingIsComparedToALimitAndNeverCrashes(t *testing.T) {
	nested := func(levels int, v string) string {
		return strings.Repeat("[", levels) + v + strings.Repeat("]", levels)
	}
	for _, levels := range []int{9_999, 20_000, 200_000} {
		got, _ := Compare(documentOf(t, nested(levels, "1")), documentOf(t, nested(levels, "2")), DefaultLimits())
		if len(got) != 1 {
			t.Fatalf("%d levels: %d differences", levels, len(got))
		}
		if levels < 10_000 && (len(*got[0].LeftPointer) != 2*levels || got[0].Left != "1" || got[0].Right != "2") {
			t.Errorf("%d levels: %.100s", levels, show(got[0]))
		}
	}
}

// The elements of nested gaps are tried against each other: without remembering what was counted that is exponential.
func TestNestedGapsTakePolynomialTime(t *testing.T) {
	nested := func(levels int, leaf string) string {
		v := leaf
		for i := range levels {
			v = fmt.Sprintf("[%s,%d]", v, i)
		}
		return v
	}
	one := func(levels int, leaf string) string {
		return strings.Repeat("[", levels) + leaf + strings.Repeat("]", levels)
	}
	work := DefaultLimits().Work
	f := newFound(DefaultLimits())
	l, r := documentOf(t, nested(60, "true")), documentOf(t, one(60, "false"))
	w := &walk{found: f, place: bodyPlace(), work: work}
	w.values(l.Body.Root, r.Body.Root, 0)
	if used := work - w.work; used > 1_000_000 || len(f.differences) == 0 {
		t.Errorf("%d steps, %d differences", used, len(f.differences))
	}
}

func TestAWideGapIsPairedByPositionAndSaysSo(t *testing.T) {
	list := func(n int, format string) string {
		var items []string
		for i := range n {
			items = append(items, fmt.Sprintf(format, i))
		}
		return "[" + strings.Join(items, ",") + "]"
	}
	got, _ := Compare(documentOf(t, list(300, `{"a":%d}`)), documentOf(t, list(400, `{"a":"%d"}`)), DefaultLimits())
	if len(got) < 200 || !strings.Contains(got[0].Note, "paired by position: 30300 possible pairs are too many to try") {
		t.Fatalf("%d differences, first %s", len(got), show(got[0]))
	}
	if last := got[199]; *last.LeftPointer != "/199/a" || *last.RightPointer != "/199/a" {
		t.Errorf("not by position: %s", show(last))
	}
}

func TestChildrenInAnotherOrderAreNamedFromWhereItDiffers(t *testing.T) {
	l := responseOf(t, "application/xml", `<a><h/><b/><c/></a>`)
	r := responseOf(t, "application/xml", `<a><h/><c/><b/></a>`)
	got, _ := Compare(l, r, DefaultLimits())
	if len(got) != 1 || got[0].Kind != KindOrder || got[0].Note != "children …, b, c against …, c, b" {
		t.Errorf("%+v", got)
	}
}
