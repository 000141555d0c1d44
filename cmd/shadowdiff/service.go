package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"

	"shadowdiff/diff"
	"shadowdiff/multicast"
	"shadowdiff/normalize"
	"shadowdiff/store"
	"shadowdiff/web"
)

// service is the running product: the parts in the order of the road, wired.
//
//	client ──► traffic listener ──► proxy ──► Compare ──► db.Record
//	reader ──► admin listener ──► web ──► db
type service struct {
	cfg     config
	log     *slog.Logger
	proxy   *multicast.Proxy
	db      *store.DB
	run     store.Run // in force from start to end; a change of the rules or of the candidate begins another
	web     *web.Server
	traffic net.Listener
	admin   net.Listener
}

// newService opens everything that can fail: both listeners, the store, the targets' addresses and files. It serves
// nobody yet. A service that is not run is given back with close.
func newService(cfg config, log *slog.Logger) (*service, error) {
	s := &service{cfg: cfg, log: log}
	if err := s.open(); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *service) open() (err error) {
	if s.traffic, err = listen("clients", s.cfg.Listen); err != nil {
		return err
	}
	if s.admin, err = listen("the dashboard", s.cfg.Web.Listen); err != nil {
		return err
	}
	rules := s.cfg.Normalize
	rules.MaxDecoded = 8 * int64(s.cfg.Shadow.MaxResponseBody)
	normalizer, err := normalize.New(rules)
	if err != nil {
		return fmt.Errorf("compiling the rules: %w", err)
	}
	comparer := diff.NewComparer(normalizer, new(normalize.Names), diff.DefaultLimits())
	metrics := web.NewMetrics()
	deliver := func(ex *multicast.Exchange) { s.db.Record(s.run.ID, comparer.Compare(ex)) }
	s.proxy, err = multicast.New(s.cfg.Config, multicast.Deps{
		Log:           s.log,
		Deliver:       func() multicast.Deliver { return deliver },
		Observe:       metrics.Observe,
		ObserveShadow: metrics.ObserveShadow,
	})
	if err != nil {
		return fmt.Errorf("setting up the proxy: %w", err)
	}
	s.db, err = store.Open(s.cfg.Store, store.Deps{
		Log: s.log, Judge: s.cfg.Verdict, Counters: s.proxy.Counts, MaxDecoded: rules.MaxDecoded,
	})
	if err != nil {
		return err
	}
	s.run, err = s.db.StartRun("", store.Fingerprint{Candidate: s.cfg.Candidate, Rules: normalizer.Fingerprint()})
	if err != nil {
		return fmt.Errorf("beginning a run: %w", err)
	}
	return s.openPages(metrics)
}

// openPages sets up the admin side, and the switch and the rate as they were last set there.
func (s *service) openPages(metrics *web.Metrics) error {
	s.web = web.New(s.cfg.Web, web.Deps{
		Log:     s.log,
		DB:      s.db,
		Proxy:   s.proxy,
		Version: readBuildInfo().Version,
		Targets: web.Targets{
			Listen:    strings.TrimPrefix(s.ProxyURL(), "http://"),
			Primary:   s.cfg.Primary,
			Secondary: s.cfg.Secondary,
			Candidate: s.cfg.Candidate,
		},
		Metrics: metrics,
	})
	before := s.proxy.Shadowing()
	if err := s.web.Restore(context.Background()); err != nil {
		return fmt.Errorf("restoring the switch and the rate: %w", err)
	}
	if now := s.proxy.Shadowing(); now != before {
		s.log.Warn("the switch and the rate set on the dashboard win over the configuration",
			"enabled", now.Enabled, "sample", now.Sample, "configured", before.Sample)
	}
	return nil
}

// close gives back what open has taken.
func (s *service) close() error {
	var errs []error
	for _, l := range []net.Listener{s.traffic, s.admin} {
		if l != nil {
			if err := l.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
				errs = append(errs, err)
			}
		}
	}
	if s.db != nil {
		errs = append(errs, s.db.Close())
	}
	return errors.Join(errs...)
}

// Run serves until ctx ends or the clients' listener fails; a failure of what stands beside the clients, the pages or the
// store, is logged and the clients are served on. Then the parts end in the order of the road, each when nothing more can
// come from the one before it: clients are drained (server.drain at most), the shadows finish or are cancelled, the
// pages close, and the store writes what it still holds. Nothing that was counted is lost.
func (s *service) Run(ctx context.Context) error {
	parts := parts{log: s.log}
	parts.start(ctx, "store", s.db.Run)
	parts.start(ctx, "pages", s.servePages)
	parts.start(ctx, "proxy", s.proxy.Run)
	clients := parts.start(ctx, "clients", s.serveClients)
	s.announce()
	select {
	case <-ctx.Done():
	case <-clients.done:
	}
	s.log.Info("stopping", "drain", s.cfg.Server.Drain.String())
	err := errors.Join(parts.stop("clients"), parts.stop("proxy"), parts.stop("pages"), parts.stop("store"), s.close())
	s.log.Info("stopped")
	return err
}

// announce says on the first line what this process does, and then whatever makes its comparison less than fair.
func (s *service) announce() {
	now := s.proxy.Shadowing()
	s.log.Info("serving", "clients", s.ProxyURL(), "dashboard", s.AdminURL(), "primary", s.cfg.Primary,
		"secondary", cmp.Or(s.cfg.Secondary, "none"), "candidate", cmp.Or(s.cfg.Candidate, "none"),
		"enabled", now.Enabled, "sample", now.Sample, "db", s.cfg.Store.Path, "run", s.run.ID, "version", readBuildInfo().Version)
	for _, warning := range s.cfg.warnings() {
		s.log.Warn(warning)
	}
}

// ProxyURL is where clients go, with the port that was taken.
func (s *service) ProxyURL() string { return listenerURL(s.traffic) }

// AdminURL is where the dashboard is, with the port that was taken.
func (s *service) AdminURL() string { return listenerURL(s.admin) }

// listen takes a port for those who come to it.
func listen(who, addr string) (net.Listener, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listening for %s: %w", who, err)
	}
	return l, nil
}

// listenerURL is an address that works on this machine: a listener on every interface is called by loopback.
func listenerURL(l net.Listener) string {
	host, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return "http://" + l.Addr().String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port)
}
