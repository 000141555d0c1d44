package multicast

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptrace"
	"strings"
)

// ask sends the primary the client's request, and brings the head of its answer.
func (v *visit) ask() (*http.Response, error) {
	out := v.request()
	transport := v.proxy.private.way(v, out)
	res, err := transport.RoundTrip(out)
	for err != nil && v.link != nil && v.link.unused(v) && out.Context().Err() == nil {
		res, err = transport.RoundTrip(out) // as if it had found the connection closed when it looked for one
	}
	if err != nil && demandsHTTP1(err) && !v.setup.primary.h2c && out.Context().Err() == nil {
		res, err = v.askInHTTP1(out, err)
	}
	if v.upload != nil {
		v.upload.passed.Store(true)
	}
	v.settled()
	return res, err
}

// askInHTTP1 asks once more, where the primary has refused to answer in HTTP/2 (as IIS does to those who have to sign in), if
// the request can be sent again.
func (v *visit) askInHTTP1(out *http.Request, refused error) (*http.Response, error) {
	again := *out
	if v.upload != nil {
		body, err := v.upload.again()
		if err != nil {
			return nil, fmt.Errorf("%w (%w)", err, refused)
		}
		again.Body = body
	}
	return v.setup.switching.RoundTrip(&again)
}

// demandsHTTP1 reports whether an upstream wants to be asked the same in HTTP/1.1 (RFC 9113, section 7); net/http exports no
// value for that. Over HTTP/1 these words mean nothing, and who says them has done what was asked.
func demandsHTTP1(err error) bool {
	text := err.Error()
	return strings.Contains(text, "HTTP_1_1_REQUIRED") && !strings.Contains(text, "HTTP/1.x transport")
}

// request is the client's as the primary gets it. Nothing in it is changed later, since the flight keeps it.
func (v *visit) request() *http.Request {
	v.trace = httptrace.ClientTrace{GotConn: v.connected, PutIdleConn: v.disconnected, Got1xxResponse: v.inform}
	in := v.in
	if in.Body != nil && in.Body != http.NoBody && in.ContentLength != 0 {
		v.upload = newUpload(v)
	}
	out := in.WithContext(httptrace.WithClientTrace(v.presence(), &v.trace))
	out.URL = v.setup.primary.url(rawPath(in), in.URL)
	out.Header = v.setup.header(in)
	if out.Host == "" { // which HTTP/1.0 allows; said here, so that the shadows get the same
		out.Host = v.setup.primary.host
	}
	out.Body, out.Trailer, out.Close = nil, nil, false
	if v.upload != nil {
		out.Body, out.GetBody, out.Trailer = v.upload, v.upload.again, v.upload.trailer
		if !holdsBack(out) { // the primary hears of no expectation, or not of one that every transport waits for
			v.upload.welcome.Store(true)
		}
		switch {
		case in.ContentLength < 0: // said aloud, or net/http reads ahead to see whether there is a body
			out.TransferEncoding = []string{"chunked"}
		case in.Trailer != nil && !v.setup.primary.h2c: // which HTTP/1 has behind chunks only
			out.TransferEncoding, out.ContentLength = []string{"chunked"}, -1
		}
	}
	if v.flight != nil {
		if in.Trailer != nil { // the shadows, too, speak HTTP/1
			v.flight.length = -1
		}
		v.flight.sent(out)
	}
	if v.tap != nil {
		v.tap.sent(out)
	}
	if v.copied {
		out.Header = maps.Clone(out.Header)
		out.Header["X-Shadow-Request"] = []string{"1"}
	}
	return out
}

// presence ends when the client goes. The request's own context also ends when its upload is stopped, though the answer
// may be on its way.
func (v *visit) presence() context.Context {
	if v.upload == nil && safe(v.in.Method) {
		return v.in.Context()
	}
	if v.upload == nil {
		ctx, cancel := context.WithCancel(v.in.Context())
		v.giveUp = cancel
		return ctx
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(v.in.Context()))
	context.AfterFunc(v.in.Context(), func() {
		if !v.upload.cutShort() {
			cancel()
		}
	})
	return ctx
}

// connected notes the connection that the primary is asked over.
func (v *visit) connected(info httptrace.GotConnInfo) {
	l := linkOf(info.Conn)
	if l == nil {
		return
	}
	if v.link != nil { // lost, and net/http asks again
		if v.giveUp != nil && v.link.used.Load() { // because of an Idempotency-Key, which the primary need not know
			_ = info.Conn.Close()
			v.giveUp()
			return
		}
		v.link.release(v)
	}
	v.link = l
	l.take(v, info.Reused)
}

// disconnected notes that the answer is whole and the connection no longer this visit's.
func (v *visit) disconnected(error) {
	if v.link != nil {
		v.link.release(v)
	}
}

var errStatus = errors.New("the status has not three digits")
