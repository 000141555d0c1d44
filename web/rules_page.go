package web

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"shadowdiff/normalize"
	"shadowdiff/store"
)

// rulesPage answers "what is not being compared, and does each rule earn its place?".
type rulesPage struct {
	frame
	Sentence    string
	Rules       []ruleRow
	Beyond      int64 // rules that are found and not listed
	All         int   // rules, those that are set aside among them
	Search      string
	Sorts       []sortLink
	Suggestions []suggestionGroup
	Suggested   int64           // suggestions in them
	More        int64           // suggestions that are found and not listed
	HeldBack    []suggestionRow // rules that would quiet noise where the candidate is confirmed to differ: they are not offered
	Headers     headersView
	Export      string // all rules in force, as in GET /api/v1/rules?format=yaml
	Exported    int
	File        string       // where the file's rules stand; empty: there is no file
	Last        *activityRow // what was changed last; nil: nothing was
	Draft       draftView
	Trial       *trialView // nil: nothing is tried
	ReadOnly    bool
	Changes     bool // this process can change its rules
	OfFile      bool // some stand in the file
	Compared    bool // something was compared in the run in force
	Show        string
	Kinds       []pickLink // those that are in doubt, to choose from; empty: none is
}

// pickLink is one choice of what a list shows.
type pickLink struct {
	sortLink
	Count int
}

// headersView are the headers that are not compared although no rule says so.
type headersView struct {
	Names   []headerName
	Taken   []string // headers.compare: compared although they are on the list
	Cookies bool     // the values of cookies are compared too
}

type headerName struct {
	Name string
	By   string // the key of the configuration that added it; empty: it is on the list by itself
}

// sortLink is one order of a list.
type sortLink struct {
	Word, Path string
	Chosen     bool
}

const (
	rulesShown       = 300
	suggestionsShown = 100
)

// rulesView answers GET /rules.
func (s *Server) rulesView(w http.ResponseWriter, r *http.Request) error {
	q, err := readQuery(r, "q", "sort", "show", "draft", "remove", "try")
	if err != nil {
		return err
	}
	if _, err := q.choice("sort", sortNames()...); err != nil {
		return err
	}
	if _, err := q.choice("show", unusedRules, wideRules, asideRules); err != nil {
		return err
	}
	trying, err := q.flag("try")
	if err != nil {
		return err
	}
	draft := draftView{Text: plainLines(q.text("draft")), Remove: q.text("remove"), Try: trying != nil && *trying}
	return s.writeRules(w, r, http.StatusOK, q, draft)
}

// writeRules is the page of the rules, with a draft as it was given.
func (s *Server) writeRules(w http.ResponseWriter, r *http.Request, status int, q query, draft draftView) error {
	snap := s.deps.DB.Snapshot()
	page := &rulesPage{
		frame: s.frameFor(r, snap, "Rules"), Search: q.text("q"), Show: q.text("show"), Draft: draft, Headers: s.headersView(),
		Compared: snap.Verdict.Compared > 0,
		ReadOnly: s.cfg.ReadOnly, Changes: s.deps.Rulebook != nil, File: s.deps.Instance().File,
	}
	page.Here = "rules"
	rules := s.rules()
	if err := s.listOnPage(page, rules, q); err != nil {
		return err
	}
	if err := s.suggestOnPage(page); err != nil {
		return err
	}
	var err error
	if page.Export, err = exported(rules); err != nil {
		return err
	}
	if page.Last, err = s.lastOf(r, "rules"); err != nil {
		return err
	}
	if draft.Text != "" || draft.Remove != "" || r.Method == http.MethodPost {
		page.Still = true // who writes is not to be disturbed, and what is tried is tried once
		page.Self = draft.path()
		if status, err = s.tryOnPage(r.Context(), page, rules, status); err != nil {
			return err
		}
	}
	return s.render(w, r, status, "rules", page)
}

// lastOf is what was changed last of a kind; nil: nothing was.
func (s *Server) lastOf(r *http.Request, action string) (*activityRow, error) {
	entries, _, err := s.deps.DB.FindActivity(r.Context(), store.ActivityFilter{Action: action, Limit: 1})
	if err != nil || len(entries) == 0 {
		return nil, err
	}
	row := activityRowOf(entries[0])
	return &row, nil
}

// plainLines undoes what browsers make of the line ends of a text in a form.
func plainLines(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// listOnPage fills in the rules that are looked for, in the order that is wanted.
func (s *Server) listOnPage(page *rulesPage, rules []Rule, q query) error {
	fields := s.differing()
	doubts := map[string]int{}
	for i := range rules {
		row, err := ruleRowOf(&rules[i], fields)
		if err != nil {
			return err
		}
		page.OfFile = page.OfFile || row.Source == "file"
		doubts[row.doubt()]++
		if page.found(row.Rule, row.ID, row.Source, row.By()) && (page.Show == "" || page.Show == row.doubt()) {
			page.Rules = append(page.Rules, row)
		}
	}
	page.All, page.Exported = len(rules), len(rules)-doubts[asideRules]
	page.Sentence = rulesSentence(page.Exported, doubts[unusedRules], doubts[wideRules], doubts[asideRules])
	sortRules(page.Rules, q.text("sort"))
	page.linkLists(q.text("sort"), doubts)
	if more := len(page.Rules) - rulesShown; more > 0 {
		page.Rules, page.Beyond = page.Rules[:rulesShown], int64(more)
	}
	return nil
}

// linkLists fills in the other orders of the list, and what else it may show.
func (p *rulesPage) linkLists(sorted string, doubts map[string]int) {
	for _, by := range ruleSorts() {
		path := listPath("/rules", "q", p.Search, "show", p.Show, "sort", by.sort)
		p.Sorts = append(p.Sorts, sortLink{by.Word, path, sorted == by.sort})
	}
	link := func(word, show string, n int) {
		path := listPath("/rules", "q", p.Search, "show", show, "sort", sorted)
		p.Kinds = append(p.Kinds, pickLink{sortLink{word, path, p.Show == show}, n})
	}
	if p.All == doubts[""] && p.Show == "" {
		return
	}
	link("all", "", p.All)
	for _, kind := range [][2]string{{"too wide", wideRules}, {"unused", unusedRules}, {"set aside", asideRules}} {
		if n := doubts[kind[1]]; n > 0 || p.Show == kind[1] {
			link(kind[0], kind[1], n)
		}
	}
}

// one is 1 for what is so.
func one(so bool) int {
	if so {
		return 1
	}
	return 0
}

// found tells whether any of the texts has what is searched for.
func (p *rulesPage) found(texts ...string) bool {
	want := strings.ToLower(strings.TrimSpace(p.Search))
	return want == "" || slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(strings.ToLower(text), want) })
}

// ruleSort is one order of the rules.
type ruleSort struct{ sort, Word string }

// ruleSorts are the orders of the rules, the first as it is without one.
func ruleSorts() []ruleSort {
	return []ruleSort{{"", "as they are applied"}, {"matched", "most matches"}, {"changed", "most changes"}, {"latest", "last match"}}
}

// sortNames are the orders as an address has them.
func sortNames() (names []string) {
	for _, by := range ruleSorts()[1:] {
		names = append(names, by.sort)
	}
	return names
}

func sortRules(rows []ruleRow, by string) {
	compare := map[string]func(a, b ruleRow) int{
		"matched": func(a, b ruleRow) int { return cmp.Compare(b.Matched, a.Matched) },
		"changed": func(a, b ruleRow) int { return cmp.Compare(b.Changed, a.Changed) },
		"latest":  func(a, b ruleRow) int { return b.Last.Compare(a.Last) },
	}[by]
	if compare != nil {
		slices.SortStableFunc(rows, compare)
	}
}

// rulesSentence says whether the rules earn their place.
func rulesSentence(inForce, unused, wide, aside int) string {
	if inForce+aside == 0 {
		return "Everything is compared but the headers named below: there are no rules."
	}
	var doubts []string
	for _, doubt := range []struct {
		n    int
		word string
	}{{wide, "takes whole bodies away"}, {unused, "has matched nothing"}, {aside, "is set aside"}} {
		switch {
		case doubt.n == 1:
			doubts = append(doubts, "1 "+doubt.word)
		case doubt.n > 1:
			plural := strings.NewReplacer("takes", "take", "has", "have", "is ", "are ").Replace(doubt.word)
			doubts = append(doubts, count(int64(doubt.n))+" "+plural)
		}
	}
	are := "rules are"
	if inForce == 1 {
		are = "rule is"
	}
	text := fmt.Sprintf("%s %s in force", count(int64(inForce)), are)
	if len(doubts) > 0 {
		return text + ": " + listed(doubts, len(doubts)) + "."
	}
	return text + "."
}

// differing are the names of the fields that differ in the run in force.
func (s *Server) differing() []string {
	names := map[string]struct{}{} // first, since many routes have the same ones
	for _, f := range s.deps.DB.Snapshot().Tallies.Fields {
		names[f.Field] = struct{}{}
	}
	return slices.Sorted(maps.Keys(names))
}

// trialPath is the page that tells what a draft would change.
func trialPath(draft string) string {
	return listPath("/rules", "draft", draft, "try", "true") + "#trial"
}

// headersView lists the headers that are not compared.
func (s *Server) headersView() (view headersView) {
	var c normalize.HeaderConfig
	if s.deps.Comparing != nil {
		c = s.deps.Comparing().Headers
	}
	lower := func(names []string) (out []string) {
		for _, name := range names {
			out = append(out, strings.ToLower(name))
		}
		return out
	}
	by := map[string]string{}
	for _, name := range lower(c.Ignore) {
		by[name] = "headers.ignore"
	}
	if name := strings.ToLower(s.deps.Instance().VersionHeader); by[name] != "" {
		by[name] = "version_header"
	}
	view.Taken = lower(c.Compare)
	view.Cookies = slices.Contains(view.Taken, "set-cookie")
	all := slices.AppendSeq(normalize.DefaultIgnored(), maps.Keys(by))
	slices.Sort(all)
	for _, name := range slices.Compact(all) {
		if !slices.Contains(view.Taken, name) {
			view.Names = append(view.Names, headerName{name, by[name]})
		}
	}
	return view
}
