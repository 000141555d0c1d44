package web

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"regexp"
	"strings"
	"testing"
)

func link(t *testing.T, page, prefix string) string {
	t.Helper()
	found := regexp.MustCompile(`href="(` + regexp.QuoteMeta(prefix) + `[^"]+)"`).FindStringSubmatch(page)
	if found == nil {
		t.Fatalf("no link to %s… on the page:\n%s", prefix, excerpt(page))
	}
	return found[1]
}

// From the verdict to the values, as a person goes.
func TestFromTheVerdictToTheProof(t *testing.T) {
	r := newRig(t, shop("10.50"), shop("10.51"), nil)
	r.ask(60, "/products/17")

	overview := r.get("/")
	mustHold(t, "overview", overview, "different", "The candidate differs: 1 confirmed difference that noise does not explain.",
		">60 of 60</a>, control ", "GET /products/{id}", "<title>● different · shadowdiff</title>", "body.price", "run <b>v2.3.1</b>")

	field := r.get(fieldPath("GET /products/{id}", "body.price"))
	if !strings.Contains(overview, `href="`+fieldPath("GET /products/{id}", "body.price")+`"`) {
		t.Error("the overview does not lead to the confirmed field")
	}
	mustHold(t, "field", field, "The candidate has another value here. Confirmed after ", "10.50", "10.5<mark>1</mark>",
		"60</a></b><span>candidate only", "ln E = ", "kept of 60")

	sample := r.get(link(t, field, "/samples/"))
	mustHold(t, "sample", sample, "The candidate alone has 10.51 at body.price, where the primary has 10.50. 1 other difference is noise.",
		"/products/17", "candidate differs", "equal lines: id and tags", "<h3>control", "200")

	route := r.get(link(t, overview, "/routes/"))
	mustHold(t, "route", route, "GET /products/{id}", "body.price", "body.served", "1 confirmed", "60 requests</a> compared", "p99")
}

// A page is the same function as the fragment that replaces it.
func TestFragmentIsThePagesLivePart(t *testing.T) {
	r := newRig(t, shop("1"), shop("2"), nil)
	r.ask(40, "/products/1")
	for _, at := range []string{"/", routePath("GET /products/{id}"), fieldPath("GET /products/{id}", "body.price"), "/samples/1"} {
		page, fragment := r.get(at), r.get(at, "HX-Request: true")
		head, live, found := strings.Cut(fragment, "</title>\n")
		if !found || !strings.Contains(page, head+"</title>") || !strings.Contains(page, strings.TrimSpace(live)) {
			t.Errorf("%s: the fragment is not the live part of the page\npage: %.300s\nfragment: %.300s", at, page, fragment)
		}
	}
}

// Nothing is loaded from elsewhere and nothing is run inline, on any page.
func TestPagesStandAlone(t *testing.T) {
	r := newRig(t, shop("1"), shop("2"), nil)
	r.ask(40, "/products/1")
	inline := regexp.MustCompile(`(?i)<style|\sstyle\s*=|\son[a-z]+\s*=|javascript:|<script(?:\s+[^>]*)?>[^<]`)
	loads := regexp.MustCompile(`(?:src|href|action|hx-[a-z:]+)="([^"]*)"`)
	for _, at := range []string{
		"/", routePath("GET /products/{id}"), fieldPath("GET /products/{id}", "body.price"), "/samples/1", "/samples/999", "/nowhere",
	} {
		a := r.do(http.MethodGet, at, "", "Accept: text/html")
		if got := a.header.Get("Content-Security-Policy"); got != policy || strings.Contains(policy, "unsafe") {
			t.Errorf("%s: policy %q", at, got)
		}
		for _, name := range []string{"X-Content-Type-Options", "Referrer-Policy", "X-Frame-Options"} {
			if a.header.Get(name) == "" {
				t.Errorf("%s: no %s", at, name)
			}
		}
		if found := inline.FindString(a.body); found != "" {
			t.Errorf("%s: inline %q", at, found)
		}
		for _, m := range loads.FindAllStringSubmatch(a.body, -1) {
			if strings.Contains(m[1], "//") {
				t.Errorf("%s leads away from this listener: %q", at, m[0])
			}
		}
		mustHold(t, at, a.body, `"includeIndicatorCSS":false`)
	}
}

// Every static file that a page names exists, and may be kept for ever.
func TestStaticFilesAreThere(t *testing.T) {
	r := newRig(t, shop("1"), shop("1"), nil)
	for _, m := range regexp.MustCompile(`(?:src|href)="(/static/[^"]+)"`).FindAllStringSubmatch(r.get("/"), -1) {
		a := r.do(http.MethodGet, m[1], "")
		if a.status != http.StatusOK {
			t.Errorf("%s: %d", m[1], a.status)
		}
		if strings.Contains(m[1], "?v=") && !strings.Contains(a.header.Get("Cache-Control"), "immutable") {
			t.Errorf("%s: Cache-Control %q", m[1], a.header.Get("Cache-Control"))
		}
	}
	if a := r.do(http.MethodGet, "/static/vendor/", ""); a.status != http.StatusNotFound {
		t.Errorf("a listing of files: %d", a.status)
	}
}

func TestVendoredFilesAreUnchanged(t *testing.T) {
	sums, err := staticFiles.ReadFile("static/vendor/SHA256SUMS")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]string{}
	for line := range strings.Lines(string(sums)) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		listed[name] = sum
	}
	err = fs.WalkDir(staticFiles, "static/vendor", func(at string, d fs.DirEntry, err error) error {
		name := path.Base(at)
		if err != nil || d.IsDir() || name == "SHA256SUMS" || name == "README.md" {
			return err
		}
		body, err := staticFiles.ReadFile(at)
		if err != nil {
			return err
		}
		digest := sha256.Sum256(body)
		if got := hex.EncodeToString(digest[:]); got != listed[name] {
			t.Errorf("%s: %s, listed as %q", name, got, listed[name])
		}
		delete(listed, name)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range listed {
		t.Errorf("%s is listed and not there", name)
	}
}

// What traffic brings is text, wherever it is shown: in a route, a field, a value, a header, a target.
func TestHostileNamesStayText(t *testing.T) {
	const bad = `<script>alert(1)</script>`
	hostile := func(value string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("X-Note", `"><img src=x onerror=alert(1)>`+value)
			_, _ = w.Write([]byte(`{"` + bad + `":"` + bad + value + `","'\"onmouseover=alert(2)":"` + value + `"}`))
		}
	}
	r := newRig(t, hostile("a"), hostile("b"), nil)
	r.ask(40, "/"+url.PathEscape(bad)+"?q="+url.QueryEscape(bad))

	pages := []string{"/", "/samples/1"}
	for _, found := range regexp.MustCompile(`href="(/(?:routes|fields)/[^"]+)"`).FindAllStringSubmatch(r.get("/"), -1) {
		pages = append(pages, found[1])
	}
	if len(pages) < 5 {
		t.Fatalf("only %v to look at", pages)
	}
	for _, at := range pages {
		page := r.get(at)
		if strings.Contains(page, "<script>") || strings.Contains(page, "<img") || strings.Contains(page, `"onmouseover`) {
			t.Errorf("%s holds what traffic brought as markup", at)
		}
	}
	mustHold(t, "overview", r.get("/"), "&lt;script&gt;")
}

// An empty store shows three steps with this instance's addresses, and ticks them off.
func TestEmptyStoreLeadsToTheFirstVerdict(t *testing.T) {
	r := newRig(t, shop("1"), shop("1"), nil)
	mustHold(t, "empty overview", r.get("/"), "Nothing has been compared yet.", "curl -i http://127.0.0.1:8880/",
		r.now().Targets.Candidate, r.now().Targets.Secondary)
	for _, list := range []string{"/fields", "/samples"} {
		mustHold(t, "empty "+list, r.get(list), "Nothing has been compared in this run yet.", "curl -i http://127.0.0.1:8880/")
	}
	mustHold(t, "one run", r.get("/runs"), r.admin.URL+"/api/v1/runs")
	if page := r.get("/runs"); strings.Contains(page, ">Compare</th>") {
		t.Error("one run is offered to be compared")
	}
	resp, err := http.Post(r.front.URL+"/orders", "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	mustHold(t, "after a POST", r.get("/"), `<li class="done">`, "1 of 1 request so far skipped as “method”")
	r.ask(1, "/products/1")
	if page := r.get("/"); strings.Contains(page, "Nothing has been compared yet.") {
		t.Errorf("the steps stay after the first comparison:\n%s", excerpt(page))
	}
}

// A candidate that equals the control keeps the verdict undecided, and the page says what is missing.
func TestUndecidedSaysWhatIsMissing(t *testing.T) {
	r := newRig(t, shop("1"), shop("1"), nil)
	r.ask(30, "/products/1")
	mustHold(t, "overview", r.get("/"), "◐ undecided", "No difference is confirmed.", "more requests would prove the excess to be at most 0.1\u202f%",
		"Nothing is confirmed.", "body.served")
}

func TestPagesThatAreNotThere(t *testing.T) {
	r := newRig(t, shop("1"), shop("1"), nil)
	r.ask(1, "/products/1")
	for at, says := range map[string]string{
		"/samples/4711":                "sample 4711 is not kept any more",
		"/samples/x":                   "is not a sample",
		"/routes/!!":                   "not the address of a route",
		routePath("GET /product/{id}"): "did you mean &#34;GET /products/{id}&#34;?",
		fieldPath("GET /products/{id}", "body.none"): "body.none of route GET /products/{id} has not differed",
	} {
		a := r.do(http.MethodGet, at, "", "Accept: text/html")
		if a.status != http.StatusNotFound {
			t.Errorf("%s: %d", at, a.status)
		}
		mustHold(t, at, a.body, says, "Overview")
	}
}

func TestTheme(t *testing.T) {
	r := newRig(t, shop("1"), shop("1"), nil)
	form := url.Values{"theme": {"dark"}, "back": {"/"}}.Encode()
	a := r.do(http.MethodPost, "/theme", form, "Content-Type: application/x-www-form-urlencoded")
	mustHold(t, "after the choice", a.body, `<html lang="en" class="dark">`)
	away := url.Values{"theme": {"light"}, "back": {"//elsewhere.example"}}.Encode()
	r.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	a = r.do(http.MethodPost, "/theme", away, "Content-Type: application/x-www-form-urlencoded")
	if a.status != http.StatusSeeOther || a.header.Get("Location") != "/" {
		t.Errorf("sent to %q with %d", a.header.Get("Location"), a.status)
	}
	if a = r.do(http.MethodPost, "/theme", "theme=neon", "Content-Type: application/x-www-form-urlencoded"); a.status != http.StatusBadRequest {
		t.Errorf("a theme that is none: %d", a.status)
	}
}

// Under a path of a reverse proxy every link keeps the path, whether the proxy strips it or not.
func TestBelowAPath(t *testing.T) {
	r := newRig(t, shop("1"), shop("2"), func(c *Config) { c.BaseURL = "https://ops.example.com/diff/" })
	r.ask(40, "/products/1")
	for _, at := range []string{"/diff/", "/"} {
		page := r.get(at, "Host: ops.example.com")
		for _, m := range regexp.MustCompile(`(?:src|href|action|hx-get|hx-post)="([^"]*)"`).FindAllStringSubmatch(page, -1) {
			if !strings.HasPrefix(m[1], "/diff/") && !strings.HasPrefix(m[1], "#") { // a place on the page is no path
				t.Errorf("%s: %q leaves the path", at, m[0])
			}
		}
	}
	mustHold(t, "field below a path", r.get("/diff"+fieldPath("GET /products/{id}", "body.price"), "Host: ops.example.com"), "body.price")
	var routes list[routeShape]
	decode(t, r.get("/diff/api/v1/routes"), &routes)
	if want := "/diff" + routePath("GET /products/{id}"); routes.Items[0].Page != want {
		t.Errorf("page of the route: %q, want %q", routes.Items[0].Page, want)
	}
}

// Each page is quickly made, also for a screen reader: one h1, and drawings that have words.
func TestPagesHaveOneHeading(t *testing.T) {
	r := newRig(t, shop("1"), shop("2"), nil)
	r.ask(40, "/products/1")
	for _, at := range []string{"/", routePath("GET /products/{id}"), fieldPath("GET /products/{id}", "body.price"), "/samples/1"} {
		page := r.get(at)
		if n := strings.Count(page, "<h1"); n != 1 {
			t.Errorf("%s has %d h1", at, n)
		}
		for _, svg := range regexp.MustCompile(`<svg[^>]*>`).FindAllString(page, -1) {
			if !strings.Contains(svg, "aria-hidden") && !strings.Contains(svg, "aria-label") {
				t.Errorf("%s: a drawing without words: %s", at, svg)
			}
		}
	}
}

// A handler that fails answers with a page, and the log alone learns why.
func TestInnerFailureIsNotShown(t *testing.T) {
	r := newRig(t, shop("1"), shop("1"), nil)
	w := httptest.NewRecorder()
	broken := r.server.page(func(http.ResponseWriter, *http.Request) error { return http.ErrBodyNotAllowed })
	broken(w, httptest.NewRequest(http.MethodGet, "/", nil))
	if w.Code != http.StatusInternalServerError || strings.Contains(w.Body.String(), http.ErrBodyNotAllowed.Error()) {
		t.Errorf("%d: %s", w.Code, excerpt(w.Body.String()))
	}
}
