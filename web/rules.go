package web

import (
	"fmt"
	"math"
	"net/http"
	"reflect"
	"strings"
	"time"

	"shadowdiff/diff"
	"shadowdiff/normalize"
	"shadowdiff/store"
)

// Rule is a rule in force and what it has done since it is.
type Rule struct {
	Config    normalize.RuleConfig
	Usage     normalize.RuleUsage
	Exchanges int64     // compared under the rules in force
	Last      time.Time // of the requests in whose answers it matched, the last, to within a second; zero: it has not

	Stored *store.Rule // where it was added by API; nil: it stands in the file
	Aside  string      // why it is not in force although it is stored, as it is no rule here; empty: it is in force
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
	ID        string     `json:"id"`
	Index     *int       `json:"index"`  // among those in force, from 0, those of the file first; null: it is set aside
	Source    string     `json:"source"` // "file": it is changed there; "api": it was added by API
	Rule      string     `json:"rule"`   // as YAML, an item of the list under rules:
	Created   *time.Time `json:"created,omitempty"`
	Actor     string     `json:"actor,omitempty"`
	Aside     string     `json:"set_aside,omitempty"` // why it is not in force
	Exchanges int64      `json:"exchanges"`
	Documents int64      `json:"documents"`
	Matched   int64      `json:"matched"`
	Effective int64      `json:"effective"`
	Values    int64      `json:"values"`
	Changed   int64      `json:"changed"`
	Whole     int64      `json:"whole_bodies"`
	LastMatch *time.Time `json:"last_match,omitempty"`
	Unused    bool       `json:"unused"`
	TooWide   bool       `json:"too_wide"`
}

func itemOfRule(rule *Rule) (ruleItem, error) {
	u := &rule.Usage
	item := ruleItem{
		ID: rule.ID(), Source: "file", Exchanges: rule.Exchanges, Documents: u.Documents, Matched: u.Matched, Effective: u.Effective,
		Values: u.Values, Changed: u.Changed, Whole: u.Whole, Unused: rule.Unused(), TooWide: rule.TooWide(), Aside: rule.Aside,
	}
	if !rule.Last.IsZero() {
		item.LastMatch = &rule.Last
	}
	if stored := rule.Stored; stored != nil {
		item.Source, item.Created, item.Actor = "api", &stored.Created, stored.Actor
	}
	if rule.Aside != "" {
		item.Rule, item.Unused = rule.Stored.Text, false
		return item, nil
	}
	item.Index = &u.Index
	var err error
	item.Rule, err = rule.Config.YAML()
	return item, err
}

// listRules answers GET /api/v1/rules: those of the file in its order, then those that were added by API.
func (s *Server) listRules(w http.ResponseWriter, r *http.Request) error {
	q, err := readQuery(r, "format", "limit", "cursor")
	if err != nil {
		return err
	}
	rules := s.rules()
	switch format := q.text("format"); format {
	case "", "json":
	case "yaml":
		return s.exportRules(w, r, rules)
	default:
		return refuse(http.StatusBadRequest, "format=%q: give json or yaml", format)
	}
	items := []ruleItem{}
	for i := range rules {
		item, err := itemOfRule(&rules[i])
		if err != nil {
			return err
		}
		items = append(items, item)
	}
	place := map[string]int{}
	for i := range items {
		place[items[i].ID] = i
	}
	return writeList(w, q, items, func(i ruleItem) string { return fmt.Sprintf("%09d", place[i.ID]) })
}

// rules are those in force, and behind them those that are set aside.
func (s *Server) rules() []Rule {
	if s.deps.Rules == nil {
		return nil
	}
	return s.deps.Rules()
}

// exportRules answers with all rules that are in force as the list under rules: in a configuration file.
func (s *Server) exportRules(w http.ResponseWriter, r *http.Request, rules []Rule) error {
	text, err := exported(rules)
	if err != nil {
		return err
	}
	if !unchanged(w, r, digest([]byte(text))) {
		writeBytes(w, http.StatusOK, "application/yaml", []byte(text))
	}
	return nil
}

// exported is that list.
func exported(rules []Rule) (string, error) {
	text := "# The rules in force, as the list under rules: in a configuration file.\n"
	for i := range rules {
		if rules[i].Aside != "" {
			continue
		}
		one, err := forFile(rules[i].Config).YAML()
		if err != nil {
			return "", err
		}
		text += one
	}
	return text, nil
}

// forFile writes the rule so that a file in which variables are replaced says the same.
func forFile(rule normalize.RuleConfig) normalize.RuleConfig {
	v := reflect.ValueOf(&rule).Elem()
	for i := range v.NumField() {
		if f := v.Field(i); f.Type() == reflect.TypeFor[string]() {
			f.SetString(strings.ReplaceAll(f.String(), "${", "$${"))
		}
	}
	if rule.With != nil {
		with := strings.ReplaceAll(*rule.With, "${", "$${")
		rule.With = &with
	}
	return rule
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
	Confirmed     bool   `json:"confirmed"` // the candidate differs here beyond the noise: pages do not offer the rule
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
	items, route, confirmed := []suggestionItem{}, s.current(snap, q.text("route")), confirmedFields(snap)
	if s.deps.Suggestions != nil {
		for _, one := range s.deps.Suggestions() {
			if !matches(q.text("field"), one.Field) || route != "" && route != one.Route && route != s.current(snap, one.Route) {
				continue
			}
			item, err := s.suggestionItem(&one, s.current(snap, one.Route), confirmed)
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

func (s *Server) suggestionItem(one *diff.Suggestion, route string, confirmed map[[2]string]bool) (suggestionItem, error) {
	text, err := one.Rule.YAML()
	return suggestionItem{
		Route: one.Route, Field: one.Field, Page: s.prefix + fieldPath(route, one.Field), Rule: text,
		Reason: one.Reason, Effect: one.Effect, LastResort: one.LastResort, Confirmed: confirmed[[2]string{route, one.Field}], Compared: one.Compared, Noise: one.Noise, Quiets: one.Quiets,
		CandidateOnly: one.CandidateOnly, Hides: one.Hides, ControlOnly: one.ControlOnly, Both: one.Both, Shows: one.Shows,
	}, err
}
