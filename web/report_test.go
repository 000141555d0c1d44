package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"shadowdiff/diff"
	"shadowdiff/store"
)

// A report stands alone: what it needs is in it, nothing in it can run, and its policy lets through just its own style.
func TestAReportStandsAlone(t *testing.T) {
	r := newRig(t, shop("1"), shop(`"<script>alert(1)</script>"`), nil)
	r.ask(60, "/products/1?token=s3cret")
	a := r.do(http.MethodGet, "/api/v1/report", "", "Accept: text/html")
	if a.status != http.StatusOK || !strings.HasPrefix(a.header.Get("Content-Type"), "text/html") {
		t.Fatalf("%d %s %s", a.status, a.header.Get("Content-Type"), a.body)
	}
	mustHold(t, "the report", a.body, "The candidate differs: ", "shadowdiff report on v2.3.1", "GET /products/{id}", "body.price",
		"&lt;script&gt;alert(1)&lt;/script&gt;", r.admin.URL+"/fields/", "budget 0.1%", "Judged with", "Made 20")
	for _, never := range []string{"<script", " style=", "src=", "@import", "url(", "s3cret", `<link`} {
		if strings.Contains(a.body, never) {
			t.Errorf("the report holds %q", never)
		}
	}
	want := "default-src 'none'; style-src 'sha256-" + styleDigest([]byte(a.body)) + "'"
	if got := a.header.Get("Content-Security-Policy"); !strings.HasPrefix(got, want) || strings.Count(a.body, "<style>") != 1 {
		t.Errorf("policy %s, want %s", got, want)
	}
	if got := a.header.Get("Content-Disposition"); got != `inline; filename="shadowdiff-run-1.html"` {
		t.Errorf("to be saved as %s", got)
	}
}

func TestAReportIsJSONWhereThatIsAskedFor(t *testing.T) {
	r := newRig(t, shop("1"), shop("2"), nil)
	blank := r.get("/api/v1/report?format=html")
	mustHold(t, "an empty page", blank, "Nothing has been compared yet.", "not known yet", "none so far", "None so far.")
	if strings.Contains(blank, "100\u202f%") {
		t.Error("a report on nothing says 100 %")
	}
	empty := r.get("/api/v1/report?format=json")
	mustHold(t, "an empty report", empty, `"examples":[]`, `"routes":[]`, `"differences":[]`, `"verdict":"undecided"`, "Nothing has been compared yet.")
	r.ask(60, "/products/1")
	for _, text := range []string{r.get("/api/v1/report?format=json"), r.get("/api/v1/report", "Accept: application/json")} {
		var rep struct {
			Version  int
			Sentence string
			Page     string
			Verdict  diff.Word
			Run      store.Run
			Compared int64
			Examples []struct {
				Route, Field, Primary, Secondary, Candidate string
			}
			Routes        []struct{ Verdict diff.Word }
			Counters      struct{ Requests int64 }
			Configuration struct {
				Sample  string
				Verdict struct{ Budget string }
			}
		}
		decode(t, text, &rep)
		if rep.Version != 1 || rep.Verdict != diff.Different || rep.Compared != 60 || len(rep.Routes) != 1 || rep.Page != r.admin.URL+"/" ||
			rep.Counters.Requests != 60 || rep.Configuration.Sample != "100%" || rep.Configuration.Verdict.Budget != "0.1%" || rep.Run.Name != "v2.3.1" {
			t.Errorf("%s", text)
		}
		found := false
		for _, e := range rep.Examples {
			found = found || e.Field == "body.price" && e.Primary == "1" && e.Secondary == "1" && e.Candidate == "2"
		}
		if !found {
			t.Errorf("no example of the price in %s", text)
		}
	}
	if a := r.do(http.MethodGet, "/api/v1/report?format=pdf", ""); a.status != http.StatusBadRequest {
		t.Errorf("as PDF: %d %s", a.status, a.body)
	}
	if a := r.do(http.MethodGet, "/api/v1/report?run=none", ""); a.status != http.StatusNotFound {
		t.Errorf("of a run that is none: %d %s", a.status, a.body)
	}
}

// However much was measured, the report stays below 1 MiB and says what it leaves out.
func TestAReportIsBounded(t *testing.T) {
	r := newRig(t, shop("1"), shop("2"), nil)
	at := time.Now()
	v := &diff.Verdict{Word: diff.Different, Compared: 1e6, Budget: 0.001, Alpha: 0.05, Reasons: []string{"it is"}}
	for i := range 1300 {
		name := fmt.Sprintf("GET /%s/%d/&<>", strings.Repeat("long", 60), i)
		v.Routes = append(v.Routes, &diff.Verdict{Route: &name, Word: diff.Undecided, Compared: 1000, ExcessBounds: [2]float64{-1, 1}})
		v.Differences = append(v.Differences, diff.Finding{
			Route: name, Field: "body." + strings.Repeat("y", 4000), Confirmed: true, ConfirmedAt: &at, ConfirmedOn: 20, Compared: 1000, CandidateOnly: 20,
		})
		v.NotJudged = append(v.NotJudged, diff.NotJudged{Route: name, Field: "body.noise", Compared: 1000, NoiseRate: 1})
	}
	rep, err := r.server.reportOf(t.Context(), &store.Snapshot{Tallies: &diff.Tallies{}, Verdict: v}, "http://127.0.0.1:8881")
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	if err := r.server.writeReport(w, rep); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(rep)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes of HTML, %d of JSON", w.Body.Len(), len(text))
	if max(w.Body.Len(), len(text)) > 1<<20 {
		t.Errorf("%d bytes of HTML, %d of JSON", w.Body.Len(), len(text))
	}
	if rep.LeftOut != (reportLeftOut{Differences: 1100, Routes: 300, NotJudged: 1100}) {
		t.Errorf("left out %+v", rep.LeftOut)
	}
	for _, said := range []string{"And 1,100 more, which", "And 300 more with less traffic", "And 1,100 more fields and routes"} {
		if !regexp.MustCompile(said).MatchString(w.Body.String()) {
			t.Errorf("it does not say %q", said)
		}
	}
}
