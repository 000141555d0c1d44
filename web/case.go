package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"go.yaml.in/yaml/v4"

	"shadowdiff/multicast"
	"shadowdiff/normalize"
	"shadowdiff/store"
)

// caseVersion is the version of the form of case files that is written here.
const caseVersion = 1

// caseFile is one comparison with all that belongs to it, as `shadowdiff diff -case FILE` reads it.
type caseFile struct {
	Version   int             `json:"version"`
	Route     string          `json:"route,omitempty"`
	Headers   json.RawMessage `json:"headers,omitempty"` // as headers: in a configuration
	Rules     json.RawMessage `json:"rules,omitempty"`   // as rules: in a configuration
	Primary   *caseAnswer     `json:"primary"`
	Candidate *caseAnswer     `json:"candidate"`
	Secondary *caseAnswer     `json:"secondary,omitempty"`
}

type caseAnswer struct {
	Status  int         `json:"status"`
	Header  http.Header `json:"header,omitempty"`
	Trailer http.Header `json:"trailer,omitempty"`
	bodyAnswer
}

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
func (s *Server) caseOf(sample *store.Sample) (*caseFile, error) {
	f := &caseFile{Version: caseVersion, Route: sample.Route}
	if s.deps.Comparing != nil {
		rules := s.deps.Comparing()
		var err error
		if f.Headers, err = jsonOf(rules.Headers, len(rules.Headers.Ignore)+len(rules.Headers.Compare)); err != nil {
			return nil, err
		}
		if f.Rules, err = jsonOf(rules.Rules, len(rules.Rules)); err != nil {
			return nil, err
		}
	}
	for role, to := range map[multicast.Role]**caseAnswer{multicast.Primary: &f.Primary, multicast.Candidate: &f.Candidate, multicast.Secondary: &f.Secondary} {
		resp := &sample.Responses[role]
		if role == multicast.Secondary && resp.Outcome != multicast.OutcomeOK {
			continue // it can be left out
		}
		if err := noCase(sample, role); err != nil {
			return nil, err
		}
		*to = &caseAnswer{Status: resp.Status, Header: resp.Header, Trailer: resp.Trailer, bodyAnswer: bodyOf(resp.Body)}
	}
	return f, nil
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

// jsonOf is the JSON of what has YAML's names, nil when there are no entries in it.
func jsonOf(part any, entries int) (json.RawMessage, error) {
	if entries == 0 {
		return nil, nil
	}
	text, err := yaml.Marshal(part)
	if err != nil {
		return nil, fmt.Errorf("write the rules: %w", err)
	}
	var v any
	if err := yaml.Unmarshal(text, &v); err != nil {
		return nil, fmt.Errorf("write the rules: %w", err)
	}
	return json.Marshal(v)
}
