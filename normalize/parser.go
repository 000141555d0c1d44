package normalize

import (
	"fmt"
	"unsafe"
)

// MaxDepth is how deep JSON may nest; a body beyond it is compared as text. It bounds the stack of whoever walks a Value.
const MaxDepth = 100_000

// parser reads a body once, strictly by RFC 8259, and builds its Value. It keeps its own stack of open containers, so
// that no nesting costs Go's. Children gather on the two stacks below until their container closes, and are then copied,
// in one piece and members sorted, into an arena that the Value keeps.
type parser struct {
	data []byte // as sent
	text string // the same

	root    Value
	frames  []frame
	items   []Value  // children of open arrays
	members []Member // of open objects

	arena      *arena
	itemsTop   int // how high the stacks have been
	membersTop int
	order      []int32 // scratch of sorting
	unescaped  []byte  // scratch of strings with escapes

	budget  budget
	failure string // why parsing stopped
}

// frame is an open container.
type frame struct {
	start  int // byte offset of its bracket
	base   int // where its children begin on their stack
	object bool
}

// parse reads the whole body as one value, or with records as an array of records, one a line.
func (p *parser) parse(data []byte, records bool) bool {
	p.data, p.text = data, string(data)
	if p.arena == nil {
		p.arena = new(arena)
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

// tree reads a value with all that it holds, down to so many open frames, and answers where it ends.
func (p *parser) tree(i, depth int) (int, bool) {
	i, ok := p.value(i)
	for ok && len(p.frames) > depth {
		i, ok = p.next(i)
	}
	return i, ok
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

// next reads what follows inside an open container: its end, or one more child.
func (p *parser) next(i int) (int, bool) {
	top := &p.frames[len(p.frames)-1]
	i = skipSpace(p.text, i)
	if i == len(p.text) {
		return i, p.fail(i, "the text ends early")
	}
	closing, empty := byte(']'), len(p.items) == top.base
	if top.object {
		closing, empty = '}', len(p.members) == top.base
	}
	c := p.text[i]
	if c == closing {
		return i + 1, p.close(i + 1)
	}
	if !empty {
		if c != ',' {
			return i, p.fail(i, "no comma between two values")
		}
		i++
	}
	if top.object {
		var ok bool
		if i, ok = p.key(i); !ok {
			return i, false
		}
	}
	return p.value(i)
}

// key reads a member's key and colon, and makes the place for its value.
func (p *parser) key(i int) (int, bool) {
	i = skipSpace(p.text, i)
	if i == len(p.text) || p.text[i] != '"' {
		return i, p.fail(i, "no key")
	}
	key, i, ok := p.str(i + 1)
	if !ok {
		return i, false
	}
	if i = skipSpace(p.text, i); i == len(p.text) || p.text[i] != ':' {
		return i, p.fail(i, "no colon behind a key")
	}
	if len(p.members) == cap(p.members) && !growStack(&p.budget, &p.members) {
		return i, p.fail(i, noMemory)
	}
	p.members = p.members[:len(p.members)+1]
	m := &p.members[len(p.members)-1]
	m.Key, m.Hidden, m.Value.Index = key, nil, 0
	return i + 1, true
}

// value reads a scalar or opens a container.
func (p *parser) value(i int) (int, bool) {
	i = skipSpace(p.text, i)
	if i == len(p.text) {
		return i, p.fail(i, "a value is missing")
	}
	switch c := p.text[i]; {
	case c == '"':
		text, end, ok := p.str(i + 1)
		return end, ok && p.scalar(String, text, i, end, hashText(text, saltText))
	case c == '-' || isDigit(c):
		text, end, ok := scanNumber(p.text, i)
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

// place is where the next value belongs: the root, or in the innermost open container. Its Index is set; all else there
// is left over from before and for the caller to set.
func (p *parser) place() *Value {
	if len(p.frames) == 0 {
		return &p.root
	}
	top := &p.frames[len(p.frames)-1]
	if top.object {
		return &p.members[len(p.members)-1].Value
	}
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
	v := p.place()
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
	base := len(p.items)
	if object {
		base = len(p.members)
	}
	p.frames = append(p.frames, frame{start: i, base: base, object: object})
	return true
}

// close ends the innermost container: its children move into slabs, and it takes its place in the container around it.
func (p *parser) close(end int) bool {
	top := p.frames[len(p.frames)-1]
	p.frames = p.frames[:len(p.frames)-1]
	var items []Value
	var members []Member
	ok := true
	if top.object {
		members, ok = p.takeMembers(top.base)
	} else {
		items, ok = p.takeItems(top.base)
	}
	if !ok {
		return p.fail(top.start, noMemory)
	}
	v := p.place()
	if v == nil {
		return false
	}
	v.Type, v.Unordered = Array, false
	v.Text, v.Raw, v.Items, v.Members = "", p.data[top.start:end:end], items, members
	if top.object {
		v.Type = Object
	}
	v.rehash()
	return true
}

// fail notes why the body is no JSON.
func (p *parser) fail(i int, why string) bool {
	p.failure = fmt.Sprintf("at byte %d: %s", i, why)
	return false
}

const noMemory = "the memory budget is spent"

// budget counts the memory of a Value. What a common body takes is free; beyond that the exchange's budget is asked.
type budget struct {
	reserve func(int64) bool
	taken   int64
	refused bool
}

// freeTree is how many bytes the Values of one body may take before the budget is asked. Few comparers run at a time, and
// this is their working memory: 1 MiB of usual JSON takes about 8 MiB.
const freeTree = 32 << 20

// take asks for n more bytes.
func (b *budget) take(n int64) bool {
	over := b.taken + n - max(b.taken, freeTree)
	b.taken += n
	if over > 0 && b.reserve != nil && !b.reserve(over) {
		b.refused = true
	}
	return !b.refused
}

// growStack doubles a stack of children.
func growStack[T any](b *budget, stack *[]T) bool {
	var t T
	n := max(64, 2*cap(*stack))
	if !b.take(int64(n-cap(*stack)) * int64(unsafe.Sizeof(t))) {
		return false
	}
	*stack = append(make([]T, 0, n), *stack...)
	return true
}

// reset forgets the body; stacks of a usual size stay for the next.
func (p *parser) reset() {
	*p = parser{
		frames:    keep(p.frames, 0), // without pointers
		items:     keep(p.items, max(p.itemsTop, len(p.items))),
		members:   keep(p.members, max(p.membersTop, len(p.members))),
		order:     keep(p.order, 0),
		unescaped: keep(p.unescaped, 0),
	}
}

// keep empties a stack that has been so high, or gives it up when it has become large.
func keep[T any](stack []T, top int) []T {
	var t T
	if cap(stack)*int(unsafe.Sizeof(t)) > maxScratch {
		return nil
	}
	clear(stack[:min(top, cap(stack))])
	return stack[:0]
}
