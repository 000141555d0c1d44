package multicast

import (
	"log"
	"net"
	"net/http"
)

// How much of uploads may come ahead of the primary over HTTP/2. Some that it does not take must leave room for the others of
// their connection, which may be another proxy's.
const (
	aheadOfRequest    = 512 << 10
	aheadOfConnection = 16 * aheadOfRequest
)

// Server is the listener's part of the front, with the configured limits: HTTP/1.1 and HTTP/2, the latter with prior
// knowledge, or by ALPN where TLSConfig is set: then it wants ServeTLS.
func (p *Proxy) Server() *http.Server {
	cfg := &p.setup.Load().cfg
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(!cfg.TLS.on())
	server := &http.Server{
		Addr:                         cfg.Listen,
		Handler:                      p,
		Protocols:                    protocols,
		HTTP2:                        &http.HTTP2Config{MaxReceiveBufferPerStream: aheadOfRequest, MaxReceiveBufferPerConnection: aheadOfConnection},
		ReadHeaderTimeout:            cfg.Server.ReadHeaderTimeout,
		IdleTimeout:                  cfg.Server.IdleTimeout,
		MaxHeaderBytes:               int(cfg.Server.MaxHeader),
		DisableGeneralOptionsHandler: true, // OPTIONS * is the primary's to answer
		TLSConfig:                    p.listenerTLS(),
		ErrorLog:                     log.New(&serverLog{throttle{log: p.log}, p.holdBack}, "", 0),
		ConnContext:                  known,
		ConnState:                    p.connection,
	}
	server.RegisterOnShutdown(p.drain)
	return server
}

// connection is told of the clients' connections.
func (p *Proxy) connection(conn net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		p.accepted(conn)
	case http.StateClosed, http.StateHijacked:
		p.private.forget(conn)
	}
}
