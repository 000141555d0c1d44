package web

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"shadowdiff/store"
)

// activityItem is one thing that somebody changed, in GET /api/v1/activity.
type activityItem struct {
	ID     int64     `json:"id"`
	Time   time.Time `json:"time"`
	Actor  string    `json:"actor"`
	Action string    `json:"action"`
	Detail string    `json:"detail"`
}

// listActivity answers GET /api/v1/activity, newest first.
func (s *Server) listActivity(w http.ResponseWriter, r *http.Request) error {
	q, err := readQuery(r, activityFilters()...)
	if err != nil {
		return err
	}
	entries, next, err := s.findActivity(r.Context(), q)
	if err != nil {
		return err
	}
	answer := list[activityItem]{Items: make([]activityItem, 0, len(entries)), Next: next}
	for _, e := range entries {
		answer.Items = append(answer.Items, activityItem(e))
	}
	return writeJSON(w, answer)
}

// activityFilters are the parameters of the list, on the page too.
func activityFilters() []string {
	return []string{"actor", "action", "since", "until", "limit", "cursor"}
}

// findActivity lists what the parameters leave, newest first, and where older entries begin; nil: nowhere.
func (s *Server) findActivity(ctx context.Context, q query) (entries []store.Activity, next *string, err error) {
	f := store.ActivityFilter{Actor: q.text("actor"), Action: q.text("action")}
	if f.Since, f.Until, err = q.span(); err != nil {
		return nil, nil, err
	}
	if f.Limit, err = q.number("limit", 50, 500); err != nil {
		return nil, nil, err
	}
	place, err := q.place()
	if err != nil {
		return nil, nil, err
	}
	if place != "" {
		if f.Before, err = strconv.ParseInt(place, 10, 64); err != nil {
			return nil, nil, badCursor(q.text("cursor"))
		}
	}
	entries, more, err := s.deps.DB.FindActivity(ctx, f)
	if err != nil {
		return nil, nil, err
	}
	if more {
		next = q.cursorFor(strconv.FormatInt(entries[len(entries)-1].ID, 10))
	}
	return entries, next, nil
}
