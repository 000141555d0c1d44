package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

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
	source  source // of the configuration; without a file it is not read again
	log     *slog.Logger
	proxy   *multicast.Proxy
	db      *store.DB
	names   *normalize.Names
	web     *web.Server
	webhook *web.Webhook
	record  recording
	traffic net.Listener
	admin   net.Listener
	parts   parts

	rules *ruleSet // of the first configuration

	cfg     atomic.Pointer[config]  // in force
	judging atomic.Pointer[judging] // in force, with its docket
	phase   atomic.Pointer[string]  // one of web's; pages show it

	beginning sync.Mutex   // held while a run begins that no version has begun
	versions  versionLimit // of the candidate

	first    atomic.Pointer[docket] // of the first configuration; those that follow bring their own to the proxy
	ready    chan struct{}          // closed when the run in force has been read
	patience time.Duration          // how long the first clients wait for that

	reloading chan struct{}              // full while somebody reloads
	reloaded  atomic.Pointer[web.Reload] // the last one; nil before it
	loaded    atomic.Pointer[time.Time]  // when the configuration in force was read
	hangups   chan struct{}
}

// newService opens what most often fails: both listeners, the store, the targets' addresses and files. It serves nobody yet,
// and has not read what was counted before. A service that is not run is given back with close. The source is where cfg was
// read from.
func newService(cfg config, from source, log *slog.Logger) (*service, error) {
	s := &service{
		source: from, log: log, names: new(normalize.Names), parts: parts{log: log}, hangups: make(chan struct{}, 1),
		reloading: make(chan struct{}, 1), ready: make(chan struct{}), patience: clientPatience,
	}
	now := time.Now().UTC()
	s.cfg.Store(&cfg)
	s.loaded.Store(&now)
	s.enter(web.PhaseStarting)
	if err := s.open(cfg); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *service) enter(phase string) { s.phase.Store(&phase) }

func (s *service) open(cfg config) (err error) {
	if s.traffic, err = listen("clients", cfg.Listen); err != nil {
		return err
	}
	if s.admin, err = listen("the dashboard", cfg.Web.Listen); err != nil {
		return err
	}
	if err = cfg.Web.Reached(s.admin.Addr()); err != nil {
		return err
	}
	if err = s.record.open(cfg, s.log); err != nil {
		return err
	}
	metrics := web.NewMetrics()
	s.proxy, err = multicast.New(cfg.Config, multicast.Deps{
		Log:           s.log,
		Deliver:       s.deliver,
		Observe:       metrics.Observe,
		ObserveShadow: metrics.ObserveShadow,
		Turned:        func(turn multicast.Turn) { s.web.Turned(turn) }, // the proxy runs when all is open
		Record:        s.record.take(),
	})
	if err != nil {
		return fmt.Errorf("setting up the proxy: %w", err)
	}
	s.db, err = store.Open(cfg.Store, store.Deps{
		Log: s.log, Judge: cfg.Verdict, Counters: s.proxy.Counts, MaxDecoded: cfg.maxDecoded(), Names: s.names,
	})
	if err != nil {
		return err
	}
	if err := s.versions.restore(s.db); err != nil {
		return err
	}
	if s.rules, err = s.compile(cfg); err != nil {
		return err
	}
	return s.openPages(cfg, metrics)
}

// compile makes the rules of a configuration, with those that are in the store.
func (s *service) compile(cfg config) (*ruleSet, error) {
	stored, _ := s.db.Rules()
	return cfg.compile(stored...)
}

// takeUp puts the first run in force. Of one that goes on all that was counted is read, which takes seconds where that is
// much.
func (s *service) takeUp(ctx context.Context) error {
	first, err := s.begin(ctx, *s.cfg.Load(), s.rules, store.Beginning{By: "start"})
	if err != nil {
		return cmp.Or(ctx.Err(), err)
	}
	s.first.Store(first)
	close(s.ready)
	return nil
}

// deliver is where exchanges go until a configuration is reloaded; nil before the first run is in force, when no shadow is
// asked.
func (s *service) deliver() multicast.Deliver {
	if first := s.first.Load(); first != nil {
		return first.deliver
	}
	return nil
}

// newPages makes the admin side of a configuration.
func (s *service) newPages(cfg config, metrics *web.Metrics) *web.Server {
	return web.New(cfg.Web, web.Deps{
		Log:       s.log,
		DB:        s.db,
		Proxy:     s.proxy,
		Version:   readBuildInfo().Version,
		Metrics:   metrics,
		Instance:  s.instance,
		Ready:     s.ready,
		Judge:     func() diff.Config { return s.cfg.Load().Verdict },
		Rules:     func() []web.Rule { return s.judging.Load().listed() },
		Rulebook:  s.rulebook(),
		Comparing: func() normalize.Config { return s.judging.Load().normal },
		Suggestions: func() []diff.Suggestion {
			return s.judging.Load().comparer.Suggestions()
		},
		Comparer: func() (*diff.Comparer, error) { return s.judging.Load().beside() },
		Reload:   s.reload,
		BeginRun: s.beginRun,
		Recorder: s.record.recorder,
	})
}

// openPages sets up the admin side, and the switch and the rate as they were last set there.
func (s *service) openPages(cfg config, metrics *web.Metrics) error {
	s.web = s.newPages(cfg, metrics)
	s.webhook = web.NewWebhook(web.WebhookDeps{
		Log: s.log, DB: s.db, Metrics: metrics, Page: s.dashboard,
		Config: func() web.WebhookConfig { return s.cfg.Load().Webhook },
	})
	before := s.proxy.Shadowing()
	if err := s.web.Restore(context.Background()); err != nil {
		return fmt.Errorf("restoring the switch and the rate: %w", err)
	}
	rising := s.proxy.RampMark() != "" // then the rate is the ramp's
	if now := s.proxy.Shadowing(); now.Enabled != before.Enabled || now.Sample != before.Sample && !rising {
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
	errs = append(errs, s.record.close())
	if s.db != nil {
		errs = append(errs, s.db.Close())
	}
	return errors.Join(errs...)
}

// Run serves until ctx ends, the clients' listener fails or what was counted before cannot be read; a failure of what stands
// beside the clients, the pages or the store, is logged and the clients are served on. Clients are served when their shadows
// can be asked, and without shadows until then where that takes longer than they should wait. Then the parts end in the order
// of the road, each when nothing more can come from the one before it: clients are drained (server.drain at most), the
// shadows finish or are cancelled, the pages close, a reload that is under way ends or is abandoned, and the store writes
// what it still holds. Nothing that was counted is lost.
func (s *service) Run(ctx context.Context) error {
	s.parts.start(ctx, "pages", s.servePages)
	clients, read := s.read(ctx)
	if read {
		clients = s.shadow(ctx, clients)
		select {
		case <-ctx.Done():
		case <-clients.done:
		}
	}
	return s.stop()
}

// clientPatience is how long the first clients wait for their shadows: what was counted before is most often read by then.
const clientPatience = 500 * time.Millisecond

// read takes up the first run, and serves clients meanwhile once their patience is over: then it answers that part. It
// answers false when it is no use to go on.
func (s *service) read(ctx context.Context) (clients *part, read bool) {
	reading := s.parts.start(ctx, "reading", s.takeUp)
	patience := time.NewTimer(s.patience)
	defer patience.Stop()
	select {
	case <-reading.done:
		return nil, reading.err == nil
	case <-ctx.Done():
		return nil, false
	case <-patience.C:
	}
	s.log.Info("serving clients from the primary: their shadows are asked once what was counted before has been read",
		"clients", s.ProxyURL(), "primary", s.cfg.Load().Primary)
	clients = s.parts.start(ctx, "clients", s.serveClients)
	select {
	case <-reading.done:
		return clients, reading.err == nil
	case <-clients.done:
	case <-ctx.Done():
	}
	return clients, false
}

// shadow has the shadows of requests asked from now on, and clients served if they are not.
func (s *service) shadow(ctx context.Context, clients *part) *part {
	s.parts.start(ctx, "store", s.db.Run)
	s.parts.start(ctx, "webhook", s.webhook.Run)
	s.parts.start(ctx, "charts", s.web.Run)
	s.parts.start(ctx, "recorder", s.recordTraffic)
	proxy := s.parts.start(ctx, "proxy", s.proxy.Run)
	select {
	case <-s.proxy.Running():
	case <-proxy.done:
	}
	if clients == nil {
		clients = s.parts.start(ctx, "clients", s.serveClients)
	}
	s.parts.start(ctx, "reload", s.reloads)
	s.enter(web.PhaseServing)
	s.announce()
	return clients
}

// stop ends the parts in the order of the road.
func (s *service) stop() error {
	s.enter(web.PhaseStopping)
	drain := s.cfg.Load().Server.Drain
	s.log.Info("stopping", "drain", drain.String())
	until := time.Now().Add(drain)
	s.parts.tell("reload")
	err := errors.Join(s.parts.stop("clients"), s.parts.stop("proxy"), s.parts.stop("recorder"), s.parts.stop("reading"), s.parts.stop("pages"),
		s.parts.stop("webhook"), s.parts.stop("charts"))
	if s.endReloads(until) {
		err = errors.Join(err, s.parts.stop("reload"))
	} else {
		s.log.Warn("a reload was abandoned: not finished within the time to drain", "duration", drain)
	}
	err = errors.Join(err, s.parts.stop("store"), s.close())
	s.log.Info("stopped")
	return err
}

// endReloads waits for the reload that is under way, and lets none begin. It answers false when that has not ended in time:
// it may wait for a file that never comes.
func (s *service) endReloads(until time.Time) bool {
	late := time.NewTimer(max(time.Until(until), time.Second)) // whatever the others have taken
	defer late.Stop()
	select {
	case s.reloading <- struct{}{}:
		return true
	case <-late.C:
		return false
	}
}

// announce says on the first line what this process does, and then whatever makes its comparison less than fair.
func (s *service) announce() {
	cfg, now := s.cfg.Load(), s.proxy.Shadowing()
	s.log.Info("serving", "clients", s.ProxyURL(), "dashboard", s.AdminURL(), "primary", cfg.Primary,
		"secondary", cmp.Or(cfg.Secondary, "none"), "candidate", cmp.Or(cfg.Candidate, "none"),
		"enabled", now.Enabled, "sample", now.Sample, "db", cfg.Store.Path, "run", s.judging.Load().run.ID,
		"version", readBuildInfo().Version)
	s.warn(nil, cfg)
}

// ProxyURL is where clients go, with the port that was taken; empty where none are served, as in a replay.
func (s *service) ProxyURL() string {
	if s.traffic == nil {
		return ""
	}
	return s.cfg.Load().clientsURL(s.traffic)
}

// AdminURL is where the dashboard is, with the port that was taken.
func (s *service) AdminURL() string { return listenerURL("http", s.admin) }

// dashboard is the address at which people reach the pages.
func (s *service) dashboard() string {
	return cmp.Or(strings.TrimRight(s.cfg.Load().Web.BaseURL, "/"), s.AdminURL())
}

// listen takes a port for those who come to it.
func listen(who, addr string) (net.Listener, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listening for %s: %w", who, err)
	}
	return l, nil
}

// clientsURL is where clients go that a listener serves.
func (c config) clientsURL(l net.Listener) string {
	if c.TLS.Cert != "" {
		return listenerURL("https", l)
	}
	return listenerURL("http", l)
}

// listenerURL is an address that works on this machine: a listener on every interface is called by loopback.
func listenerURL(scheme string, l net.Listener) string {
	host, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return scheme + "://" + l.Addr().String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return scheme + "://" + net.JoinHostPort(host, port)
}
