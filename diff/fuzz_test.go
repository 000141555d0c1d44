package diff

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"shadowdiff/normalize"
)

// FuzzCompare holds any two bodies against each other: nothing differs from itself, both ways agree on whether they are
// equal, and what is listed is well formed.
func FuzzCompare(f *testing.F) {
	for _, c := range readCases(f) {
		if c.Left != nil && c.Right != nil && len(*c.Left) < 500 {
			f.Add(*c.Left, *c.Right, len(c.Rules) > 0)
		}
	}
	for _, pair := range [][2]string{
		{`[1,2,3,4,5,6]`, `[4,5,6,1,2,3,9]`},
		{`[{"a":1,"a":2},{"b":1}]`, `[{"b":1},{"a":2}]`},
		{`{"a":1/*x*/}`, `{"a":1}`},
		{"\x1E{\"a\":1}\n", "\x1E{\"a\":1.0}\n"},
		{`[1e400,-0,0.0]`, `[10e399,0,0e9]`},
		{`"\ud83d\ud83d\ude00"`, `"\ude00\ud83d"`},
		{"\uFEFF{}", "{}\x00"},
		{`[[1,2],[3,[4]]]`, `[[3,[5]],[2,1]]`},
	} {
		f.Add(pair[0], pair[1], false)
		f.Add(pair[0], pair[1], true)
	}
	f.Fuzz(func(t *testing.T, left, right string, sort bool) {
		var rules []normalize.RuleConfig
		if sort {
			rules = []normalize.RuleConfig{{Sort: "body.**"}}
		}
		l, r := documentOf(t, left, rules...), documentOf(t, right, rules...)
		if same, _ := Compare(l, documentOf(t, left, rules...), DefaultLimits()); len(same) > 0 {
			t.Errorf("%q differs from itself: %s", left, show(same[0]))
		}
		there, _ := Compare(l, r, DefaultLimits())
		back, _ := Compare(r, l, DefaultLimits())
		if (len(there) == 0) != (len(back) == 0) {
			t.Errorf("%q against %q: %d differences, the other way %d", left, right, len(there), len(back))
		}
		for _, d := range there {
			text, err := json.Marshal(d)
			if err != nil || !utf8.Valid(text) || len(d.Left) > 2<<10 || len(d.Right) > 2<<10 {
				t.Errorf("%q against %q: %s, %v", left, right, text, err)
			}
			if (d.Kind == KindMissing) != (d.Right == "") || (d.Kind == KindExtra) != (d.Left == "") {
				t.Errorf("%q against %q: %s", left, right, show(d))
			}
		}
	})
}
