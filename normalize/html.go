package normalize

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/net/html"
)

// maxTags is how deep HTML may nest; browsers make it no deeper either.
const maxTags = 512

// htmlElement is what an open element of HTML has beside.
type htmlElement struct {
	facts       tagFacts
	root        bool
	foreign     bool // of SVG or MathML
	integration bool // of these, but HTML within
	edge        bool // at a block's edge: white space that follows is not seen
	space       bool // white space came last, and is seen if something follows that is
}

// htmlReader builds a tree of HTML as browsers do it, as far as that is sure: what may be left out is put in (html, head,
// body, tbody, end tags), what is misplaced stays where it was sent. Where end tags cross, so that browsers would open
// elements anew, each is kept in the tree ("/b", and "!unclosed" for what none closes): two documents are equal only if
// browsers would make the same of them.
type htmlReader struct {
	markup
	tokens    *html.Tokenizer
	rootAttrs []Member // of html, from all its tags
	bodyAttrs []Member
	hasHead   bool
	headEnded bool
	hasBody   bool
	crossed   bool // an end tag was out of place, and all that end nothing count from now on
	newline   bool // the next text's first newline does not count
	tooDeep   bool
}

// html reads an HTML document or a part of one (WHATWG HTML, section 13).
func (r *reader) html(data []byte) (root Value, why string, ok bool) {
	data = bytes.TrimPrefix(data, []byte(bom))
	h := htmlReader{markup: markup{reader: r}, tokens: html.NewTokenizer(bytes.NewReader(data))}
	h.start("")
	for {
		kind := h.tokens.Next()
		if kind == html.ErrorToken {
			break
		}
		h.token(kind)
		switch {
		case h.failed:
			return Value{}, noMemory, false
		case h.tooDeep:
			return Value{}, fmt.Sprintf("it nests over %d levels", maxTags), false
		}
	}
	if err := h.tokens.Err(); err != io.EOF {
		return Value{}, err.Error(), false
	}
	root, ok = h.finish(string(h.tokens.Raw()))
	return root, noMemory, ok
}

// finish closes what is open. What is left of a tag that does not end is no part of any element, but seen.
func (h *htmlReader) finish(rest string) (Value, bool) {
	h.needBody()
	for len(h.open) > 3 {
		h.close()
	}
	h.attrs = append(h.attrs, h.bodyAttrs...)
	h.close()
	h.attrs = append(h.attrs, h.rootAttrs...)
	h.close()
	if h.failed {
		return Value{}, false
	}
	if rest != "" {
		h.addText("!rest", textOf(rest))
	}
	return h.document()
}

func (h *htmlReader) token(kind html.TokenType) {
	newline := h.newline
	h.newline = false
	switch kind {
	case html.TextToken:
		text := string(h.tokens.Text())
		if newline {
			text = strings.TrimPrefix(text, "\n")
		}
		h.text(textOf(text))
	case html.StartTagToken, html.SelfClosingTagToken:
		name, more := h.tokens.TagName()
		tag := h.tag(name)
		if tag == "image" {
			tag = "img"
		}
		h.startTag(tag, more, kind == html.SelfClosingTagToken)
	case html.EndTagToken:
		name, _ := h.tokens.TagName()
		h.endTag(h.tag(name))
	case html.DoctypeToken:
		if len(h.open) == 1 && len(h.values) == 0 {
			name, more, _ := strings.Cut(strings.Join(strings.Fields(string(h.tokens.Text())), " "), " ")
			h.addText(doctypeKey, textOf(strings.TrimSpace(strings.ToLower(name)+" "+more)))
		}
	}
}

// tag is an element's name. One with what Unicode calls a space is quoted: names are listed with spaces between.
func (h *htmlReader) tag(name []byte) string {
	if bytes.ContainsFunc(name, unicode.IsSpace) {
		return strconv.QuoteToASCII(string(name))
	}
	return h.name(name)
}

const htmlSpace = " \t\n\f\r"

// outside tells whether the innermost element is none that text or a common element may stand in: the head at most.
func (h *htmlReader) outside() bool {
	return !h.hasBody && len(h.open) <= 3 && (len(h.open) < 3 || h.top().name == "head")
}

func (h *htmlReader) needRoot() {
	if len(h.open) == 1 {
		h.start("html").html = htmlElement{facts: factsOf("html"), root: true, edge: true}
	}
}

func (h *htmlReader) needHead() {
	h.needRoot()
	if !h.hasHead {
		h.hasHead = true
		h.start("head").html = htmlElement{facts: factsOf("head"), edge: true}
	}
}

// needBody begins the body, and ends the head.
func (h *htmlReader) needBody() {
	if h.hasBody {
		return
	}
	h.needHead()
	for len(h.open) > 2 {
		h.close()
	}
	h.hasBody = true
	h.start("body").html = htmlElement{facts: factsOf("body"), edge: true}
}

// text adds a text with its white space as it is seen: runs are one space, and at a block's edges there is none.
func (h *htmlReader) text(text string) {
	if h.outside() {
		if text = strings.TrimLeft(text, htmlSpace); text == "" {
			return
		}
		h.needBody()
	}
	e := h.top()
	if e.html.facts&tagVerbatim != 0 {
		h.write(text)
		return
	}
	words := strings.FieldsFunc(text, func(r rune) bool { return r <= ' ' && strings.ContainsRune(htmlSpace, r) })
	if len(words) == 0 {
		e.html.space = e.html.space || text != ""
		return
	}
	joined := strings.Join(words, " ")
	if strings.IndexByte(htmlSpace, text[0]) >= 0 {
		e.html.space = true
	}
	if e.html.space && !e.html.edge {
		joined = " " + joined
	}
	h.write(joined)
	e = h.top()
	e.html.edge, e.html.space = false, strings.IndexByte(htmlSpace, text[len(text)-1]) >= 0
}

// before settles the white space before a child.
func (h *htmlReader) before(facts tagFacts) {
	e := h.top()
	switch {
	case facts&tagUnseen != 0:
		return
	case facts&tagBlock != 0:
		e.html.edge, e.html.space = true, false
		return
	case e.html.space && !e.html.edge:
		h.write(" ")
	}
	h.top().html.edge, h.top().html.space = false, false
}

// close ends the innermost element.
func (h *htmlReader) close() {
	e := h.top()
	if e.html.space && !e.html.edge && e.html.facts&tagBlock == 0 {
		h.write(" ")
	}
	h.end()
}

// closeTo ends the innermost elements down to the i-th. Formatting that is not closed itself would go on behind it.
func (h *htmlReader) closeTo(i int) {
	clears := isMarker(h.open[i].name) // formatting within a cell ends with it
	for len(h.open) > i+1 {
		if h.top().html.facts&tagFormatting != 0 && !clears && !h.top().html.foreign {
			h.attr("!unclosed", "")
			h.crossed = true
		}
		h.close()
	}
	h.close()
}

// find is the innermost open element of a kind, unless one that bars it is further in; minus one where there is none.
func (h *htmlReader) find(is, bars func(name string, facts tagFacts) bool) int {
	for i := len(h.open) - 1; i >= 3; i-- { // the document, html, head and body are ended by nothing
		e := &h.open[i]
		switch {
		case e.html.foreign:
			if e.html.integration {
				return -1
			}
		case is(e.name, e.html.facts):
			return i
		case bars(e.name, e.html.facts):
			return -1
		}
	}
	return -1
}

func (h *htmlReader) startTag(name string, attrs, selfClosing bool) {
	facts := factsOf(name)
	switch {
	case name == "html":
		h.needRoot()
		h.keepAttrs(&h.rootAttrs, attrs)
		return
	case name == "head":
		if h.needRoot(); !h.hasHead {
			h.needHead()
			h.addAttrs(attrs)
		}
		return
	case name == "body":
		h.needBody()
		h.keepAttrs(&h.bodyAttrs, attrs)
		return
	case h.outside() && facts&tagHead != 0 && !(name == "noscript" && h.headEnded):
		h.needHead()
	case h.outside():
		h.needBody()
		if name == "frameset" { // which is nothing behind a body
			h.bodyAttrs = append(h.bodyAttrs, Member{Key: "!frameset", Value: stringValue("")})
		}
	}
	if len(h.open) > maxTags {
		h.tooDeep = true
		return
	}
	if e := h.top(); e.html.foreign && !e.html.integration {
		if !h.breaksOut(name, facts, attrs) {
			h.foreign(name, attrs, selfClosing)
			return
		}
	}
	h.makeRoom(name, facts)
	if name == "svg" || name == "math" {
		h.foreign(name, attrs, selfClosing)
		return
	}
	h.before(facts)
	verbatim := h.top().html.facts & tagVerbatim
	e := h.start(name)
	e.html = htmlElement{facts: facts | verbatim, edge: facts&tagBlock != 0 || name == "button"}
	h.addAttrs(attrs)
	if selfClosing && facts&tagVoid == 0 && h.inForeign() {
		h.attr("!empty", "") // whether that counts is not sure there
	}
	switch {
	case facts&tagVoid != 0:
		h.end()
	case name == "pre" || name == "listing" || name == "textarea":
		h.newline = true
	case name == "noscript":
		h.tokens.NextIsNotRawText()
	}
}

// inForeign tells whether some open element is of SVG or MathML.
func (h *htmlReader) inForeign() bool {
	return slices.ContainsFunc(h.open, func(e element) bool { return e.html.foreign })
}

// breaksOut ends SVG or MathML before an element of HTML that does not belong there.
func (h *htmlReader) breaksOut(name string, facts tagFacts, attrs bool) bool {
	if facts&tagBreaksOut == 0 || name == "font" && attrs {
		return false
	}
	for h.top().html.foreign && !h.top().html.integration {
		h.close()
	}
	h.tokens.AllowCDATA(false)
	return true
}

// foreign adds an element of SVG or MathML.
func (h *htmlReader) foreign(name string, attrs, selfClosing bool) {
	facts := tagBlock
	if isForeignText(name) {
		facts = 0
	}
	if h.top().html.foreign {
		h.before(facts)
	} else {
		h.before(0)
	}
	e := h.start(name)
	e.html = htmlElement{facts: facts, foreign: true, integration: isIntegration(name), edge: facts&tagBlock != 0}
	h.addAttrs(attrs)
	h.tokens.NextIsNotRawText()
	if selfClosing {
		h.end()
	}
	h.setCDATA()
}

func (h *htmlReader) setCDATA() {
	e := h.top()
	h.tokens.AllowCDATA(e.html.foreign && !e.html.integration)
}

// addAttrs adds the tag's attributes to the innermost element.
func (h *htmlReader) addAttrs(more bool) {
	for more {
		var key, value []byte
		key, value, more = h.tokens.TagAttr()
		h.attr(h.attribute(key, value))
	}
}

// keepAttrs adds them to those that html and body get in the end. The first of each name counts.
func (h *htmlReader) keepAttrs(list *[]Member, more bool) {
	for more {
		var key, value []byte
		key, value, more = h.tokens.TagAttr()
		name, text := h.attribute(key, value)
		if !h.charge(1) || !h.budget.take(int64(len(text))) {
			h.failed = true
			return
		}
		*list = append(*list, Member{Key: name, Value: stringValue(text)})
	}
}

func (h *htmlReader) attribute(key, value []byte) (name, text string) {
	if bytes.EqualFold(key, value) && isBoolean(string(key)) {
		value = nil
	}
	return h.name(slices.Concat([]byte("@"), key)), textOf(string(value))
}

// makeRoom ends what a start tag ends without an end tag, and begins what it needs around it.
func (h *htmlReader) makeRoom(name string, facts tagFacts) {
	switch name {
	case "li":
		h.endItem("li", "li")
	case "dd", "dt":
		h.endItem("dd", "dt")
	case "option":
		h.endTop("option", "option")
	case "optgroup":
		h.endTop("option", "option")
		h.endTop("optgroup", "optgroup")
	case "rb", "rt", "rp", "rtc":
		for h.endTop("rb", "rt") || h.endTop("rp", "rp") {
		}
	case "a":
		if i := h.find(named("a"), inScope); i >= 0 && !h.crosses(i) {
			h.closeTo(i)
		}
	case "button":
		if i := h.find(named("button"), inScope); i >= 0 {
			h.closeTo(i)
		}
	case "caption", "colgroup", "col", "tbody", "thead", "tfoot", "tr", "td", "th":
		h.tablePart(name)
		return
	}
	if facts&tagEndsP != 0 {
		if i := h.find(named("p"), inButtonScope); i >= 0 {
			h.closeTo(i)
		}
	}
	if isHeading(name) && isHeading(h.top().name) && !h.top().html.foreign {
		h.close()
	}
}

// endTop ends the innermost element if it is one of two.
func (h *htmlReader) endTop(a, b string) bool {
	e := h.top()
	if e.html.foreign || e.name != a && e.name != b {
		return false
	}
	h.close()
	return true
}

// endItem ends an open item of the same list.
func (h *htmlReader) endItem(a, b string) {
	i := h.find(func(name string, _ tagFacts) bool { return name == a || name == b }, func(name string, facts tagFacts) bool {
		return facts&tagSpecial != 0 && name != "address" && name != "div" && name != "p"
	})
	if i >= 0 {
		h.closeTo(i)
	}
}

// tablePart ends the parts of the table that another part ends, and begins those that it needs around it.
func (h *htmlReader) tablePart(name string) {
	table := h.find(named("table"), func(name string, _ tagFacts) bool { return name == "template" })
	if table < 0 {
		return
	}
	switch name {
	case "td", "th":
		if !h.endUpTo(table, "tr") {
			h.endUpTo(table, "tbody", "thead", "tfoot")
			h.begin(table, "tbody")
			h.put("tr")
		}
	case "tr":
		h.endUpTo(table, "tbody", "thead", "tfoot")
		h.begin(table, "tbody")
	case "col":
		h.endUpTo(table, "colgroup")
		h.begin(table, "colgroup")
	default:
		h.endUpTo(table)
		h.begin(table, "")
	}
}

// endUpTo ends what is further in than a part of a table; false where it has no such part open.
func (h *htmlReader) endUpTo(table int, parts ...string) bool {
	for i := len(h.open) - 1; i > table; i-- {
		if slices.Contains(parts, h.open[i].name) {
			if i+1 < len(h.open) {
				h.closeTo(i + 1)
			}
			return true
		}
	}
	return false
}

// begin ends all parts of a table and begins one, unless the innermost element is such a part: then that goes on.
func (h *htmlReader) begin(table int, part string) {
	if name := h.top().name; part != "" && len(h.open) > table+1 && (name == part || name == "thead" || name == "tfoot") {
		return
	}
	if len(h.open) > table+1 {
		h.closeTo(table + 1)
	}
	if part != "" {
		h.put(part)
	}
}

// put begins an element that no tag asks for.
func (h *htmlReader) put(name string) {
	h.before(tagBlock)
	h.start(name).html = htmlElement{facts: factsOf(name), edge: true}
}

func named(want string) func(string, tagFacts) bool {
	return func(name string, _ tagFacts) bool { return name == want }
}

func inScope(_ string, facts tagFacts) bool { return facts&tagScope != 0 }

func inButtonScope(name string, facts tagFacts) bool { return facts&tagScope != 0 || name == "button" }

// crosses tells whether ending the i-th element would reach over another that is no mere part of a line.
func (h *htmlReader) crosses(i int) bool {
	return slices.ContainsFunc(h.open[i+1:], func(e element) bool { return e.html.facts&tagSpecial != 0 || e.html.foreign })
}

func (h *htmlReader) endTag(name string) {
	switch {
	case name == "html" || name == "body": // what follows belongs into the body all the same
		return
	case name == "head":
		h.headEnded = true
		return
	case name == "br":
		h.startTag("br", false, false)
		return
	case h.outside(): // ends nothing
		return
	}
	if h.endForeign(name) {
		h.setCDATA()
		return
	}
	h.endHTML(name)
	h.setCDATA()
}

// endForeign ends an element of SVG or MathML.
func (h *htmlReader) endForeign(name string) bool {
	for i := len(h.open) - 1; i >= 3 && h.open[i].html.foreign; i-- {
		if h.open[i].name == name {
			h.closeTo(i)
			return true
		}
	}
	return false
}

func (h *htmlReader) endHTML(name string) {
	facts := factsOf(name)
	i := -1
	switch {
	case name == "p":
		if i = h.find(named("p"), inButtonScope); i < 0 {
			h.startTag("p", false, false)
			i = len(h.open) - 1
		}
	case facts&tagFormatting != 0:
		if i = h.find(named(name), inScope); i >= 0 && h.crosses(i) {
			h.stray(name)
			return
		}
	case name == "form":
		i = h.find(named("form"), inScope)
		if i >= 0 && slices.ContainsFunc(h.open[i+1:], func(e element) bool { return e.html.facts&tagImplied == 0 || e.html.foreign }) {
			h.stray(name)
			return
		}
	case isHeading(name):
		i = h.find(func(name string, _ tagFacts) bool { return isHeading(name) }, inScope)
	case name == "li":
		i = h.find(named("li"), func(name string, facts tagFacts) bool { return inScope(name, facts) || name == "ul" || name == "ol" })
	case name == "table" || facts&tagSpecial != 0 && facts&tagImplied != 0 && facts&tagEndsP == 0:
		i = h.find(named(name), func(name string, _ tagFacts) bool { return name == "table" || name == "template" })
	case name == "template":
		i = h.find(named(name), func(string, tagFacts) bool { return false })
	case facts&tagSpecial != 0 || name == "dialog":
		i = h.find(named(name), inScope)
	default:
		i = h.find(named(name), func(_ string, facts tagFacts) bool { return facts&tagSpecial != 0 })
	}
	switch {
	case i >= 0:
		h.closeTo(i)
	case h.crossed:
		h.stray(name)
	}
}

// stray keeps an end tag that cannot be made sense of here.
func (h *htmlReader) stray(name string) {
	h.crossed = true
	h.before(0)
	h.addText(h.name([]byte("/"+name)), "")
}
