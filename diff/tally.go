package diff

import (
	"fmt"
	"time"
)

// Test is one hypothesis about a field. A level's test counts the requests that differ at this level or above.
type Test uint8

const (
	TestValue Test = iota
	TestFormat
	TestType
	TestPresence
	TestExtent // where both differ: whose places are more
	TestDrift  // candidate greater or less than the secondary
	tests      // how many there are
)

// String is the test's word in the API, where it stands as a difference's kind.
func (t Test) String() string {
	return [...]string{"value", "format", "type", "presence", "extent", "drift"}[t]
}

// MarshalText writes the test's word.
func (t Test) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads the test's word.
func (t *Test) UnmarshalText(b []byte) error {
	for u := range tests {
		if u.String() == string(b) {
			*t = u
			return nil
		}
	}
	return fmt.Errorf("unknown test %q", b)
}

// Counts are the discordant pairs of one test and those that differ on both sides. For extent CandidateOnly and
// ControlOnly count "candidate more" and "control more"; for drift "candidate greater" and "candidate less".
type Counts struct {
	CandidateOnly int64
	ControlOnly   int64
	Both          int64
}

// TestTally is what one run has counted for one (route, field, test).
type TestTally struct {
	Counts
	Order     int           // j: place in the run's order of first discordant requests, from 1; 0: none yet
	Confirmed *Confirmation // nil until it is; then for good
}

// Confirmation records when a test was confirmed and on how much.
type Confirmation struct {
	Time     time.Time
	Requests int64   // compared on the route by then
	Alpha    float64 // the run's α then
}

// Confirmed is one confirmation and what it is of. For latency Field is "latency" and Test is TestDrift; its Route is
// empty when it is that of all routes together.
type Confirmed struct {
	Route, Field string
	Test         Test
	Confirmation
}

// FieldTally is everything one run has counted for one field of one route.
type FieldTally struct {
	Route, Field string
	Raw, Noise   int64 // requests in which the candidate, or the secondary, differs here at all
	Tests        [tests]TestTally
	TraitGreater int64 // secondary greater than primary
	TraitLess    int64
	First, Last  time.Time // requests in which it differed
}

// RouteTally is what one run has counted for one route, or for all of them together.
type RouteTally struct {
	Route       string // empty for the total
	Compared    int64
	Unknown     map[string]int64 // by reason
	Failed      int64            // compared, but exactly one shadow failed
	Results     Counts           // whole requests
	Order       int              // j of the whole requests: a route's result is a hypothesis too; 0: none yet
	Raw, Noise  int64
	CandidateUp int64
	ControlUp   int64
	NoControl   int64 // compared without a secondary
	Latency     LatencyTally
	First, Last time.Time
}

// Judged is the number of compared requests that tell of fields other than transport.
func (r *RouteTally) Judged() int64 { return r.Compared - r.Failed }

// LatencyTally counts pairs in which the candidate took longer than 1.1 times the secondary, or did not.
type LatencyTally struct {
	Slower, Faster int64
	Order          int
	Confirmed      *Confirmation
	Candidate      Sketch
	Secondary      Sketch
}

// Tallies is one run's counts at one moment. It is never changed once handed out.
type Tallies struct {
	Total  RouteTally
	Routes []*RouteTally // sorted by Route
	Fields []*FieldTally // sorted by Route, then Field
}

// Other is the route, or the field, under which everything beyond the caps is counted.
const Other = "(other)"

// Tally accumulates one run's counts. It is not safe for concurrent use; what Cut returns is.
type Tally struct{}

// NewTally continues from the counts that a former Tally has handed out; nil begins at nothing.
func NewTally(from *Tallies) *Tally { panic("diff: being built") }

// Add counts one comparison.
func (t *Tally) Add(c *Comparison) { panic("diff: being built") }

// Confirm marks what Judge has confirmed; what is confirmed already stays as it was.
func (t *Tally) Confirm(list []Confirmed) { panic("diff: being built") }

// Cut returns all counts as they stand, and of these the ones that changed since the last Cut. Neither changes
// afterwards.
func (t *Tally) Cut() (all, changed *Tallies) { panic("diff: being built") }
