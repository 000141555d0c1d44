package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"shadowdiff/store"
)

// problem is an RFC 9457 problem. Its detail names the thing and the remedy.
type problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`

	Errors     []Fault  `json:"errors,omitempty"`     // of a configuration
	Parameters []string `json:"parameters,omitempty"` // those that the address takes, where one of them is wrong
}

func (p *problem) Error() string { return p.Detail }

// refuse is how a handler says no.
func refuse(status int, format string, args ...any) *problem {
	return &problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: fmt.Sprintf(format, args...)}
}

// asProblem turns any error into a problem; the cause of an inner failure is for the log alone.
func asProblem(err error) *problem {
	var p *problem
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &tooLarge):
		return refuse(http.StatusRequestEntityTooLarge, "the body is longer than the %d bytes that are read here", tooLarge.Limit)
	case errors.Is(err, store.ErrNoRoom):
		return refuse(http.StatusInsufficientStorage, "nothing was changed: %s", err)
	case errors.Is(err, store.ErrNotFound):
		return refuse(http.StatusNotFound, "there is no such thing here; it may have been removed since")
	default:
		return refuse(http.StatusInternalServerError, "the answer could not be made; the log of shadowdiff says why")
	}
}

// api runs a handler whose errors are answered as problems, and so does page with an HTML page: the two places where an
// error becomes an answer.
func (s *Server) api(h func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := h(w, r); err != nil {
			s.logFailure(r, err)
			writeProblem(w, asProblem(err))
		}
	}
}

func (s *Server) page(h func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		err := h(w, r)
		if err == nil {
			return
		}
		s.logFailure(r, err)
		p := asProblem(err)
		if r.Header.Get("HX-Request") == "true" { // the page stays and its script says what went wrong
			writeProblem(w, p)
			return
		}
		page := &problemPage{frame: s.frameFor(r, s.deps.DB.Snapshot(), p.Title), Problem: p}
		page.Still = true // it is tried again now and then, not at each snapshot
		if err := s.render(w, r, p.Status, "problem", page); err != nil {
			s.logFailure(r, err)
			http.Error(w, p.Detail, p.Status)
		}
	}
}

// problemPage is what a person sees of a problem.
type problemPage struct {
	frame
	Problem *problem
}

// Said is what is wrong as a sentence.
func (p *problemPage) Said() string {
	if strings.HasSuffix(p.Problem.Detail, "?") || strings.HasSuffix(p.Problem.Detail, ".") {
		return p.Problem.Detail
	}
	return p.Problem.Detail + "."
}

func (s *Server) logFailure(r *http.Request, err error) {
	if asProblem(err).Status < http.StatusInternalServerError || r.Context().Err() != nil {
		return
	}
	s.deps.Log.Error("admin request failed", "path", r.URL.Path, "err", err)
}

func writeProblem(w http.ResponseWriter, p *problem) {
	body, _ := json.Marshal(p) // strings and a number
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Del("ETag") // of what would have been the answer
	w.WriteHeader(p.Status)
	w.Write(append(body, '\n'))
}

// writeJSON renders to a buffer first, so that what cannot be encoded becomes an error and not half an answer.
func writeJSON(w http.ResponseWriter, v any) error { return writeStatus(w, http.StatusOK, v) }

func writeStatus(w http.ResponseWriter, status int, v any) error {
	body, err := encode(v)
	if err != nil {
		return err
	}
	writeBytes(w, status, "application/json", body)
	return nil
}

// writeKnown is writeJSON for what costs more to send than to make: it is sent only to those who have not got it.
func writeKnown(w http.ResponseWriter, r *http.Request, v any) error {
	body, err := encode(v)
	if err != nil || unchanged(w, r, digest(body)) {
		return err
	}
	writeBytes(w, http.StatusOK, "application/json", body)
	return nil
}

func encode(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("encode the answer: %w", err)
	}
	return buf.Bytes(), nil
}

// writeBytes sends a whole body. What has no entity tag is not to be kept by anybody.
func writeBytes(w http.ResponseWriter, status int, label string, body []byte) {
	w.Header().Set("Content-Type", label)
	if w.Header().Get("ETag") == "" {
		w.Header().Set("Cache-Control", "no-store")
	}
	w.WriteHeader(status)
	_, _ = w.Write(body) // the caller is gone: nobody to tell
}
