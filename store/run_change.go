package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"shadowdiff/diff"
)

// RunChange is what is to be changed of a run; nil stays as it is.
type RunChange struct{ Name, Notes *string }

// ChangeRun gives a run another name or other notes. With another name it is one more attempt at that name, unless it had
// it before, and it stays what it was of the former one: of all attempts that it is, its Attempt is the highest. So no name
// makes the attempts fewer. It fails, and changes nothing, with ErrNotFound, with ErrRunText where a text is none, and
// where the disk does not take it.
func (db *DB) ChangeRun(ctx context.Context, id int64, c RunChange) (Run, error) {
	if err := c.validate(); err != nil {
		return Run{}, fmt.Errorf("change run %d: %w", id, err)
	}
	db.flushing.Lock()
	defer db.flushing.Unlock()
	run, err := db.changeRun(ctx, id, c)
	if err != nil {
		return Run{}, fmt.Errorf("change run %d: %w", id, explain(db.file.path, err))
	}
	return run, nil
}

func (c *RunChange) validate() error {
	var faults []error
	if c.Name != nil {
		faults = append(faults, ValidRunName(*c.Name))
	}
	if c.Notes != nil {
		faults = append(faults, validNotes(*c.Notes))
	}
	return errors.Join(faults...)
}

func (db *DB) changeRun(ctx context.Context, id int64, c RunChange) (run Run, err error) {
	l := db.ledgers.get(id)
	if l != nil {
		run = l.run
	} else {
		row, err := db.runWhere(ctx, `id = ?`, id)
		if err != nil {
			return Run{}, err
		}
		run = row.Run
	}
	if c.Name != nil && *c.Name != run.Name && (run.Name == diff.CalibrationRun || *c.Name == diff.CalibrationRun) {
		return Run{}, fmt.Errorf("name %q: runs in which known-good code was asked keep the name %q, and no other has it: %w",
			*c.Name, diff.CalibrationRun, ErrRunText)
	}
	at := 0 // attempt at the new name; 0: it is the old one
	if c.Notes != nil {
		run.Notes = *c.Notes
	}
	if c.Name != nil && *c.Name != run.Name {
		if at, err = db.attemptAt(ctx, id, *c.Name); err != nil {
			return Run{}, err
		}
		run.Name, run.Attempt = *c.Name, max(run.Attempt, at)
	}
	if err := db.transact(ctx, func(tx *sql.Tx) error { return db.writeChange(ctx, tx, l, run, at) }); err != nil {
		return Run{}, err
	}
	if l == nil {
		db.ledgers.past.forget(id)
		return run, nil
	}
	l.unwritten = false
	db.rename(l, run)
	return run, nil
}

// attemptAt is which attempt at a name a run is: what it was when it had that name before, else the next.
func (db *DB) attemptAt(ctx context.Context, id int64, name string) (attempt int, err error) {
	err = db.file.read.QueryRowContext(ctx, `SELECT attempt FROM run_name WHERE name = ? AND run = ?`, name, id).Scan(&attempt)
	if errors.Is(err, sql.ErrNoRows) {
		return db.nextAttempt(ctx, name)
	}
	return attempt, err
}

// writeChange writes a run as it is to be; l is nil where it is not in memory.
func (db *DB) writeChange(ctx context.Context, tx *sql.Tx, l *ledger, run Run, at int) error {
	w := writer{ctx: ctx, tx: tx, db: db, run: run.ID}
	if l != nil && l.unwritten { // the disk did not take it when it began
		if err := w.runLine(l); err != nil {
			return err
		}
	}
	if at > 0 {
		if err := w.exec(db.stmts.runName, run.Name, run.ID, at); err != nil {
			return err
		}
	}
	_, err := tx.ExecContext(ctx, `UPDATE run SET name = ?, notes = ?, attempt = ?, version = ? WHERE id = ?`,
		run.Name, run.Notes, run.Attempt, run.Version, run.ID)
	return err
}

// rename takes over what a run in memory is called, judges it so and shows it.
func (db *DB) rename(l *ledger, run Run) {
	judged := run.Name != l.run.Name || run.Attempt != l.run.Attempt
	l.run = run
	l.backlog.counters = true // for what it comes to
	l.reconfigure(db.cfg, db.deps.Judge, judged)
	l.gather(db, time.Time{})
	db.publish()
}
