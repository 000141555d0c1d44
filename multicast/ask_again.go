package multicast

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// maxAsks is how many requests are asked again at one time.
const maxAsks = 2

// NotAsked is why nobody was asked: what keeps a request of a client from being shadowed keeps Ask from asking.
type NotAsked struct {
	Reason Reason
	Detail string // for people: what stands in the way, and the remedy
}

func (e *NotAsked) Error() string { return e.Detail }

// inquiries is what Ask has beside the dispatcher.
type inquiries struct {
	slots     chan struct{} // as many as may be under way
	comparing sync.Mutex    // held while one is delivered: it shall not starve the clients' path either

	mu      sync.Mutex // guards what follows
	primary *shadow    // the way to the primary that clients do not use
	of      *setup     // whose primary it is
}

// Ask asks the primary, the secondary and the candidate the same, now, all at one moment and in random order, and hands the
// exchange to deliver, under the terms of Deliver; nobody else gets it, and no counter knows of it. The request is as an
// Exchange has it; its header is sent as it is, but for what is set and removed on copies. All three are told that it is a
// copy, so that it is sampled nowhere.
//
// It takes nothing from the clients' path: the primary is asked over connections of its own, at most two of these requests
// are under way at a time and the next waits, each leg has its route's time, and the caps and the memory budget of shadows
// hold. It fails with a *NotAsked where shadows would not be asked either (the switch is off, a shadow or all is paused,
// the route or the method is not shadowed, the body is too long), and with the error of ctx when that ends first.
func (p *Proxy) Ask(ctx context.Context, req *Request, deliver Deliver) error {
	select {
	case p.inquiries.slots <- struct{}{}:
		defer func() { <-p.inquiries.slots }()
	case <-ctx.Done():
		return ctx.Err()
	}
	f, err := p.newAsk(req)
	if err != nil {
		return err
	}
	defer f.account.close()
	primary, err := p.inquiries.wayToPrimary(p, f.setup)
	if err != nil {
		return err
	}
	if err := p.dispatcher.admit(f); err != nil {
		return err
	}
	defer func() {
		f.account.close()
		p.dispatcher.delivered(f)
	}()
	defer context.AfterFunc(ctx, func() { f.fail(ReasonCancelled) })()
	f.askAll(primary)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	f.deliver = deliver
	p.inquiries.comparing.Lock()
	defer p.inquiries.comparing.Unlock()
	if !p.callDeliver(f) {
		return fmt.Errorf("comparing what was asked again: %w", errPanic)
	}
	f.clear()
	return nil
}

// newAsk is the flight of a request that no client waits for. It has left already and never lands by itself.
func (p *Proxy) newAsk(req *Request) (*flight, error) {
	s := p.setup.Load()
	target, err := url.ParseRequestURI(req.Target)
	if err != nil {
		return nil, &NotAsked{ReasonRequestIncomplete, "the target of the request cannot be read: " + err.Error()}
	}
	in := &http.Request{Method: req.Method, URL: target, RequestURI: req.Target, ProtoMajor: 1, ProtoMinor: 1, Host: req.Host, Header: req.Header}
	rt, err := p.mayAsk(s, in, int64(len(req.Body)))
	if err != nil {
		return nil, err
	}
	f := &flight{
		proxy: p, setup: s, route: rt, url: target, path: rawPath(in), length: int64(len(req.Body)), header: maps.Clone(req.Header),
		trails: sortedNames(req.Trailer),
		phase:  asked, legs: 1, // so that failing recalls the legs, and that is all
	}
	if len(req.Trailer) > 0 {
		f.length = -1
	}
	for name := range f.header {
		if hopByHop(name) && name != "Te" {
			delete(f.header, name)
		}
	}
	f.account.memory = &p.memory
	if !f.account.take(headerSize(f.header) + int64(len(req.Body))) {
		return nil, &NotAsked{ReasonMemory, "the memory for shadows is taken (shadow.memory); try again"}
	}
	f.ex = Exchange{
		ID: newID(), Time: time.Now(), Route: s.routeName(in, rt), Configured: rt.name != "", account: &f.account, Request: *req,
	}
	f.ex.Request.Header, f.ex.Request.Body = f.header, bytes.Clone(req.Body)
	return f, nil
}

// mayAsk finds the route of a request, unless it is not to be shadowed.
func (p *Proxy) mayAsk(s *setup, in *http.Request, length int64) (*route, error) {
	no := func(reason Reason, format string, args ...any) (*route, error) {
		return nil, &NotAsked{reason, fmt.Sprintf(format, args...)}
	}
	rt := s.route(in)
	switch {
	case len(s.roles) == 0:
		return no(ReasonDisabled, "there is no candidate to ask: its address is not configured (candidate)")
	case p.shadowing.Load().guarded:
		return no(ReasonGuard, "the guard has paused shadowing, and what it spares is spared this too; try again when it is calm")
	case in.Method == http.MethodConnect:
		return no(ReasonConnect, "a CONNECT is never shadowed")
	case upgrades(in):
		return no(ReasonUpgrade, "a request that asks for another protocol is never shadowed")
	case signsIn(in.Header):
		return no(ReasonSignedIn, "a request that signs in on its connection (NTLM, Negotiate) is never shadowed")
	case !rt.shadow:
		return no(ReasonRoute, "the configuration says shadow: false of the route %s", rt.name)
	case !rt.allows(in):
		return no(ReasonMethod, "%s is not a method that may be shadowed here (methods, or shadow: true for a route with that method)", in.Method)
	case length > rt.maxRequestBody:
		return no(ReasonBodyTooLarge, "the body has %d bytes, over max_request_body, which is %d", length, rt.maxRequestBody)
	}
	return rt, nil
}

// admit lets a request be asked again, if shadows may be asked at all. What is admitted is cancelled when these are, and
// Run does not end before it.
func (d *dispatcher) admit(f *flight) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	switch {
	case !d.running:
		return &NotAsked{ReasonShutdown, "shadowdiff is starting or stopping"}
	case !d.enabled:
		return &NotAsked{ReasonDisabled, "shadowing is switched off, and nothing is asked until it is on again"}
	case now.Before(d.held):
		return &NotAsked{ReasonQueue, "clients and the primary need the file descriptors; raise the limit (ulimit -n, LimitNOFILE)"}
	}
	for _, role := range f.setup.roles {
		if !f.setup.shadows[role].circuit.passes(now) {
			return &NotAsked{ReasonCircuit, "the " + role.String() + " has failed so often that it is paused for a time"}
		}
	}
	d.asked[f] = struct{}{}
	return nil
}

// askAll asks all three and waits for them.
func (f *flight) askAll(primary *shadow) {
	asked := append([]*shadow{primary}, f.setup.shadows[Secondary], f.setup.shadows[Candidate])
	rand.Shuffle(len(asked), func(i, j int) { asked[i], asked[j] = asked[j], asked[i] })
	var legs sync.WaitGroup
	for _, s := range asked {
		if s != nil { // there may be no secondary
			legs.Go(func() { f.askAgain(s) })
		}
	}
	legs.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ex.Unknown = f.verdict(); f.ex.Unknown == "" {
		f.ex.Unknown = f.unfitPrimary()
	}
}

// askAgain brings home the answer of one of the three. Unlike a shadow's leg it is in no count, and the circuit does not
// learn of it.
func (f *flight) askAgain(s *shadow) {
	res, start := &f.ex.Responses[s.role], time.Now()
	limit := f.route.timeout[s.role]
	if s.role == Primary {
		limit = f.route.longest()
	}
	if err := contained(func() error { s.do(f, start.Add(limit), res); return nil }); err != nil {
		f.proxy.log.Error("asking again panicked", slog.String("exchange", f.ex.ID), slog.String("role", s.role.String()), slog.Any("err", err))
		*res = Response{Outcome: OutcomeCancelled, Detail: "panic"}
		f.fail(ReasonPanic)
	}
	res.Duration = time.Since(start)
	f.rooms[s.role] = res.Body
}

// unfitPrimary says why there is nothing to compare with, if there is not. The caller holds mu.
func (f *flight) unfitPrimary() Reason {
	switch res := &f.ex.Responses[Primary]; {
	case res.Outcome == OutcomeOversize:
		return ReasonOversize
	case res.Outcome == OutcomeStale:
		return ReasonStale
	case res.Outcome != OutcomeOK:
		return ReasonPrimaryFailed
	case res.Status == http.StatusTooManyRequests || res.Status == http.StatusServiceUnavailable:
		return ReasonPrimaryRefused
	}
	return ""
}

// wayToPrimary asks the primary as a shadow is asked, and not over the clients' connections.
func (a *inquiries) wayToPrimary(p *Proxy, s *setup) (*shadow, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.of == s {
		return a.primary, nil
	}
	primary := &shadow{
		role: Primary, target: s.primary, host: HostKeep, buffers: p.buffers, descriptors: &p.descriptors,
		complain: &throttle{log: slog.New(slog.DiscardHandler)}, // a primary that fails is told of elsewhere
	}
	if s.primary.scheme == "http" && !s.primary.h2c {
		primary.way = newPlain(primary)
	} else {
		way, err := newNetHTTP(primary, s.cfg.Upstream.TLS, s.longest(), max(maxAsks, s.cfg.Shadow.Concurrency))
		if err != nil {
			return nil, fmt.Errorf("upstream.tls: %w", err)
		}
		primary.way = way
	}
	if a.primary != nil {
		a.primary.close()
	}
	a.primary, a.of = primary, s
	return primary, nil
}

// close lets go of the connections.
func (a *inquiries) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.primary != nil {
		a.primary.close()
	}
	a.primary, a.of = nil, nil
}
