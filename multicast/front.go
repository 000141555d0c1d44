package multicast

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httputil"
	"strings"
	"time"
)

// flushInterval is how long the head of an answer may wait for its body, so that both leave in one packet where they
// come together. Answers of unknown length are flushed at once, as httputil.ReverseProxy does.
const flushInterval = time.Millisecond

// visit is one request on its way through the proxy; as the ResponseWriter it sees the answer's head leave.
type visit struct {
	http.ResponseWriter
	in     *http.Request // as the server gave it
	setup  *setup        // in force when it came
	body   *upload       // nil without a body
	flight *flight       // nil unless sampled
	status int           // of the answer; 0 until it has one
	begun  bool          // the head has left
	gone   bool          // the client has
}

type visitKey struct{}

func visitOf(ctx context.Context) *visit { return ctx.Value(visitKey{}).(*visit) }

// Unwrap lets http.ResponseController find the server's own ResponseWriter.
func (v *visit) Unwrap() http.ResponseWriter { return v.ResponseWriter }

// WriteHeader notes the status, and lets no hop-by-hop header of an informational answer through
// (golang.org/issue/81319). The 100 that a client waits for is the server's to say, as soon as the body is read: said here
// as well, the client could get two.
func (v *visit) WriteHeader(code int) {
	if code == http.StatusContinue && v.body != nil && v.body.expects {
		return
	}
	if code < 200 && code != http.StatusSwitchingProtocols {
		removeHopByHop(v.Header())
	} else if !v.begun {
		v.status, v.begun = code, true
	}
	v.ResponseWriter.WriteHeader(code)
}

// ServeHTTP answers the client from the primary.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	p.counters.requests.Add(1)
	v := &visit{ResponseWriter: w, in: r, setup: p.setup.Load()}
	rt, reason := p.classify(r, v.setup)
	if reason != "" {
		p.counters.skipped.add(reason)
	} else {
		v.flight = p.newFlight(v, rt, start)
	}
	defer p.left(v, start)
	if r.Method == http.MethodConnect {
		v.refuse(http.StatusMethodNotAllowed)
		return
	}
	ctx := context.WithValue(r.Context(), visitKey{}, v)
	if r.Body != nil && r.Body != http.NoBody && r.ContentLength != 0 {
		v.body = newUpload(v)
		ctx = v.body.trace(ctx)
	}
	out := r.WithContext(ctx)
	if v.body != nil {
		out.Body = v.body
		if r.ProtoMajor == 1 { // else an early answer waits until the upload ends
			_ = http.NewResponseController(w).EnableFullDuplex()
		}
	}
	v.setup.front.ServeHTTP(v, out)
	v.begun = false // nothing is left to be flushed
}

// left ends a visit, also one that panics because the answer broke off: then the client gets what there is of it.
func (p *Proxy) left(v *visit, start time.Time) {
	gone := v.clientGone()
	if v.body != nil { // some versions of httputil.ReverseProxy leave it open; it may end the context
		_ = v.body.Close()
	}
	if v.begun {
		_ = http.NewResponseController(v.ResponseWriter).Flush()
	}
	if v.flight != nil {
		v.flight.left(gone, v.status != 0)
	}
	if p.deps.Observe != nil {
		p.deps.Observe(v.status, time.Since(start))
	}
}

func (v *visit) clientGone() bool {
	return v.gone || v.in.Context().Err() != nil && (v.body == nil || !v.body.cutShort())
}

func (p *Proxy) newFlight(v *visit, rt *route, now time.Time) *flight {
	r := v.in
	p.counters.open.Add(1)
	f := &flight{proxy: p, setup: v.setup, route: rt, url: r.URL, path: rawPath(r), length: r.ContentLength}
	f.account.memory = &p.memory
	f.request = capture{account: &f.account, limit: rt.maxRequestBody}
	f.answer = capture{account: &f.account, limit: rt.maxResponseBody, digest: true}
	f.ex = Exchange{
		ID: newID(), Time: now, Route: v.setup.routeName(r, rt), account: &f.account,
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

// rewrite makes the primary's request of the client's.
func (p *Proxy) rewrite(pr *httputil.ProxyRequest) {
	v := visitOf(pr.In.Context())
	out := pr.Out
	out.URL = v.setup.primary.url(rawPath(v.in), v.in.URL)
	delete(out.Header, "Proxy")
	if strings.EqualFold(out.Header.Get("Upgrade"), "h2c") { // golang.org/issue/80416
		delete(out.Header, "Upgrade")
		delete(out.Header, "Connection")
	}
	v.setup.forward(v.in, out.Header)
	if out.Header["User-Agent"] == nil {
		out.Header["User-Agent"] = []string{""}
	}
	if v.body != nil {
		out.Trailer = v.body.trailer
		v.body.sent = time.Now()
	}
	if v.flight != nil {
		v.flight.sent(out)
	}
}

// answered takes the head of the primary's answer.
func (p *Proxy) answered(res *http.Response) error {
	v := visitOf(res.Request.Context())
	if res.StatusCode == http.StatusSwitchingProtocols {
		v.status = res.StatusCode
		return nil
	}
	// What the primary did not say, the server shall not add. This cannot be set earlier, since an informational answer
	// clears it (golang.org/issue/81207).
	for _, name := range [...]string{"Content-Type", "Date"} {
		if res.Header[name] == nil {
			v.Header()[name] = nil
		}
	}
	v.closeUnread()
	if v.flight != nil {
		v.flight.head(res)
	}
	return nil
}

// closeUnread ends an HTTP/1 connection after this answer if the request body has not come to its end: net/http would
// go on to read it beside the primary's transport.
func (v *visit) closeUnread() {
	if v.body != nil && v.in.ProtoMajor == 1 && !v.body.whole() {
		v.Header().Set("Connection", "close")
	}
}

// failed answers for a primary that did not. The client learns no address.
func (p *Proxy) failed(_ http.ResponseWriter, r *http.Request, err error) {
	v := visitOf(r.Context())
	if v.clientGone() || v.body != nil && v.body.gone() {
		v.gone = true
		panic(http.ErrAbortHandler) // nobody is there to be answered
	}
	status := http.StatusBadGateway
	switch {
	case v.body != nil && v.body.broken():
		status = http.StatusBadRequest
	case isTimeout(err) || errors.Is(err, context.DeadlineExceeded):
		status = http.StatusGatewayTimeout
	}
	if v.flight != nil {
		v.flight.fail(ReasonPrimaryFailed)
	}
	p.complain.warn("primary failed", slog.Int("status", status), slog.Any("err", err))
	v.closeUnread()
	v.refuse(status)
}

func (v *visit) refuse(status int) {
	h := v.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	v.WriteHeader(status)
	_, _ = io.WriteString(v, strings.ToLower(http.StatusText(status))+"\n")
}
