package multicast

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"time"
)

// ask asks the shadows, all at the same moment and in random order, and returns when the last one has ended.
func (f *flight) ask(roles []Role) {
	f.record()
	requests := make([]*http.Request, len(roles))
	for i, role := range roles {
		requests[i] = f.proxy.shadows[role].request(f)
	}
	first := rand.IntN(len(roles))
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.leg(roles[first], requests[first])
	}()
	for i, role := range roles {
		if i != first {
			f.leg(role, requests[i])
		}
	}
	<-done
}

// record writes down what is asked.
func (f *flight) record() {
	f.ex.Request.Header = f.header.Clone()
	if f.header.Get("User-Agent") == "" { // an empty one only tells net/http to send none
		f.ex.Request.Header.Del("User-Agent")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ex.Request.Body = f.request.body
}

// leg asks one shadow and brings home what it answers.
func (f *flight) leg(role Role, req *http.Request) {
	p := f.proxy
	legs := &p.counters.legs[role]
	legs.sent.Add(1)
	legs.inFlight.Add(1)
	start := time.Now()
	ctx, cancel := context.WithTimeout(f.ctx, f.route.timeout[role])
	res := p.shadows[role].do(ctx, req, f)
	cancel()
	res.Duration = time.Since(start)
	legs.outcome.add(res.Outcome)
	legs.inFlight.Add(-1)
	if p.deps.ObserveShadow != nil {
		p.deps.ObserveShadow(role, res.Outcome, res.Duration)
	}
	p.dispatcher.release(role)
	f.landed(role, res)
}

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

// maxInformational is how many 1xx answers a shadow may send before its answer.
const maxInformational = 16

// do sends the request, once, and reads the answer as far as the limits let it.
func (s *shadow) do(ctx context.Context, req *http.Request, f *flight) *Response {
	progress := &progress{}
	informational := 0
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn:              func(info httptrace.GotConnInfo) { progress.connected(info.Reused) },
		GotFirstResponseByte: progress.answered,
		Got1xxResponse: func(int, textproto.MIMEHeader) error {
			if informational++; informational > maxInformational {
				return errInformational
			}
			return nil
		},
	})
	res := &Response{}
	answer, err := s.transport.RoundTrip(req.WithContext(ctx))
	if err != nil {
		s.failed(ctx, res, progress, err)
		return res
	}
	defer answer.Body.Close()
	res.Status, res.Header = answer.StatusCode, answer.Header
	removeHopByHop(res.Header)
	if answer.StatusCode == http.StatusSwitchingProtocols {
		s.failed(ctx, res, progress, errSwitched)
		return res
	}
	s.read(ctx, res, progress, answer, f)
	return res
}

// maxOversize is how many times max_response_body a shadow's body may be before it is cut off.
const maxOversize = 64

// read takes the body to its end, so that the connection can be used again.
func (s *shadow) read(ctx context.Context, res *Response, progress *progress, answer *http.Response, f *flight) {
	body := capture{account: &f.account, limit: f.route.maxResponseBody, digest: true}
	body.lost = !f.account.take(headerSize(res.Header))
	body.expect(answer.ContentLength)
	buf := s.buffers.Get()
	defer s.buffers.Put(buf)
	defer body.into(res)
	for {
		n, err := answer.Body.Read(buf)
		body.write(buf[:n])
		switch {
		case body.lost:
			res.Outcome, res.Detail = OutcomeCancelled, "memory budget spent"
			f.fail(ReasonMemory)
			return
		case body.size > maxOversize*body.limit:
			res.Outcome, res.Detail = OutcomeOversize, "body cut off"
			return
		case err == io.EOF:
			res.Outcome, res.Trailer = OutcomeOK, answer.Trailer
			return
		case err != nil:
			s.failed(ctx, res, progress, err)
			return
		}
	}
}
