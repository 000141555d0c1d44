package multicast

import (
	"log/slog"
	"net/http"
)

// Server is the listener's part of the front: HTTP/1.1 and HTTP/2 with prior knowledge, with the configured limits.
func (p *Proxy) Server() *http.Server {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Server{
		Addr:                         p.cfg.Listen,
		Handler:                      p,
		Protocols:                    protocols,
		ReadHeaderTimeout:            p.cfg.Server.ReadHeaderTimeout,
		IdleTimeout:                  p.cfg.Server.IdleTimeout,
		MaxHeaderBytes:               int(p.cfg.Server.MaxHeader),
		DisableGeneralOptionsHandler: true, // OPTIONS * is the primary's to answer
		ErrorLog:                     slog.NewLogLogger(p.log.Handler(), slog.LevelWarn),
	}
}
