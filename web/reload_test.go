package web

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// The answer to a reload is what came of it, a fault with its place, and a reader may not ask for one.
func TestReloadByTheAPI(t *testing.T) {
	r := newRig(t, shop("1"), shop("1"), nil)
	if a := r.do(http.MethodPost, "/api/v1/reload", ""); a.status != http.StatusConflict || !strings.Contains(a.body, "started without -config") {
		t.Errorf("without a file: %d %s", a.status, a.body)
	}
	r.become(func(now *Instance) { now.File = "/etc/shadowdiff.yaml" })
	var asked []string
	at := time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC)
	answer := Reload{Time: at, Good: true, Changed: []string{"sample: 5% (was 100%)"}, Faults: []Fault{}}
	r.reload = func(actor string) Reload {
		asked = append(asked, actor)
		r.become(func(now *Instance) { now.Reload = &answer })
		return answer
	}
	const want = `{"time":"2026-11-30T10:00:00Z","successful":true,"changed":["sample: 5% (was 100%)"],"errors":[]}`
	if a := r.do(http.MethodPost, "/api/v1/reload", ""); a.status != http.StatusOK || a.body != want+"\n" {
		t.Errorf("%d %s", a.status, a.body)
	}
	mustHold(t, "state", r.get("/api/v1/reload"), `"file":"/etc/shadowdiff.yaml"`, `"warnings":[]`, `"last":`+want)
	if page := r.get("/"); strings.Contains(page, `class="notice"`) {
		t.Errorf("a good reload is a notice:\n%s", excerpt(page))
	}
	mustHold(t, "overview", r.get("/"), "shadowdiff.yaml; changed: sample: 5% (was 100%). Read again at")

	answer = Reload{Time: at, Faults: []Fault{
		{"/etc/shadowdiff.yaml", 3, 7, `shadow: <b>unknown</b>`}, {"-sample", 0, 0, "too much"}, {Message: "no room"},
	}}
	a := r.do(http.MethodPost, "/api/v1/reload", "")
	if a.status != http.StatusUnprocessableEntity || a.header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("%d %v", a.status, a.header)
	}
	mustHold(t, "problem", a.body, `"errors":[{"file":"/etc/shadowdiff.yaml","line":3,"column":7,"message":"shadow: `,
		`{"file":"-sample","message":"too much"},{"message":"no room"}]`, "/etc/shadowdiff.yaml:3:7: shadow: ", "-sample: too much; no room")
	for _, page := range []string{r.get("/"), r.get("/metrics")} {
		if strings.Contains(page, "<b>unknown") {
			t.Error("a fault is taken for markup")
		}
	}
	mustHold(t, "overview", r.get("/"), "was not taken at <time datetime=", `data-show="clock">10:00:00 UTC</time>, and the configuration before it`, "/etc/shadowdiff.yaml:3:7: shadow: ", "shadowdiff.yaml has 3 faults")
	mustHold(t, "metrics", r.get("/metrics"), "shadowdiff_config_last_reload_successful 0\n")
	if a := r.do(http.MethodPost, "/api/v1/reload?dry=1", ""); a.status != http.StatusBadRequest {
		t.Errorf("an unknown parameter: %d", a.status)
	}
	if a := r.do(http.MethodGet, "/api/v1/reload", ""); a.status != http.StatusOK || len(asked) != 2 || asked[0] != "api" {
		t.Errorf("asked by %v", asked)
	}
}

func TestReadersCannotReload(t *testing.T) {
	r := newRig(t, shop("1"), shop("1"), func(c *Config) { c.ReadOnly = true })
	r.become(func(now *Instance) { now.File = "shadowdiff.yaml" })
	if a := r.do(http.MethodPost, "/api/v1/reload", ""); a.status != http.StatusForbidden {
		t.Errorf("under read_only: %d", a.status)
	}
	r = newRig(t, shop("1"), shop("1"), nil)
	if a := r.do(http.MethodPost, "/api/v1/reload", "", "Origin: https://evil.example", "Sec-Fetch-Site: cross-site"); a.status != http.StatusForbidden {
		t.Errorf("from another site: %d", a.status)
	}
}

// A process is ready while it serves; what has failed beside is told.
func TestReadyWhileItServes(t *testing.T) {
	r := newRig(t, shop("1"), shop("1"), nil)
	for phase, want := range map[string]int{PhaseStarting: 503, PhaseServing: 200, PhaseStopping: 503} {
		r.become(func(now *Instance) { now.Phase, now.Failed = phase, []string{"store"} })
		if a := r.do(http.MethodGet, "/readyz", ""); a.status != want || !strings.Contains(a.body, `"status":"`+phase+`"`) || !strings.Contains(a.body, `"failed":["store"]`) {
			t.Errorf("%s: %d %s", phase, a.status, a.body)
		}
	}
}

// What is less than it seems is said on every page.
func TestWarningsAreOnThePage(t *testing.T) {
	r := newRig(t, shop("1"), shop("1"), nil)
	r.become(func(now *Instance) {
		now.Warnings = []string{"the certificate of the candidate is not verified: insecure_skip_verify is set"}
	})
	r.ask(1, "/products/1")
	for _, path := range []string{"/", routePath("GET /products/{id}")} {
		mustHold(t, path, r.get(path), "The certificate of the candidate is not verified: insecure_skip_verify is set.")
	}
}

// A shadow that is left alone is told on the page and as a metric.
func TestAPausedShadowIsShown(t *testing.T) {
	r := newRig(t, shop("1"), func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, nil)
	mustHold(t, "metrics", r.get("/metrics"), `shadowdiff_circuit_open{role="candidate"} 0`, `shadowdiff_circuit_open{role="secondary"} 0`)
	mustHold(t, "overview", r.get("/"), "<dt>candidate</dt><dd>in use</dd>", "<dt>secondary</dt><dd>in use</dd>", "Without a file")
	r.ask(3, "/products/1")
	mustHold(t, "overview", r.get("/"), "has failed 3 times running.")
	r.ask(17, "/products/1")
	mustHold(t, "metrics", r.get("/metrics"), `shadowdiff_circuit_open{role="candidate"} 1`, `shadowdiff_circuit_open{role="secondary"} 0`)
	mustHold(t, "overview", r.get("/"), `<dt>candidate</dt><dd class="bad">paused</dd>`,
		"The candidate has failed 20 times running and is left alone until", "Nothing is compared meanwhile")
}
