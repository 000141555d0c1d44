package normalize

import (
	"cmp"
	"slices"
)

// sweep pairs values that hold one tolerated leaf each. What is close to a leaf is a stretch of the sorted right ones, and
// then a largest matching takes one pass: each right one, in order, goes to the left one whose stretch ends first. It
// answers false, and pairs nothing, when some of the values differ beside their leaves.
//
// Source: Glover, "Maximum matching in a convex bipartite graph" (Naval Research Logistics 14, 1967).
func (e *Equality) sweep(g *group, x *index, left, right []*Value, partners []int32) bool {
	order := places(len(g.left))
	slices.SortFunc(order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(x.lo[a], x.lo[b]), cmp.Compare(x.hi[a], x.hi[b]), cmp.Compare(a, b))
	})
	var open stretches
	var pairs [][2]int32
	for k, j := range x.right {
		for len(order) > 0 && int(x.lo[order[0]]) <= k {
			open.push(stretch{x.hi[order[0]], order[0]})
			order = order[1:]
		}
		for len(open) > 0 && int(open[0].end) <= k {
			open.pop()
		}
		if len(open) == 0 {
			continue
		}
		i := open.pop().place
		if !e.Equal(left[g.left[i]], right[g.right[j]]) {
			return false
		}
		pairs = append(pairs, [2]int32{g.left[i], g.right[j]})
	}
	for _, p := range pairs {
		partners[p[0]] = p[1]
	}
	return true
}

// stretches is a heap of stretches of the right side that have begun, the one that ends first in front.
type stretches []stretch

type stretch struct{ end, place int32 }

func (s stretch) before(o stretch) bool { return s.end < o.end || s.end == o.end && s.place < o.place }

func (h *stretches) push(s stretch) {
	*h = append(*h, s)
	a := *h
	for i := len(a) - 1; i > 0 && a[i].before(a[(i-1)/2]); i = (i - 1) / 2 {
		a[i], a[(i-1)/2] = a[(i-1)/2], a[i]
	}
}

func (h *stretches) pop() stretch {
	a := *h
	first, last := a[0], len(a)-1
	a[0] = a[last]
	a = a[:last]
	for i := 0; 2*i+1 < last; {
		least := 2*i + 1
		if least+1 < last && a[least+1].before(a[least]) {
			least++
		}
		if !a[least].before(a[i]) {
			break
		}
		a[i], a[least] = a[least], a[i]
		i = least
	}
	*h = a
	return first
}
