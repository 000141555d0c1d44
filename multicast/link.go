package multicast

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// link is one connection to the primary, and tells the visit that has it what net/http does not: that it is about to wait
// for more, or that it is gone.
type link struct {
	net.Conn
	buffers *buffers
	plain   bool            // HTTP/1 without TLS: whoever reads waits for nobody who writes
	poll    syscall.RawConn // nil if there is none

	streaming atomic.Pointer[visit] // whose body is passed on
	holder    atomic.Pointer[visit] // whose request was sent last
	kept      atomic.Bool           // it was there before the holder
	used      atomic.Bool           // by the holder: something was written
	leaving   atomic.Bool           // TLS says goodbye: nobody reads any more

	mu      sync.Mutex
	turn    sync.Cond // on mu: something below has changed
	reading bool      // somebody waits for the primary
	ended   bool      // nothing more comes from it
	closed  bool
}

// dialing is how a transport makes its connections.
type dialing func(ctx context.Context, network, address string) (net.Conn, error)

// linked makes links of the connections that dial makes.
func linked(dial dialing, plain bool) dialing {
	buffers := newBuffers()
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		l := &link{Conn: conn, buffers: buffers, plain: plain}
		l.turn.L = &l.mu
		if tcp, ok := conn.(syscall.Conn); ok {
			l.poll, _ = tcp.SyscallConn()
		}
		return l, nil
	}
}

// linkOf finds the link below a connection, which may be one with TLS. One that speaks HTTP/2 is nobody's: it has many
// visits at once.
func linkOf(conn net.Conn) *link {
	if over, ok := conn.(*tls.Conn); ok {
		if over.ConnectionState().NegotiatedProtocol == "h2" {
			return nil
		}
		l, _ := over.NetConn().(*link)
		return l
	}
	if l, ok := conn.(*link); ok && l.plain {
		return l
	}
	return nil
}

// slack is how long a link waits for what the transport is about to do. It has always done it at once, unless it is held
// up by the peer, or by the one who waits.
const slack = time.Second

// take gives the link to a visit. A kept connection is used when the transport waits on it for the next answer, and not
// before: until then it may find that the primary sent more than it had announced, and take that for the answer. One that
// the primary has closed meanwhile is not used for what net/http would not send again.
func (l *link) take(v *visit, kept bool) {
	l.holder.Store(v)
	l.used.Store(false)
	l.kept.Store(kept)
	if !kept {
		return
	}
	once := v.upload != nil || !safe(v.in.Method)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.await(slack, func() bool { return l.closed || l.reading && !(once && l.stale()) || l.ended && !once })
}

// safe reports whether net/http sends a request of this method again when a kept connection turns out to be closed.
func safe(method string) bool {
	return method == "GET" || method == "HEAD" || method == "OPTIONS" || method == "TRACE"
}

// await waits until it is so, but not for long. The caller holds mu.
func (l *link) await(limit time.Duration, so func() bool) {
	if so() {
		return
	}
	late := false
	timer := time.AfterFunc(limit, func() { l.turned(func() { late = true }) })
	defer timer.Stop()
	for !late && !so() {
		l.turn.Wait()
	}
}

// unused reports whether a kept link was lost before the primary could learn anything of the visit.
func (l *link) unused(v *visit) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed && l.kept.Load() && l.holder.Load() == v && !l.used.Load() && (v.upload == nil || !v.upload.begun.Load())
}

// stream has the client's answer flushed whenever the transport is about to wait for more of it. A link that the transport
// has taken back already, since there is no body, is left alone.
func (l *link) stream(v *visit) {
	if l.holder.Load() == v {
		l.streaming.Store(v)
	}
}

// release takes the link from a visit, if that still has it.
func (l *link) release(v *visit) {
	l.streaming.CompareAndSwap(v, nil)
	l.holder.CompareAndSwap(v, nil)
}

// Read is called by the transport, when it has nothing more in its buffer.
func (l *link) Read(p []byte) (int, error) {
	if v := l.streaming.Load(); v != nil {
		v.flush()
	}
	l.turned(func() { l.reading = true })
	n, err := l.Conn.Read(p)
	l.turned(func() { l.reading, l.ended = false, l.ended || err != nil })
	return n, err
}

func (l *link) turned(change func()) {
	l.mu.Lock()
	change()
	l.mu.Unlock()
	l.turn.Broadcast()
}

// Write is the transport's too. A primary that refuses an upload and closes has its answer on the way when the writing
// fails; the transport would give up on both (golang.org/issue/11745), so the failure waits until all has been read.
//
// Reading from a connection on which nothing can be written comes to its end, unless the reader is held up: by a client
// that is slow to take the answer, or, above TLS, by this very call.
func (l *link) Write(p []byte) (int, error) {
	n, err := l.Conn.Write(p)
	if n > 0 {
		l.used.Store(true)
	}
	if err != nil && !l.leaving.Load() {
		l.mu.Lock()
		defer l.mu.Unlock()
		for more := true; more && !l.ended; more = l.plain && l.streaming.Load() != nil {
			l.await(slack, func() bool { return l.ended })
		}
	}
	return n, err
}

// SetWriteDeadline is called by TLS alone, before it closes: whoever reads may be the one who does that.
func (l *link) SetWriteDeadline(t time.Time) error {
	l.leaving.Store(true)
	return l.Conn.SetWriteDeadline(t)
}

// ReadFrom is how net/http writes an upload; left alone it would make a buffer for each.
func (l *link) ReadFrom(r io.Reader) (int64, error) {
	buf := l.buffers.Get()
	defer l.buffers.Put(buf)
	return io.CopyBuffer(struct{ io.Writer }{l}, r, buf)
}

// Close also wakes an upload that waits for its client: nobody is there to take it.
func (l *link) Close() error {
	err := l.Conn.Close()
	l.turned(func() { l.ended, l.closed = true, true })
	if v := l.holder.Load(); v != nil && v.upload != nil {
		_ = v.upload.Close()
	}
	return err
}

// CloseWrite is for tunnels.
func (l *link) CloseWrite() error {
	if half, ok := l.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return l.Close()
}
