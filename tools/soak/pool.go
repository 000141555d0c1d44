package main

import (
	"net"
	"net/http"
	"sync"
)

// pool knows the connections of a server on which nothing is asked, also those on which nothing was asked yet, which
// http.Server itself would keep for some seconds.
type pool struct {
	mu    sync.Mutex // guards what follows
	quiet map[net.Conn]struct{}
}

// watch lets the pool know of a server's connections. It is called before the server serves.
func (p *pool) watch(s *http.Server) {
	p.quiet = make(map[net.Conn]struct{})
	s.ConnState = func(conn net.Conn, state http.ConnState) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if state == http.StateIdle || state == http.StateNew {
			p.quiet[conn] = struct{}{}
		} else {
			delete(p.quiet, conn)
		}
	}
}

// close closes all of them, as a server does that has waited long enough.
func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for conn := range p.quiet {
		_ = conn.Close()
	}
	clear(p.quiet)
}
