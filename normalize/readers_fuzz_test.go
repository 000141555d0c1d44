package normalize

import (
	"bytes"
	"encoding/binary"
	"encoding/xml"
	"io"
	"mime/multipart"
	"net/url"
	"strings"
	"testing"
	"unicode/utf16"
)

// FuzzXML holds what is read as XML against the standard library's stricter reading, and white space between attributes
// against none that counts.
func FuzzXML(f *testing.F) {
	for _, seed := range []string{
		`<a/>`, `<a b="c">x<d/></a>`, `<?xml version="1.0"?><a xmlns="u" xmlns:p="v" p:q="p:x"><p:b/></a>`, `<!DOCTYPE a [<!ENTITY b "c">]><a/>`,
		`<a><![CDATA[x]]>&amp;&#65;</a>`, `<a xml:space="preserve"> <b/> </a>`, "<a b='\n&#10;'/>", `<?p i?><a><!-- c --></a>`,
		`<p:a xmlns:p="u"><p:a xmlns:p="v" t="p:x">p:y</p:a></p:a>`, "<a>x<![CDATA[y]]>z<b/>\r\nw</a>", `<a><b/><c/><b/></a><?p?>`,
	} {
		f.Add(seed)
	}
	n := mustNew(f)
	f.Fuzz(func(t *testing.T, body string) {
		b := document(n, "application/xml", body).Body
		if b.Kind != XML || b.Sent != nil {
			return
		}
		d := xml.NewDecoder(strings.NewReader(strings.TrimPrefix(body, bom)))
		d.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil }
		for {
			if _, err := d.Token(); err == io.EOF {
				break
			} else if err != nil {
				t.Fatalf("%q is read as %s, but %v", body, treeText(b.Root), err)
			}
		}
		if other := document(n, "application/xml", strings.ReplaceAll(body, "\r\n", "\n")).Body; other.Root == nil || !other.Root.Equal(b.Root) {
			t.Errorf("%q is another with other line ends", body)
		}
	})
}

// FuzzHTML: a page is equal to itself, and to itself with a comment before it.
func FuzzHTML(f *testing.F) {
	for _, seed := range []string{
		`<p>a<b>c</p>d`, `<table><td>x<table>`, `<svg><p/><desc><i>`, `<a><div><a>`, `<template><p></template>`, `</p></br>`, `<frameset>`,
		`<tr><td>x</table>`, `<ul><li>a<li>b</ul>`, `<script><!--<script>`, `<p>&amp;&ampx&nbsp;&#x0;`, "<pre>\n a  b</pre>", `<select><option>a<select>`,
	} {
		f.Add(seed)
	}
	n := mustNew(f)
	f.Fuzz(func(t *testing.T, body string) {
		one, two := document(n, "text/html; charset=utf-8", body).Body, document(n, "text/html; charset=utf-8", "<!-- a -->"+body).Body
		if _, mark := markedCharset([]byte(body)); mark == 0 && one.Kind == HTML && (two.Kind != HTML || !one.Root.Equal(two.Root)) {
			t.Errorf("%q is another behind a comment", body)
		}
	})
}

// FuzzForm holds forms against the standard library's.
func FuzzForm(f *testing.F) {
	for _, seed := range []string{"a=1&b=2&a=3", "a=%20+%zz", "=&&a", "%C3%A9=x", "a=&a&b=%FF", "user%5Bname%5D=x+y&=z"} {
		f.Add(seed)
	}
	n := mustNew(f)
	f.Fuzz(func(t *testing.T, body string) {
		b := document(n, mediaForm, body).Body
		values, err := url.ParseQuery(body)
		if b.Kind != Form || err != nil {
			return
		}
		if len(values) != len(b.Root.Members) {
			t.Fatalf("%q has %d names, want %d", body, len(b.Root.Members), len(values))
		}
		for name, want := range values {
			v := b.Root.Member(textOf(name))
			if v == nil || len(want) == 1 && v.Text != textOf(want[0]) || len(want) > 1 && len(v.Items) != len(want) {
				t.Errorf("%q: %q is %v, want %q", body, name, v, want)
			}
		}
	})
}

// FuzzMultipart holds the parts of what is read against the standard library's.
func FuzzMultipart(f *testing.F) {
	for _, seed := range []string{"--b\r\n\r\na\r\n--b--", "--b\nA: b\n c\n\nx\n--b\n\n\n--b--\n", "pre\r\n--b \r\n\r\n--bc\r\n--b--", "--b\r\nContent-Type: application/json\r\n\r\n{\"a\":1}\r\n--b\r\n\r\n--b-not\r\n--b--\r\nafter"} {
		f.Add(seed)
	}
	n := mustNew(f)
	f.Fuzz(func(t *testing.T, body string) {
		b := document(n, "multipart/mixed; boundary=b", body).Body
		if b.Kind != Multipart || strings.ReplaceAll(body, "\r\n", "") != strings.NewReplacer("\r", "", "\n", "").Replace(body) {
			return // the standard library takes no mixed line ends
		}
		r := multipart.NewReader(strings.NewReader(body), "b")
		count := 0
		for ; ; count++ {
			p, err := r.NextRawPart()
			if err == io.EOF {
				break
			}
			if err == nil {
				_, err = io.Copy(io.Discard, p)
			}
			if err != nil {
				return
			}
		}
		if count != len(b.Root.Items) {
			t.Errorf("%q has %d parts, want %d", body, len(b.Root.Items), count)
		}
	})
}

// FuzzEvents: how lines end does not matter to events.
func FuzzEvents(f *testing.F) {
	for _, seed := range []string{"data: x\n\n", "event: a\nid: 1\ndata: {}\ndata: y\n\n: c\nretry: 5\n\n", "data\n\ndata: unfinished", "\uFEFFid\nretry: x\nevent: message\ndata:{\"a\":\ndata: 1}\n\n\n\n"} {
		f.Add(seed)
	}
	n := mustNew(f)
	f.Fuzz(func(t *testing.T, body string) {
		if strings.ContainsRune(body, '\r') {
			return
		}
		one, two := document(n, mediaEvents, body).Body, document(n, mediaEvents, strings.ReplaceAll(body, "\n", "\r\n")).Body
		if one.Kind == Events && (two.Kind != Events || !one.Root.Equal(two.Root)) {
			t.Errorf("%q: other events with other line ends", body)
		}
	})
}

// FuzzSequence: records behind separators are the records on lines.
func FuzzSequence(f *testing.F) {
	for _, seed := range []string{"\x1E1\n\x1E{}\n", "\x1E\x1E[1,\n2]", "\x1E{\x1E}", "\x1E1\n\x1E12", "\x1E\x1E{\"a\":\n1}\n", "1\n\x1E2"} {
		f.Add(seed)
	}
	n := mustNew(f)
	f.Fuzz(func(t *testing.T, body string) {
		one := document(n, "application/json-seq", body).Body
		two := document(n, "application/x-ndjson", strings.NewReplacer("\n", " ", "\x1E", "\n").Replace(body)).Body
		if one.Kind == JSON && (two.Kind != JSON || !one.Root.Equal(two.Root)) {
			t.Errorf("%q: %s, and on lines %s", body, treeText(one.Root), two.Note)
		}
	})
}

// FuzzCharset holds UTF-16 against the standard library's reading; what that can only replace is not read.
func FuzzCharset(f *testing.F) {
	f.Add([]byte("a\x00\xE9\x00"), "utf-16le")
	f.Add([]byte("\x3D\xD8\x00\xDE"), "utf-16le")
	f.Add([]byte("\x82\xA0"), "shift_jis")
	f.Add([]byte("\x1B$B$\"\x1B(B"), "iso-2022-jp")
	f.Add([]byte("\xFF\xFEa\x00b"), "utf-8")
	f.Fuzz(func(t *testing.T, data []byte, name string) {
		l := readLabel("text/plain; charset=" + name)
		out, note, err := toUTF8(data, l, nil)
		if err != nil {
			if !bytes.Equal(out, data) || note == "" {
				t.Errorf("%q as %s: %q, note %q", data, name, out, note)
			}
			return
		}
		if _, mark := markedCharset(data); strings.ToLower(name) != utf16LE || mark > 0 {
			return
		}
		units := make([]uint16, len(data)/2)
		for i := range units {
			units[i] = binary.LittleEndian.Uint16(data[2*i:])
		}
		if want := string(utf16.Decode(units)); want != string(out) {
			t.Errorf("%q: %q, want %q", data, out, want)
		}
	})
}
