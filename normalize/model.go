package normalize

import (
	"math/bits"
	"unsafe"
)

// model is a body that was read before and is probably much like the one that is read now: what stands in both, byte for
// byte and in the same place of the tree, is not read again but taken from there. Since a value is what its bytes say, it
// does not matter where in the model it was found: a place is only where to look first.
//
//	the model   {"id":1,"items":[A,B,C],"at":"10:00"}
//	this body   {"id":1,"items":[X,A,B,C],"at":"10:07"}     reads {, 1, [, X and "10:07"
//
// Where a body and its model are in step no byte is compared twice. However they are made, comparing takes so many steps
// for each byte of the body; then the model is put aside.
type model struct {
	on    bool
	root  *Value // no rule has touched it
	text  string
	guide *Value // of the value that is read now, nil where there is none
	open  []guided
	found []finger

	from, until, shift int  // the text from..until is the model's so many bytes further on
	ended              bool // and then there is another byte
	effort             int  // steps left
}

// guided is an open container and that of the model in its place.
type guided struct {
	like   *Value // nil if there is none
	next   int    // element of the array that probably comes next
	missed int    // elements that were not where they were looked for
	length int    // bytes of an element by which it is searched, 0 when it is not
	found  int    // where its fingers begin
}

// finger is an element of the model's array by its first bytes; a hash table of them is open, with a power of two.
type finger struct {
	hash  uint32
	place int32 // plus one
}

// follow makes another body's value the model of what is read next.
func (p *parser) follow(root *Value, text []byte) {
	m := &p.model
	m.on, m.root, m.text = true, root, unsafe.String(unsafe.SliceData(text), len(text))
	m.from, m.until = 0, -1
}

// take reads the value at i by taking it from the model; it answers false where it has to be read.
func (p *parser) take(i int) (end int, ok bool) {
	m := &p.model
	if m.guide = nil; m.effort <= 0 {
		return i, false
	}
	like := p.alike(i)
	m.guide = like
	if like == nil || !p.stands(like, i) {
		return i, false
	}
	v := p.place(like.Size, like.Hash)
	if v == nil {
		return i, false // fails at the next value
	}
	index := v.Index
	*v = *like
	v.Index = index
	return i + len(like.Raw), true
}

// stands tells whether a value of the model stands at i.
func (p *parser) stands(like *Value, i int) bool {
	m, n := &p.model, len(like.Raw)
	at := m.at(like)
	if at < 0 {
		return false
	}
	if m.shift != at-i || i < m.from || i > m.until {
		m.shift, m.from, m.until, m.ended = at-i, i, i, false
	}
	// One byte more than the value, since behind a number others could follow here.
	m.effort -= 4
	if end := min(i+n+1, len(p.text), len(m.text)-m.shift); m.until < end && !m.ended {
		same := common(p.text[m.until:end], m.text[m.until+m.shift:end+m.shift])
		m.until += same
		m.effort -= same
		m.ended = m.until < end
	}
	return m.until > i+n || m.until == i+n && (like.Type != Number || m.until == len(p.text))
}

// at is where in the model a value stands, or -1.
func (m *model) at(v *Value) int {
	at := uintptr(unsafe.Pointer(unsafe.SliceData(v.Raw))) - uintptr(unsafe.Pointer(unsafe.StringData(m.text)))
	if len(v.Raw) == 0 || at > uintptr(len(m.text)-len(v.Raw)) {
		return -1
	}
	return int(at)
}

// effortPerByte is the steps for each byte of the body.
const effortPerByte = 8

// alike is the model's value in the place of the one at i.
func (p *parser) alike(i int) *Value {
	m := &p.model
	if len(m.open) == 0 {
		return m.root
	}
	g := &m.open[len(m.open)-1]
	switch {
	case g.like == nil:
		return nil
	case g.like.Type == Array:
		return p.alikeItem(g, i)
	}
	top := &p.frames[len(p.frames)-1]
	var like *Member
	if top.out != nil {
		k := &p.shapes.keys[int(top.shape)+top.read]
		if int(k.at) < len(g.like.Members) && g.like.Members[k.at].Key == k.key {
			like = &g.like.Members[k.at]
		} else {
			like = g.like.member(k.key)
		}
	} else {
		like = g.like.member(p.members[len(p.members)-1].Key)
	}
	if like == nil || len(like.Hidden) > 0 {
		return nil
	}
	return &like.Value
}

// alikeItem is the model's element that stands at i, or else the one that is most likely to be like it.
func (p *parser) alikeItem(g *guided, i int) *Value {
	items := g.like.Items
	var like *Value
	if g.next < len(items) {
		like = &items[g.next]
		if p.stands(like, i) {
			g.next++
			return like
		}
	}
	if g.missed++; g.missed > 1 {
		if at := p.search(g, i); at >= 0 {
			g.next = at + 1
			return &items[at]
		}
	}
	g.next++
	return like
}

const (
	fewest = 3 // elements that an array has at least that is searched
	tries  = 8 // places in the table that an element may have; of more that begin alike some are not found
)

// search finds the element of the model's array that begins like what stands at i, the whole one if there is one.
func (p *parser) search(g *guided, i int) int {
	m := &p.model
	if g.missed == 2 {
		m.index(g)
	}
	if g.length == 0 || i+g.length > len(p.text) || m.effort <= 0 {
		return -1
	}
	table := m.found[g.found:]
	hash := hashText(p.text[i:i+g.length], saltText)
	found := -1
	for try := range tries {
		f := table[(int(hash)+try)&(len(table)-1)]
		if f.place == 0 {
			break
		}
		if f.hash != uint32(hash>>32) {
			continue
		}
		like := &g.like.Items[f.place-1]
		if p.stands(like, i) {
			return int(f.place - 1)
		}
		if found < 0 && m.until >= i+g.length {
			found = int(f.place - 1)
		}
	}
	return found
}

// index makes the table of an array's elements.
func (m *model) index(g *guided) {
	items := g.like.Items
	m.effort -= 16 * len(items)
	if len(items) < fewest || m.effort <= 0 {
		return
	}
	switch mean := len(g.like.Raw) / len(items); {
	case mean >= 96:
		g.length = 64
	case mean >= 48:
		g.length = 32
	case mean >= 20:
		g.length = 16
	default:
		return
	}
	size := 1 << bits.Len(uint(2*len(items)))
	for range size {
		m.found = append(m.found, finger{})
	}
	table := m.found[g.found:]
	for k := range items {
		at := m.at(&items[k])
		if at < 0 || len(items[k].Raw) < g.length {
			continue
		}
		hash := hashText(m.text[at:at+g.length], saltText)
		for try := range tries {
			if f := &table[(int(hash)+try)&(size-1)]; f.place == 0 {
				*f = finger{uint32(hash >> 32), int32(k + 1)}
				break
			}
		}
	}
}

// enter opens a container in the model too.
func (m *model) enter(object bool) {
	like := m.guide
	if like != nil && (like.Type != Object || !object) && (like.Type != Array || object) {
		like = nil
	}
	m.open = append(m.open, guided{like: like, found: len(m.found)})
}

func (m *model) leave() {
	last := len(m.open) - 1
	m.found = m.found[:m.open[last].found]
	m.open[last] = guided{}
	m.open = m.open[:last]
}

// reset forgets the model.
func (m *model) reset() {
	*m = model{open: keep(m.open, len(m.open)), found: keep(m.found, 0)}
}

// block is how many bytes are compared at once.
const block = 256

// common is how long two texts are the same.
func common(a, b string) int {
	most := min(len(a), len(b))
	n := 0
	for n+block <= most && a[n:n+block] == b[n:n+block] {
		n += block
	}
	for n+8 <= most {
		if x := load64(a, n) ^ load64(b, n); x != 0 {
			return n + bits.TrailingZeros64(x)/8
		}
		n += 8
	}
	for n < most && a[n] == b[n] {
		n++
	}
	return n
}
