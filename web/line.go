package web

import (
	"strings"
	"unicode/utf8"

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
	No              int    // the number of the line in that role's text, from 1; 0: it has none
	Before, In, End string // In is what is unlike the primary's
	Absent          bool
	Missing         string // why it is absent, where that is not that the answer has none: "not asked"
	Hollow          bool   // absent with the place around it, of which that is said
	Differs         bool
}

const (
	cellShort = 160 // characters of a value that a list shows before it folds it
	cellPart  = 60  // characters of each part that stand for a folded value
)

// Length is the number of characters of a value as far as it is shown.
func (c cell) Length() int64 { return int64(utf8.RuneCountInString(c.Before + c.In + c.End)) }

// Long tells a value that a list folds.
func (c cell) Long() bool { return c.Length() > cellShort }

// Short is what stands for a long value: what is unlike the primary's, and a little of what is around it.
func (c cell) Short() cell {
	if b := []rune(c.Before); len(b) > cellPart && c.In+c.End != "" {
		c.Before = "…" + string(b[len(b)-cellPart:])
	} else {
		c.Before = begin(c.Before)
	}
	c.In, c.End = begin(c.In), begin(c.End)
	return c
}

func begin(s string) string {
	if r := []rune(s); len(r) > cellPart {
		return string(r[:cellPart]) + "…"
	}
	return s
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
	Stop  int // its number among the differences of the body, from 1; 0: it is none, or goes on with the one before

	// N and To number the lines as they stand when nothing is folded, from 1: the first and the last of a fold, the same
	// for any other line.
	N, To int

	Rest *restLink // where the lines are that this one stands for and that the page leaves out

	lump *node // an equal value that is not laid out in lines yet
}

// restLink leads to lines that a page leaves out: to a page that has them, and to the lines alone.
type restLink struct{ Page, Part string }

// lines is how many lines stand in this one's place when nothing is folded.
func (l *line) lines() int {
	switch {
	case l.lump != nil:
		return l.lump.lines()
	case l.Fold == nil:
		return 1
	}
	return sizeOf(l.Fold)
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

func bracket(n *node, sign string, side int) cell {
	return cell{Role: roleWords[side], Before: sign, Absent: n == nil}
}

// hollow empties the cells of sides that are absent with the place around them.
func (l *line) hollow(gone [3]bool) {
	for side := range gone {
		if gone[side] && l.Cells[side].Absent {
			l.Cells[side].Hollow = true
			if l.Mark == markFree {
				l.Mark = unmarked
			}
		}
	}
}

var roleWords = [3]string{"primary", "control", "candidate"}

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

const (
	cellMost  = 4000 // bytes of a value that a cell shows
	cellAhead = 200  // bytes that it shows before the first difference, where that is far from the value's beginning
)

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

// fill sets the three texts of a line. Of long ones it shows the part in which they begin to differ.
func (l *line) fill(text [3]string, has [3]bool) {
	from := farFrom(text, has)
	for side := range text {
		if from > 0 && has[side] {
			text[side] = "…" + strings.ToValidUTF8(text[side][min(from, len(text[side])):], "")
		}
	}
	for side := range text {
		no := l.Cells[side].No
		l.Cells[side] = cellOf(text[side], text[primary], !has[side], !has[primary])
		l.Cells[side].Role, l.Cells[side].No = roleWords[side], no
	}
}

// judge fills a line of text and marks it, on the sides that differ at all.
func (l *line) judge(text [3]string, has [3]bool, differs [3]diff.Level) {
	unlike := false
	for side := range text {
		if text[side] != text[primary] || has[side] != has[primary] {
			unlike = true
		} else {
			differs[side] = 0
		}
	}
	l.fill(text, has)
	l.Mark, l.Same = markOf(differs[candidate], differs[control]), !unlike
	if unlike && l.Mark == unmarked {
		l.Mark = markFree
	}
}

// farFrom is how much may be left out at the beginning of three texts, so that their first difference is seen.
func farFrom(text [3]string, has [3]bool) int {
	from, unlike := len(text[primary]), false
	for side := range text {
		if has[side] && text[side] != text[primary] {
			from, unlike = min(from, common(text[side], text[primary])), true
		}
	}
	if !has[primary] || !unlike || from+cellAhead < cellMost {
		return 0
	}
	return from - cellAhead
}

// common is how many bytes two texts begin with alike.
func common(a, b string) int {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	return i
}

func cut(s string) string {
	if len(s) <= cellMost {
		return s
	}
	return strings.ToValidUTF8(s[:cellMost], "") + "…"
}

// split takes the common beginning and end off a text, in whole characters.
func split(text, reference string) (before, in, end string) {
	i := common(text, reference)
	for i > 0 && (i < len(text) && !utf8.RuneStart(text[i]) || i < len(reference) && !utf8.RuneStart(reference[i])) {
		i--
	}
	j := 0
	for j < len(text)-i && j < len(reference)-i && text[len(text)-1-j] == reference[len(reference)-1-j] {
		j++
	}
	for j > 0 && !utf8.RuneStart(text[len(text)-j]) {
		j--
	}
	return text[:i], text[i : len(text)-j], text[len(text)-j:]
}
