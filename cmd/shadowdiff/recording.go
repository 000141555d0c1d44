package main

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/dustin/go-humanize"

	"shadowdiff/multicast"
	"shadowdiff/record"
)

// recording is the part of the service that records; its zero value records nothing.
type recording struct{ recorder *record.Recorder }

// open readies it where something is to be recorded.
func (r *recording) open(cfg config, log *slog.Logger) (err error) {
	if cfg.Record.Dir != "" {
		r.recorder, err = record.New(cfg.Record, cfg.Store.Redact, log)
	}
	return err
}

// take is what the proxy hands recordings to; nil where nothing is recorded.
func (r *recording) take() func(*multicast.Recording) {
	if r.recorder == nil {
		return nil
	}
	return r.recorder.Take
}

// close gives the folder back.
func (r *recording) close() error {
	if r.recorder == nil {
		return nil
	}
	return r.recorder.Close()
}

// Run writes until ctx ends.
func (r *recording) Run(ctx context.Context) error {
	if r.recorder == nil {
		<-ctx.Done()
		return nil
	}
	return r.recorder.Run(ctx)
}

// reconfigure takes over another configuration of the same folder.
func (r *recording) reconfigure(cfg config) error {
	if r.recorder == nil {
		return nil
	}
	return r.recorder.Reconfigure(cfg.Record, cfg.Store.Redact)
}

// recordTraffic records until ctx ends, and keeps for GET /api/v1/activity when that began and ended.
func (s *service) recordTraffic(ctx context.Context) error {
	if s.record.recorder == nil {
		return s.record.Run(ctx)
	}
	s.logRecording("start", "began in "+s.cfg.Load().Record.Dir)
	err := s.record.Run(ctx)
	detail := "ended"
	if c := s.proxy.Counts().Record; c != nil {
		detail = fmt.Sprintf("ended, with %s of %s requests written since the start", humanize.Comma(c.Written), humanize.Comma(c.Sampled))
	}
	s.logRecording("process", detail)
	return err
}

func (s *service) logRecording(actor, detail string) {
	if err := s.db.LogActivity(context.Background(), actor, "recording", detail); err != nil {
		s.log.Error("what became of the recording could not be written down", "err", err)
	}
}
