package normalize

import (
	"strings"
	"testing"
)

func TestFieldsAsPagesShowThem(t *testing.T) {
	for _, tc := range []struct {
		got  Field
		want string
	}{
		{HeaderField("Content-Type"), "header.content-type"},
		{HeaderField("x.y"), `header["x.y"]`},
		{TrailerField("X"), "trailer.x"},
		{CookieField("Sid"), "cookie.Sid"},
		{CookieAttributeField("sid", "path"), "cookie.sid.path"},
		{CookieField(""), `cookie[""]`},
		{FieldBody.Key("items").Elements().Key("price"), "body.items[].price"},
		{FieldBody.Elements().Elements(), "body[][]"},
		{FieldBody.Key("a.b").Key("x y"), `body["a.b"]["x y"]`},
		{FieldBody.Key(""), `body[""]`},
		{FieldBody.Key("first-name").Key("@type").Key("$ref").Key("größe"), "body.first-name.@type.$ref.größe"},
		{FieldBody.Key(`q"\` + "\n\t\x00\u2028"), `body["q\"\\\n\t\u0000\u2028"]`},
		{FieldBody.Key("\U000E0001"), `body["\udb40\udc01"]`},
		{FieldBody.Key("a\xED\xA0\x80\xFF\xFEz"), `body["a\ud800\xfez"]`},
		{FieldBody.Key("17").Key("8f14e45f-ceea-467f-9575-1c2a5d1e3b0a").Key("d41d8cd9"), "body.{}.{}.{}"},
		{FieldBody.Key("fabaceae").Key("v2").Key("deadBEEF1"), "body.fabaceae.v2.deadBEEF1"},
	} {
		if string(tc.got) != tc.want {
			t.Errorf("%s, want %s", tc.got, tc.want)
		}
		pattern, err := ParseField(tc.want)
		if err != nil || pattern.String() != tc.want {
			t.Errorf("%s parses to %v, %v", tc.want, pattern, err)
		}
	}
}

func TestPointers(t *testing.T) {
	var p []byte
	for _, key := range []string{"a/b~c", "", "~1", "x\xFF\xFEy"} {
		p = AppendPointerKey(p, key)
	}
	p = AppendPointerIndex(p, 12)
	if want := "/a~1b~0c//~01/x\uFFFD\uFFFDy/12"; string(p) != want {
		t.Errorf("%q", p)
	}
}

func TestFieldSpellings(t *testing.T) {
	for in, want := range map[string]string{
		`body["a"]`:                    "body.a",
		`header.X-Foo`:                 "header.x-foo",
		`cookie.SID.Path`:              "cookie.SID.path",
		`body.**.**.x`:                 "body.**.x",
		`body.{/^tmp-/}`:               "body.{/^tmp-/}",
		`body.{/a\/b\\/}`:              `body.{/a\/b\\/}`,
		`body.items[id="a7"].price`:    `body.items[id="a7"].price`,
		`body.items["id"=7.0].price`:   "body.items[id=7].price",
		`body.items[on=true]`:          "body.items[on=true]",
		`body.items["a b"=null]`:       `body.items["a b"=null]`,
		`body[3][0]`:                   "body[3][0]",
		`body.*`:                       "body.*",
		`header`:                       "header",
		`trailer.*`:                    "trailer.*",
		`body["\u0041\ud83d\ude80\/"]`: `body["A🚀/"]`,
		`query.token`:                  "query.token",
		`latency`:                      "latency",
	} {
		pattern, err := ParseField(in)
		if err != nil || pattern.String() != want {
			t.Errorf("%s: %v, %v, want %s", in, pattern, err, want)
		}
	}
}

// Each mistake is told with its column and what to write instead.
func TestFieldMistakes(t *testing.T) {
	for in, want := range map[string]string{
		"":                     "column 1: the field is empty: it begins with body, header, cookie, trailer or status",
		"$.user":               "column 1: this is not JSONPath: write body for $",
		"/user/name":           "column 1: this is not a JSON pointer: write body.a.b for /a/b",
		"boby.x":               `column 1: a field does not begin with "boby"; did you mean "body"?`,
		"user.name":            "column 1: a field begins with body, header, cookie, trailer or status: for a place in the body write body.user.name",
		"**.id":                "column 1: a field begins with body, header, cookie, trailer or status: for a place in the body write body.**.id",
		"[].id":                "column 1: a field begins with body, header, cookie, trailer or status: for a place in the body write body[].id",
		"body.":                "column 6: a key must follow the dot: leave the dot out, or write .* for any key",
		"body..x":              `column 6: a key must stand between two dots: the empty key is [""]`,
		"body.tmp*":            "column 9: a wildcard stands alone, as in .* or .**: for keys that begin so write .{/^…/}",
		"body/user":            `column 5: keys are joined by dots: write "." for "/", or quote the key, ["a/b"]`,
		"body.geo:dep":         `column 9: ':' cannot stand in a plain word: quote the key, ["a:b"]`,
		"body.größe x":         `column 11: ' ' cannot stand in a plain word: quote the key, ["a b"]`,
		"body.items[*]":        "column 11: write [] for any element",
		"body.items[-1]":       `column 12: neither [], an element like [3], a quoted key like ["a.b"] nor a choice like [id="a7"]`,
		"body.items[1:2]":      "column 13: the bracket does not end here: close it with ]",
		"body.items[id=a7]":    `column 15: no JSON value: quote a string, [id="a7"]`,
		"body.items[":          "column 11: the bracket does not end: write [] for any element",
		`body["a`:              `column 6: the quoted key does not end: close it with "`,
		`body["\q"]`:           `column 7: unknown escape \q: write \\ for a backslash`,
		`body["\x41"]`:         `column 7: \x takes the two hex digits of a byte from 80 on: write \u0041 for a character`,
		"body.{x}":             "column 6: a pattern for keys stands between slashes: write {/^tmp-/}",
		"body.{/x":             "column 6: the pattern does not end: close it with /}",
		"body.{/(/}":           "column 6: the pattern is no RE2 expression: error parsing regexp: missing closing ): `(`",
		"body.[0]":             `column 5: no dot before a bracket: write [] and ["a.b"] right behind the name`,
		"status.code":          "column 7: status has nothing below it: write status alone",
		"header.x[]":           "column 9: a header has no elements: only arrays in the body have",
		"header.x.y":           `column 1: header takes a name and nothing below it: a name with dots is quoted, header["a.b"]`,
		"cookie.sid.path.deep": `column 1: cookie takes a name and an attribute and nothing below it: a name with dots is quoted, cookie["a.b"]`,
	} {
		_, err := ParseField(in)
		if err == nil || err.Error() != want {
			t.Errorf("%s\n got %v\nwant %s", in, err, want)
		}
	}
	if _, err := ParseField("body." + strings.Repeat("x", maxField)); err == nil {
		t.Error("an endless field was accepted")
	}
}

func FuzzField(f *testing.F) {
	for _, seed := range []string{
		"status", "header.content-type", "cookie.sid.path", "body", `body["a.b"]["x y"]`, "body[][3]", "body.**.*.{}", `body.{/^a\/b/}`,
		`body.items[id="a7"].price`, `body[x=1e3]`, `body["\ud800\xff"]`, "query.a", "body.{/\\", `body["`, "trailer.*",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		pattern, err := ParseField(text)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "column ") {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		canonical := pattern.String()
		again, err := ParseField(canonical)
		if err != nil || again.String() != canonical {
			t.Errorf("%q -> %q -> %v, %v", text, canonical, again, err)
		}
	})
}

// A field made from any key parses back to that key.
func FuzzKey(f *testing.F) {
	f.Add(`"a.b"`)
	f.Add(`"\ud800"`)
	f.Add("\"\xff\"")
	f.Fuzz(func(t *testing.T, body string) {
		p := new(parser)
		if !p.parse([]byte(body), false) || p.root.Type != String {
			return
		}
		key := p.root.Text
		pattern, err := ParseField(string(FieldBody.Key(key)))
		if err != nil {
			t.Fatalf("%q: %v", key, err)
		}
		if s := pattern.segments[0]; !s.takesKey(key, false) || s.kind == stepKey && s.key != key {
			t.Errorf("%q became %q", key, pattern)
		}
	})
}
