package web

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

func TestSwitchAndRate(t *testing.T) {
	r := newRig(t, shop("1"), shop("2"), nil)
	if got := r.get("/api/v1/shadowing"); got != `{"enabled":true,"sample":"100%"}`+"\n" {
		t.Errorf("as configured: %s", got)
	}
	if a := r.do(http.MethodPut, "/api/v1/shadowing", `{"enabled": false}`); a.status != 200 || a.body != `{"enabled":false,"sample":"100%"}`+"\n" {
		t.Errorf("%d %s", a.status, a.body)
	}
	before := r.proxy.Counts()
	resp, err := http.Get(r.front.URL + "/products/1")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	after := r.proxy.Counts()
	if after.Skipped["disabled"] != before.Skipped["disabled"]+1 || after.Shadow["candidate"].Sent != before.Shadow["candidate"].Sent {
		t.Errorf("a shadow was sent while off: %+v", after)
	}
	mustHold(t, "paused page", r.get("/"), `shadowing </span>paused`, ">Resume</button>")
	if a := r.do(http.MethodPut, "/api/v1/shadowing", `{"sample": "2.5%"}`); a.body != `{"enabled":false,"sample":"2.5%"}`+"\n" {
		t.Errorf("%d %s", a.status, a.body)
	}
	activity, err := r.db.Activity(context.Background(), 10)
	if err != nil || len(activity) < 2 || activity[0].Detail != "sample 2.5% (was 100%)" || activity[1].Detail != "switched off" {
		t.Errorf("activity %+v, %v", activity, err)
	}
}

// The switch on the page is a plain form, asks nothing, and goes back to where it was.
func TestSwitchAsAForm(t *testing.T) {
	r := newRig(t, shop("1"), shop("2"), nil)
	r.ask(5, "/products/1")
	at := routePath("GET /products/{id}")
	form := url.Values{"enabled": {"false"}, "back": {at}}.Encode()
	a := r.do(http.MethodPost, "/shadowing", form, "Content-Type: application/x-www-form-urlencoded")
	mustHold(t, "after Pause", a.body, `shadowing </span>paused`, "GET /products/{id}")
	if r.proxy.Shadowing().Enabled {
		t.Error("still shadowing")
	}
	form = url.Values{"enabled": {"true"}, "back": {"/"}}.Encode()
	a = r.do(http.MethodPost, "/shadowing", form, "Content-Type: application/x-www-form-urlencoded", "HX-Request: true")
	mustHold(t, "after Resume", a.body, `shadowing </span>100%`, ">Pause</button>")
	a = r.do(http.MethodPost, "/shadowing", "sample=200%25", "Content-Type: application/x-www-form-urlencoded")
	if a.status != http.StatusBadRequest {
		t.Errorf("a rate of 200%%: %d", a.status)
	}
}

// What was set holds over a restart; what was not set stays the configuration's.
func TestSwitchHoldsOverRestarts(t *testing.T) {
	r := newRig(t, shop("1"), shop("2"), nil)
	ctx := context.Background()
	if err := r.server.Restore(ctx); err != nil || !r.proxy.Shadowing().Enabled {
		t.Fatalf("restoring nothing: %v, %+v", err, r.proxy.Shadowing())
	}
	r.do(http.MethodPut, "/api/v1/shadowing", `{"enabled": false, "sample": "1%"}`)
	on, all := true, shareOfAll(t)
	r.proxy.SetShadowing(&on, &all) // as a new process would start
	again := New(DefaultConfig(), Deps{Log: quiet(), DB: r.db, Proxy: r.proxy, Instance: r.now})
	if err := again.Restore(ctx); err != nil {
		t.Fatal(err)
	}
	if got := r.proxy.Shadowing(); got.Enabled || got.Sample.String() != "1%" {
		t.Errorf("restored %+v", got)
	}
	if !again.kept.Load() {
		t.Error("the page does not know that it was set here")
	}
}

// What cannot be kept takes effect all the same, and both are said.
func TestSwitchThatCannotBeKept(t *testing.T) {
	r := newRig(t, shop("1"), shop("2"), nil)
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // so that the store writes nothing
	put := httptest.NewRequestWithContext(ctx, http.MethodPut, r.admin.URL+"/api/v1/shadowing", strings.NewReader(`{"enabled": false}`))
	answer := httptest.NewRecorder()
	r.server.HTTP().Handler.ServeHTTP(answer, put)
	if got := answer.Body.String(); answer.Code != http.StatusOK || !strings.HasPrefix(got, `{"enabled":false,"sample":"100%","warning":"`) {
		t.Errorf("%d %s", answer.Code, got)
	}
	if r.proxy.Shadowing().Enabled {
		t.Error("still shadowing")
	}
	post := httptest.NewRequestWithContext(ctx, http.MethodPost, r.admin.URL+"/shadowing", strings.NewReader("enabled=true"))
	post.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer = httptest.NewRecorder()
	r.server.HTTP().Handler.ServeHTTP(answer, post)
	if got := answer.Body.String(); answer.Code != http.StatusInternalServerError || !strings.Contains(got, "a restart would forget it") {
		t.Errorf("the page: %d %s", answer.Code, got)
	}
	if !r.proxy.Shadowing().Enabled {
		t.Error("not shadowing")
	}
}
