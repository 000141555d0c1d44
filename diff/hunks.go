package diff

import (
	"fmt"
	"strings"

	"shadowdiff/normalize"
)

// Bounds of showing where two texts differ. They are no part of comparing: the texts are known to differ.
const (
	hunkBytes = 16 << 20 // of both texts; longer ones are shown at their first differing line
	hunkWork  = 8_000_000
	hunkLines = 4 // shown of each side of a hunk
)

// hunk is a stretch of lines in which two texts differ; either side may have none.
type hunk struct {
	left, right []string
	at, to      int // numbers of the first lines, from 1
}

// hunks lists the stretches in which two texts differ, as diff(1) does. It answers nil where there is too much to tell.
func hunks(left, right string) []hunk {
	if len(left)+len(right) > hunkBytes {
		return nil
	}
	l, r := splitLines(left), splitLines(right)
	classes := map[string]int32{}
	number := func(lines []string) []int32 {
		out := make([]int32, len(lines))
		for i, line := range lines {
			class, ok := classes[line]
			if !ok {
				class = int32(len(classes))
				classes[line] = class
			}
			out[i] = class
		}
		return out
	}
	a, b := number(l), number(r)
	work := hunkWork
	blocks, given := align(a, b, len(classes), &work)
	if len(given) > 0 {
		return nil
	}
	var out []hunk
	i, j := 0, 0
	for _, at := range append(blocks, block{len(l), len(r), 0}) {
		if i < at.i || j < at.j {
			out = append(out, hunk{l[i:at.i], r[j:at.j], i + 1, j + 1})
		}
		i, j = at.i+at.n, at.j+at.n
	}
	return out
}

// splitLines keeps the ends of the lines.
func splitLines(s string) []string {
	lines := strings.SplitAfter(s, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// texts tells whether the bodies are texts.
func (e Explanation) texts() bool {
	return e.Left != nil && e.Right != nil && e.Left.Kind == normalize.Text && e.Right.Kind == normalize.Text
}

// lines writes where two texts differ. It answers false when that cannot be told.
func (e Explanation) lines(b *strings.Builder) bool {
	left, right := sane(string(e.Left.Bytes)), sane(string(e.Right.Bytes))
	list := hunks(left, right)
	if len(list) == 0 {
		return false
	}
	note := fmt.Sprintf("%s on the left, %d on the right", several(lineCount(left), "line"), lineCount(right))
	e.remark(b, notes(e.Left, e.Right, normalize.JoinNotes(note, onlyEnds(left, right))))
	for i, h := range list {
		if i == e.Places {
			fmt.Fprintf(b, "  … %s\n", more(len(list)-i, "place"))
			break
		}
		e.hunk(b, h)
	}
	return true
}

func (e Explanation) hunk(b *strings.Builder, h hunk) {
	where := fmt.Sprintf("line %d", h.at)
	switch {
	case len(h.left) == 0:
		where = fmt.Sprintf("line %d on the right", h.to)
	case len(h.right) == 0:
		where += " on the left"
	case h.at != h.to:
		where += fmt.Sprintf(" on the left, line %d on the right", h.to)
	}
	var left, right []string
	for i := range min(max(len(h.left), len(h.right)), hunkLines) {
		var l, r Excerpt
		note := ""
		switch {
		case i >= len(h.right):
			l = excerptOfText(h.left[i], lineExcerpt)
		case i >= len(h.left):
			r = excerptOfText(h.right[i], lineExcerpt)
		default:
			l, r, note = texts(h.left[i], h.right[i], lineExcerpt)
		}
		if i == 0 && note != "" {
			where += "  " + note
		}
		a, b := e.values(l, r)
		left, right = append(left, a), append(right, b)
	}
	e.remark(b, where)
	e.side(b, left[:min(len(left), len(h.left))], len(h.left), "31", "- ")
	e.side(b, right[:min(len(right), len(h.right))], len(h.right), "32", "+ ")
}

// side writes the lines of one side of a hunk, of which there are so many.
func (e Explanation) side(b *strings.Builder, lines []string, total int, color, sign string) {
	for _, line := range lines {
		b.WriteString("  " + e.paint(color, sign+line) + "\n")
	}
	if rest := total - len(lines); rest > 0 {
		b.WriteString("  " + e.paint(color, sign+"… "+more(rest, "line")) + "\n")
	}
}

const lineExcerpt = 2 << 10
