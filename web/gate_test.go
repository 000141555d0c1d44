package web

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"shadowdiff/diff"
)

// The status alone says whether a release may pass, to GET and to POST, whatever the latter's body is.
func TestTheGateAnswersByItsStatus(t *testing.T) {
	r := newRig(t, shop("1"), shop("2"), func(c *Config) { c.ReadOnly = true })
	for _, c := range []struct {
		method, path string
		status       int
		says         string
	}{
		{http.MethodGet, "", http.StatusConflict, `"pass":false,"verdict":"undecided"`},
		{http.MethodPost, "", http.StatusConflict, `"pass":false,"verdict":"undecided"`},
		{http.MethodPost, "?pass=different", http.StatusConflict, `"pass":false`},
		{http.MethodGet, "?pass=equivalent,undecided", http.StatusOK, `"pass":true,"verdict":"undecided"`},
		{http.MethodPost, "?pass=undecided&run=v2.3.1", http.StatusOK, `"run":{"id":1`},
		{http.MethodGet, "?pass=good", http.StatusBadRequest, "give equivalent, different or undecided"},
		{http.MethodGet, "?pas=good", http.StatusBadRequest, "did you mean"},
		{http.MethodGet, "?run=v9", http.StatusNotFound, "there is no run"},
		{http.MethodPost, "?route=GET+/none", http.StatusNotFound, "no request of route"},
	} {
		a := r.do(c.method, "/api/v1/gate"+c.path, `{"name":"podinfo","phase":"Progressing"}`, "Content-Type: application/json")
		if a.status != c.status || !strings.Contains(a.body, c.says) {
			t.Errorf("%s %s: %d %s, want %d with %s", c.method, c.path, a.status, a.body, c.status, c.says)
		}
	}
	r.ask(60, "/products/1")
	if a := r.do(http.MethodPost, "/api/v1/gate?pass=different", ""); a.status != http.StatusOK || !strings.Contains(a.body, `"page":"/"`) {
		t.Errorf("different: %d %s", a.status, a.body)
	}
	if a := r.do(http.MethodGet, "/api/v1/gate?route=GET+/products/{id}", ""); a.status != http.StatusConflict || !strings.Contains(a.body, `"page":"/routes/`) {
		t.Errorf("a route: %d %s", a.status, a.body)
	}
}

// What is exported is what was counted, with all that judges it, and judged again it is the same verdict.
func TestCountsAreExportedWhole(t *testing.T) {
	r := newRig(t, shop("1"), shop("2"), nil)
	r.rules.Store(&[]Rule{{}})
	r.ask(60, "/products/1")
	r.ask(5, "/orders/1")
	a := r.do(http.MethodGet, "/api/v1/tallies", "")
	var e Export
	decode(t, a.body, &e)
	snap := r.db.Snapshot()
	if e.Version != ExportVersion || e.Run.Name != "v2.3.1" || e.Word != diff.Different || e.Rules == "" || e.Program != "test" {
		t.Errorf("%s", a.body[:300])
	}
	if diff.Config(e.Judging) != diff.DefaultConfig() {
		t.Errorf("judged by %+v", e.Judging)
	}
	if err := e.Tallies.Check(); err != nil {
		t.Error(err)
	}
	was, err := json.Marshal(snap.Tallies)
	if err != nil {
		t.Fatal(err)
	}
	is, err := json.Marshal(e.Tallies)
	if err != nil {
		t.Fatal(err)
	}
	if string(is) != string(was) {
		t.Errorf("exported %s, counted %s", is, was)
	}
	v, _ := diff.Judge(e.Tallies, diff.Config(e.Judging))
	if v.Word != snap.Verdict.Word || v.EquivBounds != snap.Verdict.EquivBounds || len(v.Differences) != len(snap.Verdict.Differences) {
		t.Errorf("judged again %s %v, was %s %v", v.Word, v.EquivBounds, snap.Verdict.Word, snap.Verdict.EquivBounds)
	}
	if again := r.do(http.MethodGet, "/api/v1/tallies", "", "If-None-Match: "+a.header.Get("ETag")); again.status != http.StatusNotModified {
		t.Errorf("unchanged: %d", again.status)
	}
	var j Judging
	if err := json.Unmarshal([]byte(`{"alpha": 0.05, "sternness": 3}`), &j); err == nil {
		t.Error("a key that is not known is taken")
	}
}
