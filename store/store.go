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
	"time"

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

	settings settings
	rules    storedRules
	backups  sync.Mutex // held while one is made

	ledgers  ledgers
	budget   budget
	health   health
	snapshot atomic.Pointer[Snapshot]
	showing  sync.RWMutex // held while a snapshot takes the place of another, with what stands beside it
	watchers watchers

	flushing sync.Mutex // held by the one who writes, judges and publishes
	closed   bool       // under flushing, as what follows
	grown    bool       // samples were added since the last sweep

	samplesFrom time.Time // samples wait until then, the disk having had no room for them
	folds       folds     // of the routes' names, as they are on the disk
	since       time.Time // what was asked before was purged, whatever run it is of

	seriesNames map[nameKey]nameRef // some of those on the disk

	missing error // why there is no file to write to; nil while there is one
	down    bool  // no file is open
	broken  error // why the file that was open last is to be set aside
	fresh   bool  // the file is a new one, in another's place: the settings are not in it yet
	over    bool  // samples are being removed because the file is too large
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

// Open opens or creates the database and brings its schema up to date. A damaged one of ours is set aside, which Health
// tells, and a new one begun. Its errors name the file and what to do about it: a file that is no database, is another
// program's, was written by a newer version, is held by another process, or cannot be written. Nothing runs until Run is
// called, and no run is in force until StartRun is.
func Open(cfg Config, deps Deps) (*DB, error) {
	if deps.Log == nil {
		deps.Log = slog.New(slog.DiscardHandler)
	}
	packer, err := newPacker(cfg.Redact, deps.MaxDecoded)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	if deps.Names == nil {
		deps.Names = new(normalize.Names)
	}
	db := &DB{cfg: cfg, deps: deps, packer: packer, seriesNames: map[nameKey]nameRef{}}
	db.ledgers.byID = map[int64]*ledger{}
	db.settings.all = map[string]string{}
	db.rules.next = 1
	if db.file, err = lockDatabase(cfg.Path); err != nil {
		packer.close()
		return nil, fmt.Errorf("open database: %w", err)
	}
	if err := db.start(context.Background()); err != nil {
		db.release()
		return nil, fmt.Errorf("open database: %w", err)
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
	if flushed != nil {
		flushed = fmt.Errorf("what was counted last is lost: %w", explain(db.file.path, flushed))
	}
	db.closed = true
	db.watchers.close()
	return errors.Join(flushed, db.release())
}

// release closes the file and the packer.
func (db *DB) release() error {
	db.packer.close()
	return db.file.close()
}
