package web

import (
	"errors"
	"net/http"

	"shadowdiff/normalize"
	"shadowdiff/store"
)

// snapshotOf is the state of the run that the parameter run means: an id, a name (the latest of that name), or "current",
// which is the one in force and the same as none.
func (s *Server) snapshotOf(r *http.Request, q query) (*store.Snapshot, error) {
	id, err := s.runMeant(r, q)
	if err != nil {
		return nil, err
	}
	if id == 0 {
		return s.deps.DB.Snapshot(), nil
	}
	return s.deps.DB.RunSnapshot(r.Context(), id)
}

// runMeant is the id of that run; 0 for the one in force.
func (s *Server) runMeant(r *http.Request, q query) (int64, error) {
	ref := q.text("run")
	if ref == "" || ref == "current" {
		return 0, nil
	}
	run, err := s.findRun(r, ref)
	return run.ID, err
}

func (s *Server) findRun(r *http.Request, ref string) (store.Run, error) {
	run, err := s.deps.DB.FindRun(r.Context(), ref)
	if errors.Is(err, store.ErrNotFound) {
		return run, s.noSuchRun(r, ref)
	}
	return run, err
}

// noSuchRun names the run that was probably meant.
func (s *Server) noSuchRun(r *http.Request, ref string) error {
	names, err := s.deps.DB.RunNames(r.Context())
	if err != nil {
		return err
	}
	if near := normalize.Nearest(ref, names); near != "" {
		return refuse(http.StatusNotFound, "there is no run %q; did you mean %q?", ref, near)
	}
	return refuse(http.StatusNotFound, "there is no run %q; the one in force is %q, and /api/v1/runs lists all", ref,
		s.deps.DB.Snapshot().Run.Name)
}

// RunBeginning is what is asked of a new run. What is left out is found: the name is that of the run in force, so that it
// is another attempt, and the version is the first that the candidate tells.
type RunBeginning struct {
	Actor, Name, Version, Notes string
}
