package diff

import "shadowdiff/normalize"

// looseArrays compares two ordered arrays in which tolerances hold for values. Closeness is no equivalence, so there are no
// classes to align by, and in a series of values each close to the next many alignments are as long as each other. So what
// both have in common at the beginning and at the end comes first: to pair two close elements there never costs another
// pair. Between them the longest common block is taken first as in other arrays, unless as many elements are left on each
// side and pairing them by position leaves no more differences.
func (w *walk) looseArrays(l, r *normalize.Value, at int) {
	e := w.elements(l, r, at)
	middle := e.between()
	if middle.empty() && middle.i1-middle.i0 == middle.j1-middle.j0 {
		return
	}
	if len(l.Items) == len(r.Items) && len(l.Items) > 1 && e.allMatch() {
		w.differ(KindOrder, l, r, "")
		return
	}
	if e.equality.Bounded && e.note == "" {
		e.note = tooManyClose
		defer func() { e.note = "" }()
	}
	straight := middle.i1-middle.i0 == middle.j1-middle.j0
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

// allMatch tells whether all elements can be paired with equal ones.
func (e *elements) allMatch() bool {
	for _, j := range e.equality.Match(pointersTo(e.left), pointersTo(e.right)) {
		if j < 0 {
			return false
		}
	}
	return true
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
