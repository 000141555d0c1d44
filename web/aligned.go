package web

import (
	"strconv"
	"strings"

	"shadowdiff/diff"
)

// places are the pointers at which one comparison found differences, by side.
type places struct {
	left, right map[string]diff.Level
	list        []diff.Difference
}

func placesOf(differences []diff.Difference) places {
	p := places{left: map[string]diff.Level{}, right: map[string]diff.Level{}, list: differences}
	for _, d := range differences {
		if d.LeftPointer != nil {
			p.left[*d.LeftPointer] = max(p.left[*d.LeftPointer], d.Kind.Level())
		}
		if d.RightPointer != nil {
			p.right[*d.RightPointer] = max(p.right[*d.RightPointer], d.Kind.Level())
		}
	}
	return p
}

// aligner lays three JSON documents side by side, following the pairing that the differences tell of.
type aligner struct {
	against [3]places      // [control] and [candidate] are used
	stops   int            // differences met so far
	anchors map[string]int // by side and pointer: which of them it is
	gone    [3]bool        // sides that do not have the place around the present one
}

// alignTrees makes the lines of three answers; a nil root is an answer without that body. It tells, too, at which of the
// marked lines each place stands.
func alignTrees(roots [3]*node, controlDiffs, candidateDiffs []diff.Difference) (lines []line, anchors map[string]int) {
	a := aligner{anchors: map[string]int{}}
	a.against[control], a.against[candidate] = placesOf(controlDiffs), placesOf(candidateDiffs)
	lines = a.lines(roots, [3]string{}, "", 0)
	return foldEqual(lines, 0), a.anchors
}

// anchorOf is the name of a place on one side.
func anchorOf(side int, pointer string) string { return strconv.Itoa(side) + pointer }

func (a *aligner) lines(n [3]*node, at [3]string, key string, depth int) []line {
	whose := a.mark(n, at)
	allSame := same(n[primary], n[control]) && same(n[primary], n[candidate])
	head := line{Depth: depth, Key: key, Mark: whose, Same: allSame && whose == unmarked}
	if head.Same && len(n[primary].kids) > 0 {
		head.lump = n[primary]
		return []line{head}
	}
	a.stop(&head, n, at)
	kind := commonKind(n)
	if kind == 0 || (head.Same && len(n[primary].kids) == 0) {
		a.fillScalars(&head, n)
		head.hollow(a.gone)
		return []line{head}
	}
	around := a.gone
	a.gone = [3]bool{n[primary] == nil, n[control] == nil, n[candidate] == nil}
	var kids []line
	if kind == '{' {
		kids = a.members(n, at, depth+1)
	} else {
		kids = a.items(n, at, depth+1)
	}
	foot := head
	foot.Key, foot.Mark, foot.Stop = "", unmarked, 0
	for side := range n {
		head.Cells[side] = bracket(n[side], string(kind), side)
		foot.Cells[side] = bracket(n[side], string(closing(kind)), side)
	}
	foot.hollow(a.gone)
	a.gone = around
	head.hollow(a.gone)
	kids = foldEqual(kids, 0) // an equal container is folded as a whole, with its neighbours
	return append(append([]line{head}, kids...), foot)
}

// commonKind is the bracket that all present values share, or 0: then they are shown as scalars.
func commonKind(n [3]*node) byte {
	var kind byte
	for _, v := range n {
		if v == nil {
			continue
		}
		if v.open == 0 || (kind != 0 && v.open != kind) {
			return 0
		}
		kind = v.open
	}
	return kind
}

func (a *aligner) fillScalars(l *line, n [3]*node) {
	var text [3]string
	for side, v := range n {
		if v != nil {
			text[side] = v.compact()
		}
	}
	l.fill(text, [3]bool{n[primary] != nil, n[control] != nil, n[candidate] != nil})
	if l.Mark == unmarked && !l.Same && n[primary] != nil {
		l.Mark = markFree
	}
}

// stop counts a line that is marked, and notes the places that it shows.
func (a *aligner) stop(l *line, n [3]*node, at [3]string) {
	if l.Mark == unmarked {
		return
	}
	a.stops++
	l.Stop = a.stops
	for side := range n {
		if n[side] != nil {
			a.anchors[anchorOf(side, at[side])] = a.stops
		}
	}
}

// members walks the union of the keys, the primary's order first.
func (a *aligner) members(n [3]*node, at [3]string, depth int) []line {
	var lines []line
	seen := map[string]bool{}
	for _, side := range n {
		if side == nil {
			continue
		}
		for _, key := range side.keys {
			if seen[key] {
				continue
			}
			seen[key] = true
			var kids [3]*node
			var below [3]string
			for s := range n {
				kids[s], below[s] = n[s].member(key), at[s]+"/"+pointerKey(key)
			}
			lines = append(lines, a.lines(kids, below, key, depth)...)
		}
	}
	return lines
}

// pointerKey escapes a key for an RFC 6901 pointer.
func pointerKey(key string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(key) }

// items walks three arrays along the pairing of the elements.
func (a *aligner) items(n [3]*node, at [3]string, depth int) []line {
	var lines []line
	for _, row := range a.pairing(n, at) {
		var kids [3]*node
		var below [3]string
		for side, i := range row {
			kids[side], below[side] = n[side].item(i), at[side]+"/"+strconv.Itoa(i)
		}
		lines = append(lines, a.lines(kids, below, "", depth)...)
	}
	return lines
}

// mark reads from the differences, never from the text, whether a line differs and on whose side.
func (a *aligner) mark(n [3]*node, at [3]string) mark {
	level := func(side int) (l diff.Level) {
		p := a.against[side]
		if n[primary] != nil {
			l = p.left[at[primary]]
		}
		if n[side] != nil {
			l = max(l, p.right[at[side]])
		}
		return l
	}
	return markOf(level(candidate), level(control))
}
