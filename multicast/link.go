package multicast

import (
	"context"
	"io"
	"net"
	"sync"
	"sync/atomic"
)

// link is one connection to the primary, and tells the visit that has it what net/http does not: that it is about to wait
// for more, or that it is gone.
type link struct {
	net.Conn
	buffers *buffers

	streaming atomic.Pointer[visit] // whose body is passed on
	holder    atomic.Pointer[visit] // whose request was sent last

	mu      sync.Mutex
	turn    sync.Cond // on mu: reading or ended has changed
	reading bool      // somebody waits for the primary
	ended   bool      // nothing more comes from it
}

// linked makes links of the connections that dial makes.
func linked(dial func(ctx context.Context, network, address string) (net.Conn, error)) func(ctx context.Context, network, address string) (net.Conn, error) {
	buffers := newBuffers()
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		l := &link{Conn: conn, buffers: buffers}
		l.turn.L = &l.mu
		return l, nil
	}
}

// linkOf finds the link below a connection, which may be one with TLS.
func linkOf(conn net.Conn) *link {
	if over, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = over.NetConn()
	}
	l, _ := conn.(*link)
	return l
}

// take gives the link to a visit. A kept connection is used when the transport waits on it for the next answer, and not
// before: until then it may find that the primary sent more than it had announced, and take that for the answer.
func (l *link) take(v *visit, kept bool) {
	l.holder.Store(v)
	l.mu.Lock()
	defer l.mu.Unlock()
	for kept && !l.reading && !l.ended {
		l.turn.Wait()
	}
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
func (l *link) Write(p []byte) (int, error) {
	n, err := l.Conn.Write(p)
	if err != nil {
		l.mu.Lock()
		for !l.ended {
			l.turn.Wait()
		}
		l.mu.Unlock()
	}
	return n, err
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
	l.turned(func() { l.ended = true })
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
