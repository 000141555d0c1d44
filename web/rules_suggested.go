package web

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"shadowdiff/diff"
	"shadowdiff/normalize"
	"shadowdiff/store"
)

// suggestionGroup are the rules that would do the same, each in a field of its own.
type suggestionGroup struct {
	Does       string // what they have in common: the verb, with all that is said beside the field
	Rows       []suggestionRow
	Fields     string // the first of their names
	Routes     int64
	Quiets     int64
	Noise      int64
	Hides      int64
	Doubtful   bool // what they hide may be more than noise
	LastResort bool
	Preview    string // path of the page that tells what all of them would change

	within []string // how close is equal, where they are of that and not all alike
}

// suggestionRow is one rule that would quiet noise.
type suggestionRow struct {
	suggestionItem
	Text     string // the rule in one line, without its route
	Preview  string // path of the page that tells what it would change
	Path     string // of the field's page
	Doubtful bool   // what it hides may be more than noise
}

// suggestOnPage fills in the rules that would quiet noise.
func (s *Server) suggestOnPage(page *rulesPage) error {
	if s.deps.Suggestions == nil {
		return nil
	}
	snap := s.deps.DB.Snapshot()
	var found []diff.Suggestion
	for _, one := range s.deps.Suggestions() {
		if page.found(one.Route, one.Field) {
			found = append(found, one)
		}
	}
	if more := len(found) - suggestionsShown; more > 0 {
		found, page.More = found[:suggestionsShown], int64(more)
	}
	confirmed, at := confirmedFields(snap), map[string]int{}
	for i := range found {
		row, err := s.suggestionRow(&found[i], snap, confirmed)
		if err != nil {
			return err
		}
		if row.Confirmed {
			page.HeldBack = append(page.HeldBack, row)
			continue
		}
		does, err := doesOf(found[i].Rule)
		if err != nil {
			return err
		}
		key := fmt.Sprintf("%s %t %t", does, row.Hides > 0, row.Doubtful) // what hides something is not taken with what does not
		k, known := at[key]
		if !known {
			k, at[key] = len(page.Suggestions), len(page.Suggestions)
			page.Suggestions = append(page.Suggestions, suggestionGroup{Does: does})
		}
		g := &page.Suggestions[k]
		g.Rows = append(g.Rows, row)
		if within := found[i].Rule.Within; within != "" && !slices.Contains(g.within, within) {
			g.within = append(g.within, within)
		}
		page.Suggested++
	}
	for i := range page.Suggestions {
		page.Suggestions[i].sum()
	}
	return nil
}

func (s *Server) suggestionRow(one *diff.Suggestion, snap *store.Snapshot, confirmed map[[2]string]bool) (suggestionRow, error) {
	route := s.current(snap, one.Route)
	item, err := s.suggestionItem(one, route, confirmed)
	item.Reason, item.Effect = sentenceOf(item.Reason), sentenceOf(item.Effect)
	text := asOne(item.Rule)
	return suggestionRow{
		suggestionItem: item, Text: inOneLine(text), Path: fieldPath(route, item.Field), Preview: trialPath(text),
		Doubtful: mayHide(snap, route, item.Field, item.Hides),
	}, err
}

// doesOf is a rule without where it holds, and without how far apart numbers or times may be: two that do the same have
// the same.
func doesOf(rule normalize.RuleConfig) (string, error) {
	rule.Route = ""
	if rule.Within != "" {
		rule.Within = withinAny + strings.TrimLeft(rule.Within, "0123456789.")
		if _, err := time.ParseDuration("1" + strings.TrimPrefix(rule.Within, withinAny)); err == nil {
			rule.Within = withinAny // times, whatever their unit
		}
	}
	v := reflect.ValueOf(&rule).Elem()
	field := fieldOfRule(&rule)
	for i := range v.NumField() {
		if f := v.Field(i); f.Kind() == reflect.String && f.String() == field {
			f.SetString("…")
			break
		}
	}
	text, err := rule.YAML()
	return asOne(text), err
}

// withinAny stands for any distance.
const withinAny = "~"

// sum fills in what the rules of a group come to together.
func (g *suggestionGroup) sum() {
	routes, fields, draft := map[string]bool{}, []string{}, ""
	for i := range g.Rows {
		row := &g.Rows[i]
		g.Quiets += row.Quiets
		g.Noise += row.Noise
		g.Hides += row.Hides
		g.Doubtful = g.Doubtful || row.Doubtful
		g.LastResort = g.LastResort || row.LastResort
		draft += row.Rule
		if routes[row.Route] = true; !slices.Contains(fields, row.Field) {
			fields = append(fields, row.Field)
		}
	}
	if i := strings.LastIndex(g.Does, "within: "); i >= 0 {
		g.Does = g.Does[:i] + "within: " + listed(g.within, len(g.within))
	}
	g.Routes, g.Fields = int64(len(routes)), listed(fields, 4)
	if g.Preview = g.Rows[0].Preview; len(g.Rows) > 1 {
		g.Preview = trialPath(draft)
	}
}

// suggestionPart is what the part "suggestion" is handed.
type suggestionPart struct {
	Base string
	Row  suggestionRow
}

// At hands a suggestion to its part.
func (p *rulesPage) At(row suggestionRow) suggestionPart { return suggestionPart{p.Base, row} }
