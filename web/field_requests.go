package web

import (
	"context"
	"errors"
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
	Name, Value   string
	Said          bool // what stands for the value is no value but words
	Differing, Of int64
	Others        int64
	OfOthers      int64
	DifferingPart string // shares
	OthersPart    string
	Bar           bar
	Chance        string
}

// requestsOf is nil where the requests of the route were not counted by their attributes.
func (s *Server) requestsOf(ctx context.Context, run int64, route, field string) (*requestsView, error) {
	if route == "" {
		return nil, nil
	}
	counted, err := s.deps.DB.Attributes(ctx, run, route)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return requestsViewOf(separationOf(counted.Separating(field))), nil
}

func requestsViewOf(s *separation) *requestsView {
	view := &requestsView{Sentence: phrases(s.Sentence), Differing: s.Differing, Others: s.Others, Noise: s.Result == diff.Both}
	for i := range s.Best {
		b := &s.Best[i]
		row := separatingRow{
			Name: b.Attribute, Differing: b.Differing, Of: b.Of, Others: b.Others, OfOthers: b.OfOthers,
			DifferingPart: share(b.Differing, b.Of), OthersPart: share(b.Others, b.OfOthers), Chance: chance(b.LnP),
			Bar: barOf(float64(b.Differing)/float64(max(1, b.Of)), float64(b.Others)/float64(max(1, b.OfOthers)), 1),
		}
		switch {
		case b.Value != nil:
			row.Value = begins(*b.Value, valueShown)
		case b.Is == "absent":
			row.Value, row.Said = "without it", true
		default:
			row.Value, row.Said = "another value", true
		}
		view.Rows = append(view.Rows, row)
	}
	if len(view.Rows) > 0 && strings.Contains(s.Sentence, "`") || len(s.Best) > 0 && !strings.HasPrefix(s.Sentence, "No attribute") {
		view.Separates, view.Sure = true, "If it had nothing to do with it, chance would do that "+view.Rows[0].Chance+"."
	}
	return view
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
			item, err := s.suggestionItem(&one, route)
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
