package multicast

import (
	"fmt"
	"net"
	"net/http"
	"time"
)

// continueTimeout is how long a primary has to say 100 or to refuse, before it is sent the body all the same.
const continueTimeout = time.Second

// maxPrimaryHead is how long the head of an answer may be; over it the client gets 502.
const maxPrimaryHead = int64(1 * MiB)

// primaryTransport is tuned for one host: every connection is kept, nothing is decoded behind the client's back, and
// Expect goes to the primary, who answers it.
func primaryTransport(cfg UpstreamConfig, t target) (*http.Transport, error) {
	tlsConfig, err := cfg.TLS.load()
	if err != nil {
		return nil, fmt.Errorf("upstream.tls: %w", err)
	}
	return &http.Transport{
		DialContext:            linked((&net.Dialer{Timeout: cfg.DialTimeout, KeepAlive: 30 * time.Second}).DialContext, t.scheme == "http" && !t.h2c),
		TLSHandshakeTimeout:    cfg.DialTimeout,
		TLSClientConfig:        tlsConfig,
		ResponseHeaderTimeout:  cfg.HeadTimeout,
		MaxResponseHeaderBytes: maxPrimaryHead,
		IdleConnTimeout:        cfg.IdleTimeout,
		MaxIdleConnsPerHost:    4096,
		DisableCompression:     true,
		ExpectContinueTimeout:  continueTimeout,
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
	p.SetHTTP2(!t.http1)
	return p
}
