package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"shadowdiff/multicast"
)

// runRow is a run as it is on the disk.
type runRow struct {
	Run
	print    Fingerprint
	counters multicast.Counts
	begunBy  string
	ruleText string
	summary  Summary
}

const selectRun = `SELECT id, name, started, ended, candidate, rules, version, notes, attempt, begun_by, rule_text, counters, summary FROM run `

func (row *runRow) scan(scan func(...any) error) error {
	var started, ended int64
	var counters, summary string
	err := scan(&row.ID, &row.Name, &started, &ended, &row.print.Candidate, &row.print.Rules, &row.Version, &row.Notes, &row.Attempt,
		&row.begunBy, &row.ruleText, &counters, &summary)
	if err != nil {
		return err
	}
	row.Started, row.Candidate = fromMicros(started), row.print.Candidate
	if ended != 0 {
		at := fromMicros(ended)
		row.Ended = &at
	}
	if err := json.Unmarshal([]byte(counters), &row.counters); err != nil {
		return fmt.Errorf("run %d: counters: %w", row.ID, err)
	}
	if summary != "" {
		if err := json.Unmarshal([]byte(summary), &row.summary); err != nil {
			return fmt.Errorf("run %d: summary: %w", row.ID, err)
		}
	}
	return nil
}

// runWhere reads the one run that a condition leaves, or answers ErrNotFound.
func (db *DB) runWhere(ctx context.Context, condition string, args ...any) (*runRow, error) {
	row := &runRow{}
	err := row.scan(db.file.read.QueryRowContext(ctx, selectRun+`WHERE `+condition, args...).Scan)
	if err = notFound(err); err != nil {
		return nil, fmt.Errorf("read run: %w", err)
	}
	return row, nil
}

// notFound is ErrNotFound where a row is not there.
func notFound(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return ErrNotFound
	}
	return err
}

// FindRun answers the run that is meant by an id, a name (the latest of that name) or "current", the one in force, or
// ErrNotFound. A name that a run no longer has does not lead to it.
func (db *DB) FindRun(ctx context.Context, ref string) (Run, error) {
	now := db.Snapshot().Run
	if ref == "current" && now.ID != 0 {
		return now, nil
	}
	condition, arg := `name = ? ORDER BY id DESC LIMIT 1`, any(ref)
	if id, err := strconv.ParseInt(ref, 10, 64); err == nil {
		condition, arg = `id = ?`, id
	}
	row, err := db.runWhere(ctx, condition, arg)
	switch {
	case err == nil:
		return row.Run, nil
	case errors.Is(err, ErrNotFound) && now.ID != 0 && (ref == now.Name || arg == any(now.ID)): // not on the disk yet
		return now, nil
	default:
		return Run{}, fmt.Errorf("run %q: %w", ref, err)
	}
}

// RunNames lists the names of the latest 1,000 runs, the latest first.
func (db *DB) RunNames(ctx context.Context) ([]string, error) {
	rows, err := db.file.read.QueryContext(ctx, `SELECT name FROM run ORDER BY id DESC LIMIT 1000`)
	names, err := scanAll(rows, err, func(scan func(...any) error, name *string) error { return scan(name) })
	if err != nil {
		return nil, fmt.Errorf("read the names of runs: %w", err)
	}
	return names, nil
}
