package normalize

// matching is a largest set of pairs of a relation in which nothing occurs twice.
//
// It grows by shortest augmenting paths, all disjoint ones of a length at a time, so that it takes E·√V steps. Source:
// Hopcroft and Karp, "An n^(5/2) algorithm for maximum matchings in bipartite graphs" (SIAM J. Computing 2, 1973).
type matching struct {
	Relation
	effort *Equality
	left   []int32 // partner of each left one, or -1
	right  []int32
	layer  []int32 // of each left one: how far from one without a partner, or -1
	next   []int32 // of each left one: where to go on in its list
	queue  []int32
	cut    bool // the steps were used up before it was the largest
}

func newMatching(r Relation, right int, effort *Equality) *matching {
	n := len(r.start) - 1
	m := &matching{
		Relation: r, effort: effort, left: make([]int32, n), right: make([]int32, right),
		layer: make([]int32, n), next: make([]int32, n),
	}
	for i := range m.left {
		m.left[i] = -1
	}
	for j := range m.right {
		m.right[j] = -1
	}
	return m
}

// grow finds the matching; when the steps are used up, one that may be smaller.
func (m *matching) grow() {
	m.greedy()
	for m.layers() {
		copy(m.next, m.start)
		for i := range m.left {
			if m.left[i] < 0 {
				m.augment(int32(i))
			}
		}
		if *m.effort.Work < 0 {
			m.cut = true
			return
		}
	}
}

// triesToFill is how many of the right ones left are tried for each left one when not all pairs are known.
const triesToFill = 16

// fill pairs what has no partner with what has none and was not tried.
func (m *matching) fill(equal func(i, j int32) bool) {
	var free []int32
	for j, i := range m.right {
		if i < 0 {
			free = append(free, int32(j))
		}
	}
	for i := range m.left {
		if m.left[i] >= 0 {
			continue
		}
		for k := range min(len(free), triesToFill) {
			if j := free[k]; equal(int32(i), j) {
				m.left[i], m.right[j] = j, int32(i)
				free[k] = free[0]
				free = free[1:]
				break
			}
		}
	}
}

// greedy gives each left one the first that is free: for most relations that is nearly all there is to do.
func (m *matching) greedy() {
	for i := range m.left {
		for _, j := range m.Of(i) {
			if m.right[j] < 0 {
				m.left[i], m.right[j] = j, int32(i)
				break
			}
		}
	}
}

// layers counts how far each left one is from those without a partner. It tells whether a path leads to a right one
// without.
func (m *matching) layers() (found bool) {
	m.queue = m.queue[:0]
	for i := range m.left {
		m.layer[i] = -1
		if m.left[i] < 0 {
			m.layer[i] = 0
			m.queue = append(m.queue, int32(i))
		}
	}
	for k := 0; k < len(m.queue); k++ {
		i := m.queue[k]
		*m.effort.Work -= len(m.Of(int(i)))
		for _, j := range m.Of(int(i)) {
			other := m.right[j]
			if other < 0 {
				found = true
			} else if m.layer[other] < 0 {
				m.layer[other] = m.layer[i] + 1
				m.queue = append(m.queue, other)
			}
		}
	}
	return found
}

// augment looks for a path from a left one without a partner to a right one without, and takes it. Paths may be long: the
// queue is its stack.
func (m *matching) augment(from int32) {
	path := append(m.queue[:0], from)
	defer func() { m.queue = path[:0] }()
	for len(path) > 0 {
		i := path[len(path)-1]
		if m.next[i] == m.start[i+1] {
			m.layer[i] = -1 // leads nowhere
			path = path[:len(path)-1]
			continue
		}
		j := m.Relation.right[m.next[i]]
		switch other := m.right[j]; {
		case other < 0:
			for k := len(path) - 1; k >= 0; k-- {
				i := path[k]
				j, m.left[i] = m.left[i], j
				m.right[m.left[i]] = i
			}
			return
		case m.layer[other] == m.layer[i]+1:
			path = append(path, other)
			// next[i] stays: it is the edge of the path
			continue
		}
		m.next[i]++
	}
}
