package web

import (
	"runtime"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"shadowdiff/diff"
	"shadowdiff/multicast"
	"shadowdiff/normalize"
	"shadowdiff/store"
)

// readings collects what is counted elsewhere, as it stands when Prometheus asks.
type readings struct {
	proxy    *multicast.Proxy
	db       *store.DB
	instance func() Instance
	version  string

	skipped, dropped, shadow, unknown, inFlight, queue, captured, circuit *prometheus.Desc // of the proxy

	sampled, written, unrecorded *prometheus.Desc // of recording

	enabled, sample, guard, pauses, used, alone, step, steps *prometheus.Desc // of the switch, the guard and the ramp

	compared, verdict, excess, confirmed, latency, run, started, attempt *prometheus.Desc // of the run

	up, failures, flushed, took, size, samplesLost, stray *prometheus.Desc // of the store

	reloaded, loaded, names, folded, other, build *prometheus.Desc
}

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("shadowdiff_"+name, help, labels, nil)
}

// newReadings describes what is read.
func newReadings(proxy *multicast.Proxy, db *store.DB, instance func() Instance, version string) *readings {
	return &readings{
		proxy: proxy, db: db, instance: instance, version: version,

		skipped:  describe("skipped_total", "Requests for which no shadow was asked, by reason.", "reason"),
		dropped:  describe("dropped_total", "Sampled requests that were given up before the shadows were asked, by reason.", "reason"),
		shadow:   describe("shadow_total", "Shadow requests sent, by how they ended.", "role", "outcome"),
		unknown:  describe("unknown_total", "Exchanges that could not be judged, by reason.", "reason"),
		inFlight: describe("in_flight", "Shadow requests under way.", "role"),
		queue:    describe("queue_length", "Exchanges waiting to be sent to the shadows."),
		captured: describe("captured_bytes", "Bytes held for exchanges under way."),
		circuit:  describe("circuit_open", "1 while a shadow that has failed again and again is not asked, or tried by one request, else 0.", "role"),

		sampled:    describe("record_sampled_total", "Requests that were to be recorded."),
		written:    describe("recorded_total", "Requests that were recorded."),
		unrecorded: describe("record_dropped_total", "Requests that were to be recorded and were not, by reason.", "reason"),

		enabled: describe("shadowing_enabled", "The switch: 1 while shadowing is on, else 0."),
		sample:  describe("sample_ratio", "The default rate: share of the eligible requests that are shadowed while the switch is on and the guard quiet."),
		guard:   describe("guard_paused", "1 while the guard has paused shadowing for this limit, else 0.", "limit"),
		pauses:  describe("guard_pauses_total", "Pauses of shadowing that this limit has caused.", "limit"),
		used:    describe("guard_used_ratio", "The watched figure as a share of its limit: over 1 is over the limit. Missing while there are too few requests to tell.", "limit"),
		alone:   describe("guard_over_without_shadows", "1 while a limit is crossed though no shadow is in flight: that is not the shadows' doing."),
		step:    describe("ramp_step", "Step of the ramp that is in force, from 1; 0: the rate was set by hand."),
		steps:   describe("ramp_steps", "Steps that the ramp has."),

		compared:  describe("compared_total", "Requests compared in the present run, by route and result.", "route", "result"),
		verdict:   describe("verdict", "1 for the present verdict of the run, 0 for the other two.", "verdict"),
		excess:    describe("excess", "Bounds of the excess disagreement of the run, as a share.", "bound"),
		confirmed: describe("confirmed_differences", "Confirmed differences of the run."),
		latency:   describe("latency_p99_ratio", "Candidate's p99 over the secondary's in the run. Missing without enough to tell."),
		run:       describe("run_info", "1; the label names the present run.", "run"),
		started:   describe("run_start_timestamp_seconds", "When the present run began."),
		attempt:   describe("run_attempt", "The present run is so many'th of those that have its name."),

		up:          describe("store_up", "1 while counts reach the disk, 0 when the last attempt has failed."),
		failures:    describe("store_write_failures_total", "Attempts to write counts that failed."),
		flushed:     describe("store_last_write_timestamp_seconds", "When counts last reached the disk."),
		took:        describe("store_last_write_duration_seconds", "How long that took."),
		size:        describe("store_size_bytes", "Size of the database with its log."),
		samplesLost: describe("samples_lost_total", "Samples that could not be kept: too many came at one time, or they could not be redacted."),
		stray:       describe("store_stray_total", "Comparisons that came for a run that was over already, and were not counted."),

		reloaded: describe("config_last_reload_successful", "1 while the configuration last read is in force, 0 when it was not taken."),
		loaded:   describe("config_last_reload_success_timestamp_seconds", "When the configuration in force was read."),
		names:    describe("route_names", "Names of routes in use: made from paths, or given by clients."),
		folded:   describe("route_names_folded_total", "Places of the paths at which all values count as one."),
		other:    describe("route_names_other_total", "Requests counted for (other) because there were too many names of routes."),
		build:    describe("build_info", "1; the labels say what runs.", "version", "goversion"),
	}
}

// Describe sends every description, so that names are checked when the collector is registered.
func (c *readings) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		c.skipped, c.dropped, c.shadow, c.unknown, c.inFlight, c.queue, c.captured, c.circuit,
		c.sampled, c.written, c.unrecorded,
		c.enabled, c.sample, c.guard, c.pauses, c.used, c.alone, c.step, c.steps,
		c.compared, c.verdict, c.excess, c.confirmed, c.latency, c.run, c.started, c.attempt,
		c.up, c.failures, c.flushed, c.took, c.size, c.samplesLost, c.stray,
		c.reloaded, c.loaded, c.names, c.folded, c.other, c.build,
	} {
		ch <- d
	}
}

// scrape is one reading on its way out.
type scrape chan<- prometheus.Metric

func (s scrape) total(d *prometheus.Desc, n int64, labels ...string) {
	s.send(d, prometheus.CounterValue, float64(n), labels)
}

func (s scrape) gauge(d *prometheus.Desc, v float64, labels ...string) {
	s.send(d, prometheus.GaugeValue, v, labels)
}

func (s scrape) flag(d *prometheus.Desc, on bool, labels ...string) {
	v := 0.0
	if on {
		v = 1
	}
	s.gauge(d, v, labels...)
}

// moment is a time in seconds, with their parts; none is told of what has never been.
func (s scrape) moment(d *prometheus.Desc, t time.Time) {
	if !t.IsZero() {
		s.gauge(d, float64(t.UnixMilli())/1000)
	}
}

func (s scrape) send(d *prometheus.Desc, kind prometheus.ValueType, v float64, labels []string) {
	m, err := prometheus.NewConstMetric(d, kind, v, labels...)
	if err != nil {
		m = prometheus.NewInvalidMetric(d, err)
	}
	s <- m
}

// Collect reads the counters and the last snapshot once.
func (c *readings) Collect(ch chan<- prometheus.Metric) {
	s, counts := scrape(ch), c.proxy.Counts()
	c.collectCounts(s, counts)
	c.collectShadowing(s)
	c.collectRun(s, c.db.Snapshot())
	c.collectStore(s, c.db.Health())
	now := c.instance()
	s.flag(c.reloaded, now.Reload == nil || now.Reload.Good)
	s.moment(c.loaded, now.Loaded)
	s.gauge(c.build, 1, label(c.version), runtime.Version())
}

func (c *readings) collectCounts(s scrape, counts multicast.Counts) {
	for reason, n := range whole(counts.Skipped, multicast.SkipReasons()) {
		s.total(c.skipped, n, string(reason))
	}
	for reason, n := range whole(counts.Dropped, multicast.DropReasons()) {
		s.total(c.dropped, n, string(reason))
	}
	for reason, n := range whole(counts.Unknown, multicast.UnknownReasons()) {
		s.total(c.unknown, n, string(reason))
	}
	for role, legs := range counts.Shadow {
		for outcome, n := range whole(legs.Outcome, multicast.Outcomes()) {
			s.total(c.shadow, n, role, string(outcome))
		}
	}
	for role, n := range counts.InFlight {
		s.gauge(c.inFlight, float64(n), role)
	}
	for role, circuit := range counts.Circuit {
		s.flag(c.circuit, circuit.State != circuitClosed, role)
	}
	var record multicast.RecordCounts // nothing, where nothing is recorded
	if counts.Record != nil {
		record = *counts.Record
	}
	s.total(c.sampled, record.Sampled)
	s.total(c.written, record.Written)
	for reason, n := range whole(record.Dropped, multicast.RecordReasons()) {
		s.total(c.unrecorded, n, string(reason))
	}
	s.gauge(c.queue, float64(counts.Queue))
	s.gauge(c.captured, float64(counts.CapturedBytes))
}

// whole adds to the counts by word the words that nothing was counted for: what appears with its first event is not seen to
// have risen.
func whole[K ~string](counts map[K]int64, words []K) map[K]int64 {
	all := make(map[K]int64, len(words))
	for _, word := range words {
		all[word] = 0
	}
	for word, n := range counts {
		all[word] = n
	}
	return all
}

func (c *readings) collectShadowing(s scrape) {
	state := c.proxy.Shadowing()
	s.flag(c.enabled, state.Enabled)
	s.gauge(c.sample, float64(state.Sample)/float64(multicast.Whole))
	if guard := c.proxy.Guard(); guard != nil {
		for _, l := range guard.Limits {
			s.flag(c.guard, l.Paused, l.Name)
			s.total(c.pauses, l.Pauses, l.Name)
			if l.Used != nil {
				s.gauge(c.used, *l.Used, l.Name)
			}
		}
		s.flag(c.alone, guard.Alone)
	}
	if ramp := c.proxy.Ramp(); ramp != nil {
		s.gauge(c.step, float64(ramp.Step))
		s.gauge(c.steps, float64(len(ramp.Steps)))
	}
}

func (c *readings) collectRun(s scrape, snap *store.Snapshot) {
	c.collectRoutes(s, snap.Tallies)
	v := snap.Verdict
	for _, word := range []diff.Word{diff.Different, diff.Equivalent, diff.Undecided} {
		s.flag(c.verdict, v.Word == word && v.Calibration == nil, string(word)) // a calibration is none of them
	}
	s.gauge(c.excess, v.ExcessBounds[0], "lower")
	s.gauge(c.excess, v.ExcessBounds[1], "upper")
	s.gauge(c.confirmed, float64(confirmedIn(v)))
	if v.Latency.P99Ratio != nil {
		s.gauge(c.latency, *v.Latency.P99Ratio)
	}
	s.gauge(c.run, 1, label(snap.Run.Name))
	s.moment(c.started, snap.Run.Started)
	s.gauge(c.attempt, float64(max(1, snap.Run.Attempt)))
}

// routeSeries bounds the routes that have series of their own; the rest counts for (other).
const routeSeries = 1000

// collectRoutes tells each route's results. Names that look the same as labels are added up: one that is told twice would
// cost the whole scrape.
func (c *readings) collectRoutes(s scrape, tallies *diff.Tallies) {
	type results struct{ agree, candidate, control, both int64 }
	sums := make(map[string]results, min(len(tallies.Routes), routeSeries)+1)
	for _, t := range tallies.Routes {
		name := label(t.Route)
		if _, known := sums[name]; !known && len(sums) >= routeSeries {
			name = normalize.OtherRoute
		}
		sum := sums[name]
		sum.agree += t.Compared - t.Results.CandidateOnly - t.Results.ControlOnly - t.Results.Both
		sum.candidate += t.Results.CandidateOnly
		sum.control += t.Results.ControlOnly
		sum.both += t.Results.Both
		sums[name] = sum
	}
	for name, sum := range sums {
		s.total(c.compared, sum.agree, name, string(diff.Agree))
		s.total(c.compared, sum.candidate, name, string(diff.CandidateOnly))
		s.total(c.compared, sum.control, name, string(diff.ControlOnly))
		s.total(c.compared, sum.both, name, string(diff.Both))
	}
}

// labelBytes bounds a label's value.
const labelBytes = 256

// label makes any text one that a label may have.
func label(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) > labelBytes {
		text = strings.ToValidUTF8(text[:labelBytes], "") + "…"
	}
	return text
}

func (c *readings) collectStore(s scrape, health store.Health) {
	s.flag(c.up, health.Err == "")
	s.total(c.failures, health.Failures)
	s.moment(c.flushed, health.LastFlush)
	s.gauge(c.took, health.FlushTook.Seconds())
	s.gauge(c.size, float64(health.SizeBytes))
	s.total(c.samplesLost, health.SamplesLost)
	s.total(c.stray, health.Stray)
	s.gauge(c.names, float64(health.Names.Routes+health.Names.Given))
	s.total(c.folded, int64(health.Names.Folds))
	s.total(c.other, health.Names.Other)
}
