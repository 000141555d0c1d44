package store

import "shadowdiff/diff"

// series writes minutes: those that are gone first, since what they counted is in others now.
func (w *writer) series(rows *seriesRows) error {
	for _, begin := range rows.gone {
		if err := w.dropMinute(begin); err != nil {
			return err
		}
	}
	for i := range rows.routes {
		if err := w.routeRow(&rows.routes[i]); err != nil {
			return err
		}
	}
	for i := range rows.fields {
		if err := w.fieldRow(&rows.fields[i]); err != nil {
			return err
		}
	}
	return nil
}

// dropMinute removes one minute of the run.
func (w *writer) dropMinute(begin int64) error {
	for _, text := range []string{
		`DELETE FROM field_series WHERE span = 60 AND begin = ?2 AND name IN (SELECT id FROM series_name WHERE run = ?1)`,
		`DELETE FROM route_series WHERE span = 60 AND begin = ?2 AND name IN (SELECT id FROM series_name WHERE run = ?1)`,
		`DELETE FROM run_series WHERE run = ?1 AND span = 60 AND begin = ?2`,
	} {
		if _, err := w.tx.ExecContext(w.ctx, text, w.run, begin); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) routeRow(r *routeRow) error {
	if r.route == "" {
		return w.exec(w.db.stmts.runSeries, w.run, minuteSpan, r.begin, r.compared, r.unknown, r.failed, r.raw, r.noise,
			r.CandidateOnly, r.ControlOnly, r.Both)
	}
	name, err := w.seriesName(nameKey{run: w.run, route: r.route}, r.begin)
	if err != nil {
		return err
	}
	return w.exec(w.db.stmts.routeSeries, minuteSpan, r.begin, name, r.compared, r.unknown, r.failed, r.raw, r.noise,
		r.CandidateOnly, r.ControlOnly, r.Both)
}

func (w *writer) fieldRow(r *fieldRow) error {
	for test, c := range r.tests {
		if c == (diff.Counts{}) {
			continue
		}
		name, err := w.seriesName(nameKey{w.run, r.route, r.field, diff.Test(test).String()}, r.begin)
		if err != nil {
			return err
		}
		err = w.exec(w.db.stmts.fieldSeries, minuteSpan, r.begin, name, c.CandidateOnly, c.ControlOnly, c.Both)
		if err != nil {
			return err
		}
	}
	return nil
}

// What is said to the disk when a route, ?2, of a run, ?1, becomes another, ?3. Rows are looked for only in the time in
// which the former name counted: a route is learnt soon after it is first seen.
const (
	mergeNames = `INSERT INTO series_name (run, route, field, test, first, last)
		SELECT run, ?3, field, test, first, last FROM series_name WHERE run = ?1 AND route = ?2` + nameBounds

	formerMoments = ` FROM series_name o CROSS JOIN run_series r ON r.run = o.run AND r.begin + r.span > o.first AND r.begin < o.last`

	mergeRoutes = `INSERT INTO route_series (span, begin, name, ` + wholeSeries + `)
		SELECT s.span, s.begin, n.id, s.compared, s.unknown, s.failed, s.raw, s.noise, s.candidate_only, s.control_only, s.both_sides` +
		formerMoments + ` CROSS JOIN route_series s ON s.span = r.span AND s.begin = r.begin AND s.name = o.id
		JOIN series_name n ON n.run = ?1 AND n.route = ?3 AND n.field = '' AND n.test = ''
		WHERE o.run = ?1 AND o.route = ?2 AND o.field = '' ON CONFLICT (span, begin, name)` + addWhole

	mergeFields = `INSERT INTO field_series (span, begin, name, candidate_only, control_only, both_sides)
		SELECT s.span, s.begin, n.id, s.candidate_only, s.control_only, s.both_sides` +
		formerMoments + ` CROSS JOIN field_series s ON s.span = r.span AND s.begin = r.begin AND s.name = o.id
		JOIN series_name n ON n.run = ?1 AND n.route = ?3 AND n.field = o.field AND n.test = o.test
		WHERE o.run = ?1 AND o.route = ?2 AND o.field <> ''` + addField

	formerRows = ` WHERE (span, begin, name) IN (SELECT r.span, r.begin, o.id` + formerMoments +
		` WHERE o.run = ?1 AND o.route = ?2 AND o.route <> ?3)`

	dropRoutes = `DELETE FROM route_series` + formerRows
	dropFields = `DELETE FROM field_series` + formerRows
)
