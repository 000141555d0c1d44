package web

import (
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"shadowdiff/multicast"
)

// Metrics are the Prometheus metrics of one process. They exist before the proxy does, which is handed the two
// observing methods. What is counted elsewhere already is read when Prometheus asks, and not counted twice.
type Metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	codes    [600]atomic.Pointer[prometheus.Counter] // of requests, by status, once there was one
	request  prometheus.Histogram
	shadows  [3]prometheus.Observer // by role

	wrongTokens prometheus.Counter
}

// durations reach from a cache's answer to the default deadline of a shadow and beyond.
var durations = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}

// NewMetrics returns metrics in a registry of their own.
func NewMetrics() *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "shadowdiff_requests_total",
			Help: "Client requests that reached the proxy, by the status sent to the client; 0 when it got none.",
		}, []string{"code"}),
		request: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "shadowdiff_request_duration_seconds",
			Help: "Time from a client's request to the end of the primary's answer.", Buckets: durations,
		}),
		wrongTokens: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "shadowdiff_wrong_tokens_total", Help: "Requests for the pages and the API that came with another token than web.token.",
		}),
	}
	shadow := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "shadowdiff_shadow_duration_seconds",
		Help: "Time from asking a shadow to the end of its answer, however it ended.", Buckets: durations,
	}, []string{"role"})
	for _, role := range [...]multicast.Role{multicast.Secondary, multicast.Candidate} {
		m.shadows[role] = shadow.WithLabelValues(role.String())
	}
	m.registry.MustRegister(m.requests, m.request, m.wrongTokens, shadow,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Observe counts one client request; it is multicast.Deps.Observe.
func (m *Metrics) Observe(status int, d time.Duration) {
	m.code(status).Inc()
	m.request.Observe(d.Seconds())
}

// code is the counter of a status. Statuses that do not exist share one: what a strange upstream makes up must not make
// series.
func (m *Metrics) code(status int) prometheus.Counter {
	if status != 0 && (status < 100 || status >= len(m.codes)) {
		return m.requests.WithLabelValues("other")
	}
	if known := m.codes[status].Load(); known != nil {
		return *known
	}
	counter := m.requests.WithLabelValues(strconv.Itoa(status))
	m.codes[status].Store(&counter)
	return counter
}

// ObserveShadow counts one shadow leg; it is multicast.Deps.ObserveShadow.
func (m *Metrics) ObserveShadow(role multicast.Role, _ multicast.Outcome, d time.Duration) {
	m.shadows[role].Observe(d.Seconds())
}

// attach adds what the proxy and the store count, and how the configuration was last read.
func (m *Metrics) attach(deps Deps) {
	m.registry.MustRegister(newReadings(deps.Proxy, deps.DB, deps.Instance, deps.Version))
}

// handler answers GET /metrics, in Prometheus' text or in OpenMetrics, as is asked for. A figure that cannot be told leaves
// the others.
func (m *Metrics) handler(log *slog.Logger) http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		Registry: m.registry, MaxRequestsInFlight: 4, EnableOpenMetrics: true,
		ErrorHandling: promhttp.ContinueOnError, ErrorLog: metricsLog{log},
	})
}

// metricsLog has the faults of a scrape logged.
type metricsLog struct{ log *slog.Logger }

// Println logs one.
func (l metricsLog) Println(v ...any) {
	l.log.Error("some metrics cannot be told", "err", strings.TrimSpace(fmt.Sprintln(v...)))
}
