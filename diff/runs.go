package diff

import (
	"cmp"
	"slices"
)

// runs aligns an area by listing every run of equal elements in it, a stretch that can be made no longer on either
// side, and taking them longest first. A run that an earlier one cuts into is shortened and waits for its new turn.
//
// Why shortening is enough: a run that reached past both ends of a longer one would have to be longer still, so at most
// one part of it lies in areas that are still open, and no more than two of those taken before can touch it.
func (a *aligner) runs(at area) { a.takeRuns(at, a.list(at)) }

func (a *aligner) takeRuns(at area, q *queue) {
	taken := newTaken(at)
	for n := len(q.first) - 1; n > 0; n-- {
		for _, r := range q.take(n) {
			switch c := taken.clip(r); c.n {
			case 0:
			case n:
				taken.add(c)
				a.blocks = append(a.blocks, c)
			default:
				q.add(c)
			}
		}
	}
}

// list finds the runs of an area.
func (a *aligner) list(at area) *queue {
	next := make([]int32, at.j1-at.j0) // the next place on the right with the same class, plus one
	first := a.seen
	for j := at.j1 - 1; j >= at.j0; j-- {
		next[j-at.j0] = first[a.right[j]]
		first[a.right[j]] = int32(j) + 1
	}
	q := &queue{}
	for i := at.i0; i < at.i1; i++ {
		for j := int(first[a.left[i]]) - 1; j >= 0; j = int(next[j-at.j0]) - 1 {
			if i > at.i0 && j > at.j0 && a.left[i-1] == a.right[j-1] {
				continue // within a run that began earlier
			}
			n := 1
			for i+n < at.i1 && j+n < at.j1 && a.left[i+n] == a.right[j+n] {
				n++
			}
			q.add(block{i, j, n})
		}
	}
	for _, c := range a.right[at.j0:at.j1] {
		first[c] = 0
	}
	return q
}

// queue holds runs by length.
type queue struct {
	runs  []block
	next  []int32 // of the same length: place in runs plus one
	first []int32 // by length
	batch []block // scratch
}

func (q *queue) add(b block) {
	for len(q.first) <= b.n {
		q.first = append(q.first, 0)
	}
	q.runs = append(q.runs, b)
	q.next = append(q.next, q.first[b.n])
	q.first[b.n] = int32(len(q.runs))
}

// take returns the runs of length n, the leftmost first.
func (q *queue) take(n int) []block {
	q.batch = q.batch[:0]
	for at := q.first[n]; at > 0; at = q.next[at-1] {
		q.batch = append(q.batch, q.runs[at-1])
	}
	slices.SortFunc(q.batch, func(x, y block) int { return cmp.Or(x.i-y.i, x.j-y.j) })
	return q.batch
}

// taken holds the blocks taken from an area so far. It finds its neighbours in logarithmic time.
type taken struct {
	area   area
	counts []int32 // a Fenwick tree over the left side: how many blocks begin there
	blocks []block // by where they begin on the left
}

func newTaken(at area) *taken {
	size := at.i1 - at.i0
	return &taken{area: at, counts: make([]int32, size+1), blocks: make([]block, size)}
}

func (t *taken) add(b block) {
	t.blocks[b.i-t.area.i0] = b
	for k := b.i - t.area.i0 + 1; k < len(t.counts); k += k & -k {
		t.counts[k]++
	}
}

// rank counts the blocks that begin at or before i.
func (t *taken) rank(i int) (n int32) {
	for k := i - t.area.i0 + 1; k > 0; k -= k & -k {
		n += t.counts[k]
	}
	return n
}

// nth returns the block with the given rank, or false where there is none.
func (t *taken) nth(rank int32) (block, bool) {
	if rank < 1 {
		return block{}, false
	}
	step := 1
	for step*2 < len(t.counts) {
		step *= 2
	}
	at := 0
	for ; step > 0; step /= 2 {
		if at+step < len(t.counts) && t.counts[at+step] < rank {
			at += step
			rank -= t.counts[at]
		}
	}
	if at >= len(t.blocks) {
		return block{}, false
	}
	return t.blocks[at], true
}

// clip returns the part of a run that lies in an area still open; its length is 0 where there is none.
func (t *taken) clip(r block) block {
	rank := t.rank(r.i)
	for {
		open := t.open(rank)
		if open.i0 >= r.i+r.n {
			return block{}
		}
		from := max(open.i0-r.i, open.j0-r.j, 0)
		to := min(open.i1-r.i, open.j1-r.j, r.n)
		if from < to {
			return block{r.i + from, r.j + from, to - from}
		}
		if open.i1 == t.area.i1 {
			return block{}
		}
		rank++
	}
}

// open returns the area between the block with the given rank and the next.
func (t *taken) open(rank int32) area {
	open := t.area
	if b, ok := t.nth(rank); ok {
		open.i0, open.j0 = b.i+b.n, b.j+b.n
	}
	if b, ok := t.nth(rank + 1); ok {
		open.i1, open.j1 = b.i, b.j
	}
	return open
}
