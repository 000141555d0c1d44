package normalize

import (
	"bytes"
	"io"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/net/html"
)

// maxTags is how deep HTML may nest; browsers make it no deeper either.
const maxTags = 512

// maxAttrs bounds the attributes of one element of HTML: the tokenizer looks through as many places for every later tag.
const maxAttrs = 4096

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
	opened    map[string]int // how many elements of each name are open
	tags      []openTag      // of the open elements, the document too: what is looked through for every tag
	rootAttrs []Member       // of html, from all its tags
	bodyAttrs []Member
	hasHead   bool
	headEnded bool
	hasBody   bool
	crossed   bool   // an end tag was out of place, and all that end nothing count from now on
	standard  bool   // the doctype is that of no quirks, in which a table ends a paragraph
	newline   bool   // the next text's first newline does not count
	refused   string // why it is given up
}

// openTag is what end tags ask of an open element.
type openTag struct {
	name    string
	facts   tagFacts
	foreign bool // in SVG or MathML
	barrier bool // the same, but HTML within
}

// wanted says which open elements are looked for and what they are not looked for behind.
type wanted struct {
	name, or   string   // "" is none
	facts      tagFacts // or one of these
	bars       tagFacts
	barA, barB string
	except     tagFacts // does not bar
}

// html reads an HTML document or a part of one (WHATWG HTML, section 13).
func (r *reader) html(data []byte) (root Value, why string, ok bool) {
	data = bytes.TrimPrefix(data, []byte(bom))
	h := htmlReader{markup: markup{reader: r}, opened: map[string]int{}, tokens: html.NewTokenizer(bytes.NewReader(data))}
	h.enter("", htmlElement{})
	for {
		kind := h.tokens.Next()
		if kind == html.ErrorToken {
			break
		}
		h.token(kind)
		switch {
		case h.failed:
			return Value{}, noMemory, false
		case h.refused != "":
			return Value{}, h.refused, false
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
			doctype := strings.TrimSpace(strings.ToLower(name) + " " + more)
			h.standard = doctype == "html"
			h.addText(doctypeKey, textOf(doctype))
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
		h.enter("html", htmlElement{facts: factsOf("html"), root: true, edge: true})
	}
}

func (h *htmlReader) needHead() {
	h.needRoot()
	if !h.hasHead {
		h.hasHead = true
		h.enter("head", htmlElement{facts: factsOf("head"), edge: true})
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
	h.enter("body", htmlElement{facts: factsOf("body"), edge: true})
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
	h.leave()
}

// enter opens an element.
func (h *htmlReader) enter(name string, e htmlElement) {
	h.start(name).html = e
	h.tags = append(h.tags, openTag{name, e.facts, e.foreign, e.foreign && e.integration})
	h.opened[name]++
}

// leave closes the innermost element without a look at its white space.
func (h *htmlReader) leave() {
	h.end()
	last := len(h.tags) - 1
	h.opened[h.tags[last].name]--
	h.tags = h.tags[:last]
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

// find is the innermost open element that is wanted; minus one where there is none or one that bars it is further in.
func (h *htmlReader) find(w wanted) int {
	if w.facts == 0 && h.opened[w.name] == 0 && (w.or == "" || h.opened[w.or] == 0) {
		return -1
	}
	for i := len(h.tags) - 1; i >= 3; i-- { // the document, html, head and body are ended by nothing
		tag := &h.tags[i]
		switch {
		case tag.foreign:
			if tag.barrier {
				return -1
			}
		case tag.name == w.name || tag.name == w.or || tag.facts&w.facts != 0:
			return i
		case tag.facts&w.bars != 0 && tag.facts&w.except == 0 || tag.name == w.barA || tag.name == w.barB:
			return -1
		}
	}
	return -1
}
