package web

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"shadowdiff/diff"
	"shadowdiff/multicast"
)

// scraped are the labels of the metrics that Prometheus would have, by name.
func (r *rig) scraped() map[string][]string {
	r.t.Helper()
	families, err := r.metrics.registry.Gather()
	if err != nil {
		r.t.Fatal(err)
	}
	labels := map[string][]string{}
	for _, f := range families {
		labels[f.GetName()] = nil
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels[f.GetName()] = append(labels[f.GetName()], l.GetName())
		}
	}
	return labels
}

func TestMetricsAreThePromisedOnesAndClean(t *testing.T) {
	r := newRig(t, shop("1"), shop("2"), nil)
	r.climb(50_000, multicast.Whole)
	if !r.proxy.RestoreRamp("100% " + r.cfg.Candidate) {
		t.Fatal("the ramp does not stand at its top")
	}
	r.ask(60, "/products/1")
	text := r.get("/metrics")
	for _, want := range []string{
		`shadowdiff_requests_total{code="200"} 60`,
		`shadowdiff_compared_total{result="candidate_only",route="GET /products/{id}"}`,
		`shadowdiff_shadow_total{outcome="ok",role="candidate"} 60`, `shadowdiff_shadow_total{outcome="ok",role="secondary"} 60`,
		`shadowdiff_shadow_total{outcome="dial",role="candidate"} 0`,
		`shadowdiff_skipped_total{reason="guard"} 0`, `shadowdiff_dropped_total{reason="queue"} 0`, `shadowdiff_unknown_total{reason="stale"} 0`,
		`shadowdiff_in_flight{role="candidate"} 0`, `shadowdiff_queue_length 0`, `shadowdiff_captured_bytes 0`,
		`shadowdiff_request_duration_seconds_count 60`, `shadowdiff_shadow_duration_seconds_count{role="candidate"} 60`,
		`shadowdiff_verdict{verdict="different"} 1`, `shadowdiff_verdict{verdict="undecided"} 0`,
		`shadowdiff_excess{bound="lower"}`, `shadowdiff_excess{bound="upper"}`,
		`shadowdiff_confirmed_differences 1`, `shadowdiff_run_info{run="v2.3.1"} 1`, `shadowdiff_run_attempt 1`,
		`shadowdiff_run_start_timestamp_seconds 1.`, `shadowdiff_shadowing_enabled 1`, `shadowdiff_sample_ratio 1`,
		`shadowdiff_ramp_step 2`, `shadowdiff_ramp_steps 2`, `shadowdiff_guard_paused{limit="memory"} 0`, `shadowdiff_guard_over_without_shadows 0`,
		`shadowdiff_store_up 1`, `shadowdiff_store_write_failures_total 0`, `shadowdiff_store_last_write_timestamp_seconds 1.`,
		`shadowdiff_store_size_bytes `, `shadowdiff_samples_lost_total 0`, `shadowdiff_build_info{goversion="go1`, `go_goroutines`, `process_cpu_seconds_total`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, regexp.MustCompile(`(?m)^(#|go_|process_).*\n`).ReplaceAllString(text, ""))
		}
	}
	families, err := r.metrics.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "shadowdiff_") {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
}

// TestMetricsAreDocumented: each has its row in the table of the page, with its labels, and each row its metric.
func TestMetricsAreDocumented(t *testing.T) {
	r := newRig(t, shop("1"), shop("1"), nil)
	r.climb(multicast.Whole)
	r.settle()
	page, err := os.ReadFile("../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(page), "\n## Metrics\n")
	if table, _, _ = strings.Cut(table, "\n## "); !found {
		t.Fatal("docs/api.md has no section of metrics")
	}
	documented := map[string][]string{} // labels by name
	words := func(cell string) (list []string) {
		for _, word := range regexp.MustCompile("`([a-z0-9_]+)`").FindAllStringSubmatch(cell, -1) {
			list = append(list, word[1])
		}
		return list
	}
	for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]*) \\| ([^|]*) ?\\|").FindAllStringSubmatch(table, -1) {
		for _, name := range words(row[1]) {
			documented["shadowdiff_"+name] = slices.Sorted(slices.Values(words(row[2])))
		}
	}
	had := r.scraped()
	for name, labels := range had {
		if told, ok := documented[name]; strings.HasPrefix(name, "shadowdiff_") && (!ok || !slices.Equal(told, labels)) {
			t.Errorf("%s has the labels %q; docs/api.md has %t, %q", name, labels, ok, told)
		}
	}
	for name := range documented {
		if _, ok := had[name]; !ok && name != "shadowdiff_webhook_total" { // only where there is a webhook
			t.Errorf("docs/api.md has %s, which is not there", name)
		}
	}
}

// settle has the primary answer until the guard has looked at it.
func (r *rig) settle() {
	r.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; r.ask(30, "/products/1") {
		if g := r.proxy.Guard(); g.Limits[0].Used != nil && g.Limits[1].Used != nil {
			return
		}
		if time.Now().After(deadline) {
			r.t.Fatalf("the guard has not looked: %+v", r.proxy.Guard())
		}
	}
}

// Labels stay bounded, whatever an upstream sends.
func TestStrangeStatusesMakeNoSeries(t *testing.T) {
	r := newRig(t, shop("1"), shop("1"), nil)
	for status := -7; status < 3000; status++ {
		r.metrics.Observe(status, time.Millisecond)
	}
	r.metrics.Observe(0, time.Millisecond)
	r.metrics.ObserveShadow(multicast.Candidate, multicast.OutcomeTimeout, time.Second)
	text := r.get("/metrics")
	if n := strings.Count(text, "shadowdiff_requests_total{"); n != 502 {
		t.Errorf("%d series", n)
	}
	mustHold(t, "metrics", text, `shadowdiff_requests_total{code="other"}`, `shadowdiff_requests_total{code="0"} 2`)
}

// Names that clients make up are cut, mended and bounded, and never cost the scrape.
func TestStrangeNamesMakeNoSeries(t *testing.T) {
	r := newRig(t, shop("1"), shop("1"), nil)
	c := newReadings(r.proxy, r.db, r.now, "v\xff")
	tallies := &diff.Tallies{}
	add := func(route string) {
		tally := &diff.RouteTally{Route: route, Compared: 4}
		tally.Results.CandidateOnly, tally.Results.Both = 1, 1
		tallies.Routes = append(tallies.Routes, tally)
	}
	add("GET /\xff\xfe")
	add("GET /\uFFFD") // the same, as a label
	add("GET /\"quoted\\\n#")
	add(strings.Repeat("é", 1000))
	for i := range 3 * routeSeries {
		add(fmt.Sprintf("GET /made/up/%d", i))
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(routesOnly{c, tallies})
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	sum, routes := 0.0, map[string]bool{}
	for _, m := range families[0].GetMetric() {
		name := m.GetLabel()[1].GetValue()
		if len(name) > labelBytes+len("…") {
			t.Errorf("a label of %d bytes", len(name))
		}
		routes[name] = true
		sum += m.GetCounter().GetValue()
	}
	if want := float64(4 * len(tallies.Routes)); sum != want || len(routes) > routeSeries+1 || !routes["(other)"] {
		t.Errorf("%d routes, %g requests of %g", len(routes), sum, want)
	}
	if got := label(strings.Repeat("\xf0", 5000)); got != "\uFFFD" {
		t.Errorf("a run's name is %q", got)
	}
}

// OpenMetrics is given to who asks for it, and a figure that cannot be told leaves the others.
func TestMetricsForms(t *testing.T) {
	r := newRig(t, shop("1"), shop("1"), nil)
	r.ask(1, "/products/1")
	a := r.do(http.MethodGet, "/metrics", "", "Accept: application/openmetrics-text; version=1.0.0")
	if !strings.HasPrefix(a.header.Get("Content-Type"), "application/openmetrics-text; version=1.0.0") || !strings.HasSuffix(a.body, "# EOF\n") {
		t.Errorf("%s, %q", a.header.Get("Content-Type"), a.body[max(0, len(a.body)-100):])
	}
	if a = r.do(http.MethodGet, "/metrics", ""); !strings.HasPrefix(a.header.Get("Content-Type"), "text/plain; version=0.0.4") {
		t.Errorf("%s", a.header.Get("Content-Type"))
	}
	log := &strings.Builder{}
	m := NewMetrics()
	m.registry.MustRegister(brokenCollector{})
	answer := httptest.NewRecorder()
	m.handler(logTo(log)).ServeHTTP(answer, httptest.NewRequestWithContext(context.Background(), http.MethodGet, "/metrics", nil))
	if answer.Code != http.StatusOK || !strings.Contains(answer.Body.String(), "go_goroutines") || !strings.Contains(log.String(), "some metrics cannot be told") {
		t.Errorf("%d, the log %s", answer.Code, log)
	}
}

// BenchmarkObserve is what the metrics add to each request.
func BenchmarkObserve(b *testing.B) {
	m := NewMetrics()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			m.Observe(200, 3*time.Millisecond)
		}
	})
}

// BenchmarkScrape is what telling the results of so many routes costs.
func BenchmarkScrape(b *testing.B) {
	m := NewMetrics()
	c := &readings{compared: describe("compared_total", "", "route", "result")}
	tallies := &diff.Tallies{}
	for i := range routeSeries {
		tallies.Routes = append(tallies.Routes, &diff.RouteTally{Route: fmt.Sprintf("GET /shop/{id}/part/%d", i), Compared: 100})
	}
	m.registry.MustRegister(routesOnly{c, tallies})
	h := m.handler(quiet())
	req := httptest.NewRequestWithContext(context.Background(), http.MethodGet, "/metrics", nil)
	b.ReportAllocs()
	for b.Loop() {
		answer := httptest.NewRecorder()
		h.ServeHTTP(answer, req)
		b.SetBytes(int64(answer.Body.Len()))
	}
}

// brokenCollector tells the same figure twice, which is a fault.
type brokenCollector struct{}

func (brokenCollector) Describe(ch chan<- *prometheus.Desc) { ch <- describe("broken", "") }

func (brokenCollector) Collect(ch chan<- prometheus.Metric) {
	scrape(ch).gauge(describe("broken", ""), 1)
	scrape(ch).gauge(describe("broken", ""), 2)
}

// routesOnly tells the routes' results and nothing else.
type routesOnly struct {
	readings *readings
	tallies  *diff.Tallies
}

func (r routesOnly) Describe(ch chan<- *prometheus.Desc) { ch <- r.readings.compared }
func (r routesOnly) Collect(ch chan<- prometheus.Metric) {
	r.readings.collectRoutes(scrape(ch), r.tallies)
}

func logTo(w io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }
