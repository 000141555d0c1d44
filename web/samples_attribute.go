package web

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"shadowdiff/diff"
	"shadowdiff/multicast"
	"shadowdiff/store"
)

// What a request is to have of an attribute.
const (
	isValue   = "value"
	isOneOf   = "one_of"
	isPresent = "present"
	isAbsent  = "absent"
)

// mostChosen is how many values of an attribute may be asked for at once: as many as are told apart.
const mostChosen = 16

// readAttribute reads what the request is to have of an attribute. With one, value is of the attribute and not of the field.
func (f *sampleFilter) readAttribute(q query) error {
	name, value := q.text("attribute"), q.text("value")
	is, err := q.choice("is", isValue, isOneOf, isPresent, isAbsent)
	if err != nil {
		return err
	}
	if is == "" && name != "" {
		is = isPresent
		if value != "" {
			is = isValue
		}
	}
	switch {
	case name == "" && is != "":
		return refuse(http.StatusBadRequest, "is=%s is of an attribute: give attribute, too", is)
	case name == "":
		return f.readValue(q)
	case f.Route == "":
		return refuse(http.StatusBadRequest, "attribute=%.100s is of the requests of a route: give route, too", name)
	case q.text("role") != "":
		return refuse(http.StatusBadRequest, "role=%s is of a value at a field: with attribute, value is what the request had", q.text("role"))
	case value != "" && (is == isPresent || is == isAbsent):
		return refuse(http.StatusBadRequest, "is=%s takes no value", is)
	}
	f.having = &diff.Having{Attribute: name, Absent: is == isAbsent}
	switch is {
	case isValue:
		f.having.Values = []string{value}
	case isOneOf:
		if json.Unmarshal([]byte(value), &f.having.Values) != nil || len(f.having.Values) == 0 || len(f.having.Values) > mostChosen {
			return refuse(http.StatusBadRequest, `is=one_of: give value as a JSON list of 1 to %d texts, such as ["3","9"]`, mostChosen)
		}
	}
	return nil
}

// choose looks up the attribute of a filter that has one, among those that were counted of the route.
func (s *Server) choose(ctx context.Context, snap *store.Snapshot, f *sampleFilter) error {
	if f.having == nil {
		return nil
	}
	counted, err := s.deps.DB.Attributes(ctx, snap.Run.ID, s.current(snap, f.Route))
	if errors.Is(err, store.ErrNotFound) {
		return refuse(http.StatusNotFound, "no requests of %q were counted in this run", f.Route)
	}
	if err != nil {
		return err
	}
	f.chosen, err = counted.Choose(*f.having)
	switch {
	case errors.Is(err, diff.ErrNoAttribute):
		return refuse(http.StatusBadRequest, "no request of %q was seen with an attribute %.100q; /api/v1/attributes lists what there is", f.Route, f.having.Attribute)
	case errors.Is(err, diff.ErrNotToldApart):
		return refuse(http.StatusBadRequest, "the values of %s are not told apart, since there are too many or they may be secret: give is=present or is=absent instead of a value", f.having.Attribute)
	}
	return err
}

// askedOf is what attributes look at in a sample.
func askedOf(sample *store.Sample) *diff.Asked {
	return &diff.Asked{Request: &sample.Request, Size: sample.RequestSize, Primary: &sample.Responses[multicast.Primary]}
}

// countedChosen is how many requests with the attribute were counted that did so at the field, where that is known.
func (f *sampleFilter) countedChosen() (n int64, known bool) {
	counted, exact := f.chosen.Count(f.Field)
	switch {
	case f.Result != "" || f.test != diff.TestValue:
		return 0, false
	case f.Field == "":
		return counted.Requests, exact
	case f.atField == candidateGraver:
		return counted.Differing, exact
	case f.atField == candidateDiffers:
		return counted.Differing + counted.Both, exact
	case f.atField == candidateAgrees:
		return counted.Others(), exact
	}
	return 0, false
}

// havingWords say what the requests of a list have: "with `query.currency` = `EUR`".
func havingWords(c *diff.Chosen, h *diff.Having) []phrase {
	name := phrase{c.Name(), true}
	switch {
	case h.Absent:
		return []phrase{{"without ", false}, name}
	case h.Values == nil:
		return []phrase{{"with any ", false}, name}
	}
	words := []phrase{{"with ", false}, name, {" = ", false}}
	for i, value := range h.Values {
		switch {
		case i == 0:
		case i == len(h.Values)-1:
			words = append(words, phrase{" or ", false})
		default:
			words = append(words, phrase{", ", false})
		}
		if value == "" {
			value = "nothing"
		}
		words = append(words, phrase{begins(value, valueShown), true})
	}
	return words
}

// samplesHavingPath is the list of the kept samples of requests that have what separates them, and in which the candidate did
// so at a field. With Other it is any value: none is told apart.
func samplesHavingPath(route, field string, at diff.Result, b *diff.Separating) string {
	is, value := isValue, b.Value
	switch {
	case b.Absent:
		is = isAbsent
	case b.Other:
		is = isPresent
	case b.Values != nil:
		text, _ := json.Marshal(b.Values) // texts can always be written
		is, value = isOneOf, string(text)
	}
	return listPath("/samples", "route", route, "field", field, "at_field", string(at), "attribute", b.Attribute, "is", is, "value", value)
}
