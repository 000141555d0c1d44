package multicast

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/http/httpguts"
)

// upload is the client's body on its way to the primary. The incoming request keeps its own: what the server does with
// that at the end depends on it.
//
// The primary's transport reads it in a goroutine of its own, which may still do so when the answer is complete. Two
// readers of one connection would end in a panic of net/http, so end sees to it that the transport has stopped.
type upload struct {
	body    io.ReadCloser
	visit   *visit
	trailer http.Header // what is passed on, complete when the body has ended; nil where none can come
	expects bool        // the client waits for 100 before it sends
	welcome atomic.Bool // the primary has said 100
	asked   time.Time   // when the primary had the head; of the transport's writing goroutine

	reading sync.Mutex  // held by Read
	closing sync.Mutex  // held by Close
	begun   atomic.Bool // something may have been read; guarded, where it matters, by the link
	shut    atomic.Bool // HTTP/2 closed it before it was begun
	passed  atomic.Bool // the primary answers: it is not sent again
	held    []byte      // all that was read, while it may have to be sent again; guarded by reading until it is whole
	stopped atomic.Bool
	stop    chan struct{} // closed when stopped
	cut     atomic.Bool   // stopped before the upload had ended
	state   atomic.Int32
	size    int64     // of what was read; guarded by reading
	ended   time.Time // when it became whole; set before state says so
}

var (
	errUnwanted = errors.New("the primary ended while the client was sending")
	errLost     = errors.New("the connection was closed before it was used")
	errOnce     = errors.New("the primary turned away an upload that cannot be sent again")
)

// How an upload ends.
const (
	uploadWhole  = 1 + iota
	uploadGone   // the client went away
	uploadBroken // what it sent is not a body
)

func newUpload(v *visit) *upload {
	in := v.in
	u := &upload{body: in.Body, visit: v, stop: make(chan struct{})}
	if in.ContentLength < 0 || in.Trailer != nil {
		u.trailer = make(http.Header)
		for name := range in.Trailer { // as announced
			if trailable(name) { // net/http sends nothing at all where another is among them
				u.trailer[name] = nil
			}
		}
	}
	if u.expects = expectsContinue(in); u.expects {
		v.trace.WroteHeaders = func() { u.asked = time.Now() }
		v.trace.Got100Continue = func() { u.welcome.Store(true) }
	}
	if in.ProtoMajor == 1 { // else an early answer waits until the upload ends
		_ = http.NewResponseController(v.client).EnableFullDuplex()
	}
	return u
}

// expectsContinue reports whether the client waits for 100, as net/http's HTTP/1 server sees it. HTTP/2 requests come without
// Expect: net/http says 100 itself when their body is read.
func expectsContinue(in *http.Request) bool {
	if !in.ProtoAtLeast(1, 1) || in.ProtoMajor != 1 {
		return false
	}
	for token := range strings.FieldsFuncSeq(in.Header.Get("Expect"), func(c rune) bool { return c == ' ' || c == ',' || c == '\t' }) {
		if strings.EqualFold(token, "100-continue") {
			return true
		}
	}
	return false
}

// holdsBack reports whether net/http waits for the primary's 100 before it reads the body, over HTTP/1 and HTTP/2 alike: the
// latter takes `100-continue x` for another expectation, and neither has one that Connection lists.
func holdsBack(out *http.Request) bool {
	return expectsContinue(out) && httpguts.HeaderValuesContainsToken(out.Header["Expect"], "100-continue")
}

// Read passes on what the client sent; a sampled request keeps a copy.
func (u *upload) Read(p []byte) (int, error) {
	u.reading.Lock()
	defer u.reading.Unlock()
	if !u.begin() {
		return 0, errLost
	}
	if u.expects && !u.invited() {
		<-u.stop
	}
	if u.stopped.Load() || u.shut.Load() {
		return 0, http.ErrBodyReadAfterClose
	}
	n, err := u.body.Read(p)
	u.size += int64(n)
	u.hold(p[:n])
	switch {
	case err == io.EOF:
		u.endTrailer()
		u.complete()
	case err != nil && u.stopped.Load():
		err = errUnwanted
	case err != nil:
		u.state.Store(uploadFault(err))
	case u.size == u.visit.in.ContentLength:
		u.complete()
	}
	if f := u.visit.flight; f != nil {
		f.requestRead(p[:n], err, u.trailer)
	}
	if t := u.visit.tap; t != nil {
		t.requestRead(p[:n], err, u.trailer)
	}
	return n, err
}

// maxHeld is how long an upload may be that is sent again.
const maxHeld = 64 << 10

// hold keeps what was read for again.
func (u *upload) hold(p []byte) {
	if u.visit.link != nil || u.passed.Load() || u.size > maxHeld {
		u.held = nil
	} else {
		u.held = append(u.held, p...)
	}
}

// again is the upload for another attempt, where the primary has said over HTTP/2 that it has not looked at the request, as it
// does when it restarts: from the beginning, if all of it is here or none of it was read. Over HTTP/1 no primary can say that.
func (u *upload) again() (io.ReadCloser, error) {
	switch announced := u.visit.in.ContentLength >= 0 && u.visit.in.Trailer != nil; { // then what is whole lacks trailers
	case u.visit.link != nil:
	case !u.begun.Load() && !u.stopped.Load():
		u.shut.Store(false)
		return u, nil
	case u.whole() && !announced && int64(len(u.held)) == u.size:
		return io.NopCloser(bytes.NewReader(u.held)), nil
	}
	return nil, errOnce
}

// complete notes that all of it has come.
func (u *upload) complete() {
	if !u.whole() {
		u.ended = time.Now()
		u.state.Store(uploadWhole)
	}
}

// begin answers false when the connection that the transport sends it on is closed already: what the client has sent stays
// there, for another one.
func (u *upload) begin() bool {
	if u.begun.Load() {
		return true
	}
	if l := u.visit.link; l != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.closed {
			return false
		}
	}
	u.begun.Store(true)
	return true
}

// invited says 100 to a client that waits for it, unless the primary has answered for good: then the transport reads only
// to keep its connection usable, and the client is about to be refused.
func (u *upload) invited() bool {
	v := u.visit
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.continued && !u.welcome.Load() && time.Since(u.asked) < continueTimeout {
		return false
	}
	return v.sayContinue()
}

func uploadFault(err error) int32 {
	var network net.Error
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &network) ||
		strings.Contains(err.Error(), "unexpected EOF") || // in the trailers, for which net/http has an error of its own
		strings.Contains(err.Error(), "client disconnected") { // and another one for HTTP/2
		return uploadGone
	}
	return uploadBroken
}

// endTrailer takes the trailers, also those that were not announced; net/http writes them after the body. Over HTTP/2 it
// writes the announced ones alone, and so the copies, too, are to have no other.
func (u *upload) endTrailer() {
	if u.trailer == nil {
		return
	}
	http2 := u.visit.link == nil
	for name, values := range u.visit.in.Trailer {
		if _, announced := u.trailer[name]; announced || !http2 && trailable(name) {
			u.trailer[name] = values
		}
	}
}

// trailable reports whether a client may have such a trailer. Some servers take trailers for headers, so that none may say what
// the proxy says itself.
func trailable(name string) bool { return token(name) && !frames(name) && !endToEnd(dashed(name)) }

// Close stops the reading, for good. What was not begun may still be wanted, on another connection; but HTTP/2 may close first
// and read afterwards, and would then wait for the client with an answer that is cut off already.
func (u *upload) Close() error {
	if u.visit.link == nil {
		u.shut.Store(true)
	}
	if u.begun.Load() {
		return u.halt()
	}
	return nil
}

func (u *upload) halt() error {
	u.closing.Lock()
	defer u.closing.Unlock()
	if u.stopped.Swap(true) {
		return nil
	}
	close(u.stop)
	if u.whole() {
		return nil
	}
	u.cut.Store(u.state.Load() == 0 && u.visit.in.Context().Err() == nil)
	if u.visit.in.ProtoMajor != 1 {
		return u.body.Close()
	}
	// An unread body ends the connection after the answer, so that its read deadline is free to be used for this.
	return http.NewResponseController(u.visit.client).SetReadDeadline(time.Unix(1, 0))
}

// lingering is how long a client may go on sending a body that nobody reads, before its connection is closed.
const lingering = time.Second

// end is Close for the one who is about to return from the handler: the transport reads no more when it returns.
func (u *upload) end() {
	_ = u.halt()
	if u.whole() || u.visit.in.ProtoMajor != 1 {
		return
	}
	u.reading.Lock()
	defer u.reading.Unlock()
	if !u.expects || u.visit.continued { // else there is nothing to wait for
		_ = http.NewResponseController(u.visit.client).SetReadDeadline(time.Now().Add(lingering))
	}
}

// cutShort reports whether Close stopped the reading, which ends the request's context though the client is there.
func (u *upload) cutShort() bool { return u.cut.Load() }

func (u *upload) whole() bool  { return u.state.Load() == uploadWhole }
func (u *upload) gone() bool   { return u.state.Load() == uploadGone }
func (u *upload) broken() bool { return u.state.Load() == uploadBroken }
