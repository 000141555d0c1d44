package diff

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Add adds up what several proxies have counted of the same candidate under the same rules, each from the start of its
// run. The list's members stay as they are; one alone is answered as it is, and none is a run that has counted nothing.
//
// The evidence of a hypothesis is that of the sums: it depends on counts alone, so it is what one proxy would have found
// that had seen all the requests. The numbers interleave. Hypothesis o of proxy p (from 0) among m becomes number
// (o−1)·m+p+1, so that no two share one, and one that several proxies have numbered takes the least of its numbers. It is
// confirmed anew: once E ≥ (j+20)²/(20·α) for that number j.
//
// Why the promise holds, that noise is ever confirmed with a chance of α at most: let the candidate be as good as the
// control, and fix when and where requests are discordant, for good and at every proxy. Exchanging the two names in any one
// request is then as likely as not, so given all that, each hypothesis is a fair coin at every throw, and its E on the
// sums is a martingale that begins at 1, in whatever order the proxies' requests come. The numbers that a hypothesis ever
// has, and the least of them, follow from what was fixed: which side it was on has no part in them. So the chance that its E
// ever reaches its bound is at most 20·α/(j+20)² for the least j that it ever gets. All those j are different, hence the sum
// over all hypotheses is at most that over all numbers ever given, which is below α.
//
// What a proxy has confirmed by itself is not taken over: each may spend α for itself, and of m proxies some would confirm
// noise with a chance of up to m·α. A difference that is real has its evidence in the sums as well. Who must not be more
// hopeful than any of the proxies asks each for its own verdict, too.
func Add(list ...*Tallies) *Tallies {
	if len(list) == 1 {
		return list[0]
	}
	s := addition{of: len(list), routes: map[string]*RouteTally{}, fields: map[[2]string]*FieldTally{}, all: &Tallies{}}
	for i, t := range list {
		s.proxy = i
		s.add(t)
	}
	s.all.Routes = slices.SortedFunc(maps.Values(s.routes), compareRoutes)
	s.all.Fields = slices.SortedFunc(maps.Values(s.fields), CompareFields)
	return s.all
}

// addition is one call of Add.
type addition struct {
	of, proxy int // how many proxies there are, and the one that is being added
	all       *Tallies
	routes    map[string]*RouteTally
	fields    map[[2]string]*FieldTally
}

func (s *addition) add(t *Tallies) {
	s.route(&s.all.Total, &t.Total)
	s.all.Transport.Counts.Merge(t.Transport.Counts)
	s.all.Transport.Minutes.merge(t.Transport.Minutes)
	s.all.Paused += t.Paused
	s.all.Awaited += t.Awaited
	s.all.Stale.Candidate += t.Stale.Candidate
	s.all.Stale.Control += t.Stale.Control
	for _, r := range t.Routes {
		to := s.routes[r.Route]
		if to == nil {
			to = &RouteTally{Route: r.Route}
			s.routes[r.Route] = to
		}
		s.route(to, r)
	}
	for _, f := range t.Fields {
		key := [2]string{f.Route, f.Field}
		to := s.fields[key]
		if to == nil {
			to = &FieldTally{Route: f.Route, Field: f.Field}
			s.fields[key] = to
		}
		s.field(to, f)
	}
}

func (s *addition) route(to, from *RouteTally) {
	to.merge(from)
	to.Given = to.Given || from.Given
	s.number(&to.Order, from.Order)
	s.number(&to.Latency.Order, from.Latency.Order)
}

func (s *addition) field(to, from *FieldTally) {
	to.merge(from)
	for i := range to.Tests {
		s.number(&to.Tests[i].Order, from.Tests[i].Order)
	}
}

// number takes in the number that this proxy has given to a hypothesis, if it has.
func (s *addition) number(to *int, own int) {
	if own == 0 {
		return
	}
	j := (own-1)*s.of + s.proxy + 1
	if *to == 0 || j < *to {
		*to = j
	}
}

// Check says what keeps tallies that came from elsewhere from being those of a run, if anything does.
func (t *Tallies) Check() error {
	if err := t.Total.check(); err != nil {
		return fmt.Errorf("the total %w", err)
	}
	known := map[string]bool{}
	for i, r := range t.Routes {
		if r == nil {
			return fmt.Errorf("route %d is null", i)
		}
		if i > 0 && compareRoutes(t.Routes[i-1], r) >= 0 {
			return fmt.Errorf("route %q is not in its place, or there twice", r.Route)
		}
		if err := r.check(); err != nil {
			return fmt.Errorf("route %q %w", r.Route, err)
		}
		known[r.Route] = true
	}
	for i, f := range t.Fields {
		if f == nil {
			return fmt.Errorf("field %d is null", i)
		}
		if i > 0 && CompareFields(t.Fields[i-1], f) >= 0 {
			return fmt.Errorf("field %q of route %q is not in its place, or there twice", f.Field, f.Route)
		}
		if !known[f.Route] {
			return fmt.Errorf("field %q is of route %q, which is not there", f.Field, f.Route)
		}
		if !possible(f.TraitGreater, f.TraitLess, f.TraitTurns) {
			return fmt.Errorf("field %q of route %q has counts that cannot be", f.Field, f.Route)
		}
		for k := range f.Tests {
			if c := f.Tests[k]; !possible(c.CandidateOnly, c.ControlOnly, c.Both, int64(c.Order)) {
				return fmt.Errorf("field %q of route %q has counts that cannot be", f.Field, f.Route)
			}
		}
	}
	return nil
}

func (r *RouteTally) check() error {
	c := r.Results
	switch {
	case !possible(r.Compared, r.Failed, r.Raw, r.Noise, r.NoControl, c.CandidateOnly, c.ControlOnly, c.Both,
		r.Latency.Slower, r.Latency.Faster, int64(r.Order), int64(r.Latency.Order)):
		return errors.New("has counts that cannot be")
	case r.Course.Used < 0 || r.Course.Used > courseSpans:
		return fmt.Errorf("has a course of %d spans", r.Course.Used)
	}
	return nil
}

// possible says whether these can be counts: none below zero, none so large that sums could overflow.
func possible(counts ...int64) bool {
	return !slices.ContainsFunc(counts, func(n int64) bool { return n < 0 || n > 1<<53 })
}
