package normalize

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tidwall/gjson"
	"pgregory.net/rapid"
)

// parseJSON reads a body labelled JSON, without rules.
func parseJSON(t testing.TB, body string) (*Value, string) {
	t.Helper()
	p := new(parser)
	if !p.parse([]byte(body), false) {
		return nil, p.failure
	}
	root := p.root
	p.reset()
	return &root, ""
}

func mustParse(t testing.TB, body string) *Value {
	t.Helper()
	v, failure := parseJSON(t, body)
	if v == nil {
		t.Fatalf("%.200q was refused: %s", body, failure)
	}
	return v
}

func TestValuesKeepWhatWasSent(t *testing.T) {
	v := mustParse(t, ` {"b" : [ 1.50 , {"x":null}, "a\u00e9\n" ], "a":true} `)
	if v.Type != Object || v.Members[0].Key != "a" || v.Members[1].Key != "b" || v.Size != 7 {
		t.Fatalf("members: %+v", v)
	}
	b := v.Member("b")
	if string(b.Raw) != `[ 1.50 , {"x":null}, "a\u00e9\n" ]` {
		t.Errorf("raw array: %s", b.Raw)
	}
	for i, want := range []Value{
		{Type: Number, Text: "1.5", Raw: []byte("1.50")},
		{Type: Object, Raw: []byte(`{"x":null}`)},
		{Type: String, Text: "aé\n", Raw: []byte(`"a\u00e9\n"`)},
	} {
		got := b.Items[i]
		if got.Type != want.Type || got.Text != want.Text || string(got.Raw) != string(want.Raw) || got.Index != i {
			t.Errorf("element %d: %+v", i, got)
		}
	}
}

func TestDuplicateKeysKeepTheHiddenCopies(t *testing.T) {
	v := mustParse(t, `{"a":1,"b":0,"a":2,"a":3}`)
	a := v.Members[0]
	if len(v.Members) != 2 || a.Value.Text != "3" || len(a.Hidden) != 2 || a.Hidden[0].Text != "1" || a.Hidden[1].Text != "2" {
		t.Fatalf("%+v", v.Members)
	}
	for _, tc := range []struct {
		left, right string
		equal       bool
	}{
		{`{"a":1,"b":0,"a":2}`, `{"b":0,"a":1,"a":2}`, true},
		{`{"a":1,"a":2}`, `{"a":2}`, false},
		{`{"a":1,"a":2}`, `{"a":3,"a":2}`, false},
		{`{"a":{"x":1},"a":{"y":2}}`, `{"a":{"x":1,"y":2}}`, false},
	} {
		if got := mustParse(t, tc.left).Equal(mustParse(t, tc.right)); got != tc.equal {
			t.Errorf("%s = %s: %t", tc.left, tc.right, got)
		}
	}
}

// No two different strings share a text: every spelling below differs from all others.
func TestStringsAreToldApart(t *testing.T) {
	bodies := []string{
		`"\ud800"`, `"\udbff"`, `"\udc00"`, `"\udc00\ud800"`, `"` + "\xED\xA0\x80" + `"`, `"` + "\xFF" + `"`, `"` + "\xFE" + `"`,
		`"` + "\xFF\xED" + `"`, `"` + "\xFF\xFF" + `"`, `"\ufffd"`, `"\u0000"`, `""`, `" "`, `"\ufeff"`, `"\ud83d\ude80"`,
		`"` + "\xED\xA0\xBD\xED\xBA\x80" + `"`, `"\ud83d` + "\xED\xBA\x80" + `"`, `"e\u0301"`, `"\u00e9"`, `"` + "\xC3" + `"`,
		`"\ud800x"`, `"A"`, `"\u0041\u0000"`, `"\\u0041"`,
	}
	for i := range bodies {
		for j := range bodies {
			a, b := mustParse(t, bodies[i]), mustParse(t, bodies[j])
			if (a.Text == b.Text) != (i == j) || a.Equal(b) != (i == j) {
				t.Errorf("%q and %q: %q, %q", bodies[i], bodies[j], a.Text, b.Text)
			}
		}
	}
	for _, same := range [][2]string{
		{`"\uD83D"`, `"\ud83d"`},
		{`"\ud83d\ude80"`, `"🚀"`},
		{`"caf\u00e9"`, `"café"`},
		{`"\/"`, `"/"`},
		{`"a\u0085b\u2028c"`, "\"a\u0085b\u2028c\""},
	} {
		if !mustParse(t, same[0]).Equal(mustParse(t, same[1])) {
			t.Errorf("%s differs from %s", same[0], same[1])
		}
	}
}

func TestDepth(t *testing.T) {
	deep := func(n int, middle string) string {
		return strings.Repeat(`[{"k":`, n/2) + middle + strings.Repeat("}]", n/2)
	}
	a, b := mustParse(t, deep(MaxDepth, "1")), mustParse(t, deep(MaxDepth, "2"))
	if !a.Equal(a) || a.Equal(b) {
		t.Error("values at the bottom are not compared")
	}
	if v, failure := parseJSON(t, deep(MaxDepth+2, "1")); v != nil || !strings.Contains(failure, "nests over") {
		t.Errorf("over the limit: %q", failure)
	}
	if v, _ := parseJSON(t, strings.Repeat("[", 8<<20)); v != nil {
		t.Error("unclosed nesting was taken for JSON")
	}
}

func TestRecords(t *testing.T) {
	for _, tc := range []struct {
		body string
		want int // records; -1: no records
	}{
		{"{\"a\":1}\n{\"b\":2}\n", 2},
		{"{ \"a\": 1 }\r\n{\"b\":2}", 2},
		{"\n\n1\n\n", 1},
		{" \n", 0},
		{"\xEF\xBB\xBF1\n2", 2},
		{"{} {}", -1},
		{"{}\n{", -1},
		{"{}\n]", -1},
		{"1,\n2", -1},
	} {
		p := new(parser)
		ok := p.parse([]byte(tc.body), true)
		if ok != (tc.want >= 0) || ok && (p.root.Type != Array || len(p.root.Items) != tc.want) {
			t.Errorf("%q: %t, %d records", tc.body, ok, len(p.root.Items))
		}
	}
	p := new(parser)
	p.parse([]byte("{\"a\":1}\n{\"a\":2}"), true)
	if !p.root.Equal(mustParse(t, `[{"a":1},{"a":2}]`)) || p.root.Items[1].Index != 1 {
		t.Error("records are no array of records")
	}
}

// One parser reads many bodies; nothing of one shows in the next.
func TestParserIsReused(t *testing.T) {
	n, err := New(DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	bodies := []string{`[[1,2],[3,[4,5]]]`, `[1,`, `{"a":{"b":[{}]},"c":"\u0041"}`, `{"a":`, `[`, `"x"`}
	for range 3 {
		for _, body := range bodies {
			p := n.parser(nil)
			fresh := new(parser)
			ok, want := p.parse([]byte(body), false), fresh.parse([]byte(body), false)
			if ok != want || ok && !reflect.DeepEqual(p.root, fresh.root) {
				t.Errorf("%s: %t %+v", body, ok, p.root)
			}
			n.release(p)
		}
	}
}

// Large arrays and objects go other ways than small ones.
func TestLargeContainers(t *testing.T) {
	for _, n := range []int{15, 16, 17, 24, 25, 511, 512, 513, 4095, 4096, 5000} {
		var array, object, shuffled []string
		for i := range n {
			s := string(rune('a'+i%26)) + strings.Repeat("k", i%7) + string(rune('0'+i%10)) + string(rune(0x4E00+i))
			array = append(array, `"`+s+`"`)
			object = append(object, `"`+s+`":[`+s[1:1]+`]`)
		}
		shuffled = slices.Clone(object)
		slices.Reverse(shuffled)
		a := mustParse(t, "["+strings.Join(array, ",")+"]")
		o := mustParse(t, `{"x":{`+strings.Join(object, ",")+"}}")
		s := mustParse(t, `{"x":{`+strings.Join(shuffled, ",")+"}}")
		if len(a.Items) != n || a.Items[n-1].Index != n-1 || len(o.Members[0].Value.Members) != n || !o.Equal(s) {
			t.Errorf("%d children: %d, %d", n, len(a.Items), len(o.Members))
		}
	}
}

func TestMemoryIsAskedForAndRefusalEndsTheParse(t *testing.T) {
	body := []byte("[" + strings.Repeat("0,", 300_000) + "0]")
	var asked int64
	p := &parser{budget: budget{reserve: func(n int64) bool { asked += n; return asked < 4<<20 }}}
	if p.parse(body, false) || !p.budget.refused {
		t.Error("a refused budget did not end the parse")
	}
	asked = 0
	p = &parser{budget: budget{reserve: func(n int64) bool { asked += n; return true }}}
	if !p.parse(body, false) || asked < 24<<20 {
		t.Errorf("asked for %d bytes only", asked)
	}
	p = &parser{budget: budget{reserve: func(int64) bool { return false }}}
	if !p.parse(body[:1<<17+1], false) && p.budget.refused {
		t.Error("a common body asked for memory")
	}
}

// genJSON draws a value of encoding/json's kinds.
func genJSON(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		most := 6
		if depth == 0 {
			most = 4
		}
		switch rapid.IntRange(0, most).Draw(t, "kind") {
		case 0:
			return nil
		case 1:
			return rapid.Bool().Draw(t, "bool")
		case 2:
			return json.Number(rapid.StringMatching(`-?(0|[1-9][0-9]{0,9})(\.[0-9]{1,5})?(e-?[0-9]{1,3})?`).Draw(t, "number"))
		case 3, 4:
			return rapid.String().Draw(t, "string")
		case 5:
			return rapid.SliceOfN(genJSON(depth-1), 0, 6).Draw(t, "array")
		default:
			return rapid.MapOfN(rapid.String(), genJSON(depth-1), 0, 6).Draw(t, "object")
		}
	})
}

// spell writes a value with members in some order, white space and escapes as drawn.
func spell(t *rapid.T, v any, out []byte) []byte {
	space := func() { out = append(out, rapid.StringMatching(`[ \n\t\r]{0,2}`).Draw(t, "space")...) }
	space()
	switch v := v.(type) {
	case []any:
		out = append(out, '[')
		for i, item := range v {
			if i > 0 {
				out = append(out, ',')
			}
			out = spell(t, item, out)
		}
		space()
		out = append(out, ']')
	case map[string]any:
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		out = append(out, '{')
		for i, k := range rapid.Permutation(keys).Draw(t, "keys") {
			if i > 0 {
				out = append(out, ',')
			}
			out = spell(t, k, out)
			space()
			out = append(out, ':')
			out = spell(t, v[k], out)
		}
		space()
		out = append(out, '}')
	case string:
		encoded, _ := json.Marshal(v)
		if rapid.Bool().Draw(t, "ascii") {
			encoded = []byte(strings.Trim(escapeAll(v), "\n"))
		}
		out = append(out, encoded...)
	default:
		encoded, _ := json.Marshal(v)
		out = append(out, encoded...)
	}
	space()
	return out
}

// escapeAll writes every character of a string as an escape.
func escapeAll(s string) string {
	var b bytes.Buffer
	b.WriteByte('"')
	for _, r := range s {
		if r > 0xFFFF {
			r -= 0x10000
			writeEscape(&b, 0xD800|r>>10)
			writeEscape(&b, 0xDC00|r&0x3FF)
			continue
		}
		writeEscape(&b, r)
	}
	b.WriteByte('"')
	return b.String()
}

func writeEscape(b *bytes.Buffer, r rune) {
	const hex = "0123456789abcdef"
	b.WriteString(`\u`)
	for shift := 12; shift >= 0; shift -= 4 {
		b.WriteByte(hex[r>>shift&0xF])
	}
}

// One value spelt twice is equal; with one leaf changed it is not.
func TestSpellingNeverMatters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := genJSON(4).Draw(t, "value")
		a, b := new(parser), new(parser)
		one, two := spell(t, v, nil), spell(t, v, nil)
		if !a.parse(one, false) || !b.parse(two, false) {
			t.Fatalf("refused: %q (%s), %q (%s)", one, a.failure, two, b.failure)
		}
		if !a.root.Equal(&b.root) || a.root.Hash != b.root.Hash || a.root.Size != b.root.Size {
			t.Fatalf("%q differs from %q", one, two)
		}
		changed, _ := json.Marshal([]any{v, 1})
		c := new(parser)
		if !c.parse(changed, false) || c.root.Equal(&a.root) {
			t.Fatalf("%q equals %q", changed, one)
		}
	})
}

func FuzzJSON(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `[]`, `null`, `{"a":1}`, `[1,2,]`, `{"a":1,}`, `{,}`, `[,]`, `[1 2]`, `{"a" 1}`, `{"a":1 "b":2}`, `{a:1}`, `"\u12"`,
		`"\x"`, "\"\x00\"", "\"a\tb\"", `-`, `01`, `1.`, `1e`, `tru`, `nul`, `[[[[`, `]]`, `{"a":{"a":1},"a":[]}`, `"\ud800\u0041"`, `"\ud83d\ude80"`,
		"\"\xff\"", "\xEF\xBB\xBF{}", ` [ 1 , 2 ] `, "\v1", `{"a":1}x`, `"abcdefgh\n"`, `"éééééééé"`, `1e999999999999999999999`, `-0.0`, "{\"a\":1}\n{}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p := new(parser)
		ok := p.parse(data, false)
		oracle := bytes.TrimPrefix(data, []byte(bom))
		if len(data) < 1<<16 && ok != gjson.ValidBytes(oracle) {
			t.Fatalf("valid: %t, gjson says otherwise (%s)", ok, p.failure)
		}
		if !ok {
			return
		}
		again := new(parser)
		if !again.parse(data, false) || !p.root.Equal(&again.root) {
			t.Fatal("it does not equal itself")
		}
		if !utf8.Valid(oracle) || bytes.Contains(bytes.ToLower(oracle), []byte(`\ud`)) {
			return // encoding/json puts U+FFFD for what we keep apart
		}
		decoder := json.NewDecoder(bytes.NewReader(oracle))
		decoder.UseNumber()
		var want any
		if err := decoder.Decode(&want); err != nil {
			return // it nests too deeply for encoding/json
		}
		if !sameAs(&p.root, want) {
			t.Fatalf("encoding/json reads %v", want)
		}
	})
}

// sameAs compares a value with what encoding/json makes of the same text.
func sameAs(v *Value, want any) bool {
	switch want := want.(type) {
	case nil:
		return v.Type == Null
	case bool:
		return v.Type == Bool && (v.Text == "true") == want
	case string:
		return v.Type == String && v.Text == want
	case json.Number:
		canonical, _, _ := scanNumber(want.String(), 0)
		return v.Type == Number && v.Text == canonical
	case []any:
		if v.Type != Array || len(v.Items) != len(want) {
			return false
		}
		for i := range want {
			if !sameAs(&v.Items[i], want[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		if v.Type != Object || len(v.Members) != len(want) {
			return false
		}
		for k, item := range want {
			member := v.Member(k)
			if member == nil || len(memberOf(v, k).Hidden) == 0 && !sameAs(member, item) {
				return false
			}
		}
		return true
	}
	return false
}

// memberOf is the member with its hidden copies; encoding/json may merge those, so that they are not compared.
func memberOf(v *Value, key string) *Member {
	for i := range v.Members {
		if v.Members[i].Key == key {
			return &v.Members[i]
		}
	}
	return nil
}
