package web

import (
	"net/http"
	"strconv"
	"time"

	"shadowdiff/store"
)

const (
	pointsInList = 1_000
	pointsMost   = 10_000
)

// pointItem is what was counted in one minute, hour or day, in GET /api/v1/series.
type pointItem struct {
	At   time.Time `json:"at"`   // its beginning
	Span int64     `json:"span"` // its length in seconds: 60, 3600 or 86400
	windowCounts
	Failed int64 `json:"failed"`
}

// listSeries answers GET /api/v1/series, oldest first: the counts of the run, of a route, or of one test of a field, over
// time.
func (s *Server) listSeries(w http.ResponseWriter, r *http.Request) error {
	q, err := readQuery(r, "route", "field", "test", "run", "since", "until", "limit", "cursor")
	if err != nil {
		return err
	}
	limit, err := q.number("limit", pointsInList, pointsMost)
	if err != nil {
		return err
	}
	f, err := s.seriesFilter(r, q)
	if err != nil {
		return err
	}
	points, err := s.deps.DB.Series(r.Context(), f)
	if err != nil {
		return err
	}
	answer := list[pointItem]{Items: make([]pointItem, 0, min(len(points), limit))}
	for i, p := range points {
		if i == limit {
			last := &points[i-1]
			answer.Next = q.cursorFor(strconv.FormatInt(last.Minute.Add(last.Span).Unix(), 10))
			break
		}
		answer.Items = append(answer.Items, pointItem{
			At: p.Minute, Span: int64(p.Span / time.Second), windowCounts: sumOf(points[i : i+1]), Failed: p.Failed,
		})
	}
	return writeJSON(w, answer)
}

// seriesFilter reads what a series is of, and from when.
func (s *Server) seriesFilter(r *http.Request, q query) (store.Filter, error) {
	snap, err := s.snapshotOf(r, q)
	if err != nil {
		return store.Filter{}, err
	}
	f := store.Filter{Run: snap.Run.ID, Route: s.current(snap, q.text("route")), Field: q.text("field")}
	if f.Route != "" && routeOf(snap, f.Route) == nil {
		return f, noSuchRoute(f.Route, snap)
	}
	test, err := q.test()
	if err != nil {
		return f, err
	}
	if test != nil {
		if f.Field == "" {
			return f, refuse(http.StatusBadRequest, "test=%s is of a field: give field, too", test)
		}
		f.Test = *test
	}
	if f.Since, f.Until, err = q.span(); err != nil {
		return f, err
	}
	place, err := q.place()
	if err != nil || place == "" {
		return f, err
	}
	seconds, err := strconv.ParseInt(place, 10, 64)
	if err != nil {
		return f, badCursor(q.text("cursor"))
	}
	if from := time.Unix(seconds, 0); from.After(f.Since) {
		f.Since = from
	}
	return f, nil
}
