package store

import (
	"context"
	"fmt"
	"time"

	"shadowdiff/diff"
)

// Point is one minute of a route, of all routes, or of one test of a field; one hour when it is older than a day, and one
// day when it is older than two weeks.
type Point struct {
	Minute                                time.Time     // its beginning
	Span                                  time.Duration // a minute, an hour or a day
	Compared, Unknown, Failed, Raw, Noise int64
	diff.Counts
}

// wholeSeries are the columns of a route's point.
const wholeSeries = `compared, unknown, failed, raw, noise, candidate_only, control_only, both_sides`

// readMinute adds what the disk has of one minute.
func (db *DB) readMinute(ctx context.Context, run, begin int64, into *seriesRows) error {
	rows, err := db.file.read.QueryContext(ctx, `SELECT '' AS route, `+wholeSeries+` FROM run_series
		WHERE run = ?1 AND span = 60 AND begin = ?2
		UNION ALL SELECT n.route, s.compared, s.unknown, s.failed, s.raw, s.noise, s.candidate_only, s.control_only, s.both_sides
		FROM route_series s JOIN series_name n ON n.id = s.name WHERE s.span = 60 AND s.begin = ?2 AND n.run = ?1`, run, begin)
	into.routes, err = scanAll(rows, err, func(scan func(...any) error, r *routeRow) error {
		r.begin = begin
		return scan(&r.route, &r.compared, &r.unknown, &r.failed, &r.raw, &r.noise, &r.CandidateOnly, &r.ControlOnly, &r.Both)
	})
	if err != nil {
		return err
	}
	rows, err = db.file.read.QueryContext(ctx, `SELECT n.route, n.field, n.test, s.candidate_only, s.control_only, s.both_sides
		FROM field_series s JOIN series_name n ON n.id = s.name WHERE s.span = 60 AND s.begin = ?2 AND n.run = ?1`, run, begin)
	into.fields, err = scanAll(rows, err, func(scan func(...any) error, r *fieldRow) error {
		var word string
		var c diff.Counts
		var test diff.Test
		err := scan(&r.route, &r.field, &word, &c.CandidateOnly, &c.ControlOnly, &c.Both)
		if err == nil {
			err = test.UnmarshalText([]byte(word))
		}
		r.begin, r.tests[test] = begin, c
		return err
	})
	return err
}

// Series returns a route's points in the order of time, those of all routes together without one, and with a Field those
// of one Test of the field: it has a point for each one of the route, with nothing counted where the field did not differ.
// Its Raw and Noise are the requests in which the test counts the candidate, or the secondary; Compared is what the route
// compared less what failed, unless the field is transport. In an hour in which over 1,000 fields differ those that come
// last are found under diff.Other of their route. Points exist for minutes in which something ended. Limit, Cursor and
// Result are not used.
func (db *DB) Series(ctx context.Context, f Filter) ([]Point, error) {
	route, err := db.routeOf(ctx, f)
	if err != nil {
		return nil, fmt.Errorf("read series: %w", err)
	}
	f.Route, f.Run = route, db.runOf(f)
	query, args := seriesQuery(f)
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

// seriesQuery goes from one moment of the run to the next, some two thousand in a month, and looks up what is asked for
// of a route in each; a field's counts are gathered from its names first, since most moments have none.
func seriesQuery(f Filter) (query string, args []any) {
	since, until := f.window()
	args = []any{f.Run, since, until, f.Route, f.Field, f.Test.String(), transportField}
	const (
		ofRun   = ` FROM run_series r`
		ofRoute = ` CROSS JOIN route_series w ON w.span = r.span AND w.begin = r.begin AND w.name =
			(SELECT id FROM series_name WHERE run = ?1 AND route = ?4 AND field = '' AND test = '')`
		ofField = ` LEFT JOIN (SELECT f.span, f.begin, sum(f.candidate_only) AS candidate_only, sum(f.control_only) AS control_only,
				sum(f.both_sides) AS both_sides
			FROM series_name n INDEXED BY %s CROSS JOIN (SELECT 60 AS span UNION ALL SELECT 3600 UNION ALL SELECT 86400) s
			CROSS JOIN field_series f INDEXED BY field_series_name
				ON f.name = n.id AND f.span = s.span AND f.begin > ?2 - s.span AND f.begin < ?3
			WHERE n.run = ?1 AND n.field = ?5 AND n.test = ?6 AND %s GROUP BY f.span, f.begin) f
			ON f.span = r.span AND f.begin = r.begin`
		inTime = ` WHERE r.run = ?1 AND r.begin + r.span > ?2 AND r.begin < ?3`
		counts = `, 0, 0, coalesce(f.candidate_only + f.both_sides, 0), coalesce(f.control_only + f.both_sides, 0),
			coalesce(f.candidate_only, 0), coalesce(f.control_only, 0), coalesce(f.both_sides, 0)`
		compared = `.compared - CASE WHEN ?5 = ?7 THEN 0 ELSE `
		ordered  = ` ORDER BY r.begin, r.span DESC`
	)
	switch {
	case f.Field == "" && f.Route == "":
		query = `SELECT r.begin, r.span, ` + wholeSeries + ofRun + inTime + ordered
	case f.Field == "":
		query = `SELECT r.begin, r.span, w.compared, w.unknown, w.failed, w.raw, w.noise, w.candidate_only, w.control_only,
			w.both_sides` + ofRun + ofRoute + inTime + ordered
	case f.Route == "":
		query = `SELECT r.begin, r.span, r` + compared + `r.failed END` + counts + ofRun +
			fmt.Sprintf(ofField, "series_name_field", "TRUE") + inTime + ordered
	default:
		query = `SELECT r.begin, r.span, w` + compared + `w.failed END` + counts + ofRun + ofRoute +
			fmt.Sprintf(ofField, "sqlite_autoindex_series_name_1", "n.route = ?4") + inTime + ordered
	}
	return query, args
}
