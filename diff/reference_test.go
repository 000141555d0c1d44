package diff

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"shadowdiff/multicast"
	"shadowdiff/normalize"
)

// entry is a difference without its looks.
type entry struct {
	left, right string // pointers, "none" where there is none
	kind        Kind
}

// refEntries is the contract as plainly as it can be written, over encoding/json's values and without regard to time.
func refEntries(l, r any, left, right string) []entry {
	if refEqual(l, r) {
		return nil
	}
	if refType(l) != refType(r) {
		return []entry{{left, right, KindType}}
	}
	switch l := l.(type) {
	case map[string]any:
		return refObjects(l, r.(map[string]any), left, right)
	case []any:
		return refArrays(l, r.([]any), left, right)
	case string:
		if normalize.ShapeOfText(l) != normalize.ShapeOfText(r.(string)) {
			return []entry{{left, right, KindFormat}}
		}
	}
	return []entry{{left, right, KindValue}}
}

func refObjects(l, r map[string]any, left, right string) (out []entry) {
	for key, v := range l {
		if other, ok := r[key]; ok {
			out = append(out, refEntries(v, other, left+"/"+key, right+"/"+key)...)
		} else {
			out = append(out, entry{left + "/" + key, "none", KindMissing})
		}
	}
	for key := range r {
		if _, ok := l[key]; !ok {
			out = append(out, entry{"none", right + "/" + key, KindExtra})
		}
	}
	return out
}

func refArrays(l, r []any, left, right string) (out []entry) {
	classes := func(list []any) (numbers []int32) {
		both := slices.Concat(l, r)
		for _, v := range list {
			numbers = append(numbers, int32(slices.IndexFunc(both, func(o any) bool { return refEqual(v, o) })))
		}
		return numbers
	}
	a, b := classes(l), classes(r)
	if slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))) {
		return []entry{{left, right, KindOrder}}
	}
	i, j := 0, 0
	for _, block := range append(slowAlign(a, b), block{len(l), len(r), 0}) {
		out = append(out, refGap(l, r, i, block.i, j, block.j, left, right)...)
		i, j = block.i+block.n, block.j+block.n
	}
	return out
}

// refGap tries every way to pair as many as possible in order and takes the first of the best.
func refGap(l, r []any, i0, i1, j0, j1 int, left, right string) (best []entry) {
	var try func(i, j int, out []entry)
	bestCost := cost{1 << 30, 0}
	try = func(i, j int, out []entry) {
		if i == i1 && j == j1 {
			var c cost
			for _, e := range out {
				c = c.plus(cost{1, int(e.kind.Level())})
			}
			if c.less(bestCost) {
				best, bestCost = slices.Clone(out), c
			}
			return
		}
		n, m := i1-i, j1-j
		at, to := left+"/"+strconv.Itoa(i), right+"/"+strconv.Itoa(j)
		if n > 0 && m > 0 {
			try(i+1, j+1, append(slices.Clone(out), refEntries(l[i], r[j], at, to)...))
		}
		if n > m {
			try(i+1, j, append(slices.Clone(out), entry{at, "none", KindMissing}))
		}
		if m > n {
			try(i, j+1, append(slices.Clone(out), entry{"none", to, KindExtra}))
		}
	}
	try(i0, j0, nil)
	return best
}

func refType(v any) string {
	return strings.TrimPrefix(fmt.Sprintf("%T", v), "json.")
}

func refEqual(l, r any) bool {
	if a, ok := l.(json.Number); ok {
		b, ok := r.(json.Number)
		return ok && refNumber(a).Cmp(refNumber(b)) == 0
	}
	switch l := l.(type) {
	case []any:
		r, ok := r.([]any)
		return ok && slices.EqualFunc(l, r, refEqual)
	case map[string]any:
		r, ok := r.(map[string]any)
		if !ok || len(l) != len(r) {
			return false
		}
		for key, v := range l {
			if other, ok := r[key]; !ok || !refEqual(v, other) {
				return false
			}
		}
		return true
	}
	return l == r
}

func refNumber(n json.Number) *big.Rat {
	v, ok := new(big.Rat).SetString(n.String())
	if !ok {
		panic("not a number: " + n)
	}
	return v
}

func parseAny(t testing.TB, body string) any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(body))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return v
}

// drawJSON draws a small document in which much is alike.
func drawJSON(t *rapid.T, depth int) string {
	kinds := 9
	if depth == 0 {
		kinds = 7
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return rapid.SampledFrom([]string{"null", "true", "false"}).Draw(t, "word")
	case 1, 2, 3:
		return rapid.SampledFrom([]string{"0", "1", "2", "1.0", "10e-1", "-0", "3", "12345678901234567890"}).Draw(t, "number")
	case 4, 5, 6:
		return rapid.SampledFrom([]string{`""`, `"a"`, `"b"`, `"2024-01-01"`, `"\u0061"`, `"é"`}).Draw(t, "string")
	case 7:
		return "[" + strings.Join(rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string { return drawJSON(t, depth-1) }), 0, 5).Draw(t, "items"), ",") + "]"
	default:
		keys := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d"}), 0, 4, rapid.ID[string]).Draw(t, "keys")
		var members []string
		for _, key := range keys {
			members = append(members, `"`+key+`":`+drawJSON(t, depth-1))
		}
		return "{" + strings.Join(members, ", ") + "}"
	}
}

// drawPair draws two documents that are often much alike: the right one is the left one with a few values replaced.
func drawPair(t *rapid.T) (left, right string) {
	left = drawJSON(t, 3)
	right = left
	if rapid.Bool().Draw(t, "unrelated") {
		return left, drawJSON(t, 3)
	}
	for range rapid.IntRange(0, 3).Draw(t, "edits") {
		from := rapid.SampledFrom([]string{"1", "2", `"a"`, `"b"`, "null", "true", ",1", `"c":`}).Draw(t, "from")
		to := map[string]string{",1": "", `"c":`: `"e":`}[from]
		if from != ",1" && from != `"c":` {
			to = drawJSON(t, 1)
		}
		edited := strings.Replace(right, from, to, 1)
		if json.Valid([]byte(edited)) && !hasDuplicates(edited) && !hugeExponent.MatchString(edited) {
			right = edited
		}
	}
	return left, right
}

var hugeExponent = regexp.MustCompile(`e-?\d{3}`) // math/big takes too long over them

func hasDuplicates(body string) bool {
	n := strings.Count(body, ":")
	var b bytes.Buffer
	var v any
	_ = json.Unmarshal([]byte(body), &v)
	_ = json.NewEncoder(&b).Encode(v)
	return strings.Count(b.String(), ":") != n
}

func documentOf(t testing.TB, body string, rules ...normalize.RuleConfig) *normalize.Document {
	t.Helper()
	n, err := normalize.New(normalize.Config{Rules: rules})
	if err != nil {
		t.Fatal(err)
	}
	r := &multicast.Response{Outcome: multicast.OutcomeOK, Status: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: []byte(body)}
	return n.Document("GET /", multicast.Primary, r, nil)
}

func entries(differences []Difference) (out []entry) {
	for _, d := range differences {
		e := entry{"none", "none", d.Kind}
		if d.LeftPointer != nil {
			e.left = *d.LeftPointer
		}
		if d.RightPointer != nil {
			e.right = *d.RightPointer
		}
		out = append(out, e)
	}
	return out
}

func sortEntries(list []entry) []entry {
	slices.SortFunc(list, func(a, b entry) int {
		return strings.Compare(a.left+" "+a.right+" "+string(a.kind), b.left+" "+b.right+" "+string(b.kind))
	})
	return list
}

func TestWalkIsTheContractWordForWord(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		left, right := drawPair(rt)
		got, cut := Compare(documentOf(t, left), documentOf(t, right), DefaultLimits())
		want := sortEntries(refEntries(parseAny(t, left), parseAny(t, right), "", ""))
		if diff := cmp.Diff(want, sortEntries(entries(got)), cmp.AllowUnexported(entry{})); diff != "" || cut {
			rt.Fatalf("left  %s\nright %s\n%s", left, right, diff)
		}
	})
}

// TestWhatIsLeftIsEqual takes all that differs out of both sides: the rest must be the same, by an independent judge.
func TestWhatIsLeftIsEqual(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		left, right := drawPair(rt)
		got, _ := Compare(documentOf(t, left), documentOf(t, right), DefaultLimits())
		l, r := parseAny(t, left), parseAny(t, right)
		if equal := cmp.Equal(mapped(l), mapped(r)); equal != (len(got) == 0) {
			rt.Fatalf("%d differences where go-cmp says equal: %v\nleft  %s\nright %s", len(got), equal, left, right)
		}
		for _, e := range entries(got) {
			l, r = without(l, e.left), without(r, e.right)
		}
		if l, r = swept(l), swept(r); !cmp.Equal(mapped(l), mapped(r)) {
			rt.Fatalf("left  %s\nright %s\ndifferences %v\nleave\n%s", left, right, got, cmp.Diff(mapped(l), mapped(r)))
		}
	})
}

func TestNothingDiffersFromItself(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		body := drawJSON(rt, 4)
		spaced := strings.NewReplacer(",", " ,\n", ":", "\t: ").Replace(body)
		if got, _ := Compare(documentOf(t, body), documentOf(t, spaced), DefaultLimits()); len(got) > 0 {
			rt.Fatalf("%s differs from itself: %v", body, got)
		}
	})
}

func TestSwappingSidesSwapsMissingAndExtra(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		strip := strings.NewReplacer("[", `{"x":[`, "]", "]}") // one element at most: more may align otherwise when swapped
		left, right := drawPair(rt)
		if strings.ContainsAny(left+right, "[") {
			left, right = strip.Replace("[]"), strip.Replace("[1]")
		}
		there, _ := Compare(documentOf(t, left), documentOf(t, right), DefaultLimits())
		back, _ := Compare(documentOf(t, right), documentOf(t, left), DefaultLimits())
		swapped := entries(back)
		for i, e := range swapped {
			kind := map[Kind]Kind{KindMissing: KindExtra, KindExtra: KindMissing}[e.kind]
			if kind == "" {
				kind = e.kind
			}
			swapped[i] = entry{e.right, e.left, kind}
		}
		if diff := cmp.Diff(sortEntries(entries(there)), sortEntries(swapped), cmp.AllowUnexported(entry{})); diff != "" {
			rt.Fatalf("left  %s\nright %s\n%s", left, right, diff)
		}
	})
}

// gone stands for a value that was taken out.
type gone struct{}

func without(v any, pointer string) any {
	if pointer == "none" {
		return v
	}
	if pointer == "" {
		return gone{}
	}
	token, rest, more := strings.Cut(pointer[1:], "/")
	if more {
		rest = "/" + rest
	}
	switch v := v.(type) {
	case map[string]any:
		v[token] = without(v[token], rest)
	case []any:
		i, _ := strconv.Atoi(token)
		v[i] = without(v[i], rest)
	default:
		panic("nothing at " + pointer)
	}
	return v
}

func swept(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, value := range v {
			if value = swept(value); value != any(gone{}) {
				out[key] = value
			}
		}
		return out
	case []any:
		out := []any{}
		for _, value := range v {
			if value = swept(value); value != any(gone{}) {
				out = append(out, value)
			}
		}
		return out
	}
	return v
}

// mapped makes maps of arrays and canonical text of numbers, so that go-cmp is linear and exact.
func mapped(v any) any {
	switch v := v.(type) {
	case json.Number:
		return "number " + refNumber(v).String()
	case string:
		return "string " + v
	case map[string]any:
		out := map[string]any{}
		for key, value := range v {
			out[key] = mapped(value)
		}
		return out
	case []any:
		out := map[int]any{}
		for i, value := range v {
			out[i] = mapped(value)
		}
		return out
	}
	return v
}
