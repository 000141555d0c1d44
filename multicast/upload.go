package multicast

import (
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"time"
)

// upload is the client's body on its way to the primary. The incoming request keeps its own: what the server does with
// that at the end depends on it.
//
// The primary's transport reads it in a goroutine of its own, which may still do so when the answer is complete. Two
// readers of one connection would end in a panic of net/http, so Close sees to it that the transport has stopped.
type upload struct {
	body    io.ReadCloser
	visit   *visit
	trailer http.Header // what is passed on, complete when the body has ended; nil where none can come

	expects   bool          // the client waits for 100 before it sends
	sent      time.Time     // when the primary was asked
	continued atomic.Bool   // the primary said 100
	done      chan struct{} // closed by Close

	reading sync.Mutex // held by Read
	closed  atomic.Bool
	cut     atomic.Bool // closed before the upload had ended
	size    atomic.Int64
	state   atomic.Int32
}

// How an upload ends.
const (
	uploadWhole  = 1 + iota
	uploadGone   // the client went away
	uploadBroken // what it sent is not a body
)

func newUpload(v *visit) *upload {
	u := &upload{body: v.in.Body, visit: v, done: make(chan struct{}), expects: v.in.Header["Expect"] != nil}
	if v.in.ContentLength < 0 || v.in.Trailer != nil {
		u.trailer = make(http.Header)
		maps.Copy(u.trailer, v.in.Trailer) // the names of those that are announced
	}
	return u
}

// Read passes on what the client sent; a sampled request keeps a copy.
func (u *upload) Read(p []byte) (int, error) {
	u.reading.Lock()
	defer u.reading.Unlock()
	if u.refused() {
		<-u.done
	}
	if u.closed.Load() {
		return 0, http.ErrBodyReadAfterClose
	}
	n, err := u.body.Read(p)
	size := u.size.Add(int64(n))
	in := u.visit.in
	switch {
	case err == io.EOF:
		u.endTrailer()
		u.state.Store(uploadWhole)
	case err != nil && !u.closed.Load():
		u.state.Store(uploadFault(err))
	case size == in.ContentLength:
		u.state.Store(uploadWhole)
	}
	if f := u.visit.flight; f != nil {
		f.requestRead(p[:n], err, u.trailer)
	}
	return n, err
}

// refused reports whether the transport reads only because the primary has answered for good without a 100, to keep the
// connection usable. Reading would make the server say 100 to a client that is about to be refused.
func (u *upload) refused() bool {
	return u.expects && !u.continued.Load() && time.Since(u.sent) < continueTimeout
}

func uploadFault(err error) int32 {
	var network net.Error
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &network) {
		return uploadGone
	}
	return uploadBroken
}

// endTrailer takes the trailers, also those that were not announced; net/http writes them after the body. What frames a
// message is never a trailer.
func (u *upload) endTrailer() {
	if u.trailer == nil {
		return
	}
	maps.Copy(u.trailer, u.visit.in.Trailer)
	removeHopByHop(u.trailer)
	delete(u.trailer, "Content-Length")
	delete(u.trailer, "Host")
}

// trace notes a 100 from the primary before the transport goes on to read.
func (u *upload) trace(ctx context.Context) context.Context {
	if !u.expects {
		return ctx
	}
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{Got100Continue: func() { u.continued.Store(true) }})
}

// lingering is how long a client may go on sending a body that nobody reads, before its connection is closed.
const lingering = 5 * time.Second

// Close stops the transport's reading. With HTTP/1 an unread body ends the connection after the answer, so that its read
// deadline is free to be used for this.
func (u *upload) Close() error {
	if u.closed.Swap(true) {
		return nil
	}
	close(u.done)
	if u.whole() {
		return nil
	}
	u.cut.Store(u.state.Load() == 0)
	if u.visit.in.ProtoMajor != 1 {
		return u.body.Close()
	}
	server := http.NewResponseController(u.visit.ResponseWriter)
	_ = server.SetReadDeadline(time.Unix(1, 0)) // wakes a reader
	u.reading.Lock()
	defer u.reading.Unlock()
	_ = server.SetReadDeadline(time.Now().Add(lingering))
	return nil
}

// cutShort reports whether Close stopped the reading, which ends the request's context though the client is there.
func (u *upload) cutShort() bool { return u.cut.Load() }

func (u *upload) whole() bool  { return u.state.Load() == uploadWhole }
func (u *upload) gone() bool   { return u.state.Load() == uploadGone }
func (u *upload) broken() bool { return u.state.Load() == uploadBroken }
