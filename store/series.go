package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"shadowdiff/diff"
)

// Point is one minute of a route, of all routes, or of one field; one hour when it is older than a day.
type Point struct {
	Minute                                time.Time     // its beginning
	Span                                  time.Duration // a minute, or an hour
	Compared, Unknown, Failed, Raw, Noise int64
	diff.Counts
}

const (
	minuteSpan = 60
	hourSpan   = 3600

	// seriesFields bounds the fields that have a series of their own in one minute; a run whose fields all differ all the
	// time would else write a thousand times more than it counts.
	seriesFields = 1000

	// seriesOpen is for how long a minute stays in memory after it is over. One that is needed again is read back.
	seriesOpen = 2 * time.Minute
)

// bucket is what one minute counted for one route or field: the whole of it, with what the disk had before.
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
	b.CandidateOnly += o.CandidateOnly
	b.ControlOnly += o.ControlOnly
	b.Both += o.Both
	b.changed = true
}

// routeMinute is one minute of one route, with those of its fields that differed in it.
type routeMinute struct {
	bucket
	fields map[string]*bucket
}

// minute is one minute of a run.
type minute struct {
	begin  int64 // Unix seconds
	loaded bool  // what the disk had of it has been added
	routes map[string]*routeMinute
	fields int
}

// series are the minutes of a run that are still open. The key is the minute's first second.
type series struct {
	minutes map[int64]*minute
	last    *minute // most comparisons fall in the same minute as the one before
}

// add counts one comparison in its minute. route is its name under the caps.
func (s *series) add(route string, c *diff.Comparison) {
	m := s.at(c.Time.Unix() / minuteSpan * minuteSpan)
	whole := wholeBucket(c)
	m.route("").merge(&whole)
	r := m.route(route)
	r.merge(&whole)
	for i := range c.Fields {
		if f := m.field(r, c.Fields[i].Field); f != nil {
			one := fieldBucket(&c.Fields[i])
			f.merge(&one)
		}
	}
}

func (s *series) at(begin int64) *minute {
	if s.last != nil && s.last.begin == begin {
		return s.last
	}
	m := s.minutes[begin]
	if m == nil {
		m = &minute{begin: begin, routes: map[string]*routeMinute{}}
		s.minutes[begin] = m
	}
	s.last = m
	return m
}

func (m *minute) route(name string) *routeMinute {
	r := m.routes[name]
	if r == nil {
		r = &routeMinute{fields: map[string]*bucket{}}
		m.routes[strings.Clone(name)] = r // the name may be a part of the whole request
	}
	return r
}

// field answers nil when the minute has as many fields as it may have.
func (m *minute) field(r *routeMinute, name string) *bucket {
	f := r.fields[name]
	if f == nil && m.fields < seriesFields {
		f = &bucket{}
		r.fields[strings.Clone(name)] = f
		m.fields++
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

func fieldBucket(f *diff.FieldComparison) bucket {
	candidate, control := f.Candidate > 0, f.Control > 0
	b := bucket{raw: one(candidate), noise: one(control)}
	b.CandidateOnly = one(candidate && !control)
	b.ControlOnly = one(control && !candidate)
	b.Both = one(candidate && control)
	return b
}

func one(is bool) int64 {
	if is {
		return 1
	}
	return 0
}

// seriesRow is one bucket on its way to the disk.
type seriesRow struct {
	route, field string
	begin        int64
	bucket
}

// collect returns the buckets that changed since it was last called, of minutes that are loaded, and whether others
// have to wait.
func (s *series) collect() (rows []seriesRow, waiting bool) {
	for _, m := range s.minutes {
		if !m.loaded {
			waiting = true
			continue
		}
		for route, r := range m.routes {
			if r.changed {
				r.changed = false
				rows = append(rows, seriesRow{route, "", m.begin, r.bucket})
			}
			for field, f := range r.fields {
				if f.changed {
					f.changed = false
					rows = append(rows, seriesRow{route, field, m.begin, *f})
				}
			}
		}
	}
	return rows, waiting
}

// restore marks the rows' buckets as changed again, because they did not reach the disk.
func (s *series) restore(rows []seriesRow) {
	for _, row := range rows {
		r := s.at(row.begin).route(row.route)
		if row.field == "" {
			r.changed = true
		} else if f := r.fields[row.field]; f != nil {
			f.changed = true
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
func (s *series) load(begin int64, rows []seriesRow) {
	m := s.at(begin)
	m.loaded = true
	for _, row := range rows {
		r := m.route(row.route)
		b := &r.bucket
		if row.field != "" {
			if b = r.fields[row.field]; b == nil {
				b = &bucket{}
				r.fields[row.field] = b
				m.fields++
			}
		}
		changed := b.changed
		b.merge(&row.bucket)
		b.changed = changed
	}
}

// close forgets minutes that are over and on the disk.
func (s *series) close(now time.Time) {
	limit := now.Add(-seriesOpen).Unix()
	for begin, m := range s.minutes {
		if begin+minuteSpan <= limit && !m.changed() {
			delete(s.minutes, begin)
			if s.last == m {
				s.last = nil
			}
		}
	}
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

// readMinute returns what the disk has of one minute.
func (db *DB) readMinute(ctx context.Context, run, begin int64) ([]seriesRow, error) {
	rows, err := db.file.read.QueryContext(ctx, `SELECT route, field, begin, compared, unknown, failed, raw, noise,
		candidate_only, control_only, both_sides FROM series WHERE span = ? AND begin = ? AND run = ?`, minuteSpan, begin, run)
	return scanAll(rows, err, func(scan func(...any) error, r *seriesRow) error {
		return scan(&r.route, &r.field, &r.begin, &r.compared, &r.unknown, &r.failed, &r.raw, &r.noise,
			&r.CandidateOnly, &r.ControlOnly, &r.Both)
	})
}

// Series returns a route's points in the order of time, those of all routes together without one, and with a Field those
// of the field: they have a point for each one of the route, with nothing counted where the field did not differ, and
// Compared is what the route compared less what failed, unless the field is transport. Points exist for minutes in which
// something ended. Limit, Cursor and Result are not used.
func (db *DB) Series(ctx context.Context, f Filter) ([]Point, error) {
	route, err := db.routeOf(ctx, f)
	if err != nil {
		return nil, fmt.Errorf("read series: %w", err)
	}
	since, until := int64(0), int64(1<<62)
	if !f.Since.IsZero() {
		since = f.Since.Unix()
	}
	if !f.Until.IsZero() {
		until = f.Until.Unix()
	}
	query := `SELECT begin, span, compared, unknown, failed, raw, noise, candidate_only, control_only, both_sides
		FROM series WHERE run = ? AND route = ? AND field = '' AND begin + span > ? AND begin < ? ORDER BY begin, span DESC`
	args := []any{db.runOf(f), route, since, until}
	if f.Field != "" {
		of := "route = ?4"
		if route == "" {
			of = "route <> ''"
		}
		query = `SELECT r.begin, r.span, r.compared - iif(?2 = ?7, 0, r.failed), 0, 0, coalesce(f.raw, 0), coalesce(f.noise, 0),
			coalesce(f.candidate_only, 0), coalesce(f.control_only, 0), coalesce(f.both_sides, 0)
			FROM series r LEFT JOIN (SELECT span, begin, sum(raw) AS raw, sum(noise) AS noise, sum(candidate_only) AS candidate_only,
				sum(control_only) AS control_only, sum(both_sides) AS both_sides FROM series
				WHERE run = ?1 AND field = ?2 AND ` + of + ` GROUP BY span, begin) f
			ON f.span = r.span AND f.begin = r.begin
			WHERE r.run = ?3 AND r.route = ?4 AND r.field = '' AND r.begin + r.span > ?5 AND r.begin < ?6
			ORDER BY r.begin, r.span DESC`
		args = append(append([]any{db.runOf(f), f.Field}, args...), transportField)
	}
	rows, err := db.file.read.QueryContext(ctx, query, args...)
	points, err := scanAll(rows, err, func(scan func(...any) error, p *Point) error {
		var begin, span int64
		err := scan(&begin, &span, &p.Compared, &p.Unknown, &p.Failed, &p.Raw, &p.Noise,
			&p.CandidateOnly, &p.ControlOnly, &p.Both)
		p.Minute, p.Span = time.Unix(begin, 0).UTC(), time.Duration(span)*time.Second
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read series: %w", err)
	}
	return points, nil
}
