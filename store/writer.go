package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	sqlite3 "modernc.org/sqlite/lib"
)

const (
	// flushEvery is how often the writer looks for something new. Even when a flush takes its time, what is on the disk
	// is then at most a second old.
	flushEvery = 500 * time.Millisecond

	packFor   = 150 * time.Millisecond // how long one flush may pack samples
	lastFlush = 10 * time.Second       // that the end may take
)

// Run is the writer: it flushes twice a second, removes what is too old or too much each minute, and after an unclean
// end checks the integrity of the file in the background. It returns when ctx has ended and all is flushed that the disk takes:
// Close tries the rest once more, and answers what became of it.
func (db *DB) Run(ctx context.Context) error {
	checked := make(chan struct{})
	go func() {
		defer close(checked)
		db.checkAfterCrash(ctx)
	}()
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	var swept time.Time
	for ctx.Err() == nil {
		select {
		case now := <-tick.C:
			_ = db.Flush(ctx) // is in Health, and logged once
			if now.Sub(swept) >= sweepEvery || db.hasGrown() {
				if more := db.sweep(ctx, now, time.Now().Add(sweepFor)); !more {
					swept = now
				}
			}
		case <-ctx.Done():
		}
	}
	<-checked
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastFlush)
	defer cancel()
	db.flushing.Lock()
	defer db.flushing.Unlock()
	_ = db.finish(last) // is in Health, and logged once
	return nil
}

// hasGrown tells whether samples were added since it was last asked: the file may be too large before the next sweep.
func (db *DB) hasGrown() bool {
	db.flushing.Lock()
	defer db.flushing.Unlock()
	grown := db.grown
	db.grown = false
	return grown
}

// finish flushes until nothing is left. The caller holds flushing.
func (db *DB) finish(ctx context.Context) error {
	for {
		if err := db.flush(ctx, time.Now().Add(lastFlush)); err != nil {
			return err
		}
		if !db.ledgers.fresh() {
			db.writeProfiles(ctx, (*profileLedger).unwritten)
			return nil
		}
	}
}

// Flush judges what was recorded, writes what changed to the disk and publishes a new Snapshot, in which everything
// recorded before the call is counted. Run calls it twice a second. An error says that the disk did not take it: the
// snapshot is published all the same, nothing is lost, and the next flush tries again.
func (db *DB) Flush(ctx context.Context) error {
	db.flushing.Lock()
	defer db.flushing.Unlock()
	err := db.flush(ctx, time.Now().Add(packFor))
	if err == nil {
		db.writeProfiles(ctx, (*profileLedger).due)
	}
	return err
}

func (db *DB) flush(ctx context.Context, packUntil time.Time) error {
	if db.closed {
		return errors.New("flush: the store is closed")
	}
	db.mind(ctx)
	began := time.Now()
	all := db.ledgers.all()
	news, err := db.fresh, db.missing
	for _, l := range all {
		if failed := db.loadMinutes(ctx, l); failed != nil && err == nil {
			err = failed
		}
		if l.gather(db, packUntil) {
			news = true
		}
	}
	learnt := db.learnt()
	if !news && learnt.version == db.folds.version && err == nil {
		return nil
	}
	if err == nil {
		err = db.writeWhatFits(ctx, all, learnt)
	}
	db.settle(all, learnt, err)
	db.health.flushed(db.deps.Log, time.Since(began), err)
	if damaged(err) && !db.down {
		db.missing = db.giveUp(ctx, err)
	}
	db.ledgers.retire(time.Now())
	db.publish()
	if err != nil {
		return fmt.Errorf("flush: %w", err)
	}
	return nil
}

// writeWhatFits writes all backlogs; where the disk is full, without their samples.
func (db *DB) writeWhatFits(ctx context.Context, all []*ledger, learnt folds) error {
	err := db.writeAll(ctx, all, learnt)
	if full(err) && lighten(all) {
		if err = db.writeAll(ctx, all, learnt); err == nil {
			db.samplesFrom = time.Now().Add(crowded)
			db.health.crowded(db.deps.Log)
		}
	}
	return err
}

// settle has the memory agree with what the disk has taken, or, after an error, has not.
func (db *DB) settle(all []*ledger, learnt folds, err error) {
	if err == nil {
		db.keepFolds(learnt)
		db.fresh = false
	} else {
		clear(db.seriesNames)
	}
	for _, l := range all {
		db.grown = db.grown || len(l.backlog.inserts) > 0
		if err == nil {
			l.landed(db, time.Now())
		} else {
			l.aborted()
		}
	}
}

// crowded is how long samples wait after they have found no room on the disk.
const crowded = time.Minute

// full tells that the disk had no room for a transaction.
func full(err error) bool { return primaryCode(err) == sqlite3.SQLITE_FULL }

// lighten leaves the samples out of the transaction that had no room, so that the counts are not lost with them. It answers
// false when there were none.
func lighten(all []*ledger) (lighter bool) {
	for _, l := range all {
		lighter = l.unboard() || lighter
	}
	return lighter
}

// loadMinutes reads what the disk has of minutes that were begun since the last flush, most often nothing: the rows that
// are written hold the minute's whole count.
func (db *DB) loadMinutes(ctx context.Context, l *ledger) error {
	l.mu.Lock()
	begins := l.series.unloaded()
	l.mu.Unlock()
	for _, begin := range begins {
		var rows seriesRows
		if err := db.readMinute(ctx, l.run.ID, begin, &rows); err != nil {
			return fmt.Errorf("read series: %w", err)
		}
		rows.rename(l.backlog.moved)
		l.mu.Lock()
		l.series.load(begin, &rows)
		l.mu.Unlock()
	}
	return nil
}

// writeAll writes all backlogs, and what was learnt of names, in one transaction.
func (db *DB) writeAll(ctx context.Context, all []*ledger, learnt folds) error {
	return db.transact(ctx, func(tx *sql.Tx) error {
		if db.fresh {
			if err := db.writeFresh(ctx, tx); err != nil {
				return fmt.Errorf("write settings: %w", err)
			}
		}
		if err := db.writeFolds(ctx, tx, learnt); err != nil {
			return fmt.Errorf("write folds: %w", err)
		}
		for _, l := range all {
			if l.backlog.empty() {
				continue
			}
			w := writer{ctx: ctx, tx: tx, db: db, run: l.run.ID}
			if err := w.backlog(l); err != nil {
				return err
			}
		}
		return nil
	})
}

// transact runs do in one transaction; nothing of it stays when do fails.
func (db *DB) transact(ctx context.Context, do func(tx *sql.Tx) error) error {
	tx, err := db.file.write.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer tx.Rollback()
	if err := do(tx); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// checkAfterCrash reads the whole file when the process before did not close it. A crash does not damage the file, but
// what crashed the machine may have: then the file is set aside.
func (db *DB) checkAfterCrash(ctx context.Context) {
	db.flushing.Lock()
	unclean, file := db.file.unclean, db.file.file
	db.flushing.Unlock()
	if !unclean {
		return
	}
	err := explain(db.file.path, db.file.check(ctx))
	if !damaged(err) || ctx.Err() != nil {
		return
	}
	db.flushing.Lock()
	defer db.flushing.Unlock()
	if !db.closed && !db.down && file == db.file.file {
		db.missing = db.giveUp(ctx, err)
	}
}
