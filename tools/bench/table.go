package main

import (
	"fmt"
	"io"
	"math"
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
	for n, row := range t {
		line := "|"
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i == 0 {
				line += " " + cell + pad + " |"
			} else {
				line += " " + pad + cell + " |"
			}
		}
		fmt.Fprintln(w, line)
		if n > 0 {
			continue
		}
		line = "|"
		for i, width := range widths {
			line += " " + strings.Repeat("-", width) + map[bool]string{true: " |", false: ":|"}[i == 0]
		}
		fmt.Fprintln(w, line)
	}
}

// speed is the table of what goes through, at full speed or at a share of the bare proxy's.
func (r *results) speed() table {
	t := table{{"at full speed", "requests/s", "of bare", "p50 ms", "p99 ms", "CPU µs/request", "of bare", "compared", "connections", "RSS MiB", "errors"}}
	base := trial{proxy: bare}
	for _, row := range r.trials {
		if row.pace.fixed || !r.measured(row) {
			continue
		}
		turns := r.turns[row]
		t = append(t, append([]string{
			row.String(), show(rate(turns), 0), showRatio(r.ratio(row, base, rate)), show(p50(turns), 2), show(p99(turns), 2),
			show(cpuPerRequest(turns), 1), showRatio(r.ratio(row, base, cpuPerRequest)),
		}, r.shadowed(row)...))
	}
	return t
}

// paced is the table of latencies at the fixed rate, by what nothing outside has disturbed.
func (r *results) paced(perSecond float64) table {
	heading := fmt.Sprintf("at %.0f requests/s", perSecond)
	t := table{{heading, "requests/s", "p50 ms", "p99 ms", "of off", "left out", "p99 ms with these", "CPU µs/request", "compared", "connections", "RSS MiB", "errors"}}
	off := trial{proxy: ours, pace: pace{fixed: true}}
	for _, row := range r.trials {
		if !row.pace.fixed || !r.measured(row) {
			continue
		}
		turns := r.turns[row]
		t = append(t, append([]string{
			row.String(), show(rate(turns), 0), show(p50(turns), 2), show(p99(turns), 2), showRatio(r.ratio(row, off, p99)),
			show(leftOut(turns)*100, 0) + " %", show(p99OfAll(turns), 2), show(cpuPerRequest(turns), 1),
		}, r.shadowed(row)...))
	}
	return t
}

// shadowed is what both tables end with: what was compared, the most connections to a shadow, memory and errors.
func (r *results) shadowed(t trial) []string {
	turns, connected, memory := r.turns[t], "–", "–"
	if t.sample != "" {
		connected = fmt.Sprint(connections(turns))
	}
	if t.proxy != direct {
		memory = show(rss(turns), 0)
	}
	return []string{shareOf(turns), connected, memory, fmt.Sprint(faults(turns).Sum())}
}

// shareOf is how much of the sampled that ended was compared.
func shareOf(turns []figures) string {
	if did := compared(turns); !math.IsNaN(did) {
		return show(did*100, 1) + " %"
	}
	return "–"
}

// lost is the table of what became of the sampled exchanges that were not compared, and of what clients saw.
func (r *results) lost() table {
	t := table{{"what was lost, all turns", "sampled", "compared", "dropped", "unknown", "under way", "client errors"}}
	for _, row := range r.trials {
		counts, seen := counts(r.turns[row]), faults(r.turns[row])
		if counts.Sampled() == 0 && seen.Sum() == 0 {
			continue
		}
		name := row.String()
		if row.pace.fixed {
			name += ", fixed rate"
		}
		t = append(t, []string{
			name, fmt.Sprint(counts.Sampled()), fmt.Sprint(counts.Compared), counts.Dropped.String(), counts.Unknown.String(),
			fmt.Sprint(max(0, counts.Sampled()-counts.Dropped.Sum()-counts.Compared-counts.Unknown.Sum())), seen.String(),
		})
	}
	return t
}

// asked is the table of the bars.
func (r *results) asked(concurrency int) table {
	t := table{{"bar", "figure", ""}}
	for _, b := range r.bars(concurrency) {
		t = append(t, []string{b.text, b.figure, b.verdict})
	}
	return t
}
