package web

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"shadowdiff/diff"
	"shadowdiff/multicast"
	"shadowdiff/normalize"
	"shadowdiff/store"
)

// Rules that would do the same stand together, and are taken together; one that would hide what is confirmed is not offered.
func TestSuggestionsThatDoTheSameAreOne(t *testing.T) {
	s := openShop(t, nil)
	s.crowd(1500)
	snap := s.db.Snapshot()
	confirmed := confirmedFields(snap)
	var sure diff.Finding
	for i := range snap.Verdict.Differences {
		if f := &snap.Verdict.Differences[i]; f.Confirmed && !f.Informs && f.Route != "" {
			sure = *f
			break
		}
	}
	if sure.Field == "" {
		t.Fatal("nothing is confirmed")
	}
	suggestion := func(route, field string) diff.Suggestion {
		return diff.Suggestion{
			Rule: normalize.RuleConfig{Tolerate: field, Within: "2s", Route: route}, Route: route, Field: field,
			Reason: "differs in 9 of 10", Effect: "quiets 9 of 9", Noise: 9, Quiets: 9,
		}
	}
	closer := suggestion("GET /products/{id}", "body.seen_at")
	closer.Rule.Within = "500ms"
	offered := []diff.Suggestion{
		closer, suggestion("GET /orders/{id}", "body.made_at"), suggestion("GET /users/{id}", "body.left_at"),
		suggestion(sure.Route, sure.Field),
		{Rule: normalize.RuleConfig{Drop: "header.x-node", Route: "GET /search"}, Route: "GET /search", Field: "header.x-node", LastResort: true},
	}
	s.deps.Suggestions = func() []diff.Suggestion { return offered }
	server, admin := s.serve(DefaultConfig())
	s.server, s.admin = server, admin

	page := html.UnescapeString(s.get("/rules"))
	mustHold(t, "the rules", page, "Preview all 3", "within: 500ms and 2s</code>", "3 fields on 3 routes: body.seen_at, body.made_at and body.left_at", "Together they quiet 27 of 27 differences",
		"One by one", "Not offered:", fmt.Sprintf(`<code>%s</code></a> of %s`, sure.Field, sure.Route))
	if strings.Contains(page, "tolerate: "+sure.Field) {
		t.Errorf("a rule for %s is offered though it is confirmed", sure.Field)
	}
	var all list[suggestionItem]
	s.decode(s.get("/api/v1/suggestions"), &all)
	for _, one := range all.Items {
		if one.Confirmed != confirmed[[2]string{one.Route, one.Field}] {
			t.Errorf("%s of %s: confirmed %v", one.Field, one.Route, one.Confirmed)
		}
	}
	field := s.get(fieldPath(sure.Route, sure.Field))
	if strings.Contains(field, "Suggested rule") {
		t.Error("the page of a confirmed field suggests a rule for it")
	}

	preview := link(t, page, "/rules?draft=-+")
	trial := s.get(preview)
	mustHold(t, "the trial", trial, "body.seen_at", "body.made_at", "body.left_at", "Add these 3 rules")
	target, err := url.Parse(preview)
	if err != nil {
		t.Fatal(err)
	}
	form := url.Values{"draft": {target.Query().Get("draft")}}
	if a := s.do(http.MethodPost, "/rules", form.Encode(), "Content-Type: application/x-www-form-urlencoded"); a.status != http.StatusOK {
		t.Fatal(a.status, a.body)
	}
	if n := len(s.listed()); n != 3 {
		t.Errorf("%d rules are in force, want 3", n)
	}
}

// A route that is different says in which field, and leads there.
func TestARouteSaysWhyItIsDifferent(t *testing.T) {
	s := openShop(t, nil)
	s.crowd(1500)
	page := s.get("/")
	for _, v := range s.db.Snapshot().Verdict.Routes {
		if v.Word != diff.Different || len(v.Differences) == 0 || !v.Differences[0].Confirmed {
			continue
		}
		row := routeRowOf(v, 1)
		mustHold(t, *v.Route, page, fmt.Sprintf(`for <a class="num" href="%s"><code>%s</code></a>`, row.Path, row.Because))
		if row.Confirmed > 1 {
			mustHold(t, *v.Route, page, fmt.Sprintf(`%d confirmed</a>`, row.Confirmed))
		}
	}
}

// A span of time is the chart's alone, and the page says so.
func TestASpanSaysWhatItIsOf(t *testing.T) {
	r := newRig(t, shop("1"), shop("2"), nil)
	r.ask(20, "/products/1")
	const says = "All other numbers on this page are of the whole run"
	for _, path := range []string{"/", routePath("GET /products/{id}")} {
		mustHold(t, path, r.get(path+"?since=1h"), says)
		if strings.Contains(r.get(path), says) {
			t.Errorf("%s says so without a span", path)
		}
	}
}

// Without a secondary nothing is said of a control, on any page, but that there is none.
func TestWithoutASecondary(t *testing.T) {
	r := newRig(t, shop("1"), shop("2"), nil)
	cfg := r.cfg
	cfg.Secondary = ""
	deliver := func(ex *multicast.Exchange) {
		r.db.Record(r.run.Load(), r.comparer.Compare(ex))
		r.delivered <- struct{}{}
	}
	if err := r.proxy.Reconfigure(cfg, func() (multicast.Deliver, error) { return deliver, nil }); err != nil {
		t.Fatal(err)
	}
	r.ask(40, "/products/1")
	route := "GET /products/{id}"
	const dash = `title="There is no control: no secondary was asked`
	for _, path := range []string{"/", "/?since=1h", routePath(route), fieldPath(route, "body.price"), "/fields", "/runs/current"} {
		page := r.get(path)
		mustHold(t, path, page, dash)
		for _, wrong := range []string{"control 0<", "control alone 0", "control alone <a"} {
			if strings.Contains(page, wrong) {
				t.Errorf("%s says %q", path, wrong)
			}
		}
	}
	for _, path := range []string{"/api/v1/equivalence", "/api/v1/equivalence?since=1h", "/api/v1/routes", "/api/v1/runs/current"} {
		if text := r.get(path); !strings.Contains(text, `"noise_rate":null`) {
			t.Errorf("%s: %s", path, text)
		}
	}
	mustHold(t, "the verdict", r.get("/"), "Without a secondary nothing tells how much of it is noise", "there is no latency to hold the candidate&#39;s against")
	sample := r.get("/samples/1")
	mustHold(t, "a sample", sample, "<i>not asked</i>", `class="compare doc heads-table no-control"`)
	if strings.Contains(r.get(fieldPath(route, "body.price")), `<span class="cell control" data-role="control">`) {
		t.Error("a control that was not asked has a value")
	}
	kept, _, err := r.db.Samples(t.Context(), store.Filter{Run: r.run.Load(), Limit: 1})
	if err != nil || len(kept) != 1 || len(placesViewOf(kept[0])) == 0 {
		t.Fatalf("%d samples that differ: %v", len(kept), err)
	}
	for _, p := range placesViewOf(kept[0]) {
		if c := p.Cells()[control]; !c.Absent || c.Missing != "not asked" || c.Before+c.In+c.End != "" {
			t.Errorf("at %s the control has %+v", p.Field, c)
		}
	}
	whole := newRig(t, shop("1"), shop("2"), nil)
	whole.ask(10, "/products/1")
	if text := whole.get("/api/v1/equivalence"); !strings.Contains(text, `"noise_rate":1`) {
		t.Errorf("with a secondary: %s", text)
	}
}

// For whom is it broken? Where the path alone tells, the page of the field says it.
func TestThePathIsToldOnThePage(t *testing.T) {
	lot := atomic.Int64{}
	sell := func(broken bool) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			price := "10"
			if broken && (strings.HasSuffix(r.URL.Path, "/17") || strings.HasSuffix(r.URL.Path, "/23")) {
				price = "11"
			}
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"price":%s,"lot":%d}`, price, lot.Add(1))
		}
	}
	r := newRig(t, sell(false), sell(true), nil)
	r.comparer.Profile(r.db.Redactor)
	for id := range 60 {
		r.ask(2, fmt.Sprintf("/products/%d", id))
	}
	for range 10 {
		r.ask(1, "/products/17")
		r.ask(1, "/products/23")
	}
	page := r.get(fieldPath("GET /products/{id}", "body.price"))
	mustHold(t, "the field", page, "All 24 have <code>{id}</code> = <code>17</code> or <code>23</code>; none of the 116 others.", `title="path.2">{id}`, "the varying segments of its path")
	answer := into[attributesAnswer](t, r.get("/api/v1/attributes?field=body.price&route="+url.QueryEscape("GET /products/{id}")))
	if best := answer.Separation.Best[0]; best.Is != "one_of" || best.Value != nil || len(best.Values) != 2 || best.Part != "{id}" {
		t.Errorf("%+v", best)
	}
}

// Numbers that count values lead to the samples that have them; at a field also those that agree are listed.
func TestSamplesWithAValue(t *testing.T) {
	r := newRig(t, market(10.25), market(10), nil)
	r.comparer.Profile(r.db.Redactor)
	r.ask(30, "/price?currency=EUR")
	r.ask(10, "/price")
	with := samplesWithPath("GET /price", "body.price", "10", candidate)
	mustHold(t, "the field", html.UnescapeString(r.get(fieldPath("GET /price", "body.price"))), with)
	mustHold(t, "the samples", r.get(with), "in which candidate had <code>10</code> at <code>body.price</code>", "<td></td><th>Request</th>")
	count := func(query string) int {
		var items list[sampleItem]
		decode(t, r.get("/api/v1/samples?route=GET+/price&field=body.price&limit=500&"+query), &items)
		return len(items.Items)
	}
	differing := count("")
	for query, want := range map[string]int{
		"value=10": differing, "value=10&role=candidate": differing, "value=10&role=primary": 0, "value=10.25&role=secondary": differing, "value=7": 0,
	} {
		if got := count(query); got != want || differing == 0 {
			t.Errorf("%s: %d, want %d", query, got, want)
		}
	}
	if n := count("at_field=agree"); n == 0 {
		t.Error("none that agrees is listed")
	}
	mustHold(t, "those that agree", r.get(samplesPath("GET /price", "body.price", "agree")), "of <b>10</b>")
	for _, query := range []string{"value=1", "field=a&role=primary", "field=a&value=1&role=control", "field=a&value=1&at_field=agree"} {
		if a := r.do(http.MethodGet, "/api/v1/samples?"+query, ""); a.status != http.StatusBadRequest {
			t.Errorf("%s: %d", query, a.status)
		}
	}
}

// What is recorded, and what of it was lost, is among what the instance says of itself.
func TestRecordingIsTold(t *testing.T) {
	lost := map[multicast.Reason]int64{multicast.ReasonQueue: 15, multicast.ReasonDisk: 5}
	row := recordRow("/var/lib/tape", &multicast.RecordCounts{Sampled: 120, Written: 100, Dropped: lost})
	if want := "100 of 120 requests recorded in /var/lib/tape. Not recorded: disk 5, queue 15."; row.Text != want || !row.Bad || row.Word != "losing" {
		t.Errorf("%+v, want %q", row, want)
	}
	if row := recordRow("/t", &multicast.RecordCounts{Sampled: 1, Written: 1}); row.Bad || row.Text != "1 of 1 request recorded in /t." {
		t.Errorf("%+v", row)
	}
}
