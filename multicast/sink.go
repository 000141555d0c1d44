package multicast

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http/httpguts"
)

// mirrorSink takes the requests that another proxy mirrors, where this one is not to stand in the path of clients: each is
// answered with 202 once it is read, and after that the primary is asked like the shadows. Classifying, sampling, limits and
// counts are those of the front; what is not to be shadowed is not asked of the primary either, since the client's own
// request was.
type mirrorSink struct {
	proxy *Proxy
	ctx   context.Context // of the visits
	end   context.CancelFunc

	mu      sync.Mutex // guards what follows
	closed  bool
	asking  int      // visits under way, at most shadow.concurrency
	waiting []func() // those that wait for one to end, at most shadow.queue
	visits  sync.WaitGroup
}

// Sink is the handler for mode: sink. What of the original request a mirror could not leave where it was is taken from where
// mirrors put it: a host that ends with "-shadow" without that (Envoy, Istio and what is built on them append it), the URI
// from X-Original-URI and the host from X-Original-Host, if the mirror sets them. Run must run.
func (p *Proxy) Sink() http.Handler { return &p.sink }

func (s *mirrorSink) open(p *Proxy) {
	s.proxy = p
	s.ctx, s.end = context.WithCancel(context.Background())
}

// ServeHTTP answers a mirror.
func (s *mirrorSink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	if err := restore(r); err != nil {
		s.proxy.complain.warn("a mirrored request was refused", slog.Any("err", err))
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.proxy.counters.requests.Add(1)
	switch err := s.take(r, start); {
	case err != nil:
		s.proxy.complain.warn("a mirrored request was refused", slog.Any("err", err))
		http.Error(w, "bad request", http.StatusBadRequest)
	case r.Method == http.MethodConnect:
		w.WriteHeader(http.StatusMethodNotAllowed)
	default:
		w.WriteHeader(http.StatusAccepted)
	}
}

// take reads a request that is to be shadowed and has it asked; any other is counted and nothing more. It fails with why what
// came is no request.
func (s *mirrorSink) take(r *http.Request, start time.Time) error {
	setup := s.proxy.setup.Load()
	rt, reason := s.proxy.classify(r, setup)
	if reason != "" {
		s.proxy.counters.skipped.add(reason)
		return nil
	}
	m := &mirrored{proxy: s.proxy, setup: setup, route: rt, start: start}
	m.account.memory = &s.proxy.memory
	s.proxy.counters.open.Add(1)
	if err := m.read(s.ctx, r); err != nil {
		return err
	}
	if m.in != nil && !s.admit(&setup.cfg.Shadow, m.visit) {
		m.leave(&s.proxy.counters.dropped, ReasonQueue)
	}
	return nil
}

// admit has a visit made, now or when another has ended; it answers false when too many wait already.
func (s *mirrorSink) admit(cfg *ShadowConfig, visit func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return false
	case s.asking < cfg.Concurrency:
		s.asking++
		s.visits.Go(func() { s.work(visit) })
		return true
	case len(s.waiting) < cfg.Queue:
		s.waiting = append(s.waiting, visit)
		return true
	}
	return false
}

// work makes one visit after the other, until none waits.
func (s *mirrorSink) work(visit func()) {
	for ; visit != nil; visit = s.next() {
		visit()
	}
}

func (s *mirrorSink) next() (visit func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) == 0 {
		s.asking--
		return nil
	}
	visit, s.waiting[0] = s.waiting[0], nil
	s.waiting = s.waiting[1:]
	return visit
}

// close cuts off the visits under way, and waits for them. Those that wait begin, and end at once.
func (s *mirrorSink) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.end()
	s.visits.Wait()
}

// mirrored is one request on its way to the three. It is open until it leaves, or a visit is made of it.
type mirrored struct {
	proxy   *Proxy
	setup   *setup
	route   *route
	start   time.Time
	account account       // of the request, until the visit has ended
	in      *http.Request // nil until it is whole
}

// leave ends one that nobody is asked.
func (m *mirrored) leave(count *tally[Reason], reason Reason) {
	m.account.close()
	count.add(reason)
	m.proxy.counters.open.Add(-1)
}

// read takes the request whole, or has it leave. It fails with why what came is no request.
func (m *mirrored) read(ctx context.Context, r *http.Request) error {
	counters, body := &m.proxy.counters, capture{account: &m.account, limit: m.route.maxRequestBody}
	err := errRequest
	if askable(r) {
		err = m.readBody(&body, r)
	}
	switch {
	case err != nil && uploadFault(err) == uploadGone:
		m.leave(&counters.skipped, ReasonClientAborted)
	case err != nil:
		m.leave(&counters.skipped, ReasonRequestIncomplete)
		return err
	case body.over:
		m.leave(&counters.skipped, ReasonBodyTooLarge)
	case body.lost || !m.account.take(headerSize(r.Header)):
		m.leave(&counters.dropped, ReasonMemory)
	default:
		m.in = r.Clone(context.WithoutCancel(r.Context()))
		m.in = m.in.WithContext(&both{m.in.Context(), ctx})
		m.in.Header.Del("Expect") // it has come
		m.in.Body = http.NoBody
		if r.ContentLength != 0 {
			m.in.Body = io.NopCloser(bytes.NewReader(body.body))
		}
	}
	return nil
}

// readBody reads to the end, but keeps no more than the limit.
func (m *mirrored) readBody(body *capture, r *http.Request) error {
	if r.ContentLength == 0 {
		return nil
	}
	buf := m.proxy.buffers.Get()
	defer m.proxy.buffers.Put(buf)
	for !body.over && !body.lost {
		n, err := r.Body.Read(buf)
		body.write(buf[:n])
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading a mirrored request: %w", err)
		}
	}
	return nil
}

// visit asks the primary as the front does, for a client that is not there.
func (m *mirrored) visit() {
	defer m.account.close()
	defer func() {
		if cause := recover(); cause != nil && cause != http.ErrAbortHandler { // net/http's server would log it, too
			m.proxy.log.Error("asking for a mirror panicked", slog.Any("err", cause))
		}
	}()
	v := &visit{proxy: m.proxy, setup: m.setup, client: &nobody{header: http.Header{}}, in: m.in, arrived: m.start, copied: true}
	v.flight = m.proxy.newFlight(v, m.route, m.start)
	m.proxy.counters.open.Add(-1)
	v.tap = m.proxy.newTap(v, m.start)
	defer v.left(m.start)
	v.serve()
}

// both has the values of one context and the end of another.
type both struct {
	context.Context
	until context.Context
}

func (b *both) Done() <-chan struct{}       { return b.until.Done() }
func (b *both) Err() error                  { return b.until.Err() }
func (b *both) Deadline() (time.Time, bool) { return b.until.Deadline() }

// nobody is the client of a mirrored request: it has its answer already.
type nobody struct{ header http.Header }

func (n *nobody) Header() http.Header         { return n.header }
func (n *nobody) Write(p []byte) (int, error) { return len(p), nil }
func (n *nobody) WriteHeader(int)             {}
func (n *nobody) Flush()                      {}

// mirrorSuffix is what Envoy, and all that is built on it, appends to the host of a copy.
//
// Source: envoyproxy.io, config.route.v3.RouteAction.RequestMirrorPolicy.
const mirrorSuffix = "-shadow"

// restore puts back what a mirror has changed of a request.
func restore(r *http.Request) error {
	if uri := r.Header.Get("X-Original-Uri"); uri != "" {
		u, err := url.ParseRequestURI(uri)
		if err != nil || !strings.HasPrefix(uri, "/") {
			return fmt.Errorf("X-Original-URI is %.100q, which is no path and query", uri)
		}
		r.URL, r.RequestURI = u, uri
	}
	if host := r.Header.Get("X-Original-Host"); host != "" {
		if !httpguts.ValidHostHeader(host) {
			return fmt.Errorf("X-Original-Host is %.100q, which is no host", host)
		}
		r.Host = host
	}
	r.Header.Del("X-Original-Uri")
	r.Header.Del("X-Original-Host")
	r.Host = unshadowed(r.Host)
	return nil
}

// unshadowed is a host as it was before a mirror appended its suffix, before a port or behind it.
func unshadowed(host string) string {
	if bare, found := strings.CutSuffix(host, mirrorSuffix); found && bare != "" {
		return bare
	}
	name, port, _ := cutPort(host)
	if bare, found := strings.CutSuffix(name, mirrorSuffix); found && bare != "" {
		return bare + ":" + port
	}
	return host
}
