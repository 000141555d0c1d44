// Package store keeps what was counted: tallies, samples, runs and settings, in one SQLite file. It holds the only SQL.
//
// Record touches memory only and cannot fail. One writer flushes twice a second, judges, and publishes an immutable
// Snapshot; a crash loses at most the second before it and never corrupts. A disk that fails is counted and logged
// once, and recording goes on in memory.
package store

import (
	"context"
	"errors"
	"log/slog"
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

// Snapshot is the state after one flush. It is immutable: a page rendered from it agrees with itself.
type Snapshot struct {
	Version uint64 // grows with every flush that changed something
	Time    time.Time
	Run     Run
	Tallies *diff.Tallies
	Verdict *diff.Verdict // of the whole run, with its Findings' Samples filled in

	Counters multicast.Counts // the run's own: what the proxy counted while it was in force, over restarts
}

// SampleIDs returns the samples to look at first for a field of a route, the most telling first, ten at most. With an
// empty field they are exchanges of the route in which nothing differed.
func (s *Snapshot) SampleIDs(route, field string) []int64 { panic("store: being built") }

// Filter narrows a read. The zero Filter takes everything of the current run.
type Filter struct {
	Run          int64       // 0: the current one
	Route        string      // empty: all
	Field        string      // one that differs on either side
	Result       diff.Result // of the exchange
	Since, Until time.Time
	Limit        int    // 0: 50; at most 500
	Cursor       string // what a page before answered as next
}

// Point is one minute of a route, of all routes, or of one field; one hour when it is older than a day.
type Point struct {
	Minute                                time.Time     // its beginning
	Span                                  time.Duration // a minute, or an hour
	Compared, Unknown, Failed, Raw, Noise int64
	diff.Counts
}

// Sample is one stored exchange, redacted.
type Sample struct {
	ID         int64
	Run        int64
	Exchange   string // X-Shadow-Id
	Time       time.Time
	Route      string
	Result     diff.Result
	Fields     []string // every field that differs on either side
	Request    multicast.Request
	Responses  [3]multicast.Response // by role; bodies decoded, redacted and possibly cut
	BodyCut    [3]bool               // the stored body is shorter than the one sent
	Candidate  []diff.Difference
	Control    []diff.Difference
	Redactions int // places that were replaced
}

// Activity is one thing that somebody changed.
type Activity struct {
	ID     int64
	Time   time.Time
	Actor  string // who, as far as it is known: "api", "start", an address
	Action string // a word: "shadowing", "run"
	Detail string // for people: "switched off", "sample 1% (was 5%)"
}

// ErrCursor is what Samples answers to a cursor that no page before has given out.
var ErrCursor = errors.New("unknown cursor")

// ErrNotFound is what reads of one thing answer when there is no such thing.
var ErrNotFound = errors.New("not found")

// Deps are what the store is handed.
type Deps struct {
	Log      *slog.Logger
	Judge    diff.Config
	Counters func() multicast.Counts // for the run's own record; may be nil
}

// Health is what the writer last met.
type Health struct {
	LastFlush   time.Time // when tallies last reached the disk
	Err         string    // why the last attempt failed; empty when it did not
	Failures    int64     // flushes that failed since the start
	SamplesLost int64     // samples not kept because the writer was behind or the disk failed
	SizeBytes   int64     // of the database with its log
}

// DB is the open store. All methods are safe for concurrent use.
type DB struct{}

// The methods that follow are the store's surface: web and cmd are written against them.

func Open(cfg Config, deps Deps) (*DB, error)                           { panic("store: being built") }
func (db *DB) Close() error                                             { panic("store: being built") }
func (db *DB) Run(ctx context.Context) error                            { panic("store: being built") }
func (db *DB) StartRun(name string, fp Fingerprint) (Run, error)        { panic("store: being built") }
func (db *DB) Record(run int64, c *diff.Comparison)                     { panic("store: being built") }
func (db *DB) Flush(ctx context.Context) error                          { panic("store: being built") }
func (db *DB) Snapshot() *Snapshot                                      { panic("store: being built") }
func (db *DB) Watch(ctx context.Context) <-chan uint64                  { panic("store: being built") }
func (db *DB) Series(ctx context.Context, f Filter) ([]Point, error)    { panic("store: being built") }
func (db *DB) Sample(ctx context.Context, id int64) (*Sample, error)    { panic("store: being built") }
func (db *DB) Setting(ctx context.Context, key string) (string, error)  { panic("store: being built") }
func (db *DB) SaveSetting(ctx context.Context, key, value string) error { panic("store: being built") }
func (db *DB) Health() Health                                           { panic("store: being built") }

// Activity lists what was changed, newest first; limit 0 means 50, at most 500.
func (db *DB) Activity(ctx context.Context, limit int) ([]Activity, error) {
	panic("store: being built")
}

// LogActivity adds one entry, at the present time.
func (db *DB) LogActivity(ctx context.Context, actor, action, detail string) error {
	panic("store: being built")
}

// Samples lists stored exchanges, newest first, without bodies; next is empty on the last page.
func (db *DB) Samples(ctx context.Context, f Filter) (items []*Sample, next string, err error) {
	panic("store: being built")
}
