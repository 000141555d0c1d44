package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"shadowdiff/diff"
	"shadowdiff/normalize"
)

// statements are what the writer says to the disk, prepared once. All counting ones are upserts of whole totals.
type statements struct {
	run, runName                                                 *sql.Stmt
	route, unknown, field, test, confirmation                    *sql.Stmt
	seriesName, runSeries, routeSeries, fieldSeries              *sql.Stmt
	insertSample, insertPlace, freePlace, dropSample, dropPlaces *sql.Stmt
}

func prepare(ctx context.Context, pool *sql.DB) (*statements, error) {
	s := &statements{}
	for _, one := range []struct {
		into **sql.Stmt
		text string
	}{
		{&s.run, upsert("run", 1, "id", "name", "started", "candidate", "rules", "counters", "ended", "version", "notes", "begun_by",
			"attempt", "rule_text", "summary")},
		{&s.runName, upsert("run_name", 2, "name", "run", "attempt")},
		{&s.route, upsert("route_tally", 2, "run", "route", "compared", "failed", "candidate_only", "control_only",
			"both_sides", "ordinal", "raw", "noise", "candidate_up", "control_up", "no_control", "slower", "faster",
			"latency_ordinal", "candidate_sketch", "secondary_sketch", "first_seen", "last_seen", "given", "candidate_errors",
			"control_errors", "minutes_candidate", "minutes_control", "open_minute", "lean", "latency_minutes_candidate",
			"latency_minutes_control", "latency_open_minute", "latency_lean", "course")},
		{&s.unknown, upsert("unknown_tally", 3, "run", "route", "reason", "count")},
		{&s.field, upsert("field_tally", 3, "run", "route", "field", "raw", "noise", "trait_greater", "trait_less",
			"trait_turns", "trait_last", "first_seen", "last_seen")},
		{&s.test, upsert("test_tally", 4, "run", "route", "field", "test", "candidate_only", "control_only", "both_sides",
			"ordinal", "minutes_candidate", "minutes_control", "open_minute", "lean")},
		{&s.confirmation, `INSERT INTO confirmation (run, route, field, test, ordinal, time, requests, alpha)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?)` + earliest},
		{&s.seriesName, `INSERT INTO series_name (run, route, field, test, first, last) VALUES (?, ?, ?, ?, ?, ?)` + nameBounds +
			` RETURNING id, first, last`},
		{&s.runSeries, upsert("run_series", 3, "run", "span", "begin", "compared", "unknown", "failed", "raw", "noise",
			"candidate_only", "control_only", "both_sides")},
		{&s.routeSeries, upsert("route_series", 3, "span", "begin", "name", "compared", "unknown", "failed", "raw", "noise",
			"candidate_only", "control_only", "both_sides")},
		{&s.fieldSeries, upsert("field_series", 3, "span", "begin", "name", "candidate_only", "control_only", "both_sides")},
		{&s.insertSample, `INSERT INTO sample (run, exchange, time, route, result, redactions, head, bodies)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?)`},
		{&s.insertPlace, `INSERT INTO sample_field (sample, field, level, slot, score) VALUES (?, ?, ?, ?, ?)`},
		{&s.freePlace, `UPDATE sample_field SET slot = ? WHERE sample = ? AND field = ?`},
		{&s.dropSample, `DELETE FROM sample WHERE id = ?`},
		{&s.dropPlaces, `DELETE FROM sample_field WHERE sample = ?`},
	} {
		stmt, err := pool.PrepareContext(ctx, one.text)
		if err != nil {
			return nil, fmt.Errorf("prepare: %w", err)
		}
		*one.into = stmt
	}
	return s, nil
}

// earliest has the earlier one of two confirmations stand: two there are only where routes were merged.
const earliest = ` ON CONFLICT (run, route, field, test) DO UPDATE
	SET ordinal = excluded.ordinal, time = excluded.time, requests = excluded.requests, alpha = excluded.alpha
	WHERE (excluded.time, excluded.requests) < (confirmation.time, confirmation.requests)`

// writer writes one run's backlog within one transaction.
type writer struct {
	ctx  context.Context
	tx   *sql.Tx
	db   *DB
	run  int64
	mine map[*sql.Stmt]*sql.Stmt // the transaction's own of the statements said so far
}

func (w *writer) exec(stmt *sql.Stmt, args ...any) error {
	_, err := w.stmt(stmt).ExecContext(w.ctx, args...)
	return err
}

// stmt is a statement as the transaction says it. One is made once: the transaction holds each until its end, and a first
// flush of many fields says a million.
func (w *writer) stmt(stmt *sql.Stmt) *sql.Stmt {
	mine := w.mine[stmt]
	if mine == nil {
		if w.mine == nil {
			w.mine = map[*sql.Stmt]*sql.Stmt{}
		}
		mine = w.tx.StmtContext(w.ctx, stmt)
		w.mine[stmt] = mine
	}
	return mine
}

func (w *writer) backlog(l *ledger) error {
	b := &l.backlog
	for _, step := range []struct {
		what string
		do   func() error
	}{
		{"merged routes", func() error { return w.moves(b) }},
		{"run", func() error { return w.runLine(l) }},
		{"routes", func() error { return w.routes(b) }},
		{"fields", func() error { return w.fields(b, l.tallies) }},
		{"confirmations", func() error { return w.confirmations(b, l.tallies) }},
		{"series", func() error { return w.series(&b.series) }},
		{"samples", func() error { return w.samples(b) }},
	} {
		if err := step.do(); err != nil {
			return fmt.Errorf("write %s: %w", step.what, err)
		}
	}
	return nil
}

func (w *writer) routes(b *backlog) error {
	if b.total != nil {
		if err := w.route(b.total); err != nil {
			return err
		}
	}
	for _, r := range b.routes {
		if err := w.route(r); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) route(r *diff.RouteTally) error {
	candidate, err := r.Latency.Candidate.MarshalBinary()
	if err != nil {
		return err
	}
	secondary, err := r.Latency.Secondary.MarshalBinary()
	if err != nil {
		return err
	}
	course, err := json.Marshal(&r.Course)
	if err != nil {
		return err
	}
	of, pairs := &r.Minutes, &r.Latency.Minutes
	err = w.exec(w.db.stmts.route, w.run, r.Route, r.Compared, r.Failed, r.Results.CandidateOnly, r.Results.ControlOnly,
		r.Results.Both, r.Order, r.Raw, r.Noise, r.CandidateUp, r.ControlUp, r.NoControl, r.Latency.Slower, r.Latency.Faster,
		r.Latency.Order, blob(candidate), blob(secondary), micros(r.First), micros(r.Last), one(r.Given), r.CandidateErrors,
		r.ControlErrors, of.Candidate, of.Control, of.Open, of.Lean, pairs.Candidate, pairs.Control, pairs.Open, pairs.Lean,
		string(course))
	if err != nil {
		return err
	}
	for reason, n := range r.Unknown {
		if err := w.exec(w.db.stmts.unknown, w.run, r.Route, reason, n); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) fields(b *backlog, all *diff.Tallies) error {
	transport := false
	for _, f := range slices.SortedFunc(maps.Values(b.fields), diff.CompareFields) { // neighbours go to the same pages
		transport = transport || f.Field == transportField
		err := w.exec(w.db.stmts.field, w.run, f.Route, f.Field, f.Raw, f.Noise, f.TraitGreater, f.TraitLess,
			f.TraitTurns, f.TraitLast, micros(f.First), micros(f.Last))
		if err != nil {
			return err
		}
		for i := range f.Tests {
			t := &f.Tests[i]
			if t.Counts == (diff.Counts{}) && t.Order == 0 {
				continue
			}
			if err := w.test(f.Route, f.Field, diff.Test(i), t); err != nil {
				return err
			}
		}
	}
	if transport { // of all routes together: its minutes are not the sum of the routes'
		return w.test("", transportField, diff.TestPresence, &all.Transport)
	}
	return nil
}

func (w *writer) test(route, field string, test diff.Test, t *diff.TestTally) error {
	return w.exec(w.db.stmts.test, w.run, route, field, test.String(), t.CandidateOnly, t.ControlOnly, t.Both, t.Order,
		t.Minutes.Candidate, t.Minutes.Control, t.Minutes.Open, t.Minutes.Lean)
}

func (w *writer) confirmations(b *backlog, all *diff.Tallies) error {
	for i := range b.confirmed {
		c := &b.confirmed[i]
		test, order := c.Test.String(), orderOf(all, c)
		if c.Field == latencyField {
			test = latencyTest
		}
		err := w.exec(w.db.stmts.confirmation, w.run, c.Route, c.Field, test, order, micros(c.Time), c.Requests, c.Alpha)
		if err != nil {
			return err
		}
	}
	return nil
}

// samples inserts, then frees, then removes: a sample may be on all three lists of following flushes, never of one.
func (w *writer) samples(b *backlog) error {
	for i := range b.inserts {
		if err := w.sample(&b.inserts[i]); err != nil {
			return err
		}
	}
	for _, f := range b.freed {
		if err := w.exec(w.db.stmts.freePlace, f.slot, f.kept.id, f.field); err != nil {
			return err
		}
	}
	for _, k := range b.doomed {
		if err := w.drop(k.id); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) drop(id int64) error {
	if err := w.exec(w.db.stmts.dropPlaces, id); err != nil {
		return err
	}
	return w.exec(w.db.stmts.dropSample, id)
}

func (w *writer) sample(in *sampleInsert) error {
	p := in.packed
	done, err := w.stmt(w.db.stmts.insertSample).ExecContext(w.ctx,
		w.run, p.exchange, p.time, in.route, p.result, p.redactions, p.head, p.bodies)
	if err != nil {
		return err
	}
	if in.id, err = done.LastInsertId(); err != nil {
		return err
	}
	held := make(map[string]bool, len(in.at))
	for _, at := range in.at {
		held[at.field] = true
		if err := w.exec(w.db.stmts.insertPlace, in.id, at.field, at.level, at.slot, at.score); err != nil {
			return err
		}
	}
	for i := range min(len(p.fields), keptFields) {
		f := &p.fields[i]
		level := max(f.Candidate, f.Control)
		if level == 0 || held[f.Field] {
			continue
		}
		if err := w.exec(w.db.stmts.insertPlace, in.id, f.Field, level, slotNone, 0); err != nil {
			return err
		}
	}
	return nil
}

const (
	latencyField = "latency" // of a confirmation that is of the pair of latencies
	latencyTest  = "latency"

	transportField = string(normalize.FieldTransport) // of no route: of the transport of all routes together
)

// orderOf is the j under which a test was confirmed; 0 for the transport of all routes together, which has none.
func orderOf(all *diff.Tallies, c *diff.Confirmed) int {
	if c.Field == latencyField {
		if r := findRoute(all, c.Route); r != nil {
			return r.Latency.Order
		}
		return 0
	}
	if f := findField(all, c.Route, c.Field); f != nil {
		return f.Tests[c.Test].Order
	}
	return 0
}

// findRoute finds one route's counts, without a name those of all together; nil where there are none.
func findRoute(all *diff.Tallies, route string) *diff.RouteTally {
	if route == "" {
		return &all.Total
	}
	for _, r := range all.Routes {
		if r.Route == route {
			return r
		}
	}
	return nil
}

// findField finds one field's counts; nil where there are none.
func findField(all *diff.Tallies, route, field string) *diff.FieldTally {
	i, found := slices.BinarySearchFunc(all.Fields, &diff.FieldTally{Route: route, Field: field}, diff.CompareFields)
	if !found {
		return nil
	}
	return all.Fields[i]
}

// micros is how times are written down; the zero time is 0.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func fromMicros(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.UnixMicro(n).UTC()
}

// blob makes an empty value of no bytes, which would else become NULL.
func blob(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
