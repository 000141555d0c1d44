package diff

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"

	"shadowdiff/normalize"
)

// Suggestion is a rule that would quiet the noise of one field, and what it would change of what was compared so far. It is
// the narrowest that quiets nearly all of it.
type Suggestion struct {
	Rule         normalize.RuleConfig
	Route, Field string
	Reason       string // what was seen, in a sentence
	Effect       string // what the rule would change, in a sentence
	LastResort   bool   // it hides whatever happens there

	Compared      int64 // requests on the route since these comparisons began
	Noise         int64 // of these, in which the secondary differs here
	Quiets        int64 // of these, in which it would not
	CandidateOnly int64 // in which the candidate alone differs, counted from the field's first noise on
	Hides         int64 // of these, in which it would not: at most so many
	ControlOnly   int64 // in which the secondary alone differs: where there is no fault, about as often
	Both          int64 // in which both differ
	Shows         int64 // of these, in which the candidate would still, and the noise would no longer hide it
}

const (
	leastNoise = 3    // requests in which the secondary differs, before anything is suggested
	enough     = 0.95 // of the noise that a rule must quiet
)

// suggestions lists a rule for each field that has one, those that quiet most first.
func (n *noise) suggestions() []Suggestion {
	list := n.gather()
	list = slices.DeleteFunc(list, func(s Suggestion) bool { // a field or a route that no rule can name
		return len(normalize.Config{Rules: []normalize.RuleConfig{s.Rule}}.Validate()) > 0
	})
	for i := range list {
		list[i].say()
	}
	slices.SortFunc(list, func(a, b Suggestion) int {
		return cmp.Or(cmp.Compare(b.Quiets, a.Quiets), strings.Compare(a.Route, b.Route), strings.Compare(a.Field, b.Field))
	})
	return list
}

// gather is what holds the lock: comparers may be waiting.
func (n *noise) gather() []Suggestion {
	n.mu.RLock()
	defer n.mu.RUnlock()
	list := []Suggestion{}
	for route, r := range n.routes {
		for field, f := range r.fields {
			if s, ok := n.suggest(route, field, f); ok {
				s.Compared = r.compared.Load()
				list = append(list, s)
			}
		}
	}
	return list
}

// suggest finds the narrowest rule that quiets nearly all of a field's noise.
func (n *noise) suggest(route, field string, f *noisyField) (Suggestion, bool) {
	if f.control.all < leastNoise {
		return Suggestion{}, false
	}
	for _, r := range n.remedies(field, f) {
		quiets := f.control.of(r.quiets)
		if float64(quiets) < enough*float64(f.control.all) {
			continue
		}
		r.rule.Route = route
		return Suggestion{
			Rule: r.rule, Route: route, Field: field, Reason: r.why, LastResort: r.rule.Drop != "",
			Noise: f.control.all, Quiets: quiets,
			CandidateOnly: f.alone.all, Hides: f.alone.of(r.hides) + f.alone.over, ControlOnly: f.control.all - f.both.all,
			Both: f.both.all, Shows: f.both.of(func(s *sight) bool { return !r.hides(s) }),
		}, true
	}
	return Suggestion{}, false
}

// say puts the sentences together.
func (s *Suggestion) say() {
	s.Reason = fmt.Sprintf("differs in %s of %s between primary and secondary; %s", humanize.Comma(s.Noise), humanize.Comma(s.Compared), s.Reason)
	s.Effect = fmt.Sprintf("quiets %s of %s", humanize.Comma(s.Quiets), humanize.Comma(s.Noise))
	switch {
	case s.CandidateOnly == 0:
		s.Effect += "; the candidate alone never differs here so far"
	case s.Hides == 0:
		s.Effect += fmt.Sprintf("; hides none of the %s in which the candidate alone differs", humanize.Comma(s.CandidateOnly))
	default:
		s.Effect += fmt.Sprintf("; would also hide %s of the %s in which the candidate alone differs, as the secondary alone does in %s",
			humanize.Comma(s.Hides), humanize.Comma(s.CandidateOnly), humanize.Comma(s.ControlOnly))
	}
	if s.Shows > 0 {
		s.Effect += fmt.Sprintf("; would show %s in which the noise hides that the candidate differs", humanize.Comma(s.Shows))
	}
}
