package diff

import (
	"net/http"
	"strings"
	"testing"

	"shadowdiff/multicast"
	"shadowdiff/normalize"
)

// answer is a response written as on the wire: status, headers, an empty line, the body.
func answer(t testing.TB, text string) *multicast.Response {
	t.Helper()
	head, body, _ := strings.Cut(text, "\n\n")
	status, headers, _ := strings.Cut(head, "\n")
	r := &multicast.Response{Outcome: multicast.OutcomeOK, Header: http.Header{}, Body: []byte(body), Size: int64(len(body))}
	for _, digit := range status {
		r.Status = 10*r.Status + int(digit-'0')
	}
	for line := range strings.Lines(headers) {
		name, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		if !ok {
			t.Fatalf("header line %q", line)
		}
		r.Header.Add(name, value)
	}
	return r
}

func normalizer(t testing.TB, rules ...normalize.RuleConfig) *normalize.Normalizer {
	t.Helper()
	n, err := normalize.New(normalize.Config{Rules: rules})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestDifferencesOfWholeAnswers(t *testing.T) {
	drop := []normalize.RuleConfig{{Drop: "body.token"}}
	for _, test := range []struct {
		name, left, right string
		rules             []normalize.RuleConfig
		want              []string
	}{
		{
			name:  "equal but for what changes with every answer",
			left:  "200\nDate: Mon, 30 Nov 2026 10:00:00 GMT\nX-Request-Id: 1\nContent-Type: application/json\n\n{\"a\": 1}",
			right: "200\nDate: Mon, 30 Nov 2026 10:00:01 GMT\nX-Request-Id: 2\nContent-Type: application/json\n\n{\"a\":1}",
		},
		{
			name: "status", left: "200\n\n", right: "502\n\n",
			want: []string{"status value 200|502 -|-"},
		},
		{
			name: "nothing here and nothing there", left: "204\n\n", right: "200\n\n",
			want: []string{"status value 204|200 -|-"},
		},
		{
			name: "headers", left: "200\nCache-Control: no-store\nX-Old: 1\n\n", right: "200\nCache-Control: max-age=60\nX-New: 2\n\n",
			want: []string{
				`header.cache-control value "no-store"|"max-age=60" -|-`,
				`header.x-new extra |"2" -|-`,
				`header.x-old missing "1"| -|-`,
			},
		},
		{
			name: "header lines", left: "200\nX-Part: a\nX-Part: b\nLink: x\n\n", right: "200\nX-Part: b\nX-Part: a\nLink: x\nLink: y\n\n",
			want: []string{`header.link value "x"|["x","y"] -|-`, `header.x-part order ["a","b"]|["b","a"] -|-`},
		},
		{
			name: "cookies", left: "200\nSet-Cookie: sid=1; Path=/; Secure\nSet-Cookie: old=1\n\n", right: "200\nSet-Cookie: sid=2; Path=/app; HttpOnly\n\n",
			want: []string{
				`cookie.old missing "old=…"| -|-`,
				`cookie.sid.httponly extra |"" -|-`,
				`cookie.sid.path value "/"|"/app" -|-`,
				`cookie.sid.secure missing ""| -|-`,
			},
		},
		{
			name: "an ETag differs by itself",
			left: "200\nEtag: \"1\"\nContent-Type: application/json\n\n{\"v\":1,\"token\":1}", right: "200\nEtag: \"2\"\nContent-Type: application/json\n\n{\"v\":1,\"token\":2}",
			want: []string{`header.etag value "\"1\""|"\"2\"" -|-`, `body.token value 1|2 /token|/token`},
		},
		{
			name: "an ETag follows a body that a rule has changed", rules: drop,
			left: "200\nEtag: \"1\"\nContent-Type: application/json\n\n{\"v\":1,\"token\":1}", right: "200\nEtag: \"2\"\nContent-Type: application/json\n\n{\"v\":1,\"token\":2}",
		},
		{
			name: "but its absence does not", rules: drop,
			left: "200\nEtag: \"1\"\nContent-Type: application/json\n\n{\"v\":1,\"token\":1}", right: "200\nContent-Type: application/json\n\n{\"v\":1,\"token\":2}",
			want: []string{`header.etag missing "\"1\""| -|-`},
		},
		{
			name: "and neither does how it is made", rules: drop,
			left:  "200\nEtag: W/\"1\"\nDigest: sha-256=a,md5=b\nContent-Md5: a\nContent-Type: application/json\n\n{\"v\":1,\"token\":1}",
			right: "200\nEtag: \"2\"\nDigest: SHA-512=x,md5=y\nContent-Md5: b\nContent-Type: application/json\n\n{\"v\":1,\"token\":2}",
			want:  []string{`header.digest value "sha-256=a,md5=b"|"SHA-512=x,md5=y" -|-`, `header.etag value "W/\"1\""|"\"2\"" -|-`},
		},
		{
			name: "all digests follow a body that a rule has changed, and no other header", rules: drop,
			left: "200\nDigest: sha-256=a\nRepr-Digest: sha-256=:a:\nContent-Digest: sha-256=:a:\nContent-Md5: a\nX-Digest: a\n" +
				"Content-Type: application/json\n\n{\"v\":1,\"token\":1}",
			right: "200\nDigest: SHA-256=b\nRepr-Digest: sha-256=:b:\nContent-Digest: sha-256=:b:\nContent-Md5: b\nX-Digest: b\n" +
				"Content-Type: application/json\n\n{\"v\":2,\"token\":2}",
			want: []string{`header.x-digest value "a"|"b" -|-`, `body.v value 1|2 /v|/v`},
		},
		{
			name: "weak and strong validators",
			left: "200\nEtag: W/\"x1\"\n\n", right: "200\nEtag: \"x1\"\n\n",
			want: []string{`header.etag value "W/\"x1\""|"\"x1\"" -|-`},
		},
		{
			name: "an empty header is not a missing one", left: "200\nX-A: \nX-B: \nVary: \n\n", right: "200\nX-B: \n\n",
			want: []string{`header.vary missing []| -|-`, `header.x-a missing ""| -|-`},
		},
		{
			name: "lines that a proxy has joined", left: "200\nX-Part: a\nX-Part: b, c\n\n", right: "200\nX-Part: a, b, c\n\n",
		},
		{
			name: "a line more", left: "200\nX-Part: a\n\n", right: "200\nX-Part: a\nX-Part: a\n\n",
			want: []string{`header.x-part value "a"|["a","a"] -|-`},
		},
		{
			name: "links in another order", left: "200\nLink: </a>; rel=next, </b>; rel=prev\n\n", right: "200\nLink: </b>; rel=prev, </a>; rel=next\n\n",
			want: []string{`header.link order ["</a>; rel=next","</b>; rel=prev"]|["</b>; rel=prev","</a>; rel=next"] -|-`},
		},
		{
			name: "bytes that are no UTF-8", left: "200\nX-A: caf\xe9\nX-B: \xe9\nX-B: \xe9\n\n", right: "200\nX-A: caf\xe8\nX-B: \xe9\nX-B: \xe8\n\n",
			want: []string{
				`header.x-a value "caf�"|"caf�" -|- byte 0xe9 against byte 0xe8`,
				`header.x-b value ["�","�"]|["�","�"] -|- byte 0xe9 against byte 0xe8`,
			},
		},
		{
			name:  "two cookies of one name for two paths, and one of them lost",
			left:  "200\nSet-Cookie: a=1; Path=/\nSet-Cookie: a=2; Path=/x; Secure\n\n",
			right: "200\nSet-Cookie: a=2; Path=/x; Secure\n\n",
			want:  []string{`cookie.a missing "a=…; path=/"| -|-`},
		},
		{
			name:  "two cookies of one name, one for another path",
			left:  "200\nSet-Cookie: a=1; Path=/\nSet-Cookie: a=2; Path=/x\n\n",
			right: "200\nSet-Cookie: a=2; Path=/y\nSet-Cookie: a=1; Path=/\n\n",
			want:  []string{`cookie.a.path value "/x"|"/y" -|-`},
		},
		{
			name:  "a cookie deleted that was set",
			left:  "200\nSet-Cookie: a=1; Path=/; Max-Age=60\n\n",
			right: "200\nSet-Cookie: a=1; Path=/; Max-Age=60\nSet-Cookie: a=; Path=/; Max-Age=0\n\n",
			want:  []string{`cookie.a extra |"a=…; max-age=0; path=/" -|-`},
		},
		{
			name:  "a cookie that lives a day, not a year",
			left:  "200\nDate: Mon, 30 Nov 2026 10:00:00 GMT\nSet-Cookie: a=1; Expires=Tue, 30 Nov 2027 10:00:00 GMT\n\n",
			right: "200\nDate: Mon, 30 Nov 2026 10:00:01 GMT\nSet-Cookie: a=1; Expires=Tue, 01 Dec 2026 10:00:01 GMT\n\n",
			want:  []string{`cookie.a.expires value "in 8760h0m0s"|"in 24h0m0s" -|-`},
		},
		{
			name:  "a cookie that lives as long, by clocks",
			left:  "200\nDate: Mon, 30 Nov 2026 10:00:00 GMT\nSet-Cookie: a=1; Expires=Tue, 01 Dec 2026 10:00:00 GMT\n\n",
			right: "200\nDate: Mon, 30 Nov 2026 10:00:07 GMT\nSet-Cookie: a=1; Expires=Tue, 01-Dec-26 10:00:08 GMT\n\n",
		},
		{
			name: "a page where JSON was",
			left: "200\nContent-Type: application/json\n\n{\"user\":\"q\"}", right: "502\nContent-Type: text/html\n\n<title>502</title>",
			want: []string{
				"status value 200|502 -|-",
				`header.content-type value "application/json"|"text/html" -|-`,
				`body content {"user":"q"}|"<title>502</title>" | JSON against HTML`,
			},
		},
		{
			name: "JSON cut off", left: "200\nContent-Type: application/json\n\n{\"a\":[1,2]}", right: "200\nContent-Type: application/json\n\n{\"a\":[1,2",
			want: []string{`body content {"a":[1,2]}|"{\"a\":[1,2" | JSON against text; right: not JSON: `},
		},
		{
			name: "nothing where a body was", left: "200\n\n{\"a\":1}", right: "200\n\n",
			want: []string{`body missing {"a":1}| |-`},
		},
		{
			name: "a body where nothing was", left: "200\n\n", right: "200\n\nhello",
			want: []string{`body extra |"hello" -|`},
		},
		{
			name: "text", left: "200\nContent-Type: text/plain\n\none\ntwo\n", right: "200\nContent-Type: text/plain\n\none\n2\n",
			want: []string{`body value "two\n"|"2\n" | line 2 of 2 is the first that differs`},
		},
		{
			name: "bytes", left: "200\nContent-Type: image/png\n\n\x89PNG\x00\x01", right: "200\nContent-Type: image/png\n\n\x89PNG\x00\x02",
			want: []string{`body value "6 bytes, sha256 `},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			n := normalizer(t, test.rules...)
			l := n.Document("GET /", multicast.Primary, answer(t, test.left), nil)
			r := n.Document("GET /", multicast.Candidate, answer(t, test.right), nil)
			got, _ := Compare(l, r, DefaultLimits())
			if len(got) != len(test.want) {
				t.Errorf("%d differences, want %d", len(got), len(test.want))
			}
			for i, d := range got {
				if i < len(test.want) && !strings.HasPrefix(show(d), test.want[i]) {
					t.Errorf("got  %s\nwant %s", show(d), test.want[i])
				}
			}
		})
	}
}
