package store

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"sync"
	"time"
)

// Rule is a rule that was added through the API. What it says is for others to read.
type Rule struct {
	ID      int64     // never given twice; the rules hold in its order
	Text    string    // YAML, an item of the list under rules: in a configuration
	Created time.Time // to the microsecond
	Actor   string    // who added it, as far as it is known
}

// RuleChange adds rules and removes others. It is made with the run that it begins, or not at all: see Beginning.
type RuleChange struct {
	Add    []Rule  // with the ids that Rules has told are the next
	Remove []int64 // those that are not there are not missed
}

// Rules lists the rules that were added through the API, in their order, and tells the next id that is free. It reads
// memory only. Who adds rules sees to it that nobody else does meanwhile.
func (db *DB) Rules() (list []Rule, next int64) {
	db.rules.mu.Lock()
	defer db.rules.mu.Unlock()
	return slices.Clone(db.rules.list), db.rules.next
}

// storedRules are those on the disk, for reading them and for a file that takes its place.
type storedRules struct {
	mu   sync.Mutex
	list []Rule
	next int64
}

// change is the same in memory as on the disk.
func (r *storedRules) change(c *RuleChange) {
	if c == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = slices.DeleteFunc(slices.Clone(r.list), func(one Rule) bool { return slices.Contains(c.Remove, one.ID) })
	for _, one := range c.Add {
		r.list = append(r.list, one)
		r.next = max(r.next, one.ID+1)
	}
}

const insertRule = `INSERT INTO rule (id, text, created, actor) VALUES (?, ?, ?, ?)
	ON CONFLICT (id) DO UPDATE SET text = excluded.text, created = excluded.created, actor = excluded.actor`

// changeRules writes a change down; nil is none.
func changeRules(ctx context.Context, tx *sql.Tx, c *RuleChange) error {
	if c == nil {
		return nil
	}
	for _, id := range c.Remove {
		if _, err := tx.ExecContext(ctx, `DELETE FROM rule WHERE id = ?`, id); err != nil {
			return err
		}
	}
	for _, r := range c.Add {
		if _, err := tx.ExecContext(ctx, insertRule, r.ID, r.Text, micros(r.Created), r.Actor); err != nil {
			return err
		}
	}
	return nil
}

// loadRules remembers all rules, and which id comes next: that of one removed is not given again.
func (db *DB) loadRules(ctx context.Context) error {
	rows, err := db.file.read.QueryContext(ctx, `SELECT id, text, created, actor FROM rule ORDER BY id`)
	list, err := scanAll(rows, err, func(scan func(...any) error, r *Rule) error {
		var created int64
		err := scan(&r.ID, &r.Text, &created, &r.Actor)
		r.Created = fromMicros(created)
		return err
	})
	if err != nil {
		return err
	}
	var last int64
	err = db.file.read.QueryRowContext(ctx, `SELECT seq FROM sqlite_sequence WHERE name = 'rule'`).Scan(&last)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	db.rules.mu.Lock()
	defer db.rules.mu.Unlock()
	db.rules.list, db.rules.next = list, last+1
	return nil
}

// writeFreshRules writes to a file that is new in another's place what that one had of rules.
func (db *DB) writeFreshRules(ctx context.Context, tx *sql.Tx) error {
	list, _ := db.Rules()
	return changeRules(ctx, tx, &RuleChange{Add: list})
}
