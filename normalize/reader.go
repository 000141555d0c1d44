package normalize

import (
	"bytes"
	"strings"
	"unsafe"
)

// reader reads one body, and what is in it in its turn, into Values. Its memory is that of the body.
type reader struct {
	n      *Normalizer
	budget budget
	arena  *arena // of all trees of the body; nil until there is one
	like   *Body  // whose JSON that of this body is probably much like, or nil
	note   string // what a person should know of what was read
}

// read reads a body as the tree that it is. Why says what is wrong with one whose label promises a tree.
func (r *reader) read(data, chars []byte, l *label) (root Value, kind BodyKind, why string, ok bool) {
	switch {
	case l.sequence || isSequence(chars):
		root, why, ok = r.sequence(chars)
		if !l.sequence {
			why = ""
		}
		return root, JSON, not(JSON, why), ok
	case l.json || l.records || looksJSON(chars):
		if root, why, ok = r.labelled(chars, l.records); ok || r.budget.refused {
			if hasBOM(chars) {
				r.note = "a byte-order mark is ignored"
			}
			return root, JSON, "", ok
		}
		if l.json || l.records {
			r.note = not(JSON, why)
		}
	}
	if strings.HasPrefix(l.media, "multipart/") {
		root, why, ok = r.multipart(data, l, 1)
		return root, Multipart, not(Multipart, why), ok
	}
	return r.tree(chars, l)
}

// tree reads what is no JSON as the tree that its label promises; XML also where it begins with its declaration.
func (r *reader) tree(chars []byte, l *label) (root Value, kind BodyKind, why string, ok bool) {
	switch {
	case l.html:
		kind = HTML
		root, why, ok = r.html(chars)
	case l.xml || hasXMLDeclaration(chars):
		kind = XML
		root, why, ok = r.xml(chars, l)
	case l.media == mediaForm:
		kind = Form
		root, why, ok = r.form(chars)
	case l.media == mediaEvents:
		kind = Events
		root, why, ok = r.events(chars)
	}
	return root, kind, not(kind, why), ok
}

// not writes why a body is not what it should be.
func not(kind BodyKind, why string) string {
	if why == "" {
		return ""
	}
	return "not " + kind.String() + ": " + why
}

// labelled reads a JSON text, or records, each on a line of its own. One text over several lines, as an error is often
// written, is itself and no record; several are nothing to those who read records by lines.
func (r *reader) labelled(data []byte, records bool) (root Value, why string, ok bool) {
	if root, why, ok = r.json(data, records); !ok || !records {
		return root, why, ok
	}
	for i := range root.Items {
		if bytes.IndexByte(root.Items[i].Raw, '\n') < 0 {
			continue
		}
		if len(root.Items) > 1 {
			return Value{}, "a record over several lines", false
		}
		return r.json(data, false)
	}
	return root, "", true
}

// json reads a JSON text, or with records several in lines; why says what is wrong with it.
func (r *reader) json(data []byte, records bool) (root Value, why string, ok bool) {
	p := r.n.parserFor(len(data), r.like != nil)
	spare := p.arena
	if r.arena != nil {
		p.arena = r.arena
	}
	p.budget = r.budget
	if r.like != nil {
		p.follow(r.like.Root, r.like.Bytes)
	}
	ok = p.parse(data, records)
	root, why, r.arena, r.budget = p.root, p.failure, p.arena, p.budget
	if p.arena == spare {
		spare = nil
	}
	p.arena = spare
	r.n.release(p)
	return root, why, ok
}

// values makes room for so many values.
func (r *reader) values(n int) ([]Value, bool) {
	r.needArena()
	return r.arena.items.carve(&r.budget, n)
}

// members makes room for so many members.
func (r *reader) members(n int) ([]Member, bool) {
	r.needArena()
	return r.arena.members.carve(&r.budget, n)
}

func (r *reader) needArena() {
	if r.arena == nil {
		r.arena = r.n.arenaFor(false, false)
	}
}

// charge takes the memory of so many members off the budget.
func (r *reader) charge(n int) bool { return r.budget.take(int64(n) * int64(unsafe.Sizeof(Member{}))) }

func stringValue(text string) Value {
	return Value{Type: String, Text: text, Size: 1, Hash: hashText(text, saltText)}
}

// arrayValue is the array of these elements.
func arrayValue(items []Value) Value {
	for i := range items {
		items[i].Index = i
	}
	v := Value{Type: Array, Items: items}
	v.rehash()
	return v
}

// objectValue is the object of these members, which are sorted and each of a key of its own.
func objectValue(members []Member) Value {
	v := Value{Type: Object, Members: members}
	v.rehash()
	return v
}
