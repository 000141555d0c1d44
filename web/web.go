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

	"shadowdiff/multicast"
	"shadowdiff/store"
)

// Deps are what the server is handed.
type Deps struct {
	Log     *slog.Logger
	DB      *store.DB
	Proxy   *multicast.Proxy
	Version string   // of the program, for the foot of each page
	Targets Targets  // what the empty page tells people to call
	Metrics *Metrics // nil: metrics of this server alone
}

// Targets are the addresses of this instance and of what it asks.
type Targets struct {
	Listen    string // client traffic, as host:port
	Primary   string
	Secondary string // empty: no control
	Candidate string // empty: a plain proxy
}

// Server is the admin listener's handler and its http.Server. Its methods are safe for concurrent use.
type Server struct {
	cfg  Config
	deps Deps
}

// New returns a server for a valid configuration. It starts nothing.
func New(cfg Config, deps Deps) *Server { return &Server{cfg: cfg, deps: deps} }

// Restore applies the switch and the rate that were last set through this server, if any were: they hold over restarts.
// Call it before client traffic is served.
func (s *Server) Restore(ctx context.Context) error { panic("web: being built") }

// Handler answers everything on the admin listener.
func (s *Server) Handler() http.Handler { panic("web: being built") }

// HTTP returns a server for Handler with its timeouts; the caller listens, serves and shuts it down. Shutting down ends
// the event streams.
func (s *Server) HTTP() *http.Server { panic("web: being built") }
