package diff

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"shadowdiff/normalize"
)

// drawField draws what a rule may name in the documents of drawJSON.
func drawField(t *rapid.T) string {
	step := rapid.SampledFrom([]string{".a", ".b", ".c", `["d"]`, ".*", ".**", "[]", "[0]", "[1]", ".{/[ab]/}", `[a="a"]`, "[b=1]", ".e"})
	return "body" + strings.Join(rapid.SliceOfN(step, 0, 3).Draw(t, "steps"), "")
}

// drawRule draws a rule of any verb.
func drawRule(t *rapid.T) normalize.RuleConfig {
	field := drawField(t)
	of := func(list ...string) string { return rapid.SampledFrom(list).Draw(t, "setting") }
	switch rapid.IntRange(0, 16).Draw(t, "verb") {
	case 0:
		return normalize.RuleConfig{Drop: field}
	case 1, 2:
		return normalize.RuleConfig{Sort: field}
	case 3:
		return normalize.RuleConfig{Pair: field, By: normalize.By{"a"}}
	case 4:
		return normalize.RuleConfig{Pair: field, By: normalize.By{"b", "a"}}
	case 5:
		return normalize.RuleConfig{Round: field, To: of("0", "-1", "2")}
	case 6:
		return normalize.RuleConfig{Tolerate: field, Within: of("1", "0.5", "50%", "24h")}
	case 7:
		return normalize.RuleConfig{Mask: field, Pattern: of("a", "[0-9]+", ".*"), Numbered: rapid.Bool().Draw(t, "numbered")}
	case 8:
		return normalize.RuleConfig{MaskKeys: field, Pattern: of("[ab]", "c|d"), Numbered: rapid.Bool().Draw(t, "numbered")}
	case 9:
		return normalize.RuleConfig{Rename: field + ".a", To: of("b", "x")}
	case 10:
		return normalize.RuleConfig{Lower: field}
	case 11:
		return normalize.RuleConfig{Trim: field}
	case 12:
		return normalize.RuleConfig{NFC: field}
	case 13:
		return normalize.RuleConfig{Coerce: field, To: of("number", "string", "bool", "time")}
	case 14:
		return normalize.RuleConfig{Absent: field, When: normalize.JSONValue(of("null", "empty", "1", `"a"`, "{}", `{"a":1}`))}
	case 15:
		return normalize.RuleConfig{Parse: field, As: of("json", "query", "url", "base64", "jwt")}
	default:
		return normalize.RuleConfig{Present: field}
	}
}

// drawRules draws a set of rules that may stand together.
func drawRules(t *rapid.T) []normalize.RuleConfig {
	rules := rapid.SliceOfN(rapid.Custom(drawRule), 1, 4).Draw(t, "rules")
	return slices.DeleteFunc(rules, func(r normalize.RuleConfig) bool {
		_, err := normalize.New(normalize.Config{Rules: []normalize.RuleConfig{r}})
		return err != nil
	})
}

// copied is a document in which a member may stand twice.
func copied(t *rapid.T, body string) string {
	if rapid.Bool().Draw(t, "copies") {
		body = strings.Replace(body, `"a":`, `"a":`+drawJSON(t, 1)+`,"a":`, rapid.IntRange(1, 3).Draw(t, "of"))
	}
	return body
}

// Whatever the rules: a document never differs from itself, which side is the left one never decides whether there is a
// difference, and without arrays not even how many there are.
func TestUnderAnyRules(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		left, right := drawPair(rt)
		left, right = copied(rt, left), copied(rt, right)
		rules := drawRules(rt)
		spaced := strings.NewReplacer(",", " ,\n", ":", "\t: ").Replace(left)
		if strings.Contains(left, "e:") || strings.Contains(left, "T") { // a time or URL in a text
			spaced = " " + left
		}
		l, r := documentOf(t, left, rules...), documentOf(t, right, rules...)
		if same, _ := Compare(l, documentOf(t, spaced, rules...), DefaultLimits()); len(same) > 0 {
			rt.Fatalf("%s\ndiffers from itself: %v\nrules %+v", left, same, rules)
		}
		there, _ := Compare(l, r, DefaultLimits())
		back, _ := Compare(r, l, DefaultLimits())
		if (len(there) == 0) != (len(back) == 0) {
			rt.Fatalf("%d differences, the other way %d\nleft  %s\nright %s\nrules %+v", len(there), len(back), left, right, rules)
		}
		if strings.ContainsAny(left+right, "[") || hasDuplicates(left) || hasDuplicates(right) {
			return
		}
		if diff := cmp.Diff(sortEntries(entries(there)), sortEntries(swapped(entries(back))), cmp.AllowUnexported(entry{}), cmpopts.EquateEmpty()); diff != "" {
			rt.Fatalf("left  %s\nright %s\nrules %+v\n%s", left, right, rules, diff)
		}
	})
}

// A rule for a field that is not there changes nothing.
func TestARuleThatMatchesNothingChangesNothing(t *testing.T) {
	fields := []string{"body.z", "body.**.z", "body.z.**", "body[99]", `body.**[z="a"].a`, "body.{/^z/}", "body.a.z[].b", `body["a.b"]`}
	rapid.Check(t, func(rt *rapid.T) {
		left, right := drawPair(rt)
		left, right = copied(rt, left), copied(rt, right)
		rule := drawRule(rt)
		for _, field := range []*string{
			&rule.Drop, &rule.Sort, &rule.Pair, &rule.Round, &rule.Tolerate, &rule.Mask, &rule.MaskKeys, &rule.Rename, &rule.Lower, &rule.Trim,
			&rule.NFC, &rule.Coerce, &rule.Absent, &rule.Parse, &rule.Present,
		} {
			if *field != "" {
				*field = rapid.SampledFrom(fields).Draw(rt, "field")
			}
		}
		if rule.Rename != "" {
			rule.Rename = "body.**.z"
		}
		without, _ := Compare(documentOf(t, left), documentOf(t, right), DefaultLimits())
		with, _ := Compare(documentOf(t, left, rule), documentOf(t, right, rule), DefaultLimits())
		if diff := cmp.Diff(without, with); diff != "" {
			rt.Fatalf("left  %s\nright %s\nrule %+v\n%s", left, right, rule, diff)
		}
	})
}

// Dropping a field takes out the differences at and below it, and no other changes.
func TestDropTakesOutWhatIsBelow(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		left, right := drawPair(rt)
		keys := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "d"}), 1, 3).Draw(rt, "keys")
		rule := normalize.RuleConfig{Drop: "body." + strings.Join(keys, ".")}
		at := "/" + strings.Join(keys, "/")
		below := func(pointer string) bool { return pointer == at || strings.HasPrefix(pointer, at+"/") }
		without, _ := Compare(documentOf(t, left), documentOf(t, right), DefaultLimits())
		with, _ := Compare(documentOf(t, left, rule), documentOf(t, right, rule), DefaultLimits())
		want := slices.DeleteFunc(entries(without), func(e entry) bool { return below(e.left) || below(e.right) })
		if diff := cmp.Diff(sortEntries(want), sortEntries(entries(with)), cmp.AllowUnexported(entry{}), cmpopts.EquateEmpty()); diff != "" {
			rt.Fatalf("left  %s\nright %s\n%+v\n%s", left, right, rule, diff)
		}
	})
}

// place is one value of a tree in which no two are alike, and how to change it.
type treePlace struct {
	pointer string
	set     func(v any)
	remove  func() // nil for the root
	insert  func(v any) string
}

// drawUnique draws a tree of which no two leaves are alike, so that what has become of each is beyond doubt.
func drawUnique(t *rapid.T, depth int, next *int) any {
	*next++
	kind := rapid.IntRange(0, 3).Draw(t, "kind")
	switch n := rapid.IntRange(1, 5).Draw(t, "size"); {
	case depth == 0 || kind == 0:
		return json.Number(strconv.Itoa(*next))
	case kind == 1:
		return fmt.Sprintf("text %d", *next)
	case kind == 2:
		list := []any{}
		for range n {
			list = append(list, drawUnique(t, depth-1, next))
		}
		return &list
	default:
		object := map[string]any{}
		for i := range n {
			object["k/"+strconv.Itoa(i)] = drawUnique(t, depth-1, next)
		}
		return object
	}
}

// places lists all values of a tree, the root first.
func places(v any, pointer string, set func(any), remove func()) []treePlace {
	p := treePlace{pointer: pointer, set: set, remove: remove}
	var below []treePlace
	switch v := v.(type) {
	case *[]any:
		for i, item := range *v {
			below = append(below, places(item, pointer+"/"+strconv.Itoa(i), func(to any) { (*v)[i] = to }, func() { *v = slices.Delete(*v, i, i+1) })...)
		}
		p.insert = func(to any) string {
			at := len(*v) / 2
			*v = slices.Insert(*v, at, to)
			return pointer + "/" + strconv.Itoa(at)
		}
	case map[string]any:
		for key, value := range v {
			name := pointer + "/" + strings.ReplaceAll(key, "/", "~1")
			below = append(below, places(value, name, func(to any) { v[key] = to }, func() { delete(v, key) })...)
		}
		p.insert = func(to any) string { v["new"] = to; return pointer + "/new" }
	}
	slices.SortFunc(below, func(a, b treePlace) int { return strings.Compare(a.pointer, b.pointer) })
	return append([]treePlace{p}, below...)
}

// One value that is changed, taken out or put in is one difference, and right there.
func TestOneEditIsOneDifferenceAtItsPlace(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		next := 0
		tree := any(drawUnique(rt, 4, &next))
		left, err := json.Marshal(tree)
		if err != nil {
			rt.Fatal(err)
		}
		all := places(tree, "", func(to any) { tree = to }, nil)
		p := all[rapid.IntRange(0, len(all)-1).Draw(rt, "place")]
		var want entry
		switch edit := rapid.IntRange(0, 2).Draw(rt, "edit"); {
		case edit == 0 && p.insert != nil:
			want = entry{"none", p.insert(json.Number("-1")), KindExtra}
		case edit == 1 && p.remove != nil:
			p.remove()
			want = entry{p.pointer, "none", KindMissing}
		default:
			p.set(true)
			want = entry{p.pointer, p.pointer, KindType}
		}
		right, err := json.Marshal(tree)
		if err != nil {
			rt.Fatal(err)
		}
		got, _ := Compare(documentOf(t, string(left)), documentOf(t, string(right)), DefaultLimits())
		if diff := cmp.Diff([]entry{want}, entries(got), cmp.AllowUnexported(entry{})); diff != "" {
			rt.Fatalf("left  %s\nright %s\n%s", left, right, diff)
		}
	})
}
