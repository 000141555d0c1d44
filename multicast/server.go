package multicast

import (
	"log/slog"
	"net/http"
)

// Server is the listener's part of the front: HTTP/1.1 and HTTP/2 with prior knowledge, with the configured limits.
func (p *Proxy) Server() *http.Server {
	cfg := &p.setup.Load().cfg
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Server{
		Addr:                         cfg.Listen,
		Handler:                      p,
		Protocols:                    protocols,
		ReadHeaderTimeout:            cfg.Server.ReadHeaderTimeout,
		IdleTimeout:                  cfg.Server.IdleTimeout,
		MaxHeaderBytes:               int(cfg.Server.MaxHeader),
		DisableGeneralOptionsHandler: true, // OPTIONS * is the primary's to answer
		ErrorLog:                     slog.NewLogLogger(p.log.Handler(), slog.LevelWarn),
	}
}
