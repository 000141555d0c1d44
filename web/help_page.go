package web

import "net/http"

// helpPage explains the words, the keys, and how to read the verdict.
type helpPage struct{ frame }

// help answers GET /help.
func (s *Server) help(w http.ResponseWriter, r *http.Request) error {
	if _, err := readQuery(r); err != nil {
		return err
	}
	page := &helpPage{frame: s.frameFor(r, s.deps.DB.Snapshot(), "Help")}
	page.Here, page.Still = "help", true
	return s.render(w, r, http.StatusOK, "help", page)
}
