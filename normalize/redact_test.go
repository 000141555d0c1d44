package normalize

import (
	"bytes"
	"compress/gzip"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"shadowdiff/multicast"
)

func newRedactor(t testing.TB, places ...string) *Redactor {
	t.Helper()
	if places == nil {
		places = []string{
			"header.authorization", "header.cookie", "header.set-cookie", "header.proxy-authorization", "query.token",
			"query.api_key", "body.**.password",
		}
	}
	r, err := NewRedactor(places)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func gzipped(t testing.TB, data string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(data)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestRequestIsRedactedInACopy(t *testing.T) {
	req := &multicast.Request{
		Method: "POST",
		Target: "/login?a=1&token=s3cret&TOKEN=again&api%5Fkey=k&b=2#token=s3cret",
		Header: http.Header{
			"Authorization": {"Bearer s3cret"},
			"Cookie":        {"sid=s3cret; theme=dark", "x=1"},
			"Content-Type":  {"application/json"},
			"Referer":       {"https://example.com/?token=s3cret"},
			"X-Plain":       {"kept"},
		},
		Body: []byte(`{ "user" : {"Password":"s3cret" , "n":1}, "password":[1,{"a":2}] }`),
	}
	got, n := newRedactor(t).Request(req)
	if want := "/login?a=1&token=%5Bredacted%5D&TOKEN=%5Bredacted%5D&api%5Fkey=%5Bredacted%5D&b=2#token=%5Bredacted%5D"; got.Target != want {
		t.Errorf("target %s", got.Target)
	}
	if want := `{ "user" : {"Password":"[redacted]" , "n":1}, "password":"[redacted]" }`; string(got.Body) != want {
		t.Errorf("body %s", got.Body)
	}
	for name, want := range map[string]string{
		"Authorization": "[redacted]", "Cookie": "sid=[redacted]; theme=[redacted]|x=[redacted]", "X-Plain": "kept",
		"Referer": "https://example.com/?token=%5Bredacted%5D",
	} {
		if line := strings.Join(got.Header[name], "|"); line != want {
			t.Errorf("%s: %s", name, line)
		}
	}
	if n != 11 {
		t.Errorf("%d places", n)
	}
	if !strings.Contains(string(req.Body), "s3cret") || req.Header.Get("Authorization") != "Bearer s3cret" || !strings.Contains(req.Target, "s3cret") {
		t.Error("the original was changed")
	}
}

func TestResponseIsDecodedAndRedacted(t *testing.T) {
	resp := &multicast.Response{
		Status: 200,
		Header: http.Header{
			"Content-Encoding": {"gzip"},
			"Set-Cookie":       {"sid=s3cret; Path=/; HttpOnly", "=odd", "bare"},
			"Location":         {"/next?token=s3cret"},
		},
		Body: gzipped(t, `[{"password":null},{"a":{"password":"x\"y"}}]`),
	}
	got, n := newRedactor(t).Response(resp)
	if want := `[{"password":"[redacted]"},{"a":{"password":"[redacted]"}}]`; string(got.Body) != want || n != 6 {
		t.Errorf("%d places, body %s", n, got.Body)
	}
	if want := "sid=[redacted]; Path=/; HttpOnly|=[redacted]|[redacted]"; strings.Join(got.Header["Set-Cookie"], "|") != want {
		t.Errorf("cookies %q", got.Header["Set-Cookie"])
	}
	if got.Header.Get("Content-Encoding") != "" || resp.Header.Get("Content-Encoding") != "gzip" || got.Header.Get("Location") != "/next?token=%5Bredacted%5D" {
		t.Errorf("headers %v", got.Header)
	}
}

// Whatever the body is, the secret does not stay in it, and what is no secret does.
func TestBodiesOfAllKinds(t *testing.T) {
	for _, tc := range []struct{ name, media, body, want string }{
		{"truncated", "application/json", `{"a":1,"password":"s3cret","b":[`, `{"a":1,"password":"[redacted]","b":[`},
		{"cut within the value", "application/json", `{"a":1,"password" : "s3cr`, `{"a":1,"password" : "[redacted]`},
		{"cut after an escape", "application/json", `{"password":"s3\"cret\\`, `{"password":"[redacted]`},
		{"a number, then garbage", "application/json", `{"password":12345,"b":2} oops`, `{"password":[redacted],"b":2} oops`},
		{"a container, truncated", "application/json", `{"password":{"a":["]",1]},"b":`, `{"password":[redacted],"b":`},
		{"behind comments", "application/json", "{\"password\": /* why */ // so\n \"s3cret\"}", "{\"password\": [redacted]\"[redacted]\"}"},
		{"no comment", "text/plain", "password=//s3cret", "password=[redacted]"},
		{"perhaps none", "text/plain", "password: //s3cret\nuser: ada\nok", "password: [redacted][redacted]\nok"},
		{"odd quotes before", "text/plain", `5" disk {"password":"s3cret"}`, `5" disk {"password":"[redacted]"}`},
		{"escaped key", "application/json", `{"pass\u0077ord":"s3cret"`, `{"pass\u0077ord":"[redacted]"`},
		{"other names stay", "application/json", `{"passwords":"1","my_password":"2"`, `{"passwords":"1","my_password":"2"`},
		{"plain text", "text/plain", "user: ada\npassword: s3cret s3cret\nok", "user: ada\npassword: [redacted]\nok"},
		{"records", "application/x-ndjson", "{\"password\":1}\n{\"b\":2}\n", "{\"password\":\"[redacted]\"}\n{\"b\":2}\n"},
		{"unlabelled", "", `{"password":"s3cret"}`, `{"password":"[redacted]"}`},
		{"duplicates", "application/json", `{"password":"s3cret","password":"t"}`, `{"password":"[redacted]","password":"[redacted]"}`},
		{"JSON within JSON", "application/json", `{"event":"{\"password\":\"s3cret\",\"a\":1}"}`, `{"event":"{\"password\":\"[redacted]\",\"a\":1}"}`},
		{"form", "application/x-www-form-urlencoded", "a=1&password=s3cret&user%5Bpassword%5D=x&b", "a=1&password=%5Bredacted%5D&user%5Bpassword%5D=%5Bredacted%5D&b"},
		{
			"multipart", "multipart/form-data; boundary=XX",
			"--XX\r\nContent-Disposition: form-data; name=\"password\"\r\n\r\ns3cret\r\n--XX\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--XX--\r\n",
			"--XX\r\nContent-Disposition: form-data; name=\"password\"\r\n\r\n[redacted]\r\n--XX\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--XX--\r\n",
		},
		{"a form with dots", "application/x-www-form-urlencoded", "user.password=s3cret&password.hint=x&a.b=1", "user.password=%5Bredacted%5D&password.hint=%5Bredacted%5D&a.b=1"},
		{"a form behind another label", "text/plain", "a=1&user[password]=s3cret&pass%77ord=s3cret", "a=1&user[password]=[redacted]&pass%77ord=[redacted]"},
		{"JSON within JSON, quotes in hex", "application/json", `{"event":"{\u0022password\u0022:\u0022s3cret\u0022,\u0022a\u0022:1}","b":"\u0022"}`, `{"event":"{\"password\":\"[redacted]\",\"a\":1}","b":"\u0022"}`},
		{"and twice", "application/json", `{"a":"{\u0022b\u0022:\u0022{\\u0022password\\u0022:\\u0022s3cret\\u0022}\u0022}"}`, `{"a":"{\"b\":\"{\\\"password\\\":\\\"[redacted]\\\"}\"}"}`},
		{"JSON within a form", "application/x-www-form-urlencoded", "a=1&payload=%7B%22password%22%3A%22s3cret%22%7D&b=%7B%22c%22%3A1%7D", "a=1&payload=%5Bredacted%5D&b=%7B%22c%22%3A1%7D"},
		{"XML", "text/xml", `<u><n:Password a="b">s3<![CDATA[cret]]></n:Password><password/><passwords>1</passwords></u>`, `<u><n:Password a="b">[redacted]</n:Password><password/><passwords>1</passwords></u>`},
		{"XML, cut", "text/xml", `<u><password>s3cr`, `<u><password>[redacted]`},
		{"UTF-16", "application/json", "\xff\xfe" + wide(`{"password":"s3cret"}`), "[redacted: not decoded]"},
		{"UTF-16 by its label", "application/json; charset=UTF-16LE", wide(`ä{"password":"s3cret"}`), "[redacted: not decoded]"},
		{"UTF-16 without a word", "application/json", wide(`{"password":"s3cret"}`), "[redacted: not decoded]"},
		{"bytes", "image/png", "\x89PNG\x00\xff", "\x89PNG\x00\xff"},
	} {
		resp := &multicast.Response{Header: http.Header{"Content-Type": {tc.media}}, Body: []byte(tc.body)}
		got, n := newRedactor(t).Response(resp)
		if string(got.Body) != tc.want || (n > 0) != (tc.body != tc.want) {
			t.Errorf("%s: %d places\n got %s\nwant %s", tc.name, n, got.Body, tc.want)
		}
	}
}

// wide is a text in UTF-16, low byte first.
func wide(text string) string {
	var out []byte
	for _, c := range utf16.Encode([]rune(text)) {
		out = append(out, byte(c), byte(c>>8))
	}
	return string(out)
}

// A URL may stand in any header, in the query of another, and carry a fragment with parameters.
func TestURLsInHeaders(t *testing.T) {
	for _, tc := range []struct{ line, want string }{
		{"/x?a=1&token=s3cret", "/x?a=1&token=%5Bredacted%5D"},
		{"https://a/cb#token=s3cret&a=1", "https://a/cb#token=%5Bredacted%5D&a=1"},
		{"/login?a=1&next=%2Fx%3Fa%3D1%26token%3Ds3cret&b=2", "/login?a=1&next=%5Bredacted%5D&b=2"},
		{"/login?next=%2Fx%3Fa%3D1", "/login?next=%2Fx%3Fa%3D1"},
		{`</a?a=1>; rel=a, </b?token=s3cret>; rel=b`, `</a?a=1>; rel=%5Bredacted%5D; rel=b`},
		{"5; url=/x?token=s3cret", "5; url=/x?token=%5Bredacted%5D"},
		{"what? token, s3cret", "what? token, s3cret"},
		{"/?a=" + strings.Repeat("?a=", 10_000) + "x", "/?a=%5Bredacted%5D"},
	} {
		got, _ := newRedactor(t).Response(&multicast.Response{Header: http.Header{"X-Any": {tc.line}}})
		if line := got.Header.Get("X-Any"); line != tc.want {
			t.Errorf("%.60s\n got %.90s\nwant %s", tc.line, line, tc.want)
		}
	}
}

func TestWhatCannotBeReadIsWithheld(t *testing.T) {
	resp := &multicast.Response{Header: http.Header{"Content-Encoding": {"gzip"}}, Body: []byte("no gzip, password: s3cret")}
	if got, n := newRedactor(t).Response(resp); string(got.Body) != "[redacted: not decoded]" || n != 1 || got.Header.Get("Content-Encoding") == "" {
		t.Errorf("%d, %q", n, got.Body)
	}
	if got, n := newRedactor(t, "header.x").Response(resp); string(got.Body) != string(resp.Body) || n != 0 {
		t.Errorf("without places in bodies: %d, %q", n, got.Body)
	}
	resp = &multicast.Response{Body: []byte("some text")}
	if got, n := newRedactor(t, "body.user.*").Response(resp); string(got.Body) != Redacted || n != 1 {
		t.Errorf("a place without a name: %d, %q", n, got.Body)
	}
	r := newRedactor(t)
	r.MaxDecoded = 10
	resp = &multicast.Response{Header: http.Header{"Content-Encoding": {"gzip"}}, Body: gzipped(t, strings.Repeat("x", 11))}
	if got, _ := r.Response(resp); string(got.Body) != "[redacted: not decoded]" {
		t.Errorf("over the limit: %q", got.Body)
	}
}

// Whoever may send a header may send a trailer of that name.
func TestTrailersAreRedactedAsHeadersAre(t *testing.T) {
	r := newRedactor(t, "header.authorization", "header.cookie", "cookie.sid", "trailer.x-sum")
	trailer := func() http.Header {
		return http.Header{"Authorization": {"s3cret"}, "Cookie": {"a=s3cret"}, "Set-Cookie": {"sid=s3cret; Path=/"}, "X-Sum": {"s3cret"}, "X-Plain": {"kept"}}
	}
	want := http.Header{"Authorization": {Redacted}, "Cookie": {"a=" + Redacted}, "Set-Cookie": {"sid=" + Redacted + "; Path=/"}, "X-Sum": {Redacted}, "X-Plain": {"kept"}}
	request, n := r.Request(&multicast.Request{Trailer: trailer()})
	if !maps.EqualFunc(request.Trailer, want, slices.Equal) || n != 4 {
		t.Errorf("%d places of a request: %q", n, request.Trailer)
	}
	if response, n := r.Response(&multicast.Response{Trailer: trailer()}); !maps.EqualFunc(response.Trailer, want, slices.Equal) || n != 4 {
		t.Errorf("%d places of a response: %q", n, response.Trailer)
	}
	if !r.Covers("trailer.authorization") || r.Covers("header.x-sum") {
		t.Error("the trailer of a header's name is shown, or the header of a trailer's name is not")
	}
}

// PHP, Rails and others take a[] and a[0] for elements of a.
func TestElementsOfAParameterAreRedactedAsItIs(t *testing.T) {
	r := newRedactor(t)
	got, _ := r.Request(&multicast.Request{Target: "/a?token[]=s3cret&token%5B0%5D=s3cret&tokens[]=kept&x[token]=kept"})
	if want := "/a?token[]=%5Bredacted%5D&token%5B0%5D=%5Bredacted%5D&tokens[]=kept&x[token]=kept"; got.Target != want {
		t.Errorf("target %s", got.Target)
	}
	if !r.Covers(`query["token[]"]`) || r.Covers(`query["tokens[]"]`) {
		t.Error("not covered")
	}
}

// Who puts an address together by hand may write a second question mark.
func TestAParameterBehindASecondQuestionMarkIsRedacted(t *testing.T) {
	r := newRedactor(t)
	got, n := r.Request(&multicast.Request{Target: "/a?x?token=s3cret&a=1&y%3Fz?token[]=s3cret&?token=s3cret&token?x=kept&x?tokens=kept"})
	want := "/a?x?token=%5Bredacted%5D&a=1&y%3Fz?token[]=%5Bredacted%5D&?token=%5Bredacted%5D&token?x=kept&x?tokens=kept"
	if got.Target != want || n != 3 {
		t.Errorf("%d places: %s", n, got.Target)
	}
	if !r.Covers(`query["x?token"]`) || r.Covers(`query["x?tokens"]`) {
		t.Error("not covered")
	}
}

func TestCovers(t *testing.T) {
	r := newRedactor(t, "header.authorization", "header.set-cookie", "cookie.sid", "body.**.password", "body.cards[].number", `body.keys["8f14e45f"]`)
	for field, want := range map[string]bool{
		"header.authorization": true, "header.date": false, "cookie.sid": true, "cookie.sid.path": true, "cookie.other": true,
		"cookie.other.path": false, "cookie.other.value": true, "body.password": true, "body.a[].Password": true,
		"body.a.password[].x": true, "body.a": false, "body": false, "body.cards[].number": true, "body.cards[]": false,
		"body.keys.{}": true, "body.keys.x": false, "status": false, "transport": false, "no field": true,
	} {
		if got := r.Covers(field); got != want {
			t.Errorf("%s: %t", field, got)
		}
	}
}

func TestExcerpts(t *testing.T) {
	r := newRedactor(t)
	for _, tc := range []struct{ field, excerpt, want string }{
		{"body.password", `"s3cret"`, `"[redacted]"`},
		{"body.user", `{"password":"s3cret","n":1}`, `{"password":"[redacted]","n":1}`},
		{"body.user", `{"password":"s3cr`, `{"password":"[redacted]`},
		{"body.n", `12`, `12`},
		{"body", `"line with password: s3cret"`, `"line with password: [redacted]"`},
		{"header.authorization", `"Bearer x"`, `"[redacted]"`},
		{"header.location", `"/x?a=1&token=s3cret"`, `"/x?a=1&token=%5Bredacted%5D"`},
		{"header.etag", `"x"`, `"x"`},
		{"cookie.sid", `"x"`, `"[redacted]"`},
		{"body.password", "", ""},
	} {
		if got := r.Excerpt(tc.field, tc.excerpt, nil); got != tc.want {
			t.Errorf("%s %s: %s, want %s", tc.field, tc.excerpt, got, tc.want)
		}
	}
}

// An excerpt that begins within a text, behind the name of what it shows, is kept only if redaction has kept that.
func TestExcerptsFromWithinATextAreKeptWhereTheTextIs(t *testing.T) {
	long := strings.Repeat("s3cret.", 40)
	r := newRedactor(t)
	got, _ := r.Response(&multicast.Response{
		Header: http.Header{"Location": {"/x?token=" + long + "&next=" + strings.Repeat("y", 90)}},
		Body:   []byte(`{"event":"{\"password\":\"` + long + `\"}","text":"a \u00e9 b \"c\" ` + strings.Repeat("z", 90) + `"`),
	})
	for _, tc := range []struct{ field, excerpt, want string }{
		{"header.location", `"…ret.s3cret.s3c…"`, `"[redacted]"`},
		{"header.location", `"…&next=yyyy…"`, `"…&next=yyyy…"`},
		{"body", `"…ret.s3cret.s3c…"`, `"[redacted]"`},
		{"body.event", `"…ret.s3cret.s3c"`, `"[redacted]"`},
		{"body.text", `"…é b \"c\" zzz…"`, `"…é b \"c\" zzz…"`},
		{"cookie.sid.path", `"…/a"`, `"…/a"`},
	} {
		if excerpt := r.Excerpt(tc.field, tc.excerpt, &got); excerpt != tc.want {
			t.Errorf("%s %s: %s, want %s", tc.field, tc.excerpt, excerpt, tc.want)
		}
	}
}

func TestExcerptsOfAFormShowNoMoreThanTheForm(t *testing.T) {
	r := newRedactor(t)
	got, _ := r.Response(&multicast.Response{
		Header: http.Header{"Content-Type": {"application/x-www-form-urlencoded"}},
		Body:   []byte("a=1\xff&payload=%7B%22password%22:%22s3cret%22%7D\nb=2"),
	})
	for excerpt, want := range map[string]string{
		`"a=1�&payload=%7B%22password%22:%22s3cret%22%7D\n"`: `"[redacted]"`,
		`"a=1�&payload"`:       `"a=1�&payload"`,
		`"18 bytes, sha256 a"`: `"18 bytes, sha256 a"`,
	} {
		if out := r.Excerpt("body", excerpt, &got); out != want {
			t.Errorf("%s: %s, want %s", excerpt, out, want)
		}
	}
}

func TestFaultyPlacesAreAllNamed(t *testing.T) {
	_, err := NewRedactor([]string{"header.a", "status", "body.", "query.x"})
	if err == nil || !strings.Contains(err.Error(), "redact[1]: column 1: status") || !strings.Contains(err.Error(), "redact[2]: column 6") {
		t.Errorf("%v", err)
	}
}

// Redacting valid JSON gives valid JSON in which no secret is left.
func FuzzRedact(f *testing.F) {
	f.Add(`{"password":"s3cret"}`)
	f.Add(`{"a":"{\"password\":\"s3cret\\\"\"}"}`)
	f.Add(`{"password":{"password":[]}}`)
	f.Add(`{"x":"\\\"password\\\":1"}`)
	f.Add(`{"x":"\\u0022password\u0022:\\\u00221"}`)
	f.Add(`{"x":"<password>1</password>\u0022"}`)
	f.Add(`{"password": /* a */ "s3cret"}`)
	f.Add(`{"x":"password: /*","y":"*/ s3cret"}`)
	f.Add("password: //s3cret\nuser: ada")
	f.Add("user.password=s3cret&b=2")
	r, err := NewRedactor([]string{"body.**.password"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body string) {
		got, n := r.Response(&multicast.Response{Body: []byte(body)})
		if n == 0 && string(got.Body) != body {
			t.Errorf("nothing was replaced, but %q became %q", body, got.Body)
		}
		before, after := new(parser), new(parser)
		if before.parse([]byte(body), false) && !after.parse(got.Body, false) {
			t.Errorf("%q became invalid: %q", body, got.Body)
		}
		if again, _ := r.Response(&multicast.Response{Body: got.Body}); string(again.Body) != string(got.Body) {
			t.Errorf("%q became %q", got.Body, again.Body)
		}
	})
}
