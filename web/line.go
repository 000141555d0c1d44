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
	Before, In, End string // In is what is unlike the primary's
	Absent          bool
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
