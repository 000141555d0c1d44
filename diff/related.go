package diff

import (
	"slices"

	"shadowdiff/normalize"
)

// alignRelated finds the blocks that two arrays of n and m elements have in common, as align does, where a relation says
// which elements are equal and none makes classes of them.
func alignRelated(related normalize.Relation, n, m int) []block {
	var a aligner
	a.takeRuns(area{0, n, 0, m}, listRelated(related, n))
	slices.SortFunc(a.blocks, func(x, y block) int { return x.i - y.i })
	return a.blocks
}

// listRelated finds the runs of related elements. Those under way go from row to row: at most one on each diagonal.
func listRelated(related normalize.Relation, n int) *queue {
	q := &queue{}
	var open, next []block // by j, each of them ending in the row before
	for i := range n {
		next = next[:0]
		k := 0
		for _, j := range related.Of(i) {
			for k < len(open) && open[k].j+open[k].n < int(j) {
				q.add(open[k])
				k++
			}
			if k < len(open) && open[k].j+open[k].n == int(j) {
				next = append(next, block{open[k].i, open[k].j, open[k].n + 1})
				k++
			} else {
				next = append(next, block{i, int(j), 1})
			}
		}
		for ; k < len(open); k++ {
			q.add(open[k])
		}
		open, next = next, open
	}
	for _, b := range open {
		q.add(b)
	}
	return q
}
