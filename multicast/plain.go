package multicast

import (
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// plain is the way to a shadow that speaks HTTP/1.1 without TLS: the goroutine of a leg writes and reads itself, on
// connections that are kept for the next one. Parsing is net/http's own, so that it and a direct client agree. There are
// never more connections, those that are being opened included, than legs were ever under way at once.
type plain struct {
	shadow  *shadow
	address string
	scratch sync.Pool // of *question

	mu     sync.Mutex // guards what follows
	idle   []*conn    // the one that was used last is last
	expiry *time.Timer
	timed  bool // expiry runs
	closed bool
}

func newPlain(s *shadow) *plain {
	w := &plain{shadow: s, address: net.JoinHostPort(s.target.name(), s.target.port())}
	w.scratch.New = func() any { return new(question) }
	return w
}

func (w *plain) ask(f *flight, deadline time.Time, on *progress) (*http.Response, error) {
	q := w.scratch.Get().(*question)
	if err := q.render(w.shadow, f); err != nil {
		w.give(q)
		return nil, err
	}
	c, err := w.take(f, deadline)
	if err != nil {
		w.give(q)
		return nil, err
	}
	on.connected(c.used)
	res, err := c.exchange(q, f, on)
	if err != nil {
		c.finish(false)
		return nil, err
	}
	return res, nil
}

// give takes a question back that was sent, or will not be.
func (w *plain) give(q *question) {
	clear(q.fields)
	q.marks = marks{}
	if q.body = nil; cap(q.head) <= inline {
		w.scratch.Put(q)
	}
}

// take returns a kept connection that the peer has not closed, or a new one.
func (w *plain) take(f *flight, deadline time.Time) (*conn, error) {
	for {
		c := w.pop()
		if c == nil {
			return w.dial(f, deadline)
		}
		if _ = c.SetDeadline(deadline); c.quiet() {
			return c, nil
		}
		_ = c.Close()
	}
}

func (w *plain) dial(f *flight, deadline time.Time) (*conn, error) {
	// Addresses are tried one after the other, so that a leg never has two connections.
	dialer := net.Dialer{Deadline: deadline, FallbackDelay: -1, KeepAlive: -1, Control: w.shadow.descriptors.control}
	ctx, cancel := f.recall.context(w.shadow.role)
	defer cancel()
	tcp, err := dialer.DialContext(ctx, "tcp", w.address)
	if err != nil {
		return nil, err
	}
	_ = tcp.SetDeadline(deadline)
	return newConn(w, tcp), nil
}

func (w *plain) pop() *conn {
	w.mu.Lock()
	defer w.mu.Unlock()
	last := len(w.idle) - 1
	if last < 0 {
		return nil
	}
	c := w.idle[last]
	w.idle[last] = nil
	w.idle = w.idle[:last]
	return c
}

// keep takes a connection back, or closes it when nobody will want it.
func (w *plain) keep(c *conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		_ = c.Close()
		return
	}
	c.used, c.since = true, time.Now()
	w.idle = append(w.idle, c)
	w.watch(shadowIdle)
}

// watch sees to it that expire is called. The caller holds mu.
func (w *plain) watch(in time.Duration) {
	switch {
	case w.timed:
		return
	case w.expiry == nil:
		w.expiry = time.AfterFunc(in, w.expire)
	default:
		w.expiry.Reset(in)
	}
	w.timed = true
}

// expire closes the connections that nobody has used for shadowIdle.
func (w *plain) expire() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timed = false
	old := 0
	for old < len(w.idle) && time.Since(w.idle[old].since) >= shadowIdle {
		_ = w.idle[old].Close()
		old++
	}
	w.idle = slices.Delete(w.idle, 0, old)
	if len(w.idle) > 0 {
		w.watch(shadowIdle - time.Since(w.idle[0].since))
	}
}

func (w *plain) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	w.drop()
}

func (w *plain) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.drop()
}

// drop closes the connections that are kept. The caller holds mu.
func (w *plain) drop() {
	for _, c := range w.idle {
		_ = c.Close()
	}
	w.idle = nil
	if w.expiry != nil && w.expiry.Stop() {
		w.timed = false
	}
}
