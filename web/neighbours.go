package web

import (
	"context"

	"shadowdiff/store"
)

// neighboursView leads to the samples before and after one, of those that a list has.
type neighboursView struct {
	Of           string // the field that all of them differ at; empty: all of the route
	List         string // the path of the list
	Newer, Older string // paths, empty where there is none
}

// neighboursOf finds the samples next to one among those of its run and route that differ at a field, if one is given.
func (s *Server) neighboursOf(ctx context.Context, sample *store.Sample, q query) (*neighboursView, error) {
	field := q.text("field")
	filter := store.Filter{Run: sample.Run, Route: sample.Route, Field: field}
	view := &neighboursView{Of: field, List: samplesPath(sample.Route, field, "")}
	path := func(id int64) string {
		return listPath(samplePath(id), "field", field, "view", q.text("view"), "run", q.text("run"))
	}

	older := filter
	older.Cursor, older.Limit = sample.Cursor(), 1
	list, _, err := s.deps.DB.Samples(ctx, older)
	if err != nil {
		return nil, err
	}
	if len(list) > 0 {
		view.Older = path(list[0].ID)
	}

	newer := filter
	newer.Since, newer.Limit = sample.Time, 500
	for {
		page, next, err := s.deps.DB.Samples(ctx, newer)
		if err != nil {
			return nil, err
		}
		for _, one := range page {
			if one.ID == sample.ID {
				return view, nil
			}
			view.Newer = path(one.ID)
		}
		if next == "" {
			return view, nil
		}
		newer.Cursor = next
	}
}
