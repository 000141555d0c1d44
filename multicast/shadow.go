package multicast

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// shadow is one role that is asked beside the primary.
type shadow struct {
	role      Role
	target    target
	transport *http.Transport
	host      string // keep, target or a fixed value
	set       http.Header
	remove    []string
	buffers   *buffers
	complain  *throttle
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

// request is the copy that this shadow gets: what the primary was sent, but for the marks and the configured changes.
func (s *shadow) request(f *flight) *http.Request {
	h := f.header.Clone()
	h.Del("Expect") // the body is here
	for _, name := range s.remove {
		h.Del(name)
	}
	for name, values := range s.set {
		h[name] = values
	}
	if h["User-Agent"] == nil {
		h["User-Agent"] = []string{""}
	}
	h["X-Shadow-Request"] = []string{"1"}
	h["X-Shadow-Id"] = []string{f.ex.ID}
	unsample(h)
	req := &http.Request{
		Method: f.ex.Request.Method, URL: s.target.url(f.path, f.url), Host: f.ex.Request.Host, Header: h,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	switch s.host {
	case HostKeep:
	case HostTarget:
		req.Host = s.target.host
	default:
		req.Host = s.host
	}
	f.attachBody(req)
	return req
}

// attachBody frames the body as the client did. There is never a GetBody, and a request without a body that net/http
// would think safe to repeat gets an empty one that it cannot know to be empty: so nothing is ever sent twice.
func (f *flight) attachBody(req *http.Request) {
	body := f.ex.Request.Body
	switch {
	case f.length < 0:
		req.ContentLength = -1
		req.Body = io.NopCloser(bytes.NewReader(body))
		req.Trailer = f.ex.Request.Trailer.Clone()
	case len(body) > 0:
		req.ContentLength = int64(len(body))
		req.Body = io.NopCloser(bytes.NewReader(body))
	case repeatable(req):
		req.Body = io.NopCloser(strings.NewReader(""))
	default:
		req.Body = http.NoBody
	}
}

// repeatable reports whether net/http would send the request again on a new connection, had it no body.
func repeatable(req *http.Request) bool {
	switch req.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return true
	}
	return req.Header["Idempotency-Key"] != nil || req.Header["X-Idempotency-Key"] != nil
}

// unsample turns the sampled flag of a traceparent off (W3C Trace Context, section 3.2.2.5), so that a copy leaves no
// trace among the real ones.
func unsample(h http.Header) {
	parent := h.Get("Traceparent")
	if len(parent) != 55 {
		return
	}
	const hex = "0123456789abcdef"
	flags := strings.IndexByte(hex, parent[54])
	if flags < 0 {
		return
	}
	h["Traceparent"] = []string{parent[:54] + hex[flags&^1:flags&^1+1]}
}
