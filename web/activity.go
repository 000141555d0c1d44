package web

import (
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
	q, err := readQuery(r, "actor", "action", "since", "until", "limit", "cursor")
	if err != nil {
		return err
	}
	f := store.ActivityFilter{Actor: q.text("actor"), Action: q.text("action")}
	if f.Since, f.Until, err = q.span(); err != nil {
		return err
	}
	if f.Limit, err = q.number("limit", 50, 500); err != nil {
		return err
	}
	place, err := q.place()
	if err != nil {
		return err
	}
	if place != "" {
		if f.Before, err = strconv.ParseInt(place, 10, 64); err != nil {
			return badCursor(q.text("cursor"))
		}
	}
	entries, more, err := s.deps.DB.FindActivity(r.Context(), f)
	if err != nil {
		return err
	}
	answer := list[activityItem]{Items: make([]activityItem, 0, len(entries))}
	for _, e := range entries {
		answer.Items = append(answer.Items, activityItem(e))
	}
	if more {
		answer.Next = q.cursorFor(strconv.FormatInt(entries[len(entries)-1].ID, 10))
	}
	return writeJSON(w, answer)
}
