package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// table is rows of cells, the first of which are the headings.
type table [][]string

// write prints the table in Markdown, with columns aligned: the first to the left, the others to the right.
func (t table) write(w io.Writer) {
	widths := make([]int, len(t[0]))
	for _, row := range t {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	fmt.Fprintln(w)
	for n, row := range t {
		var line, rule strings.Builder
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i == 0 {
				line.WriteString("| " + cell + pad + " |")
				rule.WriteString("| " + strings.Repeat("-", widths[i]) + " |")
			} else {
				line.WriteString(" " + pad + cell + " |")
				rule.WriteString(" " + strings.Repeat("-", widths[i]) + ":|")
			}
		}
		fmt.Fprintln(w, line.String())
		if n == 0 {
			fmt.Fprintln(w, rule.String())
		}
	}
}

// table is the figures of one case.
func (f *figures) table() table {
	t := table{{f.name, "µs", "of parsing", "of ours", "allocations", "KiB"}}
	parsing, own := f.row(floor), f.row(ours)
	for i := range f.rows {
		r := &f.rows[i]
		if r.note != "" {
			t = append(t, []string{r.name, r.note, "–", "–", "–", "–"})
			continue
		}
		t = append(t, []string{
			r.name, fmt.Sprintf("%.1f", median(r.times)/1e3), ratio(r, parsing), ratio(r, own), fmt.Sprintf("%.0f", r.allocs), fmt.Sprintf("%.1f", r.bytes/1024),
		})
	}
	return t
}

// fewAllocations is what equal documents may take, both comparisons together.
const fewAllocations = 20

// bars says what is met.
func bars(all []figures) table {
	t := table{{"bar", "figure", ""}}
	say := func(name, figure string, met bool) {
		t = append(t, []string{name, figure, map[bool]string{true: "met", false: "NOT MET"}[met]})
	}
	perByte, floors := map[string]float64{}, map[string]float64{}
	for _, f := range all {
		own, parsing, theirs := f.row(ours), f.row(floor), f.row(wI2L)
		if own == nil || parsing == nil {
			continue
		}
		if f.equal {
			say(f.name+": at most a few allocations", fmt.Sprintf("%.0f", own.allocs), own.allocs <= fewAllocations)
		}
		perByte[f.name], floors[f.name] = median(own.times)/float64(f.size()), median(parsing.times)/float64(f.size())
		if theirs != nil {
			r := median(shares(theirs, own))
			say(f.name+": at least 5 times as fast as "+wI2L, fmt.Sprintf("%.1f", r), r >= 5)
		}
		r := median(shares(own, parsing))
		say(f.name+": within 3 times "+floor+" (goal)", fmt.Sprintf("%.2f", r), r <= 3)
	}
	for _, what := range []string{"two fields differ", "an array reordered"} {
		if r := perByte["1 MiB, "+what] / perByte["20 KiB, "+what]; r > 0 {
			figure := fmt.Sprintf("%.2f (parsing alone: %.2f)", r, floors["1 MiB, "+what]/floors["20 KiB, "+what])
			say("1 MiB, "+what+": at most 1.3 times the cost per byte of 20 KiB", figure, r <= 1.3)
		}
	}
	return t
}
