package normalize

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// maxElements is how deep XML may nest: each element is an object in an array.
const maxElements = MaxDepth / 2

const (
	spaceXML   = "http://www.w3.org/XML/1998/namespace"
	spaceXSI   = "http://www.w3.org/2001/XMLSchema-instance"
	spaceXLink = "http://www.w3.org/1999/xlink"
)

// xmlElement is what an open element of XML has beside.
type xmlElement struct {
	number   int
	sent     string // its name in the tags
	space    string // its namespace
	preserve bool   // xml:space: white space counts
	hides    int    // how many declarations of prefixes were in force before its own
	children bool   // it has elements within
	words    bool   // it has text other than white space
}

// xmlReader reads XML into a tree. It asks the standard library for tokens as they were sent and sees itself to what that
// leaves open: that tags match, that there is one root, namespaces, and attributes that stand twice. Nothing external is
// looked at and no entity expanded but those that XML itself has.
type xmlReader struct {
	markup
	decoder  *xml.Decoder
	data     []byte
	spaces   map[string]namespace // of the prefixes in force; "" is the default one
	hidden   []declaration        // what the declarations of open elements hide
	doctype  bool
	hasRoot  bool
	number   int   // of the element that began last
	previous int64 // where the token before ended
}

// namespace is what a prefix stands for, and how many elements were open where it was declared.
type namespace struct {
	uri   string
	level int
	used  int // the element, by number, that has said last what the prefix stands for
}

// declaration is a prefix and what it stood for before; absent when that was nothing.
type declaration struct {
	prefix string
	before namespace
	absent bool
}

// xml reads an XML document (XML 1.0, Namespaces in XML 1.0).
func (r *reader) xml(data []byte, l *label) (root Value, why string, ok bool) {
	data = bytes.TrimPrefix(data, []byte(bom))
	x := xmlReader{markup: markup{reader: r}, data: data, spaces: map[string]namespace{"xml": {uri: spaceXML}}}
	x.decoder = xml.NewDecoder(bytes.NewReader(data))
	x.decoder.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil } // it is UTF-8 by now
	if l.media == "application/xhtml+xml" {
		x.decoder.Entity = xml.HTMLEntity
	}
	x.start("")
	for {
		token, err := x.decoder.RawToken()
		if err == io.EOF {
			break
		}
		if err == nil {
			err = x.token(token)
		}
		switch {
		case x.failed:
			return Value{}, noMemory, false
		case err != nil:
			return Value{}, strings.TrimPrefix(err.Error(), "XML syntax error on "), false
		}
		x.previous = x.decoder.InputOffset()
	}
	if !x.hasRoot || len(x.open) > 1 {
		return Value{}, "it ends early", false
	}
	root, ok = x.document()
	return root, noMemory, ok
}

// sent is the current token as it was sent.
func (x *xmlReader) sent() []byte { return x.data[x.previous:x.decoder.InputOffset()] }

func (x *xmlReader) token(token xml.Token) error {
	inside := len(x.open) > 1
	switch t := token.(type) {
	case xml.StartElement:
		if x.hasRoot && !inside {
			return errors.New("more than one root element")
		}
		return x.startElement(t)
	case xml.EndElement:
		return x.endElement(t)
	case xml.CharData:
		return x.characters(t, inside)
	case xml.ProcInst:
		if t.Target != "xml" {
			x.addText("?"+t.Target, textOf(string(t.Inst)))
		} else if x.previous > 0 {
			return errors.New("the declaration is not at the beginning")
		}
	case xml.Directive:
		if inside || x.hasRoot || x.doctype || !bytes.HasPrefix(t, []byte("DOCTYPE")) {
			return errors.New("a declaration out of place")
		}
		x.doctype = true
		x.addText(doctypeKey, doctypeText(string(t[len("DOCTYPE"):])))
	case nil:
		return errors.New("an empty token")
	}
	return nil
}

// doctypeText is a document type declaration with single spaces, unless it has a subset, in which they may count.
func doctypeText(text string) string {
	if strings.Contains(text, "[") {
		return textOf(strings.TrimSpace(text))
	}
	return textOf(strings.Join(strings.Fields(text), " "))
}

func (x *xmlReader) characters(text xml.CharData, inside bool) error {
	blank := len(bytes.Trim(text, " \t\r\n")) == 0
	if !inside {
		if !blank {
			return errors.New("text outside the root element")
		}
		return nil
	}
	if bytes.Count(text, []byte("\uFFFD")) > bytes.Count(x.sent(), []byte("\uFFFD")) {
		return errors.New("a reference to a surrogate")
	}
	e := x.top()
	e.xml.words = e.xml.words || !blank
	plain := string(text)
	x.write(plain)
	if !blank {
		x.usedPrefixes(plain)
	}
	return nil
}

func (x *xmlReader) startElement(t xml.StartElement) error {
	if len(x.open) > maxElements {
		return fmt.Errorf("it nests over %d levels", maxElements)
	}
	x.top().xml.children = true
	above := x.top().xml
	x.hasRoot = true
	e := x.start("")
	x.number++
	e.xml = xmlElement{number: x.number, sent: sentName(t.Name), preserve: above.preserve, hides: len(x.hidden)}
	if err := x.checkTag(t.Attr); err != nil {
		return err
	}
	for _, a := range t.Attr {
		if err := x.declare(a); err != nil {
			return err
		}
	}
	space, declared := x.spaces[t.Name.Space]
	switch {
	case t.Name.Space != "" && !declared:
		e.name, e.xml.space = x.name([]byte(e.xml.sent)), ""
	default:
		e.name, e.xml.space = x.name([]byte(t.Name.Local)), space.uri
	}
	if e.xml.space != above.space {
		x.attr("@xmlns", textOf(e.xml.space))
	}
	for _, a := range t.Attr {
		x.attribute(e, a)
	}
	return x.checkAttributes(e)
}

// sentName is a name with its prefix.
func sentName(n xml.Name) string {
	if n.Space == "" {
		return n.Local
	}
	return n.Space + ":" + n.Local
}

// isDeclaration tells whether an attribute declares a namespace, and for which prefix.
func isDeclaration(n xml.Name) (prefix string, ok bool) {
	switch {
	case n.Space == "xmlns":
		return n.Local, true
	case n.Space == "" && n.Local == "xmlns":
		return "", true
	}
	return "", false
}

// declare puts a declaration of a namespace in force.
func (x *xmlReader) declare(a xml.Attr) error {
	prefix, ok := isDeclaration(a.Name)
	if !ok {
		return nil
	}
	before, declared := x.spaces[prefix]
	if declared && before.level == len(x.open) {
		return fmt.Errorf("xmlns:%s stands twice", shorten(prefix, 32))
	}
	x.hidden = append(x.hidden, declaration{prefix, before, !declared})
	if !x.budget.take(int64(len(prefix)+len(a.Value)) + 128) {
		x.failed = true
	}
	x.spaces[prefix] = namespace{uri: a.Value, level: len(x.open)}
	return nil
}

// attribute adds an attribute that declares no namespace.
func (x *xmlReader) attribute(e *element, a xml.Attr) {
	if _, ok := isDeclaration(a.Name); ok {
		return
	}
	space, declared := "", true
	if a.Name.Space != "" { // the default namespace is none for attributes
		var found namespace
		found, declared = x.spaces[a.Name.Space]
		space = found.uri
	}
	key := "@" + a.Name.Local
	switch {
	case !declared:
		key = "@{}" + sentName(a.Name)
	case space == spaceXML:
		key = "@xml:" + a.Name.Local
		if a.Name.Local == "space" {
			e.xml.preserve = a.Value == "preserve"
		}
	case space == spaceXSI:
		key = "@xsi:" + a.Name.Local
		if a.Name.Local == "type" {
			x.attr(key, textOf(x.qualified(a.Value)))
			return
		}
	case space == spaceXLink:
		key = "@xlink:" + a.Name.Local
	case space != "":
		key = "@{" + space + "}" + a.Name.Local
	}
	x.attr(x.name([]byte(key)), textOf(a.Value))
	x.usedPrefixes(a.Value)
}

// qualified writes a name that is a value with its namespace, if its prefix is declared.
func (x *xmlReader) qualified(value string) string {
	value = strings.Trim(value, " \t\r\n")
	prefix, local, ok := strings.Cut(value, ":")
	if !ok {
		prefix, local = "", value
	}
	if space, declared := x.spaces[prefix]; declared && space.uri != "" {
		return "{" + space.uri + "}" + local
	}
	return value
}

// usedPrefixes looks for prefixes in a text that may be names, as XPath and SOAP's faults have them, and makes what they
// stand for a part of the element: the same prefix of another namespace is not the same.
func (x *xmlReader) usedPrefixes(text string) {
	if len(x.spaces) == 1 {
		return
	}
	for from := 0; ; {
		colon := strings.IndexByte(text[from:], ':')
		if colon < 0 {
			return
		}
		colon += from
		start := colon
		for start > from && isPrefixByte(text[start-1]) {
			start--
		}
		prefix := text[start:colon]
		if space, ok := x.spaces[prefix]; ok && prefix != "" && prefix != "xml" && space.used != x.top().xml.number {
			space.used = x.top().xml.number
			x.spaces[prefix] = space
			x.attr(x.name([]byte("@xmlns:"+prefix)), textOf(space.uri))
		}
		from = colon + 1
	}
}

func isPrefixByte(c byte) bool { return isNameByte(c) && c != '$' && c != '@' || c == '.' }

// checkTag looks at a start tag as it was sent for what the standard library takes and XML does not, and makes line breaks
// within attributes the spaces that they stand for (XML 1.0, section 3.3.3).
func (x *xmlReader) checkTag(attrs []xml.Attr) error {
	if len(attrs) == 0 {
		return nil
	}
	tag := x.sent()
	references, breaks := bytes.Contains(tag, []byte("&#")), false
	for at := 0; at < len(tag); {
		open := bytes.IndexAny(tag[at:], `"'`)
		if open < 0 {
			break
		}
		open += at
		end := open + 1 + bytes.IndexByte(tag[open+1:], tag[open])
		breaks = breaks || bytes.ContainsAny(tag[open:end], "\t\r\n")
		if at = end + 1; at < len(tag) && !bytes.ContainsRune([]byte(" \t\r\n/>"), rune(tag[at])) {
			return errors.New("no space between two attributes")
		}
	}
	if references {
		marks := 0
		for _, a := range attrs {
			marks += strings.Count(a.Value, "\uFFFD")
		}
		if marks > bytes.Count(tag, []byte("\uFFFD")) {
			return errors.New("a reference to a surrogate")
		}
	}
	switch {
	case breaks && references: // which break was which is not known any more
		x.attr("!tag", textOf(string(tag)))
	case breaks:
		for i := range attrs {
			attrs[i].Value = strings.NewReplacer("\n", " ", "\t", " ", "\r", " ").Replace(attrs[i].Value)
		}
	}
	return nil
}

// checkAttributes refuses attributes that stand twice. What usedPrefixes adds may, and is the same then.
func (x *xmlReader) checkAttributes(e *element) error {
	attrs := x.attrs[e.attrs:]
	if len(attrs) < 2 {
		return nil
	}
	slices.SortFunc(attrs, func(a, b Member) int { return strings.Compare(a.Key, b.Key) })
	for i := 1; i < len(attrs); i++ {
		if key := attrs[i].Key; key == attrs[i-1].Key && !strings.HasPrefix(key, "@xmlns:") {
			return fmt.Errorf("the attribute %s stands twice", shorten(key[1:], 64))
		}
	}
	return nil
}

func (x *xmlReader) endElement(t xml.EndElement) error {
	if len(x.open) < 2 || x.top().xml.sent != sentName(t.Name) {
		return fmt.Errorf("</%s> is out of place", shorten(sentName(t.Name), 64))
	}
	e := x.top()
	if e.xml.children && !e.xml.words && !e.xml.preserve {
		e.text = e.text[:0]
		names := slices.DeleteFunc(x.names[e.names:], func(name string) bool { return name == textKey })
		x.names = x.names[:e.names+len(names)]
	}
	for _, d := range slices.Backward(x.hidden[e.xml.hides:]) {
		if x.spaces[d.prefix] = d.before; d.absent {
			delete(x.spaces, d.prefix)
		}
	}
	x.hidden = x.hidden[:e.xml.hides]
	x.end()
	return nil
}
