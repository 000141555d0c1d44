package diff

import "slices"

// block is a stretch of equal elements: n of them, from i on the left and from j on the right.
type block struct{ i, j, n int }

// area is a part of two arrays that is still to be aligned: left[i0:i1] against right[j0:j1].
type area struct{ i0, i1, j0, j1 int }

func (a area) empty() bool { return a.i0 == a.i1 || a.j0 == a.j1 }

// split returns what remains of the area before and after a block in it.
func (a area) split(b block) (before, after area) {
	return area{a.i0, b.i, a.j0, b.j}, area{b.i + b.n, a.i1, b.j + b.n, a.j1}
}

// aligner finds the blocks that two arrays have in common: the longest first (of several the leftmost on the left, then
// on the right), then the same on both sides of it. Elements are given by class: equal elements have equal numbers.
//
// The result is exact until the work is used up. Where few elements are alike, all pairs of equal ones are listed once
// and sorted into runs; where many are (an array of booleans), the longest block is searched by its fingerprint.
type aligner struct {
	left, right []int32
	work        *int // steps left, shared with the rest of the comparison
	blocks      []block
	given       []area // areas given up when the work was used up
	prints      prints
	seen        []int32 // by class, all zero between uses
}

// pairsListed is how many pairs of equal elements are listed at once, beside four for each element.
const pairsListed = 1 << 16

// align returns the blocks from left to right, and the areas between them that were given up.
func align(left, right []int32, classes int, work *int) (blocks []block, given []area) {
	a := &aligner{left: left, right: right, work: work, seen: make([]int32, classes)}
	todo := []area{{0, len(left), 0, len(right)}}
	for len(todo) > 0 {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if at.empty() {
			continue
		}
		size := at.i1 - at.i0 + at.j1 - at.j0
		*a.work -= size
		if *a.work < 0 {
			a.given = append(a.given, at)
			continue
		}
		switch pairs := a.pairs(at, 4*size+pairsListed); {
		case pairs == 0:
		case pairs <= 4*size+pairsListed:
			*a.work -= pairs
			a.runs(at)
		default:
			b, ok := a.longest(at)
			if !ok {
				a.given = append(a.given, at)
				continue
			}
			a.blocks = append(a.blocks, b)
			before, after := at.split(b)
			todo = append(todo, before, after)
		}
	}
	slices.SortFunc(a.blocks, func(x, y block) int { return x.i - y.i })
	slices.SortFunc(a.given, func(x, y area) int { return x.i0 - y.i0 })
	return a.blocks, a.given
}

// pairs counts the pairs of equal elements in an area, and stops counting above most.
func (a *aligner) pairs(at area, most int) int {
	for _, c := range a.right[at.j0:at.j1] {
		a.seen[c]++
	}
	n := 0
	for _, c := range a.left[at.i0:at.i1] {
		n += int(a.seen[c])
		if n > most {
			break
		}
	}
	for _, c := range a.right[at.j0:at.j1] {
		a.seen[c] = 0
	}
	return n
}
