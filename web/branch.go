package web

import (
	"slices"
	"strings"

	"shadowdiff/diff"
	"shadowdiff/store"
)

// fieldRow is one field in the table of a route.
type fieldRow struct {
	findingView
	Also []kindView // extent and drift, where they lean or are confirmed besides its own test
}

// kindView is one test of a field.
type kindView struct {
	Kind      diff.Test
	Meaning   string
	Confirmed bool
}

// branch is one line of the tree of fields: a place with fields below it, or a field. A name may be both.
type branch struct {
	Name             string
	Depth            int
	Below, Confirmed int64
	Field            *fieldRow
}

const fieldsListed = 100 // rows of a route's table

// fields fills in the table, or the tree.
func (p *routePage) fields(q query, base string, snap *store.Snapshot, v *diff.Verdict) error {
	confirmed, suspected, noise := standingsOf(v)
	p.Totals = fieldTotals{Informing: informingIn(confirmed), Suspected: int64(len(suspected)), Noise: int64(len(noise))}
	p.Totals.Deciding = int64(len(confirmed)) - p.Totals.Informing
	view, err := q.choice("view", "list", "tree")
	if err != nil {
		return err
	}
	p.Search = q.search(base, "Find a field", "fields", "page")
	p.Views = [2]pickView{
		{"list", 0, base + q.address("fields", "view", "", "page", ""), view != "tree"},
		{"tree", 0, base + q.address("fields", "view", "tree", "page", "", "sort", "", "order", ""), view == "tree"},
	}
	rows, err := p.choose(q, base, slices.Concat(confirmed, suspected, noise))
	if err != nil {
		return err
	}
	tally := func(f *diff.Finding) *diff.FieldTally { return fieldOf(snap, f.Route, f.Field) }
	table := listing[*diff.Finding]{
		Sort: "sort", Order: "order", Page: "page", Anchor: "fields", Most: fieldsListed, Columns: rowColumns(tally),
	}
	if view == "tree" {
		slices.SortStableFunc(rows, func(a, b *diff.Finding) int { return slices.Compare(segmentsOf(a.Field), segmentsOf(b.Field)) })
		table.Columns = []column[*diff.Finding]{asTheyCome[*diff.Finding]("standing")}
	}
	most := 0.0
	for _, f := range rows {
		if t := tally(f); t != nil {
			most = max(most, float64(t.Raw), float64(t.Noise))
		}
	}
	list, err := table.read(q, base, rows)
	p.Fields = turned(list, func(f *diff.Finding) *fieldRow { return fieldRowOf(f, tally(f), v.Budget, most) })
	if view == "tree" {
		p.Tree = treeOf(p.Fields.Rows, rows)
		p.Fields.heads = nil
	}
	return err
}

// choose leaves the rows that are searched for, of the standing that is asked for.
func (p *routePage) choose(q query, base string, all []*diff.Finding) ([]*diff.Finding, error) {
	words := []string{standingConfirmed, standingSuspected, standingNoise}
	word, err := q.choice("standing", words...)
	if err != nil {
		return nil, err
	}
	counts := map[string]int64{}
	rows := slices.DeleteFunc(all, func(f *diff.Finding) bool {
		if !mentions(f.Field, q.text("q")) {
			return true
		}
		counts[standingOf(f)]++
		counts[""]++
		return word != "" && word != standingOf(f)
	})
	p.Standing = picksOf(words, counts, word, func(choice string) string {
		return base + q.address("fields", "standing", choice, "page", "")
	})
	return rows, nil
}

// rowColumns are what the fields of a route can be ordered by: by their standing unless asked otherwise.
func rowColumns(tally func(*diff.Finding) *diff.FieldTally) []column[*diff.Finding] {
	part := func(word string, of func(*diff.FieldTally) int64) column[*diff.Finding] {
		return by(word, func(f *diff.Finding) float64 {
			t := tally(f)
			if t == nil {
				return 0
			}
			return float64(of(t)) / float64(max(1, f.Compared))
		})
	}
	return []column[*diff.Finding]{
		asTheyCome[*diff.Finding]("standing"),
		byText("name", func(f *diff.Finding) string { return f.Field }),
		by("kind", func(f *diff.Finding) diff.Test { return f.Kind }),
		part("raw", func(t *diff.FieldTally) int64 { return t.Raw }),
		part("noise", func(t *diff.FieldTally) int64 { return t.Noise }),
		by("excess", excessOf),
		by("confirmed", confirmedAt),
	}
}

// fieldRowOf puts a field into a line; the bars of all lines have one scale, up to most.
func fieldRowOf(f *diff.Finding, t *diff.FieldTally, budget, most float64) *fieldRow {
	row := &fieldRow{findingView: findingOf(*f, budget)}
	if row.Disagrees = disagreementAt(t, f); row.Disagrees != nil {
		row.Disagrees.Bar = barOf(row.Disagrees.raw, row.Disagrees.noise, most)
	}
	if t == nil {
		return row
	}
	for i := range t.Tests {
		test, counts := diff.Test(i), &t.Tests[i]
		if test != f.Kind && test >= diff.TestExtent && (counts.Confirmed != nil || evidence(test, counts.Counts) >= suspect) {
			row.Also = append(row.Also, kindView{test, testMeaning(test), counts.Confirmed != nil})
		}
	}
	return row
}

// treeOf lays the rows of a page out by where they are in an answer; all are those of every page, which the places count.
func treeOf(rows []*fieldRow, all []*diff.Finding) []branch {
	below, confirmed := map[string]int64{}, map[string]int64{}
	for _, f := range all {
		places := segmentsOf(f.Field)
		for i := 1; i < len(places); i++ {
			at := strings.Join(places[:i], "")
			below[at]++
			if f.Confirmed {
				confirmed[at]++
			}
		}
	}
	var tree []branch
	var open []string // the places that the line before stands below
	for i := range rows {
		places := segmentsOf(rows[i].Field)
		shared := 0
		for shared < len(open) && shared < len(places)-1 && open[shared] == places[shared] {
			shared++
		}
		for depth := shared; depth < len(places)-1; depth++ {
			at := strings.Join(places[:depth+1], "")
			tree = append(tree, branch{Name: places[depth], Depth: depth, Below: below[at], Confirmed: confirmed[at]})
		}
		open = places[:len(places)-1]
		tree = append(tree, branch{Name: places[len(places)-1], Depth: len(places) - 1, Field: rows[i]})
	}
	return tree
}

// segmentsOf takes a field's name apart where one place is within another: "body", ".items[]", ".price". Put together again
// they are the name.
func segmentsOf(field string) []string {
	var places []string
	begin, quoted := 0, false
	for i := 0; i < len(field); i++ {
		switch c := field[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted || i == begin:
		case c == '.', c == '[' && i+1 < len(field) && field[i+1] != ']':
			places, begin = append(places, field[begin:i]), i
		}
	}
	return append(places, field[begin:])
}
