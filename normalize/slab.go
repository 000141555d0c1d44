package normalize

import (
	"cmp"
	"slices"
	"strings"
	"unsafe"
)

const (
	minSlab  = 16        // elements
	maxSlab  = 256 << 10 // bytes
	handOver = 128 << 10 // children from which on the stack itself becomes the container's
)

// arena is the memory of one body's Values. It serves another body once nobody looks at this one's any more: to make it
// anew each time costs more than to read the body.
type arena struct {
	items   slab[Value]
	members slab[Member]
	large   bool // the body is
}

// recycle makes all of it free again; nothing may point into it.
func (a *arena) recycle() {
	a.items.recycle()
	a.members.recycle()
}

// size is how many bytes are free, after everything has been.
func (a *arena) size() int { return a.items.size() + a.members.size() }

// slab hands out pieces of arrays that grow as the body proves to be large.
type slab[T any] struct {
	last  []T   // the array that pieces are handed out of
	free  []T   // what is left of it
	taken [][]T // the parts of other arrays that were handed out; the capacity is the array's
	spare [][]T // arrays of earlier bodies, all zero or poisoned, the longest last
}

// carve takes n elements.
func (s *slab[T]) carve(b *budget, n int) ([]T, bool) {
	if n > len(s.free) {
		var t T
		array := s.fromSpare(n)
		size := len(array)
		if array == nil {
			size = s.next(n)
		}
		if !b.take(int64(size) * int64(unsafe.Sizeof(t))) {
			return nil, false
		}
		if array == nil {
			array = make([]T, size)
		}
		if len(s.free) > size-n {
			s.taken = append(s.taken, array[:n])
			return array[:n:n], true // of the last array more is left
		}
		s.retire()
		s.last, s.free = array, array
	}
	out := s.free[:n:n]
	s.free = s.free[n:]
	return out, true
}

// retire puts the last array with the others.
func (s *slab[T]) retire() {
	if used := len(s.last) - len(s.free); used > 0 {
		s.taken = append(s.taken, s.last[:used])
	}
}

// next is how long a new array is to be that holds n elements: a little longer than the one before, or of just these.
func (s *slab[T]) next(n int) int {
	var t T
	most := maxSlab / int(unsafe.Sizeof(t))
	if n > most/4 {
		return n
	}
	return max(n, min(most, max(minSlab, 2*len(s.last))))
}

// fromSpare takes the shortest array of an earlier body that holds n elements, or nil.
func (s *slab[T]) fromSpare(n int) []T {
	at, _ := slices.BinarySearchFunc(s.spare, n, func(array []T, n int) int { return cmp.Compare(len(array), n) })
	if at == len(s.spare) {
		return nil
	}
	array := s.spare[at]
	s.spare = slices.Delete(s.spare, at, at+1)
	if poisoned {
		clear(array)
	}
	return array
}

// recycle makes the arrays spare ones, as many as a parser may keep.
func (s *slab[T]) recycle() {
	var t T
	room := maxKept / int(unsafe.Sizeof(t))
	for _, array := range s.spare {
		room -= len(array)
	}
	s.retire()
	for _, used := range s.taken {
		if room -= cap(used); room < 0 {
			break
		}
		clear(used)
		if poisoned {
			poison(used)
		}
		s.spare = append(s.spare, used[:cap(used)])
	}
	slices.SortFunc(s.spare, func(a, b []T) int { return cmp.Compare(len(a), len(b)) })
	clear(s.taken)
	s.last, s.free, s.taken = nil, nil, s.taken[:0]
}

// poison makes values unlike any that are compared.
func poison[T any](array []T) {
	none := Value{Type: noType, Text: "given back", Hash: 0xDBDBDBDBDBDBDBDB, Size: -1 << 40, Index: -1 << 40}
	switch array := any(array).(type) {
	case []Value:
		for i := range array {
			array[i] = none
		}
	case []Member:
		for i := range array {
			array[i] = Member{Key: none.Text, Value: none}
		}
	}
}

// noType is that of a value which was given back.
const noType = Type(0xDB)

func (s *slab[T]) size() (bytes int) {
	for _, array := range s.spare {
		bytes += bytesIn(array)
	}
	return bytes
}

// takeItems moves the children of the array that closes off their stack.
func (p *parser) takeItems(top *frame) ([]Value, bool) {
	children := p.items[top.base:]
	p.itemsTop = max(p.itemsTop, len(p.items))
	top.hash = arrayHash(top.hash, len(children))
	if top.base == 0 && len(children) >= handOver {
		p.items, p.itemsTop = nil, 0
		return slices.Clip(children), true
	}
	out, ok := p.arena.items.carve(&p.budget, len(children))
	copy(out, children)
	p.items = p.items[:top.base]
	return out, ok
}

// takeMembers moves the members of the object that closes off their stack, if they are not in their places already: sorted
// by key, one per key.
func (p *parser) takeMembers(top *frame) ([]Member, bool) {
	if top.out != nil {
		if top.read == len(top.out) {
			top.hash = objectHash(top.hash, top.read)
			return top.out, true
		}
		if !p.surprised(top) {
			return nil, false
		}
	}
	members := p.members[top.base:]
	p.membersTop = max(p.membersTop, len(p.members))
	p.members = p.members[:top.base]
	out, ok := p.arena.members.carve(&p.budget, len(members))
	if !ok {
		return nil, false
	}
	var order []int32
	n := len(members)
	if ascending(members) {
		copy(out, members)
	} else {
		order = p.sorted(members)
		n = arrange(out, members, order)
	}
	for i := range out[:n] {
		out[i].Value.Index = 0
	}
	if n < len(members) {
		clear(out[n:])
		v := Value{Type: Object, Members: out[:n]}
		v.rehash()
		top.hash, top.shape = v.Hash, noShape
		return out[:n:n], true
	}
	top.hash, top.shape = objectHash(top.hash, n), p.remember(members, order)
	return out, true
}

// arrange puts members in order and answers how many are left: earlier copies of one key hide behind the last.
func arrange(out, members []Member, order []int32) int {
	n := 0
	for _, from := range order {
		if n > 0 && out[n-1].Key == members[from].Key {
			before := &out[n-1]
			before.Value.Index = 0
			before.Hidden = append(before.Hidden, before.Value)
			before.Value = members[from].Value
			continue
		}
		out[n] = members[from]
		n++
	}
	return n
}

func ascending(members []Member) bool {
	for i := 1; i < len(members); i++ {
		if members[i-1].Key >= members[i].Key {
			return false
		}
	}
	return true
}

// sorted is the order of the members by key, copies of one key in the order sent.
func (p *parser) sorted(members []Member) []int32 {
	p.order = p.order[:0]
	for i := range members {
		p.order = append(p.order, int32(i))
	}
	order := p.order
	if len(order) > 24 {
		slices.SortFunc(order, func(a, b int32) int {
			if c := strings.Compare(members[a].Key, members[b].Key); c != 0 {
				return c
			}
			return cmp.Compare(a, b)
		})
		return order
	}
	for i := 1; i < len(order); i++ {
		x := order[i]
		key := members[x].Key
		j := i
		for ; j > 0 && members[order[j-1]].Key > key; j-- {
			order[j] = order[j-1]
		}
		order[j] = x
	}
	return order
}

// memberHash and elementHash are what one child adds to the hash of its object or array; the others finish it. See rehash.
func memberHash(key, value uint64) uint64 { return fold(key, value^saltObject) }

func elementHash(before, value uint64) uint64 { return fold(before^saltFold, value^saltArray) }

func objectHash(members uint64, n int) uint64 { return fold(members^saltObject, uint64(n)^saltFold) }

func arrayHash(elements uint64, n int) uint64 { return fold(elements, uint64(n)^saltFold) }
