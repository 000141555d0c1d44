package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/go-chi/chi/v5"

	"shadowdiff/store"
)

// rulesBody is how many bytes of rules are read.
const rulesBody = 64 << 10

// rulesChanged is what POST and DELETE answer: the rules that were added or removed, and the run that is in force now.
type rulesChanged struct {
	Items []ruleItem `json:"items"`
	Run   store.Run  `json:"run"`
	Begun bool       `json:"begun"` // by the change
}

// postRules answers POST /api/v1/rules, whose body is one rule or a list of them, in YAML or JSON.
func (s *Server) postRules(w http.ResponseWriter, r *http.Request) error {
	if _, err := readQuery(r); err != nil {
		return err
	}
	if err := labelledRules(r.Header); err != nil {
		w.Header().Set("Accept", "application/yaml, application/json")
		return err
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, rulesBody))
	if err != nil {
		return fmt.Errorf("read the body: %w", err)
	}
	if strings.TrimSpace(string(body)) == "" {
		return refuse(http.StatusBadRequest, `the body is empty; send a rule such as "drop: body.generated_at", or a list of them, in YAML or JSON`)
	}
	return s.changeRules(w, r, http.StatusCreated, RuleChange{Add: string(body)})
}

// deleteRule answers DELETE /api/v1/rules/{id}.
func (s *Server) deleteRule(w http.ResponseWriter, r *http.Request) error {
	if _, err := readQuery(r); err != nil {
		return err
	}
	return s.changeRules(w, r, http.StatusOK, RuleChange{Remove: []string{chi.URLParam(r, "id")}})
}

func (s *Server) changeRules(w http.ResponseWriter, r *http.Request, status int, c RuleChange) error {
	if s.deps.Rulebook == nil {
		return refuse(http.StatusConflict, "this process cannot change its rules")
	}
	c.Actor = "api"
	done, err := s.deps.Rulebook.Change(r.Context(), c)
	if err != nil {
		return asRulesRefused(err)
	}
	answer := rulesChanged{Items: []ruleItem{}, Run: done.Run, Begun: done.Begun}
	for i := range done.Rules {
		item, err := itemOfRule(&done.Rules[i])
		if err != nil {
			return err
		}
		answer.Items = append(answer.Items, item)
	}
	return writeStatus(w, status, answer)
}

// asRulesRefused makes a problem of what kept rules from being changed.
func asRulesRefused(err error) error {
	no, is := errors.AsType[*RulesRefused](err)
	if !is {
		return err
	}
	status := http.StatusConflict
	switch {
	case len(no.Faults) > 0:
		status = http.StatusUnprocessableEntity
	case no.Missing:
		status = http.StatusNotFound
	}
	p := refuse(status, "%s", no.Reason)
	p.Errors = no.Faults
	return p
}

// labelledRules refuses a body that says of itself that it is neither YAML nor JSON.
func labelledRules(h http.Header) error {
	media, params, err := mime.ParseMediaType(h.Get("Content-Type"))
	charset := params["charset"]
	yaml := []string{"application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml", "text/plain"}
	if err == nil && slices.Contains(yaml, media) && (charset == "" || strings.EqualFold(charset, "utf-8")) {
		h = http.Header{"Content-Encoding": h["Content-Encoding"]}
	}
	if err := labelledJSON(h); err != nil {
		return refuse(http.StatusUnsupportedMediaType, "the body is sent as %q with the coding %q; send YAML or JSON in UTF-8, plain",
			h.Get("Content-Type"), h.Get("Content-Encoding"))
	}
	return nil
}

// readPreview reads which rules are to be tried: {"rules": …} as a text in YAML, or as JSON, and {"remove": [ids]}.
func readPreview(keys map[string]json.RawMessage) (c RuleChange, err error) {
	if text, given := keys["rules"]; given {
		switch text[0] {
		case '"':
			if err := json.Unmarshal(text, &c.Add); err != nil {
				return c, refuse(http.StatusBadRequest, "rules: %v", err)
			}
		case '[', '{':
			c.Add = string(text)
		default:
			return c, refuse(http.StatusBadRequest, `rules: %.100s is neither a text such as "- drop: body.generated_at" nor a rule or a list of them`, text)
		}
	}
	if text, given := keys["remove"]; given {
		if c.Remove, err = readIDs(text); err != nil {
			return c, err
		}
	}
	if strings.TrimSpace(c.Add) == "" && len(c.Remove) == 0 {
		return c, refuse(http.StatusBadRequest, "nothing to try: give rules, remove or both")
	}
	return c, nil
}

// readIDs reads a list of ids, which are texts or numbers.
func readIDs(text json.RawMessage) (ids []string, err error) {
	var list []json.RawMessage
	if json.Unmarshal(text, &list) != nil {
		return nil, refuse(http.StatusBadRequest, `remove: %.100s is no list of ids such as ["3", "file:0"]`, text)
	}
	for _, one := range list {
		var id string
		if json.Unmarshal(one, &id) != nil {
			id = string(one)
		}
		ids = append(ids, id)
	}
	return ids, nil
}
