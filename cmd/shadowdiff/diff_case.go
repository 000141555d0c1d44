package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"shadowdiff/multicast"
	"shadowdiff/normalize"
)

// caseVersion is the version of the form of case files. A file of a later one is refused.
const caseVersion = 1

// caseFile is one comparison with all that belongs to it, in JSON. Answers have the form that GET /api/v1/samples/{id}
// gives them.
type caseFile struct {
	Version   int             `json:"version"`
	Route     string          `json:"route,omitempty"`
	Headers   json.RawMessage `json:"headers,omitempty"` // as headers: in a configuration
	Rules     json.RawMessage `json:"rules,omitempty"`   // as rules: in a configuration
	Primary   *caseAnswer     `json:"primary"`
	Candidate *caseAnswer     `json:"candidate"`
	Secondary *caseAnswer     `json:"secondary,omitempty"`
}

// caseAnswer is one answer. Without a status and headers it is a body alone, as of files that are compared without -http.
type caseAnswer struct {
	Status   int         `json:"status,omitempty"`
	Header   http.Header `json:"header,omitempty"`
	Trailer  http.Header `json:"trailer,omitempty"`
	Body     string      `json:"body"`
	Encoding string      `json:"body_encoding,omitempty"` // base64, or none for text
	Cut      bool        `json:"body_cut,omitempty"`
}

// readCase reads the file that -case names. Rules and a route that flags give take the place of the file's.
func (o *diffOptions) readCase(std stdio) (*diffCase, error) {
	text, err := readInput(o.caseFile, std)
	if err != nil {
		return nil, err
	}
	c, err := parseCase(text, o.caseFile)
	if err != nil {
		return nil, err
	}
	if o.route != "" {
		c.route = o.route
	}
	if o.rules != "" {
		if c.config, err = readRules(o.rules, std); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// parseCase reads a case strictly: a key that is not known would be a part of the comparison that is left out.
func parseCase(text []byte, file string) (*diffCase, error) {
	var f caseFile
	in := json.NewDecoder(bytes.NewReader(text))
	in.DisallowUnknownFields()
	if err := in.Decode(&f); err != nil {
		return nil, fmt.Errorf("%s: %s", file, plainJSONError(text, in.InputOffset(), err))
	}
	if _, err := in.Token(); err != io.EOF {
		return nil, fmt.Errorf("%s: more follows the case at %s", file, placeOf(text, in.InputOffset()))
	}
	switch {
	case f.Version == 0:
		return nil, fmt.Errorf("%s: it has no \"version\": a case begins with {\"version\": %d", file, caseVersion)
	case f.Version != caseVersion:
		return nil, fmt.Errorf("%s: it has version %d, this shadowdiff reads version %d", file, f.Version, caseVersion)
	case f.Primary == nil || f.Candidate == nil:
		return nil, fmt.Errorf("%s: it must have both \"primary\" and \"candidate\"", file)
	}
	c := &diffCase{left: file + " (primary)", right: file + " (candidate)", route: f.Route}
	var err error
	if c.config, err = f.config(file); err != nil {
		return nil, err
	}
	answers := [3]*caseAnswer{multicast.Primary: f.Primary, multicast.Candidate: f.Candidate, multicast.Secondary: f.Secondary}
	c.bodiesOnly = true
	for role, a := range answers {
		if a == nil {
			continue
		}
		if c.answers[role], err = a.response(); err != nil {
			return nil, fmt.Errorf("%s: %s.%w", file, multicast.Role(role), err)
		}
		c.bodiesOnly = c.bodiesOnly && a.Status == 0
	}
	return c, nil
}

// config reads the rules and headers, for which JSON is YAML enough once its escapes are undone.
func (f *caseFile) config(file string) (normalize.Config, error) {
	parts := map[string]any{}
	for key, raw := range map[string]json.RawMessage{"headers": f.Headers, "rules": f.Rules} {
		if raw == nil {
			continue
		}
		in := json.NewDecoder(bytes.NewReader(raw))
		in.UseNumber()
		var v any
		if err := in.Decode(&v); err != nil {
			return normalize.Config{}, fmt.Errorf("%s: %s: %w", file, key, err)
		}
		parts[key] = v
	}
	var text bytes.Buffer
	out := json.NewEncoder(&text)
	out.SetEscapeHTML(false)
	if err := out.Encode(parts); err != nil {
		return normalize.Config{}, fmt.Errorf("%s: %w", file, err)
	}
	escaped := strings.ReplaceAll(text.String(), "${", "$${") // a case takes nothing from the environment
	cfg, err := decodeRules(file, []byte(escaped))
	if faults, ok := errors.AsType[faultList](err); ok {
		for i := range faults {
			faults[i].at = position{} // of the text above
		}
	}
	return cfg, err
}

func (a *caseAnswer) response() (*multicast.Response, error) {
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

// plainJSONError words what encoding/json found, with its place.
func plainJSONError(text []byte, offset int64, err error) string {
	if name, unknown := strings.CutPrefix(err.Error(), "json: unknown field "); unknown {
		name = strings.Trim(name, `"`)
		known := strings.Fields("version route headers rules primary candidate secondary status header trailer body body_encoding body_cut")
		if near := normalize.Nearest(name, known); near != "" {
			return fmt.Sprintf("unknown key %q; did you mean %q?", name, near)
		}
		return fmt.Sprintf("unknown key %q", name)
	}
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Sprintf("%s: %s", placeOf(text, e.Offset), strings.TrimPrefix(e.Error(), "json: "))
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Sprintf("%s: %s cannot be a %s", placeOf(text, e.Offset), e.Field, e.Value)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "it ends early: a case is one JSON object"
	}
	return fmt.Sprintf("%s: %s", placeOf(text, offset), err)
}

// placeOf is a byte's line and column, for people.
func placeOf(text []byte, offset int64) string {
	before := text[:min(max(offset-1, 0), int64(len(text)))]
	line := 1 + bytes.Count(before, []byte("\n"))
	return fmt.Sprintf("line %d, column %d", line, len(before)-bytes.LastIndexByte(before, '\n'))
}

// save writes the case as a file.
func (c *diffCase) save(file string) error {
	f := caseFile{Version: caseVersion, Route: c.route}
	var err error
	if f.Headers, err = jsonOf(c.config.Headers, len(c.config.Headers.Ignore)+len(c.config.Headers.Compare)); err != nil {
		return err
	}
	if f.Rules, err = jsonOf(c.config.Rules, len(c.config.Rules)); err != nil {
		return err
	}
	for role, to := range map[multicast.Role]**caseAnswer{multicast.Primary: &f.Primary, multicast.Candidate: &f.Candidate, multicast.Secondary: &f.Secondary} {
		if r := c.answers[role]; r != nil {
			*to = answerOf(r)
			if c.bodiesOnly {
				(*to).Status = 0
			}
		}
	}
	var text bytes.Buffer
	out := json.NewEncoder(&text)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	if err := out.Encode(f); err != nil {
		return fmt.Errorf("write the case: %w", err)
	}
	return os.WriteFile(file, text.Bytes(), 0o600) // answers may hold what is nobody else's business
}

func answerOf(r *multicast.Response) *caseAnswer {
	a := &caseAnswer{Status: r.Status, Header: r.Header, Trailer: r.Trailer, Body: string(r.Body)}
	if !utf8.Valid(r.Body) {
		a.Body, a.Encoding = base64.StdEncoding.EncodeToString(r.Body), "base64"
	}
	return a
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
