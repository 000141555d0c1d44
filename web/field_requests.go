package web

import (
	"fmt"
	"math"
	"strings"

	"shadowdiff/diff"
	"shadowdiff/normalize"
	"shadowdiff/store"
)

// requestsView says which requests differ at a field and which do not.
type requestsView struct {
	Sentence  []phrase
	Separates bool // one attribute does so well enough to be named
	Sure      string
	Noise     bool // of those in which both differ: the candidate never stands alone
	Differing int64
	Others    int64
	Rows      []separatingRow
}

// phrase is a part of a sentence, in another type where it is code.
type phrase struct {
	Text string
	Code bool
}

// separatingRow is one attribute that requests with a difference have more often than the others.
type separatingRow struct {
	Name, Part    string   // of a segment of the path, as the route has it
	Values        []string // one, or several of which the requests have one
	Said          string   // what stands for a value that is none
	Differing, Of int64
	DifferingPath string // of those that are kept; empty: there are none, or they cannot be told
	Others        int64
	OthersPath    string
	AtMost        bool   // the others may be fewer
	Excuse        string // class of what says why none can be listed: untold, leaning; empty: they can
	OfOthers      int64
	DifferingPart string // shares
	OthersPart    string
	Bar           bar
	Chance        string
}

// requestsViewOf puts it into rows.
func requestsViewOf(t *diff.FieldTally, s diff.Separation) *requestsView {
	view := &requestsView{Sentence: phrases(s.Sentence), Differing: s.Differing, Others: s.Others, Noise: s.Result == diff.Both}
	leaning := t.Field != diff.FieldSize && t.Tests[diff.TestValue].Counts == diff.Counts{}
	for i := range s.Best {
		view.Rows = append(view.Rows, separatingRowOf(t.Route, leaning, &s, &s.Best[i]))
	}
	if view.Separates = s.Separates(); view.Separates {
		view.Sure = "If it had nothing to do with it, chance would do that " + view.Rows[0].Chance + "."
	}
	return view
}

func separatingRowOf(route string, leaning bool, s *diff.Separation, b *diff.Separating) separatingRow {
	at := candidateGraver
	if s.Result == diff.Both {
		at = candidateDiffers
	}

	row := separatingRow{
		Name: b.Attribute, Part: b.Part, Differing: b.Differing, Of: b.Of, Others: b.Others, OfOthers: b.OfOthers, AtMost: b.AtMost,
		DifferingPart: share(b.Differing, b.Of), OthersPart: share(b.Others, b.OfOthers), Chance: chance(b.LnP),
		Excuse: excuseOf(leaning, b),
		Bar:    barOf(float64(b.Differing)/float64(max(1, b.Of)), float64(b.Others)/float64(max(1, b.OfOthers)), 1),
	}
	if row.Differing > 0 && row.Excuse == "" {
		row.DifferingPath = samplesHavingPath(route, s.Field, at, b)
	}
	if row.Others > 0 && row.Excuse == "" {
		row.OthersPath = samplesHavingPath(route, s.Field, candidateAgrees, b)
	}
	switch {
	case b.Absent:
		row.Said = "without it"
	case b.Other:
		row.Said = "another value"
	case b.Values == nil:
		row.Values = []string{begins(b.Value, valueShown)}
	default:
		for _, value := range b.Values {
			row.Values = append(row.Values, begins(value, valueShown))
		}
	}
	return row
}

// excuseOf says why kept samples do not tell which requests have what separates: it is any value beside those that are told
// apart, or the field only leans, which a sample does not tell of but for a size.
func excuseOf(leaning bool, b *diff.Separating) string {
	switch {
	case b.Other && !b.Many:
		return "untold"
	case leaning:
		return "leaning"
	}
	return ""
}

// phrases takes a sentence apart at its backticks.
func phrases(sentence string) (list []phrase) {
	for i, part := range strings.Split(sentence, "`") {
		if part != "" {
			list = append(list, phrase{part, i%2 == 1})
		}
	}
	return list
}

// chance puts the natural log of a small probability into words.
func chance(lnP float64) string {
	if lnP < -math.Log(1e6) {
		return "less than once in a million"
	}
	return fmt.Sprintf("once in %s", count(int64(math.Round(math.Exp(-lnP)))))
}

// ruleView is a rule for a field that a person may try.
type ruleView struct {
	Text       string // as YAML
	Reason     string
	Effect     string
	LastResort bool
	Suggested  bool   // made from what was compared; else a draft for a change that is meant
	Path       string // of the page on which it is tried and put in force
}

// ruleOf is the rule suggested for a field. Where none is, it is a draft that leaves the field out, for a change that is
// meant.
func (s *Server) ruleOf(snap *store.Snapshot, route, field string) (*ruleView, error) {
	if snap.Run.Ended != nil || route == "" {
		return nil, nil
	}
	if s.deps.Suggestions != nil {
		for _, one := range s.deps.Suggestions() {
			if one.Field != field || one.Route != route && s.current(snap, one.Route) != route {
				continue
			}
			item, err := s.suggestionItem(&one, route, confirmedFields(snap))
			if item.Confirmed {
				break // what would quiet the noise would quiet the candidate's difference, too
			}
			return &ruleView{
				Text: item.Rule, Reason: item.Reason, Effect: item.Effect, LastResort: item.LastResort, Suggested: true, Path: draftPath(item.Rule),
			}, err
		}
	}
	text, err := normalize.RuleConfig{Drop: field, Route: route}.YAML()
	return &ruleView{Text: text, Path: draftPath(text)}, err
}

// draftPath is the page of the rules with a draft filled in.
func draftPath(rule string) string { return listPath("/rules", "draft", rule) + "#write" }
