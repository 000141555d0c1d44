package diff

import (
	"maps"
	"strings"
	"time"
)

// Counts are the discordant pairs of one test and those that differ on both sides. For extent CandidateOnly and
// ControlOnly count "candidate more" and "control more"; for drift "candidate greater" and "candidate less".
type Counts struct {
	CandidateOnly int64
	ControlOnly   int64
	Both          int64
}

// discordant is the number of pairs that tell the two shadows apart.
func (c Counts) discordant() int64 { return c.CandidateOnly + c.ControlOnly }

// scores spreads n requests over +1, 0 and −1.
func (c Counts) scores(n int64) scores {
	return scores{count(c.CandidateOnly), count(n - c.discordant()), count(c.ControlOnly)}
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

// Confirmed is one confirmation and what it is of. For latency Field is "latency" and Test is TestDrift. Route is empty
// when it is the latency, or the transport, of all routes together.
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
	Given       bool   // some of its requests had the name given: it is never merged into another
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
	Total     RouteTally
	Transport TestTally     // the field `transport` of all routes together; NewTally needs its Confirmed only
	Paused    int64         // exchanges dropped because the candidate was paused for its failures
	Routes    []*RouteTally // sorted by Route
	Fields    []*FieldTally // sorted by Route, then Field
}

// AllTransport is the field `transport` of all routes together, nil where no shadow has failed alone.
func (t *Tallies) AllTransport() *FieldTally {
	var all *FieldTally
	for _, f := range t.Fields {
		if f.Field != fieldTransport {
			continue
		}
		if all == nil {
			all = &FieldTally{Field: fieldTransport}
		}
		all.Raw += f.Raw
		all.Noise += f.Noise
		for i := range all.Tests {
			all.Tests[i].merge(f.Tests[i].Counts)
		}
		stretch(&all.First, &all.Last, f.First, f.Last)
	}
	if all != nil {
		all.Tests[TestPresence].Confirmed = t.Transport.Confirmed
	}
	return all
}

func (r *RouteTally) clone() *RouteTally {
	c := *r
	c.Unknown = maps.Clone(r.Unknown)
	c.Latency.Candidate = r.Latency.Candidate.Clone()
	c.Latency.Secondary = r.Latency.Secondary.Clone()
	return &c
}

func (f *FieldTally) clone() *FieldTally {
	c := *f
	return &c
}

func compareRoutes(a, b *RouteTally) int { return strings.Compare(a.Route, b.Route) }

func compareFields(a, b *FieldTally) int {
	if by := strings.Compare(a.Route, b.Route); by != 0 {
		return by
	}
	return strings.Compare(a.Field, b.Field)
}
