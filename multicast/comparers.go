package multicast

import (
	"log/slog"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// comparers are the few goroutines in which exchanges are delivered, so that decoding and comparing cannot starve the
// client's path. Handing one in never waits; the dispatcher asks no more shadows while too many are here.
type comparers struct {
	load  atomic.Int64 // handed in and not delivered yet
	hurry atomic.Bool  // the process ends: what is not compared yet will not be
	mu    sync.Mutex   // guards what follows
	wake  sync.Cond
	line  []*flight
	ended bool
	pool  sync.WaitGroup
}

// run starts the pool: a quarter of the processors, at least one.
func (c *comparers) run(deliver func(*flight)) {
	for range max(1, runtime.GOMAXPROCS(0)/4) {
		c.pool.Add(1)
		go func() {
			defer c.pool.Done()
			for f := c.next(); f != nil; f = c.next() {
				deliver(f)
			}
		}()
	}
}

func (c *comparers) add(f *flight) {
	c.load.Add(1)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.line = append(c.line, f)
	c.wake.Signal()
}

// next waits for an exchange; it answers nil when there will be none.
func (c *comparers) next() *flight {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.line) == 0 && !c.ended {
		c.wake.Wait()
	}
	if len(c.line) == 0 {
		return nil
	}
	f := c.line[0]
	c.line[0] = nil
	c.line = c.line[1:]
	return f
}

// stop ends the pool once the line is empty, and waits for it.
func (c *comparers) stop() {
	c.mu.Lock()
	c.ended = true
	c.wake.Broadcast()
	c.mu.Unlock()
	c.pool.Wait()
}

// deliverExchange hands one exchange on and gives it its place in the counts.
func (p *Proxy) deliverExchange(f *flight) {
	if p.comparers.hurry.Load() && f.ex.Unknown == "" {
		f.ex.Unknown = ReasonShutdown
	}
	if p.callDeliver(f) {
		f.clear()
	}
	if f.ex.Unknown == "" {
		p.counters.compared.Add(1)
	} else {
		p.counters.unknown.add(f.ex.Unknown)
	}
	f.account.close()
	p.counters.open.Add(-1)
	p.comparers.load.Add(-1)
	p.dispatcher.delivered(f)
}

// callDeliver answers false if that panicked: then nobody knows who looks at the exchange.
func (p *Proxy) callDeliver(f *flight) (returned bool) {
	defer func() {
		if cause := recover(); cause != nil {
			f.ex.Unknown = ReasonPanic
			p.log.Error("comparing panicked", slog.String("exchange", f.ex.ID), slog.String("route", f.ex.Route),
				slog.Any("err", cause), slog.String("stack", string(debug.Stack())))
		}
	}()
	if f.deliver != nil {
		f.deliver(&f.ex)
	}
	return true
}
