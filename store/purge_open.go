package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"shadowdiff/diff"
	"shadowdiff/traffic"
)

// CountPurge tells what a purge would delete, on the disk and on its way there. A run that does not exist is ErrNotFound.
func (db *DB) CountPurge(ctx context.Context, p Purge) (Purged, error) {
	runs, err := db.file.runs(ctx, p.Run)
	if err != nil {
		return Purged{}, err
	}
	return db.countPurge(ctx, p, runs)
}

// PurgeTimes are the stretches in which what a purge deletes was asked: for what is kept of the same requests elsewhere.
func (db *DB) PurgeTimes(ctx context.Context, p Purge) ([]traffic.Span, error) {
	return db.file.purgeTimes(ctx, p)
}

// Purge is Closed.Purge for a store that is open. What it deletes is gone from the memory as well, and nothing of it comes
// back: of an exchange that is under way and was asked before, nothing but its counts is kept. Counting goes on meanwhile;
// what is flushed, and a run that begins, waits. With ErrBackupRunning nothing was deleted.
func (db *DB) Purge(ctx context.Context, p Purge, actor string) (Purged, error) {
	if !db.backups.TryLock() { // a copy would hold what is to go
		return Purged{}, fmt.Errorf("purge: nothing was deleted: %w", ErrBackupRunning)
	}
	defer db.backups.Unlock()
	db.flushing.Lock()
	defer db.flushing.Unlock()
	err := db.missing
	if db.closed {
		err = errors.New("the store is closed")
	}
	if err != nil {
		return Purged{}, fmt.Errorf("purge: nothing was deleted: %w", err)
	}
	runs, err := db.file.runs(ctx, p.Run)
	if err != nil {
		return Purged{}, err
	}
	n, err := db.countPurge(ctx, p, runs)
	if err == nil {
		err = db.file.delete(ctx, p, runs, activityOf(p, n, actor))
	}
	if err != nil {
		return Purged{}, err
	}
	db.forget(p, runs, time.Now())
	db.publish()
	return n, db.file.scrub(context.WithoutCancel(ctx)) // who asked may go away: what is begun is done to its end
}

func (db *DB) countPurge(ctx context.Context, p Purge, runs []int64) (Purged, error) {
	n, err := db.file.countPurge(ctx, p, runs)
	for _, l := range db.ledgers.of(runs) {
		samples, bytes := l.waiting(p)
		n.Samples, n.SampleBytes = n.Samples+samples, n.SampleBytes+bytes
	}
	return n, err
}

// forget takes out of the memory what was deleted on the disk. The caller holds flushing.
func (db *DB) forget(p Purge, runs []int64, now time.Time) {
	until := p.until(now)
	if runs == nil {
		db.since = latest(db.since, until)
	}
	for _, l := range db.ledgers.of(runs) {
		l.purge(p, &db.budget, until)
	}
	db.ledgers.past.clear()
}

// of are the ledgers of these runs, or of all.
func (ls *ledgers) of(runs []int64) []*ledger {
	all := ls.all()
	if runs == nil {
		return all
	}
	return slices.DeleteFunc(all, func(l *ledger) bool { return !slices.Contains(runs, l.run.ID) })
}

// waiting counts the samples that a purge would take and that are not on the disk yet.
func (l *ledger) waiting(p Purge) (samples, bytes int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for k := range l.shelf.all() {
		if k.id == 0 && p.takes(k) {
			samples, bytes = samples+1, bytes+k.held
		}
	}
	return samples, bytes
}

// takes tells whether a sample is deleted, given that its run is meant.
func (p Purge) takes(k *kept) bool { return p.Before.IsZero() || k.at < micros(p.Before) }

// purge forgets samples, and profiles as the disk does. Samples that wait for the disk give their bytes back. The caller
// holds flushing.
func (l *ledger) purge(p Purge, b *budget, until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.since = latest(l.since, until)
	for k := range l.shelf.all() {
		if p.takes(k) {
			l.shelf.forget(k)
		}
	}
	homeless := func(k *kept) bool {
		if len(k.places) > 0 {
			return false
		}
		b.give(k.held)
		return true
	}
	l.picked = slices.DeleteFunc(l.picked, homeless)
	l.backlog.samples = slices.DeleteFunc(l.backlog.samples, homeless)
	if p.Before.IsZero() || l.run.Ended != nil && !l.run.Ended.After(p.Before) {
		l.profiles.purge()
	}
}

// all are the exchanges that have a place.
func (s *shelf) all() map[*kept]bool {
	all := map[*kept]bool{}
	for _, route := range s.routes {
		for _, r := range route.reservoirs {
			for _, e := range r.entries {
				all[e.kept] = true
			}
		}
	}
	return all
}

// purge forgets everything. What the disk has of it is the caller's.
func (p *profileLedger) purge() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.profiles, p.attributes = diff.NewProfiles(), diff.NewAttributes(p.attributes.Redactor())
	p.letGo()
	clear(p.written)
}

// clear drops what is kept of all runs.
func (p *past) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forgot++
	p.kept = nil
}
