package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"shadowdiff/diff"
)

// querier is what a run is read from: the pool, or one transaction in which nothing changes.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// loader reads one run's tallies back.
type loader struct {
	ctx    context.Context
	from   querier
	run    int64
	all    *diff.Tallies
	routes map[string]*diff.RouteTally
	fields map[fieldKey]*diff.FieldTally
}

// loadTallies reads all that a run has counted.
func loadTallies(ctx context.Context, from querier, run int64) (*diff.Tallies, error) {
	load := loader{ctx: ctx, from: from, run: run, all: &diff.Tallies{}, fields: map[fieldKey]*diff.FieldTally{}}
	load.routes = map[string]*diff.RouteTally{"": &load.all.Total}
	for _, step := range []func() error{load.routeRows, load.unknown, load.fieldRows, load.tests, load.confirmations} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return load.all, nil
}

// each hands every row of a query over this run to one.
func (l *loader) each(query string, one func(scan func(...any) error) error, more ...any) error {
	rows, err := l.from.QueryContext(l.ctx, query, append([]any{l.run}, more...)...)
	_, err = scanAll(rows, err, func(scan func(...any) error, _ *struct{}) error { return one(scan) })
	return err
}

// eachRow hands the run's rows of a table to one, in the order in which they lie in the file where that is nearly all that
// lies there. In the order of the key nearly every row is on another page than the one before it, and of a large run each
// page is read a hundred times.
func (l *loader) eachRow(columns, table string, one func(scan func(...any) error) error) error {
	var count, first, last int64
	err := l.each(`SELECT count(*), coalesce(min(rowid), 0), coalesce(max(rowid), 0) FROM `+table+` WHERE run = ?`,
		func(scan func(...any) error) error { return scan(&count, &first, &last) })
	if err != nil {
		return err
	}
	query := `SELECT ` + columns + ` FROM ` + table
	if last-first < 4*count {
		return l.each(query+` NOT INDEXED WHERE run = ?1 AND rowid BETWEEN ?2 AND ?3`, one, first, last)
	}
	return l.each(query+` WHERE run = ?`, one)
}

func (l *loader) routeRows() error {
	return l.each(`SELECT route, compared, failed, candidate_only, control_only, both_sides, ordinal, raw, noise,
		candidate_up, control_up, no_control, slower, faster, latency_ordinal, candidate_sketch, secondary_sketch,
		first_seen, last_seen, given, candidate_errors, control_errors, minutes_candidate, minutes_control, open_minute, lean,
		latency_minutes_candidate, latency_minutes_control, latency_open_minute, latency_lean, course FROM route_tally WHERE run = ? ORDER BY route`, func(scan func(...any) error) error {
		r := &diff.RouteTally{}
		var candidate, secondary, course []byte
		var first, last int64
		of, pairs := &r.Minutes, &r.Latency.Minutes
		err := scan(&r.Route, &r.Compared, &r.Failed, &r.Results.CandidateOnly, &r.Results.ControlOnly, &r.Results.Both,
			&r.Order, &r.Raw, &r.Noise, &r.CandidateUp, &r.ControlUp, &r.NoControl, &r.Latency.Slower, &r.Latency.Faster,
			&r.Latency.Order, &candidate, &secondary, &first, &last, &r.Given, &r.CandidateErrors, &r.ControlErrors,
			&of.Candidate, &of.Control, &of.Open, &of.Lean, &pairs.Candidate, &pairs.Control, &pairs.Open, &pairs.Lean, &course)
		if err != nil {
			return err
		}
		r.First, r.Last = fromMicros(first), fromMicros(last)
		if err := json.Unmarshal(course, &r.Course); err != nil {
			return fmt.Errorf("course of %q: %w", r.Route, err)
		}
		if err := r.Latency.Candidate.UnmarshalBinary(candidate); err != nil {
			return err
		}
		if err := r.Latency.Secondary.UnmarshalBinary(secondary); err != nil {
			return err
		}
		if r.Route == "" {
			l.all.Total = *r
		} else {
			l.all.Routes = append(l.all.Routes, r)
			l.routes[r.Route] = r
		}
		return nil
	})
}

func (l *loader) unknown() error {
	return l.each(`SELECT route, reason, count FROM unknown_tally WHERE run = ?`, func(scan func(...any) error) error {
		var route, reason string
		var n int64
		if err := scan(&route, &reason, &n); err != nil {
			return err
		}
		r := l.routes[route]
		if r == nil {
			return fmt.Errorf("unknown exchanges of %q, which is no route of the run", route)
		}
		if r.Unknown == nil {
			r.Unknown = map[string]int64{}
		}
		r.Unknown[reason] = n
		return nil
	})
}

func (l *loader) fieldRows() error {
	const columns = `route, field, raw, noise, trait_greater, trait_less, trait_turns, trait_last, first_seen, last_seen`
	err := l.eachRow(columns, "field_tally", func(scan func(...any) error) error {
		f := &diff.FieldTally{}
		var first, last int64
		if err := scan(&f.Route, &f.Field, &f.Raw, &f.Noise, &f.TraitGreater, &f.TraitLess, &f.TraitTurns, &f.TraitLast, &first, &last); err != nil {
			return err
		}
		if r := l.routes[f.Route]; r != nil {
			f.Route = r.Route // one text for all of them
		}
		f.First, f.Last = fromMicros(first), fromMicros(last)
		l.all.Fields = append(l.all.Fields, f)
		l.fields[fieldKey{f.Route, f.Field}] = f
		return nil
	})
	slices.SortFunc(l.all.Fields, diff.CompareFields)
	return err
}

func (l *loader) tests() error {
	const columns = `route, field, test, candidate_only, control_only, both_sides, ordinal, minutes_candidate, minutes_control,
		open_minute, lean`
	return l.eachRow(columns, "test_tally", func(scan func(...any) error) error {
		var at fieldKey
		var word string
		var t diff.TestTally
		err := scan(&at.route, &at.field, &word, &t.CandidateOnly, &t.ControlOnly, &t.Both, &t.Order, &t.Minutes.Candidate,
			&t.Minutes.Control, &t.Minutes.Open, &t.Minutes.Lean)
		if err != nil {
			return err
		}
		if at == (fieldKey{"", transportField}) {
			l.all.Transport = t
			return nil
		}
		into, err := l.test(at, word)
		if err == nil {
			*into = t
		}
		return err
	})
}

func (l *loader) confirmations() error {
	return l.each(`SELECT route, field, test, time, requests, alpha FROM confirmation WHERE run = ?`,
		func(scan func(...any) error) error {
			var at fieldKey
			var word string
			var when int64
			c := &diff.Confirmation{}
			if err := scan(&at.route, &at.field, &word, &when, &c.Requests, &c.Alpha); err != nil {
				return err
			}
			c.Time = fromMicros(when)
			if at.route == "" && at.field == transportField {
				l.all.Transport.Confirmed = c
				return nil
			}
			if word == latencyTest {
				r := l.routes[at.route]
				if r == nil {
					return fmt.Errorf("confirmation for %q, which is no route of the run", at.route)
				}
				r.Latency.Confirmed = c
				return nil
			}
			into, err := l.test(at, word)
			if err == nil {
				into.Confirmed = c
			}
			return err
		})
}

// test finds the tally that a row belongs to.
func (l *loader) test(at fieldKey, word string) (*diff.TestTally, error) {
	var test diff.Test
	if err := test.UnmarshalText([]byte(word)); err != nil {
		return nil, err
	}
	f := l.fields[at]
	if f == nil {
		return nil, fmt.Errorf("test of %q in %q, which is no field of the run", at.field, at.route)
	}
	return &f.Tests[test], nil
}

// loadShelf reads back which exchanges are kept, and why.
func loadShelf(ctx context.Context, from querier, run int64, into *shelf) error {
	rows, err := from.QueryContext(ctx, `SELECT s.id, s.time, s.route, f.field, f.level, f.slot, f.score
		FROM sample s JOIN sample_field f ON f.sample = s.id WHERE s.run = ? AND f.slot > 0 ORDER BY s.id`, run)
	_, err = scanAll(rows, err, func(scan func(...any) error, _ *struct{}) error {
		var id, at int64
		var route string
		var p keptPlace
		if err := scan(&id, &at, &route, &p.field, &p.level, &p.slot, &p.score); err != nil {
			return err
		}
		into.restore(id, at, route, p)
		return nil
	})
	return err
}

// restore puts a stored exchange back in one of its places. Places beyond the present configuration stay until they are
// displaced.
func (s *shelf) restore(id, at int64, route string, p keptPlace) {
	k := s.byID[id]
	if k == nil {
		k = &kept{id: id, at: at, route: route}
		s.byID[id] = k
	}
	r := s.reservoir(s.route(route), p.place)
	if r == nil {
		return
	}
	k.places = append(k.places, p)
	r.add(entry{k, p.slot, p.score})
	if p.slot == slotLatest {
		r.due = time.UnixMicro(at).Add(latestEvery)
	}
	s.routes[route].changed = true
}
