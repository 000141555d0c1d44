package web

import "net/http"

// runsPage answers "is the new candidate better than the last?".
type runsPage struct {
	frame
}

// runsView answers GET /runs.
func (s *Server) runsView(w http.ResponseWriter, r *http.Request) error {
	page := &runsPage{frame: s.frameFor(r, s.deps.DB.Snapshot(), "Runs")}
	page.Here = "runs"
	return s.render(w, r, http.StatusOK, "runs", page)
}
