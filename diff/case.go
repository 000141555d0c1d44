package diff

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"shadowdiff/multicast"
	"shadowdiff/normalize"
)

// CaseVersion is the version of the form of case files. A file of a later one is refused.
const CaseVersion = 1

// Case is one comparison with all that belongs to it, in JSON: a sample is exported as one, and `shadowdiff diff -case`
// reads it. Answers have the form that GET /api/v1/samples/{id} gives them.
type Case struct {
	Version   int             `json:"version"`
	Route     string          `json:"route,omitempty"`
	Headers   json.RawMessage `json:"headers,omitempty"` // as headers: in a configuration
	Rules     json.RawMessage `json:"rules,omitempty"`   // as rules: in a configuration
	Primary   *CaseAnswer     `json:"primary"`
	Candidate *CaseAnswer     `json:"candidate"`
	Secondary *CaseAnswer     `json:"secondary,omitempty"`
}

// CaseAnswer is one answer. Without a status and headers it is a body alone.
type CaseAnswer struct {
	Status  int         `json:"status,omitempty"`
	Header  http.Header `json:"header,omitempty"`
	Trailer http.Header `json:"trailer,omitempty"`
	CaseBody
	Cut bool `json:"body_cut,omitempty"` // the body is not whole: such a case is refused
}

// CaseBody is a body as text, or in base64 where it is not UTF-8.
type CaseBody struct {
	Body     string `json:"body"`
	Encoding string `json:"body_encoding,omitempty"` // "base64", or left out
}

// NewCaseBody writes a body down.
func NewCaseBody(body []byte) CaseBody {
	if utf8.Valid(body) {
		return CaseBody{Body: string(body)}
	}
	return CaseBody{base64.StdEncoding.EncodeToString(body), "base64"}
}

// NewCase writes a comparison down: the answers by role, nil where there is none, and how they are compared.
func NewCase(route string, cfg normalize.Config, answers [3]*multicast.Response) (*Case, error) {
	c := &Case{Version: CaseVersion, Route: route}
	var err error
	if c.Headers, err = jsonOf(cfg.Headers, len(cfg.Headers.Ignore)+len(cfg.Headers.Compare)); err != nil {
		return nil, fmt.Errorf("write the headers of a case: %w", err)
	}
	if c.Rules, err = jsonOf(cfg.Rules, len(cfg.Rules)); err != nil {
		return nil, fmt.Errorf("write the rules of a case: %w", err)
	}
	for role, to := range c.answers() {
		if r := answers[role]; r != nil {
			*to = &CaseAnswer{Status: r.Status, Header: r.Header, Trailer: r.Trailer, CaseBody: NewCaseBody(r.Body)}
		}
	}
	return c, nil
}

// answers are the places of the answers, by role.
func (c *Case) answers() [3]**CaseAnswer {
	return [3]**CaseAnswer{multicast.Primary: &c.Primary, multicast.Candidate: &c.Candidate, multicast.Secondary: &c.Secondary}
}

// jsonOf is the JSON of what has YAML's names, nil when there are no entries in it.
func jsonOf(part any, entries int) (json.RawMessage, error) {
	if entries == 0 {
		return nil, nil
	}
	text, err := yaml.Marshal(part)
	if err != nil {
		return nil, err
	}
	var v any
	if err := yaml.Unmarshal(text, &v); err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

// ReadCase reads a case strictly: a key that is not known would be a part of the comparison that is left out. Its errors
// say where in the text they are.
func ReadCase(text []byte) (*Case, error) {
	c := new(Case)
	in := json.NewDecoder(bytes.NewReader(text))
	in.DisallowUnknownFields()
	if err := in.Decode(c); err != nil {
		return nil, errors.New(plainJSON(text, in.InputOffset(), err))
	}
	if _, err := in.Token(); err != io.EOF {
		return nil, fmt.Errorf("more follows the case at %s", lineOf(text, in.InputOffset()))
	}
	switch {
	case c.Version == 0:
		return nil, fmt.Errorf("it has no \"version\": a case begins with {\"version\": %d", CaseVersion)
	case c.Version != CaseVersion:
		return nil, fmt.Errorf("it has version %d, this shadowdiff reads version %d", c.Version, CaseVersion)
	case c.Primary == nil || c.Candidate == nil:
		return nil, errors.New("it must have both \"primary\" and \"candidate\"")
	}
	return c, nil
}

// Responses are the answers by role; nil where there is none. bodiesOnly tells that none has a status.
func (c *Case) Responses() (answers [3]*multicast.Response, bodiesOnly bool, err error) {
	bodiesOnly = true
	for role, a := range c.answers() {
		if *a == nil {
			continue
		}
		if answers[role], err = (*a).response(); err != nil {
			return answers, false, fmt.Errorf("%s.%w", multicast.Role(role), err)
		}
		bodiesOnly = bodiesOnly && (*a).Status == 0
	}
	return answers, bodiesOnly, nil
}

func (a *CaseAnswer) response() (*multicast.Response, error) {
	r := &multicast.Response{Outcome: multicast.OutcomeOK, Status: a.Status, Header: http.Header{}, Trailer: http.Header{}, Body: []byte(a.Body)}
	switch {
	case a.Status != 0 && (a.Status < 100 || a.Status > 999):
		return nil, fmt.Errorf("status: %d is none", a.Status)
	case a.Cut:
		return nil, errors.New("body_cut: the body is not whole, so nothing can be said of it")
	case a.Encoding == "base64":
		var err error
		if r.Body, err = base64.StdEncoding.DecodeString(a.Body); err != nil {
			return nil, fmt.Errorf("body: it is not base64: %w", err)
		}
	case a.Encoding != "":
		return nil, fmt.Errorf("body_encoding: %q: it is base64, or left out for text", a.Encoding)
	}
	for name, values := range a.Header {
		r.Header[http.CanonicalHeaderKey(name)] = values
	}
	for name, values := range a.Trailer {
		r.Trailer[http.CanonicalHeaderKey(name)] = values
	}
	r.Size = int64(len(r.Body))
	return r, nil
}

// plainJSON words what encoding/json found, with its place.
func plainJSON(text []byte, offset int64, err error) string {
	if name, unknown := strings.CutPrefix(err.Error(), "json: unknown field "); unknown {
		name = strings.Trim(name, `"`)
		known := strings.Fields("version route headers rules primary candidate secondary status header trailer body body_encoding body_cut")
		if near := normalize.Nearest(name, known); near != "" {
			return fmt.Sprintf("unknown key %q; did you mean %q?", name, near)
		}
		return fmt.Sprintf("unknown key %q", name)
	}
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Sprintf("%s: %s", lineOf(text, e.Offset), strings.TrimPrefix(e.Error(), "json: "))
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Sprintf("%s: %s cannot be a %s", lineOf(text, e.Offset), e.Field, e.Value)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "it ends early: a case is one JSON object"
	}
	return fmt.Sprintf("%s: %s", lineOf(text, offset), err)
}

// lineOf is a byte's line and column, for people.
func lineOf(text []byte, offset int64) string {
	before := text[:min(max(offset-1, 0), int64(len(text)))]
	line := 1 + bytes.Count(before, []byte("\n"))
	return fmt.Sprintf("line %d, column %d", line, len(before)-bytes.LastIndexByte(before, '\n'))
}
