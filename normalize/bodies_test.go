package normalize

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"shadowdiff/multicast"
)

func TestCharsets(t *testing.T) {
	const wide = "{\x00\"\x00a\x00\"\x00:\x00\"\x00\xE9\x00\"\x00}\x00"
	for _, tc := range []struct{ media, body, want string }{
		{"application/json; charset=utf-16le", wide, `{a: "é"}`},
		{"application/json; charset=UTF-16", "\xFF\xFE" + wide, `{a: "é"}`},
		{"application/json", wide, `{a: "é"}`},
		{"application/json", "\x00\x00\x00[\x00\x00\x00\"\x00\x01\xF6\x00\x00\x00\x00\"\x00\x00\x00]", `["😀"]`},
		{"application/json; charset=utf-16", `{"a":"é"}`, `{a: "é"}`}, // a wrong label: there are no zeros
		{"application/json; charset=ISO-8859-1", "{\"a\":\"\xE9\"}", `{a: "é"}`},
		{"application/json; charset=iso-8859-1", `{"a":"é"}`, `{a: "é"}`}, // a wrong label: valid UTF-8 by no chance
		{`application/json; charset="windows-1252"`, "{\"a\":\"\x80\"}", `{a: "€"}`},
		{"application/json; charset=shift_jis", "{\"a\":\"\x82\xA0\"}", `{a: "あ"}`},
		{"text/plain; charset=iso-2022-jp", "\x1B$B$\"\x1B(B", "あ"},
		{"text/plain; charset=utf-16be", "\x00a\xD8\x3D\xDE\x00", "a😀"},
		{"text/plain; charset=x-mac-cyrillic", "\x80", "А"},
		{"text/plain", "\xFE\xFF\x00a", "a"},
	} {
		b := bodyOf(t, tc.media, tc.body)
		got := string(b.Bytes)
		if b.Root != nil {
			got = treeText(b.Root)
		}
		if got != tc.want {
			t.Errorf("%s %q: %s, want %s; note %q", tc.media, tc.body, got, tc.want, b.Note)
		}
	}
}

func TestWhatIsNotOfItsCharsetIsComparedAsSent(t *testing.T) {
	for _, tc := range []struct{ media, body, note string }{
		{"text/plain; charset=utf-16le", "a\x00\x00\xD8", "charset utf-16le: some of it is not of that charset: compared as sent"},
		{"text/plain; charset=utf-16", "abc", "charset utf-16: some of it is not of that charset: compared as sent"},
		{"text/plain; charset=utf-32", "\x00\x11\x00\x00", "charset utf-32: some of it is not of that charset: compared as sent"},
		{"text/plain; charset=shift_jis", "\x82\xA0\x82", "charset shift_jis: some of it is not of that charset: compared as sent"},
		{"text/plain; charset=klingon", "\xE9", "charset klingon: unknown: compared as sent"},
		{"text/plain; charset=iso-2022-kr", "a", "charset iso-2022-kr: unknown: compared as sent"},
		{"application/json; charset=euc-jp", "{\"a\":\"\xFF\"}", "charset euc-jp: some of it is not of that charset: compared as sent"},
	} {
		b := bodyOf(t, tc.media, tc.body)
		if string(b.Bytes) != tc.body || b.Sent != nil || b.Note != tc.note {
			t.Errorf("%s %q: %q, note %q, want %q", tc.media, tc.body, b.Bytes, b.Note, tc.note)
		}
	}
}

func TestFormsAreObjects(t *testing.T) {
	for body, want := range map[string]string{
		"b=2&a=1":                 `{a: "1", b: "2"}`,
		"a=1&b=x&a=2":             `{a: ["1", "2"], b: "x"}`,
		"a=x+y%20z&%C3%A9=%c3%a9": `{a: "x y z", é: "é"}`,
		"a=%zz&b=%4":              `{a: "%zz", b: "%4"}`,
		"a&&b=&=c":                `{: "c", a: "", b: ""}`,
		"a=b=c;d":                 `{a: "b=c;d"}`,
		"a=%FF":                   "{a: \"\\xff\\xff\"}",
		"user[name]=x":            `{user[name]: "x"}`,
	} {
		if b := bodyOf(t, mediaForm, body); b.Kind != Form || treeText(b.Root) != want {
			t.Errorf("%s: %s %s, want %s", body, b.Kind, treeText(b.Root), want)
		}
	}
}

func TestMultipartIsReadPartByPart(t *testing.T) {
	part := func(boundary, headers, body string) string {
		return "--" + boundary + "\r\n" + headers + "\r\n\r\n" + body + "\r\n"
	}
	const named = `Content-Disposition: form-data; name="%s"`
	one := part("x", fmt.Sprintf(named, "a"), "1") + part("x", fmt.Sprintf(named, "b")+"\r\nContent-Type: application/json", `{"k":[1,2]}`) + "--x--\r\n"
	other := part("a b", fmt.Sprintf(named, "b")+"\r\ncontent-type: application/json", `{ "k": [1, 2.0] }`) + part("a b", fmt.Sprintf(named, "a"), "1") + "--a b--"
	l, r := bodyOf(t, "multipart/form-data; boundary=x", one), bodyOf(t, `multipart/form-data; boundary="a b"`, other)
	const want = `{a: {body: "1", headers: {content-disposition: "form-data; name=\"a\""}}, b: {body: {k: [number1, number2]}, headers: {content-disposition: "form-data; name=\"b\"", content-type: "application/json"}}}`
	if got := treeText(l.Root); got != want || !l.Root.Equal(r.Root) {
		t.Errorf("%s\n%s\n%s", got, treeText(r.Root), want)
	}
	for body, want := range map[string]string{
		part("x", "A: b", "t") + "--x--":                                                                  `[{body: "t", headers: {a: "b"}}]`,
		"preamble\r\n" + part("x", "A: b\r\n c", "--xy") + "--x-- \r\nepilogue":                           `[{body: "--xy", headers: {a: "b c"}}]`,
		"--x\n\na\n--x\n\nb\n--x--":                                                                       `[{body: "a", headers: {}}, {body: "b", headers: {}}]`,
		part("x", "Content-Type: text/html", "<p>a") + "--x--":                                            `[{body: {html: {body: {p: [{#text: "a"}]}, head: {}}}, headers: {content-type: "text/html"}, kind: "HTML"}]`,
		part("x", "Content-Transfer-Encoding: base64\r\nContent-Length: 4", "YWI=") + "--x--":             `[{body: "ab", headers: {}}]`,
		part("x", "Content-Transfer-Encoding: base64", "!") + "--x--":                                     `[{body: "!", headers: {content-transfer-encoding: "base64"}}]`,
		part("x", "Content-Type: multipart/mixed; boundary=y", part("y", "A: b", "in")+"--y--") + "--x--": `[{body: [{body: "in", headers: {a: "b"}}], headers: {content-type: "multipart/mixed"}, kind: "multipart"}]`,
		"--x--": `[]`,
	} {
		if b := bodyOf(t, "multipart/mixed; boundary=x", body); b.Kind != Multipart || treeText(b.Root) != want {
			t.Errorf("%q: %s %s\n%s", body, b.Kind, b.Note, want)
			if b.Root != nil {
				t.Error(treeText(b.Root))
			}
		}
	}
	for _, broken := range []string{"--x\r\n\r\na", "--x\r\nA: b\r\n--x--", "--x\r\nno colon\r\n\r\n--x--", "nothing"} {
		if b := bodyOf(t, "multipart/mixed; boundary=x", broken); b.Root != nil || !strings.HasPrefix(b.Note, "not multipart: ") {
			t.Errorf("%q: %s, note %q", broken, b.Kind, b.Note)
		}
	}
}

func TestPartsOfOtherKindsDiffer(t *testing.T) {
	whole := func(media, body string) string {
		return "--x\r\nContent-Type: " + media + "\r\n\r\n" + body + "\r\n--x--"
	}
	binary := bodyOf(t, "multipart/mixed; boundary=x", whole("text/plain", "\x89PNG\r\n\x1A\n"))
	told := binary.Root.Items[0].Member("body").Text
	if !strings.HasPrefix(told, "8 bytes, image/png, sha256 ") {
		t.Errorf("bytes are told as %s", told)
	}
	if sameBody(t, "multipart/mixed; boundary=x", whole("text/plain", "\x89PNG\r\n\x1A\n"), whole("text/plain", told)) {
		t.Error("bytes are equal to a text about them")
	}
	if sameBody(t, "multipart/mixed; boundary=x", whole("application/json", `"a"`), whole("application/json", `a`)) {
		t.Error("a JSON string is equal to its text")
	}
}

func TestEventsAreRecords(t *testing.T) {
	for body, want := range map[string]string{
		"data: {\"x\":1}\n\n":                              `[{data: {x: number1}}]`,
		"event: add\r\ndata: a\r\ndata:b\r\nid: 7\r\n\r\n": `[{data: "a\nb", event: "add", id: "7"}]`,
		"\xEF\xBB\xBFdata: a\r\rdata: b\r\r":               `[{data: "a"}, {data: "b"}]`,
		": comment\n\ndata\n\n":                            `[{data: ""}]`,
		"event: message\ndata: a\n\nevent: x\n\n":          `[{data: "a"}]`,
		"retry: 10\n\nretry: x\n\nid: a\x00\n\nid\n\n":     `[{retry: "10"}, {id: ""}]`,
		"data:  two\nunknown: z\n\ndata: cut\n":            `[{data: " two"}, {data: "cut", unfinished: booltrue}]`,
	} {
		if b := bodyOf(t, mediaEvents, body); b.Kind != Events || treeText(b.Root) != want {
			t.Errorf("%q: %s %s, want %s", body, b.Kind, treeText(b.Root), want)
		}
	}
}

func TestJSONSequences(t *testing.T) {
	for body, want := range map[string]string{
		"\x1E{\"a\":1}\n\x1E[2]\n":    `[{a: number1}, [number2]]`,
		"\x1E{\n\"a\": 1}\n\x1E\x1E2": `[{a: number1}, number2]`,
	} {
		for _, media := range []string{"application/json-seq", "application/geo+json-seq", "text/plain"} {
			if b := bodyOf(t, media, body); b.Kind != JSON || treeText(b.Root) != want {
				t.Errorf("%s %q: %s, note %q, want %s", media, body, b.Kind, b.Note, want)
			}
		}
	}
	for _, broken := range []string{"\x1E{\"a\":\x1E1}", "\x1E1\n2\n", "\x1E1\n2\n\x1E{\"a\":\x1E3}", "\x1E{", "1"} {
		if b := bodyOf(t, "application/json-seq", broken); b.Root != nil || b.Note == "" {
			t.Errorf("%q: %s %s", broken, b.Kind, b.Note)
		}
	}
}

func TestLabelsAreReadAsTheyAre(t *testing.T) {
	for value, want := range map[string]label{
		`Multipart/Mixed; charset="a;b"; Boundary="x\"y"`: {media: "multipart/mixed", charset: "a;b", boundary: `x"y`},
		`text/html;charset = utf-8 ;`:                     {media: "text/html", charset: "utf-8", html: true},
		`image/svg+xml`:                                   {media: "image/svg+xml", xml: true},
		`a/b; =x; charset`:                                {media: "a/b"},
		`a/b; charset="open`:                              {media: "a/b", charset: "open"},
	} {
		if got := readLabel(value); got != want {
			t.Errorf("%s: %+v, want %+v", value, got, want)
		}
	}
}

// What a tree takes is charged: where there is no memory for it, the exchange cannot be judged.
func TestTreesOfAllKindsAreCharged(t *testing.T) {
	n := mustNew(t)
	for media, body := range map[string]string{
		"text/html":                        strings.Repeat("<p>", 150_000),
		"application/xml":                  "<a>" + strings.Repeat("<b/>", 200_000) + "</a>",
		mediaForm:                          strings.Repeat("a=1&", 150_000),
		mediaEvents:                        strings.Repeat("data: x\n\n", 150_000),
		"multipart/mixed; boundary=x":      strings.Repeat("--x\n\na\n", 150_000) + "--x--",
		"application/json; charset=utf-16": "\xFE\xFF" + strings.Repeat("\x00 ", 100),
	} {
		asked := false
		d := n.Document("GET /", multicast.Primary, &multicast.Response{Status: 200, Header: http.Header{"Content-Type": {media}}, Body: []byte(body)},
			func(int64) bool { asked = true; return false })
		if !asked || !d.Body.Refused || d.Body.Kind != Digest {
			t.Errorf("%s: asked %t, %s, note %q", media, asked, d.Body.Kind, d.Body.Note)
		}
	}
}

// FuzzBody reads any bytes under any label: they are equal to themselves.
func FuzzBody(f *testing.F) {
	media := []string{
		"application/json", "application/x-ndjson", "application/json-seq", "text/plain", "", "text/html", "text/html; charset=iso-8859-1",
		"application/xml", "application/xhtml+xml", "image/svg+xml", mediaForm, "multipart/form-data; boundary=b", "multipart/mixed; boundary=b",
		mediaEvents, "text/plain; charset=utf-16", "application/json; charset=utf-16le", "text/plain; charset=shift_jis", "image/png",
		"application/octet-stream", "text/plain; charset=gb18030",
	}
	for i, body := range []string{
		`{"a":[1,"é"]}`, "{}\n[]\n", "\x1E{}\n", "line\nline\n", "", "<p>a<b>c</p>d", "<meta charset=utf-8>\xE9", "<a b='c'>&amp;<d/></a>",
		"<p xml:space='preserve'>&nbsp;</p>", "<svg xmlns='u' xmlns:x='v' x:y='1'/>", "a=1&b=%20&a=2", "--b\r\nContent-Disposition: form-data; name=x\r\n\r\ny\r\n--b--",
		"--b\n\n{}\n--b\nContent-Type: text/html\n\n<i>\n--b--", "data: {}\nid: 1\n\n", "\xFF\xFEa\x00", "{\x00}\x00", "\x82\xA0", "\x89PNG\r\n\x1A\n", "\x00", "\x81\x30\x81\x30",
	} {
		f.Add(byte(i), []byte(body))
	}
	n := mustNew(f)
	f.Fuzz(func(t *testing.T, which byte, body []byte) {
		label := media[int(which)%len(media)]
		one, two := document(n, label, string(body)).Body, document(n, label, string(body)).Body
		if one.Kind != two.Kind || (one.Root == nil) != (two.Root == nil) || one.Root != nil && !one.Root.Equal(two.Root) {
			t.Errorf("%s %q is not equal to itself", label, body)
		}
		if one.Kind != Empty && one.Root == nil && one.Sent == nil && string(one.Bytes) != string(body) {
			t.Errorf("%s %q is compared as %q", label, body, one.Bytes)
		}
		n.Release(&Document{Body: one}, &Document{Body: two})
	})
}
