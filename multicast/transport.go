package multicast

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"
)

// continueTimeout is how long a primary has to say 100 or to refuse, before it is sent the body all the same.
const continueTimeout = time.Second

// aheadOfClient is how much of an answer over HTTP/2 may come ahead of the one who takes it. A client may leave hundreds where
// they are, on one connection; the others of the primary's connection are not to wait for them, so that all together have no limit.
const aheadOfClient = 1 << 20

// maxPrimaryHead is how long the head of an answer may be; over it the client gets 502.
const maxPrimaryHead = int64(1 * MiB)

// primaryTransport is tuned for one host: every connection is kept, nothing is decoded behind the client's back, and
// Expect goes to the primary, who answers it. Full is called when no descriptor is left for a connection.
func primaryTransport(cfg UpstreamConfig, t target, of *descriptors, full func()) (*http.Transport, error) {
	tlsConfig, err := cfg.TLS.load()
	if err != nil {
		return nil, fmt.Errorf("upstream.tls: %w", err)
	}
	dialer := net.Dialer{Timeout: cfg.DialTimeout, KeepAlive: 30 * time.Second, Control: of.controlPrimary}
	dial := insist(dialer.DialContext, cfg.DialTimeout, full)
	return &http.Transport{
		DialContext:            linked(dial, t.scheme == "http" && !t.h2c),
		TLSHandshakeTimeout:    cfg.DialTimeout,
		TLSClientConfig:        tlsConfig,
		ResponseHeaderTimeout:  cfg.HeadTimeout,
		MaxResponseHeaderBytes: maxPrimaryHead,
		IdleConnTimeout:        cfg.IdleTimeout,
		MaxIdleConnsPerHost:    4096,
		DisableCompression:     true,
		ExpectContinueTimeout:  continueTimeout,
		Protocols:              t.protocols(),
		HTTP2:                  &http.HTTP2Config{MaxReceiveBufferPerStream: aheadOfClient},
	}, nil
}

// insist dials again while no file descriptor is left, until the time for dialling is over: others end meanwhile, and their
// connections serve whoever waits.
func insist(dial dialing, limit time.Duration, full func()) dialing {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		begin := time.Now()
		for wait := time.Millisecond; ; wait = min(2*wait, 100*time.Millisecond) {
			conn, err := dial(ctx, network, address)
			if err == nil || !scarce(err) || time.Since(begin)+wait > limit {
				return conn, err
			}
			full()
			select {
			case <-time.After(wait):
			case <-ctx.Done():
				return nil, err
			}
		}
	}
}

func (t target) protocols() *http.Protocols {
	p := new(http.Protocols)
	if t.h2c {
		p.SetUnencryptedHTTP2(true)
		return p
	}
	p.SetHTTP1(true)
	p.SetHTTP2(!t.http1)
	return p
}
