package web

import (
	"fmt"
	"math"
	"net/http"

	"shadowdiff/diff"
	"shadowdiff/normalize"
)

// Rule is a rule in force and what it has done since it is.
type Rule struct {
	Config    normalize.RuleConfig
	Usage     normalize.RuleUsage
	Exchanges int64 // compared under the rules in force
}

// unusedAfter is how many exchanges a rule may be without a match before it is called unused.
const unusedAfter = 1_000

// Unused tells whether the rule has matched nothing in 1,000 compared exchanges: its field or its route is misspelt, or gone.
// Where it was held against no document at all, the bodies may also have been the same bytes each time.
func (r *Rule) Unused() bool { return r.Usage.Matched == 0 && r.Exchanges >= unusedAfter }

// TooWide tells whether the rule has taken away a whole body, or left all of one free: nothing of it is compared then.
func (r *Rule) TooWide() bool { return r.Usage.Whole > 0 }

// ruleItem is one rule in GET /api/v1/rules.
type ruleItem struct {
	Index     int    `json:"index"` // in the file, from 0
	From      string `json:"from"`  // "file": it is changed there
	Rule      string `json:"rule"`  // as YAML, an item of the list under rules:
	Exchanges int64  `json:"exchanges"`
	Documents int64  `json:"documents"`
	Matched   int64  `json:"matched"`
	Effective int64  `json:"effective"`
	Values    int64  `json:"values"`
	Changed   int64  `json:"changed"`
	Whole     int64  `json:"whole_bodies"`
	Unused    bool   `json:"unused"`
	TooWide   bool   `json:"too_wide"`
}

// listRules answers GET /api/v1/rules, in the order of the file.
func (s *Server) listRules(w http.ResponseWriter, r *http.Request) error {
	q, err := readQuery(r, "limit", "cursor")
	if err != nil {
		return err
	}
	items := []ruleItem{}
	if s.deps.Rules != nil {
		for _, rule := range s.deps.Rules() {
			text, err := rule.Config.YAML()
			if err != nil {
				return err
			}
			u := &rule.Usage
			items = append(items, ruleItem{
				Index: u.Index, From: "file", Rule: text, Exchanges: rule.Exchanges, Documents: u.Documents, Matched: u.Matched,
				Effective: u.Effective, Values: u.Values, Changed: u.Changed, Whole: u.Whole, Unused: rule.Unused(), TooWide: rule.TooWide(),
			})
		}
	}
	return writeList(w, q, items, func(i ruleItem) string { return fmt.Sprintf("%09d", i.Index) })
}

// suggestionItem is one rule that would quiet noise, in GET /api/v1/suggestions.
type suggestionItem struct {
	Route         string `json:"route"`
	Field         string `json:"field"`
	Page          string `json:"page"`
	Rule          string `json:"rule"` // as YAML, an item of the list under rules:
	Reason        string `json:"reason"`
	Effect        string `json:"effect"`
	LastResort    bool   `json:"last_resort"`
	Compared      int64  `json:"compared"`
	Noise         int64  `json:"noise"`
	Quiets        int64  `json:"quiets"`
	CandidateOnly int64  `json:"candidate_only"`
	Hides         int64  `json:"hides"`
	ControlOnly   int64  `json:"control_only"`
	Both          int64  `json:"both"`
	Shows         int64  `json:"shows"`
}

// listSuggestions answers GET /api/v1/suggestions, those first that quiet most. They are of what this process has compared
// since the rules in force or the run changed last.
func (s *Server) listSuggestions(w http.ResponseWriter, r *http.Request) error {
	q, err := readQuery(r, "route", "field", "limit", "cursor")
	if err != nil {
		return err
	}
	snap := s.deps.DB.Snapshot()
	items, route := []suggestionItem{}, s.current(snap, q.text("route"))
	if s.deps.Suggestions != nil {
		for _, one := range s.deps.Suggestions() {
			if !matches(q.text("field"), one.Field) || route != "" && route != one.Route && route != s.current(snap, one.Route) {
				continue
			}
			item, err := s.suggestionItem(&one, s.current(snap, one.Route))
			if err != nil {
				return err
			}
			items = append(items, item)
		}
	}
	return writeList(w, q, items, func(i suggestionItem) string {
		return fmt.Sprintf("%019d\x00%s\x00%s", math.MaxInt64-i.Quiets, i.Route, i.Field)
	})
}

func (s *Server) suggestionItem(one *diff.Suggestion, route string) (suggestionItem, error) {
	text, err := one.Rule.YAML()
	return suggestionItem{
		Route: one.Route, Field: one.Field, Page: s.prefix + fieldPath(route, one.Field), Rule: text,
		Reason: one.Reason, Effect: one.Effect, LastResort: one.LastResort, Compared: one.Compared, Noise: one.Noise, Quiets: one.Quiets,
		CandidateOnly: one.CandidateOnly, Hides: one.Hides, ControlOnly: one.ControlOnly, Both: one.Both, Shows: one.Shows,
	}, err
}
