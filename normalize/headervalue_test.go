package normalize

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"shadowdiff/multicast"
)

// What two spellings of one header mean, and what they do not.
func TestHeadersThatSayTheSame(t *testing.T) {
	for _, tc := range []struct {
		name        string
		left, right []string
		equal       bool
	}{
		{"Vary", []string{"Origin, accept-encoding"}, []string{"Accept-Encoding", "ORIGIN,,origin"}, true},
		{"Vary", []string{"Origin"}, []string{"Origin, Accept"}, false},
		{"Vary", []string{"*"}, []string{"Origin"}, false},
		{"Vary", []string{""}, []string{" , "}, true},
		{"Allow", []string{"POST, OPTIONS"}, []string{"OPTIONS,POST"}, true},
		{"Allow", []string{"GET"}, []string{"get"}, false}, // methods have case
		{"Access-Control-Allow-Methods", []string{"GET, PUT"}, []string{"PUT", "GET"}, true},
		{"Access-Control-Allow-Methods", []string{"GET, PUT"}, []string{"GET, PUT, DELETE"}, false},
		{"Access-Control-Allow-Headers", []string{"X-B, x-a"}, []string{"X-A, X-b"}, true},
		{"Access-Control-Expose-Headers", []string{"X-B"}, []string{"x-b, x-b"}, true},
		{"Access-Control-Allow-Origin", []string{"https://a.example"}, []string{"https://A.example"}, false},

		{"Content-Type", []string{"Application/JSON;Charset=UTF-8"}, []string{`application/json; charset="utf-8"`}, true},
		{"Content-Type", []string{"text/html; a=1; b=2"}, []string{"text/html;b=2;a=1"}, true},
		{"Content-Type", []string{"text/html;"}, []string{"text/html"}, true},
		{"Content-Type", []string{"text/html; profile=A"}, []string{"text/html; profile=a"}, false},
		{"Content-Type", []string{"application/json"}, []string{"application/json; charset=utf-8"}, false},
		{"Content-Type", []string{"text/html; charset=utf-8"}, []string{"text/html; charset=iso-8859-1"}, false},
		{"Content-Type", []string{";;"}, []string{";;"}, true},
		{"Content-Type", []string{";;"}, []string{"text/html"}, false},
		{"Content-Type", []string{"multipart/mixed; boundary=a7"}, []string{`multipart/mixed; boundary="b 8"`}, true},
		{"Content-Type", []string{"multipart/mixed; boundary=a7"}, []string{"multipart/mixed"}, false},
		{"Content-Type", []string{"text/plain; boundary=a"}, []string{"text/plain; boundary=b"}, false},

		{"Cache-Control", []string{"no-cache, Max-Age=60"}, []string{"max-age=60", "no-cache"}, true},
		{"Cache-Control", []string{`max-age="60"`}, []string{"max-age = 60"}, true},
		{"Cache-Control", []string{`private="set-cookie, x-a", max-age=1`}, []string{`max-age=1, private="set-cookie, x-a"`}, true},
		{"Cache-Control", []string{`private="a, b"`}, []string{`private="b, a"`}, false},
		{"Cache-Control", []string{"max-age=60"}, []string{"max-age=61"}, false},
		{"Cache-Control", []string{"no-store"}, []string{"no-store, no-cache"}, false},
		{"Cache-Control", []string{"max-age=1, max-age=2"}, []string{"max-age=2, max-age=1"}, false}, // a cache may go by the first
		{"Cache-Control", []string{"ext=A"}, []string{"ext=a"}, false},
		{"Cache-Control", []string{"no-cache"}, []string{"no-cache="}, false},

		{"Link", []string{"</a,b>; rel=next, </c>; rel=prev"}, []string{"</a,b>; rel=next", "</c>; rel=prev"}, true},
		{"Link", []string{"</a>; rel=next, </c>; rel=prev"}, []string{"</c>; rel=prev, </a>; rel=next"}, false},
		{"Link", []string{`</a>; title="x, y"`}, []string{`</a>; title="x,y"`}, false},
		{"Link", []string{`</a, b, "c, d`}, []string{`</a,b,"c,d`}, true}, // never closed: commas separate

		{"X-Any", []string{"a, b"}, []string{"b, a"}, false},
		{"X-Any", []string{"\t a "}, []string{"a"}, true},
		{"X-Any", []string{"a"}, []string{"A"}, false},
		{"X-Any", []string{"caf\xe9"}, []string{"café"}, false}, // Latin-1 and UTF-8 are other bytes
		{"X-Any", []string{"caf\xe9"}, []string{"caf\xe8"}, false},
		{"X-Any", []string{""}, []string{" "}, true},
		{"ETag", []string{`W/"x1"`}, []string{`"x1"`}, false},
		{"Location", []string{"/a?b=1&c=2"}, []string{"/a?c=2&b=1"}, false},
	} {
		n := mustNew(t)
		read := func(lines []string) string {
			before := strings.Join(lines, "\n")
			header := http.Header{http.CanonicalHeaderKey(tc.name): lines}
			d := n.Document("", multicast.Primary, &multicast.Response{Header: header}, nil)
			if before != strings.Join(lines, "\n") {
				t.Errorf("%s %q: the response was changed", tc.name, lines)
			}
			if again := n.header.names.of(tc.name).form.values(d.Headers[0].Values); !slices.Equal(again, d.Headers[0].Values) {
				t.Errorf("%s %q: what is comparable already became %q", tc.name, d.Headers[0].Values, again)
			}
			return showHeaders(d.Headers)
		}
		if left, right := read(tc.left), read(tc.right); (left == right) != tc.equal {
			t.Errorf("equal %t: %s, and %s", left == right, left, right)
		}
	}
}

// Names have no case, whoever wrote them, and lines that belong together keep their order.
func TestHeaderNamesHaveNoCase(t *testing.T) {
	n := mustNew(t)
	for range 20 { // maps have no order
		d := n.Document("", multicast.Primary, &multicast.Response{Header: http.Header{
			"X-Part": {"1"}, "X-PART": {"2", "3"}, "x-part": {"4"}, "date": {"now"}, "set-cookie": {"a=1"}, "SET-COOKIE": {"b=1"}, "Set-Cookie": {"c=1"},
		}}, nil)
		if got := showHeaders(d.Headers); got != `x-part ["2" "3" "1" "4"]` {
			t.Fatal(got)
		}
		if got := fmt.Sprint(d.Cookies); !strings.Contains(got, "{a ") || !strings.Contains(got, "{b ") || !strings.Contains(got, "{c ") {
			t.Fatal(got)
		}
	}
}

// Any number of names may come, and the table of those that are known stays small.
func TestHeaderNamesAreBounded(t *testing.T) {
	n := mustNew(t)
	for i := range 3 * namesKnown {
		name := fmt.Sprintf("X-Name-%d", i)
		d := n.Document("", multicast.Primary, &multicast.Response{Header: http.Header{name: {"1"}, "Date": {"now"}}}, nil)
		if want := strings.ToLower(name) + ` ["1"]`; showHeaders(d.Headers) != want {
			t.Fatal(showHeaders(d.Headers))
		}
	}
	if known := len(*n.header.names.known.Load()); known != namesKnown {
		t.Errorf("%d names are known", known)
	}
}

// Lists of nothing but quotes and brackets are read in one go: a reader that looks for the end anew from each of
// them does not end itself.
func TestHostileListsAreReadInOneGo(t *testing.T) {
	for _, test := range []struct {
		part    string
		parts   int
		members int
	}{
		{"<", 1 << 21, 1},
		{`"\`, 1 << 21, 1},
		{`<"`, 1 << 21, 1},
		{`"`, 1 << 20, 1},
		{",", 1 << 20, 0},
		{"a,", 1 << 17, 1 << 17},
		{"<,", 1 << 17, 1 << 17},
		{`",`, 1 << 17, 1 << 16}, // a comma in quotes each
	} {
		line := []string{"," + strings.Repeat(test.part, test.parts)}
		if got := formList.values(line); len(got) != test.members {
			t.Errorf("a list of %s: %d members, want %d", test.part, len(got), test.members)
		}
		for _, form := range []headerForm{formMediaType, formMethods, formDirectives} {
			if got := form.values(line); len(got) == 0 && test.members > 0 {
				t.Errorf("form %d of %s: nothing", form, test.part)
			}
		}
	}
}

func BenchmarkHeads(b *testing.B) {
	n := mustNew(b)
	header := http.Header{
		"Content-Type": {"application/json; charset=utf-8"}, "Content-Length": {"123"}, "Date": {"x"}, "Server": {"y"}, "Vary": {"Accept-Encoding"},
		"Cache-Control": {"no-store"}, "X-Request-Id": {"1"}, "Etag": {`"1"`}, "X-Frame-Options": {"DENY"}, "Strict-Transport-Security": {"max-age=1"},
		"Set-Cookie": {"sid=abc; Path=/; HttpOnly; SameSite=Lax"},
	}
	b.ReportAllocs()
	for b.Loop() {
		n.headers("header", header, n.always)
		n.cookies(header, n.always)
	}
}
