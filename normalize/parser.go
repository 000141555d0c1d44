package normalize

import (
	"fmt"
	"unsafe"
)

// MaxDepth is how deep JSON may nest; a body beyond it is compared as text. It bounds the stack of whoever walks a Value.
const MaxDepth = 100_000

// parser reads a body once, strictly by RFC 8259, and builds its Value. It keeps its own stack of open containers, so
// that no nesting costs Go's. Children gather on the two stacks below until their container closes, and are then copied,
// in one piece and members sorted, into an arena that the Value keeps. The members of an object with the keys that are
// foreseen are read into their places there at once, see shapes.
type parser struct {
	data []byte // as sent
	text string // the same memory

	root    Value
	frames  []frame
	items   []Value  // children of open arrays
	members []Member // of open objects

	large      bool // what it has read last, or will read
	arena      *arena
	itemsTop   int // how high the stacks have been
	membersTop int
	order      []int32 // scratch of sorting
	unescaped  []byte  // scratch of strings with escapes
	shapes     shapes
	model      model

	budget  budget
	failure string // why parsing stopped
}

// frame is an open container.
type frame struct {
	start  int      // byte offset of its bracket
	base   int      // where its children begin on their stack
	size   int      // values in it as far as it is read, itself included
	hash   uint64   // of the same, not finished
	key    uint64   // hash of the key of the member that is being read
	out    []Member // of an object whose keys are foreseen: its members, each in its place once it is read
	read   int      // how many of them are whole
	shape  shape    // the keys that are foreseen, or of an array those of its next element
	object bool
}

// parse reads the whole body as one value, or with records as an array of records, one a line. Nobody may change data
// as long as the Value is in use.
func (p *parser) parse(data []byte, records bool) bool {
	p.data, p.text = data, unsafe.String(unsafe.SliceData(data), len(data))
	if p.arena == nil {
		p.arena = new(arena)
	}
	if p.model.on {
		p.model.guide, p.model.effort = p.model.root, effortPerByte*len(data)
	}
	start := 0
	if hasBOM(data) {
		start = len(bom)
	}
	if records {
		return p.records(start)
	}
	i, ok := p.tree(start, 0)
	if !ok {
		return false
	}
	if i = skipSpace(p.text, i); i < len(p.text) {
		return p.fail(i, "more follows the value")
	}
	return true
}

func (p *parser) records(i int) bool {
	p.open(i, false)
	for first := true; ; first = false {
		end := skipSpace(p.text, i)
		if end == len(p.text) {
			break
		}
		if !first && !hasNewline(p.text[i:end]) {
			return p.fail(end, "more follows a record on its line")
		}
		var ok bool
		if i, ok = p.tree(end, 1); !ok {
			return false
		}
	}
	return p.close(len(p.text))
}

// tree reads a value with all that it holds, down to so many open frames, and answers where it ends.
func (p *parser) tree(i, depth int) (int, bool) {
	i, ok := p.value(i)
	for ok && len(p.frames) > depth {
		i, ok = p.next(i)
	}
	return i, ok
}

// next reads what follows inside an open container: its end, or one more child.
func (p *parser) next(i int) (int, bool) {
	s, top := p.text, &p.frames[len(p.frames)-1]
	if i < len(s) && s[i] <= ' ' {
		i = skipSpace(s, i)
	}
	if i == len(s) {
		return i, p.fail(i, "the text ends early")
	}
	c := s[i]
	if c == '}' && top.object || c == ']' && !top.object {
		return i + 1, p.close(i + 1)
	}
	if top.size > 1 {
		if c != ',' {
			return i, p.fail(i, "no comma between two values")
		}
		i++
	}
	if top.object {
		var ok bool
		if i, ok = p.key(top, i); !ok {
			return i, false
		}
	}
	return p.value(i)
}

// key reads a member's key and colon, and makes the place for its value.
func (p *parser) key(top *frame, i int) (int, bool) {
	s := p.text
	if i < len(s) && s[i] <= ' ' {
		i = skipSpace(s, i)
	}
	i, ok := p.foreseen(top, i)
	if !ok {
		if i, ok = p.newKey(top, i); !ok {
			return i, false
		}
	}
	if i < len(s) && s[i] <= ' ' {
		i = skipSpace(s, i)
	}
	if i == len(s) || s[i] != ':' {
		return i, p.fail(i, "no colon behind a key")
	}
	return i + 1, true
}

// newKey reads a key that was not foreseen, and pushes its member.
func (p *parser) newKey(top *frame, start int) (int, bool) {
	if start == len(p.text) || p.text[start] != '"' {
		return start, p.fail(start, "no key")
	}
	key, end, ok := p.str(start + 1)
	if !ok {
		return end, false
	}
	if top.out != nil && !p.surprised(top) {
		return start, p.fail(start, noMemory)
	}
	m := p.push()
	if m == nil {
		return start, p.fail(start, noMemory)
	}
	m.Key, m.Value.Index = key, start
	top.key = hashText(key, saltObject)
	return end, true
}

// push makes a member on the stack. Until it is moved off, its Index says where in the text its key stands.
func (p *parser) push() *Member {
	if len(p.members) == cap(p.members) && !growStack(&p.budget, &p.members) {
		return nil
	}
	p.members = p.members[:len(p.members)+1]
	m := &p.members[len(p.members)-1]
	m.Hidden = nil
	return m
}

// value reads a scalar or opens a container.
func (p *parser) value(i int) (int, bool) {
	s := p.text
	if i < len(s) && s[i] <= ' ' {
		i = skipSpace(s, i)
	}
	if i == len(s) {
		return i, p.fail(i, "a value is missing")
	}
	if p.model.on {
		if end, ok := p.take(i); ok {
			return end, true
		}
	}
	switch c := s[i]; {
	case c == '"':
		text, end, ok := p.str(i + 1)
		return end, ok && p.scalar(String, text, i, end, hashText(text, saltText))
	case c == '-' || isDigit(c):
		text, end, ok := scanNumber(s, i)
		if !ok {
			return end, p.fail(end, "a broken number")
		}
		return end, p.scalar(Number, text, i, end, hashText(text, saltNumber))
	case c == '{' || c == '[':
		return i + 1, p.open(i, c == '{')
	case c == 't':
		return p.literal(i, "true", Bool, hashTrue)
	case c == 'f':
		return p.literal(i, "false", Bool, hashFalse)
	case c == 'n':
		return p.literal(i, "null", Null, hashNull)
	}
	return i, p.fail(i, "no value begins like this")
}

func (p *parser) literal(i int, word string, t Type, hash uint64) (int, bool) {
	end := i + len(word)
	if end > len(p.text) || p.text[i:end] != word {
		return i, p.fail(i, "no value begins like this")
	}
	if t == Null {
		word = ""
	}
	return end, p.scalar(t, word, i, end, hash)
}

// place is where a value belongs that has been read: the root, or in the innermost open container, to which it is
// counted. All there but the Index is left over from before and for the caller to set.
func (p *parser) place(size int, hash uint64) *Value {
	if len(p.frames) == 0 {
		return &p.root
	}
	top := &p.frames[len(p.frames)-1]
	top.size += size
	if top.object {
		top.hash += memberHash(top.key, hash)
		if top.out == nil {
			return &p.members[len(p.members)-1].Value
		}
		at := p.shapes.keys[int(top.shape)+top.read].at
		top.read++
		return &top.out[at].Value
	}
	top.hash = elementHash(top.hash, hash)
	if len(p.items) == cap(p.items) && !growStack(&p.budget, &p.items) {
		p.fail(top.start, noMemory)
		return nil
	}
	p.items = p.items[:len(p.items)+1]
	v := &p.items[len(p.items)-1]
	v.Index = len(p.items) - 1 - top.base
	return v
}

func (p *parser) scalar(t Type, text string, start, end int, hash uint64) bool {
	v := p.place(1, hash)
	if v == nil {
		return false
	}
	v.Type, v.Unordered, v.Size, v.Hash = t, false, 1, hash
	v.Text, v.Raw, v.Items, v.Members = text, p.data[start:end:end], nil, nil
	return true
}

func (p *parser) open(i int, object bool) bool {
	if len(p.frames) >= MaxDepth {
		return p.fail(i, fmt.Sprintf("it nests over %d levels", MaxDepth))
	}
	top := frame{start: i, base: len(p.items), size: 1, hash: saltArray, object: object, shape: p.expected()}
	if object {
		top.base, top.hash = len(p.members), 0
		if top.shape != noShape && !p.lay(&top) {
			return p.fail(i, noMemory)
		}
	}
	p.frames = append(p.frames, top)
	if p.model.on {
		p.model.enter(object)
	}
	return true
}

// close ends the innermost container: its children move into the arena, and it takes its place in the container around it.
func (p *parser) close(end int) bool {
	n := len(p.frames) - 1
	top := &p.frames[n]
	var items []Value
	var members []Member
	t, ok := Array, true
	if top.object {
		t = Object
		members, ok = p.takeMembers(top)
	} else {
		items, ok = p.takeItems(top)
	}
	top.out = nil
	p.frames = p.frames[:n]
	if p.model.on {
		p.model.leave()
	}
	if !ok {
		return p.fail(top.start, noMemory)
	}
	p.expect(top.shape)
	v := p.place(top.size, top.hash)
	if v == nil {
		return false
	}
	v.Type, v.Unordered, v.Size, v.Hash = t, false, top.size, top.hash
	v.Text, v.Raw, v.Items, v.Members = "", p.data[top.start:end:end], items, members
	return true
}

// fail notes why the body is no JSON.
func (p *parser) fail(i int, why string) bool {
	p.failure = fmt.Sprintf("at byte %d: %s", i, why)
	return false
}

// reset forgets the body; stacks of a usual size stay for the next.
func (p *parser) reset() {
	p.model.reset()
	*p = parser{
		large:     p.large,
		model:     p.model,
		frames:    keep(p.frames, len(p.frames)),
		items:     keep(p.items, max(p.itemsTop, len(p.items))),
		members:   keep(p.members, max(p.membersTop, len(p.members))),
		order:     keep(p.order, 0), // without pointers
		unescaped: keep(p.unescaped, 0),
		shapes:    shapes{keep(p.shapes.keys, len(p.shapes.keys))},
	}
}

// size is how many bytes the stacks have that may be large.
func (p *parser) size() int { return bytesIn(p.items) + bytesIn(p.members) }
