package diff

import (
	"fmt"

	"shadowdiff/normalize"
)

// arrays compares two arrays that are not equal.
func (w *walk) arrays(l, r *normalize.Value, at int) {
	w.change(l, r, at)
	if len(l.Items) == 1 && len(r.Items) == 1 && !l.Unordered && !r.Unordered {
		w.elements(l, r, at).pair(0, 0) // as below, without the stack that deep nesting would need
		return
	}
	if w.counting > 0 {
		w.work -= l.Size + r.Size // classify may look at all of it
	}
	c := classify(l.Items, r.Items)
	if l.Unordered || r.Unordered {
		w.multisets(l, r, at, c)
		return
	}
	if c.permuted() {
		w.differ(KindOrder, l, r, "")
		return
	}
	blocks, given := align(c.left, c.right, c.count, &w.work)
	e := w.elements(l, r, at)
	i, j := 0, 0
	for _, b := range append(blocks, block{len(l.Items), len(r.Items), 0}) {
		note := ""
		if len(given) > 0 && given[0].i0 < b.i {
			given = given[1:]
			note = "paired by position: the arrays have too many elements alike to align all of them"
		}
		e.gap(area{i, b.i, j, b.j}, note)
		i, j = b.i+b.n, b.j+b.n
	}
}

// multisets compares two arrays whose order does not matter. Equal elements take each other, the first ones first. If
// one is left on each side, and both are objects or both arrays, what differs is inside; all others are missing or extra.
func (w *walk) multisets(l, r *normalize.Value, at int, c classes) {
	waiting := make([]int, c.count) // right elements of each class that no left one has taken
	for _, class := range c.right {
		waiting[class]++
	}
	var left, right []int
	spare := make([]int, c.count) // left elements of each class that took one
	for i, class := range c.left {
		if waiting[class] == 0 {
			left = append(left, i)
			continue
		}
		waiting[class]--
		spare[class]++
	}
	for j, class := range c.right {
		if spare[class] == 0 {
			right = append(right, j)
			continue
		}
		spare[class]--
	}
	e := w.elements(l, r, at)
	if len(left) == 1 && len(right) == 1 {
		a, b := l.Items[left[0]].Type, r.Items[right[0]].Type
		if a == b && (a == normalize.Object || a == normalize.Array) {
			e.pair(left[0], right[0])
			return
		}
	}
	for _, i := range left {
		e.missing(i)
	}
	for _, j := range right {
		e.extra(j)
	}
}

// classes numbers the elements of two arrays so that equal ones have the same number.
type classes struct {
	left, right []int32
	count       int
}

func classify(left, right []normalize.Value) classes {
	type seen struct {
		value *normalize.Value
		next  int32 // another class with the same hash, plus one
	}
	var list []seen
	byHash := make(map[uint64]int32, len(left))
	number := func(v *normalize.Value) int32 {
		first := byHash[v.Hash]
		for at := first; at > 0; at = list[at-1].next {
			if v.Equal(list[at-1].value) {
				return at - 1
			}
		}
		list = append(list, seen{v, first})
		byHash[v.Hash] = int32(len(list))
		return int32(len(list)) - 1
	}
	numbers := make([]int32, len(left)+len(right))
	for i := range left {
		numbers[i] = number(&left[i])
	}
	for j := range right {
		numbers[len(left)+j] = number(&right[j])
	}
	return classes{numbers[:len(left)], numbers[len(left):], len(list)}
}

// permuted tells whether both sides hold the same multiset.
func (c classes) permuted() bool {
	if len(c.left) != len(c.right) {
		return false
	}
	more := make([]int32, c.count)
	for _, class := range c.left {
		more[class]++
	}
	for _, class := range c.right {
		if more[class]--; more[class] < 0 {
			return false
		}
	}
	return true
}

// elements reports on the elements of two arrays.
type elements struct {
	*walk
	left, right []normalize.Value
	at          []int // of the left elements, and where they end; nil while counting
	place       *place
}

func (w *walk) elements(l, r *normalize.Value, at int) *elements {
	e := &elements{walk: w, left: l.Items, right: r.Items}
	if w.counting > 0 {
		return e
	}
	e.place = w.place.elements()
	e.at = make([]int, len(l.Items)+1)
	e.at[0] = at + 1
	for i := range l.Items {
		e.at[i+1] = e.at[i] + l.Items[i].Size
	}
	return e
}

// enter does what concerns one element, or a pair of them.
func (e *elements) enter(s step, do func()) {
	w := e.walk
	above := w.place
	w.path = append(w.path, s)
	if w.counting == 0 {
		w.place = e.place
	}
	do()
	w.place = above
	w.path = w.path[:len(w.path)-1]
}

func (e *elements) pair(i, j int) {
	l, r := &e.left[i], &e.right[j]
	at := 0
	if e.at != nil {
		at = e.at[i]
	}
	e.enter(step{element: true, left: l.Index, right: r.Index}, func() { e.different(l, r, at) })
}

func (e *elements) missing(i int) {
	l := &e.left[i]
	if e.at != nil {
		e.lose(e.at[i], l.Size)
	}
	e.enter(step{element: true, left: l.Index}, func() { e.differ(KindMissing, l, nil, "") })
}

func (e *elements) extra(j int) {
	r := &e.right[j]
	e.enter(step{element: true, right: r.Index}, func() { e.differ(KindExtra, nil, r, "") })
}

// gap pairs the elements between two blocks: as many as there can be, in order, so that the fewest differences remain.
func (e *elements) gap(at area, note string) {
	if at.i0 == at.i1 && at.j0 == at.j1 {
		return
	}
	partners := []int(nil)
	if note == "" {
		partners, note = e.partners(at)
	}
	if note != "" && e.note == "" {
		e.note = note
		defer func() { e.note = "" }()
	}
	n, m := at.i1-at.i0, at.j1-at.j0
	partner := func(k int) int { // of the k-th element on the shorter side, the place of its partner on the longer
		if partners == nil {
			return k
		}
		return partners[k]
	}
	k := 0
	for long := range max(n, m) {
		switch paired := k < min(n, m) && partner(k) == long; {
		case paired && n < m:
			e.pairAny(at.i0+k, at.j0+long)
			k++
		case paired:
			e.pairAny(at.i0+long, at.j0+k)
			k++
		case n < m:
			e.extra(at.j0 + long)
		default:
			e.missing(at.i0 + long)
		}
	}
}

// pairAny is pair for elements that may be equal: in an area that was given up, they may be.
func (e *elements) pairAny(i, j int) {
	if !e.equal(&e.left[i], &e.right[j]) {
		e.pair(i, j)
	}
}

// paired says why a gap is paired by position.
func (e *elements) paired(pairs int) string {
	return fmt.Sprintf("paired by position: %d possible pairs are too many to try", pairs)
}
