package multicast

import (
	"log/slog"
	"net"
	"sync"
	"time"
)

// Listener is for the Server to serve: it is l, but takes no client while so many file descriptors are in use that the primary,
// the pages and the database need the rest. Who comes meanwhile waits to be taken.
func (p *Proxy) Listener(l net.Listener) net.Listener {
	return &listener{Listener: l, proxy: p, closed: make(chan struct{})}
}

type listener struct {
	net.Listener
	proxy  *Proxy
	high   bool      // the client taken last has a number above those for clients
	freed  time.Time // when the connections to the primary that nobody used were closed
	once   sync.Once
	closed chan struct{}
}

// listenerLook is how often a listener that takes nobody looks whether it may.
const listenerLook = 10 * time.Millisecond

// Accept is called by one goroutine at a time.
func (l *listener) Accept() (net.Conn, error) {
	from := l.proxy.descriptors.forClients()
	if l.high && lowest() >= from {
		l.free(time.Now())
		l.proxy.complain.warn("clients wait to be taken: the file descriptors are in use; raise the limit (ulimit -n, LimitNOFILE)",
			slog.Int64("limit", l.proxy.descriptors.limit.Load()))
		l.wait(from)
	}
	conn, err := l.Listener.Accept()
	if err == nil {
		c := rawConn(conn)
		l.high = c != nil && scarceAt(c, from)
	}
	return conn, err
}

// free gives clients the descriptors of shadows, and of the connections to the primary that are kept for the next request: after
// a burst they are as many as there were clients. It is not done more often than once in a second, since requests need some.
func (l *listener) free(now time.Time) {
	l.proxy.holdBack()
	if now.Sub(l.freed) >= time.Second {
		l.freed = now
		l.proxy.setup.Load().closeIdle()
	}
}

// wait returns when there is a descriptor for a client, or no client is taken any more.
func (l *listener) wait(from int64) {
	look := time.NewTicker(listenerLook)
	defer look.Stop()
	for lowest() >= from {
		select {
		case <-look.C:
		case <-l.closed:
			return
		}
	}
}

// Close also ends the wait.
func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}
