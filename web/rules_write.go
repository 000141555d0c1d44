package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"shadowdiff/store"
)

// draftView is what stands in the form in which rules are written.
type draftView struct {
	Text   string // YAML
	Remove string // id of the rule that it takes the place of, or that is removed where there is no text
	Try    bool   // its effect is asked for
}

// path is the address of the page that tries it.
func (d draftView) path() string {
	if d.Text == "" && d.Remove == "" {
		return "/rules"
	}
	return listPath("/rules", "draft", d.Text, "remove", d.Remove, "try", "true")
}

// trialView is what a change of the rules would do.
type trialView struct {
	Answer      *previewAnswer // nil: the effect could not be seen
	Heading     string
	Sentence    string
	Verb        string // on the button that makes the change
	Old         string // text of the rule that is removed; empty: none is
	OfFile      string // that rule stands in the file: how it is removed there
	Refused     string // why the change cannot be made, or its effect not be seen
	Faults      []faultView
	Possible    bool       // the change can be made
	Consequence string     // what becomes of the run
	Cautions    []string   // what is doubtful about the rules themselves
	Hiding      []trialRow // what is confirmed, and would not be seen any more
	Rows        []trialRow
	RowsBeyond  int
	Results     []resultRow
}

// faultView is one fault of a draft, with the line that it is in.
type faultView struct {
	Fault
	Text string // of the line; empty: it is in none, or there is no other
}

// trialRow is a field in which something comes out differently.
type trialRow struct {
	previewField
	Path  string
	First int64 // a sample to look at
}

// Hidden is in how many samples something of the candidate's alone would not be seen any more.
// Sizes that lean are told where that is confirmed alone: noise has some as well.
func (r trialRow) Hidden() int {
	if r.Confirmed {
		return max(r.Hides, r.Drift.Vanish)
	}
	return r.Hides
}

// Leans tells whether only the sizes of the two differ, in which case neither differs from the primary by it.
func (r trialRow) Leans() bool {
	return r.Candidate.Before+r.Candidate.After+r.Control.Before+r.Control.After == 0
}

// resultRow is how many samples come out as one result, before and after.
type resultRow struct {
	Word          string
	Before, After int
}

// trialRows bounds the fields that a page tells of.
const trialRows = 60

// tryOnPage tries the draft, if that is asked for, and answers the status that the page has then.
func (s *Server) tryOnPage(ctx context.Context, page *rulesPage, rules []Rule, status int) (int, error) {
	d := page.Draft
	var old *Rule
	if i := slices.IndexFunc(rules, func(r Rule) bool { return r.ID() == d.Remove }); i >= 0 {
		old = &rules[i]
	}
	if d.Remove != "" && old == nil {
		return 0, refuse(http.StatusNotFound, "there is no rule %q any more; the list of rules has those that are", d.Remove)
	}
	if !d.Try {
		return status, nil
	}
	t := &trialView{Heading: "What adding it would change", Verb: "Add this rule", Possible: true}
	if err := t.replaces(old, d.Text); err != nil {
		return 0, err
	}
	if page.Trial = t; page.File != "" && t.OfFile != "" {
		t.OfFile = fmt.Sprintf("It stands in %s as %s. Take it out there, and reload the configuration: that changes it here.", page.File, t.OfFile)
	}
	change := RuleChange{Add: d.Text}
	if d.Remove != "" {
		change.Remove = []string{d.Remove}
	}
	if strings.TrimSpace(d.Text) == "" && old == nil {
		t.Possible, t.Refused = false, `There is nothing to try: write a rule such as "drop: body.generated_at".`
		return status, nil
	}
	answer, err := s.tryRules(ctx, change)
	if err == nil {
		t.take(answer, page.Run)
		return status, nil
	}
	return t.refused(err, status, d.Text)
}

// replaces says what becomes of the rule that is removed.
func (t *trialView) replaces(old *Rule, text string) error {
	if old == nil {
		return nil
	}
	item, err := itemOfRule(old)
	if err != nil {
		return err
	}
	t.Old, t.Heading, t.Verb = asOne(item.Rule), "What putting it in the other’s place would change", "Put it in the other’s place"
	if text == "" {
		t.Heading, t.Verb = "What it does: what would change without it", "Remove this rule"
	}
	if old.Stored == nil {
		t.Possible, t.OfFile = false, fmt.Sprintf("rules[%d]", old.Usage.Index)
	}
	return nil
}

// refused says why a change was refused. Where rules are being tried by others it can be made all the same.
func (t *trialView) refused(err error, status int, text string) (int, error) {
	p, is := errors.AsType[*problem](err)
	if !is {
		return 0, err
	}
	t.Refused = sentenceOf(strings.TrimSuffix(p.Detail, "."))
	t.Possible = t.Possible && p.Status == http.StatusTooManyRequests
	for _, fault := range p.Errors {
		t.Faults = append(t.Faults, faultViewOf(fault, text))
	}
	if len(t.Faults) > 0 {
		t.Refused = ""
	}
	if t.Possible {
		t.Consequence = "Its effect is not known. If the rules are others with it, a new run begins, in which all counts start from nothing."
	}
	if p.Status == http.StatusTooManyRequests {
		return status, nil
	}
	return p.Status, nil
}

// faultViewOf shows a fault in its line.
func faultViewOf(fault Fault, text string) faultView {
	view := faultView{Fault: fault}
	lines := strings.Split(text, "\n")
	if len(lines) == 1 || fault.Line < 1 || fault.Line > len(lines) {
		return view
	}
	view.Text = lines[fault.Line-1]
	const most = 200
	if utf8.RuneCountInString(view.Text) > most {
		view.Text = string([]rune(view.Text)[:most]) + "…"
	}
	return view
}

// take puts an answer into words.
func (t *trialView) take(a *previewAnswer, run store.Run) {
	t.Answer = a
	t.Sentence = trialSentence(a)
	t.Consequence = consequenceOf(a.Begins, run)
	if n := len(a.Rules); n > 1 && t.Old == "" {
		t.Verb = fmt.Sprintf("Add these %d rules", n)
	}
	t.Results = []resultRow{
		{"agree", a.Before.Agree, a.After.Agree},
		{"candidate only", a.Before.CandidateOnly, a.After.CandidateOnly},
		{"control only", a.Before.ControlOnly, a.After.ControlOnly},
		{"both differ", a.Before.Both, a.After.Both},
	}
	for _, caution := range a.cautions {
		if t.Cautions = append(t.Cautions, sentenceOf(caution)); strings.HasSuffix(caution, "?") {
			t.Cautions[len(t.Cautions)-1] = strings.TrimSuffix(sentenceOf(caution), ".")
		}
	}
	for i := range a.Fields {
		f := &a.Fields[i]
		row := trialRow{previewField: *f, Path: fieldPath(f.Route, f.Field)}
		if len(f.Samples) > 0 {
			row.First = f.Samples[0]
		}
		t.Rows = append(t.Rows, row)
	}
	lost := func(r trialRow) bool { return r.Confirmed && r.Hidden() > 0 }
	slices.SortStableFunc(t.Rows, func(a, b trialRow) int { // what is lost stands first
		return cmp.Or(one(lost(b))-one(lost(a)), cmp.Compare(b.Hidden(), a.Hidden()))
	})
	for _, row := range t.Rows {
		if lost(row) {
			t.Hiding = append(t.Hiding, row)
		}
	}
	t.RowsBeyond = a.More
	if more := len(t.Rows) - trialRows; more > 0 {
		t.Rows, t.RowsBeyond = t.Rows[:trialRows], a.More+more
	}
}

// trialSentence says what comes out differently.
func trialSentence(a *previewAnswer) string {
	switch {
	case a.Samples == 0:
		return "No sample could be compared, so its effect is not known."
	case a.Changed == 0:
		return fmt.Sprintf("Nothing: all of %s come out as they do now.", things(int64(a.Samples), "sample"))
	}
	come := "come"
	if a.Changed == 1 {
		come = "comes"
	}
	text := fmt.Sprintf("%s of %s %s out differently", count(int64(a.Changed)), things(int64(a.Samples), "sample"), come)
	if less := a.After.Agree - a.Before.Agree; less > 0 {
		text += fmt.Sprintf(": %s more agree in everything", count(int64(less)))
	} else if less < 0 {
		text += fmt.Sprintf(": %s fewer agree in everything", count(int64(-less)))
	}
	return text + "."
}

// consequenceOf says what a change of the rules means for the counts.
func consequenceOf(begins bool, run store.Run) string {
	if !begins {
		return "The rules come to the same, so the run goes on and nothing is lost."
	}
	return fmt.Sprintf("A new run begins, since answers that are compared otherwise are not counted together: its counts and its "+
		"evidence start from nothing. %s ends; all it has counted is kept under Runs.", sentenceStart(runTitle(run)))
}

// postRulesForm answers the form of the rules, which adds a rule, puts one in another's place, or removes one.
func (s *Server) postRulesForm(w http.ResponseWriter, r *http.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, 4*rulesBody)
	if err := r.ParseForm(); err != nil {
		return formFault(err)
	}
	draft := draftView{Text: plainLines(r.PostForm.Get("draft")), Remove: r.PostForm.Get("remove"), Try: true}
	if len(draft.Text) > rulesBody {
		return &http.MaxBytesError{Limit: rulesBody}
	}
	if s.deps.Rulebook == nil {
		return refuse(http.StatusConflict, "this process cannot change its rules")
	}
	if strings.TrimSpace(draft.Text) == "" {
		draft.Text = ""
	}
	change := RuleChange{Actor: pageActor, Add: draft.Text}
	if draft.Remove != "" {
		change.Remove = []string{draft.Remove}
	}
	if draft.Text == "" && draft.Remove == "" {
		return s.writeRules(w, r, http.StatusUnprocessableEntity, query{values: url.Values{}}, draft)
	}
	done, err := s.deps.Rulebook.Change(r.Context(), change)
	no, is := errors.AsType[*RulesRefused](err)
	switch {
	case is && len(no.Faults) > 0: // the page says where
		return s.writeRules(w, r, http.StatusUnprocessableEntity, query{values: url.Values{}}, draft)
	case err != nil:
		return asRulesRefused(err)
	}
	to := "/rules"
	if n := len(done.Rules); n > 0 && draft.Text != "" {
		to += "#rule-" + done.Rules[n-1].ID()
	}
	http.Redirect(w, r, s.prefix+to, http.StatusSeeOther)
	return nil
}

// pageActor is who changes something on a page, where it is told.
const pageActor = "page"
