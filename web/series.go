package web

import (
	"context"
	"encoding/json"
	"time"

	"shadowdiff/store"
)

// seriesView is the disagreement over time, for the chart and for the table below it.
type seriesView struct {
	JSON string // for the script, in a data attribute
	Rows []seriesRow
	Span string // what one point stands for
}

// seriesRow is one point in figures.
type seriesRow struct {
	At                 time.Time
	Compared           int64
	Candidate, Control string
}

const (
	pointsShown = 240 // points across the chart
	rowsShown   = 12  // in the table: the latest
)

// chartScripts draw the series of a page that has one.
func chartScripts() []string { return []string{"vendor/uplot-1.6.32.min.js", "chart.js"} }

// series is the disagreement of a route, or of all, over time: by the second where the last minutes were seen, else by
// the minutes that are kept.
func (s *Server) series(ctx context.Context, snap *store.Snapshot, route string) (seriesView, error) {
	s.recent.see(snap)
	if points := s.recent.points(route, snap.Tallies.Total.First); points != nil {
		return seriesOf(points), nil
	}
	points, err := s.deps.DB.Series(ctx, store.Filter{Route: route})
	return seriesOf(points), err
}

// seriesOf draws points together until they fit.
func seriesOf(points []store.Point) seriesView {
	points, span := drawTogether(points)
	type columns struct {
		At        []int64    `json:"at"` // Unix seconds
		Candidate []*float64 `json:"candidate"`
		Control   []*float64 `json:"control"`
		Compared  []int64    `json:"compared"`
	}
	c := columns{At: []int64{}, Candidate: []*float64{}, Control: []*float64{}, Compared: []int64{}}
	view := seriesView{Span: spanText(span)}
	for _, p := range points {
		var raw, noise *float64
		if p.Compared > 0 {
			a, b := 100*float64(p.Raw)/float64(p.Compared), 100*float64(p.Noise)/float64(p.Compared)
			raw, noise = &a, &b
		}
		c.At, c.Compared = append(c.At, p.Minute.Unix()), append(c.Compared, p.Compared)
		c.Candidate, c.Control = append(c.Candidate, raw), append(c.Control, noise)
	}
	for i := len(points) - 1; i >= 0 && len(view.Rows) < rowsShown; i-- {
		p := points[i]
		view.Rows = append(view.Rows, seriesRow{p.Minute, p.Compared, share(p.Raw, p.Compared), share(p.Noise, p.Compared)})
	}
	text, _ := json.Marshal(c) // numbers only
	view.JSON = string(text)
	return view
}

// drawTogether adds neighbouring points up until at most pointsShown are left, and answers how long one lasts.
func drawTogether(points []store.Point) ([]store.Point, time.Duration) {
	if len(points) == 0 {
		return nil, time.Minute
	}
	length := points[len(points)-1].Minute.Add(points[len(points)-1].Span).Sub(points[0].Minute)
	span := max(points[len(points)-1].Span, time.Second)
	if span < time.Minute && length <= 2*pointsShown*span {
		return points, span
	}
	for length > pointsShown*span {
		span = next(span)
	}
	var drawn []store.Point
	for _, p := range points {
		at := p.Minute.Truncate(span)
		if n := len(drawn); n > 0 && drawn[n-1].Minute.Equal(at) {
			d := &drawn[n-1]
			d.Compared += p.Compared
			d.Raw += p.Raw
			d.Noise += p.Noise
			continue
		}
		drawn = append(drawn, store.Point{Minute: at, Span: span, Compared: p.Compared, Raw: p.Raw, Noise: p.Noise})
	}
	return drawn, span
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
