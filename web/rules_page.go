package web

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"shadowdiff/diff"
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

// ruleRow is one rule in the list.
type ruleRow struct {
	ruleItem
	Text   string    // the rule as YAML, without the dash of a list
	Does   string    // the same in one line, without where it holds
	Scope  string    // where it holds
	Last   time.Time // zero: it has not matched
	Found  string    // what it found, in words
	Did    string    // what it did about it
	Remedy string    // empty: it earns its place, as far as one sees
	Edit   string    // path of the page that edits it; empty: it is not changed here
	Remove string    // path of the page that tells what its removal would change
}

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

// What a list of rules may show alone.
const (
	unusedRules = "unused"
	wideRules   = "wide"
	asideRules  = "aside"
)

// doubt is why a rule is in doubt, as the list may show it alone; empty: it is not.
func (row *ruleRow) doubt() string {
	switch {
	case row.Aside != "":
		return asideRules
	case row.TooWide:
		return wideRules
	case row.Unused:
		return unusedRules
	}
	return ""
}

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

func ruleRowOf(rule *Rule, fields []string) (ruleRow, error) {
	item, err := itemOfRule(rule)
	if err != nil {
		return ruleRow{}, err
	}
	row := ruleRow{ruleItem: item, Text: asOne(item.Rule), Does: asOne(item.Rule), Last: rule.Last, Remove: "/rules?remove=" + url.QueryEscape(item.ID) + "&try=true#trial"}
	if item.Source == "api" {
		row.Edit = listPath("/rules", "draft", row.Text, "remove", item.ID) + "#write"
	}
	if item.Aside != "" {
		row.Remedy = "Set aside, and not in force: " + item.Aside + ". Mend it or remove it."
		return row, nil
	}
	row.Does, row.Scope = inOneLine(row.Text), scopeOf(&rule.Config)
	row.Found, row.Did = ruleFound(rule), ruleDid(rule)
	row.Remedy = ruleRemedy(rule, fields)
	return row, nil
}

// asOne is a rule of a list as one that stands alone.
func asOne(item string) string {
	lines := strings.Split(strings.TrimSuffix(item, "\n"), "\n")
	for i, line := range lines {
		if i == 0 {
			lines[i] = strings.TrimPrefix(line, "- ")
		} else {
			lines[i] = strings.TrimPrefix(line, "  ")
		}
	}
	return strings.Join(lines, "\n")
}

// inOneLine is a rule's text in one line, without where it holds; as it is, where one of its values takes several lines.
func inOneLine(text string) string {
	var parts []string
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, " ") || strings.HasPrefix(line, "-"):
			return text
		case !strings.HasPrefix(line, "route: ") && !strings.HasPrefix(line, "role: "):
			parts = append(parts, line)
		}
	}
	return strings.Join(parts, ", ")
}

// scopeOf says where a rule holds.
func scopeOf(c *normalize.RuleConfig) string {
	scope := "on " + c.Route
	if anywhere(c) {
		scope = "on all routes"
	}
	if c.Role != "" {
		scope += ", of the " + c.Role + " alone"
	}
	return scope
}

// anywhere tells whether a rule holds on all routes.
func anywhere(c *normalize.RuleConfig) bool { return c.Route == "" || c.Route == "*" }

// By is who or what has added the rule.
func (row *ruleRow) By() string { return actorWord(row.Actor) }

func ruleFound(rule *Rule) string {
	u := &rule.Usage
	if u.Documents == 0 {
		return "no answer yet"
	}
	return fmt.Sprintf("in %s of %s", count(u.Matched), things(u.Documents, "answer"))
}

func ruleDid(rule *Rule) string {
	u := &rule.Usage
	switch {
	case u.Values == 0:
		return ""
	case u.Changed == 0:
		return fmt.Sprintf("none of %s changed", things(u.Values, "value"))
	case u.Changed == u.Values && u.Effective == u.Matched:
		return fmt.Sprintf("%s changed", things(u.Changed, "value"))
	}
	return fmt.Sprintf("%s of %s changed, in %s", count(u.Changed), things(u.Values, "value"), things(u.Effective, "answer"))
}

// ruleRemedy says what is wrong with a rule and what to do about it.
func ruleRemedy(rule *Rule, fields []string) string {
	u := &rule.Usage
	switch {
	case rule.TooWide():
		return fmt.Sprintf("Too wide: it takes away the whole body of %s, of which nothing is compared then. Name what differs in it, or give it a route.",
			things(u.Whole, "answer"))
	case rule.Unused() && u.Documents == 0 && anywhere(&rule.Config):
		return fmt.Sprintf("Unused: none of %s had that part, or all were the same bytes. Is its field misspelt?", things(rule.Exchanges, "exchange"))
	case rule.Unused() && u.Documents == 0:
		return fmt.Sprintf("Unused: no such route and part in %s, or all were the same bytes. Is its route misspelt?", things(rule.Exchanges, "exchange"))
	case rule.Unused():
		text := fmt.Sprintf("Unused: it has matched nothing in %s. ", things(rule.Exchanges, "exchange"))
		if near := normalize.Nearest(fieldOfRule(&rule.Config), fields); near != "" {
			return text + fmt.Sprintf("Is its field misspelt? %s differs.", near)
		}
		if anywhere(&rule.Config) {
			return text + "Is its field misspelt? If not, take it out."
		}
		return text + "Is its field or its route misspelt? If not, take it out."
	}
	return ""
}

// fieldOfRule is what stands behind the verb.
func fieldOfRule(c *normalize.RuleConfig) string {
	return cmp.Or(c.Drop, c.Sort, c.Pair, c.Round, c.Tolerate, c.Mask, c.MaskKeys, c.Rename, c.Lower, c.Trim, c.Squeeze, c.NFC,
		c.Coerce, c.Absent, c.Parse, c.Present)
}

// differing are the names of the fields that differ in the run in force.
func (s *Server) differing() []string {
	names := map[string]struct{}{} // first, since many routes have the same ones
	for _, f := range s.deps.DB.Snapshot().Tallies.Fields {
		names[f.Field] = struct{}{}
	}
	return slices.Sorted(maps.Keys(names))
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

// trialPath is the page that tells what a draft would change.
func trialPath(draft string) string {
	return listPath("/rules", "draft", draft, "try", "true") + "#trial"
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

// suggestionPart is what the part "suggestion" is handed.
type suggestionPart struct {
	Base string
	Row  suggestionRow
}

// At hands a suggestion to its part.
func (p *rulesPage) At(row suggestionRow) suggestionPart { return suggestionPart{p.Base, row} }
