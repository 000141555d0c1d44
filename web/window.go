package web

import (
	"fmt"
	"maps"
	"net/url"
	"strconv"
)

// What one answer shows of the lines: the rest is one link away, so that no body makes a page too long.
const (
	windowLines = 400       // lines
	windowBytes = 170 << 10 // and bytes of HTML, roughly
	foldLines   = 40        // lines of a fold that are on the page all the same, to be opened there
	foldsLines  = 120       // and of all folds together
)

// window is the part of a layout that is shown.
type window struct {
	after    int  // lines up to this one are left out
	from, to int  // lines that are shown though they are equal; 0: none
	part     bool // it goes on from lines that are shown already
}

// linesAt is where lines can be asked for: the path of the sample's page, and the query of it that names no lines.
type linesAt struct {
	path  string
	query url.Values
}

// rest is a line that links to lines which are left out.
func (at linesAt) rest(w window, label string, l line) line {
	q := maps.Clone(at.query)
	if q == nil {
		q = url.Values{}
	}
	if w.after > 0 {
		q.Set("after", strconv.Itoa(w.after))
	}
	if w.to > 0 {
		q.Set("open", fmt.Sprintf("%d-%d", w.from, w.to))
	}
	query := q.Encode()
	if query != "" {
		query = "?" + query
	}
	return line{
		Depth: l.Depth, Same: true, Label: label, N: l.N, To: l.To,
		Rest: &restLink{Page: at.path + query + "#l" + strconv.Itoa(max(w.after+1, w.from)), Part: at.path + "/lines" + query},
	}
}

// show picks the lines that a window has, and links to those before and after it.
func (l *layout) show(w window, at linesAt) []line {
	v := windowed{layout: l, at: at, after: w.after}
	if w.after > 0 && !w.part {
		back := at.rest(window{}, "lines 1 to "+count(int64(w.after)), line{N: 1, To: w.after})
		back.Rest.Part = ""
		v.rows = append(v.rows, back)
	}
	equal := len(l.Lines) == 1 && l.Lines[0].Fold != nil // nothing is left to read if that stays closed
	for i := range l.Lines {
		switch next := &l.Lines[i]; {
		case next.To <= w.after:
		case v.full():
			v.end(next.N - 1)
			return v.rows
		case next.Fold == nil:
			v.add(*next)
		case equal:
			v.open(next, 1, l.Total)
		case next.N <= w.to && next.To >= w.from:
			v.open(next, w.from, w.to)
		default:
			v.fold(next)
		}
	}
	return v.rows
}

// part is the lines of a fold alone, from one to another.
func (l *layout) part(from, to int, at linesAt) []line {
	v := windowed{layout: l, at: at}
	for i := range l.Lines {
		if next := &l.Lines[i]; next.Fold != nil && next.N <= to && next.To >= from {
			v.after = max(from, next.N) - 1
			v.open(next, from, to)
			break
		}
	}
	return v.rows
}

// windowed gathers the lines of a window.
type windowed struct {
	*layout
	after  int
	at     linesAt
	rows   []line
	lines  int
	bytes  int
	folded int
}

func (v *windowed) full() bool { return v.lines >= windowLines || v.bytes >= windowBytes }

func (v *windowed) add(l line) {
	v.rows = append(v.rows, l)
	v.lines++
	v.bytes += l.weight()
}

// weight is about how many bytes of HTML a line takes.
func (l *line) weight() int {
	n := 350
	for side := range l.Cells {
		c := &l.Cells[side]
		n += len(l.Key) + len(c.Before) + len(c.In) + len(c.End)
	}
	return n
}

// fold shows a fold with its lines in it, or with a way to them where they are many.
func (v *windowed) fold(l *line) {
	v.lines++
	if size := l.To - l.N + 1; size <= foldLines && v.folded+size <= foldsLines {
		kept := *l
		kept.Fold = unfolded(l, l.N, l.To)
		weight := 0
		for i := range kept.Fold {
			weight += kept.Fold[i].weight()
		}
		if v.bytes+weight < windowBytes {
			v.folded += size
			v.bytes += weight
			v.rows = append(v.rows, kept)
			return
		}
	}
	v.rows = append(v.rows, v.at.rest(window{from: l.N, to: l.To}, l.Label, *l))
}

// open shows the lines of a fold from one to another as far as there is room, and has links in the place of the others.
func (v *windowed) open(l *line, from, to int) {
	start := max(l.N, v.after+1)
	from, to = max(from, start), min(to, l.To)
	v.equal(l, start, from-1)
	for _, next := range unfolded(l, from, min(to, from+windowLines)) {
		if v.full() {
			break
		}
		v.add(next)
		from++
	}
	v.equal(l, from, l.To)
}

// equal is the link to lines of a fold.
func (v *windowed) equal(l *line, from, to int) {
	if from <= to {
		label := things(int64(to-from+1), "equal line")
		v.rows = append(v.rows, v.at.rest(window{from: from, to: to}, label, line{Depth: l.Depth, N: from, To: to}))
	}
}

// end links to the lines behind one.
func (v *windowed) end(after int) {
	stops := 0
	for i := range v.Lines {
		if v.Lines[i].N > after {
			stops += one(v.Lines[i].Stop > 0)
		}
	}
	label := things(int64(v.Total-after), "more line")
	if stops > 0 {
		label += ", with " + things(int64(stops), "more difference")
	}
	v.rows = append(v.rows, v.at.rest(window{after: after}, label, line{N: after + 1, To: v.Total}))
}
