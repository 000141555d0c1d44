package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"shadowdiff/diff"
	"shadowdiff/normalize"
	"shadowdiff/store"
)

const (
	textLinesMost = 20_000    // lines of a body that are laid out
	textPairsMost = 2_000_000 // pairs of lines that are looked at to find the longest common subsequence
	textAround    = 3         // equal lines that stay beside what differs
)

// text lays out three bodies line by line; bytes stand as a dump of their beginning.
func (l *layout) text(sample *store.Sample, docs [3]*normalize.Document) {
	l.As, l.Numbered = "text", true
	var texts [3][]string
	apart := l.kindsApart(docs)
	for side, doc := range docs {
		if !l.Gone[side] {
			body := doc.Body
			if apart && body.Kind == normalize.JSON {
				body.Bytes = indented(body.Bytes)
			}
			texts[side] = l.linesOf(side, &body, sample.Responses[storedRole[side]].Body)
		}
	}
	for side := range texts {
		if l.Gone[side] {
			texts[side] = texts[slices.Index(l.Gone[:], false)] // its column is not shown
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
	before := unmarked
	for _, row := range m.rows() {
		next := textLine(row, texts, differs)
		if next.Mark != unmarked && next.Mark != markFree && next.Mark != before { // a run of lines is one difference
			l.Stops++
			next.Stop = l.Stops
		}
		before = next.Mark
		lines = append(lines, next)
	}
	l.Lines = foldEqual(lines, textAround)
}

// kindsApart tells whether only some of the bodies are JSON: their lines have nothing in common then, and what is JSON is laid
// out to be read.
func (l *layout) kindsApart(docs [3]*normalize.Document) bool {
	is := map[bool]bool{}
	for side, doc := range docs {
		if !l.Gone[side] {
			is[doc.Body.Kind == normalize.JSON] = true
		}
	}
	if len(is) == 2 {
		l.Notes = append(l.Notes, "Not all of these bodies are JSON; the JSON is laid out in lines here, and stands as it was sent under Raw.")
	}
	return len(is) == 2
}

// indented has a line for each value, whose text stays as it was sent; what Go takes for no JSON stays as it is.
func indented(text []byte) []byte {
	var b bytes.Buffer
	if json.Indent(&b, text, "", "  ") != nil {
		return text
	}
	return b.Bytes()
}

// linesOf cuts a body into lines.
func (l *layout) linesOf(side int, body *normalize.Body, sent []byte) []string {
	if body.Kind == normalize.Binary || body.Kind == normalize.Digest || bytes.IndexByte(body.Bytes, 0) >= 0 {
		return strings.Split(strings.TrimSpace(printable(sent)), "\n")
	}
	lines := strings.SplitN(strings.TrimSuffix(string(body.Bytes), "\n"), "\n", textLinesMost+1)
	if len(lines) > textLinesMost {
		left := 1 + strings.Count(lines[textLinesMost], "\n")
		l.Notes = append(l.Notes, fmt.Sprintf("Of the %s’s body the first %s lines are laid out; the file of it has %s more.",
			roleWords[side], count(textLinesMost), count(int64(left))))
		lines = lines[:textLinesMost]
	}
	return lines
}

// textLine marks what is unlike the primary's, on the sides whose body differs at all.
func textLine(row [3]int, texts [3][]string, differs [3]diff.Level) line {
	var l line
	var text [3]string
	var has [3]bool
	for side := range texts {
		text[side], has[side] = at(texts[side], row[side])
		if has[side] {
			l.Cells[side].No = row[side] + 1
		}
	}
	l.judge(text, has, differs)
	return l
}

func at(lines []string, i int) (string, bool) {
	if i < 0 || i >= len(lines) {
		return "", false
	}
	return lines[i], true
}

// matchLines pairs the lines of two texts. It answers as aligner.partners does.
func matchLines(left, right []string) (partner, extra []int) {
	partner = slices.Repeat([]int{-1}, len(left))
	matchSpan(left, right, partner, 0, 8)
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

// matchSpan pairs what two spans begin and end with alike, and between that the longest common subsequence; what is left
// in each gap is paired in order. Where the table for that would be too large, lines that stand once in either span hold
// the two together, and what is between them is matched by itself, down to so many levels.
func matchSpan(left, right []string, partner []int, offset, depth int) {
	head := 0
	for head < min(len(left), len(right)) && left[head] == right[head] {
		partner[head] = offset + head
		head++
	}
	tail := 0
	for tail < min(len(left), len(right))-head && left[len(left)-1-tail] == right[len(right)-1-tail] {
		partner[len(left)-1-tail] = offset + len(right) - 1 - tail
		tail++
	}
	l, r, p := left[head:len(left)-tail], right[head:len(right)-tail], partner[head:len(left)-tail]
	offset += head
	if len(l)*len(r) <= textPairsMost {
		matchMiddle(l, r, p, offset)
		return
	}
	fixed := fixedLines(l, r)
	if len(fixed) == 0 || depth == 0 {
		for i := range min(len(l), len(r)) {
			p[i] = offset + i
		}
		return
	}
	fromLeft, fromRight := 0, 0
	for _, at := range append(fixed, [2]int{len(l), len(r)}) {
		matchSpan(l[fromLeft:at[0]], r[fromRight:at[1]], p[fromLeft:at[0]], offset+fromRight, depth-1)
		if at[0] < len(l) {
			p[at[0]] = offset + at[1]
		}
		fromLeft, fromRight = at[0]+1, at[1]+1
	}
}

// fixedLines are lines that stand once in either text, as many as are in the same order in both.
func fixedLines(left, right []string) [][2]int {
	type places struct{ right, lefts, rights int }
	once := map[string]*places{}
	for _, text := range left {
		if once[text] == nil {
			once[text] = &places{}
		}
		once[text].lefts++
	}
	for j, text := range right {
		if at := once[text]; at != nil {
			at.right, at.rights = j, at.rights+1
		}
	}
	var pairs [][2]int
	for i, text := range left {
		if at := once[text]; at.lefts == 1 && at.rights == 1 {
			pairs = append(pairs, [2]int{i, at.right})
		}
	}
	return increasing(pairs)
}

// increasing is the longest part of pairs, sorted by their first, that is sorted by their second as well.
func increasing(pairs [][2]int) [][2]int {
	var ends []int // the last pair of the best sequence of each length
	before := make([]int, len(pairs))
	for i, pair := range pairs {
		at, _ := slices.BinarySearchFunc(ends, pair[1], func(end, to int) int { return pairs[end][1] - to })
		before[i] = -1
		if at > 0 {
			before[i] = ends[at-1]
		}
		if at == len(ends) {
			ends = append(ends, i)
		} else {
			ends[at] = i
		}
	}
	if len(ends) == 0 {
		return nil
	}
	var out [][2]int
	for i := ends[len(ends)-1]; i >= 0; i = before[i] {
		out = append(out, pairs[i])
	}
	slices.Reverse(out)
	return out
}

// matchMiddle fills in partners from the table of longest common subsequences, which textPairsMost bounds.
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
