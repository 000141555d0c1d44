package web

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"time"

	"shadowdiff/store"
	"shadowdiff/traffic"
)

// Purged is POST /api/v1/purge: what was deleted, or would be.
type Purged struct {
	DryRun     bool              `json:"dry_run"`
	Database   PurgedDatabase    `json:"database"`
	Recordings *PurgedRecordings `json:"recordings"` // null: nothing is recorded here
	Left       []LeftFile        `json:"left"`
}

// PurgedDatabase is what of it was in the database, and on its way there.
type PurgedDatabase struct {
	Samples      int64 `json:"samples"`
	SampleBytes  int64 `json:"sample_bytes"`
	Profiles     int64 `json:"profiles"` // of fields, and the attributes of routes
	ProfileBytes int64 `json:"profile_bytes"`
}

// PurgedRecordings is what of it was recorded. Of a dry run these are the files that would be looked through, of which more
// may stay.
type PurgedRecordings struct {
	Files     int64 `json:"files"`
	Exchanges int64 `json:"exchanges"`
	Bytes     int64 `json:"bytes"`
}

// LeftFile holds requests and answers, too, and is not touched: a backup, or a database that was set aside.
type LeftFile struct {
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
}

const purgeExample = `{"samples": true}, {"before": "24h"} or {"run": "v1"}; {"dry_run": true} beside it deletes nothing`

// postPurge answers POST /api/v1/purge.
func (s *Server) postPurge(w http.ResponseWriter, r *http.Request) error {
	if _, err := readQuery(r); err != nil {
		return err
	}
	keys, err := readObject(w, r, 4<<10, purgeExample, "samples", "before", "run", "dry_run")
	if err != nil {
		return err
	}
	p, dry, err := readPurge(keys, time.Now())
	if err != nil {
		return err
	}
	sent := unhurried(w)
	do := s.purge
	if dry {
		do = s.countPurge
	}
	done, err := do(r.Context(), p, actorOf(r))
	if err != nil {
		return s.notPurged(w, r, p, err)
	}
	done.DryRun, done.Left = dry, leftBeside(s.deps.Instance().Limits.Store)
	sent()
	return writeJSON(w, done)
}

// readPurge reads what is to be deleted, which is one thing, and whether it is only to be counted.
func readPurge(keys map[string]json.RawMessage, now time.Time) (p store.Purge, dry bool, err error) {
	var before string
	var samples bool
	for key, into := range map[string]*string{"before": &before, "run": &p.Run} {
		if err := readText(keys, key, into); err != nil {
			return p, false, err
		}
	}
	for key, into := range map[string]*bool{"samples": &samples, "dry_run": &dry} {
		if value, given := keys[key]; given && json.Unmarshal(value, into) != nil {
			return p, false, refuse(http.StatusBadRequest, "%s: %s is neither true nor false", key, value)
		}
	}
	if one(samples)+one(before != "")+one(p.Run != "") != 1 {
		return p, false, refuse(http.StatusBadRequest, "say what is to be deleted, one thing: %s", purgeExample)
	}
	if before != "" {
		p.Before, err = momentOf("before", before, now)
	}
	return p, dry, err
}

// purge deletes, first from the database. What it does it does to the end, though who asked may go away.
func (s *Server) purge(ctx context.Context, p store.Purge, actor string) (done Purged, err error) {
	times, err := s.deps.DB.PurgeTimes(ctx, p)
	if err != nil {
		return done, err
	}
	began := time.Now()
	n, err := s.deps.DB.Purge(ctx, p, actor)
	done.Database = PurgedDatabase(n)
	if s.deps.Recorder != nil && err == nil {
		var taken traffic.Purged
		taken, err = s.deps.Recorder.Purge(context.WithoutCancel(ctx), times)
		done.Recordings = (*PurgedRecordings)(&taken)
	}
	s.deps.Log.Info("purged", "actor", actor, "samples", n.Samples, "profiles", n.Profiles, "recordings", done.Recordings, "duration", time.Since(began).String(), "err", err)
	return done, err
}

// countPurge tells what purge would delete.
func (s *Server) countPurge(ctx context.Context, p store.Purge, _ string) (done Purged, err error) {
	n, err := s.deps.DB.CountPurge(ctx, p)
	if err != nil {
		return done, err
	}
	done.Database = PurgedDatabase(n)
	times, err := s.deps.DB.PurgeTimes(ctx, p)
	if s.deps.Recorder != nil && err == nil {
		var held traffic.Purged
		held, err = s.deps.Recorder.Within(times)
		done.Recordings = (*PurgedRecordings)(&held)
	}
	return done, err
}

// notPurged says what was not done, and what can be done about it.
func (s *Server) notPurged(w http.ResponseWriter, r *http.Request, p store.Purge, err error) error {
	switch {
	case errors.Is(err, store.ErrNotFound):
		return s.noSuchRun(r, p.Run)
	case errors.Is(err, store.ErrBackupRunning):
		w.Header().Set("Retry-After", "60")
		return refuse(http.StatusConflict, "%s", err)
	case errors.Is(err, store.ErrNoRoom):
		return refuse(http.StatusInsufficientStorage, "%s", err)
	case r.Context().Err() != nil:
		return err
	}
	return refuse(http.StatusInternalServerError, "%s", err) // whoever purges must know what is left
}

// leftBeside are the files beside a database that are not touched.
func leftBeside(path string) []LeftFile {
	left := []LeftFile{}
	found, err := store.FindRemains(path)
	if err != nil {
		return left
	}
	for _, file := range append(found.Aside(), found.Backups...) {
		if about, err := os.Stat(file); err == nil {
			left = append(left, LeftFile{file, about.Size()})
		}
	}
	return left
}
