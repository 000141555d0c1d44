package multicast

import (
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/http/httpguts"
)

// visit is one request on its way through the proxy:
//
//	classify ──► ask the primary ──► head ──► body ──► trailers ──► left
//	                  │       │
//	     informational answers └──► tunnel, if the primary switches protocols
//
// Two of net/http's goroutines call back into it: the one that sends the upload, and the one that reads the primary's
// informational answers.
type visit struct {
	proxy  *Proxy
	setup  *setup // in force when it came
	client http.ResponseWriter
	in     *http.Request // as the server gave it
	upload *upload       // nil without a body
	flight *flight       // nil unless sampled
	tap    *tap          // nil unless it is recorded
	trace  httptrace.ClientTrace
	link   *link  // to the primary
	giveUp func() // has the primary asked no more; nil where it may be asked again, or never is
	copied bool   // what came is a copy; the primary is asked as a shadow is, so that a mirror in front of it copies no copies
	status int    // of the answer; 0 until it has one
	gone   bool   // the client went away
	broke  bool   // the primary's answer broke off

	arrived time.Time
	took    time.Duration // to the head of the answer; counted where the guard watches the primary

	informational atomic.Int32 // answers before the answer
	notices       notices

	mu        sync.Mutex // guards what follows, and what the client gets until its answer begins
	continued bool       // the client was told to send its body
	answering bool       // no informational answer may leave any more
}

// ServeHTTP answers the client from the primary.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	p.counters.requests.Add(1)
	v := &visit{proxy: p, setup: p.setup.Load(), client: w, in: r, arrived: start}
	rt, reason := p.classify(r, v.setup)
	if reason != "" {
		p.counters.skipped.add(reason)
	} else {
		v.flight = p.newFlight(v, rt, start)
	}
	v.tap = p.newTap(v, start)
	defer v.left(start)
	switch {
	case r.Method == http.MethodConnect: // forwarded, it would become a request for "/"
		v.refuse(http.StatusMethodNotAllowed)
	case !askable(r):
		v.unreadable(errRequest)
	default:
		v.serve()
	}
}

// askable reports whether a primary can be asked at all: in HTTP/2 net/http takes any method and any host, in HTTP/1 any host
// of an absolute form, and a preface of HTTP/2 that breaks off for a request.
func askable(r *http.Request) bool {
	return token(r.Method) && (r.Method != "PRI" || r.ProtoMajor == 1) && httpguts.ValidHostHeader(r.Host)
}

func (v *visit) serve() {
	res, err := v.ask()
	switch {
	case err != nil:
		v.failed(err)
	case res.StatusCode == http.StatusSwitchingProtocols:
		v.switchProtocols(res)
	case res.StatusCode < 100 || res.StatusCode > 999: // which net/http reads, but does not write
		_ = res.Body.Close()
		v.failed(errStatus)
	default:
		v.answer(res)
	}
}

// left ends a visit, also one that panics because the answer broke off.
func (v *visit) left(start time.Time) {
	gone := v.clientGone()
	if v.upload != nil { // it may end the client's context
		v.upload.end()
	}
	if v.link != nil {
		v.link.release(v)
	}
	if v.giveUp != nil {
		v.giveUp()
	}
	if v.setup.cfg.Guard.primary() {
		v.proxy.guard.pulse.count(v, gone)
	}
	if v.flight != nil {
		v.flight.left(gone, v.status != 0)
	}
	if v.tap != nil {
		v.tap.left(gone, v.status != 0)
	}
	if observe := v.proxy.deps.Observe; observe != nil {
		observe(v.status, time.Since(start))
	}
}

func (v *visit) clientGone() bool {
	u := v.upload
	return v.gone || u != nil && u.gone() || v.in.Context().Err() != nil && (u == nil || !u.cutShort())
}
