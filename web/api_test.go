package web

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"shadowdiff/diff"
	"shadowdiff/multicast"
)

func decode(t *testing.T, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
}

// routeShape is what a caller reads of a route.
type routeShape struct {
	Route, Page, Verdict string
	Compared             int64
}

func keysOf(t *testing.T, text string) []string {
	t.Helper()
	var object map[string]json.RawMessage
	decode(t, text, &object)
	keys := make([]string, 0, len(object))
	for key := range object {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

func TestEquivalenceHasThePromisedShape(t *testing.T) {
	r := newRig(t, shop("1"), shop("2"), nil)
	promised := []string{
		"alpha", "attempt", "both", "budget", "candidate_errors", "candidate_only", "candidate_up", "compared", "control_errors", "control_only",
		"control_up", "differences", "equivalence_interval", "equivalence_rate", "excess", "excess_interval", "latency", "minutes_candidate",
		"minutes_control", "more_needed", "noise_rate", "not_judged", "raw_rate", "reasons", "route", "run", "steady", "unknown", "verdict",
	}
	if got := keysOf(t, r.get("/api/v1/equivalence")); !slices.Equal(got, promised) {
		t.Errorf("keys of an empty run: %v", got)
	}
	mustHold(t, "an empty run", r.get("/api/v1/equivalence"), `"differences":[]`, `"not_judged":[]`, `"route":null`, `"verdict":"undecided"`)
	r.ask(60, "/products/1")
	text := r.get("/api/v1/equivalence?confirmed=true")
	if got := keysOf(t, text); !slices.Equal(got, promised) {
		t.Errorf("keys: %v", got)
	}
	var a struct {
		Run         struct{ Name string }
		Verdict     string
		Compared    int64
		Differences []diff.Finding
	}
	decode(t, text, &a)
	if a.Verdict != "different" || a.Compared != 60 || a.Run.Name != "v2.3.1" {
		t.Errorf("%+v", a)
	}
	for _, d := range a.Differences {
		if !d.Confirmed || d.ConfirmedAt == nil || d.LnE <= 0 || d.Route != "GET /products/{id}" {
			t.Errorf("difference %+v", d)
		}
	}
	if !slices.ContainsFunc(a.Differences, func(d diff.Finding) bool { return d.Field == "body.price" && len(d.Samples) > 0 }) {
		t.Errorf("no body.price with samples in %s", text)
	}
}

func TestEquivalenceOfARouteAWindowAndARun(t *testing.T) {
	r := newRig(t, shop("1"), shop("2"), nil)
	r.ask(5, "/products/1")
	r.ask(7, "/orders/1")
	route := url.QueryEscape("GET /orders/{id}")
	var a struct {
		Route    *string
		Compared int64
		Raw      int64
		RawRate  *float64 `json:"raw_rate"`
		Verdict  *string
	}
	decode(t, r.get("/api/v1/equivalence?route="+route), &a)
	if a.Route == nil || *a.Route != "GET /orders/{id}" || a.Compared != 7 || a.Verdict == nil {
		t.Errorf("one route: %+v", a)
	}
	a.Verdict = nil
	decode(t, r.get("/api/v1/equivalence?since=1h"), &a)
	if a.Compared != 12 || a.Raw != 12 || a.RawRate == nil || *a.RawRate != 1 || a.Verdict != nil {
		t.Errorf("a window: %+v", a)
	}
	decode(t, r.get("/api/v1/equivalence?until=2020-01-01T00:00:00Z&route="+route), &a)
	if a.Compared != 0 || a.RawRate != nil {
		t.Errorf("a window before all: %+v", a)
	}
	decode(t, r.get("/api/v1/equivalence?run=v2.3.1"), &a)
	if a.Compared != 12 {
		t.Errorf("the run by name: %+v", a)
	}
}

func TestProblemsNameTheThingAndTheRemedy(t *testing.T) {
	r := newRig(t, shop("1"), shop("2"), nil)
	r.ask(3, "/products/1")
	for _, c := range []struct {
		method, path, body string
		status             int
		says               string
	}{
		{"GET", "/api/v1/equivalence?rout=x", "", 400, `unknown parameter "rout"; did you mean "route"?`},
		{"GET", "/api/v1/equivalence?route=a&route=b", "", 400, `parameter "route" is given 2 times`},
		{"GET", "/api/v1/equivalence?route=GET+/product/{id}", "", 404, `did you mean "GET /products/{id}"?`},
		{"GET", "/api/v1/equivalence?run=v1", "", 404, `there is no run "v1"; the one in force is "v2.3.1"`},
		{"GET", "/api/v1/equivalence?limit=0", "", 400, "whole number from 1"},
		{"GET", "/api/v1/equivalence?confirmed=yes", "", 400, "give true or false"},
		{"GET", "/api/v1/equivalence?since=yesterday", "", 400, "2026-11-30T10:00:00Z"},
		{"GET", "/api/v1/equivalence?since=1h&confirmed=true", "", 400, "nothing is confirmed within a window"},
		{"GET", "/api/v1/equivalence?since=1h&until=2h", "", 400, "is not before"},
		{"GET", "/api/v1/fields?test=colour", "", 400, "give value, format, type, presence, extent or drift"},
		{"GET", "/api/v1/samples?result=odd", "", 400, "give agree, candidate_only, control_only or both"},
		{"GET", "/api/v1/samples?cursor=zzz", "", 400, "cursor="},
		{"GET", "/api/v1/samples/0", "", 404, "is not a sample"},
		{"GET", "/api/v1/samples/99", "", 404, "sample 99 is not kept any more"},
		{"GET", "/api/v1/routes?cursor=!", "", 400, "was not given out by a page before"},
		{"GET", "/api/v1/nothing", "", 404, "there is nothing at /api/v1/nothing"},
		{"DELETE", "/api/v1/shadowing", "", 405, "DELETE is not a method"},
		{"PUT", "/api/v1/shadowing", `{"enable":false}`, 400, `did you mean "enabled"?`},
		{"PUT", "/api/v1/shadowing", `{"enabled":"no"}`, 400, "neither true nor false"},
		{"PUT", "/api/v1/shadowing", `{"sample":1}`, 400, `is not a text such as "1%"`},
		{"PUT", "/api/v1/shadowing", `{"sample":"lots"}`, 400, "sample: "},
		{"PUT", "/api/v1/shadowing", `{}`, 400, "nothing to change"},
		{"PUT", "/api/v1/shadowing", `null`, 400, "not a JSON object"},
		{"PUT", "/api/v1/shadowing", strings.Repeat(" ", 5000) + `{"enabled":false}`, 413, "longer than the 4096 bytes"},
	} {
		a := r.do(c.method, c.path, c.body)
		var p problem
		if a.header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s %s: type %q: %s", c.method, c.path, a.header.Get("Content-Type"), a.body)
			continue
		}
		decode(t, a.body, &p)
		if a.status != c.status || p.Status != c.status || p.Title == "" || !strings.Contains(p.Detail, c.says) {
			t.Errorf("%s %s: %d %q, want %d %q", c.method, c.path, a.status, p.Detail, c.status, c.says)
		}
	}
	if !r.proxy.Shadowing().Enabled {
		t.Error("a refused change was applied")
	}
}

// RFC 9110, section 15.5.6: who asks with a wrong method is told the right ones.
func TestAWrongMethodIsToldTheRightOnes(t *testing.T) {
	r := newRig(t, shop("1"), shop("2"), nil)
	for _, c := range []struct{ method, path, allow string }{
		{"DELETE", "/api/v1/shadowing", "GET, HEAD, PUT"},
		{"POST", "/api/v1/samples/1", "GET, HEAD"},
		{"POST", "/api/v1/suggestions", "GET, HEAD"},
		{"GET", "/theme", "POST"},
		{"PUT", "/", "GET, HEAD"},
	} {
		if a := r.do(c.method, c.path, ""); a.status != http.StatusMethodNotAllowed || a.header.Get("Allow") != c.allow {
			t.Errorf("%s %s: %d, Allow %q, want %q", c.method, c.path, a.status, a.header.Get("Allow"), c.allow)
		}
	}
}

func TestListsGoOnWhereTheyEnded(t *testing.T) {
	r := newRig(t, shop("1"), shop("2"), nil)
	for _, at := range []string{"/a", "/b", "/c", "/d", "/e"} {
		r.ask(2, at)
	}
	var names []string
	path := "/api/v1/routes?limit=2"
	for range 3 {
		var page list[routeShape]
		decode(t, r.get(path), &page)
		for _, item := range page.Items {
			names = append(names, item.Route)
			if item.Compared != 2 || item.Verdict != "undecided" {
				t.Errorf("route %+v", item)
			}
		}
		if page.Next == nil {
			break
		}
		path = "/api/v1/routes?limit=2&cursor=" + *page.Next
	}
	if want := []string{"GET /a", "GET /b", "GET /c", "GET /d", "GET /e"}; !slices.Equal(names, want) {
		t.Errorf("routes %v, want %v", names, want)
	}
	var fields list[fieldItem]
	decode(t, r.get("/api/v1/fields?test=value&field=body.price"), &fields)
	if len(fields.Items) != 5 || fields.Items[0].CandidateOnly != 2 || fields.Next != nil {
		t.Errorf("fields %+v", fields)
	}
	decode(t, r.get("/api/v1/fields?route=GET+/a&confirmed=true"), &fields)
	if len(fields.Items) != 0 {
		t.Errorf("two requests confirmed %+v", fields.Items)
	}
}

func TestSamplesAreListedAndRead(t *testing.T) {
	r := newRig(t, shop("1"), shop("2"), nil)
	r.ask(6, "/products/1?token=hidden")
	var samples list[sampleItem]
	decode(t, r.get("/api/v1/samples?limit=2&field=body.price&result=candidate_only"), &samples)
	for _, s := range samples.Items {
		if s.Result != diff.CandidateOnly && s.Result != diff.Both || !slices.Contains(s.Fields, "body.price") || len(s.Responses) != 3 {
			t.Errorf("sample %+v", s)
		}
	}
	decode(t, r.get("/api/v1/samples?field=body.price"), &samples)
	if len(samples.Items) == 0 {
		t.Fatal("no samples")
	}
	var one struct {
		Request   struct{ Target string }
		Responses map[string]struct {
			Status int
			Body   string
		}
		Candidate []struct{ Field string }
	}
	text := r.get("/api/v1/samples/" + samples.Items[0].Page[len("/samples/"):])
	decode(t, text, &one)
	if !strings.Contains(one.Responses["candidate"].Body, `"price":2`) || !strings.Contains(one.Responses["primary"].Body, `"price":1`) {
		t.Errorf("bodies %+v", one.Responses)
	}
	if strings.Contains(text, "hidden") {
		t.Errorf("the token is shown in %s", text)
	}
	if len(one.Candidate) == 0 || one.Responses["secondary"].Status != http.StatusOK {
		t.Errorf("%+v", one)
	}
}

func TestCountersAddUp(t *testing.T) {
	r := newRig(t, shop("1"), shop("2"), nil)
	r.ask(4, "/products/1")
	var c multicast.Counts
	decode(t, r.get("/api/v1/counters"), &c)
	if c.Requests != 4 || c.Compared != 4 || c.Shadow["candidate"].Outcome["ok"] != 4 {
		t.Errorf("%+v", c)
	}
}

func TestHealthAndReadiness(t *testing.T) {
	r := newRig(t, shop("1"), shop("2"), func(c *Config) { c.Token = "secret" })
	mustHold(t, "healthz", r.get("/healthz"), `"status":"ok"`)
	if told := r.get("/readyz"); told != "{\"status\":\"ok\"}\n" {
		t.Errorf("readyz tells strangers %q", told)
	}
	mustHold(t, "readyz", r.get("/readyz", "Authorization: Bearer secret"), `"store":"ok"`, `"shadowing":"on"`)
}
