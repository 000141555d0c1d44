package web

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"shadowdiff/diff"
	"shadowdiff/multicast"
	"shadowdiff/store"
)

// Metrics are the Prometheus metrics of one process. They exist before the proxy does, which is handed the two
// observing methods. What is counted elsewhere already is read when Prometheus asks, and not counted twice.
type Metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	request  prometheus.Histogram
	shadow   *prometheus.HistogramVec
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
		shadow: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "shadowdiff_shadow_duration_seconds",
			Help: "Time from asking a shadow to the end of its answer, however it ended.", Buckets: durations,
		}, []string{"role"}),
	}
	m.registry.MustRegister(m.requests, m.request, m.shadow,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Observe counts one client request; it is multicast.Deps.Observe.
func (m *Metrics) Observe(status int, d time.Duration) {
	code := "other" // what a strange upstream makes up must not make series
	if status == 0 || (status >= 100 && status <= 599) {
		code = strconv.Itoa(status)
	}
	m.requests.WithLabelValues(code).Inc()
	m.request.Observe(d.Seconds())
}

// ObserveShadow counts one shadow leg; it is multicast.Deps.ObserveShadow.
func (m *Metrics) ObserveShadow(role multicast.Role, _ multicast.Outcome, d time.Duration) {
	m.shadow.WithLabelValues(role.String()).Observe(d.Seconds())
}

// attach adds what the proxy and the store count, and how the configuration was last read.
func (m *Metrics) attach(proxy *multicast.Proxy, db *store.DB, instance func() Instance) {
	m.registry.MustRegister(newReadings(proxy, db, instance))
}

func (m *Metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: m.registry, MaxRequestsInFlight: 4})
}

// readings collects the counters and the verdict as they stand.
type readings struct {
	proxy    *multicast.Proxy
	db       *store.DB
	instance func() Instance

	skipped, dropped, shadow, compared, unknown, inFlight, queue, captured, verdict, excess, confirmed, run, reloaded, loaded, circuit,
	names, folded, other, samplesLost *prometheus.Desc
}

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("shadowdiff_"+name, help, labels, nil)
}

// newReadings describes what is read.
func newReadings(proxy *multicast.Proxy, db *store.DB, instance func() Instance) *readings {
	return &readings{
		proxy: proxy, db: db, instance: instance,
		skipped:     describe("skipped_total", "Requests for which no shadow was asked, by reason.", "reason"),
		dropped:     describe("dropped_total", "Sampled requests that were given up before the shadows were asked, by reason.", "reason"),
		shadow:      describe("shadow_total", "Shadow requests sent, by how they ended.", "role", "outcome"),
		compared:    describe("compared_total", "Requests compared in the present run, by route and result.", "route", "result"),
		unknown:     describe("unknown_total", "Exchanges that could not be judged, by reason.", "reason"),
		inFlight:    describe("in_flight", "Shadow requests under way.", "role"),
		queue:       describe("queue_length", "Exchanges waiting to be sent to the shadows."),
		captured:    describe("captured_bytes", "Bytes held for exchanges under way."),
		verdict:     describe("verdict", "1 for the present verdict of the run, 0 for the other two.", "verdict"),
		excess:      describe("excess", "Bounds of the excess disagreement of the run, as a share.", "bound"),
		confirmed:   describe("confirmed_differences", "Confirmed differences of the run."),
		run:         describe("run_info", "1; the label names the present run.", "run"),
		circuit:     describe("circuit_open", "1 while a shadow that has failed again and again is not asked, or tried by one request, else 0.", "role"),
		reloaded:    describe("config_last_reload_successful", "1 while the configuration last read is in force, 0 when it was not taken."),
		names:       describe("route_names", "Names of routes in use: made from paths, or given by clients."),
		folded:      describe("route_names_folded_total", "Places of the paths at which all values count as one."),
		other:       describe("route_names_other_total", "Requests counted for (other) because there were too many names of routes."),
		samplesLost: describe("samples_lost_total", "Samples that could not be kept: too many came at one time, or they could not be redacted."),
		loaded:      describe("config_last_reload_success_timestamp_seconds", "When the configuration in force was read."),
	}
}

// Describe sends every description, so that names are checked when the collector is registered.
func (c *readings) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		c.skipped, c.dropped, c.shadow, c.compared, c.unknown, c.inFlight, c.queue, c.captured,
		c.verdict, c.excess, c.confirmed, c.run, c.reloaded, c.loaded, c.circuit,
		c.names, c.folded, c.other, c.samplesLost,
	} {
		ch <- d
	}
}

// Collect reads the counters and the last snapshot once.
func (c *readings) Collect(ch chan<- prometheus.Metric) {
	total := func(d *prometheus.Desc, n int64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
	}
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	c.collectCounts(c.proxy.Counts(), total, gauge)
	snap := c.db.Snapshot()
	for _, t := range snap.Tallies.Routes {
		both, agree := t.Results.Both, t.Compared-t.Results.CandidateOnly-t.Results.ControlOnly-t.Results.Both
		total(c.compared, agree, t.Route, string(diff.Agree))
		total(c.compared, t.Results.CandidateOnly, t.Route, string(diff.CandidateOnly))
		total(c.compared, t.Results.ControlOnly, t.Route, string(diff.ControlOnly))
		total(c.compared, both, t.Route, string(diff.Both))
	}
	for _, word := range []diff.Word{diff.Different, diff.Equivalent, diff.Undecided} {
		is := 0.0
		if snap.Verdict.Word == word {
			is = 1
		}
		gauge(c.verdict, is, string(word))
	}
	gauge(c.excess, snap.Verdict.ExcessBounds[0], "lower")
	gauge(c.excess, snap.Verdict.ExcessBounds[1], "upper")
	gauge(c.confirmed, float64(confirmedIn(snap.Verdict)))
	gauge(c.run, 1, snap.Run.Name)
	health := c.db.Health()
	gauge(c.names, float64(health.Names.Routes+health.Names.Given))
	total(c.folded, int64(health.Names.Folds))
	total(c.other, health.Names.Other)
	total(c.samplesLost, health.SamplesLost)
	now := c.instance()
	if now.Reload != nil && !now.Reload.Good {
		gauge(c.reloaded, 0)
	} else {
		gauge(c.reloaded, 1)
	}
	gauge(c.loaded, float64(now.Loaded.UnixMilli())/1000)
}

// measure sends one figure with its labels.
type measure[T int64 | float64] func(d *prometheus.Desc, v T, labels ...string)

func (c *readings) collectCounts(counts multicast.Counts, total measure[int64], gauge measure[float64]) {
	for reason, n := range counts.Skipped {
		total(c.skipped, n, string(reason))
	}
	for reason, n := range counts.Dropped {
		total(c.dropped, n, string(reason))
	}
	for reason, n := range counts.Unknown {
		total(c.unknown, n, string(reason))
	}
	for role, legs := range counts.Shadow {
		for outcome, n := range legs.Outcome {
			total(c.shadow, n, role, string(outcome))
		}
	}
	for role, n := range counts.InFlight {
		gauge(c.inFlight, float64(n), role)
	}
	for role, circuit := range counts.Circuit {
		open := 1.0
		if circuit.State == circuitClosed {
			open = 0
		}
		gauge(c.circuit, open, role)
	}
	gauge(c.queue, float64(counts.Queue))
	gauge(c.captured, float64(counts.CapturedBytes))
}
