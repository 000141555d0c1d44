package normalize

import (
	"cmp"
	"iter"
	"slices"
	"strconv"
)

// index tells which values of a group may be close, so that not every pair of them has to be tried: values of one hash
// are built alike, and one tolerated leaf, the same of each, is sorted. What is close to a leaf lies around it.
type index struct {
	single bool    // each value holds no other tolerated leaf
	right  []int32 // places on the right, by leaf
	lo, hi []int32 // by left place: what may be close, right[lo:hi]
	at     []int32 // by left place: where its own leaf would be
}

// leavesSorted is how many of its leaves are tried as an index; the first that leaves few pairs is taken.
const leavesSorted = 4

func newIndex(g *group, left, right []*Value) *index {
	n, m := len(g.left), len(g.right)
	plain := &index{right: places(m), lo: make([]int32, n), hi: slices.Repeat([]int32{int32(m)}, n), at: make([]int32, n)}
	for i := range plain.at {
		plain.at[i] = int32(i % m)
	}
	if n*m <= fewPairs {
		return plain
	}
	l, count := leavesOf(g.left, left)
	r, other := leavesOf(g.right, right)
	if count == 0 || count != other {
		return plain
	}
	best := plain
	for leaf := range min(count, leavesSorted) {
		x, ok := indexLeaf(every(l, leaf, count), every(r, leaf, count))
		if !ok {
			continue
		}
		x.single = count == 1
		if x.single || x.candidates() < best.candidates() {
			best = x
		}
		if best.candidates() <= pairsTried+4*(n+m) {
			break
		}
	}
	return best
}

func places(n int) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = int32(i)
	}
	return out
}

// candidates counts the pairs to try.
func (x *index) candidates() (pairs int) {
	for i := range x.lo {
		pairs += int(x.hi[i] - x.lo[i])
	}
	return pairs
}

// near yields the right places to try for a left one, counted, the nearest first and then those behind.
func (x *index) near(i int) iter.Seq2[int, int32] {
	return func(yield func(int, int32) bool) {
		lo, n := x.lo[i], x.hi[i]-x.lo[i]
		from := x.at[i] - lo
		for k := range n {
			if !yield(int(k), x.right[lo+(from+k)%n]) {
				return
			}
		}
	}
}

// leavesOf lists the tolerated leaves of values, those of one behind those of the other. Count is how many each has; 0 when
// they differ or stand in no order.
func leavesOf(places []int32, values []*Value) (leaves []*Value, count int) {
	for k, at := range places {
		var ok bool
		before := len(leaves)
		if leaves, ok = values[at].appendLeaves(leaves); !ok || k > 0 && len(leaves)-before != count {
			return nil, 0
		}
		count = len(leaves) - before
	}
	return leaves, count
}

// appendLeaves appends the tolerated values at and below v; false when their order means nothing.
func (v *Value) appendLeaves(dst []*Value) ([]*Value, bool) {
	switch {
	case !v.Loose:
		return dst, true
	case v.isScalar():
		return append(dst, v), true
	case v.Unordered || v.isPaired():
		return dst, false
	}
	ok := true
	for i := range v.Items {
		if dst, ok = v.Items[i].appendLeaves(dst); !ok {
			return dst, false
		}
	}
	for i := range v.Members {
		m := &v.Members[i]
		if dst, ok = m.Value.appendLeaves(dst); !ok {
			return dst, false
		}
		for j := range m.Hidden {
			if dst, ok = m.Hidden[j].appendLeaves(dst); !ok {
				return dst, false
			}
		}
	}
	return dst, true
}

// every takes one leaf of each value.
func every(leaves []*Value, leaf, count int) []*Value {
	out := make([]*Value, 0, len(leaves)/count)
	for at := leaf; at < len(leaves); at += count {
		out = append(out, leaves[at])
	}
	return out
}

// spot is where a leaf lies among others of its JSON type.
type spot struct {
	leaf  *Value
	about float64 // a number; what is beyond all is infinite, and in order too
	at    instant // a string that is a time
	place int32
}

// indexLeaf sorts leaves, and finds for each left one those on the right that are close; false when it cannot sort them.
func indexLeaf(left, right []*Value) (*index, bool) {
	l, ok := spots(left)
	if !ok {
		return nil, false
	}
	r, ok := spots(right)
	if !ok {
		return nil, false
	}
	n, m := len(l), len(r)
	x := &index{right: make([]int32, m), lo: make([]int32, n), hi: make([]int32, n), at: make([]int32, n)}
	for k := range r {
		x.right[k] = r[k].place
	}
	at, lo, hi := 0, 0, 0
	for i := range l {
		for at < m && r[at].compare(&l[i]) < 0 {
			at++
		}
		lo = firstOf(at, lo, func(k int) bool { return Close(l[i].leaf, r[k].leaf) })
		hi = at + firstOf(m-at, hi-at, func(k int) bool { return !Close(l[i].leaf, r[at+k].leaf) })
		place := l[i].place
		x.lo[place], x.hi[place], x.at[place] = int32(lo), int32(hi), int32(min(at, max(lo, hi-1)))
	}
	return x, true
}

// spots sorts leaves by where they lie.
func spots(leaves []*Value) ([]spot, bool) {
	out := make([]spot, len(leaves))
	for i, v := range leaves {
		out[i] = spot{leaf: v, place: int32(i)}
		if v.Type == Number {
			out[i].about, _ = strconv.ParseFloat(v.Text, 64)
			continue
		}
		var ok bool
		if out[i].at, ok = readTime(v); !ok {
			return nil, false
		}
	}
	slices.SortFunc(out, func(a, b spot) int { return cmp.Or(a.compare(&b), cmp.Compare(a.place, b.place)) })
	return out, true
}

func (s *spot) compare(o *spot) int {
	if s.leaf.Type != Number {
		return s.at.compare(&o.at)
	}
	if c := cmp.Compare(s.about, o.about); c != 0 || s.leaf.Text == o.leaf.Text {
		return c
	}
	minus := parseDecimal(o.leaf.Text)
	minus.negative = !minus.negative
	return signOfSum([]decimal{parseDecimal(s.leaf.Text), minus})
}

// compare orders instants of one form by time, and forms among themselves.
func (t *instant) compare(o *instant) int {
	c := cmp.Or(cmp.Compare(t.form, o.form), cmp.Compare(t.second, o.second))
	if c == 0 && t.leap != o.leap {
		if t.leap {
			return -1
		}
		return 1
	}
	return cmp.Or(c, cmp.Compare(t.fraction, o.fraction))
}

// firstOf finds the first k from 0 on for which yes holds, which then holds for all up to n; n when there is none. It looks
// around hint first.
func firstOf(n, hint int, yes func(int) bool) int {
	lo, hi := 0, n // what is below lo is none, what is from hi on is one
	hint = min(max(hint, 0), n)
	if hint < n && yes(hint) {
		hi = hint
		for step := 1; hi > lo; step *= 2 {
			k := max(hi-step, lo)
			if !yes(k) {
				lo = k + 1
				break
			}
			hi = k
		}
	} else {
		lo = min(hint+1, n)
		for step := 1; lo < hi; step *= 2 {
			k := min(lo+step-1, n-1)
			if yes(k) {
				hi = k
				break
			}
			lo = k + 1
		}
	}
	for lo < hi {
		if mid := (lo + hi) / 2; yes(mid) {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return lo
}
