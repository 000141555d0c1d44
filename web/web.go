// Package web shows what was found: pages, a JSON API, server-sent events and metrics on the admin listener.
//
//	store.Snapshot ──► one view struct a page ──► html/template ──► page, or the same page morphed into place
//	               ──► JSON under /api/v1, Prometheus under /metrics
//
// It promises that every figure on a page comes from one snapshot, that a page loads nothing from elsewhere and runs no
// inline script, and that reading works without JavaScript. It computes no statistics: those are diff's.
package web

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"shadowdiff/diff"
	"shadowdiff/multicast"
	"shadowdiff/normalize"
	"shadowdiff/record"
	"shadowdiff/store"
)

// Deps are what the server is handed.
type Deps struct {
	Log     *slog.Logger
	DB      *store.DB
	Proxy   *multicast.Proxy
	Version string   // of the program, for the foot of each page
	Metrics *Metrics // nil: metrics of this server alone

	Instance func() Instance // what the process says of itself; asked for each page
	Ready    <-chan struct{} // closed when a run is in force: what is asked before waits, but for /healthz and /readyz; nil: it is

	Judge       func() diff.Config       // how runs are judged
	Rules       func() []Rule            // those in force, in the order of the file; nil: there are none
	Rulebook    *Rulebook                // changes and tries rules; nil: it cannot be done
	Comparing   func() normalize.Config  // how exchanges are compared; nil: as by default
	Suggestions func() []diff.Suggestion // made from what was compared under them; nil: there are none

	// Comparer returns one that compares under the rules in force and whose comparisons count nowhere. Nil: no sample can be
	// asked again.
	Comparer func() (*diff.Comparer, error)

	// Reload reads the configuration again, for the actor named, and puts it in force if it is good. It is called only
	// while Instance names a file.
	Reload func(ctx context.Context, actor string) Reload

	Recorder *record.Recorder // of the traffic; nil: none is recorded

	// BeginRun begins a run under the configuration in force. Its errors wrap store.ErrRunText where a text is not usable.
	BeginRun func(ctx context.Context, b RunBeginning) (store.Run, error)
}

// Server is the admin listener's handler and its http.Server. Its methods are safe for concurrent use.
type Server struct {
	cfg     Config
	deps    Deps
	prefix  string
	boot    string // tells this process from those before it
	pages   *pages
	handler http.Handler

	switching  sync.Mutex    // held while the switch is set and kept
	kept       atomic.Bool   // the switch or the rate was set here, now or before a restart
	recent     recent        // the last minutes, for charts
	marks      marks         // of the fields of the last snapshot read
	guesses    guesses       // at the token
	streams    atomic.Int64  // event streams open now
	asking     atomic.Int32  // samples that are asked again now
	shrinking  atomic.Int32  // likewise made smaller
	previewing atomic.Int32  // rules that are tried now
	closing    chan struct{} // closed when the http.Server shuts down
	closed     sync.Once
}

// New returns a server for a valid configuration. It starts nothing.
func New(cfg Config, deps Deps) *Server {
	if deps.Metrics == nil {
		deps.Metrics = NewMetrics()
	}
	s := &Server{cfg: cfg, deps: deps, prefix: cfg.prefix(), boot: newBoot(), pages: parsePages(), closing: make(chan struct{})}
	deps.Metrics.attach(deps)
	s.handler = s.routes()
	return s
}

// Run follows the counts until ctx ends, so that charts tell of the last minutes whether anybody looked or not.
func (s *Server) Run(ctx context.Context) error {
	for range s.deps.DB.Watch(ctx) {
		s.recent.see(s.deps.DB.Snapshot())
	}
	return nil
}

// HTTP returns a server for Handler with its timeouts; the caller listens, serves and shuts it down. Shutting down ends
// the event streams.
func (s *Server) HTTP() *http.Server {
	server := &http.Server{
		Addr:              s.cfg.Listen,
		Handler:           s.handler,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      60 * time.Second, // event streams set their own
		IdleTimeout:       120 * time.Second,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          multicast.ServerLog(s.deps.Log),
	}
	server.RegisterOnShutdown(func() { s.closed.Do(func() { close(s.closing) }) })
	return server
}
