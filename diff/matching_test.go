package diff

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"shadowdiff/multicast"
	"shadowdiff/normalize"
)

func by(keys ...string) normalize.By { return keys }

func TestDifferencesUnderMatchingRules(t *testing.T) {
	items := []normalize.RuleConfig{{Pair: "body.items", By: by("id")}}
	near := func(field string, within string, more ...normalize.RuleConfig) []normalize.RuleConfig {
		return append(more, normalize.RuleConfig{Tolerate: field, Within: within})
	}
	for _, test := range []struct {
		name, left, right string
		rules             []normalize.RuleConfig
		want              []string
	}{
		{
			name: "another order of keys", left: `{"items":[{"id":1,"v":"a"},{"id":2,"v":"b"}]}`, right: `{"items":[{"id":2,"v":"b"},{"id":1.0,"v":"a"}]}`,
			rules: items,
		},
		{
			name: "one changed, one gone, one new", rules: items,
			left: `{"items":[{"id":1},{"id":2,"v":3},{"id":4}]}`, right: `{"items":[{"id":5},{"id":4},{"id":2,"v":4}]}`,
			want: []string{`body.items[] missing {"id":1}| /items/0|-`, `body.items[].v value 3|4 /items/1/v|/items/2/v`, `body.items[] extra |{"id":5} -|/items/0`},
		},
		{
			name: "a number is no string, and no key is none like another", rules: items,
			left: `{"items":[{"id":1},{"id":null,"a":1},{"b":1},7]}`, right: `{"items":[7,{"id":"1"},{"b":1},{"id":null,"a":2}]}`,
			want: []string{
				`body.items[] missing {"id":1}| /items/0|-`, `body.items[] missing {"a":1,"id":null}| /items/1|-`,
				`body.items[] extra |{"id":"1"} -|/items/1`, `body.items[] extra |{"a":2,"id":null} -|/items/3`,
			},
		},
		{
			name: "a repeated key goes by its order", rules: items,
			left: `{"items":[{"id":1,"v":1},{"id":2},{"id":1,"v":2}]}`, right: `{"items":[{"id":1,"v":2},{"id":1,"v":1},{"id":1,"v":3},{"id":2}]}`,
			want: []string{
				`body.items[].v value 1|2 /items/0/v|/items/0/v`, `body.items[].v value 2|1 /items/2/v|/items/1/v`,
				`body.items[] extra |{"id":1,"v":3} -|/items/2`,
			},
		},
		{
			name: "a key of two parts, one of them below", rules: []normalize.RuleConfig{{Pair: "body", By: by("ns", "meta.name")}},
			left: `[{"ns":"a","meta":{"name":"x"},"v":1},{"ns":"a"}]`, right: `[{"ns":"a"},{"ns":"ax","meta":{"name":""}},{"ns":"a","meta":{"name":"x"},"v":2}]`,
			want: []string{`body[].v value 1|2 /0/v|/2/v`, `body[] extra |{"meta":{"name":""},"ns":"ax"} -|/1`},
		},
		{
			name: "keys that are arrays and objects", rules: []normalize.RuleConfig{{Pair: "body", By: by("k")}, {Sort: "body[].k.tags"}},
			left: `[{"k":[1,2],"v":1},{"k":{"a":1,"tags":[1,2]},"v":1}]`, right: `[{"k":{"tags":[2,1],"a":1.0},"v":2},{"k":[2,1],"v":1}]`,
			want: []string{`body[] missing {"k":[1,2],"v":1}| /0|-`, `body[].v value 1|2 /1/v|/0/v`, `body[] extra |{"k":[2,1],"v":1} -|/1`},
		},
		{
			name: "elements that are arrays", rules: []normalize.RuleConfig{{Pair: "body", By: by("[0]")}},
			left: `[["a",1],["b",2],[]]`, right: `[["b",2],["a",3],[]]`,
			want: []string{`body[][] value 1|3 /0/1|/1/1`},
		},
		{
			name:  "a pair rule in another, and in a multiset",
			rules: []normalize.RuleConfig{{Pair: "body.items", By: by("id")}, {Pair: "body.items[].rows", By: by("n")}, {Sort: "body.sets"}, {Pair: "body.sets[]", By: by("n")}},
			left:  `{"items":[{"id":1,"rows":[{"n":1,"v":1},{"n":2}]}],"sets":[[{"n":1},{"n":2}],[{"n":3}]]}`,
			right: `{"items":[{"id":1,"rows":[{"n":2},{"n":1,"v":2}]}],"sets":[[{"n":3}],[{"n":2},{"n":1}]]}`,
			want:  []string{`body.items[].rows[].v value 1|2 /items/0/rows/0/v|/items/0/rows/1/v`},
		},
		{
			name: "no array on one side", rules: items, left: `{"items":[{"id":1}]}`, right: `{"items":{"id":1}}`,
			want: []string{`body.items type [{"id":1}]|{"id":1} /items|/items array against object`},
		},
		{
			name: "the key is exact where it is tolerated", rules: near("body.**", "1", items...),
			left: `{"items":[{"id":1,"v":1},{"id":2,"v":2}]}`, right: `{"items":[{"id":2,"v":3},{"id":1,"v":2}]}`,
		},
		{
			name: "a rule for one place only, where the arrays have shifted", rules: []normalize.RuleConfig{{Pair: "body.l[0]", By: by("id")}},
			left: `{"l":[[{"id":1},{"id":2}]]}`, right: `{"l":[[{"id":2},{"id":1}]]}`,
		},
		{
			name: "close at the same place", rules: near("body.**", "0.3"), left: `{"a":1,"b":[1,2,"x"]}`, right: `{"a":1.3,"b":[1.2,2.5,"x"]}`,
			want: []string{`body.b[] value 2|2.5 /b/1|/b/1`},
		},
		{
			name: "two that must leave their first choice", rules: near("body[]", "0.3", normalize.RuleConfig{Sort: "body"}), left: `[1,1.4]`, right: `[1.2,0.9]`,
		},
		{
			name: "close, in another order", rules: near("body[]", "0.3"), left: `[1,5,9]`, right: `[9.1,1.1,5.1]`,
			want: []string{`body order [1,5,9]|[9.1,1.1,5.1] |`},
		},
		{
			name: "a series in which one is not close", rules: near("body[]", "1"), left: `[1,2,3,4,5,6,7,8]`, right: `[1,2,3,9,5,6,7,8]`,
			want: []string{`body[] value 4|9 /3|/3`},
		},
		{
			name: "a series in which two are not close", rules: near("body[]", "1"), left: `[0,1,2,3,4,5,6,7,8]`, right: `[0,50,2,3,4,5,60,7,8]`,
			want: []string{`body[] value 1|50 /1|/1`, `body[] value 6|60 /6|/6`},
		},
		{
			name: "a series with one more", rules: near("body[]", "1"), left: `[1,2,3,4,5,6]`, right: `[1.1,2.1,50,3.1,4.1,5.1,6.1]`,
			want: []string{`body[] extra |50 -|/2`},
		},
		{
			name: "one gone and one new", rules: near("body[].n", "1"), left: `[{"n":10},{"n":20},{"n":30},{"n":40}]`, right: `[{"n":20.5},{"n":30.5},{"n":40.5},{"n":50}]`,
			want: []string{`body[] missing {"n":10}| /0|-`, `body[] extra |{"n":50} -|/3`},
		},
		{
			name: "close to one that is close to another", rules: near("body[].t", "0.1", normalize.RuleConfig{Sort: "body"}),
			left: `[{"t":1},{"t":1.1},{"t":1.2}]`, right: `[{"t":1.1},{"t":1.2},{"t":1.4}]`,
			want: []string{`body[].t value 1.2|1.4 /2/t|/2/t`},
		},
		{
			name: "times in two zones", rules: near("body.at", "2s"), left: `{"at":"2026-11-30T10:00:00Z"}`, right: `{"at":"2026-11-30T11:00:02+01:00"}`,
		},
		{
			name: "a renamed key", rules: []normalize.RuleConfig{{Rename: "body.user_name", To: "userName"}}, left: `{"user_name":{"a":1}}`, right: `{"userName":{"a":2,"b":1}}`,
			want: []string{`body.user_name.a value 1|2 /user_name/a|/userName/a`, `body.user_name.b extra |1 -|/userName/b`},
		},
		{
			name: "masked keys are one field", rules: []normalize.RuleConfig{{MaskKeys: "body.by", Pattern: `\d+`, Numbered: true}},
			left: `{"by":{"u7":{"a":1},"u5":{"a":2}}}`, right: `{"by":{"u9":{"a":1},"u1":{"a":3}}}`,
			want: []string{`body.by.{}.a value 2|3 /by/u5/a|/by/u1/a`},
		},
		{
			name: "a renamed key that only one has", rules: []normalize.RuleConfig{{Rename: "body.**.ID", To: "id"}}, left: `[{"ID":1}]`, right: `[{}]`,
			want: []string{`body[].ID missing 1| /0/ID|-`},
		},
		{
			name: "what a string contains", rules: []normalize.RuleConfig{{Parse: "body.log", As: "json"}}, left: `{"log":"{\"a\":[1,2]}"}`, right: `{"log":"{\"a\":[1,3]}"}`,
			want: []string{`body.log.a[] value 2|3 /log|/log`},
		},
		{
			name: "what a string contains is not what was sent as it is", rules: []normalize.RuleConfig{{Parse: "body.log", As: "json"}},
			left: `{"log":"{\"a\":1}"}`, right: `{"log":{"a":1}}`,
			want: []string{`body.log type {"a":1}|{"a":1} /log|/log object in a string against object`},
		},
		{
			name: "there is all that is asked for", rules: []normalize.RuleConfig{{Present: "body[].id"}, {Sort: "body"}},
			left: `[{"id":1,"v":1},{"id":2,"v":2},{"id":null,"v":3}]`, right: `[{"id":"x","v":2},{"id":9,"v":3},{"id":7,"v":1}]`,
			want: []string{`body[].id type null|"(present)" /2/id|/1/id null against string`},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			l, r := documentOf(t, test.left, test.rules...), documentOf(t, test.right, test.rules...)
			got, _ := Compare(l, r, DefaultLimits())
			var lines []string
			for _, d := range got {
				lines = append(lines, show(d))
			}
			if a, b := strings.Join(lines, "\n"), strings.Join(test.want, "\n"); a != b {
				t.Errorf("got\n%s\nwant\n%s", a, b)
			}
			if equal := l.Body.Root.Equal(r.Body.Root); equal != (len(test.want) == 0) {
				t.Errorf("equal: %t", equal)
			}
		})
	}
}

// matchedRules set apart by key: numbers under t are tolerated, arrays under s are multisets, those under p paired by id.
func matchedRules() []normalize.RuleConfig {
	return []normalize.RuleConfig{{Tolerate: "body.**.t", Within: "0.3"}, {Sort: "body.**.s"}, {Pair: "body.**.p", By: by("id")}}
}

// drawMatched draws a document for these rules in which much is alike.
func drawMatched(t *rapid.T, depth int) string {
	kinds := 9
	if depth == 0 {
		kinds = 3
	}
	list := func(most int) string {
		return "[" + strings.Join(rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string { return drawMatched(t, depth-1) }), 0, most).Draw(t, "items"), ",") + "]"
	}
	number := rapid.SampledFrom([]string{"0", "0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "1", "1.00", "1.3"})
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return number.Draw(t, "number")
	case 1, 2:
		return `{"t":` + number.Draw(t, "tolerated") + "}"
	case 3, 4:
		return list(5)
	case 5:
		return `{"s":` + list(5) + "}"
	case 6:
		return `{"p":` + list(5) + "}"
	default:
		id := rapid.SampledFrom([]string{"1", "1.0", `"1"`, "2", "null", "[1]", `{"t":0.1}`}).Draw(t, "id")
		return `{"id":` + id + `,"x":` + drawMatched(t, depth-1) + "}"
	}
}

func drawMatchedPair(t *rapid.T) (left, right string) {
	left = drawMatched(t, 3)
	if rapid.IntRange(0, 2).Draw(t, "unrelated") == 0 {
		return left, drawMatched(t, 3)
	}
	right = left
	for range rapid.IntRange(0, 4).Draw(t, "edits") {
		from := rapid.SampledFrom([]string{"0.1", "0.2", "0.4", `{"t":0.5},`, `"id":2`, `{"t":1},`, "1.3", "[", "]"}).Draw(t, "from")
		to := rapid.SampledFrom([]string{"0.2", "0.5", "", `{"t":0.4},`, `"id":1`, "[0,", ",0]"}).Draw(t, "to")
		if edited := strings.Replace(right, from, to, 1); json.Valid([]byte(edited)) && !hasDuplicates(edited) {
			right = edited
		}
	}
	return left, right
}

// What is listed and what is equal are two roads to one answer, and neither depends on which side is the left one.
func TestNothingIsListedExactlyWhenEqual(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		left, right := drawMatchedPair(rt)
		l, r := documentOf(t, left, matchedRules()...), documentOf(t, right, matchedRules()...)
		there, _ := Compare(l, r, DefaultLimits())
		back, _ := Compare(r, l, DefaultLimits())
		equal := l.Body.Root.Equal(r.Body.Root)
		if equal != (len(there) == 0) || equal != (len(back) == 0) {
			rt.Fatalf("left  %s\nright %s\nequal %t, %d differences, the other way %d: %v", left, right, equal, len(there), len(back), there)
		}
		for _, d := range there {
			if d.Note != "" && strings.Contains(d.Note, "too many") {
				rt.Fatalf("left  %s\nright %s\nbounded: %s", left, right, show(d))
			}
		}
		again, _ := Compare(l, documentOf(t, left+" ", matchedRules()...), DefaultLimits())
		if len(again) > 0 {
			rt.Fatalf("%s differs from itself: %v", left, again)
		}
	})
}

// Elements under a pair rule go together by their keys, whatever stands between them.
func TestPairingIsByTheKeyAlone(t *testing.T) {
	type element struct{ key, value string } // a key "" is none
	draw := rapid.Custom(func(t *rapid.T) element {
		return element{rapid.SampledFrom([]string{"1", "2", `"1"`, "3", "", "null"}).Draw(t, "key"), fmt.Sprint(rapid.IntRange(0, 2).Draw(t, "value"))}
	})
	text := func(list []element) string {
		var out []string
		for _, e := range list {
			if e.key == "" {
				out = append(out, `{"v":`+e.value+"}")
			} else {
				out = append(out, `{"id":`+e.key+`,"v":`+e.value+"}")
			}
		}
		return "[" + strings.Join(out, ",") + "]"
	}
	rapid.Check(t, func(rt *rapid.T) {
		l, r := rapid.SliceOfN(draw, 0, 8).Draw(rt, "left"), rapid.SliceOfN(draw, 0, 8).Draw(rt, "right")
		var want []entry
		taken := make([]bool, len(r))
		for i, a := range l {
			j := slices.IndexFunc(r, func(b element) bool {
				keyless := a.key == "" || a.key == "null"
				return a.key == b.key && (!keyless || a.value == b.value)
			})
			for j >= 0 && taken[j] {
				next := slices.IndexFunc(r[j+1:], func(b element) bool {
					keyless := a.key == "" || a.key == "null"
					return a.key == b.key && (!keyless || a.value == b.value)
				})
				if next < 0 {
					j = -1
				} else {
					j += 1 + next
				}
			}
			if j < 0 {
				want = append(want, entry{fmt.Sprintf("/%d", i), "none", KindMissing})
				continue
			}
			taken[j] = true
			if a.value != r[j].value {
				want = append(want, entry{fmt.Sprintf("/%d/v", i), fmt.Sprintf("/%d/v", j), KindValue})
			}
		}
		for j := range r {
			if !taken[j] {
				want = append(want, entry{"none", fmt.Sprintf("/%d", j), KindExtra})
			}
		}
		rule := normalize.RuleConfig{Pair: "body", By: by("id")}
		got, _ := Compare(documentOf(t, text(l), rule), documentOf(t, text(r), rule), DefaultLimits())
		if diff := cmp.Diff(sortEntries(want), sortEntries(entries(got)), cmp.AllowUnexported(entry{}), cmpopts.EquateEmpty()); diff != "" {
			rt.Fatalf("left  %s\nright %s\n%s", text(l), text(r), diff)
		}
		back, _ := Compare(documentOf(t, text(r), rule), documentOf(t, text(l), rule), DefaultLimits())
		if diff := cmp.Diff(sortEntries(want), sortEntries(swapped(entries(back))), cmp.AllowUnexported(entry{}), cmpopts.EquateEmpty()); diff != "" {
			rt.Fatalf("swapped: left  %s\nright %s\n%s", text(l), text(r), diff)
		}
	})
}

// swapped is what would be said if left were right.
func swapped(list []entry) []entry {
	out := make([]entry, len(list))
	for i, e := range list {
		kind := map[Kind]Kind{KindMissing: KindExtra, KindExtra: KindMissing}[e.kind]
		if kind == "" {
			kind = e.kind
		}
		out[i] = entry{e.right, e.left, kind}
	}
	return out
}

// Of ordered arrays of numbers with a tolerance, what is not reported stands in the same order on both sides and is close,
// and no more is reported than what pairing by position would.
func TestToleratedArraysAlignWhatIsClose(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		draw := rapid.SliceOfN(rapid.IntRange(0, 12), 0, 9)
		l := draw.Draw(rt, "left")
		r := slices.Clone(l)
		for range rapid.IntRange(0, 3).Draw(rt, "edits") {
			at := rapid.IntRange(0, len(r)).Draw(rt, "at")
			switch rapid.IntRange(0, 2).Draw(rt, "edit") {
			case 0:
				r = slices.Insert(r, at, rapid.IntRange(0, 12).Draw(rt, "new"))
			case 1:
				r = slices.Delete(r, at, min(at+1, len(r)))
			case 2:
				if at < len(r) {
					r[at] = rapid.IntRange(0, 12).Draw(rt, "changed")
				}
			}
		}
		text := func(list []int) string { return strings.ReplaceAll(fmt.Sprint(list), " ", ",") }
		rule := normalize.RuleConfig{Tolerate: "body[]", Within: "1"}
		got, _ := Compare(documentOf(t, text(l), rule), documentOf(t, text(r), rule), DefaultLimits())
		near := func(a, b int) bool { return a-b <= 1 && b-a <= 1 }
		if len(got) == 1 && got[0].Kind == KindOrder {
			return // said by the test of equality and that of matching
		}
		var goneLeft, goneRight []int
		for _, e := range entries(got) {
			var i int
			if n, _ := fmt.Sscanf(e.left, "/%d", &i); n == 1 {
				goneLeft = append(goneLeft, i)
			}
			if n, _ := fmt.Sscanf(e.right, "/%d", &i); n == 1 {
				goneRight = append(goneRight, i)
			}
		}
		keep := func(list, gone []int) (out []int) {
			for i, v := range list {
				if !slices.Contains(gone, i) {
					out = append(out, v)
				}
			}
			return out
		}
		if !slices.EqualFunc(keep(l, goneLeft), keep(r, goneRight), near) {
			rt.Fatalf("%v against %v: what is left is not close: %v", l, r, entries(got))
		}
		classes := true // by which all arrays align, whether by position less would differ or not
		for _, a := range l {
			for _, b := range r {
				for _, c := range l {
					for _, d := range r {
						classes = classes && (!near(a, b) || !near(c, b) || !near(c, d) || near(a, d))
					}
				}
			}
		}
		if len(l) == len(r) && !classes {
			apart := 0
			for i := range l {
				if !near(l[i], r[i]) {
					apart++
				}
			}
			if len(got) > apart {
				rt.Fatalf("%v against %v: %d differences, by position %d", l, r, len(got), apart)
			}
		}
	})
}

func TestChildrenInAnotherOrder(t *testing.T) {
	for _, test := range []struct {
		name, left, right string
		rules             []normalize.RuleConfig
		want              []string
	}{
		{"the same", `<a><b/><c/></a>`, `<a> <b></b> <c/> </a>`, nil, nil},
		{"another order", `<a><b/><c/></a>`, `<a><c/><b/></a>`, nil, []string{"order"}},
		{"two of a kind", `<a><b>1</b><c/><b>2</b></a>`, `<a><b>1</b><b>2</b><c/></a>`, nil, []string{"order"}},
		{"one more", `<a><b/><c/></a>`, `<a><c/><b/><c/></a>`, nil, []string{"extra"}},
		{"in another order once one is dropped", `<a><x/><b/><c/></a>`, `<a><c/><b/><x/></a>`, []normalize.RuleConfig{{Drop: "body.a.x"}}, []string{"order"}},
		{"no longer once one is dropped", `<a><x/><b/><c/></a>`, `<a><b/><c/><x/></a>`, []normalize.RuleConfig{{Drop: "body.a.x"}}, nil},
		{"by the names that rules give", `<a><x/><b/></a>`, `<a><c/><x/></a>`, []normalize.RuleConfig{{Rename: "body.a.c", To: "b"}}, []string{"order"}},
		{"and not by others", `<a><c1/><b/></a>`, `<a><c2/><b/></a>`, []normalize.RuleConfig{{MaskKeys: "body.a", Pattern: "[0-9]"}}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			l, r := responseOf(t, "application/xml", test.left, test.rules...), responseOf(t, "application/xml", test.right, test.rules...)
			got, _ := Compare(l, r, DefaultLimits())
			var kinds []string
			for _, d := range got {
				kinds = append(kinds, string(d.Kind))
			}
			if !slices.Equal(kinds, test.want) {
				t.Errorf("%v, want %v: %v", kinds, test.want, got)
			}
		})
	}
}

// listOf is an array of n elements.
func listOf(n int, element func(i int) string) string {
	items := make([]string, n)
	for i := range items {
		items[i] = element(i)
	}
	return "[" + strings.Join(items, ",") + "]"
}

// TestBoundsOfMatching holds arrays against each other that ask for the most.
func TestBoundsOfMatching(t *testing.T) {
	number := func(i int) string { return fmt.Sprint(i) }
	object := func(i int) string { return fmt.Sprintf(`{"id":%d,"v":[%d]}`, i, i%7) }
	near := func(within string) normalize.RuleConfig {
		return normalize.RuleConfig{Tolerate: "body.**", Within: within}
	}
	sorted := normalize.RuleConfig{Sort: "body"}
	paired := normalize.RuleConfig{Pair: "body", By: by("id")}
	const n, many = 15_000, 30_000
	for _, test := range []struct {
		name        string
		left, right string
		rules       []normalize.RuleConfig
		differences int // that are counted; -1: any
		bounded     bool
	}{
		{"unrelated", listOf(many, number), listOf(many, func(i int) string { return fmt.Sprint(-i - 1) }), nil, many, false},
		{"unrelated, of other lengths", listOf(n, object), listOf(n/2, func(i int) string { return fmt.Sprintf(`{"id":"%d"}`, i) }), nil, -1, true},
		{"one in front of 3,000", listOf(3000, object), "[{}," + listOf(3000, object)[1:], nil, 1, false},
		{"one in front of 3,000 that are close to each other", listOf(3000, number), "[-50," + listOf(3000, number)[1:], []normalize.RuleConfig{near("2")}, 1, false},
		{"one in front of 3,000 objects with a tolerance", listOf(3000, object), "[{}," + listOf(3000, object)[1:], []normalize.RuleConfig{near("0.1")}, 1, false},
		{"alternating", listOf(n, func(i int) string { return fmt.Sprint(i % 2) }), listOf(n, func(i int) string { return fmt.Sprint((i + 1) % 2) }) + " ", nil, 1, false},
		{"alternating, one more", listOf(n, func(i int) string { return fmt.Sprint(i % 2) }), listOf(n+1, func(i int) string { return fmt.Sprint((i + 1) % 2) }), nil, 1, false},
		{"a small gap after each tenth", listOf(n, func(i int) string {
			return fmt.Sprintf(`{"k":%d,"v":%d}`, i, i%10/9)
		}), listOf(n, func(i int) string { return fmt.Sprintf(`{"k":%d,"v":0}`, i) }), nil, n / 10, false},
		{
			"nearly equal arrays in arrays", listOf(300, func(i int) string {
				return listOf(100, func(j int) string { return fmt.Sprintf(`{"a":%d,"b":%d}`, i, j) })
			}),
			listOf(301, func(i int) string {
				return listOf(100, func(j int) string { return fmt.Sprintf(`{"a":%d,"b":%d}`, i, j+1) })
			}), nil, -1, false,
		},
		{"multisets, reversed", listOf(n, object), listOf(n, func(i int) string { return object(n - 1 - i) }), []normalize.RuleConfig{sorted}, 0, false},
		{"multisets, unrelated", listOf(n, object), listOf(n, func(i int) string { return object(-i - 1) }), []normalize.RuleConfig{sorted}, 2 * n, false},
		{"by key, reversed", listOf(n, object), listOf(n, func(i int) string { return object(n - 1 - i) }), []normalize.RuleConfig{paired}, 0, false},
		{"by key, all under one", listOf(n, func(i int) string { return fmt.Sprintf(`{"id":1,"v":%d}`, i) }), listOf(n, func(i int) string { return fmt.Sprintf(`{"id":1,"v":%d}`, n-1-i) }), []normalize.RuleConfig{paired}, n, false},
		{
			"by key, within arrays that are aligned", listOf(1000, func(i int) string {
				return listOf(50, func(j int) string { return fmt.Sprintf(`{"id":%d,"v":%d}`, j, i) })
			}),
			listOf(1001, func(i int) string {
				return listOf(50, func(j int) string { return fmt.Sprintf(`{"id":%d,"v":%d}`, 49-j, i-1) })
			}),
			[]normalize.RuleConfig{{Pair: "body[]", By: by("id")}},
			1, false,
		},
		{"close, each in its place", listOf(n, number), listOf(n, func(i int) string { return fmt.Sprintf("%d.4", i) }), []normalize.RuleConfig{near("0.5")}, 0, false},
		{"close, turned round", listOf(many, number), listOf(many, func(i int) string { return fmt.Sprintf("%d.4", many-1-i) }), []normalize.RuleConfig{near("0.5")}, 1, false},
		{"close, turned round, in any order", listOf(many, number), listOf(many, func(i int) string { return fmt.Sprintf("%d.4", many-1-i) }), []normalize.RuleConfig{near("0.5"), sorted}, 0, false},
		{"none close", listOf(n, number), listOf(n, func(i int) string { return fmt.Sprint(-i - 10) }), []normalize.RuleConfig{near("0.5")}, n, false},
		{
			"all close but for two that were put in", listOf(n, func(i int) string { return fmt.Sprint(i % 2) }),
			strings.Replace(strings.Replace(listOf(n, func(i int) string { return fmt.Sprint(i % 2) }), "0,", "50,0,", 1), ",1]", ",50,1]", 1),
			[]normalize.RuleConfig{near("2")},
			2, false,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			l, r := documentOf(t, test.left, test.rules...), documentOf(t, test.right, test.rules...)
			f := newFound(DefaultLimits())
			f.documents(l, r)
			count := 0
			for _, s := range f.sums {
				count += s.places
			}
			if test.differences >= 0 && count != test.differences {
				t.Errorf("%d differences, want %d", count, test.differences)
			}
			said := slices.ContainsFunc(f.differences, func(d Difference) bool { return strings.Contains(d.Note, "too many") })
			if said != test.bounded {
				t.Errorf("said that it was bounded: %t", said)
			}
		})
	}
}

// What differs deep inside of what is tolerated is found without looking at everything again on each level.
func TestDeepNestingUnderRules(t *testing.T) {
	nested := func(open, v, end string, levels int) string {
		return strings.Repeat(open, levels) + v + strings.Repeat(end, levels)
	}
	for _, test := range []struct {
		name, open, end string
		rules           []normalize.RuleConfig
	}{
		{"tolerated", `[[0,`, `]]`, []normalize.RuleConfig{{Tolerate: "body.**", Within: "0.5"}}},
		{"tolerated in multisets", `[1,`, `]`, []normalize.RuleConfig{{Tolerate: "body.**", Within: "0.5"}, {Sort: "body.**"}}},
		{"paired", `[{"id":1,"v":`, `}]`, []normalize.RuleConfig{{Pair: "body.**", By: by("id")}}},
		{"paired by what is nested", `[{"id":`, `}]`, []normalize.RuleConfig{{Pair: "body.**", By: by("id")}}},
	} {
		for _, levels := range []int{1000, 12_000} {
			t.Run(fmt.Sprint(test.name, " ", levels), func(t *testing.T) {
				levels /= max(1, strings.Count(test.open, "[")+strings.Count(test.open, "{"))
				l := documentOf(t, nested(test.open, "1", test.end, levels), test.rules...)
				r := documentOf(t, nested(test.open, "2", test.end, levels), test.rules...)
				if got, _ := Compare(l, r, DefaultLimits()); len(got) == 0 {
					t.Error("no difference")
				}
			})
		}
	}
}

// responseOf is the document of a body with a label.
func responseOf(t testing.TB, media, body string, rules ...normalize.RuleConfig) *normalize.Document {
	t.Helper()
	n, err := normalize.New(normalize.Config{Rules: rules})
	if err != nil {
		t.Fatal(err)
	}
	r := &multicast.Response{Outcome: multicast.OutcomeOK, Status: 200, Header: http.Header{"Content-Type": {media}}, Body: []byte(body)}
	return n.Document("GET /", multicast.Primary, r, nil)
}
