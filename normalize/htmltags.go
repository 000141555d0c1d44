package normalize

// tagFacts is what HTML's parsing and layout know of an element by its name (WHATWG HTML, sections 13.2 and 15.3).
type tagFacts uint16

const (
	tagVoid       tagFacts = 1 << iota // has no content and no end tag
	tagBlock                           // white space at its edges is not seen
	tagUnseen                          // is not seen itself: white space goes on behind it
	tagFormatting                      // is opened anew by a browser where it was not closed
	tagSpecial                         // an end tag of another element does not reach over it
	tagScope                           // nor does any but a table's
	tagImplied                         // its end tag may be left out
	tagEndsP                           // ends a paragraph
	tagHead                            // belongs into the head before the body has begun
	tagBreaksOut                       // ends svg and math
	tagVerbatim                        // white space within counts
	tagHeading                         // is ended by the end tag of any
	tagThrough                         // does not end the search for an item's end
)

func factsOf(name string) tagFacts {
	switch name {
	case "p":
		return tagSpecial | tagBlock | tagEndsP | tagImplied | tagBreaksOut | tagThrough
	case "div":
		return tagSpecial | tagBlock | tagEndsP | tagBreaksOut | tagThrough
	case "address":
		return tagSpecial | tagBlock | tagEndsP | tagThrough
	case "h1", "h2", "h3", "h4", "h5", "h6":
		return tagSpecial | tagBlock | tagEndsP | tagBreaksOut | tagHeading
	case "ul", "ol", "dl", "menu", "center", "blockquote":
		return tagSpecial | tagBlock | tagEndsP | tagBreaksOut
	case "article", "aside", "details", "dir", "fieldset", "figcaption", "figure", "footer", "form", "header",
		"hgroup", "main", "nav", "search", "section", "summary":
		return tagSpecial | tagBlock | tagEndsP
	case "dialog":
		return tagBlock | tagEndsP
	case "pre", "listing":
		return tagSpecial | tagBlock | tagEndsP | tagBreaksOut | tagVerbatim
	case "xmp", "plaintext":
		return tagSpecial | tagBlock | tagEndsP | tagVerbatim
	case "li", "dd", "dt":
		return tagSpecial | tagBlock | tagEndsP | tagImplied | tagBreaksOut
	case "hr":
		return tagSpecial | tagBlock | tagEndsP | tagVoid | tagBreaksOut
	case "table":
		return tagSpecial | tagBlock | tagEndsP | tagScope | tagBreaksOut
	case "td", "th", "caption":
		return tagSpecial | tagBlock | tagScope | tagImplied
	case "tr", "tbody", "thead", "tfoot", "colgroup":
		return tagSpecial | tagBlock | tagImplied
	case "col":
		return tagSpecial | tagBlock | tagVoid
	case "html":
		return tagSpecial | tagBlock | tagScope
	case "body", "head":
		return tagSpecial | tagBlock | tagBreaksOut
	case "frameset":
		return tagSpecial | tagBlock
	case "frame":
		return tagSpecial | tagBlock | tagVoid
	case "option", "optgroup":
		return tagBlock | tagImplied
	case "legend":
		return tagBlock
	case "rb", "rp", "rt", "rtc":
		return tagImplied
	case "a", "font":
		return tagFormatting
	case "b", "big", "code", "em", "i", "nobr", "s", "small", "strike", "strong", "tt", "u":
		return tagFormatting | tagBreaksOut
	case "span", "sub", "sup", "var", "ruby":
		return tagBreaksOut
	case "br":
		return tagSpecial | tagBlock | tagVoid | tagBreaksOut
	case "img", "embed":
		return tagSpecial | tagVoid | tagBreaksOut
	case "area", "input", "keygen", "param", "source", "track", "wbr":
		return tagSpecial | tagVoid
	case "base", "basefont", "bgsound", "link":
		return tagSpecial | tagVoid | tagHead | tagUnseen
	case "meta":
		return tagSpecial | tagVoid | tagHead | tagUnseen | tagBreaksOut
	case "script", "style":
		return tagSpecial | tagHead | tagUnseen | tagVerbatim
	case "noframes", "noscript":
		return tagSpecial | tagHead | tagUnseen
	case "title":
		return tagSpecial | tagHead | tagBlock
	case "template":
		return tagSpecial | tagHead | tagUnseen | tagScope
	case "textarea":
		return tagSpecial | tagVerbatim
	case "applet", "object":
		return tagSpecial | tagScope
	case "marquee":
		return tagSpecial | tagScope | tagBlock
	case "button", "iframe", "noembed", "select":
		return tagSpecial
	}
	return 0
}

// isMarker tells whether formatting within an element ends with it, closed or not.
func isMarker(name string) bool {
	switch name {
	case "td", "th", "caption", "applet", "object", "marquee", "template":
		return true
	}
	return false
}

// isTablePart tells whether an element may hold, of what is seen, parts of a table alone.
func isTablePart(name string) bool {
	switch name {
	case "table", "tbody", "thead", "tfoot", "tr", "colgroup", "col":
		return true
	}
	return false
}

// isBoolean tells whether an attribute is true by being there, so that its own name as a value says no more than none.
func isBoolean(name string) bool {
	switch name {
	case "allowfullscreen", "async", "autofocus", "autoplay", "checked", "controls", "default", "defer", "disabled",
		"formnovalidate", "inert", "ismap", "itemscope", "loop", "multiple", "muted", "nomodule", "novalidate", "open",
		"playsinline", "readonly", "required", "reversed", "selected":
		return true
	}
	return false
}

// isIntegration tells whether HTML's own rules hold again within an element of SVG or MathML.
func isIntegration(name string) bool {
	switch name {
	case "foreignobject", "desc", "title", "mi", "mo", "mn", "ms", "mtext", "annotation-xml":
		return true
	}
	return false
}

// isForeignText tells whether white space within an element of SVG or MathML may be seen.
func isForeignText(name string) bool {
	switch name {
	case "text", "tspan", "textpath", "a":
		return true
	}
	return false
}
