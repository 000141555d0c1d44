package multicast

import (
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"time"
)

// ask asks the shadows, all at the same moment and in random order, and returns when the last one has ended.
func (f *flight) ask(roles []Role) {
	f.record()
	requests := make([]*http.Request, len(roles))
	for i, role := range roles {
		requests[i] = f.setup.shadows[role].request(f)
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
	res := f.setup.shadows[role].do(ctx, req, f)
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
