package web

import (
	"errors"
	"net/http"

	"shadowdiff/store"
)

// snapshotOf is the state of the run that the parameter run means: an id, a name, or "current", which is the one in force
// and the same as none.
func (s *Server) snapshotOf(r *http.Request, q query) (*store.Snapshot, error) {
	ref := q.text("run")
	if ref == "" || ref == "current" {
		return s.deps.DB.Snapshot(), nil
	}
	run, err := s.deps.DB.FindRun(r.Context(), ref)
	if errors.Is(err, store.ErrNotFound) {
		return nil, s.noSuchRun(ref)
	}
	if err != nil {
		return nil, err
	}
	return s.deps.DB.RunSnapshot(r.Context(), run.ID)
}

func (s *Server) noSuchRun(ref string) error {
	now := s.deps.DB.Snapshot().Run
	return refuse(http.StatusNotFound, "there is no run %q; the one in force is %q, and /api/v1/runs lists all", ref, now.Name)
}
