package web

import "net/http"

// rulesPage answers "what is not being compared, and does each rule earn its place?".
type rulesPage struct {
	frame
}

// rulesView answers GET /rules.
func (s *Server) rulesView(w http.ResponseWriter, r *http.Request) error {
	page := &rulesPage{frame: s.frameFor(r, s.deps.DB.Snapshot(), "Rules")}
	page.Here = "rules"
	return s.render(w, r, http.StatusOK, "rules", page)
}
