package store

import (
	"maps"
	"strings"
	"time"

	"shadowdiff/diff"
)

const (
	minuteSpan = 60
	hourSpan   = 3600
	daySpan    = 24 * hourSpan

	// seriesFields bounds the fields that have a series of their own in one hour; those of a route that come later are
	// counted together, as diff.Other. A run whose fields all differ all the time would else write without bound.
	seriesFields = 1000

	// seriesOpen is for how long a minute stays in memory after it is over. One that is needed again is read back.
	seriesOpen = 2 * time.Minute

	// seriesHeld is how long minutes wait for the disk one by one; then they are laid together.
	seriesHeld = 15 * time.Minute
)

// bucket is what one minute counted for one route: the whole of it, with what the disk had before.
type bucket struct {
	compared, unknown, failed, raw, noise int64
	diff.Counts
	changed bool // since it was last collected
}

func (b *bucket) merge(o *bucket) {
	b.compared += o.compared
	b.unknown += o.unknown
	b.failed += o.failed
	b.raw += o.raw
	b.noise += o.noise
	b.Counts.Merge(o.Counts)
	b.changed = true
}

// testCounts are the counts of all tests of one field.
type testCounts [len(diff.FieldTally{}.Tests)]diff.Counts

// fieldBucket is what one minute counted for one field, as bucket does.
type fieldBucket struct {
	tests   testCounts
	changed bool
}

func (b *fieldBucket) merge(o *testCounts) {
	for i := range o {
		b.tests[i].Merge(o[i])
	}
	b.changed = true
}

// count adds what one comparison says of the field: each test counts what diff.Tally has it count.
func (b *fieldBucket) count(fc *diff.FieldComparison) {
	b.changed = true
	for test := diff.TestValue; test <= diff.TestPresence; test++ {
		gravity := diff.Level(test) + 1
		b.tests[test].Pair(fc.Candidate >= gravity, fc.Control >= gravity)
	}
	if fc.Candidate > 0 && fc.Control > 0 {
		b.tests[diff.TestExtent].Pair(fc.CandidatePlaces > fc.ControlPlaces, fc.ControlPlaces > fc.CandidatePlaces)
	}
	b.tests[diff.TestDrift].Pair(fc.Drift > 0, fc.Drift < 0)
}

// routeMinute is one minute of one route, with those of its fields that differed in it.
type routeMinute struct {
	bucket
	fields map[string]*fieldBucket
}

// minute is one minute of a run.
type minute struct {
	begin  int64 // Unix seconds
	loaded bool  // what the disk had of it has been added
	routes map[string]*routeMinute
}

// series are the minutes of a run that are still open. The key is the minute's first second, the route "" all routes.
// The memory is bounded by some sixty minutes, each of no more than 1,000 fields, and routes with one diff.Other each.
type series struct {
	minutes map[int64]*minute
	last    *minute // most comparisons fall in the same minute as the one before
	hour    int64   // the latest one
	newest  int64   // seconds up to here have been counted before: the disk knows nothing of a minute that begins later
	own     map[fieldKey]bool
	gone    map[int64]bool // minutes whose rows are to be removed: others hold their counts
}

// add counts one comparison in its minute. route is its name under the caps of the tally.
func (s *series) add(route string, c *diff.Comparison, tally *diff.Tally) {
	m := s.at(c.Time.Unix() / minuteSpan * minuteSpan)
	whole := wholeBucket(c)
	m.route("").merge(&whole)
	r := m.route(route)
	r.merge(&whole)
	beyond := diff.FieldComparison{}
	for i := range c.Fields {
		fc := &c.Fields[i]
		if fc.Candidate == 0 && fc.Control == 0 && fc.Drift == 0 {
			continue
		}
		f := r.fields[fc.Field]
		if f == nil && tally.KnowsField(route, fc.Field) && s.admits(m.begin, fieldKey{route, fc.Field}) {
			f = r.field(fc.Field)
		}
		if f != nil {
			f.count(fc)
			continue
		}
		beyond.Candidate, beyond.Control = max(beyond.Candidate, fc.Candidate), max(beyond.Control, fc.Control)
		beyond.CandidatePlaces += fc.CandidatePlaces
		beyond.ControlPlaces += fc.ControlPlaces
	}
	if beyond.Candidate > 0 || beyond.Control > 0 {
		r.field(diff.Other).count(&beyond)
	}
}

// admits tells whether a field has a series of its own in the hour of a minute: the first ones to differ in it have, so
// those that differ often.
func (s *series) admits(begin int64, at fieldKey) bool {
	if hour := begin / hourSpan; hour > s.hour || s.own == nil {
		s.hour, s.own = hour, map[fieldKey]bool{}
	}
	if s.own[at] {
		return true
	}
	if len(s.own) >= seriesFields {
		return false
	}
	s.own[fieldKey{strings.Clone(at.route), strings.Clone(at.field)}] = true
	return true
}

func (s *series) at(begin int64) *minute {
	if s.last != nil && s.last.begin == begin {
		return s.last
	}
	m := s.minutes[begin]
	if m == nil {
		m = &minute{begin: begin, routes: map[string]*routeMinute{}, loaded: begin > s.newest}
		s.minutes[begin], s.newest = m, max(s.newest, begin)
	}
	s.last = m
	return m
}

func (m *minute) route(name string) *routeMinute {
	r := m.routes[name]
	if r == nil {
		r = &routeMinute{fields: map[string]*fieldBucket{}}
		m.routes[strings.Clone(name)] = r // the name may be a part of the whole request
	}
	return r
}

func (r *routeMinute) field(name string) *fieldBucket {
	f := r.fields[name]
	if f == nil {
		f = &fieldBucket{}
		r.fields[strings.Clone(name)] = f
	}
	return f
}

func wholeBucket(c *diff.Comparison) bucket {
	if c.Unknown != "" {
		return bucket{unknown: 1}
	}
	b := bucket{compared: 1, failed: one(c.Failed), raw: one(c.Raw), noise: one(c.Noise)}
	switch c.Result {
	case diff.CandidateOnly:
		b.CandidateOnly = 1
	case diff.ControlOnly:
		b.ControlOnly = 1
	case diff.Both:
		b.Both = 1
	}
	return b
}

func one(is bool) int64 {
	if is {
		return 1
	}
	return 0
}

// collect adds the buckets that changed since it was last called, of minutes that are loaded, and tells whether others
// have to wait.
func (s *series) collect(rows *seriesRows) (waiting bool) {
	for begin := range s.gone {
		rows.gone = append(rows.gone, begin)
	}
	for _, m := range s.minutes {
		if !m.loaded {
			waiting = true
			continue
		}
		for route, r := range m.routes {
			if r.changed {
				r.changed = false
				rows.routes = append(rows.routes, routeRow{route, m.begin, r.bucket})
			}
			for field, f := range r.fields {
				if f.changed {
					f.changed = false
					rows.fields = append(rows.fields, fieldRow{fieldKey{route, field}, m.begin, f.tests})
				}
			}
		}
	}
	return waiting
}

// restore marks the rows' buckets as changed again, because they did not reach the disk.
func (s *series) restore(rows *seriesRows) {
	for _, row := range rows.routes {
		s.at(row.begin).route(row.route).changed = true
	}
	for _, row := range rows.fields {
		s.at(row.begin).route(row.route).field(row.field).changed = true
	}
}

// rewrite marks everything as not yet on the disk: the disk has nothing.
func (s *series) rewrite() {
	s.gone = nil
	for _, m := range s.minutes {
		m.loaded = true
		for _, r := range m.routes {
			r.changed = true
			for _, f := range r.fields {
				f.changed = true
			}
		}
	}
}

// unloaded are the minutes of which the disk may know more than the memory.
func (s *series) unloaded() []int64 {
	var begins []int64
	for begin, m := range s.minutes {
		if !m.loaded {
			begins = append(begins, begin)
		}
	}
	return begins
}

// load adds what the disk had of a minute.
func (s *series) load(begin int64, rows *seriesRows) {
	m := s.at(begin)
	m.loaded = true
	if s.gone[begin] {
		return
	}
	for i := range rows.routes {
		r := m.route(rows.routes[i].route)
		changed := r.changed
		r.merge(&rows.routes[i].bucket)
		r.changed = changed
	}
	for i := range rows.fields {
		row := &rows.fields[i]
		if row.field != diff.Other {
			s.admits(begin, row.fieldKey)
		}
		f := m.route(row.route).field(row.field)
		changed := f.changed
		f.merge(&row.tests)
		f.changed = changed
	}
}

// close forgets minutes that are over and on the disk.
func (s *series) close(now time.Time) {
	s.gone = nil
	limit := now.Add(-seriesOpen).Unix()
	for begin, m := range s.minutes {
		if begin+minuteSpan <= limit && !m.changed() {
			s.forget(m)
		}
	}
}

func (s *series) forget(m *minute) {
	delete(s.minutes, m.begin)
	if s.last == m {
		s.last = nil
	}
}

// condense lays together the minutes that have waited long for the disk, into the first minute of their hour, or of their
// day: what is counted while the disk is away for hours is kept, with less detail, in bounded memory.
func (s *series) condense(now time.Time) {
	for begin, m := range s.minutes {
		age := now.Unix() - begin
		into := begin
		switch {
		case age >= daySpan:
			into = begin / daySpan * daySpan
		case age >= int64(seriesHeld/time.Second):
			into = begin / hourSpan * hourSpan
		}
		if into != begin {
			s.lay(m, s.at(into))
		}
	}
}

// lay adds a minute to another. Its rows on the disk, if its counts contain them, have to go.
func (s *series) lay(m, into *minute) {
	for route, r := range m.routes {
		target := into.route(route)
		target.merge(&r.bucket)
		for field, f := range r.fields {
			target.field(field).merge(&f.tests)
		}
	}
	if m.loaded {
		if s.gone == nil {
			s.gone = map[int64]bool{}
		}
		s.gone[m.begin] = true
	}
	s.forget(m)
}

func (m *minute) changed() bool {
	for _, r := range m.routes {
		if r.changed {
			return true
		}
		for _, f := range r.fields {
			if f.changed {
				return true
			}
		}
	}
	return !m.loaded
}

// move merges the minutes in memory when a route becomes another. Those on the disk are merged there.
func (s *series) move(from, to string) {
	for _, m := range s.minutes {
		source := m.routes[from]
		if source == nil {
			continue
		}
		delete(m.routes, from)
		target := m.route(to)
		target.merge(&source.bucket)
		for field, b := range source.fields {
			target.field(field).merge(&b.tests)
		}
	}
	for at := range maps.Clone(s.own) {
		if at.route == from {
			delete(s.own, at)
			s.own[fieldKey{to, at.field}] = true
		}
	}
}
