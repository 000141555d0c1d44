package diff

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"go.yaml.in/yaml/v4"

	"shadowdiff/multicast"
	"shadowdiff/normalize"
)

// rulesOf reads rules as a file has them.
func rulesOf(t testing.TB, file string) (rules []normalize.RuleConfig) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(file), &rules); err != nil {
		t.Fatal(err)
	}
	for i := range rules {
		if rules[i].Absent != "" && rules[i].When == "" { // the library tells nobody of a null
			rules[i].When = "null"
		}
	}
	return rules
}

// findings lists what the candidate's answer differs in, a line each.
func findings(c *Comparison) []string {
	lines := []string{}
	for _, d := range c.Candidate {
		lines = append(lines, fmt.Sprintf("%s %s %s %s", d.Field, d.Kind, orNone(d.Left), orNone(d.Right)))
	}
	return lines
}

func orNone(e Excerpt) string {
	if e == "" {
		return "-"
	}
	return string(e)
}

// TestWhatOthersHideOrInvent are answers of which the predecessor's comparison says too much or too little.
func TestWhatOthersHideOrInvent(t *testing.T) {
	jsons := func(body string) string { return "200\nContent-Type: application/json\n\n" + body }
	wide := func(last string) string {
		var b strings.Builder
		for i := range 60 {
			fmt.Fprintf(&b, `"member-%c%c":%d,`, 'a'+i/10, 'a'+i%10, i)
		}
		return `{"first-name":1,"10":1,"a.b":1,"wide":{` + b.String() + `"last":` + last + `}}`
	}
	for _, test := range []struct {
		name                          string
		rules                         string
		primary, secondary, candidate string
		want                          []string
	}{
		{
			name:    "arrays and empty arrays do not differ from themselves",
			primary: jsons(`{"tags":["a","b"],"e":[],"rows":[{"x":1}]}`), secondary: jsons(`{"rows":[{"x":1}],"tags":["a","b"],"e":[]}`),
			candidate: jsons(`{"tags": ["a", "b"], "e": [], "rows": [{"x": 1}]}`),
		},
		{
			name:    "a changed word, a changed type, and all digits of a number",
			primary: jsons(`{"addr":"12 Main St","id":"1","n":18446744073709551617}`), secondary: jsons(`{"addr":"12 Main St","id":"1","n":18446744073709551617}`),
			candidate: jsons(`{"addr":"12 Oak Ave","id":1,"n":1}`),
			want:      []string{`body.addr value "12 Main St" "12 Oak Ave"`, `body.id type "1" 1`, `body.n value 18446744073709551617 1`},
		},
		{
			name: "a rule for one name leaves the longer name alone", rules: `[{drop: body.name}]`,
			primary: jsons(`{"name":"a","namespace":"x"}`), secondary: jsons(`{"name":"a","namespace":"x"}`),
			candidate: jsons(`{"name":"b","namespace":"y"}`),
			want:      []string{`body.namespace value "x" "y"`},
		},
		{
			name: "a rule for one route leaves the other alone", rules: `[{drop: body.name, route: "GET /orders/{id}"}]`,
			primary: jsons(`{"name":"a"}`), secondary: jsons(`{"name":"a"}`), candidate: jsons(`{"name":"b"}`),
			want: []string{`body.name value "a" "b"`},
		},
		{
			name: "a rule for any element", rules: `[{drop: "body.items[].at"}]`,
			primary:   jsons(`{"items":[{"at":1,"v":1},{"at":2,"v":1}]}`),
			secondary: jsons(`{"items":[{"at":3,"v":1},{"at":4,"v":1}]}`), candidate: jsons(`{"items":[{"at":5,"v":1},{"at":6,"v":2}]}`),
			want: []string{`body.items[].v value 1 2`},
		},
		{
			name:    "keys that are no words, and many keys",
			primary: jsons(wide("1")), secondary: jsons(wide("1")),
			candidate: jsons(strings.NewReplacer(`"first-name":1`, `"first-name":2`, `"10":1`, `"10":2`, `"a.b":1`, `"a.b":2`).Replace(wide("2"))),
			want:      []string{`body.{} value 1 2`, `body["a.b"] value 1 2`, `body.first-name value 1 2`, `body.wide.last value 1 2`},
		},
		{
			name: "an element in front, paired by a key", rules: `[{pair: body, by: id}]`,
			primary: jsons(`[{"id":1},{"id":2},{"id":3}]`), secondary: jsons(`[{"id":3},{"id":2},{"id":1}]`),
			candidate: jsons(`[{"id":9},{"id":1},{"id":2},{"id":3}]`),
			want:      []string{`body[] extra - {"id":9}`},
		},
		{
			name:    "an element in front, aligned",
			primary: jsons(`[{"id":1},{"id":2},{"id":3}]`), secondary: jsons(`[{"id":1},{"id":2},{"id":3}]`),
			candidate: jsons(`[{"id":9},{"id":1},{"id":2},{"id":3}]`),
			want:      []string{`body[] extra - {"id":9}`},
		},
		{
			name: "no content against an empty answer", primary: "204\n\n", secondary: "204\n\n", candidate: "200\n\n",
			want: []string{`status value 204 200`},
		},
		{
			name: "not modified against an answer", primary: "304\nEtag: \"1\"\n\n", secondary: "304\nEtag: \"1\"\n\n", candidate: "200\nEtag: \"1\"\n\nx",
			want: []string{`status value 304 200`, `body extra - "x"`},
		},
		{
			name:    "JSON that ends early, with its status and headers",
			primary: jsons(`{"a":[1,2]}`), secondary: jsons(`{"a":[1,2]}`), candidate: "500\nContent-Type: application/json\nX-Build: 7\n\n{\"a\":[1,",
			want: []string{`status value 200 500`, `header.x-build extra - "7"`, `body content {"a":[1,2]} "{\"a\":[1,"`},
		},
		{
			name:    "text in place of JSON",
			primary: jsons(`{"a":1}`), secondary: jsons(`{"a":1}`), candidate: "200\nContent-Type: text/plain\n\nsorry",
			want: []string{`header.content-type value "application/json" "text/plain"`, `body content {"a":1} "sorry"`},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			ex := exchange(answer(t, test.primary), answer(t, test.secondary), answer(t, test.candidate))
			got := comparer(t, rulesOf(t, test.rules)...).Compare(ex)
			if len(got.Control) > 0 {
				t.Errorf("noise: %+v", got.Control)
			}
			if lines := findings(got); !slices.Equal(sorted(lines), sorted(test.want)) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(test.want, "\n"))
			}
		})
	}
}

func sorted(lines []string) []string {
	lines = slices.Clone(lines)
	slices.Sort(lines)
	return lines
}

func TestManyWrongElementsAreOneFieldWithAllItsPlaces(t *testing.T) {
	list := func(wrong int) string {
		items := make([]string, 100)
		for i := range items {
			price := 1000 + i
			if i%100 < wrong {
				price++
			}
			items[i] = fmt.Sprintf(`{"sku":"s%02d","price":%d}`, i, price)
		}
		return "200\nContent-Type: application/json\n\n" + `{"items":[` + strings.Join(items, ",") + `]}`
	}
	got := comparer(t).Compare(exchange(answer(t, list(0)), answer(t, list(0)), answer(t, list(37))))
	if said := tell(got); !strings.HasPrefix(said, "candidate_only raw up; body.items[].price 1:0 at 37:0") {
		t.Error(said)
	}
	if d := got.Candidate[0]; *d.LeftPointer != "/items/0/price" || *d.RightPointer != "/items/0/price" || d.Left != "1000" || d.Right != "1001" {
		t.Errorf("%+v", d)
	}
}

// The answers' codings are the client's affair: gzip, none and br of one document are one document.
func TestOneDocumentInThreeCodings(t *testing.T) {
	const body = `{"a":[1,2,3],"text":"the same in every coding"}`
	coded := func(coding string, data []byte) *multicast.Response {
		r := answer(t, "200\nContent-Type: application/json\nContent-Encoding: "+coding+"\n\n")
		r.Body, r.Size = data, int64(len(data))
		return r
	}
	var zipped, br bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = z.Write([]byte(body))
	_ = z.Close()
	b := brotli.NewWriter(&br)
	_, _ = b.Write([]byte(body))
	_ = b.Close()
	got := comparer(t).Compare(exchange(coded("gzip", zipped.Bytes()), coded("identity", []byte(body)), coded("br", br.Bytes())))
	if said := tell(got); said != "agree" {
		t.Error(said)
	}
}

func TestLargePicturesAreComparedByLengthAndHash(t *testing.T) {
	picture := func(last byte) *multicast.Response {
		r := answer(t, "200\nContent-Type: image/png\n\n")
		r.Body = append(bytes.Repeat([]byte("\x89PNG\r\n\x1a\n\x00\x01\x02\x03"), 80_000), last)
		r.Size = int64(len(r.Body))
		return r
	}
	same := comparer(t).Compare(exchange(picture(1), picture(1), picture(1)))
	other := comparer(t).Compare(exchange(picture(1), picture(1), picture(2)))
	if tell(same) != "agree" {
		t.Error(tell(same))
	}
	if len(other.Candidate) != 1 || other.Candidate[0].Kind != KindValue || !strings.Contains(other.Candidate[0].Note, "byte 960001") {
		t.Errorf("%+v", other.Candidate)
	}
}

func confirmedOf(v *Verdict) (fields []string) {
	for _, d := range v.Differences {
		if d.Confirmed {
			fields = append(fields, d.Field)
		}
	}
	return fields
}

// The predecessor flags a field when raw > 1.5 noise and 0.03 % of the requests: one request is enough for it, and a field
// that is noisy in two thirds of them can break as a whole unseen.
func TestTheNoiseRuleOfThePredecessorIsNotOurs(t *testing.T) {
	t.Run("total breakage under heavy noise is found", func(t *testing.T) {
		v := judged(t, story(NewTally(nil), "GET /a", 1000, func(i int) []FieldComparison {
			control := Level(1)
			if i%10 >= 7 {
				control = 0
			}
			return []FieldComparison{at("body.v", 1, control)}
		}))
		if found := confirmedOf(v); v.Word != Different || !slices.Equal(found, []string{"body.v"}) {
			t.Errorf("%s, %v", v.Word, found)
		}
	})
	t.Run("one request decides nothing", func(t *testing.T) {
		v := judged(t, story(NewTally(nil), "GET /a", 1, every(1, at("body.v", 1, 0))))
		if found := confirmedOf(v); v.Word != Undecided || len(found) > 0 {
			t.Errorf("%s, %v", v.Word, found)
		}
	})
	t.Run("13 against 8 of 100 is chance", func(t *testing.T) {
		v := judged(t, story(NewTally(nil), "GET /a", 100, func(i int) []FieldComparison {
			switch {
			case i < 13:
				return []FieldComparison{at("body.v", 1, 0)}
			case i < 21:
				return []FieldComparison{at("body.v", 0, 1)}
			}
			return nil
		}))
		if found := confirmedOf(v); v.Word != Undecided || len(found) > 0 {
			t.Errorf("%s, %v", v.Word, found)
		}
	})
}
