package normalize

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"pgregory.net/rapid"
)

func bodyOf(t testing.TB, media, body string) *Body {
	t.Helper()
	return &document(mustNew(t), media, body).Body
}

// sameBody tells whether two bodies under one label are the same tree.
func sameBody(t testing.TB, media, left, right string) bool {
	t.Helper()
	l, r := bodyOf(t, media, left), bodyOf(t, media, right)
	return l.Root != nil && r.Root != nil && l.Kind == r.Kind && l.Root.Equal(r.Root)
}

// treeText writes a tree in one line, for looking at and for comparing by eye.
func treeText(v *Value) string {
	switch v.Type {
	case Object:
		var parts []string
		for i := range v.Members {
			parts = append(parts, v.Members[i].Key+": "+treeText(&v.Members[i].Value))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case Array:
		var parts []string
		for i := range v.Items {
			parts = append(parts, treeText(&v.Items[i]))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case String:
		return fmt.Sprintf("%q", v.Text)
	}
	return v.Type.String() + v.Text
}

func TestHTMLIsATree(t *testing.T) {
	for _, tc := range []struct{ body, want string }{
		{
			`<!DOCTYPE html><title>502</title>`,
			`{!doctype: "html", html: {body: {}, head: {title: [{#text: "502"}]}}}`,
		},
		{
			"<p class='a  b' id=x>Hello\n <b>you</b> there<!-- and --> all",
			`{html: {body: {p: [{#text: "Hello ￼ there all", @class: "a  b", @id: "x", b: [{#text: "you"}]}]}, head: {}}}`,
		},
		{
			`<table><tr><td>1<td>2<tr><td>3</table>after`,
			`{html: {body: {#text: "after", table: [{tbody: [{tr: [{td: [{#text: "1"}, {#text: "2"}]}, {td: [{#text: "3"}]}]}]}]}, head: {}}}`,
		},
		{
			`<b><p>x</b>y</p>`,
			`{html: {body: {b: [{p: [{#text: "x￼y", /b: [""]}]}]}, head: {}}}`,
		},
		{
			`<script type="application/json">{"a": 1}</script><pre>` + "\n a  b </pre>",
			`{html: {body: {pre: [{#text: " a  b "}]}, head: {script: [{#text: "{\"a\": 1}", @type: "application/json"}]}}}`,
		},
		{`x<div`, `{!rest: "<div", html: {body: {#text: "x"}, head: {}}}`},
	} {
		if got := treeText(bodyOf(t, "text/html", tc.body).Root); got != tc.want {
			t.Errorf("%s:\n%s\n%s", tc.body, got, tc.want)
		}
	}
}

func TestPagesThatBrowsersReadTheSame(t *testing.T) {
	for _, tc := range [][2]string{
		{`<br>`, `<br/>`},
		{`<p>a<p>b`, `<html><head></head><body><p>a</p><p>b</p></body></html>`},
		{`<ul><li>a<li>b</ul>`, "<ul>\n  <li>a</li>\n  <li>b</li>\n</ul>"},
		{`<p a=1 b="2">x`, `<P B='2' A="1">x</P>`},
		{`<a href="?a=1&b=2">x`, `<a href="?a=1&amp;b=2">x`},
		{`<p>&#38; &eacute;`, `<p>&amp; é`},
		{`<input disabled>`, `<input disabled="disabled">`},
		{`<p>a <!-- 17:04:11 -->b`, `<p>a b`},
		{`<table><tr><td>x</table>`, `<table><tbody><tr><td>x</td></tr></tbody></table>`},
		{`<p>a b`, "<p>\n\ta\n\tb\n</p>\n"},
		{`<select><option>a<option>b</select>`, `<select><option>a</option><option>b</option></select>`},
		{`<meta charset=utf-8><title>x</title><p>y`, "<head>\n<meta charset=utf-8>\n<title> x </title>\n</head>\n<body>\n<p>y</p>\n</body>\n"},
		{`<!DOCTYPE html>`, `<!doctype HTML>`},
		{`<textarea>` + "\n" + `a</textarea>`, `<textarea>a</textarea>`},
		{`<svg><path d="M0"/><g></g></svg>`, `<svg><path d="M0"></path><g/></svg>`},
		{`<p x=1 x=2>`, `<p x=1>`},
		{`<b>a</b> <i>b</i>`, "<b>a</b>\n<i>b</i>"},
		{`<h1>a</h2>b`, `<h1>a</h1>b`},
		{`<div><span>a</div>b`, `<div><span>a</span></div>b`},
	} {
		if !sameBody(t, "text/html", tc[0], tc[1]) {
			t.Errorf("%s against %s:\n%s\n%s", tc[0], tc[1], treeText(bodyOf(t, "text/html", tc[0]).Root), treeText(bodyOf(t, "text/html", tc[1]).Root))
		}
	}
}

func TestPagesThatBrowsersReadOtherwise(t *testing.T) {
	for _, tc := range [][2]string{
		{`<p class="a b">`, `<p class="b a">`},
		{`<b>a</b> <i>b</i>`, `<b>a</b><i>b</i>`},
		{`<p>a<b>x</b>b`, `<p>ab<b>x</b>`},
		{`<p>a<br>bc`, `<p>ab<br>c`},
		{`<i></i><b></b>`, `<b></b><i></i>`},
		{`<pre>a  b</pre>`, `<pre>a b</pre>`},
		{`<b><i>x</b>y</i>`, `<b><i>x</i></b>y`},
		{`<p><b>a<p>b`, `<p><b>a</b><p>b`},
		{`<div/>x`, `<div></div>x`},
		{`<svg><div/>x`, `<svg><div></div>x`},
		{`<form><div></form>x</div>`, `<form><div></div></form>x`},
		{`<!DOCTYPE html><p>`, `<p>`},
		{`<p>a`, `<p>a` + "\uFFFC"},
		{"<p>a\uFFFCb", `<p>a<i></i>b`},
		{`<p>a<div`, `<p>a`},
		{"<p>\xE9", "<p>\xE8"},
		{"<p>\xFF", "<p>\uFFFD"},
		{"<p>a\u00a0b", "<p>a b"},
		{`<input value="1">`, `<input value="">`},
		{`<script>a  b</script>`, `<script>a b</script>`},
		{`<body><frameset>`, `<frameset>`},
		{`<a\u00a0b></a\u00a0b><p></p>`, `<p></p><a\u00a0b></a\u00a0b>`},
	} {
		if sameBody(t, "text/html", tc[0], tc[1]) {
			t.Errorf("%s against %s:\n%s", tc[0], tc[1], treeText(bodyOf(t, "text/html", tc[0]).Root))
		}
	}
}

// browserTree is what a parser that opens elements anew makes of a page, less what is never seen.
func browserTree(t *rapid.T, page string) string {
	root, err := html.ParseWithOptions(strings.NewReader(page), html.ParseOptionEnableScripting(false))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	var write func(*html.Node)
	write = func(n *html.Node) {
		switch n.Type {
		case html.TextNode:
			b.WriteString(n.Data)
		case html.ElementNode:
			fmt.Fprintf(&b, "<%s:%s", n.Namespace, n.Data)
			slices.SortFunc(n.Attr, func(a, b html.Attribute) int { return strings.Compare(a.Key, b.Key) })
			for _, a := range n.Attr {
				fmt.Fprintf(&b, " %s=%q", a.Key, a.Val)
			}
			b.WriteString(">")
		}
		for c := range n.ChildNodes() {
			write(c)
		}
		if n.Type == html.ElementNode {
			b.WriteString("</>")
		}
	}
	write(root)
	return b.String()
}

// Two pages of equal trees are the same to browsers: pages are made of random tags, and one of them loses, gains or moves
// some.
func TestEqualPagesAreEqualToBrowsers(t *testing.T) {
	words := []string{
		"p", "b", "i", "a", "div", "span", "li", "ul", "table", "tbody", "tr", "td", "th", "caption", "colgroup", "form", "h1", "h2",
		"option", "optgroup", "button", "svg", "path", "foreignobject", "desc", "math", "mi", "br", "dl", "dd", "dt", "nobr", "object",
		"head", "body", "html", "meta", "ruby", "rt", "rp", "address", "u", "font", "template", "article", "dialog", "img", "noscript",
	}
	var tags []string
	for _, w := range words {
		tags = append(tags, "<"+w+">", "</"+w+">", "<"+w+">", "</"+w+">", "<"+w+" k=1>", "<"+w+"/>")
	}
	texts := []string{"x", "y", "<!-- c -->", "<p>", "</p>", "<b>", "</b>", "<i>", "</i>", "<div>", "</div>", "<a>", "</a>", "<table>", "<tr>", "<td>"}
	equal := 0
	n := mustNew(t)
	tree := func(page string) *Value { return document(n, "text/html", page).Body.Root }
	rapid.Check(t, func(t *rapid.T) {
		token := rapid.OneOf(rapid.SampledFrom(tags), rapid.SampledFrom(texts))
		left := rapid.SliceOfN(token, 1, 14).Draw(t, "left")
		right := slices.Clone(left)
		for range rapid.IntRange(1, 2).Draw(t, "changes") {
			if len(right) == 0 {
				break
			}
			at := rapid.IntRange(0, len(right)-1).Draw(t, "at")
			switch rapid.IntRange(0, 2).Draw(t, "change") {
			case 0:
				right = slices.Delete(right, at, at+1)
			case 1:
				right = slices.Insert(right, at, token.Draw(t, "new"))
			case 2:
				to := rapid.IntRange(0, len(right)-1).Draw(t, "to")
				right[at], right[to] = right[to], right[at]
			}
		}
		doctype := rapid.SampledFrom([]string{"", "<!DOCTYPE html>"}).Draw(t, "doctype")
		a, b := doctype+strings.Join(left, ""), doctype+strings.Join(right, "")
		if a == b || a == "" || b == "" || a == doctype || b == doctype || !tree(a).Equal(tree(b)) {
			return
		}
		equal++
		if ours := treeText(tree(a)); browserTree(t, a) != browserTree(t, b) {
			t.Errorf("%s\n%s\nare both %s\nbut %s\nand %s", a, b, ours, browserTree(t, a), browserTree(t, b))
		}
	})
	if equal == 0 {
		t.Error("no two pages were equal")
	}
}

func TestHostilePages(t *testing.T) {
	repeated := func(part string, share int) func(n int) string {
		return func(n int) string { return strings.Repeat(part, n/share) }
	}
	const deep = "not HTML: it nests over 512 levels"
	for _, test := range []struct {
		name string
		page func(n int) string
		note string
	}{
		{"deep links", repeated("<a>", 4), ""},
		{"deep divisions", repeated("<div>", 2), deep},
		{"deep lines", repeated("<span>", 2), deep},
		{"many attributes", func(n int) string { return "<p " + attributes(4000) + ">" + strings.Repeat("<a>", n/4) }, ""},
		{"too many attributes", func(n int) string { return "<p " + attributes(n/4+4097) + ">" }, "not HTML: a tag has over 4096 attributes"},
		{"many names", func(n int) string { return manyNames(n * 3 / 10) }, deep},
		{"formatting anew", repeated("<b><i><u><s><p>x</p>", 8), deep},
		{"open formatting", func(n int) string { return strings.Repeat("<font a=1>", 500) + strings.Repeat("<p>x</p>", n*3/10) }, ""},
		{"stray end tags", repeated("<p></b></i></div>", 7), ""},
		{"tables in tables", repeated("<table><tr><td>", 6), deep},
		{"endless comment", func(n int) string { return "<!--" + strings.Repeat("-", 2*n) }, ""},
		{"endless tag", func(n int) string { return "<p " + strings.Repeat("a", 2*n) }, ""},
		{"nothing but space", repeated(" \n", 1), ""},
		{"references", repeated("&amp;", 2), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			grows(t, func(n int) {
				b, again := bodyOf(t, "text/html", test.page(n)), bodyOf(t, "text/html", test.page(n))
				if b.Note != test.note || b.Kind != again.Kind || b.Root != nil && !b.Root.Equal(again.Root) {
					t.Errorf("%s, note %q, and then %s", b.Kind, b.Note, again.Kind)
				}
			})
		})
	}
}

func attributes(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "a%d=1 ", i)
	}
	return b.String()
}

func manyNames(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "<x%d/>", i)
	}
	return b.String()
}
