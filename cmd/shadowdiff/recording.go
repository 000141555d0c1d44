package main

import (
	"context"
	"log/slog"

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
