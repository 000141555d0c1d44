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
		t = append(t, []string{
			row.String(),
			show(r.of(row, rate).median, 0), showSpread(r.ratio(row, base, rate), 2),
			show(r.of(row, p50).median, 2), show(r.of(row, p99).median, 2),
			showSpread(r.of(row, cpuPerRequest), 1), show(r.ratio(row, base, cpuPerRequest).median, 2),
			r.share(row), r.connected(row),
			r.memory(row), fmt.Sprint(r.errors(row).Sum()),
		})
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
		t = append(t, []string{
			row.String(), show(r.of(row, rate).median, 0),
			show(r.quantile(row, undisturbedOnes, 0.50), 2), show(r.quantile(row, undisturbedOnes, 0.99), 2), showSpread(r.tailRatio(row, off), 2),
			show(r.leftOut(row)*100, 0) + " %", show(r.quantile(row, everyone, 0.99), 2),
			showSpread(r.of(row, cpuPerRequest), 1),
			r.share(row), r.connected(row), r.memory(row), fmt.Sprint(r.errors(row).Sum()),
		})
	}
	return t
}

// share is how much of the sampled that ended was compared.
func (r *results) share(t trial) string {
	s := r.of(t, compared)
	if math.IsNaN(s.median) {
		return "–"
	}
	return show(s.median*100, 1) + " %"
}

// connected is the most connections to a shadow.
func (r *results) connected(t trial) string {
	if t.sample == "" {
		return "–"
	}
	return fmt.Sprint(r.most(t))
}

func (r *results) memory(t trial) string {
	if t.proxy == direct {
		return "–"
	}
	return show(r.of(t, rss).high, 0)
}

// lost is the table of what became of the sampled exchanges that were not compared, and of what clients saw.
func (r *results) lost() table {
	t := table{{"what was lost, all rounds", "sampled", "compared", "dropped", "unknown", "under way", "client errors"}}
	for _, row := range r.trials {
		counts := r.counts(row)
		if counts.Sampled() == 0 && r.errors(row).Sum() == 0 {
			continue
		}
		name := row.String()
		if row.pace.fixed {
			name += ", fixed rate"
		}
		t = append(t, []string{
			name, fmt.Sprint(counts.Sampled()), fmt.Sprint(counts.Compared), counts.Dropped.String(), counts.Unknown.String(),
			fmt.Sprint(max(0, counts.Sampled()-counts.Dropped.Sum()-counts.Compared-counts.Unknown.Sum())), r.errors(row).String(),
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
