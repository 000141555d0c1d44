package normalize

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"shadowdiff/multicast"
)

// ruled is a pair of bodies under rules.
type ruled struct {
	name        string
	rules       []RuleConfig
	left, right string
	equal       bool
}

func (r *ruled) run(t *testing.T) {
	t.Helper()
	n := mustNew(t, r.rules...)
	a, b := document(n, "application/json", r.left).Body, document(n, "application/json", r.right).Body
	equal := a.Kind == b.Kind && (a.Root == nil || a.Root.Equal(b.Root))
	if equal != r.equal {
		t.Errorf("%s: %+v\n%s\n%s\nequal: %t", r.name, r.rules, r.left, r.right, equal)
	}
	back, forth := document(n, "application/json", r.right).Body, document(n, "application/json", r.left).Body
	if a.Root != nil && b.Root != nil && (!a.Root.Equal(forth.Root) || !b.Root.Equal(back.Root)) {
		t.Errorf("%s: a document differs from itself", r.name)
	}
}

func one(r RuleConfig) []RuleConfig { return []RuleConfig{r} }

func TestAbsentMembersAreMissing(t *testing.T) {
	null, empty := one(RuleConfig{Absent: "body", When: "null"}), one(RuleConfig{Absent: "body", When: "empty"})
	for _, tc := range []ruled{
		{"null is missing", null, `{"a":1,"b":null}`, `{"a":1}`, true},
		{"at any depth", null, `{"a":[{"b":{"c":null}}]}`, `{"a":[{"b":{}}]}`, true},
		{"elements are values", null, `{"l":[1,null,2]}`, `{"l":[1,2]}`, false},
		{"null is not another value", null, `{"a":null}`, `{"a":"x"}`, false},
		{"as sent: what becomes empty is not null", null, `{"a":{"b":null}}`, `{}`, false},
		{"an empty string is no null", null, `{"a":""}`, `{}`, false},
		{"a whole body", null, `null`, ``, true},
		{"strings, arrays and objects are empty", empty, `{"a":"","b":[],"c":{},"d":0}`, `{"d":0}`, true},
		{"null is not empty", empty, `{"a":null}`, `{}`, false},
		{"false and 0 are not empty", empty, `{"a":false,"b":0}`, `{}`, false},
		{"what holds only what is absent is empty", empty, `{"a":{"b":"","c":{"d":[]}}}`, `{"a":{}}`, true},
		{"and absent too", empty, `{"a":{"b":""}}`, `{}`, true},
		{"but not by what is dropped", append(empty, RuleConfig{Drop: "body.a.b"}), `{"a":{"b":1}}`, `{}`, false},
		{"nor with an element", empty, `{"a":[{"b":""}]}`, `{"a":[{}]}`, true},
		{"which is one even if empty", empty, `{"a":[{"b":""}]}`, `{}`, false},
		{"null holds nothing that is absent", empty, `{"a":{"b":""}}`, `{"a":null}`, false},
		{"an empty body is one", empty, `{"a":""}`, `{}`, true},
		{"which is not no body", empty, `{}`, ``, false},
		{"one field", one(RuleConfig{Absent: "body.a", When: "null"}), `{"a":null,"b":null}`, `{"b":null}`, true},
		{"and no other", one(RuleConfig{Absent: "body.a", When: "null"}), `{"b":null}`, `{}`, false},
		{"a number by its value", one(RuleConfig{Absent: "body", When: "0"}), `{"a":0.00,"b":1}`, `{"b":1}`, true},
		{"an object", one(RuleConfig{Absent: "body.a", When: `{"x":[1]}`}), `{"a":{"x":[1.0]}}`, `{}`, true},
		{"all copies", null, `{"a":null,"a":null}`, `{}`, true},
		{"not one copy", null, `{"a":1,"a":null}`, `{}`, false},
		{"before drop", append(null, RuleConfig{Drop: "body.a.x"}), `{"a":{"x":1}}`, `{"a":{}}`, true},
		{"through a wildcard", one(RuleConfig{Absent: "body.items[].*", When: "null"}), `{"items":[{"a":null}],"b":1}`, `{"items":[{}],"b":1}`, true},
		{"held against what was sent", append(null, RuleConfig{Coerce: "body", To: "string"}), `{"a":null}`, `{}`, true},
	} {
		tc.run(t)
	}
}

func TestRenamedKeys(t *testing.T) {
	to := func(field, name string) []RuleConfig { return one(RuleConfig{Rename: field, To: name}) }
	for _, tc := range []ruled{
		{"a key", to("body.user_name", "userName"), `{"user_name":"n"}`, `{"userName":"n"}`, true},
		{"the value counts", to("body.user_name", "userName"), `{"user_name":"n"}`, `{"userName":"m"}`, false},
		{"in every element", to("body[].ID", "id"), `[{"ID":1},{"ID":2}]`, `[{"id":1},{"id":2}]`, true},
		{"anywhere", to("body.**.ID", "id"), `{"a":[{"ID":{"ID":2}}],"ID":1}`, `{"a":[{"id":{"id":2}}],"id":1}`, true},
		{"a name with dots", to(`body["user.name"]`, "user"), `{"user.name":"n"}`, `{"user":"n"}`, true},
		{"to a name with dots", to("body.user", "user.name"), `{"user":"n"}`, `{"user.name":"n"}`, true},
		{"keys that match", to("body.{/(?i)^username$/}", "u"), `{"userName":1}`, `{"username":1}`, true},
		{"a case that does not match", to("body.ID", "id"), `{"Id":1}`, `{"id":1}`, false},
		{"a swap", append(to("body.a", "b"), to("body.b", "a")...), `{"a":1,"b":2}`, `{"a":1,"b":2}`, true},
		{"both names on one side only", to("body.a", "b"), `{"a":1,"b":1}`, `{"b":1}`, false},
		{"both names on both sides", to("body.a", "b"), `{"a":1,"b":2}`, `{"b":2,"a":1}`, true},
		{"both names, another value", to("body.a", "b"), `{"a":1,"b":2}`, `{"a":3,"b":2}`, false},
		{"the others know the old name", append(to("body.a", "b"), RuleConfig{Drop: "body.a.x"}), `{"a":{"x":1,"y":1}}`, `{"b":{"y":1}}`, true},
		{"and not the new one", append(to("body.a", "b"), RuleConfig{Drop: "body.b.x"}), `{"a":{"x":1}}`, `{"b":{}}`, false},
		{"dropped before", append(to("body.a", "b"), RuleConfig{Drop: "body.a"}), `{"a":1}`, `{}`, true},
		{"the first of two", append(to("body.a", "b"), to("body.a", "c")...), `{"a":1}`, `{"b":1}`, true},
		{"copies of a key", to("body.a", "b"), `{"a":1,"a":2}`, `{"b":1,"b":2}`, true},
		{
			"pairs are found under both names",
			[]RuleConfig{{Rename: "body.l[].ID", To: "id"}, {Pair: "body.l", By: By{"ID"}}},
			`{"l":[{"ID":1,"v":1},{"ID":2,"v":2}]}`, `{"l":[{"id":2,"v":2},{"id":1,"v":1}]}`, true,
		},
	} {
		tc.run(t)
	}
	n := mustNew(t, to("body.b", "z")...)
	root := document(n, "", `{"b":{"x":1},"c":2}`).Body.Root
	if want := mustParse(t, `{"z":{"x":1},"c":2}`); !root.Equal(want) || root.Size != want.Size {
		t.Error("it is not the object that was sent with the new name")
	}
	if z := root.Member("z"); z == nil || z.Special == nil || z.Special.Sent != "b" {
		t.Error("the name as sent is forgotten")
	}
}

func TestMaskedKeys(t *testing.T) {
	digits := RuleConfig{MaskKeys: "body.by", Pattern: `[0-9]+`}
	numbered := digits
	numbered.Numbered = true
	for _, tc := range []ruled{
		{"a key", one(digits), `{"by":{"u17":1}}`, `{"by":{"u99":1}}`, true},
		{"where it says", one(digits), `{"u1":1}`, `{"u2":1}`, false},
		{"below too", one(digits), `{"by":{"x":{"u17":1}}}`, `{"by":{"x":{"u99":1}}}`, true},
		{"never a value", one(digits), `{"by":{"u17":"u17"}}`, `{"by":{"u99":"u99"}}`, false},
		{"keys that fall together are as many as before", one(digits), `{"by":{"u1":1,"u2":1}}`, `{"by":{"u3":1}}`, false},
		{"in whatever order", one(digits), `{"by":{"u1":1,"u2":2}}`, `{"by":{"u3":2,"u4":1}}`, true},
		{"with all their values", one(digits), `{"by":{"u1":1,"u2":2}}`, `{"by":{"u3":1,"u4":3}}`, false},
		{"numbers go by first appearance", one(numbered), `{"by":{"u9":1,"u5":2}}`, `{"by":{"u3":1,"u4":2}}`, true},
		{"and keep them apart", one(numbered), `{"by":{"u9":1,"u5":2}}`, `{"by":{"u3":2,"u4":1}}`, false},
		{"and hold throughout", one(numbered), `{"by":{"u9":{"u9":1,"u5":1}}}`, `{"by":{"u3":{"u4":1,"u3":1}}}`, true},
		{"dropped ones have none", append(one(numbered), RuleConfig{Drop: "body.by.{/^x/}"}), `{"by":{"x1":0,"u9":1}}`, `{"by":{"u3":1}}`, true},
	} {
		tc.run(t)
	}
}

func TestMaskedStrings(t *testing.T) {
	const uuid = `[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}`
	u := func(i int) string { return fmt.Sprintf("%08x-52b8-4a36-9c0d-1e2f3a4b5c6d", i) }
	mask := one(RuleConfig{Mask: "body", Pattern: uuid})
	numbered := one(RuleConfig{Mask: "body", Pattern: uuid, Numbered: true})
	for _, tc := range []ruled{
		{"within a string", mask, `{"href":"/pos/` + u(1) + `"}`, `{"href":"/pos/` + u(2) + `"}`, true},
		{"no null, no other string", mask, `{"a":"` + u(1) + `"}`, `{"a":null}`, false},
		{"no key", mask, `{"` + u(1) + `":1}`, `{"` + u(2) + `":1}`, false},
		{"below a field", one(RuleConfig{Mask: "body.a", Pattern: `\d`}), `{"a":["1",{"x":"2"}],"b":"3"}`, `{"a":["4",{"x":"5"}],"b":"3"}`, true},
		{"not beside it", one(RuleConfig{Mask: "body.a", Pattern: `\d`}), `{"b":"1"}`, `{"b":"2"}`, false},
		{"identity is lost", mask, `["` + u(1) + `","` + u(1) + `"]`, `["` + u(2) + `","` + u(3) + `"]`, true},
		{"numbers keep it", numbered, `["` + u(1) + `","` + u(1) + `"]`, `["` + u(2) + `","` + u(3) + `"]`, false},
		{"wherever it is", numbered, `{"a":"` + u(1) + `","b":{"c":"` + u(1) + `"}}`, `{"a":"` + u(7) + `","b":{"c":"` + u(7) + `"}}`, true},
		{"in whatever order keys were sent", numbered, `{"a":"` + u(1) + `","b":"` + u(2) + `"}`, `{"b":"` + u(9) + `","a":"` + u(8) + `"}`, true},
		{"with nothing", one(RuleConfig{Mask: "body", Pattern: `\?.*`, With: new("")}), `{"a":"x?t=1"}`, `{"a":"x"}`, true},
		{"in the order of the list", []RuleConfig{{Lower: "body"}, {Mask: "body", Pattern: "abc"}}, `"ABC"`, `"abc"`, true},
		{"the other way round", []RuleConfig{{Mask: "body", Pattern: "abc"}, {Lower: "body"}}, `"ABC"`, `"abc"`, false},
	} {
		tc.run(t)
	}
}

func TestValueRules(t *testing.T) {
	for _, tc := range []ruled{
		{"rounded", one(RuleConfig{Round: "body.p", To: "2"}), `{"p":1.005}`, `{"p":1.01}`, true},
		{"rounded below", one(RuleConfig{Round: "body", To: "6"}), `[79.9999999961]`, `[80]`, true},
		{"rounding is no tolerance", one(RuleConfig{Round: "body.p", To: "0"}), `{"p":0.4999999}`, `{"p":0.5000001}`, false},
		{"tolerated", one(RuleConfig{Tolerate: "body.t", Within: "0.1"}), `{"t":1.0}`, `{"t":1.1}`, true},
		{"tolerated where it says", one(RuleConfig{Tolerate: "body.a", Within: "0.05"}), `{"a":1,"b":1}`, `{"a":1.01,"b":1.01}`, false},
		{"tolerated exactly", one(RuleConfig{Tolerate: "body.id", Within: "0.5"}), `{"id":9007199254740993}`, `{"id":9007199254740992}`, false},
		{"tolerated in a multiset", []RuleConfig{{Sort: "body.t"}, {Tolerate: "body.t", Within: "0.3"}}, `{"t":[1.4,1.0]}`, `{"t":[1.2,0.9]}`, true},
		{"tolerated after coercion", []RuleConfig{{Tolerate: "body.t", Within: "1%"}, {Coerce: "body.t", To: "number"}}, `{"t":"1000"}`, `{"t":1001}`, true},
		{"lower case", one(RuleConfig{Lower: "body.city"}), `{"city":"OSLO"}`, `{"city":"Oslo"}`, true},
		{"never of keys", one(RuleConfig{Lower: "body"}), `{"kit":{"MODE":"x"}}`, `{"kit":{"Mode":"X"}}`, false},
		{"trimmed", one(RuleConfig{Trim: "body"}), `[" a\n"]`, `["a"]`, true},
		{"squeezed", one(RuleConfig{Squeeze: "body"}), `["a  \t b"]`, `["a b"]`, true},
		{"composed", one(RuleConfig{NFC: "body"}), `["e\u0301"]`, `["é"]`, true},
		{"a number in a string", one(RuleConfig{Coerce: "body.n", To: "number"}), `{"n":"1.0"}`, `{"n":1}`, true},
		{"an instant", one(RuleConfig{Coerce: "body.at", To: "time"}), `{"at":"2024-03-01T00:30:00+02:00"}`, `{"at":"2024-02-29T22:30:00Z"}`, true},
		{"one element by what it is", one(RuleConfig{Round: `body[id="a7"].p`, To: "0"}), `[{"id":"a7","p":1.2},{"id":"b","p":1.2}]`, `[{"id":"a7","p":1.4},{"id":"b","p":1.2}]`, true},
		{"and no other", one(RuleConfig{Round: `body[id="a7"].p`, To: "0"}), `[{"id":"b","p":1.2}]`, `[{"id":"b","p":1.4}]`, false},
		{"chosen as sent", []RuleConfig{{Lower: "body"}, {Drop: `body[id="A"].p`}}, `[{"id":"A","p":1}]`, `[{"id":"A","p":2}]`, true},
		{"present", one(RuleConfig{Present: "body.s"}), `{"s":1}`, `{"s":{"x":[2]}}`, true},
		{"present is not null", one(RuleConfig{Present: "body.s"}), `{"s":null}`, `{"s":1}`, false},
		{"present is not missing", one(RuleConfig{Present: "body.s"}), `{}`, `{"s":1}`, false},
		{"present anywhere", one(RuleConfig{Present: "body.**.at"}), `{"a":[{"at":1}]}`, `{"a":[{"at":"x"}]}`, true},
		{"a whole body", one(RuleConfig{Present: "body"}), `{"s":1}`, `[2]`, true},
		{"a whole body that is null", one(RuleConfig{Present: "body"}), `null`, `[2]`, false},
		{"paired", one(RuleConfig{Pair: "body.l", By: By{"id"}}), `{"l":[{"id":1},{"id":2}]}`, `{"l":[{"id":2},{"id":1}]}`, true},
		{"paired where it says", one(RuleConfig{Pair: "body.l", By: By{"id"}}), `{"m":[{"id":1},{"id":2}]}`, `{"m":[{"id":2},{"id":1}]}`, false},
		{"paired without a dropped part", []RuleConfig{{Pair: "body", By: By{"id"}}, {Drop: "body[].at"}}, `[{"id":1,"at":1},{"id":2,"at":2}]`, `[{"id":2,"at":3},{"id":1,"at":4}]`, true},
		{"a key with a slash and a star", one(RuleConfig{Lower: `body["a/*"]["ä b"]`}), `{"a/*":{"ä b":"X"}}`, `{"a/*":{"ä b":"x"}}`, true},
		{"missing fields", one(RuleConfig{Round: "body.nowhere[].p", To: "1"}), `{"a":1}`, `{"a":1}`, true},
	} {
		tc.run(t)
	}
}

func TestParsedStrings(t *testing.T) {
	const token = `eyJhbGciOiJub25lIn0.eyJzdWIiOiJ1MSIsImlhdCI6MTcwMDAwMDAwMH0.`
	const other = `eyJhbGciOiJub25lIn0.eyJzdWIiOiJ1MiIsImlhdCI6MTcwMDAwMDAwMH0.`
	const later = `eyJhbGciOiJub25lIn0.eyJzdWIiOiJ1MSIsImlhdCI6MTcwMDAwMDAwMX0.c2ln`
	as := func(what string, more ...RuleConfig) []RuleConfig {
		return append(one(RuleConfig{Parse: "body.p", As: what}), more...)
	}
	claims := as("jwt", RuleConfig{Drop: "body.p.payload.iat"}, RuleConfig{Drop: "body.p.signature"})
	for _, tc := range []ruled{
		{"JSON", as("json"), `{"p":"{\"a\":1,\"b\":2}"}`, `{"p":"{\"b\": 2, \"a\": 1.0}"}`, true},
		{"JSON, another value", as("json"), `{"p":"{\"a\":1}"}`, `{"p":"{\"a\":2}"}`, false},
		{"a string is no object", as("json"), `{"p":"{\"a\":1}"}`, `{"p":{"a":1}}`, false},
		{"a string is no number", as("json"), `{"p":"5"}`, `{"p":5}`, false},
		{"what is no JSON stays", as("json"), `{"p":"{"}`, `{"p":"{"}`, true},
		{"and is what it is", as("json"), `{"p":"{"}`, `{"p":"{ "}`, false},
		{"the candidate's strings alone", one(RuleConfig{Parse: "body.p", As: "json", Role: "candidate"}), `{"p":1}`, `{"p":"1"}`, false},
		{"its parts are fields", as("json", RuleConfig{Drop: "body.p.a"}), `{"p":"{\"a\":1}"}`, `{"p":"{\"a\":2}"}`, true},
		{"wherever it stands in the list", append(one(RuleConfig{Drop: "body.p.a"}), as("json")...), `{"p":"{\"a\":1}"}`, `{"p":"{\"a\":2}"}`, true},
		{"one in another", as("json", RuleConfig{Parse: "body.p.q", As: "json"}), `{"p":"{\"q\":\"[1, 2]\"}"}`, `{"p":"{\"q\":\"[1,2]\"}"}`, true},
		{"at any depth", one(RuleConfig{Parse: "body.**", As: "json"}), `["[\"[1]\"]"]`, `["[\"[ 1]\"]"]`, true},
		{"elements chosen by what was in them", []RuleConfig{{Parse: "body[]", As: "json"}, {Drop: `body[id=7].x`}}, `["{\"id\":7,\"x\":1}"]`, `["{\"id\":7,\"x\":2}"]`, true},
		{"base64 of either alphabet", as("base64"), `{"p":"-_-_"}`, `{"p":"+/+/"}`, true},
		{"with padding or not", as("base64"), `{"p":"YQ=="}`, `{"p":"YQ"}`, true},
		{"in lines", as("base64"), `{"p":"YWJj\r\nZGVm"}`, `{"p":"YWJjZGVm"}`, true},
		{"other bytes", as("base64"), `{"p":"YWJj"}`, `{"p":"YWJk"}`, false},
		{"what is in it is not what it is", as("base64"), `{"p":"aGkh"}`, `{"p":"hi!"}`, false},
		{"JSON in base64", as("base64", RuleConfig{Parse: "body.p", As: "json"}), `{"p":"eyJhIjoxfQ=="}`, `{"p":"eyJhIjogMX0="}`, true},
		{"a token", claims, `{"p":"` + token + `"}`, `{"p":"` + later + `"}`, true},
		{"a token for somebody else", claims, `{"p":"` + token + `"}`, `{"p":"` + other + `"}`, false},
		{"no token", claims, `{"p":"a.b.c"}`, `{"p":"a.b.d"}`, false},
		{"a query", as("query"), `{"p":"a=1&b=x+y"}`, `{"p":"b=x%20y&a=1"}`, true},
		{"a name that repeats", as("query"), `{"p":"c=1&c=2"}`, `{"p":"c=2&c=1"}`, false},
		{"unless its order is free", as("query", RuleConfig{Sort: "body.p.c"}), `{"p":"c=1&c=2"}`, `{"p":"c=2&c=1"}`, true},
		{"a name without a value", as("query"), `{"p":"a"}`, `{"p":"a="}`, false},
		{"a URL", as("url"), `{"p":"/s?q=bar&page=2#top"}`, `{"p":"/s?page=2&q=bar#top"}`, true},
		{"another fragment", as("url"), `{"p":"/s#top"}`, `{"p":"/s#end"}`, false},
		{"scheme and host without case", as("url"), `{"p":"HTTP://Host.test/A"}`, `{"p":"http://host.test/A"}`, true},
		{"a path with case", as("url"), `{"p":"http://h/A"}`, `{"p":"http://h/a"}`, false},
		{"part of a query", as("url", RuleConfig{Drop: "body.p.query.t"}), `{"p":"http://u@h:1/a?t=1"}`, `{"p":"http://u@h:1/a?t=2"}`, true},
	} {
		tc.run(t)
	}
	n := mustNew(t, RuleConfig{Parse: "body.p", As: "json", Role: "candidate"})
	resp := func(body string) *multicast.Response { return &multicast.Response{Body: []byte(body)} }
	left := n.Document("", multicast.Primary, resp(`{"p":{"a":1}}`), nil).Body
	right := n.Document("", multicast.Candidate, resp(`{"p":"{\"a\": 1}"}`), nil).Body
	if !left.Root.Equal(right.Root) {
		t.Error("what the candidate alone wraps is not what the others send as it is")
	}
}

// A change on the way does not hide what else is there: hashes and sizes are those of a body that was sent so.
func TestWhatRulesMakeIsWhatWouldHaveBeenSent(t *testing.T) {
	for _, tc := range []struct {
		rules      []RuleConfig
		sent, want string
	}{
		{one(RuleConfig{Round: "body", To: "1"}), `{"a":[1.26,{"b":0.04}],"c":true}`, `{"a":[1.3,{"b":0}],"c":true}`},
		{one(RuleConfig{Lower: "body.a"}), `{"a":["X",{"b":"Y"}],"c":"Z"}`, `{"a":["x",{"b":"y"}],"c":"Z"}`},
		{one(RuleConfig{Coerce: "body", To: "number"}), `["1",[true,"2.50"]]`, mustCoerce(t, `["1",[true,"2.50"]]`)},
		{one(RuleConfig{Absent: "body", When: "null"}), `{"a":[null,{"b":null,"c":1}],"d":null}`, `{"a":[null,{"c":1}]}`},
		{one(RuleConfig{MaskKeys: "body", Pattern: `^\d+`, With: new("n"), Numbered: true}), `{"z":1,"42x":{"7":2,"42":3}}`, `{"z":1,"n 1x":{"n 2":2,"n 1":3}}`},
	} {
		got, want := document(mustNew(t, tc.rules...), "", tc.sent).Body.Root, mustParse(t, tc.want)
		if !got.Equal(want) || got.Size != want.Size {
			t.Errorf("%+v: %s is not %s", tc.rules, appendCanonical(nil, got), tc.want)
		}
	}
}

// mustCoerce is what reading each scalar as a number leaves, by hand.
func mustCoerce(t *testing.T, text string) string {
	t.Helper()
	change, err := newCoerce("number")
	if err != nil {
		t.Fatal(err)
	}
	var walk func(v *Value)
	walk = func(v *Value) {
		for i := range v.Items {
			walk(&v.Items[i])
		}
		if v.Type != Array {
			change(v)
		}
	}
	root := mustParse(t, text)
	walk(root)
	return string(appendCanonical(nil, root))
}

func TestRulesForTexts(t *testing.T) {
	n := mustNew(t, RuleConfig{Mask: "body", Pattern: `\d+`}, RuleConfig{Lower: "body.a"}, RuleConfig{Squeeze: "body"})
	got := document(n, "text/plain", "Order 17  of 4\xff").Body
	if got.Kind != Text || string(got.Bytes) != "Order <id> of <id>\xff" || !got.Changed || got.Size != 15 {
		t.Errorf("%q, changed %t, size %d", got.Bytes, got.Changed, got.Size)
	}
	if same := document(n, "text/plain", "no digits").Body; same.Changed {
		t.Error("an unchanged text is called changed")
	}
}

func TestRulesForHeads(t *testing.T) {
	header := func(n *Normalizer, pairs ...string) *Document {
		resp := &multicast.Response{Status: 200, Header: map[string][]string{}}
		for i := 0; i < len(pairs); i += 2 {
			resp.Header.Add(pairs[i], pairs[i+1])
		}
		return n.Document("", multicast.Primary, resp, nil)
	}
	for _, tc := range []struct {
		name        string
		rule        RuleConfig
		left, right []string
		equal       bool
	}{
		{"masked", RuleConfig{Mask: "header.location", Pattern: `\d+`}, []string{"Location", "/a/1"}, []string{"Location", "/a/2"}, true},
		{"masked elsewhere", RuleConfig{Mask: "header.link", Pattern: `\d+`}, []string{"Location", "/a/1"}, []string{"Location", "/a/2"}, false},
		{"every line", RuleConfig{Lower: "header.x-a"}, []string{"X-A", "A", "X-A", "B"}, []string{"X-A", "a", "X-A", "b"}, true},
		{"all headers", RuleConfig{Lower: "header"}, []string{"X-A", "A"}, []string{"X-A", "a"}, true},
		{"rounded", RuleConfig{Round: "header.x-a", To: "1"}, []string{"X-A", "1.26"}, []string{"X-A", "1.3"}, true},
		{"rounded, or not", RuleConfig{Round: "header.x-a", To: "1"}, []string{"X-A", "1.30"}, []string{"X-A", "1.3"}, true},
		{"a word is not rounded", RuleConfig{Round: "header.x-a", To: "1"}, []string{"X-A", "1.30s"}, []string{"X-A", "1.3s"}, false},
		{"an instant", RuleConfig{Coerce: "header.last-modified", To: "time"}, []string{"Last-Modified", "Fri, 01 Mar 2024 10:00:00 GMT"}, []string{"Last-Modified", "2024-03-01T10:00:00Z"}, true},
		{"empty is absent", RuleConfig{Absent: "header.x-a", When: "empty"}, []string{"X-A", ""}, nil, true},
		{"a text is absent", RuleConfig{Absent: "header.x-a", When: `"none"`}, []string{"X-A", "none"}, nil, true},
		{"another is not", RuleConfig{Absent: "header.x-a", When: `"none"`}, []string{"X-A", "some"}, nil, false},
		{"present", RuleConfig{Present: "header.etag"}, []string{"Etag", "1"}, []string{"Etag", "2"}, true},
		{"not present", RuleConfig{Present: "header.etag"}, []string{"Etag", "1"}, nil, false},
		{"renamed", RuleConfig{Rename: "header.x-old", To: "X-New"}, []string{"X-Old", "1"}, []string{"X-New", "1"}, true},
		{"renamed beside its like", RuleConfig{Rename: "header.x-old", To: "X-New"}, []string{"X-Old", "1", "X-New", "1"}, []string{"X-New", "1"}, false},
		{"numbered", RuleConfig{Mask: "header", Pattern: `\d+`, Numbered: true}, []string{"X-A", "7", "X-B", "8", "X-C", "7"}, []string{"X-A", "3", "X-B", "4", "X-C", "3"}, true},
		{"numbered apart", RuleConfig{Mask: "header", Pattern: `\d+`, Numbered: true}, []string{"X-A", "7", "X-B", "7"}, []string{"X-A", "3", "X-B", "4"}, false},
		{"a URL", RuleConfig{Parse: "header.location", As: "url"}, []string{"Location", "HTTP://H/s?b=x+y&a=1#t"}, []string{"Location", "http://h/s?a=1&b=x%20y#t"}, true},
		{"another URL", RuleConfig{Parse: "header.location", As: "url"}, []string{"Location", "/s?a=1&a=2"}, []string{"Location", "/s?a=2&a=1"}, false},
		{"a parameter without a value", RuleConfig{Parse: "header.location", As: "url"}, []string{"Location", "/s?a"}, []string{"Location", "/s?a="}, false},
		{"a query", RuleConfig{Parse: "header.x-q", As: "query"}, []string{"X-Q", "b=2&a=1"}, []string{"X-Q", "a=1&b=2"}, true},
		{"a cookie's path", RuleConfig{Mask: "cookie.sid.path", Pattern: `\d+`}, []string{"Set-Cookie", "sid=1; Path=/1"}, []string{"Set-Cookie", "sid=1; Path=/2"}, true},
		{"a cookie's flags stay", RuleConfig{Absent: "cookie.sid", When: "empty"}, []string{"Set-Cookie", "sid=1; Secure"}, []string{"Set-Cookie", "sid=1"}, false},
		{"a cookie that is there", RuleConfig{Present: "cookie.sid"}, []string{"Set-Cookie", "sid=1; Path=/1; Secure"}, []string{"Set-Cookie", "sid=1"}, true},
		{"a cookie's name", RuleConfig{Rename: "cookie.old", To: "new"}, []string{"Set-Cookie", "old=1"}, []string{"Set-Cookie", "new=1"}, true},
		{"before cookies are read", RuleConfig{Mask: "header.set-cookie", Pattern: `^s\d+`, With: new("sid")}, []string{"Set-Cookie", "s1=1"}, []string{"Set-Cookie", "s2=1"}, true},
	} {
		n := mustNew(t, tc.rule)
		if equal := sameDocument(header(n, tc.left...), header(n, tc.right...)); equal != tc.equal {
			t.Errorf("%s: equal %t", tc.name, equal)
		}
	}
}

func TestFaultsOfVerbs(t *testing.T) {
	for _, tc := range []struct {
		rule RuleConfig
		want []string
	}{
		{RuleConfig{Pair: "body.a"}, []string{".by: pair needs it: write by: id, or by: [region, id]"}},
		{RuleConfig{Pair: "header.a", By: By{"id"}}, []string{".pair: column 1: only arrays in the body have elements: a field begins with body"}},
		{RuleConfig{Pair: "body.a", By: By{"id", "x..y"}}, []string{`.by[1]: column 3: a key must stand between two dots: the empty key is [""]`}},
		{RuleConfig{Pair: "body.a", By: By{"*"}}, []string{".by: column 1: a key is one place in the element: no wildcards"}},
		{RuleConfig{Pair: "body.a", By: By{`["a b"`}}, []string{".by: column 7: the bracket does not end here: close it with ]"}},
		{RuleConfig{Pair: "body.a", By: By{""}}, []string{".by: write a field relative to the element, such as id"}},
		{RuleConfig{Round: "body.a"}, []string{".to: round needs a number of decimals: write to: 2"}},
		{RuleConfig{Round: "status", To: "1"}, []string{".round: column 1: of a status nothing can be taken but all: only drop takes it"}},
		{RuleConfig{Tolerate: "header.x", Within: "1"}, []string{".tolerate: column 1: a header is a text, which is close to none: round or mask it"}},
		{RuleConfig{Tolerate: "body.x", Within: "1", Role: "candidate"}, []string{".role: two values are close to each other, not one of them: leave role out"}},
		{RuleConfig{Mask: "body.x"}, []string{`.pattern: mask needs it: write pattern: "[0-9a-f]{32}"`}},
		{RuleConfig{Mask: "body.x", Pattern: "a)"}, []string{".pattern: column 1: no RE2 expression: unexpected ): `a)`"}},
		{RuleConfig{Mask: "body.x", Pattern: "(?P<n>a[bc]"}, []string{".pattern: column 1: no RE2 expression: missing closing ): `(?P<n>a[bc]`"}},
		{RuleConfig{Mask: "body.x", Pattern: "é[bc"}, []string{".pattern: column 2: no RE2 expression: missing closing ]: `[bc`"}},
		{RuleConfig{Mask: "body.x", Pattern: "é*(?=x)"}, []string{".pattern: column 3: no RE2 expression: invalid or unsupported Perl syntax: `(?=x)`"}},
		{RuleConfig{Mask: "body.x", Pattern: "a", With: new(""), Numbered: true}, []string{`.with: a number needs a text to stand in: write with: "<id>", or leave it out`}},
		{RuleConfig{Mask: "body.x", Pattern: "a", To: "x"}, []string{".to: mask takes no to: it belongs to round, rename and coerce"}},
		{RuleConfig{Rename: "body.x"}, []string{".to: rename needs the new name: write to: user_id"}},
		{RuleConfig{Rename: "body.x", To: "x"}, []string{`.to: "x" is the name it has already`}},
		{RuleConfig{Rename: "body.x", To: "body.y"}, []string{`.to: "body.y" is a field: write the new name alone`}},
		{RuleConfig{Rename: "body", To: "y"}, []string{".rename: column 1: body is no key: name a key below it"}},
		{RuleConfig{Rename: "body.x[]", To: "y"}, []string{".rename: column 1: an element has no key: name a key of it, as in body.x[].id"}},
		{RuleConfig{Rename: "body.*", To: "y"}, []string{".rename: column 1: it names many keys, which cannot all have one name: name one, as in body.user_name"}},
		{RuleConfig{Rename: "header.x", To: "a b"}, []string{`.to: "a b" is no name of a header`}},
		{RuleConfig{Coerce: "body.x"}, []string{".to: coerce needs a type: write to: number, string, bool or time"}},
		{RuleConfig{Absent: "body.x"}, []string{".when: absent needs it: write when: null, when: empty, or a JSON value"}},
		{RuleConfig{Absent: "body.x", When: "{"}, []string{`.when: no JSON value: at byte 1: the text ends early: write null, empty or a value such as 0 or "n/a"`}},
		{RuleConfig{Absent: "cookie.x", When: "0"}, []string{".when: a cookie is a text and never 0: write empty, or a text in quotes"}},
		{RuleConfig{Parse: "body.x", As: "yaml"}, []string{`.as: "yaml" is nothing a string is parsed as: write json, base64, jwt, query, url`}},
		{RuleConfig{Parse: "body.x", As: "jwts"}, []string{`.as: "jwts" is nothing a string is parsed as; did you mean "jwt"?`}},
		{RuleConfig{Parse: "header.x", As: "json"}, []string{".as: in a header only a url or a query is parsed, so that the order of parameters does not matter"}},
		{RuleConfig{Present: "body.x", Role: "candidate"}, []string{".role: a value left free on one side only would always differ: leave role out"}},
		{RuleConfig{By: By{"id"}}, []string{": a rule needs a verb with a field: by belongs to pair"}},
		{RuleConfig{Lower: "body.x", Trim: "body.y", NFC: "body.z"}, []string{": a rule has one verb, this one has lower, trim and nfc: make it three rules"}},
		{RuleConfig{Mask: "boddy.x", As: "json", Route: "x y"}, []string{
			`.mask: column 1: a field does not begin with "boddy"; did you mean "body"?`,
			".as: mask takes no as: it belongs to parse", `.pattern: mask needs it: write pattern: "[0-9a-f]{32}"`,
			`.route: "x" is no method: write it in capitals, as in "GET /users/{id}"`,
		}},
	} {
		var got []string
		for _, err := range (Config{Rules: []RuleConfig{tc.rule}}).Validate() {
			got = append(got, strings.TrimPrefix(err.Error(), "rules[0]"))
		}
		slices.Sort(got)
		slices.Sort(tc.want)
		if !slices.Equal(got, tc.want) {
			t.Errorf("%+v:\n%s\nwant\n%s", tc.rule, strings.Join(got, "\n"), strings.Join(tc.want, "\n"))
		}
	}
}

// Rules that take all below a place, and those that look for it everywhere, come to the bottom of any body that is parsed,
// and past it in what strings contain.
func TestEveryVerbReachesTheBottom(t *testing.T) {
	deep := strings.Repeat(`[{"k":`, MaxDepth/2-1) + `{"x":"AB ","n":1.26}` + strings.Repeat("}]", MaxDepth/2-1)
	rules := []RuleConfig{
		{Parse: "body.**.x", As: "json"},
		{Absent: "body", When: "null"},
		{Drop: "body.**.y"},
		{Rename: "body.**.x", To: "z"},
		{Mask: "body", Pattern: "B", Numbered: true},
		{MaskKeys: "body", Pattern: "k", Numbered: true},
		{Lower: "body"},
		{Trim: "body"},
		{Squeeze: "body.**"},
		{NFC: "body"},
		{Round: "body", To: "1"},
		{Coerce: "body", To: "string"},
		{Sort: "body.**"},
		{Tolerate: "body", Within: "1"},
		{Present: "body.**.n"},
		{Pair: "body.**", By: By{"id"}},
	}
	body := document(mustNew(t, rules...), "", deep).Body
	if body.Kind != JSON || !body.Changed {
		t.Fatalf("kind %d: %s", body.Kind, body.Note)
	}
	v := body.Root
	for v.Type == Array || len(v.Members) == 1 {
		if v.Type == Array {
			v = &v.Items[0]
		} else {
			v = &v.Members[0].Value
		}
	}
	if z, n := v.Member("z"), v.Member("n"); z == nil || z.Text != "a<id 1>" || n == nil || n.Text != presentText {
		t.Errorf("at the bottom: %s", appendCanonical(nil, v))
	}
}

// However many keys a mask makes one, and however many rules look everywhere, each takes its own time and no more.
func TestRulesTakeLinearTime(t *testing.T) {
	t.Run("keys that become one", func(t *testing.T) {
		n := mustNew(t, RuleConfig{MaskKeys: "body", Pattern: "[0-9]+"})
		grows(t, func(keys int) {
			var body strings.Builder
			for i := range keys {
				fmt.Fprintf(&body, `,"k%d":%d`, i, i)
			}
			root := document(n, "", "{"+body.String()[1:]+"}").Body.Root
			if len(root.Members) != 1 || len(root.Members[0].Hidden) != keys-1 {
				t.Fatalf("%d keys and %d copies of %d", len(root.Members), len(root.Members[0].Hidden), keys)
			}
		})
	})
	t.Run("rules for any depth", func(t *testing.T) {
		body := "[" + strings.Repeat(`{"a":1},`, 2_000) + "0]"
		grows(t, func(n int) {
			var rules []RuleConfig
			for i := range n / 128 {
				rules = append(rules, RuleConfig{Drop: fmt.Sprintf("body.**.b%d.c", i)})
			}
			document(mustNew(t, rules...), "", body)
		})
	})
}

// A string may not contain what would nest too deeply where it stands.
func TestParsedStringsDoNotNestDeeper(t *testing.T) {
	n := mustNew(t, RuleConfig{Parse: "body.**", As: "json"})
	inner := strings.Repeat("[", MaxDepth/2) + strings.Repeat("]", MaxDepth/2)
	for _, levels := range []int{MaxDepth / 4, MaxDepth * 3 / 4} {
		root := document(n, "", strings.Repeat("[", levels)+`"`+inner+`"`+strings.Repeat("]", levels)).Body.Root
		deep := 0
		for v := root; ; v = &v.Items[0] {
			deep++
			if len(v.Items) == 0 {
				break
			}
		}
		if want := map[bool]int{true: levels + MaxDepth/2, false: levels + 1}[levels+MaxDepth/2 <= MaxDepth]; deep != want {
			t.Errorf("in %d levels: %d, want %d", levels, deep, want)
		}
	}
}

func TestWhatIsParsedIsPaidFor(t *testing.T) {
	n := mustNew(t, RuleConfig{Parse: "body[]", As: "json"})
	text := `"[` + strings.Repeat(`1,`, 50_000) + `1]",`
	body := `[` + strings.Repeat(text, 20) + `1]`
	resp := &multicast.Response{Body: []byte(body), Status: 200}
	if d := n.Document("", multicast.Primary, resp, func(int64) bool { return false }); !d.Body.Refused || d.Body.Kind != Digest {
		t.Errorf("kind %d", d.Body.Kind)
	}
}
