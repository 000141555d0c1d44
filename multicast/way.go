package multicast

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"sync/atomic"
	"time"
)

// way is how a shadow is spoken to: plain, or through net/http. Neither follows a redirect, keeps a cookie, asks twice or
// knows a proxy of the environment.
type way interface {
	// ask sends what the flight asks, once, and returns the head of the answer; on is told how far it came, and the
	// deadline is also the body's. The connection is used again if the body is read to its end before it is closed.
	ask(f *flight, deadline time.Time, on *progress) (*http.Response, error)
	// close lets go of the connections: those that are kept now, and those in use as soon as they are free.
	close()
	// forget closes the connections that are kept now.
	forget()
}

// progress is how far a leg came.
type progress struct {
	connection, reused, firstByte atomic.Bool
	deadline                      time.Time
}

func (p *progress) connected(reused bool) {
	p.reused.Store(reused)
	p.connection.Store(true)
}

func (p *progress) answered() { p.firstByte.Store(true) }

// overslept reports whether the deadline is so long gone that this process, or its machine, has stood still when it came. The
// answer may have been here in time, and whether the slower shadow's was is then a matter of chance.
func (p *progress) overslept() bool { return time.Since(p.deadline) > 500*time.Millisecond }

// maxHead is how long the head of a shadow's answer may be, and each informational one before it.
const maxHead = int64(1 * MiB)

// shadowIdle is how long a shadow's connection is kept: short, so that few are found dead, which would cost an exchange.
const shadowIdle = 3 * time.Second

// netHTTP is the way to a shadow that speaks HTTP/2 or TLS.
type netHTTP struct {
	shadow    *shadow
	transport *http.Transport
	http1     *http.Transport // for what a shadow with TLS does not answer in HTTP/2
}

func newNetHTTP(s *shadow, cfg TLSConfig, timeout time.Duration, concurrency int) (*netHTTP, error) {
	tlsConfig, err := cfg.load()
	if err != nil {
		return nil, err
	}
	speaking := func(t target) *http.Transport {
		return &http.Transport{
			DialContext:            s.dialForLeg,
			TLSHandshakeTimeout:    timeout,
			TLSClientConfig:        tlsConfig.Clone(),
			IdleConnTimeout:        shadowIdle,
			MaxIdleConnsPerHost:    concurrency,
			MaxResponseHeaderBytes: maxHead,
			DisableCompression:     true,
			Protocols:              t.protocols(),
			HTTP2:                  &http.HTTP2Config{MaxReceiveBufferPerStream: aheadOfClient},
		}
	}
	older := s.target
	older.http1 = true
	return &netHTTP{shadow: s, transport: speaking(s.target), http1: speaking(older)}, nil
}

func (w *netHTTP) close() { w.forget() }

func (w *netHTTP) forget() {
	w.transport.CloseIdleConnections()
	w.http1.CloseIdleConnections()
}

func (w *netHTTP) ask(f *flight, deadline time.Time, on *progress) (*http.Response, error) {
	req := w.shadow.request(f)
	if req.Body != http.NoBody { // for HTTP/2, which repeats only what the peer says it has not looked at
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(f.ex.Request.Body)), nil }
	}
	if err := new(question).gather(w.shadow, f); err != nil {
		return nil, fmt.Errorf("write: %w", err)
	}
	ctx, cancel := f.recall.context(w.shadow.role)
	ctx, release := context.WithDeadline(ctx, deadline)
	ctx, lost := context.WithCancelCause(ctx)
	end := func() {
		lost(nil)
		release()
		cancel()
	}
	informational := 0
	ctx = context.WithValue(ctx, legKey{}, ctx)
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) {
			if on.connection.Load() && !w.multiplexes(info.Conn) { // a kept one was lost, and net/http would ask again
				lost(errLostKept)
				_ = info.Conn.Close()
				return
			}
			on.connected(info.Reused)
		},
		GotFirstResponseByte: on.answered,
		Got1xxResponse: func(code int, _ textproto.MIMEHeader) error {
			informational++
			return tolerable(code, informational)
		},
	})
	res, err := w.transport.RoundTrip(req.WithContext(ctx))
	if err != nil && demandsHTTP1(err) && !w.shadow.target.h2c {
		on.connection.Store(false) // as for the primary, the way begins anew
		res, err = w.http1.RoundTrip(w.shadow.request(f).WithContext(ctx))
	}
	if err != nil {
		end()
		return nil, err
	}
	withoutBody(res)
	res.Body = &cancelled{res.Body, end}
	return res, nil
}

var errLostKept = fmt.Errorf("a kept connection was closed: %w", io.EOF)

// multiplexes reports whether the connection speaks HTTP/2.
func (w *netHTTP) multiplexes(conn net.Conn) bool {
	over, secured := conn.(*tls.Conn)
	return w.shadow.target.h2c || secured && over.ConnectionState().NegotiatedProtocol == "h2"
}

type legKey struct{}

// dialForLeg opens a connection for as long as the leg that wants it is under way: net/http's transport would go on
// without it, and a host that answers nobody would have more connections than legs.
func (s *shadow) dialForLeg(ctx context.Context, network, address string) (net.Conn, error) {
	if leg, known := ctx.Value(legKey{}).(context.Context); known {
		ctx = leg
	}
	return (&net.Dialer{FallbackDelay: -1, Control: s.descriptors.control}).DialContext(ctx, network, address)
}

// cancelled is a body whose request ends with it, instead of being read on.
type cancelled struct {
	io.ReadCloser
	cancel func()
}

func (c *cancelled) Close() error {
	c.cancel()
	return c.ReadCloser.Close()
}
