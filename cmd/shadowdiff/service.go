package main

import (
	"context"
	"errors"
	"log/slog"

	"shadowdiff/multicast"
	"shadowdiff/store"
)

// service is the running product: the proxy, the store and the pages, wired.
type service struct {
	cfg   config
	log   *slog.Logger
	db    *store.DB
	proxy *multicast.Proxy
}

// newService opens everything that can fail: the store, both listeners, the targets' addresses. Close is Run's work; a
// service that is not run is closed with Close.
func newService(cfg config, log *slog.Logger) (*service, error) {
	return nil, errors.New("service: not in this version yet")
}

// Run serves until ctx ends, then drains: clients first, then the shadows, then the store.
func (s *service) Run(ctx context.Context) error { return nil }

// ProxyURL is where clients go, with the port that was taken.
func (s *service) ProxyURL() string { return "" }

// AdminURL is where the dashboard is, with the port that was taken.
func (s *service) AdminURL() string { return "" }
