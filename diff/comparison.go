package diff

import (
	"time"

	"shadowdiff/multicast"
)

// Result is what one compared request says as a whole.
type Result string

const (
	Agree         Result = "agree"          // neither shadow differs from the primary
	CandidateOnly Result = "candidate_only" // x = +1
	ControlOnly   Result = "control_only"   // x = -1
	Both          Result = "both"           // x = 0, and at least one differs
)

// Comparison is what one exchange adds to the counts.
type Comparison struct {
	Time       time.Time
	Route      string           // "GET /users/{id}"
	Given      bool             // the configuration or a header named the route, not normalize.Names
	Configured bool             // it was the configuration: such a route has a row of its own, however many there are
	Unknown    multicast.Reason // why nothing is judged; all below is then zero

	Result      Result
	Raw         bool // the candidate differs at all
	Noise       bool // the secondary differs at all
	CandidateUp bool // the candidate's level exceeds the secondary's at some field
	ControlUp   bool // the other way round
	Failed      bool // exactly one shadow failed: only `transport` is judged
	NoControl   bool // no secondary was asked

	CandidateError bool // the candidate answered with an error (5xx), or not at all
	ControlError   bool // likewise the secondary
	PrimaryError   bool // the primary answered with an error

	Fields  []FieldComparison // those in which something is to be counted, sorted by Field
	Values  []FieldValues     // what stands in those that differ, redacted and bounded: for profiles; none unless asked for
	Latency LatencyPair       // zero when Failed
	Sizes   *[3]int64         // of the bodies, decoded where they were, by role; minus one: not known; nil: none is

	Candidate []Difference // primary against candidate, bounded; for samples
	Control   []Difference // primary against secondary
	Cut       bool         // the lists above were bounded

	Exchange *multicast.Exchange // for samples; not to be kept after Record returns
}

// FieldComparison is what one exchange says of one field.
type FieldComparison struct {
	Field           string
	Candidate       Level // highest level among the places where the candidate differs from the primary
	Control         Level // likewise the secondary
	CandidatePlaces int   // places that differ; of texts, words
	ControlPlaces   int
	Drift           int8 // sign of candidate minus secondary; 0: equal or not comparable
	Trait           int8 // sign of secondary minus primary: what instances have of their own
}

// LatencyPair is how long the two shadows took for the same request.
type LatencyPair struct{ Candidate, Secondary time.Duration }
