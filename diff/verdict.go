package diff

import "time"

// Word is a verdict in one word.
type Word string

const (
	Different  Word = "different"
	Equivalent Word = "equivalent"
	Undecided  Word = "undecided"
)

// Verdict answers "may I ship?" for a run, or for one route of it; its JSON is that of GET /api/v1/equivalence, whose
// `run` and `route` the caller fills in.
type Verdict struct {
	Route           *string        `json:"route"`
	Compared        int64          `json:"compared"`
	NoControl       int64          `json:"-"` // of these, without a secondary
	Unknown         int64          `json:"unknown"`
	RawRate         float64        `json:"raw_rate"`
	NoiseRate       float64        `json:"noise_rate"`
	CandidateOnly   int64          `json:"candidate_only"`
	ControlOnly     int64          `json:"control_only"`
	Both            int64          `json:"both"`
	CandidateUp     int64          `json:"candidate_up"`
	ControlUp       int64          `json:"control_up"`
	Steadiness                     // of the requests as a whole
	CandidateErrors int64          `json:"candidate_errors"` // the candidate answers with an error, or not at all, where the secondary does neither
	ControlErrors   int64          `json:"control_errors"`
	Excess          float64        `json:"excess"`
	ExcessBounds    [2]float64     `json:"excess_interval"`
	Equivalence     float64        `json:"equivalence_rate"`
	EquivBounds     [2]float64     `json:"equivalence_interval"`
	Alpha           float64        `json:"alpha"`   // of this attempt
	Attempt         int            `json:"attempt"` // from 1: the runs under this name, up to this one
	Budget          float64        `json:"budget"`
	Word            Word           `json:"verdict"`
	Reasons         []string       `json:"reasons"`
	MoreNeeded      *int64         `json:"more_needed"`
	NotJudged       []NotJudged    `json:"not_judged"`  // 10,000 at most
	Differences     []Finding      `json:"differences"` // confirmed ones first, then by evidence; 10,000 at most: callers cut further
	Latency         LatencyFinding `json:"latency"`
	Calibration     *Calibration   `json:"calibration,omitempty"` // of a run of that name alone
	Routes          []*Verdict     `json:"-"`                     // one a route, sorted by name; nil within a route's own
}

// Controlled tells whether a secondary was asked in any of the requests that were compared: where none was, a noise rate of 0
// says nothing.
func (v *Verdict) Controlled() bool { return v.Compared == 0 || v.NoControl < v.Compared }

// NotJudged names what the verdict cannot see: a field whose value noise hides, or with an empty Field a route with too
// few requests to confirm even a difference in each of them.
type NotJudged struct {
	Route     string  `json:"route"`
	Field     string  `json:"field"`
	Compared  int64   `json:"compared"`
	NoiseRate float64 `json:"noise_rate"`
}

// Finding is one (route, field) at its gravest test that has evidence.
type Finding struct {
	Route         string  `json:"route"` // empty: all routes together, of field transport
	Field         string  `json:"field"`
	Kind          Test    `json:"kind"` // marshals as its word
	Compared      int64   `json:"compared"`
	NoControl     bool    `json:"-"` // all of them without a secondary
	CandidateOnly int64   `json:"candidate_only"`
	ControlOnly   int64   `json:"control_only"`
	Both          int64   `json:"both"`
	LnE           float64 `json:"ln_e"`
	Steadiness
	Confirmed     bool       `json:"confirmed"`
	Informs       bool       `json:"informs,omitempty"` // size and latency: even confirmed it decides nothing
	ConfirmedAt   *time.Time `json:"confirmed_at,omitempty"`
	ConfirmedOn   int64      `json:"confirmed_on,omitempty"`    // requests compared on the route by then
	MoreToConfirm int64      `json:"more_to_confirm,omitempty"` // candidate-only requests still needed, none to the control
	ExcessBounds  [2]float64 `json:"excess_interval"`
	Samples       []int64    `json:"samples"` // filled in by the caller
}

// LatencyFinding compares the two shadow legs.
type LatencyFinding struct {
	Slower    int64   `json:"candidate_slower"`
	Faster    int64   `json:"candidate_faster"`
	LnE       float64 `json:"ln_e"`
	Confirmed bool    `json:"confirmed"`
	Steadiness
	P99Ratio  *float64    `json:"p99_ratio"`          // candidate over secondary; nil without data
	P99Bounds *[2]float64 `json:"p99_ratio_interval"` // nil with too few requests, and for a route unless max_latency_ratio is set
}
