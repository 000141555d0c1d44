package normalize

import "strings"

// shapes are the keys of objects as they were sent. The objects of a list have the same keys in the same order, nearly
// always: so each is read as one that looks like the one before it in its place. A key is then compared with what is
// foreseen instead of being scanned, hashed and sorted, and its value is read into its place at once.
type shapes struct{ keys []shapeKey }

// shape is where in shapes the keys of an object begin.
type shape int

const (
	noShape   = shape(-1)
	maxShape  = 64      // keys of an object; those with more are maps
	maxShapes = 4 << 10 // keys of all together, so that they cost little where they help nothing
)

// shapeKey is one key of an object.
type shapeKey struct {
	quoted string // as sent, the quotes included
	key    string
	start  int    // of quoted, in the text
	hash   uint64 // of key, as in its object's
	at     int32  // its place among the keys in order
	more   int32  // how many of the object's follow
	value  shape  // of the object, or of the elements of the array, that is the value
}

// expected is the shape of the container that begins, or if it is an array that of its elements.
func (p *parser) expected() shape {
	if len(p.frames) == 0 {
		return noShape
	}
	top := &p.frames[len(p.frames)-1]
	switch {
	case !top.object:
		return top.shape
	case top.out != nil:
		return p.shapes.keys[int(top.shape)+top.read].value
	}
	return noShape
}

// expect notes the shape of the container that has ended for the next in its place. After a surprise that makes none
// nothing is foreseen there any more: else each small object could take the memory of a large one.
func (p *parser) expect(s shape) {
	if len(p.frames) == 0 {
		return
	}
	top := &p.frames[len(p.frames)-1]
	switch {
	case !top.object:
		top.shape = s
	case top.out != nil:
		p.shapes.keys[int(top.shape)+top.read].value = s
	}
}

// lay makes the places of the members that are foreseen.
func (p *parser) lay(top *frame) (ok bool) {
	n := int(p.shapes.keys[top.shape].more) + 1
	top.out, ok = p.arena.members.carve(&p.budget, n)
	return ok
}

// foreseen reads the key that is foreseen; it answers false if another stands there.
func (p *parser) foreseen(top *frame, i int) (end int, ok bool) {
	if top.read >= len(top.out) {
		return i, false
	}
	k := &p.shapes.keys[int(top.shape)+top.read]
	if !strings.HasPrefix(p.text[i:], k.quoted) {
		return i, false
	}
	top.key = k.hash
	top.out[k.at].Key = k.key
	return i + len(k.quoted), true
}

// surprised moves the members of an object that is not what was foreseen to the stack.
func (p *parser) surprised(top *frame) bool {
	for _, k := range p.shapes.keys[top.shape:][:top.read] {
		m := p.push()
		if m == nil {
			return false
		}
		*m = top.out[k.at]
		m.Value.Index = k.start
	}
	clear(top.out)
	top.out, top.shape, top.read = nil, noShape, 0
	return true
}

// remember makes a shape of an object's members as sent. Order is that of their keys, nil when they were sent in it.
func (p *parser) remember(members []Member, order []int32) shape {
	if !p.worthRemembering(len(members)) {
		return noShape
	}
	s := len(p.shapes.keys)
	for i := range members {
		m := &members[i]
		quoted, ok := p.quoted(m.Value.Index, m.Key)
		if !ok {
			p.shapes.keys = p.shapes.keys[:s]
			return noShape
		}
		p.shapes.keys = append(p.shapes.keys, shapeKey{
			quoted: quoted, key: m.Key, start: m.Value.Index, hash: hashText(m.Key, saltObject),
			at: int32(i), more: int32(len(members) - 1 - i), value: noShape,
		})
	}
	for at, from := range order {
		p.shapes.keys[s+int(from)].at = int32(at)
	}
	return shape(s)
}

// worthRemembering tells whether an object with so many keys, in the innermost open container, may be followed by others
// like it.
func (p *parser) worthRemembering(n int) bool {
	if n == 0 || n > maxShape || len(p.shapes.keys)+n > maxShapes || len(p.frames) < 2 {
		return false
	}
	around := &p.frames[len(p.frames)-2]
	return !around.object || around.out != nil
}

// quoted is a key as it was sent, if that is the key itself between quotes.
func (p *parser) quoted(start int, key string) (quoted string, ok bool) {
	end := start + len(key) + 2
	if end > len(p.text) {
		return "", false
	}
	quoted = p.text[start:end]
	return quoted, quoted[len(quoted)-1] == '"' && quoted[1:len(quoted)-1] == key && strings.IndexByte(key, '\\') < 0
}
