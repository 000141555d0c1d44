package store

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"

	"shadowdiff/diff"
)

// Contrast sets two runs side by side, field by field: what was different then and what is now. It is descriptive: each
// run's verdict is its own.
type Contrast struct {
	Then, Now *Snapshot
	Fields    []Contrasted // the gravest first
	Fates     map[Fate]int // how many of each there are
}

// Fate says what has become of a difference from one run to the other.
type Fate string

// The fates, the gravest first.
const (
	FateNew          Fate = "new"             // confirmed now, and then not seen in as many requests as would have shown it
	FateNewConfirmed Fate = "newly_confirmed" // confirmed now; then it was seen and not confirmed, or there were too few requests
	FateStill        Fate = "still"           // confirmed in both
	FateAgain        Fate = "seen_again"      // confirmed then; now it is seen, and not confirmed
	FateTooFew       Fate = "too_few"         // confirmed then; now not seen, in too few requests to say
	FateNotSeen      Fate = "not_seen_again"  // confirmed then; now not seen, and as often as it was then it would have been
	FateGone         Fate = "gone"            // confirmed then; now not seen, and at the least rate proven then it would have been
	FateNoise        Fate = "noise"           // confirmed in neither; its noise is another
)

// Fates lists them, the gravest first.
func Fates() []Fate {
	return []Fate{FateNew, FateNewConfirmed, FateStill, FateAgain, FateTooFew, FateNotSeen, FateGone, FateNoise}
}

// Contrasted is one field of one route in both runs.
type Contrasted struct {
	Route, Field string // as the later run names the route
	Fate         Fate
	Kind         diff.Test // that the counts are of: the one confirmed now, else the one confirmed then
	Informs      bool      // size and latency: it decides nothing
	Then, Now    Side
	Text         string // in words
}

// Side is a field in one of two runs.
type Side struct {
	Compared      int64     // requests that tell of the field
	Confirmed     bool      // at whatever test
	Kind          diff.Test // the gravest with evidence, where Confirmed
	CandidateOnly int64
	ControlOnly   int64
	Both          int64
	Noise         int64 // requests in which the control differs here at all
	ExcessBounds  [2]float64
}

// noiseRate is the share of requests in which the control differs.
func (s *Side) noiseRate() float64 { return float64(s.Noise) / float64(max(1, s.Compared)) }

// NewContrast compares two runs. Routes that became one since the earlier run are one there too; current is what a
// route's name has become.
func NewContrast(then, now *Snapshot, current func(string) string) *Contrast {
	c := contrasting{then: newContrastedRun(then), now: newContrastedRun(now), routes: map[string][]string{}, names: map[string]string{}}
	c.mapRoutes(current)
	c.gather()
	out := &Contrast{Then: then, Now: now, Fates: map[Fate]int{}}
	for key, found := range c.found {
		out.Fields = append(out.Fields, c.contrasted(key, found))
	}
	out.Fields = c.appendNoise(out.Fields)
	gravity := map[Fate]int{}
	for i, fate := range Fates() {
		gravity[fate] = i
	}
	slices.SortFunc(out.Fields, func(a, b Contrasted) int {
		return cmp.Or(gravity[a.Fate]-gravity[b.Fate], int(one(a.Informs)-one(b.Informs)), cmp.Compare(b.Kind, a.Kind),
			cmp.Compare(b.Then.CandidateOnly+b.Now.CandidateOnly, a.Then.CandidateOnly+a.Now.CandidateOnly),
			strings.Compare(a.Route, b.Route), strings.Compare(a.Field, b.Field))
	})
	for i := range out.Fields {
		out.Fates[out.Fields[i].Fate]++
	}
	return out
}

// contrasting is the work of NewContrast.
type contrasting struct {
	then, now contrastedRun
	names     map[string]string   // of the earlier run's routes, as the later run has them
	routes    map[string][]string // the other way round
	found     map[fieldKey]*[2]*diff.Finding
}

// contrastedRun is a run with its routes at hand.
type contrastedRun struct {
	*Snapshot
	routes map[string]*diff.RouteTally
}

func newContrastedRun(s *Snapshot) contrastedRun {
	r := contrastedRun{s, map[string]*diff.RouteTally{"": &s.Tallies.Total}}
	for _, row := range s.Tallies.Routes {
		r.routes[row.Route] = row
	}
	return r
}

func (c *contrasting) mapRoutes(current func(string) string) {
	c.names[""], c.routes[""] = "", []string{""}
	for _, r := range c.then.Tallies.Routes {
		name := r.Route
		if c.now.routes[name] == nil {
			if became := current(name); c.now.routes[became] != nil {
				name = became
			}
		}
		c.names[r.Route] = name
		c.routes[name] = append(c.routes[name], r.Route)
	}
}

// gather finds what is confirmed in either run.
func (c *contrasting) gather() {
	c.found = map[fieldKey]*[2]*diff.Finding{}
	for side, s := range []*Snapshot{c.then.Snapshot, c.now.Snapshot} {
		for i := range s.Verdict.Differences {
			f := &s.Verdict.Differences[i]
			if !f.Confirmed {
				continue
			}
			key := fieldKey{f.Route, f.Field}
			if side == 0 {
				key.route = c.names[f.Route]
			}
			both := c.found[key]
			if both == nil {
				both = new([2]*diff.Finding)
				c.found[key] = both
			}
			if both[side] == nil || f.Kind > both[side].Kind { // several routes have become one
				both[side] = f
			}
		}
	}
}

func (c *contrasting) contrasted(key fieldKey, found *[2]*diff.Finding) Contrasted {
	was, is := found[0], found[1]
	row := Contrasted{Route: key.route, Field: key.field}
	if is != nil {
		row.Kind, row.Informs = is.Kind, is.Informs
	} else {
		row.Kind, row.Informs = was.Kind, was.Informs
	}
	row.Then = c.then.side(c.routes[key.route], key.field, row.Kind)
	row.Now = c.now.side([]string{key.route}, key.field, row.Kind)
	row.Then.judge(was, row.Kind, c.then.Verdict.Alpha)
	row.Now.judge(is, row.Kind, c.now.Verdict.Alpha)
	row.Fate, row.Text = c.fate(&row)
	return row
}

// side adds up what a run has counted of a field in routes that are one now.
func (r *contrastedRun) side(routes []string, field string, test diff.Test) Side {
	side := Side{ExcessBounds: [2]float64{-1, 1}}
	for _, route := range routes {
		row := r.routes[route]
		if row == nil {
			continue
		}
		switch field {
		case latencyField:
			side.Compared += row.Latency.Slower + row.Latency.Faster
			side.CandidateOnly, side.ControlOnly = side.CandidateOnly+row.Latency.Slower, side.ControlOnly+row.Latency.Faster
			continue
		case transportField:
			side.Compared += row.Compared
		default:
			side.Compared += row.Judged()
		}
		if f := fieldTally(r.Tallies, route, field); f != nil {
			side.Noise += f.Noise
			side.CandidateOnly += f.Tests[test].CandidateOnly
			side.ControlOnly += f.Tests[test].ControlOnly
			side.Both += f.Tests[test].Both
		}
	}
	return side
}

// judge takes over what the run's verdict says of the field, and bounds the excess where that is of another test.
func (s *Side) judge(found *diff.Finding, test diff.Test, alpha float64) {
	if found != nil {
		s.Confirmed, s.Kind, s.ExcessBounds = true, found.Kind, found.ExcessBounds
	}
	if rest := s.Compared - s.CandidateOnly - s.ControlOnly; s.CandidateOnly > 0 && rest >= 0 && (found == nil || found.Kind != test) {
		s.ExcessBounds[0], s.ExcessBounds[1] = diff.Interval(s.CandidateOnly, rest, s.ControlOnly, alpha)
	}
}

// fieldTally finds one field's counts; without a route those of transport over all of them.
func fieldTally(all *diff.Tallies, route, field string) *diff.FieldTally {
	if route == "" && field == transportField {
		return all.AllTransport()
	}
	return findField(all, route, field)
}

// fate decides what has become of a difference that is confirmed in one run at least.
func (c *contrasting) fate(row *Contrasted) (Fate, string) {
	was, is := &row.Then, &row.Now
	switch {
	case was.Confirmed && is.Confirmed && was.Kind != is.Kind:
		return FateStill, "confirmed in both runs: its " + was.Kind.String() + " then, its " + is.Kind.String() + " now"
	case was.Confirmed && is.Confirmed:
		return FateStill, "confirmed in both runs"
	case is.Confirmed && was.CandidateOnly > 0:
		return FateNewConfirmed, "seen then in " + times(was) + " and not confirmed; confirmed now"
	case is.Confirmed && wouldShow(is.ExcessBounds[0], was.Compared, c.now.Verdict.Alpha):
		return FateNew, "not seen then in " + requests(was.Compared) + "; confirmed now"
	case is.Confirmed && was.Compared == 0:
		return FateNewConfirmed, "confirmed now; then its route was not compared"
	case is.Confirmed:
		return FateNewConfirmed, "confirmed now; then there were too few requests to say (" + humanize.Comma(was.Compared) + ")"
	case is.CandidateOnly > 0 && is.ControlOnly >= is.CandidateOnly && is.ExcessBounds[1] < was.ExcessBounds[0]:
		return FateGone, "seen now in " + times(is) + " as noise alone: the excess is less than the least that was proven then"
	case is.CandidateOnly > 0:
		return FateAgain, "seen again in " + times(is) + ", not confirmed"
	}
	observed := float64(was.CandidateOnly) / float64(max(1, was.Compared))
	switch alpha := c.then.Verdict.Alpha; {
	case wouldShow(was.ExcessBounds[0], is.Compared, alpha):
		return FateGone, "gone: not seen in " + requests(is.Compared) + ", of which the least rate proven then would have shown it"
	case wouldShow(observed, is.Compared, alpha):
		return FateNotSeen, "not seen again in " + requests(is.Compared)
	}
	if is.Compared == 0 {
		return FateTooFew, "its route was not compared"
	}
	return FateTooFew, "too few requests to say: not seen again in " + requests(is.Compared)
}

// wouldShow tells whether what happens in this share of requests would be seen in n of them, but for a chance of alpha.
func wouldShow(rate float64, n int64, alpha float64) bool {
	return rate > 0 && float64(n)*math.Log1p(-min(rate, 1-1e-12)) <= math.Log(alpha)
}

func requests(n int64) string {
	if n == 1 {
		return "1 request"
	}
	return humanize.Comma(n) + " requests"
}

func times(s *Side) string { return humanize.Comma(s.CandidateOnly) + " of " + requests(s.Compared) }

// appendNoise adds the fields that are confirmed in neither run and are noisy in another share of the requests than they
// were, beyond chance.
func (c *contrasting) appendNoise(rows []Contrasted) []Contrasted {
	seen := map[fieldKey]bool{}
	add := func(route, field string) {
		key := fieldKey{route, field}
		if seen[key] || c.found[key] != nil {
			return
		}
		seen[key] = true
		row := Contrasted{
			Route: route, Field: field, Fate: FateNoise, Informs: field == diff.FieldSize,
			Then: c.then.side(c.routes[route], field, diff.TestValue), Now: c.now.side([]string{route}, field, diff.TestValue),
		}
		if was, is := row.Then.noiseRate(), row.Now.noiseRate(); row.Then.Compared > 0 && row.Now.Compared > 0 && apart(&row.Then, &row.Now) {
			row.Text = "more noise than then"
			if is < was {
				row.Text = "less noise than then"
			}
			rows = append(rows, row)
		}
	}
	for _, f := range c.then.Tallies.Fields {
		if f.Noise > 0 {
			add(c.names[f.Route], f.Field)
		}
	}
	for _, f := range c.now.Tallies.Fields {
		if f.Noise > 0 {
			add(f.Route, f.Field)
		}
	}
	return rows
}

// apart tells whether two rates of noise differ by more than four times what chance gives them.
func apart(a, b *Side) bool {
	all := float64(a.Noise+b.Noise) / float64(a.Compared+b.Compared)
	spread := math.Sqrt(all * (1 - all) * (1/float64(a.Compared) + 1/float64(b.Compared)))
	return math.Abs(a.noiseRate()-b.noiseRate()) > 4*spread
}
