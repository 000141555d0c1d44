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
	ID        int64      `json:"id"`
	Name      string     `json:"name"` // several runs may have the same
	Started   time.Time  `json:"started"`
	Ended     *time.Time `json:"ended"`     // when another took its place; nil: it is in force
	Candidate string     `json:"candidate"` // its address; empty: there was none
	Version   string     `json:"version"`   // that the candidate told; empty: it told none
	Notes     string     `json:"notes"`
	Attempt   int        `json:"attempt"` // from 1: this is so many'th of the runs that have, or had, its name
}

// Fingerprint tells runs apart: a start with another one begins a new run, a start with the same continues the last.
type Fingerprint struct {
	Candidate string // its address
	Rules     string // the compiled rules, canonical
}

// Beginning says what the run in force is to be.
type Beginning struct {
	Fingerprint
	New   bool   // begin one, whatever is in force; else only where the fingerprint, or Asked, is another
	Asked string // name that the configuration asks for: another than it asked for last begins a run; empty: it asks for none

	// Rules are changed with it, in one transaction, whether a run is begun or not; nil: none is.
	Rules *RuleChange

	// What follows is of a run that is begun.
	Name     string // empty: as the run before it where somebody has named that since Asked was asked for; else Asked, else "run N"
	Version  string // of the candidate; empty: it has not told one
	Notes    string
	RuleText string // the rules as YAML, for people
	By       string // who or what begins it, a word: "start", "reload", "api", "version"

	// Anyway has it begin even where the disk does not take it: the writer then tries again, as with counts.
	Anyway bool
}

// StartRun is BeginRun for one that is begun only where the fingerprint is another.
func (db *DB) StartRun(name string, fp Fingerprint) (Run, error) {
	run, _, err := db.BeginRun(context.Background(), Beginning{Fingerprint: fp, Name: name})
	return run, err
}

// BeginRun puts a run in force and publishes its Snapshot: the one that was in force last, with all it has counted, or a
// new one, and tells which. A new one is on the disk when it returns. Exchanges under way still count for the run that
// they were begun in. It fails, and changes nothing, where a name, a version or notes are none, with ErrRunText, and where
// the disk does not take it.
func (db *DB) BeginRun(ctx context.Context, b Beginning) (run Run, begun bool, err error) {
	if err := b.validate(); err != nil {
		return Run{}, false, fmt.Errorf("begin run: %w", err)
	}
	db.flushing.Lock()
	defer db.flushing.Unlock()
	if db.closed {
		return Run{}, false, errors.New("begin run: the store is closed")
	}
	l, err := db.inForce(ctx, &b)
	switch {
	case err != nil:
	case l == nil:
		begun = true
		l, err = db.newRun(ctx, &b)
	case b.Rules != nil:
		err = db.transact(ctx, func(tx *sql.Tx) error { return changeRules(ctx, tx, b.Rules) })
	}
	if err != nil {
		return Run{}, false, fmt.Errorf("begin run: %w", explain(db.file.path, err))
	}
	db.rules.change(b.Rules)
	if l != db.ledgers.current() {
		db.begin(l, l.run.Started)
	}
	return l.run, begun, nil
}

// begin ends the run in force and puts another in its place.
func (db *DB) begin(l *ledger, at time.Time) {
	if before := db.ledgers.current(); before != nil {
		before.end(db.deps.Counters, at)
	}
	l.run.Ended = nil
	l.counters.start(db.deps.Counters, l.run.Started)
	db.ledgers.begin(l)
	l.gather(db, time.Time{})
	db.publish()
}

// end notes that another run is in force. The next flush writes it down where that is not done yet.
func (l *ledger) end(counters func() multicast.Counts, at time.Time) {
	l.counters.end(counters)
	at = latest(at, l.run.Started)
	l.run.Ended = &at
	l.backlog.counters = true
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// inForce answers the run in force if it is to go on, else nil. After a start it is read from the disk.
func (db *DB) inForce(ctx context.Context, b *Beginning) (*ledger, error) {
	if b.New {
		return nil, nil
	}
	if b.Asked != "" {
		asked, err := db.Setting(ctx, keyAsked)
		if errors.Is(err, ErrNotFound) || err == nil && asked != b.Asked {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
	}
	if l := db.ledgers.current(); l != nil {
		if l.print != b.Fingerprint {
			return nil, nil
		}
		return l, nil
	}
	row, err := db.runWhere(ctx, inForceOnDisk)
	if errors.Is(err, ErrNotFound) || err == nil && row.print != b.Fingerprint {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	l, tallies, err := db.loadLedger(ctx, row)
	if err == nil {
		learn(db.deps.Names, tallies)
	}
	return l, err
}

// inForceOnDisk is the condition for the run that was in force when the process before ended.
const inForceOnDisk = `ended = 0 ORDER BY id DESC LIMIT 1`

// keyAsked is the setting that keeps the name that the configuration asked for last.
const keyAsked = "run.name"

// loadLedger continues a run from what the disk has of it. It is not in force yet.
func (db *DB) loadLedger(ctx context.Context, row *runRow) (*ledger, *diff.Tallies, error) {
	tallies, err := loadTallies(ctx, db.file.read, row.ID)
	if err != nil {
		return nil, nil, fmt.Errorf("read run %d: %w", row.ID, err)
	}
	l := newLedger(row.Run, row.print, tallies, db.cfg, db.deps.Judge)
	l.begunBy, l.ruleText, l.since = row.begunBy, row.ruleText, db.since
	l.counters.before, l.counters.total, l.counters.ended = row.counters, row.counters, true
	if err := loadShelf(ctx, db.file.read, row.ID, &l.shelf); err != nil {
		return nil, nil, fmt.Errorf("read run %d: samples: %w", row.ID, err)
	}
	err = db.file.read.QueryRowContext(ctx, `SELECT coalesce(max(begin + span - 1), 0) FROM run_series WHERE run = ?`, row.ID).Scan(&l.series.newest)
	if err != nil {
		return nil, nil, fmt.Errorf("read run %d: series: %w", row.ID, err)
	}
	if err := db.loadProfiles(ctx, l); err != nil {
		return nil, nil, fmt.Errorf("read run %d: profiles: %w", row.ID, err)
	}
	return l, tallies, nil
}

// newRun makes a run and writes it down, with the end of the one before it.
func (db *DB) newRun(ctx context.Context, b *Beginning) (*ledger, error) {
	run := Run{
		Name: b.Name, Started: time.Now().UTC().Truncate(time.Microsecond), Candidate: b.Candidate, Version: b.Version, Notes: b.Notes,
	}
	var err error
	if run.ID, err = db.nextRun(ctx); err != nil {
		return nil, err
	}
	if run.Name == "" {
		if run.Name, err = db.nextName(ctx, b.Asked); err != nil {
			return nil, err
		}
	}
	if run.Name == "" {
		run.Name = numbered(run.ID)
	}
	if run.Attempt, err = db.nextAttempt(ctx, run.Name); err != nil {
		return nil, err
	}
	l := newLedger(run, b.Fingerprint, nil, db.cfg, db.deps.Judge)
	l.begunBy, l.ruleText, l.unwritten, l.since = b.By, b.RuleText, true, db.since
	err = db.transact(ctx, func(tx *sql.Tx) error {
		w := writer{ctx: ctx, tx: tx, db: db, run: run.ID}
		if err := w.runLine(l); err != nil {
			return err
		}
		if err := changeRules(ctx, tx, b.Rules); err != nil {
			return err
		}
		if b.Asked != "" {
			if _, err := tx.ExecContext(ctx, saveSetting, keyAsked, b.Asked); err != nil {
				return err
			}
		}
		return w.endOthers(run.Started)
	})
	switch {
	case err == nil:
		l.unwritten = false
		if b.Asked != "" {
			db.settings.put(keyAsked, b.Asked)
		}
	case b.Anyway:
		l.backlog.counters = true
		err = nil
	}
	return l, err
}

// endOthers notes that this run is in force, and no other.
func (w *writer) endOthers(at time.Time) error {
	_, err := w.tx.ExecContext(w.ctx, `UPDATE run SET ended = max(?1, started) WHERE ended = 0 AND id <> ?2`, micros(at), w.run)
	return err
}

// numbered is the name of a run that nobody has named.
func numbered(id int64) string { return fmt.Sprintf("run %d", id) }

// nextName is what a run is called for which nobody gives a name: what the configuration asks for, or what the run before
// it was called by hand since. Empty: the configuration asks for none.
func (db *DB) nextName(ctx context.Context, asked string) (string, error) {
	if asked == "" {
		return "", nil
	}
	before, err := db.Setting(ctx, keyAsked)
	if errors.Is(err, ErrNotFound) || err == nil && before != asked {
		return asked, nil
	}
	if err != nil {
		return "", err
	}
	last, err := db.lastRun(ctx)
	if errors.Is(err, ErrNotFound) || err == nil && !last.named() {
		return asked, nil
	}
	return last.Name, err
}

// lastRun is the run in force, or after a start the one that was.
func (db *DB) lastRun(ctx context.Context) (Run, error) {
	if l := db.ledgers.current(); l != nil {
		return l.run, nil
	}
	row, err := db.runWhere(ctx, inForceOnDisk)
	if err != nil {
		return Run{}, err
	}
	return row.Run, nil
}

// named tells that somebody has given the run its name: it is not that of its number, nor of its version.
func (r *Run) named() bool {
	return r.Name != numbered(r.ID) && (r.Version == "" || r.Name != VersionName(r.Version))
}

// nextRun is the id of the next run: those in memory may not be on the disk yet.
func (db *DB) nextRun(ctx context.Context) (id int64, err error) {
	err = db.file.read.QueryRowContext(ctx, `SELECT coalesce(max(id), 0) FROM run`).Scan(&id)
	for _, l := range db.ledgers.all() {
		id = max(id, l.run.ID)
	}
	return id + 1, err
}

// nextAttempt is which attempt at its name the next run with that name is.
func (db *DB) nextAttempt(ctx context.Context, name string) (attempt int, err error) {
	err = db.file.read.QueryRowContext(ctx, `SELECT coalesce(max(attempt), 0) FROM run_name WHERE name = ?`, name).Scan(&attempt)
	for _, l := range db.ledgers.all() {
		if l.unwritten && l.run.Name == name {
			attempt = max(attempt, l.run.Attempt)
		}
	}
	return attempt + 1, err
}

// runLine writes the row of a run, whole, where something of it may have changed.
func (w *writer) runLine(l *ledger) error {
	if !l.backlog.counters && l.backlog.total == nil && !l.unwritten {
		return nil
	}
	counters, err := json.Marshal(&l.counters.total)
	if err != nil {
		return err
	}
	summary, err := json.Marshal(l.summary(w.db.deps.Judge))
	if err != nil {
		return err
	}
	r := &l.run
	err = w.exec(w.db.stmts.run, r.ID, r.Name, micros(r.Started), l.print.Candidate, l.print.Rules, string(counters), ended(r),
		r.Version, r.Notes, l.begunBy, r.Attempt, l.ruleText, string(summary))
	if err == nil && l.unwritten {
		err = w.exec(w.db.stmts.runName, r.Name, r.ID, r.Attempt)
	}
	return err
}

// ended is when a run ended, as it is written down; 0 while it is in force.
func ended(r *Run) int64 {
	if r.Ended == nil {
		return 0
	}
	return micros(*r.Ended)
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
	r.total, r.ended = addCounts(r.before, multicast.Counts{}, 1), false
}

// end takes what was counted last. A run that is taken up again goes on from there.
func (r *runCounters) end(counters func() multicast.Counts) {
	r.read(counters)
	r.before, r.ended = r.total, true
}

// judgingOf is how a run is judged: one that is not the first attempt at its name has less of α.
func judgingOf(judge diff.Config, run *Run) diff.Config {
	judge.Attempt, judge.Name = run.Attempt, run.Name
	return judge
}
