package multicast

import (
	"context"
	"log/slog"
	"net/http"
	"time"
)

// Deps are what the proxy is handed.
type Deps struct {
	Log *slog.Logger
	// Deliver is asked when a sampled request arrives; the exchange goes to what it answered then, so that an exchange
	// belongs to the run in force when its request came.
	Deliver func() Deliver
	// Observe is told of each request to the primary as it ends: its status (0 when the client got none) and how long it
	// took; and of each shadow leg. Both may be nil.
	Observe       func(status int, d time.Duration)
	ObserveShadow func(role Role, outcome Outcome, d time.Duration)
}

// Shadowing is the switch and the default rate.
type Shadowing struct {
	Enabled bool  `json:"enabled"`
	Sample  Share `json:"sample"` // marshals as "1%"
}

// Proxy is the front. It is an http.Handler for client traffic.
type Proxy struct{}

// The methods that follow are the proxy's surface: web and cmd are written against them.

func New(cfg Config, deps Deps) (*Proxy, error)                      { panic("multicast: being built") }
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request)    { panic("multicast: being built") }
func (p *Proxy) Run(ctx context.Context) error                       { panic("multicast: being built") }
func (p *Proxy) Counts() Counts                                      { panic("multicast: being built") }
func (p *Proxy) Shadowing() Shadowing                                { panic("multicast: being built") }
func (p *Proxy) SetShadowing(enabled *bool, sample *Share) Shadowing { panic("multicast: being built") }
func (p *Proxy) Server() *http.Server                                { panic("multicast: being built") }
