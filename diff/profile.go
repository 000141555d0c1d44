package diff

import (
	"maps"
	"slices"
	"strings"
	"time"
)

const (
	// profiledPlaces is how many places of one field in one exchange are profiled, the first ones: an array of a thousand
	// prices says no more about them than a few do.
	profiledPlaces = 4

	profiledFields  = 64    // of one exchange
	routeProfiles   = 128   // fields of one route that have a profile
	allProfiles     = 2_000 // of one run: 34 MB if each were as large as it may be, a tenth of that most often
	profiledClasses = 24    // different shapes of one role
)

// FieldProfile is what stood in one field of one route in those exchanges in which it differed: for each role the most
// frequent values, their shapes, and how long and how great they are. Values are redacted before they come here, and cut.
// It takes 17 KB at most, and merges.
type FieldProfile struct {
	Route, Field string

	Exchanges     int64 // in which the field differed and its values were to be seen
	CandidateOnly int64 // of these: the candidate differed more gravely than the secondary
	ControlOnly   int64 // the other way round
	Both          int64 // both differed, and equally so; in the rest nothing did but how great something is in sum, as a size
	Places        int64 // that were profiled, the first four of an exchange
	MorePlaces    int64 // that were not
	Withheld      int64 // exchanges in which a value was redacted, so that none was kept
	First, Last   time.Time
	Late          bool // the field had differed before it was profiled
	Roles         [3]RoleProfile

	dirty bool
}

// RoleProfile is one role's part: one value for each place.
type RoleProfile struct {
	Values  TopValues
	Shapes  []ShapeCount // in the order in which they were first seen
	Lengths Numbers      // characters of strings, elements of arrays, members of objects, bytes of bodies
	Numbers Numbers      // of numbers, and of strings that are numbers
}

// ShapeCount is how often a value was of a shape.
type ShapeCount struct {
	Shape string
	Count int64
}

// add counts what one exchange shows of the field.
func (p *FieldProfile) add(v *FieldValues, at time.Time) {
	spread(&p.First, &p.Last, at)
	switch {
	case v.Candidate > v.Control:
		p.CandidateOnly++
	case v.Control > v.Candidate:
		p.ControlOnly++
	case v.Candidate > 0:
		p.Both++
	}
	p.Exchanges++
	if v.Withheld {
		p.Withheld++
		return
	}
	p.MorePlaces += int64(v.More)
	p.Places += int64(len(v.Places))
	for i := range v.Places {
		for role := range v.Places[i] {
			p.Roles[role].add(&v.Places[i][role])
		}
	}
}

func (r *RoleProfile) add(v *SeenValue) {
	if v.Shape == "" { // the role was not asked
		return
	}
	r.Values.add(v)
	r.shape(v.Shape, 1)
	if v.Length >= 0 {
		r.Lengths.Add(float64(v.Length))
	}
	if v.IsNumber {
		r.Numbers.Add(v.Number)
	}
}

func (r *RoleProfile) shape(shape string, n int64) {
	for i := range r.Shapes {
		if r.Shapes[i].Shape == shape {
			r.Shapes[i].Count += n
			return
		}
	}
	if len(r.Shapes) < profiledClasses {
		r.Shapes = append(r.Shapes, ShapeCount{shape, n})
	}
}

// Clone returns a copy that shares nothing with p.
func (p *FieldProfile) Clone() *FieldProfile {
	c := *p
	for i := range c.Roles {
		r := &c.Roles[i]
		r.Values, r.Shapes = r.Values.clone(), slices.Clone(r.Shapes)
		r.Lengths, r.Numbers = r.Lengths.Clone(), r.Numbers.Clone()
	}
	return &c
}

// merge adds another field's profile to this one.
func (p *FieldProfile) merge(o *FieldProfile) {
	p.Exchanges += o.Exchanges
	p.CandidateOnly += o.CandidateOnly
	p.ControlOnly += o.ControlOnly
	p.Both += o.Both
	p.Places += o.Places
	p.MorePlaces += o.MorePlaces
	p.Withheld += o.Withheld
	p.Late = p.Late || o.Late
	stretch(&p.First, &p.Last, o.First, o.Last)
	for i := range p.Roles {
		to, from := &p.Roles[i], &o.Roles[i]
		to.Values.merge(&from.Values)
		for _, s := range from.Shapes {
			to.shape(s.Shape, s.Count)
		}
		to.Lengths.Merge(&from.Lengths)
		to.Numbers.Merge(&from.Numbers)
	}
}

// Profiles are the profiles of one run: of 2,000 fields at most, 128 a route. When there is no more room, a field in which
// the candidate differs more gravely than the secondary takes the place of one in which it never did. Profiles are not
// safe for concurrent use.
type Profiles struct {
	routes  map[string]map[string]*FieldProfile
	count   int
	settled map[string]bool // routes, and with "" the run, in which nobody is left who may have to give way
	out     outbox[*FieldProfile, FieldAddress]
}

// FieldAddress names a field of a route.
type FieldAddress struct{ Route, Field string }

// NewProfiles returns Profiles without any.
func NewProfiles() *Profiles {
	return &Profiles{routes: map[string]map[string]*FieldProfile{}, settled: map[string]bool{}}
}

// Add counts the values that a comparison carries, under the name that its route is counted under.
func (p *Profiles) Add(route string, c *Comparison) {
	for i := range c.Values {
		v := &c.Values[i]
		f := p.find(route, v)
		if f == nil {
			continue
		}
		f.add(v, c.Time)
		p.out.touch(f)
	}
}

// find finds or begins a profile; nil when there is no room.
func (p *Profiles) find(route string, v *FieldValues) *FieldProfile {
	fields := p.routes[route]
	if f := fields[v.Field]; f != nil {
		return f
	}
	late := false
	if p.count >= allProfiles || len(fields) >= routeProfiles {
		if v.Candidate <= v.Control || !p.giveWay(route, fields) {
			return nil
		}
		late = true
	}
	f := &FieldProfile{Route: strings.Clone(route), Field: strings.Clone(v.Field), Late: late}
	p.put(f)
	return f
}

func (p *Profiles) put(f *FieldProfile) {
	if p.routes[f.Route] == nil {
		p.routes[f.Route] = map[string]*FieldProfile{}
	}
	p.routes[f.Route][f.Field] = f
	p.count++
}

// giveWay removes a profile of a field in which the candidate never differed more gravely: of the route if it can be, or
// if that has as many as it may have.
func (p *Profiles) giveWay(route string, fields map[string]*FieldProfile) bool {
	if !p.settled[route] {
		if p.removeOne(fields) {
			return true
		}
		p.settled[strings.Clone(route)] = true
	}
	if len(fields) >= routeProfiles || p.settled[""] {
		return false
	}
	for _, other := range slices.Sorted(maps.Keys(p.routes)) {
		if p.removeOne(p.routes[other]) {
			return true
		}
	}
	p.settled[""] = true
	return false
}

func (p *Profiles) removeOne(fields map[string]*FieldProfile) bool {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if f := fields[name]; f.CandidateOnly == 0 {
			p.remove(f)
			return true
		}
	}
	return false
}

func (p *Profiles) remove(f *FieldProfile) {
	delete(p.routes[f.Route], f.Field)
	if len(p.routes[f.Route]) == 0 {
		delete(p.routes, f.Route)
	}
	p.count--
	p.out.drop(f)
}

// Profile returns a copy of a field's profile; nil when there is none.
func (p *Profiles) Profile(route, field string) *FieldProfile {
	if f := p.routes[route][field]; f != nil {
		return f.Clone()
	}
	return nil
}

// Fields lists the fields of a route that have a profile, in order.
func (p *Profiles) Fields(route string) []string { return slices.Sorted(maps.Keys(p.routes[route])) }

// All lists every field that has a profile, by route and name.
func (p *Profiles) All() (all []FieldAddress) {
	for _, route := range slices.Sorted(maps.Keys(p.routes)) {
		for _, field := range p.Fields(route) {
			all = append(all, FieldAddress{route, field})
		}
	}
	return all
}

// Restore takes in a profile that was counted before; it is not to be used by others afterwards.
func (p *Profiles) Restore(f *FieldProfile) {
	if p.routes[f.Route][f.Field] == nil && p.count < allProfiles {
		f.dirty = false
		p.put(f)
	}
}

// Merge adds the profiles of routes to those of another and forgets them. A route may have more of them by that than it
// may begin.
func (p *Profiles) Merge(into string, from ...string) {
	for _, name := range slices.Sorted(slices.Values(from)) {
		if name == into {
			continue
		}
		fields := p.routes[name]
		for _, field := range slices.Sorted(maps.Keys(fields)) {
			part := fields[field]
			p.remove(part)
			to := p.routes[into][field]
			if to == nil {
				to = &FieldProfile{Route: into, Field: field}
				p.put(to)
			}
			to.merge(part)
			p.out.touch(to)
		}
	}
}

// Take returns copies of the profiles that changed since they were last taken, those that have waited longest first and so
// many at most, but only those that are due; and the fields that have no profile any more, with all that changed, since
// what was theirs may be in these. Both are then no longer remembered: give back with Changed what did not get where it
// was to go.
func (p *Profiles) Take(most int, due func(FieldAddress) bool) (changed []*FieldProfile, gone []FieldAddress) {
	return p.out.take(most, due)
}

func (p *FieldProfile) name() FieldAddress { return FieldAddress{p.Route, p.Field} }
func (p *FieldProfile) mark() *bool        { return &p.dirty }

// Changed has a field taken again, also when it is one that has no profile any more.
func (p *Profiles) Changed(at FieldAddress) {
	if f := p.routes[at.Route][at.Field]; f != nil {
		p.out.touch(f)
	} else {
		p.out.gone = append(p.out.gone, at)
	}
}

// Pending tells whether there is something to take.
func (p *Profiles) Pending() bool { return p.out.pending() }
