package normalize

import (
	"strings"
	"testing"
)

func TestXMLIsATree(t *testing.T) {
	for _, tc := range []struct{ body, want string }{
		{
			`<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom"><entry><title type="html">A &amp; B</title></entry><entry/></feed>`,
			`{feed: {@xmlns: "http://www.w3.org/2005/Atom", entry: [{title: [{#text: "A & B", @type: "html"}]}, {}]}}`,
		},
		{`<!DOCTYPE  a  SYSTEM "x"><a>x<![CDATA[ <y> ]]>z<b/> <b/></a>`, `{!doctype: "a SYSTEM \"x\"", a: {#text: "x <y> z￼ ", b: [{}, {}]}}`},
		{`<a xmlns:x="u" x:k="1" xml:lang="en"/>`, `{a: {@xml:lang: "en", @{u}k: "1"}}`},
		{`<?go now?><a><?go on?></a>`, `{?go: ["now"], a: {?go: ["on"]}}`},
		{`<a><item/><b xmlns=""/></a>`, `{a: {b: [{}], item: [{}]}}`},
	} {
		if got := treeText(bodyOf(t, "application/xml", tc.body).Root); got != tc.want {
			t.Errorf("%s:\n%s\n%s", tc.body, got, tc.want)
		}
	}
}

func TestDocumentsThatXMLReadsTheSame(t *testing.T) {
	for _, tc := range [][2]string{
		{`<a x="1" y="2"/>`, `<a y='2' x='1'></a>`},
		{`<a>&#38;&#x41;</a>`, `<a>&amp;A</a>`},
		{`<a>&lt;b></a>`, `<a><![CDATA[<b>]]></a>`},
		{"<a>\n  <b>x</b>\n  <c/>\n</a>", `<a><b>x</b><c></c></a>`},
		{
			`<soap:Envelope xmlns:soap="urn:soap"><soap:Body><m:Price xmlns:m="urn:m">1</m:Price></soap:Body></soap:Envelope>`,
			`<e:Envelope xmlns:e="urn:soap" xmlns:unused="urn:z"><e:Body><Price xmlns="urn:m">1</Price></e:Body></e:Envelope>`,
		},
		{`<a xmlns:i="http://www.w3.org/2001/XMLSchema-instance" xmlns:s="u" i:type="s:T"/>`, `<a xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns:t="u" xsi:type="t:T"/>`},
		{`<a><!-- 12:00 -->x<!-- --></a>`, `<a>x</a>`},
		{"\xEF\xBB\xBF<a/>", `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>` + "\n<a/>\n"},
		{"<a>x\r\ny</a>", "<a>x\ny</a>"},
		{"<a b='x\ny'/>", "<a b='x y'/>"},
		{`<?xml version="1.0" encoding="iso-8859-1"?><a>` + "\xE9</a>", `<a>é</a>`},
		{"\xFF\xFE<\x00?\x00x\x00m\x00l\x00 \x00v\x00e\x00r\x00s\x00i\x00o\x00n\x00=\x00'\x001\x00.\x000\x00'\x00 \x00e\x00n\x00c\x00o\x00d\x00i\x00n\x00g\x00=\x00'\x00u\x00t\x00f\x00-\x001\x006\x00'\x00?\x00>\x00<\x00a\x00/\x00>\x00", `<a/>`},
	} {
		if !sameBody(t, "application/xml", tc[0], tc[1]) {
			l, r := bodyOf(t, "application/xml", tc[0]), bodyOf(t, "application/xml", tc[1])
			t.Errorf("%s against %s: %s %s, %s %s", tc[0], tc[1], l.Kind, l.Note, r.Kind, r.Note)
		}
	}
}

func TestDocumentsThatXMLReadsOtherwise(t *testing.T) {
	for _, tc := range [][2]string{
		{`<a xmlns="u"/>`, `<a xmlns="v"/>`},
		{`<a xmlns="u"/>`, `<a/>`},
		{`<a xmlns:p="u" p:x="1"/>`, `<a xmlns:p="v" p:x="1"/>`},
		{`<a xmlns:p="u" t="p:T"/>`, `<a xmlns:p="v" t="p:T"/>`},
		{`<a xmlns:p="u"><b>//p:c</b></a>`, `<a xmlns:p="v"><b>//p:c</b></a>`},
		{`<a> x</a>`, `<a>x</a>`},
		{`<a> </a>`, `<a/>`},
		{`<a xml:space="preserve"><b/> </a>`, `<a xml:space="preserve"><b/></a>`},
		{`<p>a <b/> <c/></p>`, `<p>a <b/><c/></p>`},
		{`<a><b/><c/></a>`, `<a><c/><b/></a>`},
		{`<a b="x&#10;y"/>`, "<a b='x\ny'/>"},
		{`<!DOCTYPE a><a/>`, `<a/>`},
		{`<a href="1" xmlns:l="http://www.w3.org/1999/xlink"/>`, `<a l:href="1" xmlns:l="http://www.w3.org/1999/xlink"/>`},
		{`<a p:b="1"/>`, `<a b="1"/>`},
		{`<A/>`, `<a/>`},
		{`<?go 1?><a/>`, `<?go 2?><a/>`},
	} {
		if sameBody(t, "application/xml", tc[0], tc[1]) {
			t.Errorf("%s against %s: %s", tc[0], tc[1], treeText(bodyOf(t, "application/xml", tc[0]).Root))
		}
	}
}

func TestWhatIsNotXMLIsText(t *testing.T) {
	for body, why := range map[string]string{
		`<a><b></a>`:                   "</a> is out of place",
		`<a/><b/>`:                     "more than one root element",
		`<a/>x`:                        "text outside the root element",
		`<a>`:                          "it ends early",
		`<!-- -->`:                     "it ends early",
		`<a x="1" x="2"/>`:             "the attribute x stands twice",
		`<a xmlns:p="u" xmlns:p="u"/>`: "xmlns:p stands twice",
		`<a xmlns:p="u" xmlns:q="u" p:x="" q:x=""/>`: "the attribute {u}x stands twice",
		`<a x="1"y="2"/>`:            "no space between two attributes",
		`<a x=1/>`:                   "line 1: unquoted or missing attribute value in element",
		`<a>&nbsp;</a>`:              "line 1: invalid character entity &nbsp;",
		`<a>&#xD800;</a>`:            "a reference to a surrogate",
		` <?xml version="1.0"?><a/>`: "the declaration is not at the beginning",
		`<a><!DOCTYPE a></a>`:        "a declaration out of place",
		"<a>\xFF</a>":                "line 1: invalid UTF-8",
		`<!DOCTYPE a [<!ENTITY b "x"><!ENTITY c "&b;&b;&b;&b;">]><a>&c;</a>`: "line 1: invalid character entity &c;",
		`<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>`:   "line 1: invalid character entity &b;",
		strings.Repeat("<a>", 60_000):                                        "it nests over 50000 levels",
	} {
		b := bodyOf(t, "text/xml", body)
		if b.Root != nil || b.Kind != Text || b.Note != "not XML: "+why {
			t.Errorf("%.60s: %s, note %q, want %q", body, b.Kind, b.Note, why)
		}
	}
}

func TestHostileDocuments(t *testing.T) {
	declarations := func(n int) string {
		return strings.ReplaceAll(attributes(n), "=1", `="u"`)
	}
	for name, body := range map[string]func(n int) string{
		"deep":            func(n int) string { return strings.Repeat("<a>", n/8) + strings.Repeat("</a>", n/8) },
		"many attributes": func(n int) string { return "<a " + declarations(n/5) + "/>" },
		"many declarations": func(n int) string {
			return "<a " + strings.ReplaceAll(declarations(n/13), "a", "xmlns:a") + ">" + strings.Repeat("<a0:b/>", n/7) + "</a>"
		},
		"declared at each":    func(n int) string { return strings.Repeat(`<a xmlns:b="u">`, n/10) + strings.Repeat("</a>", n/10) },
		"many children":       func(n int) string { return "<a>" + strings.Repeat("<b/>", n*5/8) + "</a>" },
		"many names":          func(n int) string { return "<a>" + manyNames(n/4) + "</a>" },
		"colons":              func(n int) string { return `<a xmlns:b="u">` + strings.Repeat("b:", n) + "</a>" },
		"pieces":              func(n int) string { return "<a>" + strings.Repeat("x<b/>", n/2) + "</a>" },
		"a doctype of quotes": func(n int) string { return "<!DOCTYPE a [" + strings.Repeat(`"<"`, n/2) + "]><a/>" },
	} {
		t.Run(name, func(t *testing.T) {
			grows(t, func(n int) {
				b, again := bodyOf(t, "text/xml", body(n)), bodyOf(t, "text/xml", body(n))
				if b.Kind != XML || !b.Root.Equal(again.Root) {
					t.Errorf("%s, note %q", b.Kind, b.Note)
				}
			})
		})
	}
}
