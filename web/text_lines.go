package web

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"shadowdiff/diff"
	"shadowdiff/store"
)

// textLinesMost bounds what is laid out line by line.
const textLinesMost = 1500

// textLines sets three bodies that are not all JSON side by side, line by line; bytes stand as a dump.
func textLines(sample *store.Sample, bodies [3][]byte, asked [3]bool) []line {
	var texts [3][]string
	for side, body := range bodies {
		switch {
		case !asked[side]:
		case utf8.Valid(body) && bytes.IndexByte(body, 0) < 0:
			texts[side] = splitLines(string(body))
		default:
			texts[side] = binaryLines(&sample.Responses[storedRole[side]])
		}
	}
	differs := [3]diff.Level{control: bodyLevel(sample.Control), candidate: bodyLevel(sample.Candidate)}
	var m matching
	for side := range texts {
		m.length[side] = len(texts[side])
		if side != primary {
			m.partner[side], m.extra[side] = matchLines(texts[primary], texts[side])
		}
	}
	m.same = func(i, j int) bool { return texts[control][i] == texts[candidate][j] }
	var lines []line
	for _, row := range m.rows() {
		lines = append(lines, textLine(row, texts, asked, differs))
	}
	return foldEqual(lines)
}

func splitLines(text string) []string {
	if text == "" {
		return nil
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	return lines[:min(len(lines), textLinesMost)]
}

// textLine marks what is unlike the primary's, on the sides whose body differs at all.
func textLine(row [3]int, texts [3][]string, asked [3]bool, differs [3]diff.Level) line {
	var l line
	var unlike bool
	reference, has := at(texts[primary], row[primary])
	for side := range texts {
		text, ok := at(texts[side], row[side])
		l.Cells[side] = cellOf(text, reference, !ok, !has)
		l.Cells[side].Role = roleWords[side]
		if asked[side] && (text != reference || ok != has) {
			unlike = true
		} else {
			differs[side] = 0
		}
	}
	l.Mark, l.Same = markOf(differs[candidate], differs[control]), !unlike
	return l
}

func at(lines []string, i int) (string, bool) {
	if i < 0 || i >= len(lines) {
		return "", false
	}
	return lines[i], true
}

// matchLines pairs the lines of two texts: the longest common subsequence between what they begin and end with alike,
// and what is left in each gap in order. It answers as aligner.partners does.
func matchLines(left, right []string) (partner, extra []int) {
	partner = slices.Repeat([]int{-1}, len(left))
	head := 0
	for head < min(len(left), len(right)) && left[head] == right[head] {
		partner[head] = head
		head++
	}
	tail := 0
	for tail < min(len(left), len(right))-head && left[len(left)-1-tail] == right[len(right)-1-tail] {
		partner[len(left)-1-tail] = len(right) - 1 - tail
		tail++
	}
	matchMiddle(left[head:len(left)-tail], right[head:len(right)-tail], partner[head:len(left)-tail], head)
	taken := make([]bool, len(right))
	for _, j := range partner {
		if j >= 0 {
			taken[j] = true
		}
	}
	for j, t := range taken {
		if !t {
			extra = append(extra, j)
		}
	}
	return partner, extra
}

// matchMiddle fills in partners from the table of longest common subsequences, which textLinesMost bounds.
func matchMiddle(left, right []string, partner []int, offset int) {
	width := len(right) + 1
	longest := make([]uint16, (len(left)+1)*width) // of left[i:] and right[j:]
	for i := len(left) - 1; i >= 0; i-- {
		for j := len(right) - 1; j >= 0; j-- {
			if left[i] == right[j] {
				longest[i*width+j] = longest[(i+1)*width+j+1] + 1
			} else {
				longest[i*width+j] = max(longest[(i+1)*width+j], longest[i*width+j+1])
			}
		}
	}
	gapLeft, gapRight := 0, 0 // where the present gap begins
	i, j := 0, 0
	closeGap := func() {
		for ; gapLeft < i && gapRight < j; gapLeft, gapRight = gapLeft+1, gapRight+1 {
			partner[gapLeft] = offset + gapRight
		}
	}
	for i < len(left) && j < len(right) {
		switch {
		case left[i] == right[j]:
			closeGap()
			partner[i] = offset + j
			i, j = i+1, j+1
			gapLeft, gapRight = i, j
		case longest[(i+1)*width+j] >= longest[i*width+j+1]:
			i++
		default:
			j++
		}
	}
	i, j = len(left), len(right)
	closeGap()
}
