package store

import (
	"log/slog"
	"sync"
	"time"

	"shadowdiff/normalize"
)

// Health is what the writer last met.
type Health struct {
	LastFlush   time.Time     // when tallies last reached the disk
	FlushTook   time.Duration // how long that took
	Err         string        // why the last attempt failed; empty when it did not
	Failures    int64         // flushes that failed since the start
	SamplesLost int64         // samples not kept because the writer was behind, or they could not be redacted
	Stray       int64         // comparisons of a run that is over, which were not counted
	SizeBytes   int64         // of the database with its log
	GivenUp     GivenUp       // since the start, because the file would be larger than it may be
	Aside       *Aside        // the last file that was set aside since the start; nil: none was
	Names       normalize.NamesCounts
}

// GivenUp is what was removed before its time so that the file stays under store.max_size. Counts of runs, of routes and of
// fields are not among it, but those of fields of runs that are over.
type GivenUp struct {
	Samples int64     // the oldest
	Fields  time.Time // before it the series of fields lack minutes, or hours, or days; zero: nothing
	Routes  time.Time // likewise the series of routes
	Details bool      // runs that are over know less of fields without a confirmed difference
}

// health is Health as the writer keeps it.
type health struct {
	mu     sync.Mutex
	last   Health
	code   int  // SQLite's, of the trouble that was logged last
	over   bool // that the file is too large was logged
	behind bool // that sweeping fails was logged
}

// Health answers how the writer fares.
func (db *DB) Health() Health {
	db.health.mu.Lock()
	h := db.health.last
	db.health.mu.Unlock()
	h.SamplesLost += db.budget.lost.Load()
	h.SizeBytes = db.file.size()
	h.Names = db.deps.Names.Counts()
	return h
}

// flushed notes how an attempt ended, and logs it when the state has changed: trouble begins, becomes another, or ends.
func (h *health) flushed(log *slog.Logger, took time.Duration, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err == nil {
		if h.last.Err != "" {
			log.Info("the database is written again")
		}
		h.last.LastFlush, h.last.FlushTook, h.last.Err = time.Now().UTC(), took, ""
		return
	}
	h.last.Failures++
	if code := primaryCode(err); h.last.Err == "" || code != h.code {
		log.Error("the database cannot be written, counting goes on in memory", "err", err)
		h.code = code
	}
	h.last.Err = err.Error()
}

// setAside notes a file that was set aside.
func (h *health) setAside(log *slog.Logger, aside Aside) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last.Aside = &aside
	if aside.Foreign {
		log.Error("another file stood in the place of the database, and was set aside", "path", aside.Path)
		return
	}
	log.Error("the database was set aside and a new one is begun: what is in memory goes on, the rest is in the old file",
		"path", aside.Path, "err", aside.Why)
}

// crowded logs, once a minute at most, that counts are written and samples are not.
func (h *health) crowded(log *slog.Logger) {
	log.Warn("the disk has no room for samples: counts are written without them, and they are tried again in a minute")
}

// swept logs when removing what is old begins to fail.
func (h *health) swept(log *slog.Logger, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil && !h.behind {
		log.Warn("old samples and series cannot be removed", "err", err)
	}
	h.behind = err != nil
}

// unpackable notes an exchange that could not be redacted; the first one is logged.
func (h *health) unpackable(log *slog.Logger, route string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.last.SamplesLost == 0 {
		log.Error("a sample could not be redacted and is not kept", "route", route, "err", err)
	}
	h.last.SamplesLost++
}

// What is logged when something is given up for the first time.
const (
	overSamples = "the database is over store.max_size: the oldest samples are removed before store.keep_samples"
	overFields  = "the database is over store.max_size: the oldest minutes of the series of fields are removed, then hours and days"
	overRoutes  = "the database is over store.max_size: the oldest minutes of the series of routes are removed, then hours and days"
	overDetails = "the database is over store.max_size: what runs that are over know of fields without a confirmed difference is removed"
)

func (h *health) lostSamples(log *slog.Logger, n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.last.GivenUp.Samples == 0 {
		log.Warn(overSamples)
	}
	h.last.GivenUp.Samples += int64(n)
}

func (h *health) lostFields(log *slog.Logger, until time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	lostSeries(log, overFields, &h.last.GivenUp.Fields, until)
}

func (h *health) lostRoutes(log *slog.Logger, until time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	lostSeries(log, overRoutes, &h.last.GivenUp.Routes, until)
}

func lostSeries(log *slog.Logger, message string, before *time.Time, until time.Time) {
	if before.IsZero() {
		log.Warn(message)
	}
	if until.After(*before) {
		*before = until
	}
}

func (h *health) lostDetails(log *slog.Logger) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.last.GivenUp.Details {
		log.Warn(overDetails)
	}
	h.last.GivenUp.Details = true
}

// oversize logs once that the counts alone are more than the file may hold.
func (h *health) oversize(log *slog.Logger, bytes int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.over {
		log.Warn("the database is over store.max_size and nothing that may be removed is left in it", "bytes", bytes)
	}
	h.over = true
}

func (h *health) stray() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last.Stray++
}
