package normalize

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// plainEqual is equality under rules as plainly as it can be written, over encoding/json's values: tolerated are numbers under
// keys t, within 0.3; multisets are arrays under s; paired by id are arrays under p.
func plainEqual(l, r any, key string) bool {
	switch l := l.(type) {
	case json.Number:
		r, ok := r.(json.Number)
		a, b := new(big.Rat), new(big.Rat)
		if !ok {
			return false
		}
		a.SetString(l.String())
		b.SetString(r.String())
		within := new(big.Rat)
		if key == "t" {
			within.SetString("0.3")
		}
		return a.Sub(a, b).Abs(a).Cmp(within) <= 0
	case map[string]any:
		r, ok := r.(map[string]any)
		if !ok || len(l) != len(r) {
			return false
		}
		for key, v := range l {
			if other, ok := r[key]; !ok || !plainEqual(v, other, key) {
				return false
			}
		}
		return true
	case []any:
		r, ok := r.([]any)
		if !ok || len(l) != len(r) {
			return false
		}
		switch key {
		case "s":
			return plainMatching(l, r) == len(l)
		case "p":
			return plainPaired(l, r)
		}
		return slices.EqualFunc(l, r, func(a, b any) bool { return plainEqual(a, b, "") })
	}
	return l == r
}

// plainMatching is the size of a largest matching, found by trying again and again.
func plainMatching(l, r []any) (size int) {
	partner := make([]int, len(r)) // plus one
	var try func(i int, seen []bool) bool
	try = func(i int, seen []bool) bool {
		for j := range r {
			if seen[j] || !plainEqual(l[i], r[j], "") {
				continue
			}
			seen[j] = true
			if partner[j] == 0 || try(partner[j]-1, seen) {
				partner[j] = i + 1
				return true
			}
		}
		return false
	}
	for i := range l {
		if try(i, make([]bool, len(r))) {
			size++
		}
	}
	return size
}

// plainPaired compares arrays of one length by the key id.
func plainPaired(l, r []any) bool {
	split := func(list []any) (byKey map[string][]any, others []any) {
		byKey = map[string][]any{}
		for _, v := range list {
			object, _ := v.(map[string]any)
			id, ok := object["id"]
			if !ok || id == nil {
				others = append(others, v)
				continue
			}
			key := fmt.Sprintf("%T %v", id, id)
			if n, ok := id.(json.Number); ok {
				exact, _ := new(big.Rat).SetString(n.String())
				key = "number " + exact.String()
			}
			byKey[key] = append(byKey[key], v)
		}
		return byKey, others
	}
	a, restA := split(l)
	b, restB := split(r)
	for key := range a {
		if !slices.EqualFunc(a[key], b[key], func(x, y any) bool { return plainEqual(x, y, "") }) {
			return false
		}
	}
	return len(restA) == len(restB) && plainMatching(restA, restB) == len(restA)
}

func plainJSON(t *testing.T, body string) any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(body))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return v
}

// matchingRules are the rules that plainEqual knows.
func matchingRules() []RuleConfig {
	return []RuleConfig{{Tolerate: "body.**.t", Within: "0.3"}, {Sort: "body.**.s"}, {Pair: "body.**.p", By: By{"id"}}}
}

// drawMatched draws a document with all that sets comparing apart, in which much is alike.
func drawMatched(t *rapid.T, depth int) string {
	kinds := 8
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
	case 3:
		return list(3)
	case 4, 5:
		return `{"s":` + list(5) + "}"
	case 6:
		return `{"p":` + list(5) + "}"
	default:
		id := rapid.SampledFrom([]string{"1", "1.0", `"1"`, "2", "null", "[1]", `{"t":0.1}`}).Draw(t, "id")
		return `{"id":` + id + `,"x":` + drawMatched(t, depth-1) + "}"
	}
}

// drawMatchedPair draws two documents of which the second is often the first, shuffled and jittered.
func drawMatchedPair(t *rapid.T) (left, right string) {
	left = drawMatched(t, 3)
	if rapid.IntRange(0, 3).Draw(t, "unrelated") == 0 {
		return left, drawMatched(t, 3)
	}
	return left, jitter(t, left)
}

// jitter moves numbers by a little, and the elements of arrays to other places.
func jitter(t *rapid.T, body string) string {
	var v any
	d := json.NewDecoder(strings.NewReader(body))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	var change func(v any, key string) any
	change = func(v any, key string) any {
		switch v := v.(type) {
		case json.Number:
			if key == "t" {
				f, _ := v.Float64()
				return json.Number(fmt.Sprintf("%.1f", f+rapid.SampledFrom([]float64{0, 0, 0.1, -0.2, 0.3}).Draw(t, "jitter")))
			}
		case []any:
			for i := range v {
				v[i] = change(v[i], "")
			}
			if len(v) > 1 && (key == "s" || key == "p") {
				return rapid.Permutation(v).Draw(t, "order")
			}
		case map[string]any:
			for _, key := range sortedKeys(v) {
				if key != "id" {
					v[key] = change(v[key], key)
				}
			}
		}
		return v
	}
	out, err := json.Marshal(change(v, ""))
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestEqualUnderMatchingRulesIsThePlainOne(t *testing.T) {
	n := mustNew(t, matchingRules()...)
	equal := 0
	rapid.Check(t, func(rt *rapid.T) {
		left, right := drawMatchedPair(rt)
		l, r := document(n, "application/json", left).Body.Root, document(n, "application/json", right).Body.Root
		want := plainEqual(plainJSON(t, left), plainJSON(t, right), "")
		if l.Equal(r) != want || r.Equal(l) != want {
			rt.Fatalf("%s equals %s: %t, the other way %t, want %t", left, right, l.Equal(r), r.Equal(l), want)
		}
		if want {
			equal++
			if l.Hash != r.Hash {
				rt.Fatalf("%s equals %s, but the hashes differ", left, right)
			}
		}
		if !l.Equal(l) || !l.Equal(document(n, "application/json", left+" ").Body.Root) {
			rt.Fatalf("%s differs from itself", left)
		}
	})
	if equal < 5 {
		t.Errorf("only %d pairs were equal", equal)
	}
}

// Where nothing is tolerated, values are equal exactly when their exact texts are.
func TestExactTextsAreEqualWhenValuesAre(t *testing.T) {
	n := mustNew(t, matchingRules()[1:]...)
	rapid.Check(t, func(rt *rapid.T) {
		left, right := drawMatchedPair(rt)
		l, r := document(n, "application/json", left).Body.Root, document(n, "application/json", right).Body.Root
		if same := string(appendExact(nil, l)) == string(appendExact(nil, r)); same != l.Equal(r) {
			rt.Fatalf("%s equals %s: %t, by their texts %t", left, right, l.Equal(r), same)
		}
	})
}

// TestMatchIsTheLargest matches elements of many kinds, more of them than are simply tried all with all.
func TestMatchIsTheLargest(t *testing.T) {
	for _, test := range []struct {
		name, format string
		parts        int // numbers in it
		within       string
	}{
		{"numbers", `%s`, 1, "0.3"},
		{"shares", `%s`, 1, "10%"},
		{"all of a sign", `%s`, 1, "100%"},
		{"one in an object", `{"a":%s,"b":[1]}`, 1, "0.3"},
		{"two in an object", `{"a":%s,"b":%s}`, 2, "0.5"},
		{"two in a multiset", `{"s":[%s,%s]}`, 2, "0.5"},
	} {
		t.Run(test.name, func(t *testing.T) {
			n := mustNew(t, RuleConfig{Tolerate: "body.**", Within: test.within}, RuleConfig{Sort: "body.**.s"})
			rapid.Check(t, func(rt *rapid.T) {
				list := func(label string) []Value {
					var items []string
					for range rapid.IntRange(1, 30).Draw(rt, label) {
						var parts []any
						for range test.parts {
							parts = append(parts, fmt.Sprintf("%d.%d", rapid.IntRange(-1, 4).Draw(rt, "whole"), rapid.IntRange(0, 9).Draw(rt, "tenths")))
						}
						items = append(items, strings.ReplaceAll(fmt.Sprintf(test.format, parts...), "-0.0", "0"))
					}
					return document(n, "application/json", "["+strings.Join(items, ",")+"]").Body.Root.Items
				}
				left, right := list("left"), list("right")
				var plain Relation
				plain.start = []int32{0}
				for i := range left {
					for j := range right {
						if left[i].Equal(&right[j]) {
							plain.right = append(plain.right, int32(j))
						}
					}
					plain.start = append(plain.start, int32(len(plain.right)))
				}
				work := 1 << 30
				e := &Equality{Work: &work}
				got := e.Match(pointersTo(left), pointersTo(right))
				taken := map[int32]bool{}
				for i, j := range got {
					if j >= 0 && (taken[j] || !left[i].Equal(&right[j])) {
						rt.Fatalf("%v: %d and %d are no pair", got, i, j)
					}
					taken[j] = j >= 0
				}
				size := len(taken)
				if taken[-1] = true; slices.Contains(got, -1) {
					size--
				}
				if want := plainSize(&plain, len(left), len(right)); size != want || e.Bounded {
					rt.Fatalf("%d pairs, want %d, bounded %t", size, want, e.Bounded)
				}
				related, ok := e.Relate(left, right)
				if !ok || !slices.Equal(related.start, plain.start) || !slices.Equal(related.right, plain.right) {
					rt.Fatalf("related %v %t, want %v", related, ok, plain)
				}
			})
		})
	}
}

// plainSize is the size of a largest matching of a relation.
func plainSize(r *Relation, n, m int) (size int) {
	partner := make([]int, m) // plus one
	var try func(i int, seen []bool) bool
	try = func(i int, seen []bool) bool {
		for _, j := range r.Of(i) {
			if !seen[j] {
				seen[j] = true
				if partner[j] == 0 || try(partner[j]-1, seen) {
					partner[j] = i + 1
					return true
				}
			}
		}
		return false
	}
	for i := range n {
		if try(i, make([]bool, m)) {
			size++
		}
	}
	return size
}

// Values that differ and have one hash are no burden, whoever found them.
func TestClassesOfManyValuesWithOneHash(t *testing.T) {
	const n = 30_000
	list := func(step int) []Value {
		out := make([]Value, n)
		for i := range out {
			out[i] = Value{Type: String, Text: fmt.Sprint(i * step), Hash: 7, Size: 1}
		}
		return out
	}
	left, right := list(1), list(2)
	c := Classify(left, right)
	if c.Count != n+n/2 {
		t.Errorf("%d classes, want %d", c.Count, n+n/2)
	}
	for j, class := range c.Right {
		if want := int32(2 * j); 2*j < n && class != want {
			t.Fatalf("class %d, want %d", class, want)
		}
	}
	tried := newClassifier(0)
	for i := range left {
		tried.number(&left[i])
	}
	chain := 0
	for at := tried.table[tried.place(left[0].Hash)]; at > 0; at = tried.list[at-1].next {
		chain++
	}
	if chain > longChain {
		t.Errorf("%d are tried one by one, want %d at most", chain, longChain)
	}
	bag := func(items []Value) *Value { return &Value{Type: Array, Unordered: true, Items: items, Hash: 9} }
	turned := slices.Clone(left)
	slices.Reverse(turned)
	if !bag(left).Equal(bag(turned)) || bag(left).Equal(bag(right)) {
		t.Error("multisets of values with one hash")
	}
}

// The steps that it may take are few for each value: all pairs would be thirty times as many.
func TestManyToleratedValuesAreMatchedInFewSteps(t *testing.T) {
	const n, steps = 10_000, 320
	number := func(i int, more string) string { return fmt.Sprint(i) + more }
	numbers := func(i int, more string) string { return fmt.Sprintf(`[%d,%d%s]`, i%300, i/300, more) }
	multiset := func(i int, more string) string { return fmt.Sprintf(`{"s":[%d,%d%s]}`, i%300, i/300, more) }
	second := func(i int, more string) string {
		return fmt.Sprintf(`"2026-11-30T%02d:%02d:%02d%sZ"`, i/3600%24, i/60%60, i%60, more)
	}
	for _, test := range []struct {
		name, within string
		element      func(i int, more string) string
		more         string // that the right ones have
		bounded      bool   // they may be
	}{
		{"close to few", "0.5", number, ".25", false},
		{"close to all", "1000000", number, ".25", false},
		{"all the same", "1", func(_ int, more string) string { return "1" + more }, ".25", false},
		{"times", "2s", second, ".25", false},
		{"two numbers each, in another order", "0.5", numbers, "", false},
		{"two numbers each, close to few", "0.5", numbers, ".25", true},
		{"two numbers each, close to all", "1000000", numbers, ".25", false},
		{"a multiset each, close to all", "1000000", multiset, ".25", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			rules := []RuleConfig{{Tolerate: "body.**", Within: test.within}, {Sort: "body"}, {Sort: "body.**.s"}}
			list := func(more string, place func(i int) int) *Value {
				items := make([]string, n)
				for i := range items {
					items[i] = test.element(place(i), more)
				}
				return document(mustNew(t, rules...), "", "["+strings.Join(items, ",")+"]").Body.Root
			}
			left, right := list("", func(i int) int { return i }), list(test.more, func(i int) int { return (i*7 + 3) % n })
			work := steps * n
			e := &Equality{Work: &work}
			if equal := e.Equal(left, right); !equal && !e.Bounded || e.Bounded && !test.bounded {
				t.Errorf("equal %t, bounded %t", equal, e.Bounded)
			}
			if work < -steps*n/10 {
				t.Errorf("it went on for %d steps", -work)
			}
		})
	}
}

// Steps stand for time: to match a few values is much more than to compare them, and as much for each list of them.
func TestSmallMultisetsTakeSteps(t *testing.T) {
	const lists, each = 1_000, 500
	n := mustNew(t, RuleConfig{Sort: "body[]"}, RuleConfig{Tolerate: "body", Within: "0.5"})
	left := document(n, "", "["+strings.Repeat("[1,2,3,4,5,6,7,8,9,10],", lists)+"0]").Body.Root
	right := document(n, "", "["+strings.Repeat("[10.1,9.1,8.1,7.1,6.1,5.1,4.1,3.1,2.1,1.1],", lists)+"0]").Body.Root
	work := looseWork
	e := &Equality{Work: &work}
	if !e.Equal(left, right) || looseWork-work < lists*each {
		t.Errorf("%d steps for %d lists of ten", looseWork-work, lists)
	}
}
