package web

import (
	"encoding/json"
	"net/http"
	"time"

	"shadowdiff/store"
)

// shrinkForm is where a reader has a request made smaller.
type shrinkForm struct {
	Can     bool
	Why     string
	Fields  []string // that may be looked for: the candidate differs there, and the control does not
	Field   string
	Unsafe  bool // the method may do harm: the reader is to say that it does not
	Headers string
	Fault   string
	Open    bool
	Most    int    // requests that it asks at most
	Longest string // and how long it takes at most
}

// shrunkView is the smallest request that was found.
type shrunkView struct {
	*shrunk
	Least     requestView
	Took      string
	Sentence  string
	Different []placeView // at the field, when it showed last
}

func (s *Server) shrinkForm(sample *store.Sample) shrinkForm {
	f := shrinkForm{Most: shrinkAsks, Longest: (shrinkTime + shrinkTime/4).String(), Unsafe: !harmless(sample.Request.Method)}
	controls := fieldLevels(sample.Control)
	for _, name := range aloneIn(sample) {
		if controls[name] == 0 {
			f.Fields = append(f.Fields, name)
		}
	}
	ask := s.askForm(sample)
	switch {
	case !ask.Can:
		f.Why = ask.Why
	case len(f.Fields) == 0:
		f.Why = "There is no field at which the candidate differs and the control does not: what noise does by itself has no smallest request."
	default:
		f.Can, f.Field = true, f.Fields[0]
	}
	return f
}

func harmless(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
}

// shrinkPage answers POST /samples/{id}/shrink: the page of the sample, with the smallest request that still differs.
func (s *Server) shrinkPage(w http.ResponseWriter, r *http.Request) error {
	sample, q, err := s.readSampleForm(w, r)
	if err != nil {
		return err
	}
	field, typed := r.PostForm.Get("field"), r.PostForm.Get("headers")
	headers, err := headersTyped(typed)
	var found *shrunk
	if err == nil {
		keys := map[string]json.RawMessage{"field": json.RawMessage(quoted(field))}
		if headers != nil {
			keys["headers"] = headers
		}
		if r.PostForm.Get("unsafe") == "true" {
			keys["unsafe"] = json.RawMessage("true")
		}
		found, err = s.shrink(w, r, sample, keys)
	}
	status := http.StatusOK
	if err != nil {
		if status = asProblem(err).Status; status >= http.StatusInternalServerError {
			return err
		}
	}
	page, failed := s.samplePage(r, sample, q)
	if failed != nil {
		return failed
	}
	page.still()
	if err != nil {
		page.Shrink.Fault, page.Shrink.Headers, page.Shrink.Field, page.Shrink.Open = sentenceOf(asProblem(err).Detail), typed, field, true
	} else {
		page.Shrunk = shrunkViewOf(found)
	}
	return s.render(w, r, status, "sample", page)
}

func shrunkViewOf(a *shrunk) *shrunkView {
	v := &shrunkView{shrunk: a, Least: requestOf(&a.request, false), Took: took(time.Duration(a.Duration * float64(time.Second)))}
	v.Different = placesViewOf(&store.Sample{Candidate: a.Differences})
	switch {
	case len(a.Kept) == 0:
		v.Sentence = "The bare request is enough: the difference needs nothing of what was tried."
	case a.Minimal:
		v.Sentence = "The difference needs " + listed(a.Kept, 8) + ", and nothing else."
	default:
		v.Sentence = "The difference needs no more than " + listed(a.Kept, 8) + "; " + a.Stopped + " before all of it was tried."
	}
	return v
}
