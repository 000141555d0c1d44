package web

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"shadowdiff/diff"
	"shadowdiff/store"
)

// seriesView is the disagreement over time, for the chart and for the table below it.
type seriesView struct {
	JSON   string // for the script, in a data attribute
	Marks  string // so are the moments that the chart marks
	Rows   []seriesRow
	Span   string // what one point stands for
	Drawn  drawnView
	Spans  []pickView  // of time, to choose from; none where the page has no choice
	Window *windowView // what was counted in the one that is chosen; nil: all of it is shown

	NoControl bool // there was none at any point

	runs      []runMark
	confirmed []confirmedMark
}

// seriesRow is one point in figures.
type seriesRow struct {
	At                 time.Time
	Compared           int64
	Candidate, Control string
}

// Alone is the only point there is, which makes no line; nil: there are none, or more.
func (v seriesView) Alone() *seriesRow {
	if len(v.Rows) != 1 {
		return nil
	}
	return &v.Rows[0]
}

// windowView is what was counted in a part of a run.
type windowView struct {
	Since              time.Time
	Compared           int64
	Candidate, Control string
}

// runMark is where a run begins.
type runMark struct {
	At   int64  `json:"at"` // Unix seconds
	Name string `json:"name"`
}

// confirmedMark is where differences were confirmed.
type confirmedMark struct {
	At    int64  `json:"at"`
	Count int64  `json:"count"`
	What  string `json:"what"`
}

const (
	pointsShown    = 240 // points across the chart
	rowsShown      = 12  // in the table: the latest
	runsMarked     = 6
	confirmedMarks = 60 // moments
)

// chartScripts draw the series of a page that has one.
func chartScripts() []string { return []string{"vendor/uplot-1.6.32.min.js", "chart.js"} }

// series is the disagreement of a route, or of all, over time: by the second where the last minutes were seen, else by the
// minutes that are kept. Before it stands the end of the runs before, as far back as the run is long, or as was asked for.
func (s *Server) series(ctx context.Context, q query, base string, snap *store.Snapshot, v *diff.Verdict) (seriesView, error) {
	route := ""
	if v.Route != nil {
		route = *v.Route
	}
	since, err := q.moment("since")
	if err != nil {
		return seriesView{}, err
	}
	points, err := s.pointsOf(ctx, snap, route, since)
	if err != nil {
		return seriesView{}, err
	}
	from := since
	if from.IsZero() {
		from = snap.Run.Started.Add(-max(snap.Tallies.Total.Last.Sub(snap.Run.Started), time.Minute))
	}
	courses, runs, err := s.before(ctx, snap.Run, route, from)
	if err != nil {
		return seriesView{}, err
	}
	view := seriesOf(append(courses, controlled(v.Controlled(), points))...)
	view.mark(append(runs, snap.Run), v.Differences)
	view.Spans = spansOf(q, base, snap)
	if !since.IsZero() {
		if view.Window, err = s.windowOf(ctx, store.Filter{Run: snap.Run.ID, Route: route, Since: since}); err == nil && !v.Controlled() {
			view.Window.Control = noControl
		}
	}
	return view, err
}

// notKnown stands for the noise of points without a control; sums of it are below 0, too.
const notKnown = -1

// controlled takes the noise of points away where there was no control.
func controlled(so bool, points []store.Point) []store.Point {
	if so {
		return points
	}
	points = slices.Clone(points)
	for i := range points {
		points[i].Noise = notKnown
	}
	return points
}

// noiseAt is the share of a point's requests in which the control differs.
func noiseAt(p *store.Point) string {
	if p.Noise < 0 {
		return noControl
	}
	return share(p.Noise, p.Compared)
}

// pointsOf are those of one run.
func (s *Server) pointsOf(ctx context.Context, snap *store.Snapshot, route string, since time.Time) ([]store.Point, error) {
	if snap.Run.Ended == nil {
		s.recent.see(snap)
		if points := s.recent.points(route, snap.Tallies.Total.First); points != nil {
			return slices.DeleteFunc(points, func(p store.Point) bool { return p.Minute.Before(since) }), nil
		}
	}
	points, err := s.deps.DB.Series(ctx, store.Filter{Run: snap.Run.ID, Route: route, Since: since})
	return begunAt(snap.Run.Started, points), err
}

// begunAt has the first minute of a run begin with the run, as its counts do.
func begunAt(start time.Time, points []store.Point) []store.Point {
	if len(points) > 0 && points[0].Minute.Before(start) {
		points = slices.Clone(points)
		points[0].Minute = start.Truncate(time.Second)
	}
	return points
}

// before are the runs before one as far as they were under way after a moment, oldest first, with their points.
func (s *Server) before(ctx context.Context, run store.Run, route string, from time.Time) (courses [][]store.Point, runs []store.Run, err error) {
	for id := run.ID - 1; id > 0 && len(runs) < runsMarked; id-- {
		earlier, err := s.deps.DB.FindRun(ctx, strconv.FormatInt(id, 10))
		if err != nil || earlier.Ended == nil || earlier.Ended.Before(from) {
			break // it was purged, or is over for too long
		}
		points, err := s.deps.DB.Series(ctx, store.Filter{Run: id, Route: route, Since: from, Until: run.Started})
		if err != nil {
			return nil, nil, err
		}
		courses, runs = append(courses, begunAt(earlier.Started, points)), append(runs, earlier)
	}
	slices.Reverse(courses)
	slices.Reverse(runs)
	return courses, runs, nil
}

// windowOf counts what GET /api/v1/equivalence counts with since.
func (s *Server) windowOf(ctx context.Context, f store.Filter) (*windowView, error) {
	points, err := s.deps.DB.Series(ctx, f)
	if err != nil {
		return nil, err
	}
	sum, view := sumOf(points), &windowView{Since: f.Since}
	if len(points) > 0 {
		view.Since = points[0].Minute
	}
	view.Compared, view.Candidate, view.Control = sum.Compared, share(sum.Raw, sum.Compared), share(sum.Noise, sum.Compared)
	return view, nil
}

// spansOf are the spans of time that the chart can show, no longer than there is something to show of.
func spansOf(q query, base string, snap *store.Snapshot) []pickView {
	options := []pickView{{Label: "whole run", Href: base + q.address("over-time", "since", ""), Chosen: q.text("since") == ""}}
	age := snap.Time.Sub(snap.Run.Started)
	for _, span := range []struct {
		word, label string
		time.Duration
	}{
		{"168h", "7 days", 168 * time.Hour},
		{"24h", "24 h", 24 * time.Hour},
		{"6h", "6 h", 6 * time.Hour},
		{"1h", "1 h", time.Hour},
		{"15m", "15 min", 15 * time.Minute},
	} {
		if chosen := q.text("since") == span.word; chosen || age > span.Duration && snap.Run.Ended == nil {
			options = append(options, pickView{Label: span.label, Href: base + q.address("over-time", "since", span.word), Chosen: chosen})
		}
	}
	if len(options) == 1 && options[0].Chosen {
		return nil
	}
	return options
}

// seriesOf draws points together until they fit. Several courses are those of one run each, oldest first.
func seriesOf(courses ...[]store.Point) seriesView {
	points, span := drawTogether(courses)
	type columns struct {
		At        []int64    `json:"at"` // Unix seconds
		Candidate []*float64 `json:"candidate"`
		Control   []*float64 `json:"control"`
		Compared  []int64    `json:"compared"`
	}
	c := columns{At: []int64{}, Candidate: []*float64{}, Control: []*float64{}, Compared: []int64{}}
	view := seriesView{Span: spanText(span), Marks: "{}", NoControl: true}
	for _, p := range points {
		var raw, noise *float64
		if p.Compared > 0 {
			a := hundredths(p.Raw, p.Compared)
			if raw = &a; p.Noise >= 0 {
				b := hundredths(p.Noise, p.Compared)
				noise, view.NoControl = &b, false
			}
		}
		c.At, c.Compared = append(c.At, p.Minute.Unix()), append(c.Compared, p.Compared)
		c.Candidate, c.Control = append(c.Candidate, raw), append(c.Control, noise)
	}
	for i := len(points) - 1; i >= 0 && len(view.Rows) < rowsShown; i-- {
		if p := points[i]; p.Compared > 0 {
			view.Rows = append(view.Rows, seriesRow{p.Minute, p.Compared, share(p.Raw, p.Compared), noiseAt(&p)})
		}
	}
	text, _ := json.Marshal(c) // numbers only
	view.JSON, view.Drawn = string(text), drawnOf(points)
	return view
}

// hundredths is a share in percent, to four places: more cannot be seen.
func hundredths(part, whole int64) float64 {
	percent, _ := strconv.ParseFloat(strconv.FormatFloat(100*float64(part)/float64(whole), 'f', 4, 64), 64)
	return percent
}

// mark marks the beginnings of runs and the moments at which differences were confirmed, as far as the chart shows them.
func (v *seriesView) mark(runs []store.Run, differences []diff.Finding) {
	if v.Drawn.Empty() {
		return
	}
	for _, run := range runs {
		if at := run.Started.Unix(); at >= v.Drawn.from-60 && at <= v.Drawn.to {
			v.runs = append(v.runs, runMark{max(at, v.Drawn.from), run.Name})
		}
	}
	v.confirmed = v.confirmations(differences)
	v.Drawn.mark(v.runs, v.confirmed)
	text, _ := json.Marshal(struct {
		Runs      []runMark       `json:"runs"`
		Confirmed []confirmedMark `json:"confirmed"`
	}{v.runs, v.confirmed})
	v.Marks = string(text)
}

// confirmations puts together what was confirmed at about the same time.
func (v *seriesView) confirmations(differences []diff.Finding) []confirmedMark {
	wide := max(1, (v.Drawn.to-v.Drawn.from)/confirmedMarks)
	names, at := map[int64][]string{}, map[int64]int64{}
	for i := range differences {
		f := &differences[i]
		if f.ConfirmedAt == nil {
			continue
		}
		moment := f.ConfirmedAt.Unix()
		if moment < v.Drawn.from-60 || moment >= v.Drawn.until {
			continue
		}
		place := moment / wide
		names[place] = append(names[place], f.Field)
		if first, known := at[place]; !known || moment < first {
			at[place] = moment
		}
	}
	var marks []confirmedMark
	for place, fields := range names {
		marks = append(marks, confirmedMark{min(max(at[place], v.Drawn.from), v.Drawn.to), int64(len(fields)), listed(fields, 3)})
	}
	slices.SortFunc(marks, func(a, b confirmedMark) int { return int(a.At - b.At) })
	return marks
}

// drawTogether adds neighbouring points of the same run up until at most pointsShown are left, and answers how long one
// lasts. Between two runs stands a point at which nothing was compared, so that no line leads from one to the other.
func drawTogether(courses [][]store.Point) ([]store.Point, time.Duration) {
	courses = slices.DeleteFunc(slices.Clone(courses), func(points []store.Point) bool { return len(points) == 0 })
	if len(courses) == 0 {
		return nil, time.Minute
	}
	last := courses[len(courses)-1]
	end := last[len(last)-1]
	length := end.Minute.Add(end.Span).Sub(courses[0][0].Minute)
	span := max(end.Span, time.Second)
	apart := span < time.Minute && length <= 2*pointsShown*span
	for !apart && length > pointsShown*span {
		span = next(span)
	}
	var drawn []store.Point
	for _, points := range courses {
		if len(drawn) > 0 {
			drawn = append(drawn, store.Point{Minute: points[0].Minute, Span: span})
		}
		if apart {
			drawn = append(drawn, points...)
		} else {
			drawn = append(drawn, together(points, span)...)
		}
	}
	return drawn, span
}

// together adds up the points of each span.
func together(points []store.Point, span time.Duration) []store.Point {
	var drawn []store.Point
	for _, p := range points {
		at := p.Minute.Truncate(span)
		if n := len(drawn); n > 0 && drawn[n-1].Minute.Truncate(span).Equal(at) {
			d := &drawn[n-1]
			d.Compared += p.Compared
			d.Raw += p.Raw
			d.Noise += p.Noise
			continue
		}
		if len(drawn) == 0 {
			at = p.Minute // nothing was counted before
		}
		drawn = append(drawn, store.Point{Minute: at, Span: span, Compared: p.Compared, Raw: p.Raw, Noise: p.Noise})
	}
	return drawn
}

// next is the next longer span that people count in.
func next(span time.Duration) time.Duration {
	for _, longer := range []time.Duration{
		5 * time.Second, 15 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, 6 * time.Hour, 24 * time.Hour,
	} {
		if longer > span {
			return longer
		}
	}
	return 2 * span
}

// every is "by the minute", or "by 5 minutes".
func every(n int64, unit string) string {
	if n == 1 {
		return "by the " + unit
	}
	return "by " + things(n, unit)
}

func spanText(span time.Duration) string {
	switch {
	case span < time.Minute:
		return every(int64(span/time.Second), "second")
	case span < time.Hour:
		return every(int64(span/time.Minute), "minute")
	default:
		return every(int64(span/time.Hour), "hour")
	}
}
