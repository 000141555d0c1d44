package store

import (
	"context"
	"maps"
	"slices"

	"shadowdiff/diff"
	"shadowdiff/normalize"
)

// When a place of the paths folds, routes become one. Names says so at once; in a run that is in memory their counts are
// merged at the next flush, in memory under one lock and on the disk in one transaction with the fold itself. Between
// the two some exchanges are counted under the former name and some under the new one, which is then merged too: each
// is counted in one route at any time. A run that is over and out of memory stays as it is.

// learn gives back to the names what they had made of paths.
func learn(names *normalize.Names, all *diff.Tallies) {
	requests := map[string]int64{}
	for _, r := range all.Routes {
		if r.Given {
			names.Given(r.Route)
			continue
		}
		requests[r.Route] = r.Compared
		for _, n := range r.Unknown {
			requests[r.Route] += n
		}
	}
	names.Learn(requests)
}

// rename gives a comparison the present name of its route: it may have been named before a fold, and come after it.
func (l *ledger) rename(c *diff.Comparison, names *normalize.Names) *diff.Comparison {
	if c.Given || l.tally.Knows(c.Route) {
		return c
	}
	name := names.Current(c.Route)
	if name == c.Route {
		return c
	}
	renamed := *c
	renamed.Route = name
	return &renamed
}

// settle merges the routes that have become one since it was last called, and tells whether there were any. The caller
// is the writer, and holds mu.
func (l *ledger) settle(names *normalize.Names) (settled bool) {
	if l.named == names.Version() {
		return false
	}
	var moved map[string]string
	moved, l.named = names.Renamed(l.tally.Named())
	if len(moved) == 0 {
		return false
	}
	l.ids = maps.Clone(l.ids)
	parts := map[string][]string{}
	for _, from := range slices.Sorted(maps.Keys(moved)) {
		to := moved[from]
		parts[to] = append(parts[to], from)
		delete(l.ids, from)
		l.series.move(from, to)
		l.shelf.move(from, to)
		l.backlog.move(from, to)
	}
	for _, to := range slices.Sorted(maps.Keys(parts)) {
		l.tally.Merge(to, parts[to]...)
		l.profiles.merge(to, parts[to])
	}
	return true
}

// move merges what waits for the disk: the whole counts of the new name are added at the next cut.
func (b *backlog) move(from, to string) {
	if b.moved == nil {
		b.moved = map[string]string{}
	}
	for former, now := range b.moved {
		if now == from {
			b.moved[former] = to
		}
	}
	b.moved[from] = to
	delete(b.routes, from)
	maps.DeleteFunc(b.fields, func(at fieldKey, _ *diff.FieldTally) bool { return at.route == from })
	for i := range b.confirmed {
		if b.confirmed[i].Route == from {
			b.confirmed[i].Route = to
		}
	}
}

// move lays the reservoirs of one route together with those of another. What finds no place there is no longer kept.
func (s *shelf) move(from, to string) {
	source := s.routes[from]
	if source == nil {
		return
	}
	delete(s.routes, from)
	target := s.route(to)
	target.changed = true
	for at, r := range source.reservoirs {
		for _, e := range r.entries {
			e.route = to
		}
		if into := target.reservoirs[at]; into != nil {
			s.count--
			s.lay(into, r)
		} else {
			target.reservoirs[at] = r
		}
	}
}

// lay puts the exchanges of one reservoir into another as far as there is room, or they tell more than what is there.
func (s *shelf) lay(into, from *reservoir) {
	size := s.differing
	if into.at.field == "" {
		size = s.agreeing
	}
	for _, e := range from.entries {
		as := e.slot
		for _, other := range [...]slot{slotTelling, slotLatest} {
			if into.taken[as] >= size[as] && into.taken[other] < size[other] {
				as = other
			}
		}
		switch {
		case into.taken[as] < size[as]:
			s.change(e, into, as)
		case size[slotTelling] > 0 && e.score > into.least:
			s.displace(into, slotTelling)
			s.change(e, into, slotTelling)
		default:
			s.leave(e.kept, into.at)
		}
	}
	if from.due.After(into.due) {
		into.due = from.due
	}
}

// change gives an exchange its place in another reservoir for the same field and level.
func (s *shelf) change(e entry, into *reservoir, slot slot) {
	if e.slot != slot {
		for i := range e.places {
			if e.places[i].place == into.at {
				e.places[i].slot = slot
			}
		}
		s.freed = append(s.freed, freedPlace{e.kept, into.at, slot})
		e.slot = slot
	}
	into.add(e)
}

// moves merges on the disk what was merged in memory. Counts that the memory holds whole are only removed under their
// former names, since the new one's follow; what it does not hold is added to the new name's. Nothing is left to be done
// when it is done again.
func (w *writer) moves(b *backlog) error {
	if len(b.moved) == 0 {
		return nil
	}
	texts := []string{
		`INSERT INTO confirmation (run, route, field, test, ordinal, time, requests, alpha)
			SELECT run, ?3, field, test, ordinal, time, requests, alpha FROM confirmation WHERE run = ?1 AND route = ?2` + earliest,
		mergeNames, mergeRoutes, mergeFields, dropRoutes, dropFields,
		`UPDATE sample SET route = ?3 WHERE run = ?1 AND route = ?2`,
	}
	for _, table := range [...]string{"route_tally", "unknown_tally", "field_tally", "test_tally", "confirmation", "series_name"} {
		texts = append(texts, `DELETE FROM `+table+` WHERE run = ?1 AND route = ?2 AND route <> ?3`)
	}
	former := slices.Sorted(maps.Keys(b.moved))
	for _, text := range texts { // each for all routes: to prepare a statement takes longer than to execute it
		if err := w.move(text, former, b.moved); err != nil {
			return err
		}
	}
	return nil
}

// move executes a statement for each route that was merged.
func (w *writer) move(text string, former []string, moved map[string]string) error {
	stmt, err := w.tx.PrepareContext(w.ctx, text)
	if err != nil {
		return err
	}
	defer stmt.Close()
	for _, from := range former {
		if _, err := stmt.ExecContext(w.ctx, w.run, from, moved[from]); err != nil {
			return err
		}
	}
	return nil
}

// CurrentRoute is the name under which the requests of a route are counted now: many routes may have become one since the
// name was read. It is the name itself where that still stands.
func (db *DB) CurrentRoute(route string) string {
	now := db.deps.Names.Current(route)
	if now != route && findRoute(db.Snapshot().Tallies, route) != nil {
		return route
	}
	return now
}

// CurrentName is what the name of a route has become by folding, whatever the run in force counts under it.
func (db *DB) CurrentName(route string) string { return db.deps.Names.Current(route) }

// routeOf is the name under which a filter's route is found in its run.
func (db *DB) routeOf(ctx context.Context, f Filter) (string, error) {
	now := db.deps.Names.Current(f.Route)
	if now == f.Route {
		return now, nil
	}
	var found int
	err := db.file.read.QueryRowContext(ctx, `SELECT count(*) FROM route_tally WHERE run = ? AND route = ?`,
		db.runOf(f), f.Route).Scan(&found)
	if found > 0 {
		now = f.Route
	}
	return now, err
}
