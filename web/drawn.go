package web

import (
	"math"
	"strconv"
	"strings"
	"time"

	"shadowdiff/store"
)

// drawnView is the chart as the server draws it: for readers without a script, and for paper. Across and down are
// thousandths of the plot.
type drawnView struct {
	Candidate, Control []string // lines, each a list of points
	Levels             []tick   // of the scale, down
	Times              []tick
	Runs               []tick
	Confirmed          []tick

	from, to int64 // of the first and the last point, in Unix seconds
	until    int64 // the end of what the last point stands for
}

// Empty tells that there is nothing to draw.
func (d drawnView) Empty() bool { return d.to == 0 }

func drawnOf(points []store.Point) drawnView {
	var d drawnView
	if len(points) == 0 {
		return d
	}
	end := points[len(points)-1]
	d.from, d.until = points[0].Minute.Unix(), end.Minute.Add(max(end.Span, time.Second)).Unix()
	d.to = max(end.Minute.Unix(), d.from+1)
	lo, hi := levelsOf(points)
	down := func(part, whole int64) float64 {
		return 1000 - 1000*(100*float64(part)/float64(whole)-lo)/(hi-lo)
	}
	var candidate, control strings.Builder
	finish := func() {
		for _, line := range []struct {
			text *strings.Builder
			into *[]string
		}{{&candidate, &d.Candidate}, {&control, &d.Control}} {
			if line.text.Len() > 0 {
				*line.into = append(*line.into, line.text.String())
			}
			line.text.Reset()
		}
	}
	for _, p := range points {
		if p.Compared == 0 {
			finish()
			continue
		}
		x := strconv.FormatFloat(1000*d.across(p.Minute.Unix())/100, 'f', 0, 64)
		candidate.WriteString(x + "," + strconv.FormatFloat(down(p.Raw, p.Compared), 'f', 0, 64) + " ")
		if p.Noise >= 0 {
			control.WriteString(x + "," + strconv.FormatFloat(down(p.Noise, p.Compared), 'f', 0, 64) + " ")
		}
	}
	finish()
	for i := range 3 {
		at := float64(i) / 2
		d.Levels = append(d.Levels, tick{X: 100 * (1 - at), Label: strconv.FormatFloat(lo+at*(hi-lo), 'f', 1, 64) + "\u202f%"})
	}
	form := "15:04:05"
	switch long := d.to - d.from; {
	case long > 36*3600:
		form = "2 Jan 15:04"
	case long >= 600:
		form = "15:04"
	}
	for i := range 5 {
		at := d.from + int64(i)*(d.to-d.from)/4
		d.Times = append(d.Times, tick{X: d.across(at), Label: time.Unix(at, 0).UTC().Format(form), Minor: i%2 == 1})
	}
	return d
}

// across is where a moment stands, from 0 to 100.
func (d *drawnView) across(at int64) float64 {
	return math.Round(1e4*float64(at-d.from)/float64(d.to-d.from)) / 100
}

// Thousandth is where a mark stands, from 0 to 1000.
func (t tick) Thousandth() float64 { return math.Round(t.X * 10) }

func (d *drawnView) mark(runs []runMark, confirmed []confirmedMark) {
	for _, run := range runs {
		d.Runs = append(d.Runs, tick{X: d.across(run.At), Label: run.Name})
	}
	for _, c := range confirmed {
		d.Confirmed = append(d.Confirmed, tick{X: d.across(c.At), Label: c.What})
	}
}

// levelsOf is the scale on which the two lines can be told apart, as the script chooses it: it starts at 0 where that costs
// little, and where they lie so close together that a scale of theirs would make much of nothing.
func levelsOf(points []store.Point) (lo, hi float64) {
	lo, hi = 100, 0
	for _, p := range points {
		if p.Compared > 0 {
			raw := 100 * float64(p.Raw) / float64(p.Compared)
			noise := raw
			if p.Noise >= 0 {
				noise = 100 * float64(p.Noise) / float64(p.Compared)
			}
			lo, hi = min(lo, raw, noise), max(hi, raw, noise)
		}
	}
	if lo > hi {
		return 0, 1
	}
	pad := max((hi-lo)/4, .5)
	if hi-lo < .5 || lo-pad < hi/3 {
		return 0, min(max(hi+pad, 1), 100)
	}
	return lo - pad, min(hi+pad, 100)
}
