package web

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"shadowdiff/store"
)

const (
	backupTime  = 15 * time.Minute // that the copy may take before its first byte
	backupChunk = 1 << 20          // bytes that a slow reader has chunkTime for
	chunkTime   = time.Minute
)

// postBackup answers POST /api/v1/backup, and /backup for the pages, with a copy of the database as a download. It is a
// POST, since it costs the disk the room of a copy and some work; the copy is removed when it is sent. No caller says where
// it is made.
func (s *Server) postBackup(w http.ResponseWriter, r *http.Request) error {
	if _, err := readQuery(r); err != nil {
		return err
	}
	out := http.NewResponseController(w)
	_ = out.SetWriteDeadline(time.Now().Add(backupTime))
	began := time.Now()
	c, err := s.deps.DB.OpenBackup(r.Context())
	switch {
	case errors.Is(err, store.ErrBackupRunning):
		w.Header().Set("Retry-After", "60")
		return refuse(http.StatusConflict, "%s", err)
	case errors.Is(err, store.ErrNoRoom):
		return refuse(http.StatusInsufficientStorage, "%s: make room there, or move store.path to a larger disk", err)
	case err != nil:
		return err
	}
	defer c.Close()
	s.deps.Log.Info("backup made", "bytes", c.Size, "duration", time.Since(began).String())
	if err := s.deps.DB.LogActivity(r.Context(), actorOf(r), "backup", fmt.Sprintf("%d bytes", c.Size)); err != nil {
		s.deps.Log.Warn("backup made but not noted", "err", err)
	}
	h := w.Header()
	h.Set("Content-Type", "application/vnd.sqlite3")
	h.Set("Content-Disposition", `attachment; filename="shadowdiff-`+began.UTC().Format("20060102T150405Z")+`.db"`)
	h.Set("Content-Length", fmt.Sprint(c.Size))
	h.Set("Cache-Control", "no-store")
	for err == nil {
		_ = out.SetWriteDeadline(time.Now().Add(chunkTime))
		_, err = io.CopyN(w, c, backupChunk)
	}
	if !errors.Is(err, io.EOF) {
		s.deps.Log.Warn("backup not sent whole", "err", err)
		panic(http.ErrAbortHandler) // the reader sees that it is not whole
	}
	return nil
}
