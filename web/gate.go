package web

import (
	"net/http"
	"slices"
	"strings"

	"shadowdiff/diff"
	"shadowdiff/store"
)

// gateAnswer is /api/v1/gate: whether the verdict is one that lets a release pass.
type gateAnswer struct {
	Pass    bool      `json:"pass"`
	Word    diff.Word `json:"verdict"`
	Reasons []string  `json:"reasons"`
	Run     store.Run `json:"run"`
	Route   *string   `json:"route"`
	Page    string    `json:"page"`
}

// gate answers GET and POST /api/v1/gate for what decides by the status alone: 200 when the verdict is among those that
// `pass` lists ("equivalent" unless it says otherwise), else 409. POST changes nothing either; its body is not read.
func (s *Server) gate(w http.ResponseWriter, r *http.Request) error {
	q, err := readQuery(r, "run", "route", "pass")
	if err != nil {
		return err
	}
	words, err := wordsOf(q.text("pass"))
	if err != nil {
		return err
	}
	snap, err := s.snapshotOf(r, q)
	if err != nil {
		return err
	}
	verdict, page := snap.Verdict, s.prefix+"/"
	if route := s.current(snap, q.text("route")); route != "" {
		if verdict = verdictOf(snap, route); verdict == nil {
			return noSuchRoute(route, snap)
		}
		page = s.prefix + routePath(route)
	}
	a := gateAnswer{
		Pass: slices.Contains(words, verdict.Word), Word: verdict.Word, Reasons: verdict.Reasons, Run: snap.Run,
		Route: verdict.Route, Page: page,
	}
	if snap.Run.Name == diff.CalibrationRun && q.text("run") != diff.CalibrationRun {
		a.Pass, a.Reasons = false, append([]string{notOfARelease}, a.Reasons...)
	}
	if !a.Pass {
		return writeStatus(w, http.StatusConflict, a)
	}
	return writeJSON(w, a)
}

// wordsOf reads a list of verdicts, parted by commas.
func wordsOf(list string) (words []diff.Word, err error) {
	if list == "" {
		return []diff.Word{diff.Equivalent}, nil
	}
	for _, word := range strings.Split(list, ",") {
		switch w := diff.Word(strings.TrimSpace(word)); w {
		case diff.Equivalent, diff.Different, diff.Undecided:
			words = append(words, w)
		default:
			return nil, refuse(http.StatusBadRequest, "pass=%q: give equivalent, different or undecided, several with commas between", list)
		}
	}
	return words, nil
}
