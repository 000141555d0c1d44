package diff

import "shadowdiff/normalize"

// partners pairs the elements of a gap, which has no equal ones. For each element on the shorter side it returns the
// place of its partner on the longer; nil is by position, with a note when that was not the only way. Of several best
// pairings the one that pairs the leftmost wins.
func (e *elements) partners(at area) (partners []int, note string) {
	n, m := at.i1-at.i0, at.j1-at.j0
	short, slack := min(n, m), max(n, m)-min(n, m)
	if short == 0 || slack == 0 {
		return nil, ""
	}
	pairs := short * (slack + 1)
	if pairs > e.limits.GapPairs || e.work < pairs {
		return nil, e.paired(pairs)
	}
	table := make([]choice, pairs) // by element on the shorter side, then by how many on the longer were left out before
	for k := short - 1; k >= 0; k-- {
		row := table[k*(slack+1):]
		for out := slack; out >= 0; out-- {
			total := e.try(at, k, k+out)
			if k+1 < short {
				total = total.plus(table[(k+1)*(slack+1)+out].total)
			}
			row[out] = choice{total, out}
			if out < slack && row[out+1].total.less(total) {
				row[out] = row[out+1]
			}
		}
		if e.work < 0 {
			return nil, e.paired(pairs)
		}
	}
	partners = make([]int, short)
	out := 0
	for k := range partners {
		out = table[k*(slack+1)+out].out
		partners[k] = k + out
	}
	return partners, ""
}

// choice is the best way to pair an element and those after it when so many, or more, are left out before it.
type choice struct {
	total cost
	out   int
}

// try counts the differences of one pair: the k-th element on the shorter side with the given one on the longer.
func (e *elements) try(at area, short, long int) cost {
	i, j := at.i0+short, at.j0+long
	if at.i1-at.i0 > at.j1-at.j0 {
		i, j = at.i0+long, at.j0+short
	}
	return e.costOf(&e.left[i], &e.right[j])
}

// worthKeeping is the size of two values together above which what was counted is remembered. Each pair of larger ones
// is counted once, however many arrays are nested around it: without that the work would grow exponentially with their
// depth. For small ones counting again is cheaper than remembering.
const worthKeeping = 24

// costOf counts the differences of two values that are not equal.
func (w *walk) costOf(l, r *normalize.Value) cost {
	w.work -= 1 + len(l.Items) + len(r.Items) + len(l.Members) + len(r.Members)
	if w.work < 0 {
		return cost{} // whoever asked takes back what he has counted
	}
	pair := [2]*normalize.Value{l, r}
	keep := l.Size+r.Size > worthKeeping
	if keep {
		if c, ok := w.costs[pair]; ok {
			return c
		}
	}
	c := w.counted(func() { w.inside(l, r, 0) })
	if keep {
		if w.costs == nil {
			w.costs = map[[2]*normalize.Value]cost{}
		}
		w.costs[pair] = c
	}
	return c
}

// counted counts what would be reported, and reports nothing.
func (w *walk) counted(report func()) cost {
	outer := w.cost
	w.cost = cost{}
	w.counting++
	report()
	w.counting--
	c := w.cost
	w.cost = outer
	return c
}
