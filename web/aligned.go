package web

import (
	"strconv"
	"strings"

	"shadowdiff/diff"
)

// mark says whose doing a line's difference is. Each has a sign and a word of its own, so that colour is never alone.
type mark string

const (
	unmarked      mark = ""
	markCandidate mark = "candidate" // the candidate alone, or more gravely than the control
	markControl   mark = "control"   // the control alone, or more gravely: noise
	markBoth      mark = "both"
	markFree      mark = "free" // reads differently, but a rule or equal meaning makes it no difference
)

// Word is the mark for those who do not see its sign.
func (m mark) Word() string {
	return map[mark]string{
		markCandidate: "candidate differs", markControl: "control differs (noise)", markBoth: "both differ", markFree: "not a difference",
	}[m]
}

// cell is one role's part of a line.
type cell struct {
	Role            string
	Before, In, End string // In is what is unlike the primary's
	Absent          bool
	Differs         bool
}

// line is one aligned line of the three answers, in the order primary, control, candidate.
type line struct {
	Depth int
	Key   string
	Cells [3]cell
	Mark  mark
	Same  bool   // all three read the same
	Fold  []line // equal lines, shown on request; everything else is then empty but Label
	Label string
}

// Plain tells a line without a mark that all three have: a narrow page shows it once.
func (l line) Plain() bool {
	return l.Mark == unmarked && !l.Cells[primary].Absent && !l.Cells[control].Absent && !l.Cells[candidate].Absent
}

const (
	primary   = 0 // places in line.Cells, and in the triples below
	control   = 1
	candidate = 2
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
type aligner struct{ against [3]places } // [control] and [candidate] are used

// alignTrees makes the lines of three answers; a nil root is an answer without that body.
func alignTrees(roots [3]*node, controlDiffs, candidateDiffs []diff.Difference) []line {
	var a aligner
	a.against[control], a.against[candidate] = placesOf(controlDiffs), placesOf(candidateDiffs)
	return a.lines(roots, [3]string{}, "", 0)
}

func (a *aligner) lines(n [3]*node, at [3]string, key string, depth int) []line {
	whose := a.mark(n, at)
	allSame := same(n[primary], n[control]) && same(n[primary], n[candidate])
	head := line{Depth: depth, Key: key, Mark: whose, Same: allSame && whose == unmarked}
	kind := commonKind(n)
	if kind == 0 || (head.Same && len(n[primary].kids) == 0) {
		a.fillScalars(&head, n)
		return []line{head}
	}
	var kids []line
	if kind == '{' {
		kids = a.members(n, at, depth+1)
	} else {
		kids = a.items(n, at, depth+1)
	}
	foot := head
	foot.Key, foot.Mark = "", unmarked
	for side := range n {
		head.Cells[side] = bracket(n[side], string(kind), side)
		foot.Cells[side] = bracket(n[side], string(closing(kind)), side)
	}
	if !head.Same {
		kids = foldEqual(kids) // an equal container is folded as a whole, with its neighbours
	}
	return append(append([]line{head}, kids...), foot)
}

func bracket(n *node, sign string, side int) cell {
	return cell{Role: roleWords[side], Before: sign, Absent: n == nil}
}

var roleWords = [3]string{"primary", "control", "candidate"}

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

// markOf says whose doing a place is: the side that differs more gravely, as in a whole request.
func markOf(onCandidate, onControl diff.Level) mark {
	switch {
	case onCandidate > onControl:
		return markCandidate
	case onControl > onCandidate:
		return markControl
	case onCandidate > 0:
		return markBoth
	}
	return unmarked
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
	for side, v := range n {
		l.Cells[side] = cellOf(text[side], text[primary], v == nil, n[primary] == nil)
		l.Cells[side].Role = roleWords[side]
	}
	if l.Mark == unmarked && !l.Same && n[primary] != nil {
		l.Mark = markFree
	}
}

const cellMost = 4000 // bytes of a value that a cell shows

// cellOf splits a text into what it shares with the primary's at both ends and what it does not.
func cellOf(text, reference string, absent, noReference bool) cell {
	if absent {
		return cell{Absent: true, Differs: !noReference}
	}
	if text == reference || noReference {
		return cell{Before: cut(text), Differs: noReference}
	}
	before, in, end := split(cut(text), cut(reference))
	return cell{Before: before, In: in, End: end, Differs: true}
}

func cut(s string) string {
	if len(s) <= cellMost {
		return s
	}
	return strings.ToValidUTF8(s[:cellMost], "") + "…"
}

// split takes the common beginning and end off a text, in whole characters.
func split(text, reference string) (before, in, end string) {
	t, r := []rune(text), []rune(reference)
	i := 0
	for i < len(t) && i < len(r) && t[i] == r[i] {
		i++
	}
	j := 0
	for j < len(t)-i && j < len(r)-i && t[len(t)-1-j] == r[len(r)-1-j] {
		j++
	}
	return string(t[:i]), string(t[i : len(t)-j]), string(t[len(t)-j:])
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

// foldLabel says how much is folded, and the first names of it.
func foldLabel(lines []line) string {
	var names []string
	for _, l := range lines {
		if l.Depth == lines[0].Depth && l.Key != "" {
			names = append(names, l.Key)
		}
	}
	label := things(int64(len(lines)), "equal line")
	if len(names) > 0 {
		label += ": " + listed(names, 6)
	}
	return label
}

// foldEqual puts runs of equal lines behind one line that can be opened.
func foldEqual(lines []line) []line {
	const least = 3 // shorter runs are quicker read than opened
	var out []line
	for i := 0; i < len(lines); {
		j := i
		for j < len(lines) && lines[j].Same && lines[j].Fold == nil {
			j++
		}
		switch {
		case j-i > least:
			out = append(out, line{Depth: lines[i].Depth, Same: true, Fold: lines[i:j], Label: foldLabel(lines[i:j])})
		case j > i:
			out = append(out, lines[i:j]...)
		default:
			j++
			out = append(out, lines[i])
		}
		i = j
	}
	return out
}
