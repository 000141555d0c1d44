package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"shadowdiff/diff"
	"shadowdiff/multicast"
	"shadowdiff/store"
)

const (
	previewMost   = 500             // samples that are looked at, the latest ones
	previewTime   = 5 * time.Second // and most that it takes
	previewFields = 500             // fields that are told of
)

// previewAnswer is POST /api/v1/rules/preview.
type previewAnswer struct {
	Samples  int            `json:"samples"`    // that were compared under both sets of rules
	Changed  int            `json:"changed"`    // of these, in which anything comes out differently
	Skipped  map[string]int `json:"skipped"`    // that were not, by why
	Redacted int            `json:"redacted"`   // of those compared, in which something was redacted: there the rules saw the note in its place
	Stopped  string         `json:"stopped"`    // where it ended before all were looked at; empty: it did not
	Duration float64        `json:"duration"`   // seconds
	Begins   bool           `json:"begins_run"` // putting them in force would begin a run: compiled, they are others
	Before   previewResults `json:"before"`     // what they say as a whole under the rules in force
	After    previewResults `json:"after"`
	Rules    []ruleItem     `json:"rules"`    // those to be added, with what they did in these samples
	Warnings []string       `json:"warnings"` // for people
	Fields   []previewField `json:"fields"`   // those in which anything comes out differently, most first
	More     int            `json:"more"`     // fields that are not told of

	cautions []string // the warnings that are not of what is confirmed
}

type previewResults struct {
	Agree         int `json:"agree"`
	CandidateOnly int `json:"candidate_only"`
	ControlOnly   int `json:"control_only"`
	Both          int `json:"both"`
}

type previewField struct {
	Route     string       `json:"route"`
	Field     string       `json:"field"`
	Page      string       `json:"page"`
	Confirmed bool         `json:"confirmed"` // the verdict of the run in force has it confirmed
	Changed   int          `json:"changed"`
	Candidate previewCount `json:"candidate"` // samples in which it differs from the primary
	Control   previewCount `json:"control"`
	Drift     previewCount `json:"drift"` // in which candidate and control differ in size
	Hides     int          `json:"hides"`
	Shows     int          `json:"shows"`
	Samples   []int64      `json:"samples"` // some of those that come out differently, the latest first
}

type previewCount struct {
	Before int `json:"before"`
	After  int `json:"after"`
	Vanish int `json:"vanish"`
	Change int `json:"change"`
	Appear int `json:"appear"`
}

// postPreview answers POST /api/v1/rules/preview. Nothing is counted and nothing kept.
func (s *Server) postPreview(w http.ResponseWriter, r *http.Request) error {
	if _, err := readQuery(r); err != nil {
		return err
	}
	keys, err := readObject(w, r, rulesBody, `{"rules": "- drop: body.generated_at"}`, "rules", "remove")
	if err != nil {
		return err
	}
	c, err := readPreview(keys)
	if err != nil {
		return err
	}
	answer, err := s.tryRules(r.Context(), c)
	if err != nil {
		if asProblem(err).Status == http.StatusTooManyRequests {
			w.Header().Set("Retry-After", "5")
		}
		return err
	}
	return writeJSON(w, answer)
}

// tryRules holds the rules that a change would make against the samples, one change at a time.
func (s *Server) tryRules(ctx context.Context, c RuleChange) (*previewAnswer, error) {
	if s.deps.Rulebook == nil {
		return nil, refuse(http.StatusConflict, "this process cannot try rules")
	}
	if !enter(&s.previewing, 1) {
		return nil, refuse(http.StatusTooManyRequests, "other rules are being tried, and that goes one at a time; try again when it is done")
	}
	defer s.previewing.Add(-1)
	trial, err := s.deps.Rulebook.Try(c)
	if err != nil {
		return nil, asRulesRefused(err)
	}
	return s.preview(ctx, trial)
}

// previewing holds two sets of rules against the samples.
type previewing struct {
	*diff.Preview
	server   *Server
	given    map[int64]map[string]bool // routes whose names were given, by run
	skipped  map[string]int
	redacted int
}

// preview compares the latest samples of any run, as long as there is time.
func (s *Server) preview(ctx context.Context, trial *RuleTrial) (*previewAnswer, error) {
	began := time.Now()
	ids, err := s.deps.DB.LatestSamples(ctx, previewMost)
	if err != nil {
		return nil, err
	}
	p := &previewing{
		Preview: diff.NewPreview(trial.Before, trial.After), server: s,
		given: map[int64]map[string]bool{}, skipped: map[string]int{},
	}
	answer := &previewAnswer{Begins: trial.Begins, Warnings: []string{}, Fields: []previewField{}, Rules: []ruleItem{}}
	for i, id := range ids {
		if time.Since(began) > previewTime {
			answer.Stopped = fmt.Sprintf("after the latest %d of %d samples: %s were over", i, len(ids), previewTime)
			break
		}
		if err := p.take(ctx, id); err != nil {
			return nil, err
		}
	}
	answer.Duration = time.Since(began).Seconds()
	return answer, p.tell(answer, trial.Added())
}

// take compares one sample, if all of it was kept.
func (p *previewing) take(ctx context.Context, id int64) error {
	sample, err := p.server.deps.DB.Sample(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		p.skipped["removed"]++ // meanwhile
		return nil
	}
	if err != nil {
		return err
	}
	for role := range sample.Responses {
		switch resp := &sample.Responses[role]; {
		case resp.Over, sample.BodyCut[role], resp.Outcome == multicast.OutcomeOversize:
			p.skipped["too_long"]++
			return nil
		case withheld(resp.Body):
			p.skipped["withheld"]++
			return nil
		}
	}
	given, err := p.isGiven(ctx, sample)
	if err != nil {
		return err
	}
	if sample.Redactions > 0 {
		p.redacted++
	}
	ex := &multicast.Exchange{ID: sample.Exchange, Time: sample.Time, Request: sample.Request, Responses: sample.Responses}
	if given {
		ex.Route, ex.Configured = sample.Route, true
	}
	p.Add(id, sample.Route, ex)
	return nil
}

// isGiven tells whether the name of a sample's route was given, and not made from the path: rules go by it then.
func (p *previewing) isGiven(ctx context.Context, sample *store.Sample) (bool, error) {
	given := p.given[sample.Run]
	if given == nil {
		snap, err := p.server.deps.DB.RunSnapshot(ctx, sample.Run)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return false, err
		}
		given = map[string]bool{}
		if err == nil {
			for i := range snap.Tallies.Routes {
				given[snap.Tallies.Routes[i].Route] = snap.Tallies.Routes[i].Given
			}
		}
		p.given[sample.Run] = given
	}
	return given[sample.Route], nil
}

// tell writes down what was found.
func (p *previewing) tell(a *previewAnswer, added []Rule) error {
	counts := p.Counts()
	if counts.Unknown > 0 {
		p.skipped["unknown"] = counts.Unknown
	}
	a.Samples, a.Changed, a.Skipped, a.Redacted = counts.Compared, counts.Changed, p.skipped, p.redacted
	a.Before, a.After = previewResultsOf(counts.Before), previewResultsOf(counts.After)
	for i := range added {
		item, err := itemOfRule(&added[i])
		if err != nil {
			return err
		}
		item.ID, item.Exchanges = "", int64(counts.Compared)
		a.Rules = append(a.Rules, item)
	}
	snap := p.server.deps.DB.Snapshot()
	fields, confirmed := p.Fields(), confirmedFields(snap)
	a.warn(fields, snap, confirmed, added)
	if more := len(fields) - previewFields; more > 0 {
		a.More, fields = more, fields[:previewFields]
	}
	for i := range fields {
		f := &fields[i]
		a.Fields = append(a.Fields, previewField{
			Route: f.Route, Field: f.Field, Page: p.server.prefix + fieldPath(f.Route, f.Field),
			Confirmed: confirmed[[2]string{f.Route, f.Field}], Changed: f.Changed,
			Candidate: previewCountOf(f.Candidate), Control: previewCountOf(f.Control), Drift: previewCountOf(f.Drift),
			Hides: f.Hides, Shows: f.Shows, Samples: f.Samples,
		})
	}
	return nil
}

// warn says what should be looked at before the rules are put in force.
func (a *previewAnswer) warn(fields []diff.PreviewField, snap *store.Snapshot, confirmed map[[2]string]bool, added []Rule) {
	for i := range fields {
		f := &fields[i]
		sure := confirmed[[2]string{f.Route, f.Field}]
		if f.Hides == 0 || len(a.Warnings) >= 20 || !sure && !mayHide(snap, f.Route, f.Field, int64(f.Hides)) {
			continue
		}
		said := ""
		if sure {
			said = ", which is confirmed"
		}
		warning := fmt.Sprintf("would hide that the candidate alone differs at %s of %s%s, in %d of %d samples: look at sample %d first",
			f.Field, f.Route, said, f.Hides, a.Samples, f.Hidden)
		if a.Warnings = append(a.Warnings, warning); !sure {
			a.cautions = append(a.cautions, warning)
		}
	}
	cautions := cautionsOf(a, added)
	a.Warnings, a.cautions = append(a.Warnings, cautions...), append(a.cautions, cautions...)
}

// mayHide tells whether those that a rule hides, in which the candidate alone differs, may be more than the noise that falls
// on either side alike. That is told from what the run has counted, since samples are kept for what they tell and do not
// weigh the sides; and as long as it has counted fewer, they may be anything.
func mayHide(snap *store.Snapshot, route, field string, hides int64) bool {
	if hides == 0 {
		return false
	}
	tally := fieldOf(snap, route, field)
	if tally == nil || tally.Raw < hides {
		return true
	}
	for test := range diff.TestDrift { // the sizes that lean are told of otherwise
		if evidence(test, tally.Tests[test].Counts) > 0 {
			return true
		}
	}
	return false
}

// cautionsOf says what is doubtful about the rules, and about the samples that they were tried on.
func cautionsOf(a *previewAnswer, added []Rule) (list []string) {
	caution := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	for i := range added {
		switch u := &added[i].Usage; {
		case a.Samples == 0:
		case u.Documents == 0:
			caution("%q was held against nothing: no sample is of its route, or has the part that it is about", u.Rule)
		case u.Matched == 0:
			caution("%q matches nothing in these samples: is its field or its route misspelt?", u.Rule)
		case u.Whole > 0:
			caution("%q takes whole bodies away: nothing of them is compared", u.Rule)
		}
	}
	switch {
	case a.Samples == 0:
		caution("there are no samples to try it on yet")
	case a.Redacted > 0:
		caution("%d of these samples are redacted (store.redact): what stood there is the same on all sides now, whatever it was", a.Redacted)
	}
	return list
}

// confirmedFields are the routes and fields of what a verdict counts as confirmed.
func confirmedFields(snap *store.Snapshot) map[[2]string]bool {
	fields := map[[2]string]bool{}
	for i := range snap.Verdict.Differences {
		if f := &snap.Verdict.Differences[i]; f.Confirmed {
			fields[[2]string{f.Route, f.Field}] = true
		}
	}
	return fields
}

func previewResultsOf(m map[diff.Result]int) previewResults {
	return previewResults{Agree: m[diff.Agree], CandidateOnly: m[diff.CandidateOnly], ControlOnly: m[diff.ControlOnly], Both: m[diff.Both]}
}

func previewCountOf(c diff.PreviewCount) previewCount {
	return previewCount{Before: c.Before, After: c.After(), Vanish: c.Vanish, Change: c.Change, Appear: c.Appear}
}
