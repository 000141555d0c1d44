package diff

import (
	"net/http"
	"strings"
	"testing"

	"shadowdiff/multicast"
	"shadowdiff/normalize"
)

// bodyUnder reads a body under a label; an empty one has none.
func bodyUnder(t testing.TB, media, body string, rules ...normalize.RuleConfig) *normalize.Document {
	t.Helper()
	n, err := normalize.New(normalize.Config{Rules: rules})
	if err != nil {
		t.Fatal(err)
	}
	header := http.Header{}
	if media != "" {
		header.Set("Content-Type", media)
	}
	return n.Document("GET /", multicast.Primary, &multicast.Response{Status: 200, Header: header, Body: []byte(body), Size: int64(len(body))}, nil)
}

// told lists differences in the bodies as "field kind left|right | note".
func told(left, right *normalize.Document) []string {
	f := newFound(DefaultLimits())
	f.bodies(&left.Body, &right.Body)
	var out []string
	for _, d := range f.differences {
		line := d.Field + " " + string(d.Kind) + " " + string(d.Left) + "|" + string(d.Right)
		if d.Note != "" {
			line += " | " + d.Note
		}
		out = append(out, line)
	}
	return out
}

func TestDifferencesOfOtherBodies(t *testing.T) {
	const named = "Content-Disposition: form-data; name="
	for _, tc := range []struct {
		name, media, left, right string
		want                     []string
	}{
		{
			"a feed's title", "application/atom+xml", `<feed xmlns="a"><entry><title>A</title></entry></feed>`, `<f:feed xmlns:f="a"><f:entry><f:title>B</f:title></f:entry></f:feed>`,
			[]string{`body.feed.entry[].title[].#text value "A"|"B"`},
		},
		{"an attribute", "text/html", `<div id=x class=a>`, `<div class=b id=x>`, []string{`body.html.body.div[].@class value "a"|"b"`}},
		{"an element more", "application/xml", `<a><b/><c/></a>`, `<a><b/><b x="1"/><c/></a>`, []string{`body.a.b[] extra |{"@x":"1"}`}},
		{"the first of its name", "application/xml", `<a><c/></a>`, `<a><b/><c/></a>`, []string{`body.a.b extra |[{}]`}},
		{"a text changed among elements", "text/html", `<p>a <b>x</b> b`, `<p>a <b>x</b> c`, []string{`body.html.body.p[].#text value "a ￼ b"|"a ￼ c"`}},
		{"an element before a text", "text/html", `<p>text`, `<p><img src=i>text`, []string{`body.html.body.p[].img extra |[{"@src":"i"}]`}},
		{"another namespace", "application/xml", `<a xmlns="u"><b/></a>`, `<a xmlns="v"><b/></a>`, []string{`body.a.@xmlns value "u"|"v"`}},
		{"a doctype", "text/html", `<!DOCTYPE html><p>`, `<p>`, []string{`body["!doctype"] missing "html"|`}},
		{"a page against JSON", "text/html", `<h1>502`, `{"a":1}`, []string{`body content "<h1>502"|{"a":1} | HTML against JSON`}},
		{"broken XML", "application/xml", `<a/>`, `<a>`, []string{`body content "<a/>"|"<a>" | XML against text; right: not XML: it ends early`}},
		{"a form's field", "application/x-www-form-urlencoded", `a=1&b=x+y`, `b=x+z&a=1`, []string{`body.b value "x y"|"x z"`}},
		{"a repeated field", "application/x-www-form-urlencoded", `a=1&a=2`, `a=2&a=1`, []string{`body.a order ["1","2"]|["2","1"]`}},
		{
			"a part", "multipart/form-data; boundary=b", "--b\n" + named + "x\n\n{\"k\":1}\n--b--", "--b\n" + named + "x\n\n{\"k\":2}\n--b--",
			[]string{`body.x.body.k value 1|2`},
		},
		{"an event", "text/event-stream", "data: {\"k\":1}\nid: 1\n\n", "data: {\"k\":2}\nid: 1\n\n", []string{`body[].data.k value 1|2`}},
		{"line ends", "text/plain", "a\r\nb\r\n", "a\nb\n", []string{`body value "a\r\n"|"a\n" | line 1 of 2 is the first that differs; only the line ends differ: CRLF against LF`}},
		{"mixed line ends", "text/plain", "a\r\nb\nc", "a\nb\r\nc", []string{`body value "a\r\n"|"a\n" | line 1 of 3 is the first that differs; only the line ends differ: CRLF and LF are mixed`}},
		{"the last newline", "text/plain", "a\n", "a", []string{`body value "a\n"|"a" | line 1 of 1 is the first that differs; only what ends the text differs`}},
		{"a zero", "text/plain", "a\x00b", "ab", []string{`body value "a\u0000b"|"ab" | line 1 of 1 is the first that differs; U+0000 against U+0062`}},
		{"a text that is not of its charset", "text/plain; charset=shift_jis", "\x82", "a", []string{`body value "�"|"a" | line 1 of 1 is the first that differs; U+FFFD against U+0061; left: charset shift_jis: some of it is not of that charset: compared as sent`}},
		{"no body", "text/html", "<p>", "", []string{`body missing "<p>"|`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := told(bodyUnder(t, tc.media, tc.left), bodyUnder(t, tc.media, tc.right))
			if strings.Join(got, "\n") != strings.Join(tc.want, "\n") {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tc.want, "\n"))
			}
			for _, side := range []string{tc.left, tc.right} {
				if self := told(bodyUnder(t, tc.media, side), bodyUnder(t, tc.media, side)); len(self) > 0 {
					t.Errorf("%q differs from itself: %s", side, self)
				}
			}
		})
	}
}

func TestOrderOfElementsOfOtherNames(t *testing.T) {
	got := told(bodyUnder(t, "application/xml", `<a><b/><c/><b/></a>`), bodyUnder(t, "application/xml", `<a><b/><b/><c/></a>`))
	if len(got) != 1 || !strings.HasPrefix(got[0], "body.a order ") {
		t.Errorf("got %s", got)
	}
}

func TestBytesAreToldByTypeAndFirstDifference(t *testing.T) {
	png, gif := "\x89PNG\r\n\x1A\n\x00\x01", "GIF89a\x00\x01\x02\x03"
	for _, tc := range []struct{ left, right, want string }{
		{png + "a", png + "b", "byte 11 is the first that differs"},
		{png, gif, "byte 1 is the first that differs"},
		{png, png + "\x00", "byte 11 is the first that differs"},
	} {
		got := told(bodyUnder(t, "image/png", tc.left), bodyUnder(t, "image/png", tc.right))
		if len(got) != 1 || !strings.HasPrefix(got[0], `body value "`) || !strings.HasSuffix(got[0], tc.want) || !strings.Contains(got[0], " bytes, image/png, sha256 ") {
			t.Errorf("got %s", got)
		}
	}
}

func TestBytesAreEqualWhateverTheirLabels(t *testing.T) {
	for _, tc := range [][3]string{
		{"text/plain; charset=iso-8859-1", "text/plain; charset=utf-8", "\xE9"},
		{"text/html", "application/json", "<p>"},
		{"application/xml", "text/plain", "<a/>"},
		{"application/json; charset=utf-16", "application/octet-stream", "[\x00]\x00"},
	} {
		if got := told(bodyUnder(t, tc[0], tc[2]), bodyUnder(t, tc[1], tc[2])); len(got) > 0 {
			t.Errorf("%s against %s: %s", tc[0], tc[1], got)
		}
	}
	if got := told(bodyUnder(t, "text/plain; charset=iso-8859-1", "\xE9t\xE9"), bodyUnder(t, "text/plain", "été")); len(got) > 0 {
		t.Errorf("the same text in two charsets: %s", got)
	}
}

func TestRulesHoldInOtherTrees(t *testing.T) {
	drop := func(field string) normalize.RuleConfig { return normalize.RuleConfig{Drop: field} }
	for _, tc := range []struct {
		media, left, right string
		rule               normalize.RuleConfig
	}{
		{"application/rss+xml", `<rss><item><pubDate>1</pubDate><t/></item></rss>`, `<rss><item><t/><pubDate>2</pubDate></item></rss>`, drop("body.rss.item[].pubDate")},
		{"text/html", `<p nonce=1>x`, `<p nonce=2>x`, drop("body.**.@nonce")},
		{"text/html", `<p>1`, `<p>2`, drop("body.html.body.p[].#text")},
		{"application/xml", `<a><b k="1"/><b k="2"/></a>`, `<a><b k="2"/><b k="1"/></a>`, normalize.RuleConfig{Sort: "body.a.b"}},
		{"application/x-www-form-urlencoded", `a=1&t=5`, `t=6&a=1`, drop("body.t")},
		{"text/event-stream", "data: {\"t\":1}\n\n", "data: {\"t\":2}\n\n", drop("body[].data.t")},
		{"multipart/mixed; boundary=b", "--b\nDate: 1\n\nx\n--b--", "--b\nDate: 2\n\nx\n--b--", drop("body[].headers.date")},
	} {
		if got := told(bodyUnder(t, tc.media, tc.left, tc.rule), bodyUnder(t, tc.media, tc.right, tc.rule)); len(got) > 0 {
			t.Errorf("%s, %+v: %s", tc.left, tc.rule, got)
		}
	}
}

func TestAMebibyteOfTextIsShownReadably(t *testing.T) {
	line := strings.Repeat("x", 1<<20)
	for _, body := range [][2]string{{line + "a", line + "b"}, {strings.Repeat("line\n", 200_000) + "a", strings.Repeat("line\n", 200_000) + "b"}} {
		f := newFound(DefaultLimits())
		l, r := bodyUnder(t, "text/plain", body[0]), bodyUnder(t, "text/plain", body[1])
		if f.bodies(&l.Body, &r.Body); len(f.differences) != 1 {
			t.Fatalf("%d differences", len(f.differences))
		}
		if d := f.differences[0]; len(d.Left) > 2<<10 || !strings.HasSuffix(string(d.Left), `a"`) || !strings.HasSuffix(string(d.Right), `b"`) {
			t.Errorf("%.100s | %.100s | %s", d.Left, d.Right, d.Note)
		}
	}
}
