package multicast

import (
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"
)

// newFlight begins the flight of a sampled request.
func (p *Proxy) newFlight(v *visit, rt *route, now time.Time) *flight {
	r := v.in
	p.counters.open.Add(1)
	f := &flight{proxy: p, setup: v.setup, route: rt, url: r.URL, path: rawPath(r), length: r.ContentLength}
	f.account.memory = &p.memory
	f.request = capture{account: &f.account, limit: rt.maxRequestBody}
	f.answer = capture{account: &f.account, limit: rt.maxResponseBody, digest: true}
	f.ex = Exchange{
		ID: newID(), Time: now, Route: v.setup.routeName(r, rt), Configured: rt.name != "", account: &f.account,
		Request: Request{Method: r.Method, Target: rawTarget(r), Host: r.Host},
	}
	f.deliver = p.receiver(v.setup)
	return f
}

// newID is 128 random bits as 32 hex digits.
func newID() string {
	const hex = "0123456789abcdef"
	var id [32]byte
	for i := 0; i < len(id); i += 16 {
		for j, bits := 0, rand.Uint64(); j < 16; j, bits = j+1, bits>>4 {
			id[i+j] = hex[bits&15]
		}
	}
	return string(id[:])
}

// sent tells the flight what the primary is about to be asked.
func (f *flight) sent(out *http.Request) {
	f.header, f.ex.Request.Host, f.trails = out.Header, out.Host, sortedNames(out.Trailer)
	f.started = time.Now()
	f.mu.Lock()
	switch {
	case f.length == 0:
		f.whole = true
	case f.length > f.request.limit:
		f.request.over = true
	default:
		f.request.expect(f.length, firstRoom) // clients may take their time, and be many
	}
	f.mu.Unlock()
	f.startEarly()
}

// requestRead takes what the primary's transport has read of the request body.
func (f *flight) requestRead(p []byte, err error, trailer http.Header) {
	f.mu.Lock()
	if f.phase != travelling || f.whole {
		f.mu.Unlock()
		return
	}
	f.request.write(p)
	if err == io.EOF || f.request.size == f.length {
		f.whole = true
		f.ex.Request.Trailer = trailer.Clone()
	}
	whole := f.whole
	f.mu.Unlock()
	if whole {
		f.startEarly()
	}
}

// startEarly asks the shadows before the primary has answered, where it is to be so.
func (f *flight) startEarly() {
	if f.setup.cfg.Dispatch != DispatchStart {
		return
	}
	f.mu.Lock()
	ready := f.phase == travelling && f.whole && !f.request.over
	f.mu.Unlock()
	if ready {
		f.offer()
	}
}

// offer hands the flight to the dispatcher, if the budget has held all that is to be asked.
func (f *flight) offer() {
	f.mu.Lock()
	lost := f.request.lost || f.phase == travelling && !f.account.take(headerSize(f.header))
	f.mu.Unlock()
	if lost {
		f.drop(ReasonMemory)
		return
	}
	f.proxy.dispatcher.offer(f)
}

// head takes the head of the primary's answer, on the client's goroutine.
func (f *flight) head(res *http.Response) {
	f.mu.Lock()
	if f.phase == ended { // whoever compares it may look at it now
		f.mu.Unlock()
		return
	}
	primary := &f.ex.Responses[Primary]
	primary.Status, primary.Header = res.StatusCode, res.Header
	reason := f.unfit(res)
	travels := f.phase == travelling
	f.mu.Unlock()
	switch {
	case reason != "":
		f.fail(reason)
	case travels:
		f.offer()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.phase != ended && !f.answered {
		f.answer.expect(res.ContentLength, answerRoom)
	}
}

// unfit says why an answer with this head cannot be compared, in the order in which reasons are looked for. The caller
// holds mu.
func (f *flight) unfit(res *http.Response) Reason {
	switch {
	case res.StatusCode == http.StatusTooManyRequests || res.StatusCode == http.StatusServiceUnavailable:
		return ReasonPrimaryRefused
	case !f.whole:
		return ReasonRequestIncomplete
	case f.request.over:
		return ReasonBodyTooLarge
	case !f.route.streams && endless(res.Header.Get("Content-Type")):
		return ReasonStream
	}
	return ""
}

// endless reports whether answers of this type may have no end to wait for.
func endless(contentType string) bool {
	media, _, _ := strings.Cut(contentType, ";")
	media = strings.ToLower(strings.TrimSpace(media))
	return media == "text/event-stream" || media == "multipart/x-mixed-replace" ||
		media == "application/grpc" || strings.HasPrefix(media, "application/grpc+")
}

// answerRead takes what the client is about to get.
func (f *flight) answerRead(p []byte, err error, res *http.Response) {
	f.mu.Lock()
	if f.phase == ended || f.answered {
		f.mu.Unlock()
		return
	}
	f.answer.write(p)
	lost := f.answer.lost
	whole := err == io.EOF && !lost
	if whole {
		f.ex.Responses[Primary].Trailer = res.Trailer
		f.landAnswer(OutcomeOK, "")
	}
	f.mu.Unlock()
	if lost {
		f.fail(ReasonMemory)
	} else if whole {
		f.settle()
	}
}

// left is told that the client's request is over; gone says that the client was the one to end it, and begun that an
// answer had begun.
func (f *flight) left(gone, begun bool) {
	f.mu.Lock()
	done := f.answered || f.phase == ended
	f.mu.Unlock()
	switch {
	case done:
	case gone:
		f.fail(ReasonClientAborted)
	case begun:
		f.fail(ReasonPrimaryIncomplete)
	default:
		f.fail(ReasonPrimaryFailed)
	}
}
