package diff

import "shadowdiff/normalize"

// looseArrays compares two ordered arrays in which tolerances hold for values.
//
// Where closeness makes classes of the elements at hand they align as others do. In a series of values each close to the
// next it makes none: there, many blocks are as long as each other, and values could be said to have changed places that
// have changed. So what both have in common at the beginning and at the end comes first, since pairing two close elements
// there never costs another pair; and what is between aligns by blocks, unless as many elements are left on each side and
// by position no more of them differ.
func (w *walk) looseArrays(l, r *normalize.Value, at int) {
	e := w.elements(l, r, at)
	middle := e.between()
	straight := middle.i1-middle.i0 == middle.j1-middle.j0
	if middle.empty() && straight {
		return
	}
	c, closeToo := e.equality.Classify(l.Items, r.Items)
	if e.equality.Bounded && e.note == "" {
		e.note = tooManyClose
		defer func() { e.note = "" }()
	}
	if closeToo || c.Permuted() {
		w.ordered(l, r, at, c)
		return
	}
	blocks, ok := e.nearBlocks(middle)
	switch {
	case !ok:
		e.gap(middle, tooManyAlike)
	case straight && (len(blocks) == 0 || !e.fewer(middle, blocks)):
		e.straight(middle)
	default:
		e.gaps(middle, blocks)
	}
}

// between is what is left when the elements that are equal at the beginning and at the end are taken off.
func (e *elements) between() area {
	a := area{0, len(e.left), 0, len(e.right)}
	for !a.empty() && e.equal(&e.left[a.i0], &e.right[a.j0]) {
		a.i0++
		a.j0++
	}
	for !a.empty() && e.equal(&e.left[a.i1-1], &e.right[a.j1-1]) {
		a.i1--
		a.j1--
	}
	return a
}

// nearBlocks finds the blocks of an area from left to right; false when too many elements are alike.
func (e *elements) nearBlocks(at area) ([]block, bool) {
	relation, ok := e.equality.Relate(e.left[at.i0:at.i1], e.right[at.j0:at.j1])
	if !ok {
		return nil, false
	}
	blocks := alignRelated(relation, at.i1-at.i0, at.j1-at.j0)
	for k := range blocks {
		blocks[k].i += at.i0
		blocks[k].j += at.j0
	}
	return blocks, true
}

// gaps reports on what lies between the blocks of an area.
func (e *elements) gaps(at area, blocks []block) {
	i, j := at.i0, at.j0
	for _, b := range append(blocks, block{at.i1, at.j1, 0}) {
		e.gap(area{i, b.i, j, b.j}, "")
		i, j = b.i+b.n, b.j+b.n
	}
}

// straight pairs the elements of an area by position.
func (e *elements) straight(at area) {
	for k := range at.i1 - at.i0 {
		e.pairAny(at.i0+k, at.j0+k)
	}
}

// fewer tells whether an area has fewer differences when it is aligned by blocks than by position. When the work is used up
// it has not.
func (e *elements) fewer(at area, blocks []block) bool {
	straight := e.counted(func() { e.straight(at) })
	aligned := e.counted(func() { e.gaps(at, blocks) })
	return e.work >= 0 && aligned.less(straight)
}
