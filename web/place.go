package web

import (
	"slices"
	"strings"

	"shadowdiff/diff"
	"shadowdiff/multicast"
	"shadowdiff/store"
)

// placeView is one difference with the three values at its place.
type placeView struct {
	Field   string
	Kind    diff.Kind
	Note    string
	Pointer string
	Values  [3]string // "" where that side has none
	Absent  [3]bool
	Mark    mark

	unasked bool          // the control was not asked: nothing is known of its value
	levels  [3]diff.Level // of control and candidate
	at      []string      // the anchors under which a tree may have it
}

// Cells are the values as a line shows them.
func (p placeView) Cells() [3]cell {
	var cells [3]cell
	for side := range cells {
		cells[side] = cellOf(spaced(p.Values[side]), spaced(p.Values[primary]), p.Absent[side], p.Absent[primary])
		if p.unasked && side == control {
			cells[side] = cell{Absent: true, Missing: "not asked"}
		}
		cells[side].Role = roleWords[side]
	}
	return cells
}

// spaced is JSON with a space after what stands between two values, as people write it: a long line breaks there, and is told
// at a glance from a text.
func spaced(value string) string {
	if !strings.HasPrefix(value, "{") && !strings.HasPrefix(value, "[") {
		return value
	}
	var out strings.Builder
	quoted := false
	for i := 0; i < len(value); i++ {
		out.WriteByte(value[i])
		switch c := value[i]; {
		case quoted && c == '\\' && i+1 < len(value):
			i++
			out.WriteByte(value[i])
		case c == '"':
			quoted = !quoted
		case !quoted && (c == ',' || c == ':'):
			out.WriteByte(' ')
		}
	}
	return out.String()
}

// placesViewOf joins the two comparisons: a place that both find is one line.
func placesViewOf(sample *store.Sample) []placeView {
	var out []placeView
	at := map[string]int{}
	key := func(d *diff.Difference) string {
		if d.LeftPointer == nil && d.RightPointer != nil {
			return d.Field + "\x00" + *d.RightPointer
		}
		return d.Field + "\x00" + pointerText(d.LeftPointer)
	}
	add := func(d *diff.Difference, side int) {
		i, known := at[key(d)]
		if !known || (d.LeftPointer == nil && out[i].Values[side] != "") {
			i = len(out)
			at[key(d)] = i
			left := string(d.Left)
			out = append(out, placeView{
				Field: d.Field, Kind: d.Kind, Note: d.Note, Pointer: pointerText(d.LeftPointer),
				Values: [3]string{left, left, left}, Absent: [3]bool{left == "", left == "", left == ""},
			})
		}
		if d.LeftPointer != nil {
			out[i].at = append(out[i].at, anchorOf(primary, *d.LeftPointer))
		}
		if d.RightPointer != nil {
			out[i].at = append(out[i].at, anchorOf(side, *d.RightPointer))
		}
		out[i].levels[side] = d.Kind.Level()
		out[i].Mark = markOf(out[i].levels[candidate], out[i].levels[control])
		out[i].Values[side], out[i].Absent[side] = string(d.Right), d.Right == ""
	}
	for i := range sample.Candidate {
		add(&sample.Candidate[i], candidate)
	}
	for i := range sample.Control {
		add(&sample.Control[i], control)
	}
	hideBelow(out, candidate, sample.Candidate)
	hideBelow(out, control, sample.Control)
	if sample.Responses[multicast.Primary].Outcome != "" && sample.Responses[multicast.Secondary].Outcome == "" {
		for i := range out {
			out[i].Values[control], out[i].Absent[control], out[i].unasked = "", true, true
		}
	}
	order := map[mark]int{markCandidate: 0, markBoth: 1, markControl: 2}
	slices.SortStableFunc(out, func(a, b placeView) int { return order[a.Mark] - order[b.Mark] })
	return out
}

func pointerText(p *string) string {
	if p == nil {
		return ""
	}
	return *p
}

// hideBelow takes away what a side is not known to have: where a container differs as a whole, nothing is said of the
// places in it.
func hideBelow(found []placeView, side int, differences []diff.Difference) {
	for i := range found {
		p := &found[i]
		if p.levels[side] > 0 || !strings.HasPrefix(p.Pointer, "/") {
			continue
		}
		for _, d := range differences {
			if d.LeftPointer != nil && strings.HasPrefix(p.Pointer, *d.LeftPointer+"/") {
				p.Values[side], p.Absent[side] = "", true
			}
		}
	}
}
