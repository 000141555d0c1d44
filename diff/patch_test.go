package diff

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"shadowdiff/multicast"
	"shadowdiff/normalize"
)

func bodyOf(contentType, body string) *multicast.Response {
	r := &multicast.Response{Outcome: multicast.OutcomeOK, Status: http.StatusOK, Header: http.Header{}, Body: []byte(body), Size: int64(len(body))}
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	return r
}

func patcherOf(t testing.TB, rules ...normalize.RuleConfig) *Patcher {
	t.Helper()
	n, err := normalize.New(normalize.Config{Rules: rules})
	if err != nil {
		t.Fatal(err)
	}
	plain, err := normalize.New(normalize.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return NewPatcher(n, plain, DefaultLimits())
}

func patchOf(t testing.TB, contentType, left, right string, rules ...normalize.RuleConfig) []Operation {
	t.Helper()
	ops, err := patcherOf(t, rules...).Patch("GET /", bodyOf(contentType, left), bodyOf(contentType, right))
	if err != nil {
		t.Fatal(err)
	}
	return ops
}

func asLines(ops []Operation) string {
	var lines []string
	for i := range ops {
		lines = append(lines, string(ops[i].AppendJSON(nil)))
	}
	return strings.Join(lines, "\n")
}

// refApply does what an operation says to encoding/json's values, and holds the old value against what is there.
func refApply(v any, tokens []string, op, old, value string) (any, error) {
	if len(tokens) == 0 {
		if op != "add" && !refEqual(v, mustParse(old)) {
			return nil, fmt.Errorf("the old value is %v, not %s", v, old)
		}
		return mustParse(value), nil
	}
	key := strings.NewReplacer("~1", "/", "~0", "~").Replace(tokens[0])
	last := len(tokens) == 1
	var err error
	switch v := v.(type) {
	case map[string]any:
		inner, ok := v[key]
		switch {
		case last && op == "add" && !ok:
			v[key] = mustParse(value)
			return v, nil
		case !ok || last && op == "add":
			return nil, fmt.Errorf("%q is there: %v", key, ok)
		}
		if v[key], err = refApply(inner, tokens[1:], op, old, value); last && op == "remove" {
			delete(v, key)
		}
		return v, err
	case []any:
		i, err := strconv.Atoi(key)
		if last && op == "add" && err == nil && i <= len(v) {
			return append(v[:i:i], append([]any{mustParse(value)}, v[i:]...)...), nil
		}
		if err != nil || i >= len(v) {
			return nil, fmt.Errorf("no element %q of %d", key, len(v))
		}
		if v[i], err = refApply(v[i], tokens[1:], op, old, value); last && op == "remove" {
			return append(v[:i:i], v[i+1:]...), err
		}
		return v, err
	}
	return nil, fmt.Errorf("nothing below %v", v)
}

func mustParse(text string) any {
	if text == "" {
		return nil
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		panic(text)
	}
	return v
}

// refPatched applies a patch, as anyone would who reads it.
func refPatched(left string, ops []Operation) (any, error) {
	v := mustParse(left)
	for i := range ops {
		var o struct {
			Op, Path   string
			Old, Value json.RawMessage
		}
		text := ops[i].AppendJSON(nil)
		if err := json.Unmarshal(text, &o); err != nil {
			return nil, fmt.Errorf("%s: %w", text, err)
		}
		var tokens []string
		if o.Path != "" {
			tokens = strings.Split(o.Path[1:], "/")
		}
		var err error
		if v, err = refApply(v, tokens, o.Op, string(o.Old), string(o.Value)); err != nil {
			return nil, fmt.Errorf("%s: %w", text, err)
		}
	}
	return v, nil
}

// TestAPatchMakesTheRightOfTheLeft asks an independent judge, and wants the finest operations to do.
func TestAPatchMakesTheRightOfTheLeft(t *testing.T) {
	p := patcherOf(t)
	rapid.Check(t, func(rt *rapid.T) {
		left, right := drawPair(rt)
		ops, err := p.Patch("", bodyOf("application/json", left), bodyOf("application/json", right))
		if err != nil {
			rt.Fatal(err)
		}
		if differences, _ := Compare(documentOf(t, left), documentOf(t, right), DefaultLimits()); len(ops) > len(differences) {
			rt.Fatalf("%d operations for %d differences\nleft  %s\nright %s\n%s", len(ops), len(differences), left, right, asLines(ops))
		}
		got, err := refPatched(left, ops)
		if err != nil || !refEqual(got, mustParse(right)) {
			rt.Fatalf("%v, %v\nleft  %s\nright %s\n%s", got, err, left, right, asLines(ops))
		}
		l, r := documentOf(t, left), documentOf(t, right)
		e := newEdits(documentOf(t, left).Body.Root, documentOf(t, right).Body.Root)
		e.walk(&l.Body, &r.Body, DefaultLimits())
		if fine := asLines(e.operations()); fine != asLines(ops) {
			rt.Fatalf("left  %s\nright %s\nthe finest operations do not do:\n%s", left, right, fine)
		}
	})
}

// TestAPatchUnderRulesMakesThemEqual: what rules leave out is not touched, and does not get in the way.
func TestAPatchUnderRulesMakesThemEqual(t *testing.T) {
	rules := []normalize.RuleConfig{
		{Drop: "body.a"},
		{Drop: "body.**.d"},
		{Drop: "body[1]"},
		{Drop: "body[][0]"},
		{Sort: "body.b"},
		{Sort: "body[]"},
		{Sort: "body.**"},
		{Pair: "body", By: normalize.By{"a"}},
		{Pair: "body.**", By: normalize.By{"a", "b"}},
		{Rename: "body.**.a", To: "b"},
		{Absent: "body.**", When: "null"},
		{Absent: "body.**", When: "1"},
		{Absent: "body.**", When: "empty"},
		{Tolerate: "body.**", Within: "1"},
		{Round: "body.**", To: "-1"},
		{Present: "body.**.a"},
		{Present: "body[]"},
		{Mask: "body.**", Pattern: "[ab]", Numbered: true},
		{MaskKeys: "body", Pattern: "[ab]"},
		{Coerce: "body.**", To: "string"},
		{Parse: "body.**", As: "json"},
		{Parse: "body.**", As: "query"},
	}
	patchers := make([]*Patcher, len(rules))
	for i, rule := range rules {
		patchers[i] = patcherOf(t, rule)
	}
	rapid.Check(t, func(rt *rapid.T) {
		left, right := drawPair(rt)
		at := rapid.IntRange(0, len(rules)-1).Draw(rt, "rule")
		ops, err := patchers[at].Patch("", bodyOf("application/json", left), bodyOf("application/json", right))
		if err != nil {
			rt.Fatal(err)
		}
		got, err := refPatched(left, ops)
		if err != nil {
			rt.Fatalf("%v\nleft  %s\nright %s\n%s", err, left, right, asLines(ops))
		}
		text, err := json.Marshal(got)
		if err != nil {
			rt.Fatal(err)
		}
		if rest, _ := Compare(documentOf(t, string(text), rules[at]), documentOf(t, right, rules[at]), DefaultLimits()); len(rest) > 0 {
			rt.Fatalf("%+v\nleft  %s\nright %s\n%s\nleave %v", rules[at], left, right, asLines(ops), rest)
		}
	})
}

func TestPatches(t *testing.T) {
	for _, test := range []struct{ name, left, right, want string }{
		{"nothing", `{"a":1.0,"b":2}`, `{"b":2,"a":1}`, ""},
		{"values as sent", `{"a":1.50,"b":[1]}`, `{"a": 2e0,"b":[1, {"c" : "x y\u0041"}]}`, `{"op":"replace","path":"/a","old":1.50,"value":2e0}
{"op":"add","path":"/b/1","value":{"c":"x y\u0041"}}`},
		{"keys", `{"a/b":{"~":1},"":2}`, `{"a/b":{"~":3}}`, `{"op":"replace","path":"/a~1b/~0","old":1,"value":3}
{"op":"remove","path":"/","old":2}`},
		{"elements", `[1,2,3,4,{"a":1,"b":2,"c":3}]`, `[0,2,4,{"a":1,"b":9,"c":3},5]`, `{"op":"replace","path":"/0","old":1,"value":0}
{"op":"replace","path":"/4/b","old":2,"value":9}
{"op":"remove","path":"/2","old":3}
{"op":"add","path":"/4","value":5}`},
		{"order", `{"a":[1,2]}`, `{"a":[2,1]}`, `{"op":"replace","path":"/a","old":[1,2],"value":[2,1]}`},
		{"a copy of a key", `{"z":1,"o":{"a":1,"a":2}}`, `{"z":1,"o":{"a":2}}`, `{"op":"replace","path":"/o","old":{"a":1,"a":2},"value":{"a":2}}`},
		{"below a copy of a key", `{"o":{"a":[1],"a":[2]}}`, `{"o":{"a":[1],"a":[3]}}`, `{"op":"replace","path":"/o","old":{"a":[1],"a":[2]},"value":{"a":[1],"a":[3]}}`},
		{"the whole", `[1]`, `{"a":1}`, `{"op":"replace","path":"","old":[1],"value":{"a":1}}`},
		{"records", "1\n{\"a\":1}\n", "1\n{\"a\":2}\n3", `{"op":"replace","path":"/1/a","old":1,"value":2}
{"op":"add","path":"/2","value":3}`},
		{"a lone surrogate", `{"a":"\ud800","\udfff":1}`, `{"a":"\ud801","\udfff":1}`, `{"op":"replace","path":"/a","old":"\ud800","value":"\ud801"}`},
		{"a key that is no text", `{"o":{"\udfff":1}}`, `{"o":{"\udfff":2}}`, `{"op":"replace","path":"/o","old":{"\udfff":1},"value":{"\udfff":2}}`},
		{"text", "alpha\n\x01\"", "beta\n", `{"op":"replace","path":"","old":"alpha\n\u0001\"","value":"beta\n","encoding":"text"}`},
		{"text that was JSON", `{"a":1}`, `{"a":1`, `{"op":"replace","path":"","old":"{\"a\":1}","value":"{\"a\":1","encoding":"text"}`},
		{"bytes", "\xff\x00", "\xfe", `{"op":"replace","path":"","old":"/wA=","value":"/g==","encoding":"base64"}`},
		{"bad bytes in JSON", "{\"a\":\"\xff\",\"b\":1}", "{\"a\":\"\xfe\",\"b\":1}", `{"op":"replace","path":"","old":"` +
			base64.StdEncoding.EncodeToString([]byte("{\"a\":\"\xff\",\"b\":1}")) + `","value":"` + base64.StdEncoding.EncodeToString([]byte("{\"a\":\"\xfe\",\"b\":1}")) + `","encoding":"base64"}`},
		{"a body that is gone", `[1]`, "", `{"op":"remove","path":"","old":[1]}`},
		{"a body that is new", "", "x", `{"op":"add","path":"","value":"x","encoding":"text"}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			contentType := ""
			if test.name == "records" {
				contentType = "application/x-ndjson"
			}
			ops := patchOf(t, contentType, test.left, test.right)
			if got := asLines(ops); got != test.want {
				t.Errorf("%q against %q:\n%s\nwant\n%s", test.left, test.right, got, test.want)
			}
		})
	}
}

// Elements that a rule drops stand in the body as sent, and are counted by the indexes.
func TestPatchesUnderRules(t *testing.T) {
	for _, test := range []struct {
		name, left, right string
		rule              normalize.RuleConfig
		want              string
	}{
		{"what is dropped is left alone", `{"a":1,"at":5}`, `{"a":2,"at":6}`, normalize.RuleConfig{Drop: "body.at"}, `{"op":"replace","path":"/a","old":1,"value":2}`},
		{"sorted", `[1,2,3]`, `[4,3,1]`, normalize.RuleConfig{Sort: "body"}, `{"op":"remove","path":"/1","old":2}
{"op":"add","path":"/0","value":4}`},
		{
			"paired", `[{"id":1,"n":1},{"id":2,"n":2}]`, `[{"id":3},{"id":2,"n":3}]`,
			normalize.RuleConfig{Pair: "body", By: normalize.By{"id"}},
			`{"op":"replace","path":"/1/n","old":2,"value":3}
{"op":"remove","path":"/0","old":{"id":1,"n":1}}
{"op":"add","path":"/0","value":{"id":3}}`,
		},
		{"renamed", `{"old":1}`, `{"new":2}`, normalize.RuleConfig{Rename: "body.old", To: "new"}, `{"op":"replace","path":"/old","old":1,"value":2}`},
		{"null that counts as missing", `{"a":null}`, `{"a":1}`, normalize.RuleConfig{Absent: "body.a", When: "null"}, `{"op":"replace","path":"/a","old":null,"value":1}`},
		{
			"read out of a string", `{"p":"{\"a\":1,\"b\":2}","q":1}`, `{"p":"{\"a\":2,\"b\":3}","q":1}`,
			normalize.RuleConfig{Parse: "body.p", As: "json"},
			`{"op":"replace","path":"/p","old":"{\"a\":1,\"b\":2}","value":"{\"a\":2,\"b\":3}"}`,
		},
		{"within reach", `[1,5]`, `[1.4,7]`, normalize.RuleConfig{Tolerate: "body[]", Within: "1"}, `{"op":"replace","path":"/1","old":5,"value":7}`},
		{"the candidate's own", `{"a":1}`, `{"a":2,"new":1}`, normalize.RuleConfig{Drop: "body.new", Role: "candidate"}, `{"op":"replace","path":"/a","old":1,"value":2}`},
		{
			"places that do not hold", `{"l":[{"k":1},{"v":2}]}`, `{"l":[{"k":1},{"k":1},{"v":1},{"v":2}]}`,
			normalize.RuleConfig{Drop: "body.l[k=1]"},
			`{"op":"replace","path":"/l","old":[{"k":1},{"v":2}],"value":[{"k":1},{"k":1},{"v":1},{"v":2}]}`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := asLines(patchOf(t, "application/json", test.left, test.right, test.rule))
			if got != test.want {
				t.Errorf("%s against %s:\n%s\nwant\n%s", test.left, test.right, got, test.want)
			}
		})
	}
}

// TestPatchesAreBounded: neither many differences nor deep ones make a patch much longer than the bodies.
func TestPatchesAreBounded(t *testing.T) {
	numbers := func(n, step int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, ",%d", i*step)
		}
		return "[" + b.String()[1:] + "]"
	}
	nested := func(n int, s string) string { return strings.Repeat(`{"k":[`, n) + s + strings.Repeat("]}", n) }
	for name, pair := range map[string][2]string{
		"all differ":      {numbers(20_000, 1), numbers(20_000, 3)},
		"every second":    {numbers(20_000, 1), numbers(10_000, 2)},
		"deep":            {nested(4900, "1"), nested(4900, "2")},
		"deep and many":   {nested(500, numbers(2_000, 1)), nested(500, numbers(2_000, 2))},
		"beyond walking":  {nested(5100, "1"), nested(5100, "2")},
		"deep at the end": {strings.Repeat("[", 30_000) + "1" + strings.Repeat("]", 30_000), strings.Repeat("[", 30_000) + "2" + strings.Repeat("]", 30_000)},
	} {
		t.Run(name, func(t *testing.T) {
			text := asLines(patchOf(t, "application/json", pair[0], pair[1]))
			if most := len(pair[0]) + len(pair[1]) + 2*spare; len(text) > most || text == "" {
				t.Errorf("%d bytes, of two bodies with %d", len(text), len(pair[0])+len(pair[1]))
			}
		})
	}
}

// An insertion at the front of a large array is one operation.
func TestAPatchOfALargeBodyIsSmall(t *testing.T) {
	var items []string
	for i := range 2_000 {
		items = append(items, fmt.Sprintf(`{"id":%d,"name":"item number %d"}`, i, i))
	}
	left := `{"items":[` + strings.Join(items, ",") + "]}"
	items[1_900] = `{"id":1900,"name":"another"}`
	items = append(items[:500:500], items[501:]...)
	right := `{"items":[{"id":-1},` + strings.Join(items, ",") + "]}"
	want := `{"op":"replace","path":"/items/1900/name","old":"item number 1900","value":"another"}
{"op":"remove","path":"/items/500","old":{"id":500,"name":"item number 500"}}
{"op":"add","path":"/items/0","value":{"id":-1}}`
	if got := asLines(patchOf(t, "", left, right)); got != want {
		t.Errorf("%.1000s", got)
	}
}

// FuzzPatch: whatever two bodies hold, applying the patch leads to the right one, or the patch is the right one.
func FuzzPatch(f *testing.F) {
	for _, c := range readCases(f) {
		if c.Left != nil && c.Right != nil && len(*c.Left) < 500 {
			f.Add(*c.Left, *c.Right, "")
		}
	}
	f.Add(`{"a":[1,2],"a":[1]}`, `{"a":[1]}`, "body.**.a")
	f.Fuzz(func(t *testing.T, left, right, drop string) {
		n, err := normalize.New(normalize.Config{Rules: []normalize.RuleConfig{{Drop: drop}}})
		if err != nil {
			n = patcherOf(t).plain
		}
		p := NewPatcher(n, patcherOf(t).plain, DefaultLimits())
		ops, err := p.Patch("", bodyOf("", left), bodyOf("", right))
		if err != nil {
			t.Fatal(err)
		}
		text := asLines(ops)
		for line := range strings.Lines(text) {
			if !utf8.ValidString(line) || !json.Valid([]byte(line)) {
				t.Fatalf("%q against %q: %q", left, right, line)
			}
		}
		l, r := n.Document("", multicast.Primary, bodyOf("", left), nil), n.Document("", multicast.Candidate, bodyOf("", right), nil)
		differences, _ := Compare(l, r, DefaultLimits())
		if (len(differences) == 0) != (len(ops) == 0) {
			t.Fatalf("%q against %q: %d differences, %d operations", left, right, len(differences), len(ops))
		}
		if len(ops) == 0 || len(ops) == 1 && ops[0].Path == "" {
			return
		}
		if !p.leads("", p.plain.Document("", multicast.Primary, bodyOf("", left), nil).Body.Root, ops, r) {
			t.Fatalf("%q against %q: not by\n%s", left, right, text)
		}
	})
}
