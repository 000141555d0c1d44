package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"sync"
	"time"

	"shadowdiff/diff"
	"shadowdiff/multicast"
)

const (
	keptPast = 8 // snapshots of runs that are not in memory

	// keptPastRows bounds the routes and fields of these together, at some half a KiB each; the one that was asked for last
	// is kept whatever it has.
	keptPastRows = 100_000

	// samplesAged is when the samples of such a run are looked for again: some may have been removed.
	samplesAged = time.Minute
)

// past keeps the snapshots of a few runs that were read from the disk, and what many come to.
type past struct {
	mu        sync.Mutex // guards what follows
	loading   chan struct{}
	forgot    int         // grows with each run that is no longer what was read
	kept      []*pastRun  // the one asked for last first
	judge     diff.Config // under which summaries are so
	summaries map[int64]Summary
}

type pastRun struct {
	*Snapshot
	rows    int
	sampled time.Time // when its samples were read
}

// RunSnapshot returns the latest state of any run, or ErrNotFound. Of a run that is over it is read from the disk, and
// judged as the configuration in force and the run's attempt have it: a changed budget re-judges the past.
func (db *DB) RunSnapshot(ctx context.Context, id int64) (*Snapshot, error) {
	if s := db.live(id); s != nil {
		return s, nil
	}
	p := &db.ledgers.past
	if err := p.enter(ctx); err != nil { // one at a time: each takes memory
		return nil, fmt.Errorf("read run %d: %w", id, err)
	}
	defer p.leave()
	kept, forgot := p.find(id, db.Snapshot().judge)
	if kept != nil && time.Since(kept.sampled) < samplesAged {
		return kept.Snapshot, nil
	}
	kept, err := db.readPast(ctx, id, kept)
	if err != nil {
		return nil, fmt.Errorf("read run %d: %w", id, err)
	}
	p.put(kept, forgot)
	return kept.Snapshot, nil
}

// live is the snapshot of a run that is in memory.
func (db *DB) live(id int64) *Snapshot {
	if now := db.Snapshot(); now.Run.ID == id && id != 0 {
		return now
	}
	if l := db.ledgers.get(id); l != nil {
		return l.shown.Load()
	}
	return nil
}

// readPast reads a run, or only its samples where the rest is known.
func (db *DB) readPast(ctx context.Context, id int64, known *pastRun) (*pastRun, error) {
	tx, err := db.file.read.BeginTx(ctx, nil) // in which nothing changes
	if err != nil {
		return nil, err
	}
	defer tx.Rollback()
	p := &pastRun{sampled: time.Now()}
	if known != nil {
		p.Snapshot, p.rows = new(Snapshot), known.rows
		*p.Snapshot = *known.Snapshot
	} else if err := db.readCounts(ctx, tx, id, p); err != nil {
		return nil, err
	}
	shelf := newShelf(1)
	if err := loadShelf(ctx, tx, id, &shelf); err != nil {
		return nil, err
	}
	p.samples = map[string]map[string][]int64{}
	for route, kept := range shelf.routes {
		p.samples[route] = kept.ids()
	}
	p.Verdict = withSamples(p.Verdict, p.samples)
	return p, nil
}

// readCounts reads and judges a run.
func (db *DB) readCounts(ctx context.Context, tx *sql.Tx, id int64, p *pastRun) error {
	row := &runRow{}
	if err := row.scan(tx.QueryRowContext(ctx, selectRun+`WHERE id = ?`, id).Scan); err != nil {
		return notFound(err)
	}
	tallies, err := loadTallies(ctx, tx, id)
	if err != nil {
		return err
	}
	tallies.Paused = row.counters.Shadow[multicast.Candidate.String()].Paused
	tallies.Stale = staleOf(&row.counters)
	tallies.Transport.Counts = diff.Counts{}
	if all := tallies.AllTransport(); all != nil {
		tallies.Transport.Counts = all.Tests[diff.TestPresence].Counts // of the routes there are now
	}
	now := db.Snapshot()
	p.Snapshot = &Snapshot{
		Version: now.Version, Time: time.Now().UTC(), Run: row.Run, Tallies: tallies, Counters: row.counters, judge: now.judge,
	}
	p.rows = len(tallies.Routes) + len(tallies.Fields)
	p.Verdict, _ = diff.Judge(tallies, judgingOf(now.judge, &row.Run))
	return nil
}

// enter waits until nobody else reads a run.
func (p *past) enter(ctx context.Context) error {
	p.mu.Lock()
	if p.loading == nil {
		p.loading = make(chan struct{}, 1)
	}
	p.mu.Unlock()
	select {
	case p.loading <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *past) leave() { <-p.loading }

// find answers what is kept of a run as it is judged now, and until when that is so.
func (p *past) find(id int64, judge diff.Config) (kept *pastRun, forgot int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(p.kept, func(k *pastRun) bool { return k.Run.ID == id })
	switch {
	case i < 0:
	case p.kept[i].judge != judge:
		p.kept = slices.Delete(p.kept, i, i+1)
	default:
		kept = p.kept[i]
		copy(p.kept[1:], p.kept[:i])
		p.kept[0] = kept
	}
	return kept, p.forgot
}

// put keeps a run, unless something was forgotten while it was read.
func (p *past) put(run *pastRun, forgot int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.forgot != forgot {
		return
	}
	same := func(k *pastRun) bool { return k.Run.ID == run.Run.ID }
	p.kept = slices.Insert(slices.DeleteFunc(p.kept, same), 0, run)
	rows := run.rows
	for i, k := range p.kept[1:] {
		if rows += k.rows; rows > keptPastRows || i+1 >= keptPast {
			clear(p.kept[i+1:])
			p.kept = p.kept[:i+1]
			return
		}
	}
}

// forget drops what is kept of a run that is no longer what it was.
func (p *past) forget(id int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forgot++
	p.kept = slices.DeleteFunc(p.kept, func(k *pastRun) bool { return k.Run.ID == id })
	delete(p.summaries, id)
}
