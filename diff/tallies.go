package diff

import (
	"cmp"
	"maps"
	"strings"
	"time"
)

// Counts are the discordant pairs of one test and those that differ on both sides. For extent CandidateOnly and
// ControlOnly count "candidate more" and "control more"; for drift "candidate greater" and "candidate less".
type Counts struct {
	CandidateOnly int64 `json:"candidate_only,omitzero"`
	ControlOnly   int64 `json:"control_only,omitzero"`
	Both          int64 `json:"both,omitzero"`
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
	Minutes   Minutes       `json:"minutes,omitzero"`   // in which one side outnumbered the other
	Order     int           `json:"order,omitzero"`     // j: place in the run's order of first discordant requests, from 1; 0: none yet
	Confirmed *Confirmation `json:"confirmed,omitzero"` // nil until it is; then for good
}

// Confirmation records when a test was confirmed and on how much.
type Confirmation struct {
	Time     time.Time `json:"time"`
	Requests int64     `json:"requests"` // compared on the route by then
	Alpha    float64   `json:"alpha"`    // the run's α then
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
	Route        string           `json:"route"`
	Field        string           `json:"field"`
	Raw          int64            `json:"raw,omitzero"` // requests in which the candidate differs here at all
	Noise        int64            `json:"noise,omitzero"`
	Tests        [tests]TestTally `json:"tests"`
	TraitGreater int64            `json:"trait_greater,omitzero"` // secondary greater than primary
	TraitLess    int64            `json:"trait_less,omitzero"`
	TraitTurns   int64            `json:"trait_turns,omitzero"` // how often it went from the one to the other
	TraitLast    int8             `json:"trait_last,omitzero"`  // what it was last, as FieldComparison.Trait
	First        time.Time        `json:"first,omitzero"`       // requests in which it differed
	Last         time.Time        `json:"last,omitzero"`
}

// RouteTally is what one run has counted for one route, or for all of them together.
type RouteTally struct {
	Route       string           `json:"route"`          // empty for the total
	Given       bool             `json:"given,omitzero"` // some of its requests had the name given: it is never merged into another
	Compared    int64            `json:"compared,omitzero"`
	Unknown     map[string]int64 `json:"unknown,omitzero"` // by reason
	Failed      int64            `json:"failed,omitzero"`  // compared, but exactly one shadow failed
	Results     Counts           `json:"results,omitzero"` // whole requests
	Order       int              `json:"order,omitzero"`   // j of the whole requests: a route's result is a hypothesis too; 0: none yet
	Raw         int64            `json:"raw,omitzero"`
	Noise       int64            `json:"noise,omitzero"`
	CandidateUp int64            `json:"candidate_up,omitzero"`
	ControlUp   int64            `json:"control_up,omitzero"`
	NoControl   int64            `json:"no_control,omitzero"` // compared without a secondary

	CandidateErrors int64 `json:"candidate_errors,omitzero"` // the candidate answers with an error, or not at all, where the secondary does neither
	ControlErrors   int64 `json:"control_errors,omitzero"`   // the other way round

	Minutes Minutes      `json:"minutes,omitzero"` // of Results
	Course  Course       `json:"course,omitzero"`
	Latency LatencyTally `json:"latency,omitzero"`
	First   time.Time    `json:"first,omitzero"`
	Last    time.Time    `json:"last,omitzero"`
}

// Judged is the number of compared requests that tell of fields other than transport.
func (r *RouteTally) Judged() int64 { return r.Compared - r.Failed }

// LatencyTally counts pairs in which the candidate took longer than 1.1 times the secondary, or did not.
type LatencyTally struct {
	Slower    int64         `json:"slower,omitzero"`
	Faster    int64         `json:"faster,omitzero"`
	Minutes   Minutes       `json:"minutes,omitzero"`
	Order     int           `json:"order,omitzero"`
	Confirmed *Confirmation `json:"confirmed,omitzero"`
	Candidate Sketch        `json:"candidate,omitzero"`
	Secondary Sketch        `json:"secondary,omitzero"`
}

// Stale counts the exchanges that could not be judged since a shadow ended a kept connection before any byte of its
// answer. One such end is the peer's right, when it is tired of the connection; but so does code that crashes end it.
type Stale struct {
	Candidate int64 `json:"candidate"`
	Control   int64 `json:"control"`
}

// Tallies is one run's counts at one moment. It is never changed once handed out. Its JSON is that of
// GET /api/v1/tallies.
type Tallies struct {
	Total     RouteTally    `json:"total"`
	Transport TestTally     `json:"transport"` // the field `transport` of all routes together; NewTally needs its Minutes and Confirmed only
	Paused    int64         `json:"paused"`    // exchanges dropped because the candidate was paused for its failures
	Awaited   int64         `json:"awaited"`   // exchanges, at this moment, in which only the candidate is waited for, for over a second
	Stale     Stale         `json:"stale"`
	Routes    []*RouteTally `json:"routes"` // sorted by Route
	Fields    []*FieldTally `json:"fields"` // sorted by Route, then Field
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
		all.merge(f)
	}
	if all != nil {
		all.Tests[TestPresence].Minutes, all.Tests[TestPresence].Confirmed = t.Transport.Minutes, t.Transport.Confirmed
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

// CompareFields has fields in the order of Tallies: by route, then by name.
func CompareFields(a, b *FieldTally) int {
	return cmp.Or(strings.Compare(a.Route, b.Route), strings.Compare(a.Field, b.Field))
}
