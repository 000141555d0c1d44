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
			name: "a page where JSON was",
			left: "200\nContent-Type: application/json\n\n{\"user\":\"q\"}", right: "502\nContent-Type: text/html\n\n<title>502</title>",
			want: []string{
				"status value 200|502 -|-",
				`header.content-type value "application/json"|"text/html" -|-`,
				`body content {"user":"q"}|"<title>502</title>" | JSON against text`,
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
