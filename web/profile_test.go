package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"shadowdiff/store"
)

// market sells in several currencies; the candidate rounds prices in euro, and both shadows draw a lot.
func market(euro float64) http.HandlerFunc {
	lot := shop("1")
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/lot" {
			lot(w, r)
			return
		}
		price := 12.5
		if r.URL.Query().Get("currency") == "EUR" {
			price = euro
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"price":%v,"password":"s3cret"}`, price)
	}
}

// into reads a JSON answer.
func into[T any](t *testing.T, text string) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}

func TestWhichRequestsDiffer(t *testing.T) {
	r := newRig(t, market(10.25), market(10), nil)
	r.comparer.Profile(r.db.Redactor)
	for i := range 5 {
		r.ask(12, "/price?currency=EUR&page=1&token=s3cret")
		r.ask(20, fmt.Sprintf("/price?currency=USD&page=%d", i))
		r.ask(8, "/price")
	}
	answer := into[attributesAnswer](t, r.get("/api/v1/attributes?route=GET+/price&field=body.price"))
	s := answer.Separation
	if want := "All 60 have `currency=EUR`; none of the 140 others."; s.Sentence != want || s.Differing != 60 || s.Others != 140 || s.Result != "candidate_only" {
		t.Errorf("said %q: %+v", s.Sentence, s)
	}
	if best := s.Best[0]; best.Attribute != "query.currency" || best.Value == nil || *best.Value != "EUR" || best.Is != "value" || best.Of != 60 || best.OfOthers != 140 || best.Excess != 1 {
		t.Errorf("%+v", best)
	}
	found := false
	for _, a := range answer.Attributes {
		n := a.Absent.Requests + a.Other.Requests
		for _, v := range a.Values {
			n += v.Requests
		}
		if n+a.From != 200 || answer.Compared != 200 {
			t.Errorf("%s: %d of %d requests", a.Attribute, n, answer.Compared)
		}
		if a.Attribute == "query.currency" {
			found = true
			if len(a.Values) != 2 || *a.Values[0].Value != "USD" || a.Values[0].Requests != 100 || a.Values[1].Differing != 60 || a.Absent.Requests != 40 {
				t.Errorf("%+v", a)
			}
		}
	}
	if !found {
		t.Errorf("no query.currency in %+v", answer.Attributes)
	}
	whole := into[attributesAnswer](t, r.get("/api/v1/attributes?route=GET+/price"))
	if whole.Separation != nil || whole.Compared != 200 || len(whole.Attributes) != len(answer.Attributes) {
		t.Errorf("without a field: %+v", whole)
	}
	for _, path := range []string{"/api/v1/attributes?route=GET+/price&field=body.price", "/api/v1/profile?route=GET+/price&field=body.price"} {
		if body := r.get(path); strings.Contains(body, "s3cret") {
			t.Errorf("%s shows a secret: %s", path, body)
		}
	}
}

func TestWhatStandsInAField(t *testing.T) {
	r := newRig(t, market(10.25), market(10), nil)
	r.comparer.Profile(r.db.Redactor)
	r.ask(30, "/price?currency=EUR")
	r.ask(10, "/lot")
	p := into[profileAnswer](t, r.get("/api/v1/profile?route=GET+/price&field=body.price"))
	if p.Exchanges != 30 || p.CandidateOnly != 30 || p.ControlOnly+p.Both+p.Withheld+p.MorePlaces != 0 || p.Places != 30 || p.Run.Name != "v2.3.1" {
		t.Errorf("%+v", p)
	}
	for role, want := range map[string]string{"primary": "10.25", "secondary": "10.25", "candidate": "10"} {
		one := p.Roles[role]
		if len(one.Values) != 1 || string(one.Values[0].Value) != want || one.Values[0].AtLeast != 30 || one.Values[0].AtMost != 30 || !one.Exact || one.Shapes["number"] != 30 {
			t.Errorf("%s: %+v", role, one)
		}
		if n := one.Numbers; n == nil || n.Count != 30 || fmt.Sprint(n.Least) != want || fmt.Sprint(n.P50) != want || one.Lengths != nil {
			t.Errorf("%s: %+v", role, n)
		}
	}
	bins := p.Bins["numbers"]
	if len(bins) != 2 || bins[0].Candidate != 30 || bins[0].Primary != 0 || bins[1].Primary != 30 || bins[1].Secondary != 30 {
		t.Errorf("bins %+v", bins)
	}
	noise := into[profileAnswer](t, r.get("/api/v1/profile?route=GET+/lot&field=body.served"))
	if noise.Both != 10 || len(noise.Roles["candidate"].Values) != 10 || noise.Roles["candidate"].Shapes["text"] != 10 || noise.Roles["candidate"].Lengths.Count != 10 {
		t.Errorf("%+v", noise)
	}

	// The run is over, and told of all the same.
	if _, err := r.db.StartRun("v2.4", store.Fingerprint{Candidate: "http://other:1"}); err != nil {
		t.Fatal(err)
	}
	if a := r.do(http.MethodGet, "/api/v1/profile?route=GET+/price&field=body.price", ""); a.status != http.StatusNotFound {
		t.Errorf("the new run has it too: %s", a.body)
	}
	p = into[profileAnswer](t, r.get("/api/v1/profile?route=GET+/price&field=body.price&run=v2.3.1"))
	if p.Exchanges != 30 || p.Run.Name != "v2.3.1" {
		t.Errorf("%+v", p)
	}
}

func TestProfilesOfNothingAreRefused(t *testing.T) {
	r := newRig(t, market(1), market(1), nil)
	for path, want := range map[string]int{
		"/api/v1/profile": http.StatusBadRequest, "/api/v1/profile?route=GET+/price": http.StatusBadRequest, "/api/v1/attributes": http.StatusBadRequest,
		"/api/v1/profile?route=GET+/price&field=body.a": http.StatusNotFound, "/api/v1/attributes?route=GET+/price": http.StatusNotFound,
		"/api/v1/profile?route=GET+/price&field=body.a&run=none": http.StatusNotFound, "/api/v1/attributes?rout=x": http.StatusBadRequest,
	} {
		if a := r.do(http.MethodGet, path, ""); a.status != want {
			t.Errorf("%s: %d, %s", path, a.status, a.body)
		}
	}
}
