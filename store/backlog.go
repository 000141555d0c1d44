package store

import (
	"time"

	"shadowdiff/diff"
	"shadowdiff/multicast"
	"shadowdiff/normalize"
)

// backlog is what the disk has not got yet of one run: always whole totals, so that writing it twice, or after a commit
// whose outcome is not known, changes nothing.
type backlog struct {
	moved     map[string]string // routes that were merged, by their former names
	total     *diff.RouteTally
	routes    map[string]*diff.RouteTally
	fields    map[fieldKey]*diff.FieldTally
	confirmed []diff.Confirmed
	series    seriesRows
	counters  bool
	samples   []*kept // packed, to be inserted
	freed     []freedPlace
	doomed    []*kept
	inserts   []sampleInsert // the samples that the transaction under way inserts
}

type fieldKey struct{ route, field string }

// sampleInsert is a sample with its places as they were when the transaction began.
type sampleInsert struct {
	*kept
	at []keptPlace
	id int64 // that it got
}

func (b *backlog) empty() bool {
	return b.total == nil && !b.counters && b.series.empty() &&
		len(b.confirmed)+len(b.samples)+len(b.freed)+len(b.doomed) == 0
}

// add takes the newest totals of what changed.
func (b *backlog) add(all, changed *diff.Tallies) {
	if b.total == nil {
		b.routes, b.fields = map[string]*diff.RouteTally{}, map[fieldKey]*diff.FieldTally{}
	}
	b.total = &all.Total
	for _, r := range changed.Routes {
		b.routes[r.Route] = r
	}
	for _, f := range changed.Fields {
		b.fields[fieldKey{f.Route, f.Field}] = f
	}
}

// gather moves what is new from the counting side into the backlog, and judges it. The samples come first, since they
// take their time and the counts are to be fresh.
func (l *ledger) gather(db *DB, packUntil time.Time) (news bool) {
	l.pack(db, packUntil)
	if l.counters.read(db.deps.Counters) {
		l.backlog.counters = true
	}
	cut := l.cut(db.deps.Names)
	if cut {
		l.judge()
	}
	l.board(db)
	return cut || !l.backlog.empty()
}

// cut takes the counts as they stand; false when none has changed.
func (l *ledger) cut(names *normalize.Names) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	settled := l.settle(names)
	paused := l.tally.Pause(l.counters.total.Shadow[multicast.Candidate.String()].Paused)
	awaited := l.tally.Await(l.counters.late)
	ceased := l.tally.Cease(staleOf(&l.counters.total))
	if !l.fresh && !settled && !paused && !awaited && !ceased {
		return false
	}
	l.used = time.Now()
	all, changed := l.tally.Cut()
	l.profiles.beginCut()
	l.tallies = all
	l.backlog.add(all, changed)
	l.fresh = l.series.collect(&l.backlog.series)
	return true
}

// judge asks for the verdict and latches what is confirmed, which goes to the disk with the counts it rests on.
func (l *ledger) judge() {
	verdict, confirmed := l.watch.Judge(l.tallies)
	l.verdict = verdict
	if len(confirmed) == 0 {
		return
	}
	l.backlog.confirmed = append(l.backlog.confirmed, confirmed...)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tally.Confirm(confirmed)
	l.fresh = true // so that the next cut has them
}

// pack redacts and compresses what was picked, until the time is up; the rest waits for the next flush, so that the
// counts do not.
func (l *ledger) pack(db *DB, until time.Time) {
	for first := true; first || time.Now().Before(until); first = false {
		k := l.nextPicked(&db.budget)
		if k == nil {
			return
		}
		row, err := db.packer.pack(k.copied)
		k.copied = nil
		if err != nil { // better none than one that shows too much
			db.health.unpackable(db.deps.Log, k.route, err)
			db.budget.give(k.held)
			l.mu.Lock()
			l.shelf.forget(k)
			l.mu.Unlock()
			continue
		}
		k.packed = row
		db.budget.give(k.held - row.size())
		k.held = row.size()
		l.backlog.samples = append(l.backlog.samples, k)
	}
}

// nextPicked answers the next exchange that still has a place, or nil.
func (l *ledger) nextPicked(b *budget) *kept {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.picked) > 0 {
		k := l.picked[0]
		l.picked[0], l.picked = nil, l.picked[1:]
		if len(k.places) > 0 {
			return k
		}
		b.give(k.held)
	}
	return nil
}

// board settles which samples the transaction inserts, with which places, and which it removes. Whoever loses a place
// from then on is noted for the next one.
func (l *ledger) board(db *DB) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := &l.backlog
	waiting := b.samples
	if time.Now().Before(db.samplesFrom) {
		waiting = nil
	} else {
		b.samples = nil
	}
	b.inserts = nil
	for _, k := range waiting {
		if len(k.places) == 0 { // displaced before it was written
			db.budget.give(k.held)
			continue
		}
		k.flying = true
		b.samples = append(b.samples, k)
		b.inserts = append(b.inserts, sampleInsert{kept: k, at: append([]keptPlace(nil), k.places...)})
	}
	for _, f := range l.shelf.freed {
		if f.kept.id != 0 {
			b.freed = append(b.freed, f)
		}
	}
	for _, k := range l.shelf.doomed {
		if k.id != 0 {
			b.doomed = append(b.doomed, k)
		}
	}
	l.shelf.freed, l.shelf.doomed = nil, nil
}

// unboard has the samples of the transaction wait for a later one; false when it had none.
func (l *ledger) unboard() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	boarded := len(l.backlog.inserts) > 0
	for _, in := range l.backlog.inserts {
		in.flying = false
	}
	l.backlog.inserts = nil
	return boarded
}

// landed clears the backlog, which has reached the disk, but for samples that were not on board.
func (l *ledger) landed(db *DB, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, in := range l.backlog.inserts {
		k := in.kept
		k.id, k.flying, k.packed = in.id, false, nil
		l.shelf.byID[k.id] = k
		l.shelf.touch(k)
		db.budget.give(k.held)
	}
	for _, k := range l.backlog.doomed {
		delete(l.shelf.byID, k.id)
		l.shelf.touch(k)
	}
	waiting := l.backlog.samples
	if len(l.backlog.inserts) > 0 {
		waiting = nil
	}
	l.backlog, l.unwritten = backlog{samples: waiting}, false
	l.series.close(now)
}

// aborted keeps the backlog for the next flush. The series' buckets go on counting, and are collected anew.
func (l *ledger) aborted() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, k := range l.backlog.samples {
		k.flying = false
	}
	l.series.restore(&l.backlog.series)
	l.fresh = l.fresh || !l.backlog.series.empty()
	l.backlog.series, l.backlog.inserts = seriesRows{}, nil
	l.series.condense(time.Now())
}
