// Package multicast speaks to the network. It serves every client from the primary and, for sampled requests, asks the
// candidate and the secondary the same thing; one finished Exchange is handed on.
//
//	client ──► Proxy ──► primary
//	             │ copy: bounded queue, drops and counts
//	             ├──► secondary ┐
//	             └──► candidate ┴──► Exchange ──► Deliver
//
// It promises that a shadow never makes the primary slower or more likely to fail: nothing on the client's path waits
// for a shadow, everything captured is bounded, and whatever is lost is counted. It deliberately knows nothing of what
// the bodies mean.
package multicast

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// Deps are what the proxy is handed.
type Deps struct {
	Log *slog.Logger // nil: nothing is logged
	// Deliver is asked when a sampled request arrives; the exchange goes to what it answered then, so that an exchange
	// belongs to the run in force when its request came. Nil, and a nil answer, deliver to nobody.
	Deliver func() Deliver
	// Observe is told of each request to the primary as it ends: its status (0 when the client got none) and how long it
	// took; and of each shadow leg. Both may be nil, and must not block.
	Observe       func(status int, d time.Duration)
	ObserveShadow func(role Role, outcome Outcome, d time.Duration)
}

// Proxy is the front. It is an http.Handler for client traffic, and serves it whether Run runs or not; shadows are asked
// while Run runs.
type Proxy struct {
	cfg      Config
	deps     Deps
	log      *slog.Logger
	primary  target
	front    *httputil.ReverseProxy
	upstream *http.Transport // to the primary
	complain throttle
	trusted  []netip.Prefix
	sampleBy sampleKey

	routes  []*route
	rest    *route // for what no route matches
	shadows [3]*shadow

	shadowing atomic.Pointer[shadowing]
	change    sync.Mutex // one SetShadowing at a time

	memory     memory
	counters   counters
	dispatcher dispatcher
	comparers  comparers
}

// New readies a proxy for a valid configuration; it opens no connection. It fails with all faults of the configuration,
// joined, and where the primary's name turns out to be the proxy's own.
func New(cfg Config, deps Deps) (*Proxy, error) {
	if faults := cfg.Validate(); len(faults) > 0 {
		return nil, fmt.Errorf("configuration: %w", errors.Join(faults...))
	}
	p := &Proxy{cfg: cfg, deps: deps, log: deps.Log}
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	p.counters.started = time.Now()
	p.memory.limit = int64(cfg.Shadow.Memory)
	p.complain.log = p.log
	for _, peer := range cfg.TrustedProxies {
		network, _ := parseNetwork(peer) // checked by Validate
		p.trusted = append(p.trusted, network)
	}
	p.sampleBy, _ = parseSampleKey(cfg.SampleBy)
	p.compileRoutes()
	if err := p.connect(); err != nil {
		return nil, err
	}
	p.comparers.wake.L = &p.comparers.mu
	p.shadowing.Store(&shadowing{
		Shadowing: Shadowing{Enabled: true, Sample: cfg.Sample},
		possible:  len(p.dispatcher.roles) > 0,
	})
	return p, nil
}

// connect readies the three upstreams.
func (p *Proxy) connect() (err error) {
	p.primary, _ = parseTarget(p.cfg.Primary)
	if ownAddress(p.cfg.Listen, p.primary, lookUp) {
		return fmt.Errorf("primary: "+ownPrimary, p.cfg.Listen)
	}
	if p.upstream, err = primaryTransport(p.cfg.Upstream, p.primary); err != nil {
		return err
	}
	pool := newBuffers()
	p.front = &httputil.ReverseProxy{
		Transport:      p.upstream,
		BufferPool:     pool,
		FlushInterval:  flushInterval,
		Rewrite:        p.rewrite,
		ModifyResponse: p.answered,
		ErrorHandler:   p.failed,
		ErrorLog:       slog.NewLogLogger(p.log.Handler(), slog.LevelDebug),
	}
	d := &p.dispatcher
	d.proxy, d.queue, d.enabled = p, p.cfg.Shadow.Queue, true
	d.asked = make(map[*flight]struct{})
	if p.cfg.Candidate == "" {
		return nil
	}
	longest := p.rest.longest()
	for _, rt := range p.routes {
		longest = max(longest, rt.longest())
	}
	for role, address := range map[Role]string{Secondary: p.cfg.Secondary, Candidate: p.cfg.Candidate} {
		if address == "" {
			continue
		}
		s, err := newShadow(&p.cfg, role, address, longest)
		if err != nil {
			return err
		}
		s.buffers, s.complain = pool, &throttle{log: p.log}
		p.shadows[role] = s
		d.roles = append(d.roles, role)
		d.free[role] = p.cfg.Shadow.concurrency(role)
		d.ahead = max(d.ahead, int64(d.free[role]+d.queue))
	}
	if len(d.roles) == 2 && p.cfg.Shadow.Unfair() {
		p.log.Warn("candidate and secondary are treated differently: no fair pair")
	}
	return nil
}

// Run owns the shadow side: it lets shadows be asked until ctx ends, then gives those in flight server.drain to end,
// cancels the rest, and returns when every exchange was delivered and all is quiet. It may be called once.
func (p *Proxy) Run(ctx context.Context) error {
	p.comparers.run(p.deliverExchange)
	p.dispatcher.run()
	p.setRunning(true)
	<-ctx.Done()
	p.setRunning(false)
	quiet := p.dispatcher.stop()
	grace := time.NewTimer(p.cfg.Server.Drain)
	defer grace.Stop()
	select {
	case <-quiet:
	case <-grace.C:
		p.dispatcher.failAll(ReasonShutdown)
		<-quiet
	}
	p.dispatcher.legs.Wait()
	p.comparers.stop()
	for _, s := range p.shadows {
		if s != nil {
			s.transport.CloseIdleConnections()
		}
	}
	p.upstream.CloseIdleConnections()
	return nil
}
