package multicast

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"time"
)

// shadow is one role that is asked beside the primary, in one setup.
type shadow struct {
	role        Role
	target      target
	way         way                 // to it
	host        string              // keep, target or a fixed value
	set         http.Header         // by canonical name
	without     map[string]struct{} // what is set or removed, dashed
	buffers     *buffers
	descriptors *descriptors
	complain    *throttle
	circuit     circuit
}

// newShadow readies one role; it opens no connection. The longest is the most that it is given on any route.
func newShadow(cfg *Config, role Role, address string, longest time.Duration) (*shadow, error) {
	t, err := parseTarget(address)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", role, err)
	}
	own := cfg.Shadow.role(role)
	s := &shadow{role: role, target: t, host: cfg.Shadow.Host, set: make(http.Header), without: make(map[string]struct{})}
	if own.Host != nil {
		s.host = *own.Host
	}
	for _, headers := range []map[string]string{cfg.Shadow.SetHeaders, own.SetHeaders} {
		for name, value := range headers {
			s.set[http.CanonicalHeaderKey(name)] = []string{value}
			s.withhold(name)
		}
	}
	s.withhold(cfg.Shadow.RemoveHeaders...)
	s.withhold(own.RemoveHeaders...)
	if t.scheme == "http" && !t.h2c {
		s.way = newPlain(s)
		return s, nil
	}
	s.way, err = newNetHTTP(s, own.TLS, longest, cfg.Shadow.concurrency(role))
	if err != nil {
		return nil, fmt.Errorf("shadow.%s.tls: %w", role, err)
	}
	return s, nil
}

func (s *shadow) withhold(names ...string) {
	for _, name := range names {
		s.without[dashed(name)] = struct{}{}
	}
}

// withheld reports whether this shadow gets no header and no trailer of the client's that might be read under this name: it is
// marked by the proxy, and the body that would be expected is here.
func (s *shadow) withheld(name string) bool {
	name = dashed(name)
	_, found := s.without[name]
	return found || name == "Expect" || name == "X-Shadow-Request" || name == "X-Shadow-Id"
}

// close lets go of the connections: those that are kept now, and those in use as soon as they are free.
func (s *shadow) close() { s.way.close() }

// marks are the values of the headers that make a copy known as one.
type marks [2]string

func marksOf(f *flight) marks { return marks{"1", f.ex.ID} }

// headers are those that this shadow gets: what the primary was sent, but for the marks and the configured changes.
func (s *shadow) headers(f *flight, m *marks) iter.Seq2[string, []string] {
	return func(yield func(string, []string) bool) {
		for name, values := range f.header {
			if s.withheld(name) {
				continue
			}
			if !yield(name, unsampled(name, values)) {
				return
			}
		}
		for name, values := range s.set {
			if !yield(name, values) {
				return
			}
		}
		_ = yield("X-Shadow-Request", m[:1:1]) && yield("X-Shadow-Id", m[1:])
	}
}

// hostOf is the Host header that this shadow gets.
func (s *shadow) hostOf(f *flight) string {
	switch s.host {
	case HostKeep:
		return cmp.Or(f.ex.Request.Host, s.target.host)
	case HostTarget:
		return s.target.host
	}
	return s.host
}

// request is the copy that this shadow gets, for net/http.
func (s *shadow) request(f *flight) *http.Request {
	h, m := make(http.Header, len(f.header)+2), marksOf(f)
	for name, values := range s.headers(f, &m) {
		h[name] = values
	}
	if h["User-Agent"] == nil {
		h["User-Agent"] = []string{""}
	}
	req := &http.Request{
		Method: f.ex.Request.Method, URL: s.target.url(f.path, f.url), Host: s.hostOf(f), Header: h,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	s.attachBody(req, f)
	return req
}

// trailers are those that this shadow gets.
func (s *shadow) trailers(f *flight) http.Header {
	h := f.ex.Request.Trailer.Clone()
	maps.DeleteFunc(h, func(name string, _ []string) bool { return s.withheld(name) })
	return h
}

// attachBody frames the body as the client did.
func (s *shadow) attachBody(req *http.Request, f *flight) {
	body := f.ex.Request.Body
	switch {
	case f.length < 0:
		req.ContentLength, req.TransferEncoding = -1, []string{"chunked"} // also where net/http would look for a first byte
		req.Body = io.NopCloser(bytes.NewReader(body))
		req.Trailer = s.trailers(f)
	case len(body) > 0:
		req.ContentLength = int64(len(body))
		req.Body = io.NopCloser(bytes.NewReader(body))
	default:
		req.Body = http.NoBody
	}
}
