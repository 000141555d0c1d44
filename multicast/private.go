package multicast

import (
	"context"
	"net"
	"net/http"
	"strings"
	"sync"
)

// private are the ways to the primary of clients that sign in on their connection, as NTLM and Negotiate do: to the primary
// all that comes over a connection comes from the one who has signed in there, so no other client may use it.
type private struct {
	ways sync.Map // *privateWay by the client's net.Conn
}

// privateWay is one client's. Its client has one request at a time.
type privateWay struct {
	*http.Transport
	like *http.Transport // the one for all
}

type clientKey struct{}

// known has the requests of a connection tell which one they came on.
func known(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, clientKey{}, conn)
}

// connectionOf is the connection that an HTTP/1 client has to itself, or nil.
func connectionOf(in *http.Request) net.Conn {
	conn, _ := in.Context().Value(clientKey{}).(net.Conn)
	if in.ProtoMajor != 1 {
		return nil
	}
	return conn
}

// signsIn reports whether a request has its connection belong to somebody: the scheme is NTLM, Negotiate or Nego2. What follows
// a scheme is not looked at, since servers differ in what may part the two.
func signsIn(h http.Header) bool {
	const length = len("ntlm")
	for _, line := range h["Authorization"] {
		line = strings.TrimSpace(line)
		if len(line) >= length && (strings.EqualFold(line[:length], "ntlm") || strings.EqualFold(line[:length], "nego")) {
			return true
		}
	}
	return false
}

// signedIn reports whether a request signs in, or comes from a client that has. A copy of it would be nobody's, or, where its
// connection is used again, have others taken for that client; and a token may be good for one use alone.
func (p *private) signedIn(in *http.Request) bool {
	if signsIn(in.Header) {
		return true
	}
	conn := connectionOf(in)
	if conn == nil {
		return false
	}
	_, found := p.ways.Load(conn)
	return found
}

// way is what a request goes over to the primary. One that signs in, and all that follow on the client's connection, go over a
// connection that ends with the client's. Over HTTP/2, which knows nobody by the connection, it is not used again.
func (p *private) way(v *visit, out *http.Request) *http.Transport {
	shared := v.setup.upstream
	if out.Header["Upgrade"] != nil {
		shared = v.setup.switching
	}
	if v.setup.primary.h2c || !p.signedIn(v.in) {
		return shared
	}
	conn := connectionOf(v.in)
	if conn == nil {
		out.Close = true
		return v.setup.switching
	}
	had, _ := p.ways.Load(conn)
	if had != nil && had.(*privateWay).like == v.setup.switching {
		return had.(*privateWay).Transport
	}
	p.forget(conn)
	own := &privateWay{v.setup.switching.Clone(), v.setup.switching}
	p.ways.Store(conn, own)
	return own.Transport
}

// forget lets go of what a client had, when its connection has ended.
func (p *private) forget(conn net.Conn) {
	if way, found := p.ways.LoadAndDelete(conn); found {
		way.(*privateWay).CloseIdleConnections()
	}
}
