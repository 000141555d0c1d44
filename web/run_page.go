package web

import (
	"net/http"

	"shadowdiff/store"
)

// runPage tells of one run.
type runPage struct {
	frame
	Record store.RunRecord
}

// runView answers GET /runs/{id}; an id, a name or "current".
func (s *Server) runView(w http.ResponseWriter, r *http.Request) error {
	run, err := s.runInPath(r, "id")
	if err != nil {
		return err
	}
	page := &runPage{frame: s.frameFor(r, s.deps.DB.Snapshot(), "Run "+run.Name)}
	if page.Record, err = s.deps.DB.RunRecord(r.Context(), run.ID); err != nil {
		return err
	}
	page.Here = "runs"
	return s.render(w, r, http.StatusOK, "run", page)
}
