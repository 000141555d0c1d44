package normalize

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"shadowdiff/multicast"
)

func mustNew(t testing.TB, rules ...RuleConfig) *Normalizer {
	t.Helper()
	cfg := DefaultConfig()
	cfg.Rules = rules
	n, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// document reads a body with a label on the route GET /items/{id}.
func document(n *Normalizer, media, body string) *Document {
	resp := &multicast.Response{Outcome: multicast.OutcomeOK, Status: 200, Header: http.Header{}, Body: []byte(body)}
	if media != "" {
		resp.Header.Set("Content-Type", media)
	}
	return n.Document("GET /items/{id}", multicast.Primary, resp, nil)
}

func TestBodyKinds(t *testing.T) {
	n := mustNew(t)
	for _, tc := range []struct {
		media, body string
		want        BodyKind
		note        string
	}{
		{"application/json", ``, Empty, ""},
		{"application/json", `{"a":1}`, JSON, ""},
		{"application/json", `5`, JSON, ""},
		{"application/problem+json; charset=utf-8", `"x"`, JSON, ""},
		{"application/json", "\xEF\xBB\xBF{}", JSON, "a byte-order mark is ignored"},
		{"application/json", `{"a":1} oops`, Text, "not JSON: at byte 8: more follows the value"},
		{"application/json", `{"a":`, Text, "not JSON: at byte 5: a value is missing"},
		{"application/json", "{\"a\":1}\n{\"a\":2}", Text, "not JSON: at byte 8: more follows the value"},
		{"application/json", `<html>`, Text, "not JSON: at byte 0: no value begins like this"},
		{"application/x-ndjson", "{\"a\":1}\n{\"a\":2}\n", JSON, ""},
		{"application/x-ndjson", "{\"a\":1}\n{\"a\"", Text, "not JSON: at byte 12: no colon behind a key"},
		{"text/plain", `123`, Text, ""},
		{"", `123`, Text, ""},
		{"text/plain", ` [1, 2] `, JSON, ""},
		{"", `{"a":1}`, JSON, ""},
		{"text/html", "\x00\xff", HTML, ""},
		{"text/html; charset=utf-8", `<p>oops`, HTML, ""},
		{"application/xml", `<a/>`, XML, ""},
		{"application/atom+xml", `<a/>`, XML, ""},
		{"text/plain", `<?xml version="1.0"?><a/>`, XML, ""},
		{"application/xml", "<a>\x00</a>", Binary, "not XML: line 1: illegal character code U+0000"},
		{"application/xhtml+xml", "<p>&nbsp;<br></p>", Text, "not XML: </p> is out of place"},
		{"application/x-www-form-urlencoded", "a=1&b=2", Form, ""},
		{"application/x-www-form-urlencoded", "a=1\nb=2", Text, "not a form: a control character"},
		{"application/x-www-form-urlencoded", `{"a":1}`, JSON, ""},
		{"multipart/mixed; boundary=x", "--x\r\n\r\na\r\n--x--\r\n", Multipart, ""},
		{"multipart/mixed; boundary=x", "--x\r\n\r\na\r\n", Text, "not multipart: no boundary ends it"},
		{"multipart/mixed", "--x--", Text, "not multipart: no boundary"},
		{"text/event-stream", "data: 1\n\n", Events, ""},
		{"text/event-stream", "data: 1\n\ndata: 2", Events, ""},
		{"application/x-ndjson", "{}\n[1,\n2]\n", Text, "not JSON: a record over several lines"},
		{"application/json-seq", "\x1E1\n\x1E{}\n", JSON, ""},
		{"application/json-seq", "1\n2\n", Text, "not JSON: a record without a separator before it"},
		{"image/png", "\x89PNG\x0d\x0a", Binary, ""},
		{"application/octet-stream", "plain", Text, ""},
		{";;", `{"a":1}`, JSON, ""},
	} {
		b := document(n, tc.media, tc.body).Body
		if b.Kind != tc.want || b.Note != tc.note || (b.Root != nil) != (b.Kind == JSON || b.Kind > Digest) || b.Size != int64(len(tc.body)) {
			t.Errorf("%s %q: kind %d, note %q, size %d", tc.media, tc.body, b.Kind, b.Note, b.Size)
		}
	}
	deep := document(n, "application/json", strings.Repeat("[", MaxDepth+1)+strings.Repeat("]", MaxDepth+1)).Body
	if deep.Kind != Text || !strings.Contains(deep.Note, "nests over 100000 levels") {
		t.Errorf("too deep: kind %d, note %q", deep.Kind, deep.Note)
	}
	sum := sha256.Sum256([]byte("all of it"))
	over := n.Document("", multicast.Primary, &multicast.Response{Over: true, Size: 1 << 30, Hash: sum}, nil).Body
	if over.Kind != Digest || over.Size != 1<<30 || over.Hash != sum {
		t.Errorf("over the cap: %+v", over)
	}
}

func TestRulesDropAndSort(t *testing.T) {
	drop := func(fields ...string) []RuleConfig {
		var rules []RuleConfig
		for _, f := range fields {
			rules = append(rules, RuleConfig{Drop: f})
		}
		return rules
	}
	sorted := func(fields ...string) []RuleConfig {
		var rules []RuleConfig
		for _, f := range fields {
			rules = append(rules, RuleConfig{Sort: f})
		}
		return rules
	}
	for _, tc := range []struct {
		rules       []RuleConfig
		left, right string
		equal       bool
		ignored     int // on the left
	}{
		{drop("body.lap", "body.Run"), `{"msg":"ok","lap":"1","Run":"2"}`, `{"msg":"ok","lap":"3","Run":"4"}`, true, 2},
		{drop("body.name"), `{"name":1,"namespace":2}`, `{"name":2,"namespace":3}`, false, 1},
		{drop("body.beds[].plot.wet"), `{"beds":[{"plot":{"crop":1,"wet":4}}]}`, `{"beds":[{"plot":{"crop":1,"wet":9}}]}`, true, 1},
		{drop("body.items[0].s"), `{"items":[{"s":1},{"s":1}]}`, `{"items":[{"s":2},{"s":1}]}`, true, 1},
		{drop("body.items[0].s"), `{"items":[{"s":1},{"s":1}]}`, `{"items":[{"s":1},{"s":2}]}`, false, 1},
		{drop("body.tmp"), `{"a":1,"tmp":[1,{"x":2}]}`, `{"a":1}`, true, 4},
		{drop("body.**.{/^tmp-/}"), `{"a":[1,{"tmp-a4":"x"}]}`, `{"a":[1,{"tmp-b9":"y"}]}`, true, 1},
		{drop("body.{/(?i)time$/}"), `{"startTime":1,"timeline":1}`, `{"startTime":2,"timeline":1}`, true, 1},
		{drop(`body.env["db.host"]`), `{"env":{"db.host":"a","db":{"host":"a"}}}`, `{"env":{"db.host":"b","db":{"host":"a"}}}`, true, 1},
		{drop(`body.env["db.host"]`), `{"env":{"db.host":"a","db":{"host":"a"}}}`, `{"env":{"db.host":"a","db":{"host":"b"}}}`, false, 1},
		{drop("body[].k"), `[{"k":"t1","v":1},{"k":"t2","v":2}]`, `[{"k":"t8","v":1},{"k":"t9","v":2}]`, true, 2},
		{drop("body.meta"), `{"meta":{"t":[1,2]},"v":1}`, `{"meta":{"t":[]},"v":1}`, true, 4},
		{drop(`body.items[id="a7"].price`), `{"items":[{"id":"b","price":1},{"id":"a7","price":2}]}`, `{"items":[{"id":"b","price":1},{"id":"a7","price":3}]}`, true, 1},
		{drop(`body.items[id=7].price`, "body.items[].id"), `{"items":[{"id":7.0,"price":2}]}`, `{"items":[{"id":7,"price":3}]}`, true, 2},
		{drop("body.users.{}.seen"), `{"users":{"17":{"seen":1},"x":{"seen":1}}}`, `{"users":{"17":{"seen":2},"x":{"seen":1}}}`, true, 1},
		{drop("body.*"), `{"a":1,"b":2}`, `{}`, true, 2},
		{drop("body[1]"), `[1,2,3]`, `[1,9,3]`, true, 1},
		{drop("body.a"), `{"a":1,"b":1,"a":2}`, `{"b":1}`, true, 2},
		{drop("body.a.x"), `{"a":{"x":1},"a":{"x":2,"y":1}}`, `{"a":{},"a":{"y":1}}`, true, 2},
		{drop("body"), `{"a":1}`, `not even JSON`, true, 2},
		{drop("body.**"), `[1]`, `[2]`, true, 2},
		{drop("body.**.x"), `{"x":1,"a":[{"x":2},[{"x":3,"y":{"x":4}}]]}`, `{"a":[{},[{"y":{}}]]}`, true, 4},
		{sorted("body.tags"), `{"tags":["a","b","a"]}`, `{"tags":["b","a","a"]}`, true, 0},
		{sorted("body.tags"), `{"tags":[40,50,60]}`, `{"tags":[50,50,60]}`, false, 0},
		{sorted("body.tags"), `{"tags":["tea","milk","tea"]}`, `{"tags":["tea","milk"]}`, false, 0},
		{sorted("body.a"), `{"a":[1,2],"b":[1,2]}`, `{"a":[2,1],"b":[2,1]}`, false, 0},
		{sorted("body.**"), `{"a":[[1,2],[3]],"b":[1,2]}`, `{"a":[[3],[2,1]],"b":[2,1]}`, true, 0},
		{append(sorted("body.data"), drop("body.data[].at")...), `{"data":[{"g":4,"at":1},{"g":2,"at":2}]}`, `{"data":[{"g":2,"at":3},{"g":4,"at":4}]}`, true, 2},
	} {
		n := mustNew(t, tc.rules...)
		a, b := document(n, "application/json", tc.left).Body, document(n, "application/json", tc.right).Body
		equal := a.Kind == b.Kind && (a.Root == nil || a.Root.Equal(b.Root))
		if equal != tc.equal || a.Ignored != tc.ignored || !a.Changed {
			t.Errorf("%v\n%s\n%s: equal %t, %d ignored, changed %t", tc.rules, tc.left, tc.right, equal, a.Ignored, a.Changed)
		}
	}
}

// What is left after dropping keeps its place in the original, and is the very value that would have been parsed.
func TestDroppedElementsLeavePlacesAlone(t *testing.T) {
	n := mustNew(t, RuleConfig{Drop: "body[1]"}, RuleConfig{Drop: "body.**.x"})
	root := document(n, "", `[{"a":0,"x":1},1,{"b":2}]`).Body.Root
	if len(root.Items) != 2 || root.Items[1].Index != 2 {
		t.Errorf("%+v", root.Items)
	}
	if want := mustParse(t, `[{"a":0},{"b":2}]`); !root.Equal(want) || root.Size != want.Size {
		t.Errorf("it differs from a body without what was dropped: size %d", root.Size)
	}
}

func TestRulesHoldWhereTheySay(t *testing.T) {
	for _, tc := range []struct {
		rule  RuleConfig
		route string
		role  multicast.Role
		holds bool
	}{
		{RuleConfig{}, "GET /users/{id}", multicast.Primary, true},
		{RuleConfig{Route: "*"}, "GET /users/{id}", multicast.Primary, true},
		{RuleConfig{Route: "GET /users/{id}"}, "GET /users/{id}", multicast.Secondary, true},
		{RuleConfig{Route: "GET /users/{name}"}, "GET /users/{id}", multicast.Primary, true},
		{RuleConfig{Route: "/users/{x}"}, "POST /users/{id}", multicast.Primary, true},
		{RuleConfig{Route: "POST /users/{x}"}, "GET /users/{id}", multicast.Primary, false},
		{RuleConfig{Route: "GET /users"}, "GET /users/{id}", multicast.Primary, false},
		{RuleConfig{Route: "GET /users/{x}"}, "GET /users", multicast.Primary, false},
		{RuleConfig{Route: "GET /users/{x}"}, "GET /users/{id}/orders", multicast.Primary, false},
		{RuleConfig{Route: "GET /users/*"}, "GET /users/{id}/orders", multicast.Primary, true},
		{RuleConfig{Route: "GET /users/*"}, "GET /users", multicast.Primary, false},
		{RuleConfig{Route: "/*"}, "GET /", multicast.Primary, true},
		{RuleConfig{Route: "/"}, "GET /", multicast.Primary, true},
		{RuleConfig{Route: "/"}, "GET /a", multicast.Primary, false},
		{RuleConfig{Route: "api.example.com/a"}, "GET api.example.com/a", multicast.Primary, true},
		{RuleConfig{Route: "/a"}, "GET api.example.com/a", multicast.Primary, true},
		{RuleConfig{Route: "checkout"}, "checkout", multicast.Primary, true},
		{RuleConfig{Route: "checkout"}, "GET /checkout", multicast.Primary, false},
		{RuleConfig{Role: "candidate"}, "GET /a", multicast.Candidate, true},
		{RuleConfig{Role: "candidate"}, "GET /a", multicast.Secondary, false},
	} {
		tc.rule.Drop = "body.x"
		n := mustNew(t, tc.rule)
		resp := &multicast.Response{Body: []byte(`{"x":1}`)}
		if got := n.Document(tc.route, tc.role, resp, nil).Body.Changed; got != tc.holds {
			t.Errorf("%+v on %s of %s: %t", tc.rule, tc.route, tc.role, got)
		}
	}
}

func TestHeaders(t *testing.T) {
	resp := &multicast.Response{
		Status: 200,
		Header: http.Header{
			"Date": {"now"}, "Content-Length": {"12"}, "X-Request-Id": {"1"}, "Connection": {"close"}, "Server": {"x"},
			"Content-Type":                 {"Application/JSON;Charset=UTF-8; b=\"x y\""},
			"Vary":                         {"Origin, accept-encoding", "Origin"},
			"Allow":                        {"POST, GET"},
			"Access-Control-Allow-Methods": {"PUT,GET"},
			"Access-Control-Allow-Headers": {"X-B, x-a"},
			"X-Two":                        {" b ", "a"},
			"X-Bytes":                      {"\xff\x00"},
			"X-Empty":                      {""},
			"ETag":                         {`W/"1"`},
			"Set-Cookie": {
				"sid=abc; Path=/; Expires=Mon, 30 Nov 2026 10:00:00 GMT; HttpOnly; SameSite=Lax", "gone=; expires=Thu, 01-Jan-1970 00:00:00 GMT; Max-Age=0",
				"bare", "z=1; Domain=.Example.com; Secure; path=/a; Path=/b; Expires=tomorrow",
			},
		},
		Trailer: http.Header{"X-Sum": {"1"}, "Date": {"now"}},
	}
	d := mustNew(t).Document("", multicast.Primary, resp, nil)
	want := strings.Join([]string{
		`access-control-allow-headers ["x-a" "x-b"]`, `access-control-allow-methods ["GET" "PUT"]`, `allow ["GET" "POST"]`,
		`content-type ["application/json; b=\"x y\"; charset=utf-8"]`, `etag ["W/\"1\""]`, `vary ["accept-encoding" "origin"]`,
		`x-bytes ["\xff\x00"]`, `x-empty [""]`, `x-two ["b" "a"]`,
	}, "\n")
	if got := showHeaders(d.Headers); got != want {
		t.Errorf("headers\n%s", got)
	}
	if got := showHeaders(d.Trailers); got != `x-sum ["1"]` {
		t.Errorf("trailers\n%s", got)
	}
	if want := "; gone expires=past max-age=0; sid expires=set httponly path=/ samesite=lax; " +
		"z domain=example.com expires=tomorrow path=/b secure"; showCookies(d.Cookies) != want {
		t.Errorf("cookies\n%s", showCookies(d.Cookies))
	}
	if resp.Header.Get("X-Two") != " b " {
		t.Error("the response was changed")
	}
}

func showHeaders(headers []Header) string {
	var lines []string
	for _, h := range headers {
		lines = append(lines, fmt.Sprintf("%s %q", h.Name, h.Values))
	}
	return strings.Join(lines, "\n")
}

func TestHeaderListIsChanged(t *testing.T) {
	n, err := New(Config{
		Headers: HeaderConfig{Ignore: []string{"X-Noise"}, Compare: []string{"DATE", "set-cookie"}},
		Rules:   []RuleConfig{{Drop: "header.x-gone"}, {Drop: "header.{/^x-amz-/}"}, {Drop: "cookie.b"}, {Drop: "cookie.a.path"}, {Drop: "trailer"}, {Drop: "status"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	d := n.Document("", multicast.Primary, &multicast.Response{
		Status:  200,
		Header:  http.Header{"Date": {"d"}, "X-Noise": {"1"}, "X-Gone": {"1"}, "X-Amz-Id": {"1"}, "X-Kept": {"1"}, "Set-Cookie": {"a=1; Path=/", "b=2"}},
		Trailer: http.Header{"X": {"1"}},
	}, nil)
	if got := showHeaders(d.Headers); got != "date [\"d\"]\nx-kept [\"1\"]" {
		t.Errorf("headers\n%s", got)
	}
	if got := showCookies(d.Cookies); got != "a value=1" || len(d.Trailers) != 0 || d.Status != 0 {
		t.Errorf("cookies %s, trailers %v, status %d", got, d.Trailers, d.Status)
	}
	for _, rule := range []string{"header.set-cookie", "cookie", "header"} {
		n := mustNew(t, RuleConfig{Drop: rule})
		d := n.Document("", multicast.Primary, &multicast.Response{Header: http.Header{"Set-Cookie": {"a=1"}}}, nil)
		if len(d.Cookies) != 0 {
			t.Errorf("%s left %v", rule, d.Cookies)
		}
	}
}

// All faults come at once, each under its key.
func TestFaultsOfTheConfiguration(t *testing.T) {
	cfg := Config{
		Headers: HeaderConfig{Ignore: []string{"X A", "Date"}, Compare: []string{"", "date"}},
		Rules: []RuleConfig{
			{Drop: "body.a"},
			{Drop: "body.", Route: "get /x", Role: "primary"},
			{Sort: "header.x"},
			{Drop: "body.a", Sort: "body.b"},
			{},
			{Round: "body.p", To: "two"},
			{Drop: "body.a", By: By{"id"}},
			{Other: map[string]any{"dorp": "body.a"}},
			{Drop: "status", Role: "candidate"},
			{Sort: "body.a", Role: "candidate"},
			{Drop: "latency"},
			{Drop: "query.x"},
			{Drop: "body", Role: "candidate"},
			{Drop: "body.x", Route: "/a/*/b"},
			{Drop: "body.x", Other: map[string]any{"frobnicate": 1}},
			{Drop: "body.x", Route: "GET users"},
		},
	}
	want := []string{
		`headers.ignore[0]: "X A" is no header name`,
		`headers.compare[0]: "" is no header name`,
		`headers.compare[1]: headers.ignore names date too: take it off one list`,
		`rules[1].drop: column 6: a key must follow the dot: leave the dot out, or write .* for any key`,
		`rules[1].route: "get" is no method: write it in capitals, as in "GET /users/{id}"`,
		`rules[1].role: "primary": only candidate is possible; without role a rule holds for all three`,
		`rules[2].sort: column 1: only arrays in the body have an order: a field begins with body`,
		`rules[3]: a rule has one verb, this one has drop and sort: make it two rules`,
		`rules[4]: a rule needs a verb with a field, as in drop: body.id; the verbs are drop, sort, pair, round, tolerate, mask, mask_keys, rename, lower, trim, squeeze, nfc, coerce, absent, parse, present`,
		`rules[5].to: "two" is no number of decimals: write a whole number such as 2`,
		`rules[6].by: drop takes no by: it belongs to pair`,
		`rules[7].dorp: unknown key; did you mean "drop"?`,
		`rules[8].role: a status left out on one side only would always differ: leave role out`,
		`rules[9].role: order cannot be left out on one side only: leave role out`,
		`rules[10].drop: column 1: latency is not a part of the answer and cannot be left out`,
		`rules[11].drop: column 1: query belongs to requests, which are not compared: it is for store.redact`,
		`rules[12].role: a body left out on one side only would always differ: leave role out`,
		`rules[13].route: "/a/*/b": a * stands only last and alone, as in /users/*; {x} is one segment`,
		`rules[14].frobnicate: unknown key; a rule has a verb, its settings, route and role`,
		`rules[15].route: "users" is no path: a path begins with /`,
	}
	var got []string
	for _, err := range cfg.Validate() {
		got = append(got, err.Error())
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if _, err := New(cfg); err == nil {
		t.Error("New took it")
	}
}

func TestFingerprint(t *testing.T) {
	a := mustNew(t, RuleConfig{Drop: `body["a"]`}, RuleConfig{Sort: "body.b", Route: "*"}, RuleConfig{Drop: "body.a"})
	b := mustNew(t, RuleConfig{Sort: "body.b"}, RuleConfig{Drop: "body.a"})
	if a.Fingerprint() != b.Fingerprint() {
		t.Errorf("%s\n%s", a.Fingerprint(), b.Fingerprint())
	}
	for _, other := range []RuleConfig{{Drop: "body.a", Route: "/x"}, {Drop: "body.a", Role: "candidate"}, {Drop: "body.c"}} {
		if c := mustNew(t, RuleConfig{Sort: "body.b"}, other); c.Fingerprint() == b.Fingerprint() {
			t.Errorf("%+v does not show", other)
		}
	}
}

// Rules that reach every level hold at any depth that is parsed, and so do equality and redaction.
func TestRulesAtTheBottom(t *testing.T) {
	deep := func(x int) string {
		return strings.Repeat(`[{"k":`, MaxDepth/10) + fmt.Sprintf(`{"x":%d}`, x) + strings.Repeat("}]", MaxDepth/10)
	}
	n := mustNew(t, RuleConfig{Drop: "body.**.x"}, RuleConfig{Sort: "body.**"})
	a, b := document(n, "", deep(1)).Body, document(n, "", deep(2)).Body
	if a.Kind != JSON || a.Ignored != 1 || !a.Root.Equal(b.Root) {
		t.Errorf("kind %d, %d ignored: %s", a.Kind, a.Ignored, a.Note)
	}
	got, places := newRedactor(t, "body.**.x").Response(&multicast.Response{Body: []byte(deep(7))})
	if places != 1 || !strings.Contains(string(got.Body), `{"x":"[redacted]"}`) {
		t.Errorf("%d places redacted", places)
	}
}
