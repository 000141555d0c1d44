package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"shadowdiff/diff"
	"shadowdiff/multicast"
)

// Run is everything measured on one candidate under one set of rules.
type Run struct {
	ID      int64     `json:"id"`
	Name    string    `json:"name"`
	Started time.Time `json:"started"`
}

// Fingerprint tells runs apart: a start with another one begins a new run, a start with the same continues the last.
type Fingerprint struct {
	Candidate string // its address
	Rules     string // the compiled rules, canonical
}

// StartRun puts a run in force and publishes its Snapshot. With the fingerprint of the last run it is that one, with all
// it has counted, whatever name is given; else it is a new one, called "run N" when name is empty. Exchanges under way
// still count for the run that they were begun in.
func (db *DB) StartRun(name string, fp Fingerprint) (Run, error) {
	db.flushing.Lock()
	defer db.flushing.Unlock()
	if l := db.ledgers.current(); l != nil && l.print == fp {
		return l.run, nil
	}
	ctx := context.Background()
	l, err := db.lastRun(ctx, fp)
	if err == nil && l == nil {
		l, err = db.newRun(ctx, name, fp)
	}
	if err != nil {
		return Run{}, fmt.Errorf("start run: %w", explain(db.file.path, err))
	}
	db.begin(l)
	return l.run, nil
}

// begin ends the counters of the run in force and puts another in its place.
func (db *DB) begin(l *ledger) {
	if before := db.ledgers.current(); before != nil {
		before.counters.end(db.deps.Counters)
	}
	l.counters.start(db.deps.Counters, l.run.Started)
	db.ledgers.begin(l)
	l.gather(db, time.Time{})
	db.publish()
}

// lastRun loads the latest run if it has this fingerprint, else it answers nil.
func (db *DB) lastRun(ctx context.Context, fp Fingerprint) (*ledger, error) {
	var run Run
	var print Fingerprint
	var started int64
	var counters string
	err := db.file.read.QueryRowContext(ctx, `SELECT id, name, started, candidate, rules, counters FROM run
		ORDER BY id DESC LIMIT 1`).Scan(&run.ID, &run.Name, &started, &print.Candidate, &print.Rules, &counters)
	if errors.Is(err, sql.ErrNoRows) || err == nil && print != fp {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	run.Started = fromMicros(started)
	tallies, err := db.loadTallies(ctx, run.ID)
	if err != nil {
		return nil, fmt.Errorf("read run %d: %w", run.ID, err)
	}
	l := newLedger(run, fp, tallies, db.cfg, db.deps.Judge)
	if err := json.Unmarshal([]byte(counters), &l.counters.before); err != nil {
		return nil, fmt.Errorf("read run %d: counters: %w", run.ID, err)
	}
	if err := db.loadShelf(ctx, l); err != nil {
		return nil, fmt.Errorf("read run %d: samples: %w", run.ID, err)
	}
	learn(db.deps.Names, tallies)
	return l, nil
}

func (db *DB) newRun(ctx context.Context, name string, fp Fingerprint) (*ledger, error) {
	run := Run{Name: name, Started: time.Now().UTC().Truncate(time.Microsecond)}
	err := db.transact(ctx, func(tx *sql.Tx) error {
		if err := tx.QueryRowContext(ctx, `SELECT coalesce(max(id), 0) + 1 FROM run`).Scan(&run.ID); err != nil {
			return err
		}
		if run.Name == "" {
			run.Name = fmt.Sprintf("run %d", run.ID)
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO run (id, name, started, candidate, rules, counters)
			VALUES (?, ?, ?, ?, ?, '{}')`, run.ID, run.Name, micros(run.Started), fp.Candidate, fp.Rules)
		return err
	})
	if err != nil {
		return nil, err
	}
	return newLedger(run, fp, nil, db.cfg, db.deps.Judge), nil
}

// runOf is the run that a filter means.
func (db *DB) runOf(f Filter) int64 {
	if f.Run == 0 {
		return db.Snapshot().Run.ID
	}
	return f.Run
}

// start takes up the proxy's counters as they are, so that what follows is the run's.
func (r *runCounters) start(counters func() multicast.Counts, started time.Time) {
	r.before.Started = started
	if counters != nil {
		r.base = counters()
	}
	r.total = addCounts(r.before, multicast.Counts{}, 1)
}

func (r *runCounters) end(counters func() multicast.Counts) {
	r.read(counters)
	r.ended = true
}

// loadTallies reads all that a run has counted.
func (db *DB) loadTallies(ctx context.Context, run int64) (*diff.Tallies, error) {
	load := loader{ctx: ctx, pool: db.file.read, run: run, all: &diff.Tallies{}, fields: map[fieldKey]*diff.FieldTally{}}
	for _, step := range []func() error{load.routes, load.unknown, load.fieldRows, load.tests, load.confirmations} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return load.all, nil
}
