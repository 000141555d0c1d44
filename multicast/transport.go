package multicast

import (
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// continueTimeout is how long a primary has to say 100 or to refuse, before it is sent the body all the same.
const continueTimeout = time.Second

// primaryTransport is tuned for one host: every connection is kept, nothing is decoded behind the client's back, and
// Expect goes to the primary, who answers it.
func primaryTransport(cfg UpstreamConfig, t target) (*http.Transport, error) {
	tlsConfig, err := cfg.TLS.load()
	if err != nil {
		return nil, fmt.Errorf("upstream.tls: %w", err)
	}
	return &http.Transport{
		DialContext:           (&net.Dialer{Timeout: cfg.DialTimeout, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:   cfg.DialTimeout,
		TLSClientConfig:       tlsConfig,
		ResponseHeaderTimeout: cfg.HeadTimeout,
		IdleConnTimeout:       cfg.IdleTimeout,
		MaxIdleConnsPerHost:   4096,
		DisableCompression:    true,
		ExpectContinueTimeout: continueTimeout,
		Protocols:             t.protocols(),
	}, nil
}

// shadowIdle is how long a shadow's connection is kept: short, so that few are found dead, which would cost an exchange.
const shadowIdle = 3 * time.Second

// shadowTransport follows no redirect, keeps no cookie and knows no proxy, since http.Transport does none of that.
func shadowTransport(cfg TLSConfig, t target, timeout time.Duration, concurrency int) (*http.Transport, error) {
	tlsConfig, err := cfg.load()
	if err != nil {
		return nil, err
	}
	return &http.Transport{
		DialContext:            (&net.Dialer{Timeout: timeout}).DialContext,
		TLSHandshakeTimeout:    timeout,
		TLSClientConfig:        tlsConfig,
		IdleConnTimeout:        shadowIdle,
		MaxIdleConnsPerHost:    concurrency,
		MaxResponseHeaderBytes: int64(1 * MiB),
		DisableCompression:     true,
		Protocols:              t.protocols(),
	}, nil
}

func (t target) protocols() *http.Protocols {
	p := new(http.Protocols)
	if t.h2c {
		p.SetUnencryptedHTTP2(true)
		return p
	}
	p.SetHTTP1(true)
	p.SetHTTP2(true)
	return p
}

// newShadow readies one role; its transport's own timeouts are the longest of any route, since the deadline of each leg
// is in its context.
func newShadow(cfg *Config, role Role, address string, longest time.Duration) (*shadow, error) {
	t, err := parseTarget(address)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", role, err)
	}
	own := cfg.Shadow.role(role)
	s := &shadow{role: role, target: t, host: cfg.Shadow.Host, set: make(http.Header)}
	if own.Host != nil {
		s.host = *own.Host
	}
	for _, headers := range []map[string]string{cfg.Shadow.SetHeaders, own.SetHeaders} {
		for name, value := range headers {
			s.set[http.CanonicalHeaderKey(name)] = []string{value}
		}
	}
	s.remove = slices.Concat(cfg.Shadow.RemoveHeaders, own.RemoveHeaders)
	s.transport, err = shadowTransport(own.TLS, t, longest, cfg.Shadow.concurrency(role))
	if err != nil {
		return nil, fmt.Errorf("shadow.%s.tls: %w", role, err)
	}
	return s, nil
}

func (c *ShadowConfig) concurrency(role Role) int {
	if own := c.role(role).Concurrency; own != nil {
		return *own
	}
	return c.Concurrency
}

func (c *ShadowConfig) timeout(role Role) time.Duration {
	if own := c.role(role).Timeout; own != nil {
		return *own
	}
	return c.Timeout
}

// unfair reports whether the two shadows are treated differently.
func (c *ShadowConfig) unfair() bool {
	a, b := c.Candidate, c.Secondary
	host := func(r RoleConfig) string {
		if r.Host != nil {
			return *r.Host
		}
		return c.Host
	}
	return c.timeout(Candidate) != c.timeout(Secondary) || c.concurrency(Candidate) != c.concurrency(Secondary) ||
		host(a) != host(b) || !maps.Equal(a.SetHeaders, b.SetHeaders) || !slices.Equal(a.RemoveHeaders, b.RemoveHeaders)
}

// buffers is a pool of the buffers through which bodies are copied.
type buffers struct{ pool sync.Pool }

func newBuffers() *buffers {
	return &buffers{sync.Pool{New: func() any { return new([32 << 10]byte) }}}
}

// Get returns a buffer.
func (b *buffers) Get() []byte { return b.pool.Get().(*[32 << 10]byte)[:] }

// Put takes a buffer back.
func (b *buffers) Put(buf []byte) { b.pool.Put((*[32 << 10]byte)(buf)) }
