package web

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"shadowdiff/multicast"
)

// climb reconfigures the rig's proxy to have a ramp and a guard.
func (r *rig) climb(steps ...multicast.Share) {
	r.t.Helper()
	cfg := r.cfg
	cfg.Ramp = multicast.RampConfig{Steps: steps, Hold: time.Hour}
	cfg.Guard.PrimaryP99, cfg.Guard.Memory = time.Minute, multicast.TiB
	if err := r.proxy.Reconfigure(cfg, nil); err != nil {
		r.t.Fatal(err)
	}
}

// The ramp's step and the guard's limits are told by the API, the page and the metrics; a rate that is set by hand ends the
// ramp, and true has it go on.
func TestRampByTheAPI(t *testing.T) {
	r := newRig(t, shop("1"), shop("1"), nil)
	if a := r.do(http.MethodPut, "/api/v1/shadowing", `{"ramp": true}`); a.status != http.StatusConflict || !strings.Contains(a.body, "set ramp.steps") {
		t.Errorf("without a ramp: %d %s", a.status, a.body)
	}
	r.climb(1000, 5000, multicast.Whole)
	mustHold(t, "state", r.get("/api/v1/shadowing"), `{"enabled":true,"sample":"1%","guard":{"paused":false,"since":null,"reason":"","over_without_shadows":false,"limits":[`,
		`{"limit":"primary_p99","at":"1m","value":"","used":null,"over":false,"paused":false,"pauses":0}`, `{"limit":"memory","at":"1048576MiB"`,
		`"ramp":{"steps":["1%","5%","100%"],"step":1,"hold":"1h","held":"0s","state":"waiting","text":"waiting: no shadow was asked at this step yet"}`)
	mustHold(t, "page", r.get("/"), `shadowing </span>1%<span class="long-only">, step 1 of 3`, "primary_p99: too few requests to tell, limit 1m", "Step 1 of 3, 1%; waiting: no shadow was asked")
	mustHold(t, "metrics", r.get("/metrics"), "shadowdiff_sample_ratio 0.01\n", "shadowdiff_ramp_step 1\n", "shadowdiff_ramp_steps 3\n",
		`shadowdiff_guard_paused{limit="primary_p99"} 0`, `shadowdiff_guard_pauses_total{limit="memory"} 0`)

	mustHold(t, "by hand", r.do(http.MethodPut, "/api/v1/shadowing", `{"sample": "7%"}`).body, `"sample":"7%"`, `"step":0`, `"state":"ended"`)
	mustHold(t, "page", r.get("/"), `shadowing </span>7%<`, "The rate was set by hand, which ended the ramp")
	if sample := r.setting(keySample); sample != "7%" {
		t.Errorf("kept %q", sample)
	}
	mustHold(t, "going on", r.do(http.MethodPut, "/api/v1/shadowing", `{"ramp": true}`).body, `"sample":"5%"`, `"step":2`)
	if sample, mark := r.setting(keySample), r.setting(keyRamp); sample != "" || mark != "5% "+r.cfg.Candidate {
		t.Errorf("kept %q and %q", sample, mark)
	}
	mustHold(t, "ended", r.do(http.MethodPut, "/api/v1/shadowing", `{"ramp": false}`).body, `"sample":"5%"`, `"state":"ended"`)
	for _, body := range []string{`{"ramp": 1}`, `{"ramp": "true"}`, `{"ramp": true, "sample": "1%"}`} {
		if a := r.do(http.MethodPut, "/api/v1/shadowing", body); a.status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", body, a.status, a.body)
		}
	}
	activity, err := r.db.Activity(context.Background(), 10)
	if err != nil || len(activity) != 3 {
		t.Fatalf("activity %+v, %v", activity, err)
	}
	for i, want := range []string{"ramp ended", "sample 5% (was 7%), ramp goes on at step 2 of 3", "sample 7% (was 1%), ramp ended"} {
		if activity[i].Detail != want {
			t.Errorf("activity %q, want %q", activity[i].Detail, want)
		}
	}
}

func (r *rig) setting(key string) string {
	r.t.Helper()
	value, err := r.server.setting(context.Background(), key)
	if err != nil {
		r.t.Fatal(err)
	}
	return value
}

// A step holds over restarts, and is not taken for a rate that was set by hand.
func TestRampHoldsOverRestarts(t *testing.T) {
	r := newRig(t, shop("1"), shop("1"), nil)
	r.climb(1000, 5000, multicast.Whole)
	if !r.proxy.RestoreRamp("5% " + r.cfg.Candidate) { // as if it had climbed
		t.Fatal("no second step")
	}
	r.server.Turned(multicast.Turn{By: "ramp", Text: "rose to 5%"})
	if activity, err := r.db.Activity(context.Background(), 1); err != nil || activity[0].Actor != "ramp" || activity[0].Detail != "rose to 5%" {
		t.Errorf("activity %+v, %v", activity, err)
	}
	r.proxy.RestoreRamp("1% " + r.cfg.Candidate) // as a new process would start
	again := New(DefaultConfig(), Deps{Log: quiet(), DB: r.db, Proxy: r.proxy, Instance: r.now})
	if err := again.Restore(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got := r.proxy.Shadowing(); got.Sample != 5000 || again.kept.Load() {
		t.Errorf("restored %+v, kept by hand %t", got, again.kept.Load())
	}
}

// A pause by the guard is told on every page, with its reason.
func TestThePageOfAPause(t *testing.T) {
	since := time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC)
	g := &multicast.Guard{
		Paused: true, Since: &since, Reason: "primary_p99 is 400ms, over 300ms",
		Limits: []multicast.GuardLimit{{Name: "primary_p99", At: "300ms", Value: "400ms", Over: true, Paused: true, Pauses: 1}},
	}
	want := notice{
		Before: "The guard has paused shadowing since", At: since,
		After: ": primary_p99 is 400ms, over 300ms. It goes on by itself after a minute of calm; requests meanwhile are skipped as “guard”.",
	}
	if notes := guarded(g); len(notes) != 1 || notes[0] != want {
		t.Errorf("%+v", notes)
	}
	if row := guardRow(g); row.Word != "paused" || !row.Bad || !row.At.Equal(since) {
		t.Errorf("%+v", row)
	}
	g.Paused = false
	if notes, row := guarded(g), guardRow(g); len(notes) != 0 || row.Bad || row.Text != "primary_p99 400ms, limit 300ms." {
		t.Errorf("%+v, %+v", notes, row)
	}
}
