package web

import (
	"bytes"
	"net/http"
	"strings"

	"shadowdiff/diff"
	"shadowdiff/multicast"
	"shadowdiff/normalize"
	"shadowdiff/store"
)

// sampleCase answers GET /api/v1/samples/{id}/case. It has the rules that are in force now, and the answers as they were
// kept.
func (s *Server) sampleCase(w http.ResponseWriter, r *http.Request) error {
	if _, err := readQuery(r); err != nil {
		return err
	}
	sample, err := s.findSample(r)
	if err != nil {
		return err
	}
	f, err := s.caseOf(sample)
	if err != nil {
		return err
	}
	download(w, sampleName(r, ".case.json"))
	return writeJSON(w, f)
}

// caseOf is the case of a sample, or why it is none.
func (s *Server) caseOf(sample *store.Sample) (*diff.Case, error) {
	var rules normalize.Config
	if s.deps.Comparing != nil {
		rules = s.deps.Comparing()
	}
	var answers [3]*multicast.Response
	for i := range sample.Responses {
		role, resp := multicast.Role(i), &sample.Responses[i]
		if role == multicast.Secondary && resp.Outcome != multicast.OutcomeOK {
			continue // it can be left out
		}
		if err := noCase(sample, role); err != nil {
			return nil, err
		}
		answers[role] = resp
	}
	return diff.NewCase(sample.Route, rules, answers)
}

// noCase says why an answer cannot be part of a case.
func noCase(sample *store.Sample, role multicast.Role) error {
	resp := &sample.Responses[role]
	switch {
	case resp.Outcome != multicast.OutcomeOK:
		return refuse(http.StatusConflict, "sample %d is no case for shadowdiff diff: the %s gave no whole answer (%s)", sample.ID, role, outcomeOf(resp))
	case resp.Over || sample.BodyCut[role]:
		return refuse(http.StatusConflict, "sample %d is no case for shadowdiff diff: the body of the %s was not kept whole, being too long", sample.ID, role)
	case withheld(resp.Body):
		return refuse(http.StatusConflict, "sample %d is no case for shadowdiff diff: what is to be redacted could not be looked for in the "+
			"body of the %s, so that nothing of it was kept", sample.ID, role)
	}
	return nil
}

// withheld tells whether a note stands in the place of a whole body: two such notes are equal where the bodies were not.
func withheld(body []byte) bool {
	note := strings.TrimSuffix(normalize.Redacted, "]")
	return len(body) < 100 && bytes.HasPrefix(body, []byte(note)) && bytes.HasSuffix(body, []byte("]"))
}

func outcomeOf(resp *multicast.Response) multicast.Outcome {
	if resp.Outcome == "" {
		return "it was not asked"
	}
	return resp.Outcome
}
