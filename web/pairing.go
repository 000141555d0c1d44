package web

import (
	"slices"
	"strconv"
	"strings"
)

// pairing lists which elements of three arrays stand in one line, −1 where a side has none. It follows the differences:
// what is missing or extra has no partner, what differs inside is named by both pointers, and all else is equal and keeps
// its order. So a page shows the pairing that was judged, not one of its own.
func (a *aligner) pairing(n [3]*node, at [3]string) [][3]int {
	var m matching
	m.partner[control], m.extra[control] = a.partners(n, at, control)
	m.partner[candidate], m.extra[candidate] = a.partners(n, at, candidate)
	m.length = [3]int{length(n[primary]), length(n[control]), length(n[candidate])}
	m.same = func(i, j int) bool { return same(n[control].item(i), n[candidate].item(j)) }
	return m.rows()
}

// matching is how the elements of two lists are paired with those of the primary's.
type matching struct {
	length  [3]int
	partner [3][]int            // [control] and [candidate]: for each of the primary's its partner, or −1
	extra   [3][]int            // those without one, ascending
	same    func(i, j int) bool // whether an extra of the control equals one of the candidate
	next    [3]int              // extras that stand in a row already
	out     [][3]int
}

// rows sets the three lists in lines, each side in its order: extras stand before the next element that has a partner.
func (m *matching) rows() [][3]int {
	for i := range m.length[primary] {
		s, c := m.partner[control][i], m.partner[candidate][i]
		m.extras(s, c)
		m.out = append(m.out, [3]int{i, s, c})
	}
	m.extras(m.length[control], m.length[candidate])
	return m.out
}

// extras adds a line for each extra before the given elements; equal ones of both sides share it.
func (m *matching) extras(beforeControl, beforeCandidate int) {
	for {
		row := [3]int{-1, m.waiting(control, beforeControl), m.waiting(candidate, beforeCandidate)}
		if row[control] >= 0 && row[candidate] >= 0 && !m.same(row[control], row[candidate]) {
			row[candidate] = -1
		}
		if row == [3]int{-1, -1, -1} {
			return
		}
		m.next[control] += one(row[control] >= 0)
		m.next[candidate] += one(row[candidate] >= 0)
		m.out = append(m.out, row)
	}
}

// waiting is the next extra of a side, if it comes before an element; −1 holds all back.
func (m *matching) waiting(side, before int) int {
	if n := m.next[side]; n < len(m.extra[side]) && m.extra[side][n] < before {
		return m.extra[side][n]
	}
	return -1
}

func length(n *node) int {
	if n == nil {
		return 0
	}
	return len(n.kids)
}

// partners answers for each element of the primary its partner on one side, or −1, and lists the elements of that side
// without one.
func (a *aligner) partners(n [3]*node, at [3]string, side int) (partner, extra []int) {
	lefts, rights := length(n[primary]), length(n[side])
	partner = slices.Repeat([]int{-1}, lefts)
	taken, alone := make([]bool, rights), make([]bool, lefts)
	for _, d := range a.against[side].list {
		i, inLeft := indexBelow(d.LeftPointer, at[primary], lefts)
		j, inRight := indexBelow(d.RightPointer, at[side], rights)
		switch {
		case inLeft && inRight:
			partner[i], taken[j] = j, true
		case inLeft && d.RightPointer == nil && isElement(*d.LeftPointer, at[primary]):
			alone[i] = true
		case inRight && d.LeftPointer == nil && isElement(*d.RightPointer, at[side]):
			taken[j] = true
			extra = append(extra, j)
		}
	}
	matchRest(n[primary], n[side], partner, alone, taken)
	for j, t := range taken {
		if !t {
			extra = append(extra, j)
		}
	}
	slices.Sort(extra)
	return partner, slices.Compact(extra)
}

// matchRest pairs what no difference names: equal elements first, in order, then what is left in order. Very long
// arrays are paired in order at once.
func matchRest(left, right *node, partner []int, alone, taken []bool) {
	passes := []bool{true, false}
	if len(partner)*len(taken) > 1_000_000 {
		passes = passes[1:]
	}
	for _, wantSame := range passes {
		j := 0
		for i := range partner {
			if partner[i] >= 0 || alone[i] {
				continue
			}
			for k := j; k < len(taken); k++ {
				if !taken[k] && (!wantSame || same(left.kids[i], right.kids[k])) {
					partner[i], taken[k] = k, true
					break
				}
			}
			for j < len(taken) && taken[j] {
				j++
			}
		}
	}
}

// indexBelow reads the element of an array that a pointer leads into.
func indexBelow(pointer *string, array string, length int) (int, bool) {
	if pointer == nil {
		return 0, false
	}
	rest, ok := strings.CutPrefix(*pointer, array)
	if !ok || !strings.HasPrefix(rest, "/") {
		return 0, false
	}
	digits, _, _ := strings.Cut(rest[1:], "/")
	i, err := strconv.Atoi(digits)
	return i, err == nil && i >= 0 && i < length
}

// isElement says whether a pointer names an element of the array itself and not a place inside one.
func isElement(pointer, array string) bool {
	return !strings.Contains(strings.TrimPrefix(pointer, array+"/"), "/")
}
