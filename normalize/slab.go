package normalize

import (
	"cmp"
	"slices"
	"strings"
	"unsafe"
)

const (
	minSlab  = 16       // elements
	maxSlab  = 32 << 10 // bytes; Go's allocator has size classes up to here
	handOver = 4096     // children from which on the stack itself becomes the container's
)

// slab hands out pieces of arrays that grow as the body proves to be large.
type slab[T any] struct {
	free []T
	size int // of the last array
}

// carve takes n elements.
func (s *slab[T]) carve(b *budget, n int) ([]T, bool) {
	if n > len(s.free) {
		var t T
		most := maxSlab / int(unsafe.Sizeof(t))
		size := n
		if n <= most/4 {
			s.size = min(most, max(minSlab, 2*s.size))
			size = max(n, s.size)
		}
		if !b.take(int64(size) * int64(unsafe.Sizeof(t))) {
			return nil, false
		}
		fresh := make([]T, size)
		if size == n {
			return fresh, true
		}
		s.free = fresh
	}
	out := s.free[:n:n]
	s.free = s.free[n:]
	return out, true
}

// takeItems moves the children of the array that closes off their stack.
func (p *parser) takeItems(base int) ([]Value, bool) {
	children := p.items[base:]
	p.itemsTop = max(p.itemsTop, len(p.items))
	if base == 0 && len(children) >= handOver {
		p.items, p.itemsTop = nil, 0
		return slices.Clip(children), true
	}
	out, ok := p.itemSlab.carve(&p.budget, len(children))
	copy(out, children)
	p.items = p.items[:base]
	return out, ok
}

// takeMembers moves the members of the object that closes off their stack, sorted by key, one per key.
func (p *parser) takeMembers(base int) ([]Member, bool) {
	members := p.members[base:]
	p.membersTop = max(p.membersTop, len(p.members))
	p.members = p.members[:base]
	out, ok := p.memberSlab.carve(&p.budget, len(members))
	if !ok {
		return nil, false
	}
	if ascending(members) {
		copy(out, members)
		return out, true
	}
	n := 0
	for _, from := range p.sorted(members) {
		if n > 0 && out[n-1].Key == members[from].Key {
			before := &out[n-1]
			before.Hidden = append(before.Hidden, before.Value)
			before.Value = members[from].Value
			continue
		}
		out[n] = members[from]
		n++
	}
	clear(out[n:])
	return out[:n:n], true
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
