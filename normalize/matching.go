package normalize

import "slices"

// Match pairs equal values of two lists, as many as there can be, and answers for each left one the place of its partner,
// or -1. Of equal elements the first ones take each other; closeness, which is no equivalence, needs more thought: 1.0 may
// have to leave 1.2 to 1.4 and take 0.9.
func (e *Equality) Match(left, right []*Value) []int32 {
	if e == nil {
		work := looseWork
		e = &Equality{Work: &work}
	}
	partners := slices.Repeat([]int32{-1}, len(left))
	if len(left)*len(right) <= fewPairs {
		e.matchFew(left, right, partners)
		return partners
	}
	*e.Work -= matchingWork + 8*(len(left)+len(right))
	matchClasses(left, right, partners)
	for _, g := range looseGroups(left, right) {
		if len(g.left) > 0 && len(g.right) > 0 {
			e.matchGroup(&g, left, right, partners)
		}
	}
	return partners
}

// matchingWork is the steps that it takes to sort the values of two lists before any pair is tried, beside those for each.
const matchingWork = 400

// fewPairs is how many pairs are tried without more ado.
const fewPairs = 64

// matchFew pairs values of short lists: each left one takes the first that is free, or makes others look on.
func (e *Equality) matchFew(left, right []*Value, partners []int32) {
	if len(left) == 1 && len(right) == 1 { // as below, without the stack that deep nesting would need
		if e.Equal(left[0], right[0]) {
			partners[0] = 0
		}
		return
	}
	var taken [fewPairs]int32 // by right place: the left one, plus one
	var try func(i int, seen *[fewPairs]bool) bool
	try = func(i int, seen *[fewPairs]bool) bool {
		for j := range right {
			if seen[j] || !e.Equal(left[i], right[j]) {
				continue
			}
			seen[j] = true
			if other := int(taken[j]) - 1; other < 0 || left[i].Loose && try(other, seen) {
				taken[j], partners[i] = int32(i)+1, int32(j)
				return true
			}
		}
		return false
	}
	for i := range left {
		try(i, new([fewPairs]bool))
	}
}

// matchClasses pairs the values that have classes.
func matchClasses(left, right []*Value, partners []int32) {
	c := newClassifier(len(right))
	var first []int32 // by class: the next right one, plus one
	next := make([]int32, len(right))
	for j := len(right) - 1; j >= 0; j-- {
		if right[j].Loose {
			continue
		}
		class := c.number(right[j])
		if int(class) == len(first) {
			first = append(first, 0)
		}
		next[j], first[class] = first[class], int32(j)+1
	}
	for i, v := range left {
		if v.Loose {
			continue
		}
		if class := c.number(v); int(class) < len(first) && first[class] > 0 {
			partners[i] = first[class] - 1
			first[class] = next[partners[i]]
		}
	}
}

// group is the places of values that are Loose and have one hash, so that they may be equal.
type group struct{ left, right []int32 }

// looseGroups lists the groups in two lists in the order of their first appearance.
func looseGroups(left, right []*Value) (groups []group) {
	var byHash map[uint64]int
	for side, values := range [2][]*Value{left, right} {
		for i, v := range values {
			if !v.Loose {
				continue
			}
			at, ok := byHash[v.Hash]
			if !ok {
				if byHash == nil {
					byHash = map[uint64]int{}
				}
				at = len(groups)
				byHash[v.Hash] = at
				groups = append(groups, group{})
			}
			if side == 0 {
				groups[at].left = append(groups[at].left, int32(i))
			} else {
				groups[at].right = append(groups[at].right, int32(i))
			}
		}
	}
	return groups
}

// matchGroup pairs the values of one group.
func (e *Equality) matchGroup(g *group, left, right []*Value, partners []int32) {
	x := newIndex(g, left, right)
	if x.single && e.sweep(g, x, left, right, partners) {
		return
	}
	if x.candidates() > e.mostPairs(g) {
		if g = matchSame(g, left, right, partners); len(g.left) == 0 || len(g.right) == 0 {
			return
		}
		x = newIndex(g, left, right)
	}
	r, ok := e.relate(g, x, left, right)
	m := newMatching(r, len(g.right), e)
	m.grow()
	if !ok {
		m.fill(func(i, j int32) bool { return e.Equal(left[g.left[i]], right[g.right[j]]) })
	}
	size := 0
	for i, j := range m.left {
		if j >= 0 {
			partners[g.left[i]] = g.right[j]
			size++
		}
	}
	if (!ok || m.cut) && size < min(len(g.left), len(g.right)) {
		e.Bounded = true
	}
}

// matchSame pairs the values of a group that are the same without any tolerance, and answers the group of the others.
func matchSame(g *group, left, right []*Value, partners []int32) *group {
	places := map[string][]int32{} // on the right, by exact text
	var text []byte
	for k := len(g.right) - 1; k >= 0; k-- {
		text = appendExact(text[:0], right[g.right[k]])
		places[string(text)] = append(places[string(text)], g.right[k])
	}
	rest := new(group)
	taken := map[int32]bool{}
	for _, i := range g.left {
		text = appendExact(text[:0], left[i])
		same := places[string(text)]
		if len(same) == 0 {
			rest.left = append(rest.left, i)
			continue
		}
		last := len(same) - 1
		partners[i], places[string(text)] = same[last], same[:last]
		taken[same[last]] = true
	}
	for _, j := range g.right {
		if !taken[j] {
			rest.right = append(rest.right, j)
		}
	}
	return rest
}

// pairsTried is how many pairs of Loose values of one hash are tried at most, beside four for each of them.
const pairsTried = 1 << 16

func (e *Equality) mostPairs(g *group) int { return pairsTried + 4*(len(g.left)+len(g.right)) }
