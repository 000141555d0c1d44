package normalize

import (
	"testing"

	"pgregory.net/rapid"
)

// Equality rests on no hash: values whose hashes collide are still told apart, in multisets too.
func TestEqualIsExactWhenHashesCollide(t *testing.T) {
	text := func(s string) Value { return Value{Type: String, Text: s, Hash: 7} }
	bag := func(items ...string) *Value {
		v := &Value{Type: Array, Unordered: true, Hash: 9}
		for _, s := range items {
			v.Items = append(v.Items, text(s))
		}
		return v
	}
	for _, tc := range []struct {
		a, b  *Value
		equal bool
	}{
		{bag("a", "b", "c"), bag("c", "a", "b"), true},
		{bag("a", "a", "b"), bag("a", "b", "b"), false},
		{bag("a", "b"), bag("a", "c"), false},
		{bag(), bag(), true},
		{&Value{Type: Object, Members: []Member{{Key: "a"}}}, &Value{Type: Object, Members: []Member{{Key: "b"}}}, false},
		{&Value{Type: Array, Items: []Value{text("a"), text("b")}}, &Value{Type: Array, Items: []Value{text("b"), text("a")}}, false},
		{&Value{}, mustParse(t, "null"), true},
	} {
		if got := tc.a.Equal(tc.b); got != tc.equal {
			t.Errorf("%+v = %+v: %t", tc.a, tc.b, got)
		}
	}
}

// Under a sort rule any permutation is equal, and no element may be put for another.
func TestMultisets(t *testing.T) {
	n := mustNew(t, RuleConfig{Sort: "body.**"})
	rapid.Check(t, func(t *rapid.T) {
		items := rapid.SliceOfN(rapid.SampledFrom([]string{`1`, `1.0`, `"1"`, `null`, `[1,2]`, `[2,1]`, `{"a":[1,2]}`, `{"a":[2,1]}`, `[[]]`, `[]`}), 1, 12).Draw(t, "items")
		left := document(n, "", "["+join(items)+"]").Body.Root
		shuffled := rapid.Permutation(items).Draw(t, "shuffled")
		if !left.Equal(document(n, "", "["+join(shuffled)+"]").Body.Root) {
			t.Fatalf("%v differs from %v", items, shuffled)
		}
		shuffled[rapid.IntRange(0, len(items)-1).Draw(t, "at")] = `"another"`
		if left.Equal(document(n, "", "["+join(shuffled)+"]").Body.Root) {
			t.Fatalf("%v equals %v", items, shuffled)
		}
	})
}

func join(items []string) string {
	out := ""
	for i, s := range items {
		if i > 0 {
			out += ","
		}
		out += s
	}
	return out
}
