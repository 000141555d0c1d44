package normalize

import (
	"bytes"
	"fmt"
	"slices"
)

// What start and end tags do to the tree of HTML.

// startTag puts an element into the tree, where it may stand, or what the tag says into one that is there.
func (h *htmlReader) startTag(name string, attrs, selfClosing bool) {
	facts := factsOf(name)
	if h.ofPage(name, attrs) {
		return
	}
	if h.outside() {
		h.beginPart(name, facts)
	}
	if len(h.open) > maxTags {
		h.refused = fmt.Sprintf("it nests over %d levels", maxTags)
		return
	}
	if e := h.top(); e.html.foreign && !e.html.integration {
		if !h.breaksOut(name, facts, attrs) {
			h.foreign(name, attrs, selfClosing)
			return
		}
	}
	h.makeRoom(name, facts)
	if isTablePart(h.top().name) && !isTablePart(name) && facts&(tagUnseen|tagScope) == 0 { // browsers move it out of the table
		h.crossed = true
	}
	if name == "svg" || name == "math" {
		h.foreign(name, attrs, selfClosing)
		return
	}
	h.before(facts)
	verbatim := h.top().html.facts & tagVerbatim
	h.enter(name, htmlElement{facts: facts | verbatim, edge: facts&tagBlock != 0 || name == "button"})
	h.addAttrs(attrs)
	if selfClosing && facts&tagVoid == 0 && h.inForeign() {
		h.attr("!empty", "") // whether that counts is not sure there
	}
	switch {
	case facts&tagVoid != 0:
		h.leave()
	case name == "pre" || name == "listing" || name == "textarea":
		h.newline = true
	case name == "noscript":
		h.tokens.NextIsNotRawText()
	}
}

// ofPage takes the tags of the page's own parts, html, head and body, which are there without them; false: it is another.
func (h *htmlReader) ofPage(name string, attrs bool) bool {
	if name != "html" && name != "head" && name != "body" {
		return false
	}
	switch {
	case h.inTemplate() || h.inForeign(): // no element, but what follows may go otherwise
		h.crossed = true
		h.before(0)
		h.addText("!"+name, "")
	case name == "html":
		h.needRoot()
		h.keepAttrs(&h.rootAttrs, attrs)
	case name == "head":
		if h.needRoot(); !h.hasHead {
			h.needHead()
			h.addAttrs(attrs)
		}
	default:
		h.needBody()
		h.keepAttrs(&h.bodyAttrs, attrs)
	}
	return true
}

// beginPart begins the head or the body for an element that stands in neither.
func (h *htmlReader) beginPart(name string, facts tagFacts) {
	if facts&tagHead != 0 && !(name == "noscript" && h.headEnded) {
		h.needHead()
		return
	}
	h.needBody()
	if name == "frameset" { // which is nothing behind a body
		h.bodyAttrs = append(h.bodyAttrs, Member{Key: "!frameset", Value: stringValue("")})
	}
}

// inForeign tells whether some open element is of SVG or MathML.
func (h *htmlReader) inForeign() bool {
	return slices.ContainsFunc(h.tags, func(t openTag) bool { return t.foreign })
}

func (h *htmlReader) inTemplate() bool {
	return slices.ContainsFunc(h.tags, func(t openTag) bool { return t.name == "template" && !t.foreign })
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
	h.enter(name, htmlElement{facts: facts, foreign: true, integration: isIntegration(name), edge: facts&tagBlock != 0})
	h.addAttrs(attrs)
	h.tokens.NextIsNotRawText()
	if selfClosing {
		h.leave()
	}
	h.setCDATA()
}

func (h *htmlReader) setCDATA() {
	e := h.top()
	h.tokens.AllowCDATA(e.html.foreign && !e.html.integration)
}

// addAttrs adds the tag's attributes to the innermost element.
func (h *htmlReader) addAttrs(more bool) {
	for from := h.top().attrs; more && h.mayHave(len(h.attrs)-from); {
		var key, value []byte
		key, value, more = h.tokens.TagAttr()
		h.attr(h.attribute(key, value))
	}
}

// keepAttrs adds them to those that html and body get in the end. The first of each name counts.
func (h *htmlReader) keepAttrs(list *[]Member, more bool) {
	for more && h.mayHave(len(*list)) {
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

// mayHave tells whether one may follow so many attributes.
func (h *htmlReader) mayHave(n int) bool {
	if n >= maxAttrs {
		h.refused = fmt.Sprintf("a tag has over %d attributes", maxAttrs)
	}
	return n < maxAttrs
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
		if i := h.find(wanted{name: "a", bars: tagScope}); i >= 0 && !h.crosses(i) {
			h.closeTo(i)
		}
	case "button":
		if i := h.find(wanted{name: "button", bars: tagScope}); i >= 0 {
			h.closeTo(i)
		}
	case "caption", "colgroup", "col", "tbody", "thead", "tfoot", "tr", "td", "th":
		h.tablePart(name)
		return
	}
	if facts&tagEndsP != 0 && (name != "table" || h.standard) {
		if i := h.find(paragraph()); i >= 0 {
			h.closeTo(i)
		}
	}
	if facts&h.top().html.facts&tagHeading != 0 {
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
	i := h.find(wanted{name: a, or: b, bars: tagSpecial, except: tagThrough})
	if i >= 0 {
		h.closeTo(i)
	}
}

// tablePart ends the parts of the table that another part ends, and begins those that it needs around it.
func (h *htmlReader) tablePart(name string) {
	table := h.find(wanted{name: "table", barA: "template"})
	if table < 0 { // a fragment for a table; in a page browsers pass over the tag
		h.crossed = true
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
	h.enter(name, htmlElement{facts: factsOf(name), edge: true})
}

func paragraph() wanted { return wanted{name: "p", bars: tagScope, barA: "button"} }

// crosses tells whether ending the i-th element would reach over another that is no mere part of a line.
func (h *htmlReader) crosses(i int) bool {
	return slices.ContainsFunc(h.tags[i+1:], func(t openTag) bool { return t.facts&tagSpecial != 0 || t.foreign })
}

func (h *htmlReader) endTag(name string) {
	switch {
	case name == "html" || name == "body": // what follows belongs into the body all the same
		if h.outside() {
			h.needBody()
		}
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
	for i := len(h.tags) - 1; i >= 3 && h.tags[i].foreign; i-- {
		if h.tags[i].name == name {
			h.closeTo(i)
			return true
		}
	}
	return false
}

func (h *htmlReader) endHTML(name string) {
	facts := factsOf(name)
	w := wanted{name: name, bars: tagScope}
	switch {
	case name == "p":
		w = paragraph()
	case facts&tagFormatting != 0 || name == "form":
	case facts&tagHeading != 0:
		w.facts = tagHeading
	case name == "li":
		w.barA, w.barB = "ul", "ol"
	case name == "table" || facts&tagSpecial != 0 && facts&tagImplied != 0 && facts&tagEndsP == 0:
		w.bars, w.barA, w.barB = 0, "table", "template"
	case name == "template":
		w.bars = 0
	case facts&tagSpecial == 0 && name != "dialog":
		w.bars = tagSpecial
	}
	i := h.find(w)
	switch {
	case name == "p" && i < 0 && h.hasBody && !h.crossed && !h.inTemplate():
		h.startTag("p", false, false)
		i = len(h.open) - 1
	case i >= 0 && (facts&tagFormatting != 0 && h.crosses(i) || name == "form" && !h.allImplied(i)):
		h.stray(name)
		return
	}
	switch {
	case i >= 0:
		h.closeTo(i)
	case h.crossed || !h.hasBody || h.inTemplate():
		h.stray(name)
	}
}

// allImplied tells whether all elements within the i-th need no end tag.
func (h *htmlReader) allImplied(i int) bool {
	return !slices.ContainsFunc(h.tags[i+1:], func(t openTag) bool { return t.facts&tagImplied == 0 || t.foreign })
}

// stray keeps an end tag that cannot be made sense of here.
func (h *htmlReader) stray(name string) {
	h.crossed = true
	h.before(0)
	h.addText(h.name([]byte("/"+name)), "")
}
