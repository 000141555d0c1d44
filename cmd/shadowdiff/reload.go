package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"shadowdiff/multicast"
	"shadowdiff/store"
	"shadowdiff/web"
)

// maxDecoded is how much of a body is decoded for comparing, and for keeping it.
func (c config) maxDecoded() int64 { return 8 * int64(c.Shadow.MaxResponseBody) }

// Hangup asks for a reload, as SIGHUP does, and does not wait for it. Asked again before the reload has begun, it is one.
func (s *service) Hangup() {
	select {
	case s.hangups <- struct{}{}:
	default:
	}
}

// reloads answers Hangup until ctx ends.
func (s *service) reloads(ctx context.Context) error {
	for {
		select {
		case <-s.hangups:
			s.reload(ctx, "signal")
		case <-ctx.Done():
			return nil
		}
	}
}

// reload reads the configuration again and puts it in force, whole or not at all; one reload at a time. What it came to
// is logged and kept for the pages.
func (s *service) reload(ctx context.Context, actor string) web.Reload {
	select {
	case s.reloading <- struct{}{}:
		defer func() { <-s.reloading }()
	case <-ctx.Done():
		return web.Reload{Time: time.Now().UTC(), Changed: []string{}, Faults: told([]fault{{message: "another reload has not ended"}})}
	}
	before := s.cfg.Load()
	cfg, changes, faults := s.next(ctx, before)
	done := web.Reload{Time: time.Now().UTC(), Good: len(faults) == 0, Changed: []string{}, Faults: told(faults)}
	for _, c := range changes {
		done.Changed = append(done.Changed, c.text)
	}
	if done.Good {
		s.loaded.Store(&done.Time)
		s.log.Info("configuration reloaded", "file", s.source.file, "actor", actor, "changed", done.Changed, "run", s.judging.Load().run.ID)
		s.warn(before, &cfg)
	} else {
		for _, f := range done.Faults {
			s.log.Error("configuration not reloaded", "actor", actor, "err", f.String())
		}
	}
	s.reloaded.Store(&done)
	s.logReload(ctx, actor, done)
	return done
}

// next reads the configuration and, if it has no fault, puts it in force.
func (s *service) next(ctx context.Context, before *config) (config, []change, []fault) {
	switch {
	case s.source.file == "":
		return *before, nil, []fault{{message: "there is no file to read again: shadowdiff was started without -config"}}
	case *s.phase.Load() == web.PhaseStopping:
		return *before, nil, []fault{{message: "shadowdiff is stopping"}}
	}
	cfg, d := s.source.again()
	if *s.phase.Load() == web.PhaseStopping { // reading may take its time
		return *before, nil, []fault{{message: "shadowdiff is stopping"}}
	}
	if len(d.faults) == 0 {
		for _, err := range needRestart(*before, cfg) {
			d.follow(err)
		}
	}
	if len(d.faults) == 0 {
		if err := s.apply(cfg); err != nil {
			d.blame(err)
		}
	}
	if len(d.faults) > 0 {
		return cfg, nil, d.sorted()
	}
	s.cfg.Store(&cfg)
	return cfg, changesBetween(*before, cfg), nil
}

// blame places each of the errors that are joined in err, where they begin with a key.
func (d *decoder) blame(err error) {
	if joined, ok := errors.AsType[interface {
		error
		Unwrap() []error
	}](err); ok {
		for _, err := range joined.Unwrap() {
			d.blame(err)
		}
		return
	}
	key := strings.TrimSuffix(leadingKey.FindString(err.Error()), ": ")
	if slices.Contains(configKeys(), listIndex.ReplaceAllString(key, "[]")) {
		d.follow(err)
	} else {
		d.faults = append(d.faults, fault{message: err.Error()})
	}
}

// apply puts a configuration in force for the requests that come from now on, with the run that it makes. Its error
// changes nothing.
func (s *service) apply(cfg config) error {
	rules, err := s.compile(cfg)
	if err != nil {
		return err
	}
	return s.proxy.Reconfigure(cfg.Config, func() (multicast.Deliver, error) {
		next, err := s.begin(context.Background(), cfg, rules, store.Beginning{By: "reload"})
		if err != nil {
			return nil, err
		}
		if err := s.db.Reconfigure(cfg.Store, cfg.Verdict, cfg.maxDecoded()); err != nil {
			return nil, err
		}
		if err := s.record.reconfigure(cfg); err != nil {
			return nil, err
		}
		return next.deliver, nil
	})
}

// logReload keeps what happened for GET /api/v1/activity.
func (s *service) logReload(ctx context.Context, actor string, done web.Reload) {
	detail := "nothing has changed"
	switch {
	case !done.Good:
		detail = fmt.Sprintf("not taken: %d faults, the first %s", len(done.Faults), done.Faults[0])
	case len(done.Changed) > 0:
		detail = strings.Join(done.Changed, ", ")
	}
	if err := s.db.LogActivity(ctx, actor, "reload", detail); err != nil {
		s.log.Error("a reload could not be written down", "err", err)
	}
}

// warn logs the warnings of a configuration that the one before (nil: there was none) has not had.
func (s *service) warn(before, now *config) {
	var had []string
	if before != nil {
		had = before.warnings()
	}
	for _, warning := range now.warnings() {
		if !slices.Contains(had, warning) {
			s.log.Log(context.Background(), slog.LevelWarn, warning)
		}
	}
}

// instance is what the pages say of this process.
func (s *service) instance() web.Instance {
	cfg := s.cfg.Load()
	now := web.Instance{
		Targets: web.Targets{
			Listen: s.ProxyURL(), Primary: cfg.Primary, Secondary: cfg.Secondary, Candidate: cfg.Candidate,
		},
		Warnings: append(cfg.calibrating(), cfg.unverified()...),
		Phase:    *s.phase.Load(),
		Replay:   cfg.Replay,
		Failed:   s.parts.failed(),
		File:     s.source.file,
		Loaded:   *s.loaded.Load(),
		Reload:   s.reloaded.Load(),
		Build:    readBuildInfo().String(),
		Limits: web.Limits{
			Store: cfg.Store.Path, StoreMax: int64(cfg.Store.MaxSize), Memory: int64(cfg.Shadow.Memory),
			Queue: cfg.Shadow.Queue, Concurrency: cfg.Shadow.Concurrency,
		},
		Recording:     cfg.Record,
		VersionHeader: cfg.uncompared(),
	}
	now.Warnings = append(now.Warnings, s.versions.troubles()...)
	now.Warnings = append(now.Warnings, s.docket().asideTexts()...)
	now.Warnings = append(now.Warnings, cfg.unfair()...)
	return now
}
