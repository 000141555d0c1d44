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
	"sync"
	"sync/atomic"
	"time"
)

// Deps are what the proxy is handed.
type Deps struct {
	Log *slog.Logger // nil: nothing is logged
	// Deliver is asked when a sampled request arrives, until Reconfigure names another; the exchange goes to what it
	// answered then, so that an exchange belongs to the run in force when its request came. Nil, and a nil answer, deliver
	// to nobody.
	Deliver func() Deliver
	// Observe is told of each request to the primary as it ends: its status (0 when the client got none) and how long it
	// took; and of each shadow leg. Both may be nil, and must not block.
	Observe       func(status int, d time.Duration)
	ObserveShadow func(role Role, outcome Outcome, d time.Duration)
	// Record takes a request that is to be recorded, with the primary's answer; it must not block. The Recording is its own
	// until it calls Done. Nil: nothing is recorded.
	Record func(*Recording)
	// Turned is told, one after another, of what the guard and the ramp decide by themselves, while Run runs. It is nobody's
	// path and may wait for a disk, but Run waits for it at its end. It may be nil.
	Turned func(Turn)
}

// Proxy is the front. It is an http.Handler for client traffic, and serves it whether Run runs or not; shadows are asked
// while Run runs.
type Proxy struct {
	deps     Deps
	log      *slog.Logger
	complain throttle
	buffers  *buffers

	setup       atomic.Pointer[setup]
	shadowing   atomic.Pointer[shadowing]
	change      sync.Mutex // held while setup or shadowing is replaced
	reconfigure sync.Mutex // held while a setup is made and put in force
	running     chan struct{}
	drained     atomic.Int64 // when draining has to be over: Unix time in ns; 0: it has not begun

	memory      memory
	descriptors descriptors
	counters    counters
	dispatcher  dispatcher
	comparers   comparers
	tunnels     tunnels
	private     private
	guard       guard
	ramp        ramp
	inquiries   inquiries
	sink        mirrorSink
	recordings  recordings
}

// New readies a proxy for a valid configuration; it opens no connection. It fails with all faults of the configuration,
// joined, and where the primary's name turns out to be the proxy's own.
func New(cfg Config, deps Deps) (*Proxy, error) {
	if faults := cfg.Validate(); len(faults) > 0 {
		return nil, fmt.Errorf("configuration: %w", errors.Join(faults...))
	}
	p := &Proxy{deps: deps, log: deps.Log, buffers: newBuffers(), running: make(chan struct{})}
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	p.counters.started = time.Now()
	p.complain.log = p.log
	p.comparers.wake.L = &p.comparers.mu
	p.dispatcher.proxy, p.dispatcher.enabled = p, true
	p.dispatcher.asked = make(map[*flight]struct{})
	p.recordings.sampler = newSampler()
	p.sink.open(p)
	p.inquiries.slots = make(chan struct{}, maxAsks)
	p.guard.proxy, p.guard.usage, p.guard.turns = p, readUsage, make(chan Turn, 64)
	first, err := p.newSetup(cfg, nil)
	if err != nil {
		return nil, err
	}
	p.shadowing.Store(&shadowing{Shadowing: Shadowing{Enabled: true}})
	p.put(first)
	return p, nil
}

// Running is closed once Run lets shadows be asked: a client served before would be skipped as "disabled".
func (p *Proxy) Running() <-chan struct{} { return p.running }

// Run owns the shadow side: it lets shadows be asked until ctx ends, then gives those in flight what the drain of Server
// has left of server.drain (all of it, if that has not begun), cancels the rest, and returns when every exchange was
// delivered and all is quiet. It may be called once.
func (p *Proxy) Run(ctx context.Context) error {
	p.comparers.run(p.deliverExchange)
	p.dispatcher.run()
	p.setRunning(true)
	close(p.running)
	var guarding sync.WaitGroup
	guarding.Go(func() { p.guard.run(ctx) })
	defer guarding.Wait()
	<-ctx.Done()
	p.setRunning(false)
	quiet := p.dispatcher.stop()
	grace := time.NewTimer(p.grace())
	defer grace.Stop()
	select {
	case <-quiet:
	case <-grace.C:
		p.comparers.hurry.Store(true)
		p.dispatcher.failAll(ReasonShutdown)
		<-quiet
	}
	p.sink.close()
	p.dispatcher.legs.Wait()
	p.comparers.stop()
	p.tunnels.close()
	p.inquiries.close()
	p.setup.Load().close(nil)
	return nil
}

// drain notes that the server takes no more clients: from now on all that is under way has server.drain together.
func (p *Proxy) drain() {
	p.drained.CompareAndSwap(0, time.Now().Add(p.setup.Load().cfg.Server.Drain).UnixNano())
}

func (p *Proxy) grace() time.Duration {
	p.drain()
	return time.Until(time.Unix(0, p.drained.Load()))
}
