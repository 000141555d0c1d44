package web

import (
	"net/http"

	"shadowdiff/store"
)

// comparePage sets two runs side by side.
type comparePage struct {
	frame
	Then, Now store.Run
}

// compareView answers GET /runs/{a}/compare/{b}.
func (s *Server) compareView(w http.ResponseWriter, r *http.Request) error {
	then, err := s.runInPath(r, "a")
	if err != nil {
		return err
	}
	now, err := s.runInPath(r, "b")
	if err != nil {
		return err
	}
	page := &comparePage{frame: s.frameFor(r, s.deps.DB.Snapshot(), then.Name+" and "+now.Name), Then: then, Now: now}
	page.Here = "runs"
	return s.render(w, r, http.StatusOK, "compare", page)
}
