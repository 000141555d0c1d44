// Package store keeps what was counted: tallies, samples, runs and settings, in one SQLite file. It holds the only SQL.
//
//	Record ──► ledger (memory) ──► writer ──► SQLite
//	                                  └─────► Snapshot ──► Watch
//
// Record touches memory only and cannot fail. One writer flushes twice a second: it judges, writes what changed in one
// transaction, and publishes an immutable Snapshot. The memory holds each run's whole totals, and rows are replaced by
// totals, never added to: so a flush may be repeated, and after a crash the counts are those of at most one second
// before it, none of them doubled. A disk that fails is counted and logged once; recording goes on in memory, and
// catches up.
//
// Samples are exchanges that tell something: redacted before they are written, and only as many as a reservoir a field
// holds. The package deliberately keeps no log of requests: memory and disk grow with what differs, not with traffic.
package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"shadowdiff/diff"
	"shadowdiff/multicast"
	"shadowdiff/normalize"
)

// DB is the open store. All methods are safe for concurrent use.
type DB struct {
	cfg    Config
	deps   Deps
	file   *database
	stmts  *statements
	packer *packer

	ledgers  ledgers
	budget   budget
	health   health
	snapshot atomic.Pointer[Snapshot]
	watchers watchers

	flushing sync.Mutex // held by the one who writes, judges and publishes
	closed   bool       // under flushing, as what follows
	grown    bool       // samples were added since the last sweep
	folds    folds      // of the routes' names, as they are on the disk

	seriesNames map[nameKey]nameRef // some of those on the disk
	over        bool                // samples are being removed because the file is too large
}

// Deps are what the store is handed.
type Deps struct {
	Log      *slog.Logger            // nil: nothing is logged
	Judge    diff.Config             // of the verdict
	Counters func() multicast.Counts // for the run's own record; may be nil

	// Names are those that make the routes' names: what they have learnt is kept here and given back to them when the store
	// is opened. nil: no name that is recorded was learnt.
	Names *normalize.Names

	// MaxDecoded bounds a sample's body once its content codings are undone, in bytes: over it the body is withheld. Give
	// what the comparison decodes, so that what was compared can be looked at. Less than 8 MiB is 8 MiB.
	MaxDecoded int64
}

// ErrNotFound is what reads of one thing answer when there is no such thing.
var ErrNotFound = errors.New("not found")

// Open opens or creates the database and brings its schema up to date. Its errors name the file and what to do about
// it: a file that is no database, is damaged, is another program's, was written by a newer version, is held by another
// process, or cannot be written. Nothing runs until Run is called, and no run is in force until StartRun is.
func Open(cfg Config, deps Deps) (*DB, error) {
	if deps.Log == nil {
		deps.Log = slog.New(slog.DiscardHandler)
	}
	packer, err := newPacker(cfg.Redact, deps.MaxDecoded)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	ctx := context.Background()
	file, err := openDatabase(ctx, cfg.Path)
	if err != nil {
		packer.close()
		return nil, err
	}
	if deps.Names == nil {
		deps.Names = new(normalize.Names)
	}
	db := &DB{cfg: cfg, deps: deps, file: file, packer: packer, seriesNames: map[nameKey]nameRef{}}
	db.ledgers.byID = map[int64]*ledger{}
	if db.stmts, err = prepare(ctx, file.write); err != nil {
		db.release()
		return nil, fmt.Errorf("open database: %w", explain(file.path, err))
	}
	if err := db.loadFolds(ctx); err != nil {
		db.release()
		return nil, fmt.Errorf("open database: %w", explain(file.path, err))
	}
	db.publish()
	return db, nil
}

// Close flushes what is left, ends all watches and closes the file. Call it after Run has returned.
func (db *DB) Close() error {
	db.flushing.Lock()
	defer db.flushing.Unlock()
	if db.closed {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), lastFlush)
	defer cancel()
	flushed := db.finish(ctx)
	db.closed = true
	db.watchers.close()
	return errors.Join(flushed, db.release())
}

// release closes the file and the packer.
func (db *DB) release() error {
	db.packer.close()
	return db.file.close()
}
