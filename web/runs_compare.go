package web

import (
	"net/http"

	"shadowdiff/diff"
	"shadowdiff/store"
)

// compareAnswer is GET /api/v1/runs/{a}/compare/{b}.
type compareAnswer struct {
	Then          comparedRun          `json:"then"`
	Now           comparedRun          `json:"now"`
	Configuration configurationAnswer  `json:"configuration"`
	Counts        map[store.Fate]int   `json:"counts"` // of all fields, shown or not
	Fields        []comparedField      `json:"fields"` // gravest first
	Latency       *latencyChangeAnswer `json:"latency"`
}

// comparedRun is what one of the two runs comes to.
type comparedRun struct {
	Run          store.Run  `json:"run"`
	Word         diff.Word  `json:"verdict"`
	Compared     int64      `json:"compared"`
	Unknown      int64      `json:"unknown"`
	RawRate      float64    `json:"raw_rate"`
	NoiseRate    *float64   `json:"noise_rate"` // null: no secondary was asked
	Excess       float64    `json:"excess"`
	ExcessBounds [2]float64 `json:"excess_interval"`
	Equivalence  float64    `json:"equivalence_rate"`
	EquivBounds  [2]float64 `json:"equivalence_interval"`
	Alpha        float64    `json:"alpha"`
	Confirmed    int        `json:"confirmed_differences"`
	P99Ratio     *float64   `json:"p99_ratio"`
}

// configurationAnswer says what was another for the two runs, so that what changed need not be the code's doing.
type configurationAnswer struct {
	Same      bool          `json:"same"`
	Candidate pair[string]  `json:"candidate"`
	Version   pair[string]  `json:"version"`
	Rules     *pair[string] `json:"rules"` // null where they are the same; of runs begun by an earlier version of shadowdiff their texts are empty
}

type pair[T any] struct {
	Then T `json:"then"`
	Now  T `json:"now"`
}

// latencyChangeAnswer sets the candidate's 99th percentiles, as ratios to the secondary's, side by side.
type latencyChangeAnswer struct {
	pair[float64]
	Ratio float64 `json:"ratio"` // of now's to then's
}

// comparedField is one field of one route in both runs.
type comparedField struct {
	Route   string     `json:"route"`
	Field   string     `json:"field"`
	Page    string     `json:"page"`
	State   store.Fate `json:"state"`
	Kind    diff.Test  `json:"kind"`
	Informs bool       `json:"informs,omitempty"`
	Then    sideAnswer `json:"then"`
	Now     sideAnswer `json:"now"`
	Text    string     `json:"text"`
}

type sideAnswer struct {
	Compared      int64      `json:"compared"`
	CandidateOnly int64      `json:"candidate_only"`
	ControlOnly   int64      `json:"control_only"`
	Both          int64      `json:"both"`
	NoiseRate     float64    `json:"noise_rate"`
	Confirmed     bool       `json:"confirmed"`
	ExcessBounds  [2]float64 `json:"excess_interval"`
}

// compareRuns answers GET /api/v1/runs/{a}/compare/{b}: what was different in a, and is in b.
func (s *Server) compareRuns(w http.ResponseWriter, r *http.Request) error {
	q, err := readQuery(r, "limit", "state")
	if err != nil {
		return err
	}
	limit, err := q.number("limit", differencesShown, differencesMost)
	if err != nil {
		return err
	}
	state, err := q.fate()
	if err != nil {
		return err
	}
	contrast, records, err := s.contrastInPath(r)
	if err != nil {
		return err
	}
	return writeJSON(w, s.compareAnswer(contrast, records, state, limit))
}

// contrastInPath sets the two runs side by side that the path names.
func (s *Server) contrastInPath(r *http.Request) (*store.Contrast, *[2]store.RunRecord, error) {
	var snaps [2]*store.Snapshot
	var records [2]store.RunRecord
	for i, part := range []string{"a", "b"} {
		run, err := s.runInPath(r, part)
		if err != nil {
			return nil, nil, err
		}
		if snaps[i], err = s.deps.DB.RunSnapshot(r.Context(), run.ID); err != nil {
			return nil, nil, err
		}
		if records[i], err = s.deps.DB.RunRecord(r.Context(), run.ID); err != nil {
			return nil, nil, err
		}
	}
	return store.NewContrast(snaps[0], snaps[1], s.deps.DB.CurrentName), &records, nil
}

func (s *Server) compareAnswer(c *store.Contrast, records *[2]store.RunRecord, state store.Fate, limit int) compareAnswer {
	a := compareAnswer{
		Then: comparedRunOf(c.Then), Now: comparedRunOf(c.Now), Configuration: configurationOf(&records[0], &records[1]),
		Counts: map[store.Fate]int{}, Fields: []comparedField{},
	}
	for _, fate := range store.Fates() {
		a.Counts[fate] = c.Fates[fate]
	}
	for i := range c.Fields {
		if f := &c.Fields[i]; len(a.Fields) < limit && (state == "" || state == f.Fate) {
			a.Fields = append(a.Fields, s.comparedField(f))
		}
	}
	if then, now := a.Then.P99Ratio, a.Now.P99Ratio; then != nil && now != nil && *then > 0 {
		a.Latency = &latencyChangeAnswer{pair[float64]{*then, *now}, *now / *then}
	}
	return a
}

func comparedRunOf(snap *store.Snapshot) comparedRun {
	v := snap.Verdict
	return comparedRun{
		Run: snap.Run, Word: v.Word, Compared: v.Compared, Unknown: v.Unknown, RawRate: v.RawRate, NoiseRate: noiseRate(v),
		Excess: v.Excess, ExcessBounds: v.ExcessBounds, Equivalence: v.Equivalence, EquivBounds: v.EquivBounds, Alpha: v.Alpha,
		Confirmed: confirmedIn(v), P99Ratio: v.Latency.P99Ratio,
	}
}

func configurationOf(then, now *store.RunRecord) configurationAnswer {
	a := configurationAnswer{
		Candidate: pair[string]{then.Candidate, now.Candidate}, Version: pair[string]{then.Version, now.Version},
	}
	if then.Rules != now.Rules {
		a.Rules = &pair[string]{then.RuleText, now.RuleText}
	}
	a.Same = then.Candidate == now.Candidate && a.Rules == nil
	return a
}

func (s *Server) comparedField(f *store.Contrasted) comparedField {
	return comparedField{
		Route: f.Route, Field: f.Field, Page: s.prefix + fieldPath(f.Route, f.Field), State: f.Fate, Kind: f.Kind, Informs: f.Informs,
		Then: sideAnswerOf(&f.Then), Now: sideAnswerOf(&f.Now), Text: f.Text,
	}
}

func sideAnswerOf(side *store.Side) sideAnswer {
	return sideAnswer{
		Compared: side.Compared, CandidateOnly: side.CandidateOnly, ControlOnly: side.ControlOnly, Both: side.Both,
		NoiseRate: float64(side.Noise) / float64(max(1, side.Compared)), Confirmed: side.Confirmed, ExcessBounds: side.ExcessBounds,
	}
}

// fate reads which differences of two runs are wanted; empty: all.
func (q query) fate() (store.Fate, error) {
	var words []string
	for _, fate := range store.Fates() {
		words = append(words, string(fate))
	}
	word, err := q.choice("state", words...)
	return store.Fate(word), err
}
