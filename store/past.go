package store

import (
	"context"
	"fmt"

	"shadowdiff/diff"
)

// RunSnapshot returns the latest state of any run, or ErrNotFound. Of a run that is over it is read from the disk, and
// judged as the configuration in force and the run's attempt have it: a changed budget re-judges the past.
func (db *DB) RunSnapshot(ctx context.Context, id int64) (*Snapshot, error) {
	now := db.Snapshot()
	if now.Run.ID == id && id != 0 {
		return now, nil
	}
	row, err := db.runWhere(ctx, `id = ?`, id)
	if err != nil {
		return nil, fmt.Errorf("run %d: %w", id, err)
	}
	tallies, err := db.loadTallies(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("read run %d: %w", id, err)
	}
	s := &Snapshot{Version: now.Version, Time: now.Time, Run: row.Run, Tallies: tallies, Counters: row.counters}
	s.Verdict, _ = diff.Judge(tallies, judgingOf(db.deps.Judge, &row.Run))
	return s, nil
}
