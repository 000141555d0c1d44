package web

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// headOfPage is the first line of a page as a person reads it, without what opens on request.
func headOfPage(t *testing.T, page string) string {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	var walk func(n *html.Node, in bool)
	walk = func(n *html.Node, in bool) {
		for _, a := range n.Attr {
			if a.Key == "aria-hidden" {
				return
			}
		}
		in = in || n.Data == "h1"
		if in && n.Type == html.TextNode {
			b.WriteString(n.Data)
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c, in)
		}
	}
	walk(doc, false)
	return strings.Join(strings.Fields(b.String()), " ")
}

// rowsOf counts the rows that a list shows.
func rowsOf(page string) int { return strings.Count(page, "<tr data-row") }

// A list of samples says how many are kept of how many were counted, and both are what the API says.
func TestListsOfSamplesCountAsTheAPI(t *testing.T) {
	r := newRig(t, shop("10.50"), shop("10.51"), nil)
	r.ask(60, "/products/17")
	route := "GET /products/{id}"
	for _, tc := range []struct{ path, want string }{
		{samplesPath("", "", ""), "of 60 requests that were compared"},
		{samplesPath(route, "", "candidate_only"), "of 60 requests in which the candidate alone differed of " + route},
		{samplesPath(route, "", "agree"), "0 kept of 0 requests in which all three agreed of " + route},
		{samplesPath(route, "body.price", "candidate_only"), "of 60 requests in which the candidate alone differed at body.price of " + route},
		{samplesPath(route, "body.price", "candidate"), "of 60 requests in which the candidate differed at body.price of " + route},
		{samplesPath(route, "body.price", "both"), "0 kept of 0 requests in which candidate and control both differed at body.price"},
		{samplesPath("", "body.served", "both"), "of 60 requests in which candidate and control both differed at body.served"},
		{samplesPath(route, "body.served", "control_only"), "0 kept of 0 requests in which the control alone differed at body.served"},
	} {
		glue := "?"
		if strings.Contains(tc.path, "?") {
			glue = "&"
		}
		page := r.get(tc.path + glue + "limit=500")
		var listed list[sampleItem]
		decode(t, r.get("/api/v1"+tc.path+glue+"limit=500"), &listed)
		head := headOfPage(t, page)
		if !strings.Contains(head, tc.want) || !strings.HasPrefix(head, fmt.Sprintf("%d kept", len(listed.Items))) {
			t.Errorf("%s: %q, want %q; the API lists %d", tc.path, head, tc.want, len(listed.Items))
		}
		if rowsOf(page) != len(listed.Items) {
			t.Errorf("%s: %d rows, the API lists %d", tc.path, rowsOf(page), len(listed.Items))
		}
	}
}

// Pages of a list show each sample once.
func TestPagesOfSamplesFollowOneAnother(t *testing.T) {
	r := newRig(t, shop("1"), shop("2"), nil)
	r.ask(30, "/products/1")
	at, seen, pages := samplesPath("", "body.price", "candidate")+"&limit=4", map[string]int{}, 0
	for next := regexp.MustCompile(`href="([^"]+)" rel="next"`); at != ""; pages++ {
		page := r.get(at)
		for _, m := range regexp.MustCompile(`class="cover" href="(/samples/\d+)"`).FindAllStringSubmatch(page, -1) {
			seen[m[1]]++
		}
		at = ""
		if m := next.FindStringSubmatch(page); m != nil {
			at = html.UnescapeString(m[1])
		}
		if pages > 20 {
			t.Fatal("the pages do not end")
		}
	}
	var listed list[sampleItem]
	decode(t, r.get("/api/v1"+samplesPath("", "body.price", "candidate")+"&limit=500"), &listed)
	if len(seen) != len(listed.Items) || pages < 2 {
		t.Errorf("%d samples on %d pages, the API lists %d", len(seen), pages, len(listed.Items))
	}
	for at, times := range seen {
		if times != 1 {
			t.Errorf("%s is shown %d times", at, times)
		}
	}
}

// What is asked wrongly is refused with what to do, and what is empty says why.
func TestListsSayWhatIsWrong(t *testing.T) {
	r := newRig(t, shop("1"), shop("2"), nil)
	if page := r.get("/samples"); !strings.Contains(page, "Nothing has been compared in this run yet.") {
		t.Errorf("an empty store: %s", excerpt(page))
	}
	r.ask(20, "/products/1")
	for path, want := range map[string]string{
		"/samples?at_field=both":                 "at_field=both is of a field: give field, too",
		"/samples?field=body.price&test=drift":   "test=drift leans over many requests",
		"/samples?result=candidate-only":         "did you mean",
		"/samples?nothing=1":                     "unknown parameter",
		"/samples?cursor=zzz":                    "was not given out by a page before",
		"/samples?run=nope":                      "there is no run",
		"/fields?standing=certain":               "give confirmed, suspected or noise",
		"/fields?sort=size":                      "give ",
		"/fields?since=5m":                       "unknown parameter",
		"/samples?since=2026-13-01":              "give a time such as",
		"/fields/" + routeID("x") + "?no_such=1": "not the address of a field",
	} {
		a := r.do(http.MethodGet, path, "", "Accept: text/html")
		if a.status < 400 || a.status >= 500 || !strings.Contains(html.UnescapeString(a.body), want) {
			t.Errorf("%s: %d, want %q: %s", path, a.status, want, excerpt(a.body))
		}
	}
	for path, want := range map[string]string{
		"/samples?route=GET+%2Fproduct%2F%7Bid%7D": "did you mean",
		"/samples?field=body.prise":                "No compared request did that.",
		"/samples?until=2020-01-01T00:00:00Z":      "No kept sample meets all of these filters.",
		"/fields?q=zzz":                            "meets these filters",
	} {
		mustHold(t, path, html.UnescapeString(r.get(path)), want)
	}
}

// One row a field, as many as the verdict has differences, and as many of each standing as it is said.
func TestListOfFieldsIsTheVerdicts(t *testing.T) {
	r := newRig(t, shop("1"), shop("2"), nil)
	r.ask(60, "/products/1")
	v := r.db.Snapshot().Verdict
	counts := map[string]int{}
	for i := range v.Differences {
		counts[foundField{Finding: &v.Differences[i]}.standing()]++
	}
	if page := r.get("/fields"); rowsOf(page) != len(v.Differences) {
		t.Errorf("%d rows, the verdict has %d differences", rowsOf(page), len(v.Differences))
	}
	for _, standing := range []string{"confirmed", "suspected", "noise"} {
		page := r.get(fieldsOfPath("GET /products/{id}", standing))
		if rowsOf(page) != counts[standing] || !strings.HasPrefix(headOfPage(t, page), fmt.Sprint(counts[standing])) {
			t.Errorf("%s: %d rows, want %d: %s", standing, rowsOf(page), counts[standing], headOfPage(t, page))
		}
	}
	if counts["confirmed"] == 0 || counts["noise"] == 0 {
		t.Errorf("nothing is told: %v", counts)
	}
}

// The values of a field's page are counted over all requests, the kept ones apart; an earlier run has its page, too.
func TestFieldTellsValuesAndRequests(t *testing.T) {
	known := func(currency map[string]string) http.HandlerFunc {
		return func(w http.ResponseWriter, q *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"price":%s}`, currency[q.URL.Query().Get("currency")])
		}
	}
	r := newRig(t, known(map[string]string{"EUR": "10.5", "USD": "12"}), known(map[string]string{"EUR": "10", "USD": "12"}), nil)
	r.comparer.Profile(r.db.Redactor)
	r.ask(30, "/products/1?currency=EUR")
	r.ask(40, "/products/1?currency=USD")
	at := fieldPath("GET /products/{id}", "body.price")
	page := r.get(at)
	mustHold(t, "field", page, "All 30 have <code>currency=EUR</code>; none of the 40 others.", "Counted over the 30 requests in which this field differed",
		`<code>10.5</code>`, `30<svg class="share candidate"`, "30 of 70 requests", "at_field=candidate", "/rules?draft=", "Draft this rule")
	if len(page) > 300<<10 {
		t.Errorf("%d bytes", len(page))
	}
	first := r.db.Snapshot().Run
	r.begin("v2.3.2", "others")
	r.ask(1, "/products/1?currency=USD")
	if a := r.do(http.MethodGet, at, "", "Accept: text/html"); a.status != http.StatusNotFound {
		t.Errorf("in the run in force it has not differed: %d", a.status)
	}
	before := r.get(at + "?run=" + fmt.Sprint(first.ID))
	mustHold(t, "field of the run before", before, "All 30 have <code>currency=EUR</code>", "run="+fmt.Sprint(first.ID))
}
