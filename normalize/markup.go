package normalize

import (
	"slices"
	"strings"
)

const (
	textKey    = "#text"
	doctypeKey = "!doctype"
	childMark  = "\uFFFC" // stands in an element's text between pieces that children stand between

	// literalMark is that character in a text itself. It cannot be taken for anything else: no bad byte is ASCII.
	literalMark = "\xFF\x00"
)

// markup builds the tree of an HTML or XML document from its tags and texts. The children of all open elements are on
// stacks of its own, so that no nesting costs Go's.
type markup struct {
	*reader
	open   []element
	names  []string // of all children in order, texts among them
	keys   []string // of children that are no texts
	values []Value  // the same
	attrs  []Member // of open elements
	order  []int32  // scratch of closing
	known  map[string]string
	failed bool // for want of memory
}

// element is an open element. The first is the document itself.
type element struct {
	name                 string // its key in its parent
	names, values, attrs int    // where its own begin on the stacks
	text                 []byte

	html htmlElement // of HTML only
	xml  xmlElement  // of XML only
}

// start opens an element. What is answered holds until the next one opens.
func (m *markup) start(name string) *element {
	if len(m.open) == cap(m.open) && !growStack(&m.budget, &m.open) {
		m.failed = true
		m.open = append(m.open, element{})[:len(m.open)]
	}
	m.open = m.open[:len(m.open)+1]
	e := m.top()
	*e = element{name: name, names: len(m.names), values: len(m.values), attrs: len(m.attrs), text: e.text[:0]}
	return e
}

func (m *markup) top() *element { return &m.open[len(m.open)-1] }

// attr adds an attribute to the innermost element.
func (m *markup) attr(key, value string) {
	if len(m.attrs) == cap(m.attrs) && !growStack(&m.budget, &m.attrs) || !m.budget.take(int64(len(value))) {
		m.failed = true
		return
	}
	m.attrs = append(m.attrs, Member{Key: key, Value: stringValue(value)})
}

// write appends a text, as Value.Text holds it, to the innermost element.
func (m *markup) write(text string) {
	e := m.top()
	if text == "" {
		return
	}
	if len(m.names) == e.names || m.names[len(m.names)-1] != textKey {
		if len(e.text) > 0 {
			e.text = append(e.text, childMark...)
		}
		m.push(textKey)
	}
	if strings.Contains(text, childMark) {
		text = strings.ReplaceAll(text, childMark, literalMark)
	}
	e.text = append(e.text, text...)
}

func (m *markup) push(name string) {
	if len(m.names) == cap(m.names) && !growStack(&m.budget, &m.names) {
		m.failed = true
		return
	}
	m.names = append(m.names, name)
}

// add adds a child that is no text to the innermost element.
func (m *markup) add(key string, v *Value) {
	if len(m.values) == cap(m.values) && (!growStack(&m.budget, &m.values) || !growStack(&m.budget, &m.keys)) {
		m.failed = true
		return
	}
	m.keys, m.values = append(m.keys, key), append(m.values, *v)
	m.push(key)
}

// addText adds a child that is a string.
func (m *markup) addText(key, text string) {
	v := stringValue(text)
	m.add(key, &v)
}

// end closes the innermost element.
func (m *markup) end() {
	e := m.top()
	v := m.element(e)
	m.names, m.attrs = m.names[:e.names], m.attrs[:e.attrs]
	m.keys, m.values = m.keys[:e.values], m.values[:e.values]
	m.open = m.open[:len(m.open)-1]
	if !m.failed {
		m.add(e.name, &v)
	}
}

// document closes all that is open and answers the tree.
func (m *markup) document() (Value, bool) {
	for len(m.open) > 1 {
		m.end()
	}
	return m.element(m.top()), !m.failed
}

// element makes the object of an element whose children are all there.
func (m *markup) element(e *element) Value {
	attrs, keys, values := firstOfEach(m.attrs[e.attrs:]), m.keys[e.values:], m.values[e.values:]
	order, groups := m.byKey(keys)
	if len(e.text) > 0 {
		groups++
	}
	members, ok := m.members(len(attrs) + groups)
	if !ok || m.failed || !m.budget.take(int64(len(e.text))) {
		m.failed = true
		return Value{}
	}
	n := copy(members, attrs)
	if len(e.text) > 0 {
		members[n] = Member{Key: textKey, Value: stringValue(string(e.text))}
		n++
	}
	for ; len(order) > 0; n++ {
		key, count := keys[order[0]], 1
		for count < len(order) && keys[order[count]] == key {
			count++
		}
		members[n] = Member{Key: key, Value: m.group(e, key, order[:count], values)}
		order = order[count:]
	}
	slices.SortFunc(members, func(a, b Member) int { return strings.Compare(a.Key, b.Key) })
	v := Value{Type: Object, Members: members}
	if groups > 1 {
		v.Special = &Special{Sequence: strings.Join(m.names[e.names:], " ")}
		if !m.budget.take(int64(len(v.Special.Sequence)) + 128) {
			m.failed = true
		}
	}
	v.rehash()
	return v
}

// group is the array of the children under one key, or the child itself where there is only one in every document.
func (m *markup) group(e *element, key string, order []int32, values []Value) Value {
	if len(order) == 1 && m.isSingle(e, key) {
		return values[order[0]]
	}
	items, ok := m.reader.values(len(order))
	if !ok {
		m.failed = true
		return Value{}
	}
	for i := range items {
		items[i] = values[order[i]]
	}
	return arrayValue(items)
}

// isSingle tells of a child whether there is one only: the document's root and doctype, and HTML's head and body.
func (m *markup) isSingle(parent *element, key string) bool {
	if parent == &m.open[0] {
		return key[0] != '?'
	}
	return parent.html.root && (key == "head" || key == "body")
}

// firstOfEach sorts attributes by key and keeps the first of each.
func firstOfEach(attrs []Member) []Member {
	if !ascending(attrs) {
		slices.SortStableFunc(attrs, func(a, b Member) int { return strings.Compare(a.Key, b.Key) })
		attrs = slices.CompactFunc(attrs, func(a, b Member) bool { return a.Key == b.Key })
	}
	return attrs
}

// byKey is the order of children by key, those of one key in the order sent, and how many keys there are.
func (m *markup) byKey(keys []string) (order []int32, distinct int) {
	order = m.order[:0]
	sorted := true
	for i := range keys {
		order = append(order, int32(i))
		sorted = sorted && (i == 0 || keys[i-1] <= keys[i])
	}
	m.order = order
	if !sorted {
		slices.SortStableFunc(order, func(a, b int32) int { return strings.Compare(keys[a], keys[b]) })
	}
	for i := range order {
		if i == 0 || keys[order[i]] != keys[order[i-1]] {
			distinct++
		}
	}
	return order, distinct
}

// name keeps one string of each name.
func (m *markup) name(b []byte) string {
	if s, ok := m.known[string(b)]; ok {
		return s
	}
	s := textOf(string(b))
	if m.known == nil {
		m.known = map[string]string{}
	}
	m.known[string(b)] = s
	if !m.budget.take(int64(2*len(s)) + 64) {
		m.failed = true
	}
	return s
}
