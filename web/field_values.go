package web

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"shadowdiff/diff"
	"shadowdiff/multicast"
	"shadowdiff/normalize"
	"shadowdiff/store"
)

// profileView is what stood at a field in all the requests in which it differed, as counted and not as kept.
type profileView struct {
	Exchanges int64
	Places    int64 // values of each side
	Many      bool  // more than one place a request
	MoreLeft  int64 // places that were not looked at
	Withheld  int64
	Late      bool
	Asked     [3]bool // a side of which anything is known
	Values    []countRow
	MoreRows  int64 // values that are listed on some side and are not shown
	Loose     bool  // hardly any value comes twice
	Shapes    []countRow
	Numbers   *distributions
	Lengths   *distributions
	Length    string // "24", where every value is that long
	JSON      string // path of all of it
	Shift     string // "“number” where the primary’s is of “time”", where the candidate's shape is another one

	route, field string
}

// countRow is one value, or one shape, with how often each side had it.
type countRow struct {
	Text   string
	Cut    bool
	Kind   string // of what is not kept as it was
	Counts [3]countCell
	Mark   mark

	value  string // whole, as JSON; empty: it is not kept so
	number float64
	isNum  bool
	most   int64
}

// countCell is how often one side had it.
type countCell struct {
	Role  string
	Text  string // "312", "40 … 368" where it was not counted exactly, empty: not at all
	Path  string // of the kept samples that have it; empty: they cannot be told
	Width float64
}

const (
	profiledValuesShown = 14
	looseValuesShown    = 5
	profiledShapesShown = 12
	valueShown          = 120 // characters
)

// profileViewOf puts a profile into rows.
func profileViewOf(run store.Run, p *diff.FieldProfile) *profileView {
	a := profileOf(run, p)
	view := &profileView{
		route: p.Route, field: p.Field, JSON: listPath("/api/v1/profile", "route", p.Route, "field", p.Field),
		Exchanges: a.Exchanges, Places: a.Places, Many: a.Places > a.Exchanges, MoreLeft: a.MorePlaces, Withheld: a.Withheld, Late: a.Late,
	}
	var sides [3]*roleProfile
	for side, role := range storedRole {
		if one, known := a.Roles[role.String()]; known {
			sides[side], view.Asked[side] = &one, true
		}
	}
	view.values(sides)
	view.Shapes = shapeRows(sides)
	view.Numbers = distributionsOf(a.Bins["numbers"], sides, func(r *roleProfile) *distribution { return r.Numbers })
	view.Lengths = distributionsOf(a.Bins["lengths"], sides, func(r *roleProfile) *distribution { return r.Lengths })
	if l := view.Lengths; l != nil && l.Least == l.Most {
		view.Length, view.Lengths = count(int64(l.Least)), nil
	}
	if p, c := mainShape(sides[primary]), mainShape(sides[candidate]); p != "" && c != "" && p != c {
		view.Shift = fmt.Sprintf("“%s” where the primary’s is of “%s”", c, p)
	}
	return view
}

// mainShape is that of nine in ten of a side's values; empty where there is none.
func mainShape(r *roleProfile) (main string) {
	if r == nil {
		return ""
	}
	all, most := int64(0), int64(0)
	for shape, n := range r.Shapes {
		if all += n; n > most {
			main, most = shape, n
		}
	}
	if most*10 < all*9 {
		return ""
	}
	return main
}

// values lays the most frequent values of the three sides beside each other. Those shown are the most frequent; numbers
// stand in their order, so that what was shifted stands together.
func (v *profileView) values(sides [3]*roleProfile) {
	rows, at := []*countRow{}, map[string]*countRow{}
	certain := int64(0)
	for side, r := range sides {
		if r == nil {
			continue
		}
		for i := range r.Values {
			one := &r.Values[i]
			key := one.Shape + "\x00" + string(one.Value) + "\x00" + lengthKey(one)
			row := at[key]
			if row == nil {
				row = rowOfValue(one)
				rows, at[key] = append(rows, row), row
			}
			row.Counts[side].Text = ranged(one.AtLeast, one.AtMost)
			row.Counts[side].Width = sharePercent(one.AtLeast, v.Places)
			row.most = max(row.most, one.AtLeast)
			certain = max(certain, one.AtLeast)
		}
	}
	v.Loose = len(rows) > 0 && v.Places >= 50 && certain*20 < v.Places
	slices.SortStableFunc(rows, func(a, b *countRow) int { return cmp.Compare(b.most, a.most) })
	shown := min(len(rows), profiledValuesShown)
	if v.Loose {
		shown = min(len(rows), looseValuesShown)
	}
	v.MoreRows = int64(len(rows) - shown)
	rows = rows[:shown]
	if !slices.ContainsFunc(rows, func(r *countRow) bool { return !r.isNum }) {
		slices.SortStableFunc(rows, func(a, b *countRow) int { return cmp.Compare(a.number, b.number) })
	}
	for _, row := range rows {
		v.Values = append(v.Values, row.leading(v.route, v.field).marked(sides))
	}
}

// leading has each count of a value lead to the kept samples that have it.
func (r *countRow) leading(route, field string) *countRow {
	for side := range r.Counts {
		if r.value != "" && r.Counts[side].Text != "" && toldBySamples(field) {
			r.Counts[side].Path = samplesWithPath(route, field, r.value, side)
		}
	}
	return r
}

// toldBySamples tells whether samples have the values of a field in the same words as its profile: those of whole bodies
// and cookies they have in others.
func toldBySamples(field string) bool {
	return field == "status" || field == diff.FieldSize || strings.HasPrefix(field, "body.") || strings.HasPrefix(field, "header.")
}

func lengthKey(v *profileValue) string {
	if v.Length == nil || v.Value != nil && !v.Cut {
		return ""
	}
	return strconv.FormatInt(*v.Length, 10)
}

func rowOfValue(v *profileValue) *countRow {
	row := &countRow{Text: begins(string(v.Value), valueShown), Cut: v.Cut}
	if !v.Cut {
		row.value = string(v.Value)
	}
	if v.Value == nil {
		row.Kind = v.Shape
		if v.Length != nil {
			row.Kind += ", " + things(*v.Length, "character")
		}
	}
	var n json.Number
	if json.Unmarshal(v.Value, &n) == nil && v.Shape == normalize.ShapeNumber.String() {
		if x, err := n.Float64(); err == nil {
			row.number, row.isNum = x, true
		}
	}
	return row
}

// marked says whose doing a row is: a value that one of the two has, and the primary has not.
func (r *countRow) marked(sides [3]*roleProfile) countRow {
	has := func(side int) bool { return r.Counts[side].Text != "" }
	sure := func(side int) bool { return sides[side] == nil || sides[side].Exact || has(side) }
	switch {
	case has(primary) || !sure(primary):
	case has(candidate) && has(control):
		r.Mark = markBoth
	case has(candidate) && sure(control):
		r.Mark = markCandidate
	case has(control) && sure(candidate):
		r.Mark = markControl
	}
	for side := range r.Counts {
		r.Counts[side].Role = roleWords[side]
		if r.Counts[side].Text == "" && sides[side] != nil && !sides[side].Exact {
			r.Counts[side].Text = "?"
		}
	}
	return *r
}

// ranged is a count that may not be exact.
func ranged(least, most int64) string {
	switch {
	case least == most:
		return count(least)
	case least == 0:
		return "≤\u202f" + count(most)
	default:
		return "≥\u202f" + count(least)
	}
}

func sharePercent(part, whole int64) float64 {
	if whole <= 0 {
		return 0
	}
	return math.Round(1e4*float64(part)/float64(whole)) / 100
}

// shapeRows lays the shapes beside each other, those first that are most frequent on any side.
func shapeRows(sides [3]*roleProfile) []countRow {
	at := map[string]*countRow{}
	for side, r := range sides {
		if r == nil {
			continue
		}
		all := int64(0)
		for _, n := range r.Shapes {
			all += n
		}
		for shape, n := range r.Shapes {
			row := at[shape]
			if row == nil {
				row = &countRow{Kind: shape}
				at[shape] = row
			}
			row.Counts[side] = countCell{Text: count(n), Width: sharePercent(n, all)}
			row.most = max(row.most, n)
		}
	}
	exact := sides
	for side := range exact {
		if exact[side] != nil {
			exact[side] = &roleProfile{Exact: true}
		}
	}
	rows := make([]countRow, 0, len(at))
	for _, row := range at {
		rows = append(rows, row.marked(exact))
	}
	slices.SortFunc(rows, func(a, b countRow) int { return cmp.Or(cmp.Compare(b.most, a.most), cmp.Compare(a.Kind, b.Kind)) })
	return rows[:min(len(rows), profiledShapesShown)]
}

// distributions are the numbers of the three sides, drawn on one scale.
type distributions struct {
	Least, Most float64
	Logarithmic bool
	Sides       []distributionView // of those that have numbers
	Ticks       []tick
	Error       string // how far a quantile may be off
	Close       bool   // all lie closer together than that: nothing can be drawn
}

// distributionView is one side's numbers.
type distributionView struct {
	Role   string
	Count  int64
	Bins   []binView
	Figure [7]string // least, the quantiles, most
	Median float64   // across
}

// binView is one bin: across in hundredths of the width, high in points.
type binView struct{ X, Width, Y, Height float64 }

const histogramHeight = 34

// Words head the figures of a distribution.
func (d *distributions) Words() [7]string {
	return [7]string{"least", "p5", "p25", "median", "p75", "p95", "most"}
}

// Exact tells whether the least and the most are written in full, and not with the digits that a float has.
func (d *distributions) Exact() bool { return max(math.Abs(d.Least), math.Abs(d.Most)) < 1e15 }

func distributionsOf(bins []profileBinCounts, sides [3]*roleProfile, of func(*roleProfile) *distribution) *distributions {
	d := &distributions{Least: math.Inf(1), Most: math.Inf(-1)}
	told := 0
	for _, r := range sides {
		if r != nil && of(r) != nil {
			told++
			d.Least, d.Most = min(d.Least, of(r).Least), max(d.Most, of(r).Most)
		}
	}
	if told < 2 { // one side's alone say nothing of a difference
		return nil
	}
	d.Logarithmic = d.Least > 0 && d.Most/d.Least > 100
	d.Ticks = d.ticks()
	for side, r := range sides {
		if r == nil || of(r) == nil {
			continue
		}
		one := of(r)
		d.Error = percent(one.Error, 0)
		d.Close = d.Most > d.Least && d.Most-d.Least < 2*one.Error*max(math.Abs(d.Least), math.Abs(d.Most))
		view := distributionView{
			Role: roleWords[side], Count: one.Count, Median: d.across(one.P50), Bins: d.bins(bins, storedRole[side], one.Count),
		}
		for i, x := range [7]float64{one.Least, one.P5, one.P25, one.P50, one.P75, one.P95, one.Most} {
			view.Figure[i] = figure(x, i == 0 || i == 6)
		}
		d.Sides = append(d.Sides, view)
	}
	return d
}

// across is where a number stands on the scale.
func (d *distributions) across(x float64) float64 {
	scale := func(x float64) float64 { return x }
	if d.Logarithmic {
		scale = func(x float64) float64 { return math.Log(max(x, d.Least)) }
	}
	lo, hi := scale(d.Least), scale(d.Most)
	if hi-lo <= 0 || math.IsInf(hi-lo, 0) {
		return 50
	}
	return math.Round(1e4*min(1, max(0, (scale(x)-lo)/(hi-lo)))) / 100
}

// bins draws one side's; all sides have one height for the same share.
func (d *distributions) bins(bins []profileBinCounts, role multicast.Role, all int64) []binView {
	of := func(b *profileBinCounts, role multicast.Role) int64 {
		return [3]int64{multicast.Primary: b.Primary, multicast.Secondary: b.Secondary, multicast.Candidate: b.Candidate}[role]
	}
	most := int64(1)
	for i := range bins {
		for _, r := range storedRole {
			most = max(most, of(&bins[i], r))
		}
	}
	var list []binView
	for i := range bins {
		n := of(&bins[i], role)
		if n == 0 {
			continue
		}
		from, to := d.across(bins[i].From), d.across(bins[i].To)
		width, height := max(to-from-.25, .6), max(1.5, math.Round(10*histogramHeight*float64(n)/float64(most))/10)
		list = append(list, binView{min(from, 100-width), math.Round(100*width) / 100, histogramHeight - height, height})
	}
	return list
}

// ticks are the ends and the middle of the scale.
func (d *distributions) ticks() []tick {
	if d.Least == d.Most {
		return []tick{{X: 50, Label: figure(d.Least, true)}}
	}
	middle := (d.Least + d.Most) / 2
	if d.Logarithmic {
		middle = math.Sqrt(d.Least * d.Most)
	}
	return []tick{{X: 0, Label: figure(d.Least, false)}, {X: 50, Label: figure(middle, false)}, {X: 100, Label: figure(d.Most, false)}}
}

// figure writes any number shortly: what is exact in full, as far as that is short, and the rest with four digits.
func figure(x float64, exact bool) string {
	digits := 4
	if exact {
		digits = 12
	}
	switch text := strconv.FormatFloat(x, 'g', digits, 64); {
	case math.Abs(x) >= 1e4 && math.Abs(x) < 1e15 && (exact || math.Abs(x) < 1e7) && x == math.Trunc(x):
		return count(int64(x))
	case math.Abs(x) >= 1e4 && math.Abs(x) < 1e7:
		return count(int64(math.Round(x)))
	default:
		return text
	}
}

// valuesNote says of what the values were counted.
func (v *profileView) Note() string {
	note := fmt.Sprintf("Counted over the %s in which this field differed", things(v.Exchanges, "request"))
	if v.Many {
		note += fmt.Sprintf(", %s in all, four of a request at most", things(v.Places, "place"))
	}
	if v.Late {
		note += "; it had differed before it was counted so"
	}
	return note + ". Not only the kept samples."
}
