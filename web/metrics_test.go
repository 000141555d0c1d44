package web

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"shadowdiff/multicast"
)

func TestMetricsAreThePromisedOnesAndClean(t *testing.T) {
	r := newRig(t, shop("1"), shop("2"), nil)
	r.ask(60, "/products/1")
	text := r.get("/metrics")
	for _, want := range []string{
		`shadowdiff_requests_total{code="200"} 60`,
		`shadowdiff_compared_total{result="candidate_only",route="GET /products/{id}"}`,
		`shadowdiff_shadow_total{outcome="ok",role="candidate"} 60`,
		`shadowdiff_shadow_total{outcome="ok",role="secondary"} 60`,
		`shadowdiff_in_flight{role="candidate"} 0`,
		`shadowdiff_queue_length 0`, `shadowdiff_captured_bytes 0`,
		`shadowdiff_request_duration_seconds_count 60`, `shadowdiff_shadow_duration_seconds_count{role="candidate"} 60`,
		`shadowdiff_verdict{verdict="different"} 1`, `shadowdiff_verdict{verdict="undecided"} 0`,
		`shadowdiff_excess{bound="lower"}`, `shadowdiff_excess{bound="upper"}`,
		`shadowdiff_confirmed_differences 1`, `shadowdiff_run_info{run="v2.3.1"} 1`, `go_goroutines`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, regexp.MustCompile(`(?m)^(#|go_|process_).*\n`).ReplaceAllString(text, ""))
		}
	}
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "shadowdiff_") {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
}

// Labels stay bounded, whatever an upstream sends.
func TestStrangeStatusesMakeNoSeries(t *testing.T) {
	r := newRig(t, shop("1"), shop("1"), nil)
	for status := 0; status < 3000; status += 7 {
		r.metrics.Observe(status, time.Millisecond)
	}
	r.metrics.ObserveShadow(multicast.Candidate, multicast.OutcomeTimeout, time.Second)
	text := r.get("/metrics")
	if n := strings.Count(text, "shadowdiff_requests_total{"); n > 502 {
		t.Errorf("%d series", n)
	}
	mustHold(t, "metrics", text, `shadowdiff_requests_total{code="other"}`, `shadowdiff_requests_total{code="0"} 1`)
}
