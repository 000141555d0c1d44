package normalize

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"shadowdiff/multicast"
)

// ruleOf reads a rule from words: its verb, its field, and what its settings are in one word each. It answers false when
// there is no such verb.
func ruleOf(line string) (RuleConfig, bool) {
	words := strings.Split(line, " ")
	word := func(i int) string {
		if i < len(words) {
			return words[i]
		}
		return ""
	}
	field, set := word(1), word(2)
	switch words[0] {
	case "drop":
		return RuleConfig{Drop: field}, true
	case "sort":
		return RuleConfig{Sort: field}, true
	case "pair":
		return RuleConfig{Pair: field, By: strings.Split(set, ",")}, true
	case "round":
		return RuleConfig{Round: field, To: set}, true
	case "tolerate":
		return RuleConfig{Tolerate: field, Within: set}, true
	case "mask":
		return RuleConfig{Mask: field, Pattern: set, Numbered: word(3) == "numbered"}, true
	case "mask_keys":
		return RuleConfig{MaskKeys: field, Pattern: set, Numbered: word(3) == "numbered"}, true
	case "rename":
		return RuleConfig{Rename: field, To: set}, true
	case "lower":
		return RuleConfig{Lower: field}, true
	case "trim":
		return RuleConfig{Trim: field}, true
	case "squeeze":
		return RuleConfig{Squeeze: field}, true
	case "nfc":
		return RuleConfig{NFC: field}, true
	case "coerce":
		return RuleConfig{Coerce: field, To: set}, true
	case "absent":
		return RuleConfig{Absent: field, When: JSONValue(set)}, true
	case "parse":
		return RuleConfig{Parse: field, As: set}, true
	case "present":
		return RuleConfig{Present: field}, true
	}
	return RuleConfig{}, false
}

func ruleLines(text string) []RuleConfig {
	var rules []RuleConfig
	for line := range strings.SplitSeq(text, "\n") {
		if r, ok := ruleOf(line); ok && len(rules) < 8 {
			rules = append(rules, r)
		}
	}
	return rules
}

// checkTree tells what is wrong with a value after rules: its hashes, sizes and the order of members must be as if it had
// been read so.
func checkTree(t *testing.T, v *Value) {
	t.Helper()
	for i := range v.Items {
		checkTree(t, &v.Items[i])
	}
	for i := range v.Members {
		checkTree(t, &v.Members[i].Value)
		for j := range v.Members[i].Hidden {
			checkTree(t, &v.Members[i].Hidden[j])
		}
		if i > 0 && v.Members[i-1].Key >= v.Members[i].Key {
			t.Fatalf("%q stands before %q", v.Members[i-1].Key, v.Members[i].Key)
		}
	}
	again := *v
	again.rehash()
	if again.Hash != v.Hash || again.Size != v.Size || again.Loose != v.Loose {
		t.Fatalf("%.200s: hash, size or looseness are not its own", appendCanonical(nil, v))
	}
}

// FuzzRules holds any rules against any body: nothing panics, a document never differs from itself, what is left is a sound
// value, and a rule whose verb has come to an end changes nothing more.
func FuzzRules(f *testing.F) {
	for _, seed := range []string{
		"lower body\ntrim body\nsqueeze body\nnfc body", "mask body [0-9]+ numbered\nmask_keys body.a [0-9]+ numbered", "round body 2",
		"coerce body number", "coerce body time", "coerce body string", "absent body null", "absent body empty", `absent body {"a":1}`,
		"parse body.** json\ndrop body.**.x", "parse body.p jwt\ndrop body.p.payload.iat", "parse body.** url", "parse body.** query",
		"parse body.** base64", "present body.**.id", "rename body.a b\nrename body.b a", "rename body.**.{/^[a-z]/} x",
		"sort body.**\ntolerate body 0.5", "pair body id,x.y\ndrop body[1]", `lower body[id="a7"]`, "drop body.**", "mask_keys body .*",
		"mask_keys body [0-9]+\nrename body.k1 k", "drop body.**.a.**.b\ndrop body.**.b.**.a\nsort body.**.s", "tolerate body 30%\npair body.** id",
	} {
		f.Add(seed, `{"a":[{"id":"a7","p":1.25,"x":null},{"id":7,"p":"{\"x\":[1, \"2\"]}"}],"A":" X  y","b":{"1":1,"2":"2024-01-01T00:00:00Z"}}`)
		f.Add(seed, `[{"id":1,"p":"a=1&b=2"},{"id":1,"p":"aGVsbG8="},[[]],"http://h/?q=1#f","",{},{"a":1,"a":null,"b":2}]`)
		f.Add(seed, `{"k1":1,"k2":{"k3":2},"k1":3,"k":4,"k":5,"s":[[9,8,7,6,5,4,3,2,1],[1,2,3,4,5,6,7,8,9]],"a":{"b":{"a":"1e400"}}}`)
	}
	f.Fuzz(func(t *testing.T, text, body string) {
		rules := ruleLines(text)
		n, err := New(Config{Rules: rules})
		if err != nil {
			return
		}
		read := func(role multicast.Role, body string) *Document {
			resp := &multicast.Response{Status: 200, Header: map[string][]string{"Content-Type": {"application/json"}}, Body: []byte(body)}
			return n.Document("GET /", role, resp, nil)
		}
		a, b := read(multicast.Primary, body), read(multicast.Candidate, body)
		if a.Body.Kind != b.Body.Kind || (a.Body.Root == nil) != (b.Body.Root == nil) || string(a.Body.Bytes) != string(b.Body.Bytes) {
			t.Fatalf("a body is now %d and now %d", a.Body.Kind, b.Body.Kind)
		}
		if a.Body.Root == nil {
			return
		}
		if !a.Body.Root.Equal(b.Body.Root) {
			t.Fatalf("a body differs from itself: %.200s", appendCanonical(nil, a.Body.Root))
		}
		checkTree(t, a.Body.Root)
		if len(rules) != 1 || !slices.ContainsFunc(n.rules, comesToAnEnd) || !utf8.ValidString(body) {
			return
		}
		left := string(appendCanonical(nil, a.Body.Root))
		if strings.Contains(left, `\ud`) || strings.Contains(left, `\x`) || strings.Contains(body, `\u`) {
			return // what is no text cannot be sent again
		}
		if again := read(multicast.Primary, left); string(appendCanonical(nil, again.Body.Root)) != left {
			t.Fatalf("%+v: %.200s became %.200s", rules[0], left, appendCanonical(nil, again.Body.Root))
		}
	})
}

// comesToAnEnd tells whether a rule changes nothing any more that it has changed once.
func comesToAnEnd(r *rule) bool {
	switch r.verb {
	case verbLower, verbTrim, verbSqueeze, verbNFC, verbRound, verbCoerce:
		for i := range r.pattern.segments {
			if r.pattern.segments[i].kind == stepWhere {
				return false // another element may be chosen now
			}
		}
		return true
	}
	return false
}
