package diff

import (
	"fmt"

	"shadowdiff/normalize"
)

// arrays compares two arrays that are not equal.
func (w *walk) arrays(l, r *normalize.Value, at int) {
	w.change(l, r, at)
	keys := normalize.PairKeys(l, r)
	if keys == nil && len(l.Items) == 1 && len(r.Items) == 1 && !l.Unordered && !r.Unordered {
		w.elements(l, r, at).pair(0, 0) // as below, without the stack that deep nesting would need
		return
	}
	if w.counting > 0 {
		w.work -= l.Size + r.Size // all of it may be looked at
	}
	switch {
	case keys != nil:
		w.paired(l, r, at, keys)
	case l.Unordered || r.Unordered:
		w.multisets(l, r, at)
	case l.Loose || r.Loose:
		w.looseArrays(l, r, at)
	default:
		w.ordered(l, r, at, normalize.Classify(l.Items, r.Items))
	}
}

// ordered compares two arrays whose elements have classes.
func (w *walk) ordered(l, r *normalize.Value, at int, c normalize.Classes) {
	if c.Permuted() {
		w.differ(KindOrder, l, r, "")
		return
	}
	blocks, given := align(c.Left, c.Right, c.Count, &w.work)
	e := w.elements(l, r, at)
	i, j := 0, 0
	for _, b := range append(blocks, block{len(l.Items), len(r.Items), 0}) {
		note := ""
		if len(given) > 0 && given[0].i0 < b.i {
			given = given[1:]
			note = tooManyAlike
		}
		e.gap(area{i, b.i, j, b.j}, note)
		i, j = b.i+b.n, b.j+b.n
	}
}

const tooManyAlike = "paired by position: the arrays have too many elements alike to align all of them"

// paired compares two arrays whose elements are paired by key: where they stand does not matter.
func (w *walk) paired(l, r *normalize.Value, at int, keys []*normalize.Pattern) {
	e := w.elements(l, r, at)
	e.matched(w.equality.PairByKey(l.Items, r.Items, keys))
}

// multisets compares two arrays whose order does not matter. Equal elements take each other, as many as can. If one is left
// on each side, and both are objects or both arrays, what differs is inside; all others are missing or extra.
func (w *walk) multisets(l, r *normalize.Value, at int) {
	partners := w.equality.Match(l.Elements(), r.Elements())
	if i, j, ok := onlyOne(partners, len(r.Items)); ok {
		a, b := l.Items[i].Type, r.Items[j].Type
		if a == b && (a == normalize.Object || a == normalize.Array) {
			partners[i] = int32(j)
		}
	}
	w.elements(l, r, at).matched(partners)
}

// onlyOne finds the one element on each side that has no partner, if there is one on each.
func onlyOne(partners []int32, right int) (i, j int, ok bool) {
	without, sum := 0, right*(right-1)/2
	for k, partner := range partners {
		if partner < 0 {
			without, i = without+1, k
		} else {
			sum -= int(partner)
		}
	}
	return i, sum, without == 1 && right == len(partners)
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

// matched reports on elements that have been paired wherever they stand: what differs in pairs, and those without a partner.
func (e *elements) matched(partners []int32) {
	if e.equality.Bounded && e.note == "" {
		e.note = tooManyClose
		defer func() { e.note = "" }()
	}
	taken := make([]bool, len(e.right))
	for i, j := range partners {
		if j < 0 {
			e.missing(i)
			continue
		}
		taken[j] = true
		e.pairAny(i, int(j))
	}
	for j := range taken {
		if !taken[j] {
			e.extra(j)
		}
	}
}

const tooManyClose = "too many values are close to each other to try all pairs of them: more may be equal"
