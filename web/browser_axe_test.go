package web

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"
)

const axeFolder = "testdata/axe"

// readAxe is axe-core's source.
func readAxe(t *testing.T) string {
	t.Helper()
	files, err := os.ReadDir(axeFolder)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if path.Ext(f.Name()) == ".js" {
			b, err := os.ReadFile(path.Join(axeFolder, f.Name()))
			if err != nil {
				t.Fatal(err)
			}
			return string(b)
		}
	}
	t.Fatalf("no script in %s", axeFolder)
	return ""
}

func TestAxeIsUnchanged(t *testing.T) {
	sums, err := os.ReadFile(path.Join(axeFolder, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]string{}
	for line := range strings.Lines(string(sums)) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		listed[name] = sum
	}
	files, err := os.ReadDir(axeFolder)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if f.Name() == "SHA256SUMS" || f.Name() == "README.md" {
			continue
		}
		b, err := os.ReadFile(path.Join(axeFolder, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		digest := sha256.Sum256(b)
		if got := hex.EncodeToString(digest[:]); got != listed[f.Name()] {
			t.Errorf("%s: %s, listed as %q", f.Name(), got, listed[f.Name()])
		}
		delete(listed, f.Name())
	}
	for name := range listed {
		t.Errorf("%s is listed and not there", name)
	}
}

// axeRule is one rule that a page breaks, with where it does.
type axeRule struct {
	ID    string `json:"id"`
	Help  string `json:"help"`
	Nodes []struct {
		HTML    string `json:"html"`
		Target  string `json:"target"`
		Summary string `json:"summary"`
	} `json:"nodes"`
}

// audit runs all of axe-core's rules over the page as it stands, and answers what is broken there, a line for each place. The source is
// given to the browser itself: the page's policy lets no script in.
func (b *tab) audit(axe string) (broken []string) {
	b.t.Helper()
	eval[bool](b, fmt.Sprintf(`typeof axe === "object" || (() => { %s; return true })()`, axe))
	found := eval[string](b, `axe.run(document, {preload: false, resultTypes: ["violations"]}).then((r) => JSON.stringify(r.violations.map((v) => ({id: v.id, help: v.help,
		nodes: v.nodes.slice(0, 4).map((n) => ({html: n.html.slice(0, 300), target: n.target.join(" "), summary: n.failureSummary}))}))))`)
	var list []axeRule
	if err := json.Unmarshal([]byte(found), &list); err != nil {
		b.t.Fatalf("axe: %v: %.300s", err, found)
	}
	for _, rule := range list {
		for _, n := range rule.Nodes {
			broken = append(broken, fmt.Sprintf("%s (%s)\n  at %s\n  %s\n  %s", rule.ID, rule.Help, n.Target, n.HTML, strings.ReplaceAll(n.Summary, "\n", "\n  ")))
		}
	}
	return broken
}

// pagePaths are the addresses of all pages that the router has, with one or more examples of each that names a thing, so
// that a page that is added is looked at without a word here, or the test says which word it needs.
func (s *toyShop) pagePaths() (paths []string) {
	s.t.Helper()
	holes, examples := regexp.MustCompile(`\{[^}]*\}`), s.examples()
	err := chi.Walk(s.server.handler.(chi.Routes), func(method, pattern string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		machine := slices.ContainsFunc([]string{"/api/", "/static/", "/healthz", "/readyz", "/metrics", "/openapi.yaml"}, func(p string) bool {
			return strings.HasPrefix(pattern, p)
		})
		if method != http.MethodGet || machine {
			return nil
		}
		if examples, known := examples[pattern]; known {
			paths = append(paths, examples...)
			return nil
		}
		if holes.MatchString(pattern) {
			s.t.Errorf("GET %s is no page that the browser tests know an example of: add one to examples", pattern)
			return nil
		}
		if a := s.do(http.MethodGet, pattern, "", "Accept: text/html"); a.status == http.StatusOK && strings.HasPrefix(a.header.Get("Content-Type"), "text/html") {
			paths = append(paths, pattern)
		}
		return nil
	})
	if err != nil || len(paths) < 4 {
		s.t.Fatalf("the router has %d pages: %v", len(paths), err)
	}
	return append(paths, "/nowhere", "/samples/4000000000")
}

// examples are pages whose address names a thing, by their pattern; of what there is none yet there is none.
func (s *toyShop) examples() map[string][]string {
	s.t.Helper()
	all := map[string][]string{
		"/routes/{id}": nil, "/fields/{id}": nil, "/samples/{id}": nil,
		// Parts of a sample's page, a file, and forms' addresses, which lead back to it.
		"/samples/{id}/lines": nil, "/samples/{id}/body": nil, "/samples/{id}/ask": nil, "/samples/{id}/shrink": nil,
	}
	var samples list[sampleItem]
	s.decode(s.get("/api/v1/samples?result=candidate_only&limit=1"), &samples)
	for _, item := range samples.Items {
		all["/samples/{id}"] = append(all["/samples/{id}"], samplePath(item.ID))
	}
	for _, route := range s.db.Snapshot().Tallies.Routes {
		if route.Route == "GET /products/{id}" {
			all["/routes/{id}"] = append(all["/routes/{id}"], routePath(route.Route))
		}
	}
	for _, f := range s.db.Snapshot().Tallies.Fields {
		switch f.Route + " " + f.Field {
		case "GET /products/{id} body.price", "GET /products/{id} body.tags", "GET /search latency", "GET /products/{id} body.score":
			all["/fields/{id}"] = append(all["/fields/{id}"], fieldPath(f.Route, f.Field))
		}
	}
	runs := s.db.Snapshot().Run.ID
	all["/runs/{id}"] = []string{fmt.Sprintf("/runs/%d", runs)}
	all["/runs/{a}/compare/{b}"] = []string{fmt.Sprintf("/runs/1/compare/%d", runs)}
	return all
}

// tooSmall names headings that are no larger than those below them, or smaller than the text.
const tooSmall = `(() => {
	const size = (e) => parseFloat(getComputedStyle(e).fontSize);
	const shown = (tag) => [...document.querySelectorAll("main " + tag)].filter((e) => e.checkVisibility() && !e.classList.contains("hidden"));
	const most = (tags) => Math.max(0, ...tags.flatMap(shown).map(size));
	return [...shown("h1").filter((e) => size(e) <= most(["h2", "h3"])), ...shown("h2").filter((e) => size(e) <= Math.max(size(document.body), most(["h3"]))),
		...shown("h3").filter((e) => size(e) < size(document.body))].map((e) => e.tagName + " " + e.innerText + " of " + size(e) + "px").join("; ");
})()`

// audits looks at pages in every way: in both themes and in both widths.
func (s *toyShop) audits(b *tab, axe string, paths []string) {
	s.t.Helper()
	for _, at := range paths {
		b.watch(desk())
		b.visit(at)
		where := map[string][]string{}
		for _, l := range looks() {
			b.watch(l)
			for _, broken := range b.audit(axe) {
				where[broken] = append(where[broken], l.String())
			}
			if wide := eval[string](b, tooWide); wide != "" {
				b.t.Errorf("%s at %s is too wide: %s", at, l, wide)
			}
			if small := eval[string](b, tooSmall); small != "" {
				b.t.Errorf("%s at %s has headings that are no larger than what is below them: %s", at, l, small)
			}
		}
		for broken, looks := range where {
			b.t.Errorf("%s at %s: %s", at, strings.Join(looks, "; "), broken)
		}
		b.expect("/nowhere", "/samples/4000000000")
	}
}

// Nobody is kept from reading a page by how they read it: no rule of axe-core is broken on any page, in both themes and
// both widths, by much data, by none, where nothing may be changed, and of a run that is over.
func TestEveryPageIsForEveryone(t *testing.T) {
	axe, browser := readAxe(t), openBrowser(t)
	t.Run("empty", func(t *testing.T) {
		s := openShop(t, nil)
		s.audits(openTab(t, browser, s.admin.URL), axe, s.pagePaths())
	})
	s := openShop(t, nil)
	s.crowd(3000)
	s.pay(120)
	s.later("GET /products/{id}")
	t.Run("visited", func(t *testing.T) {
		s.as(t)
		s.audits(openTab(t, browser, s.admin.URL), axe, s.pagePaths())
	})
	t.Run("read only", func(t *testing.T) {
		s.as(t)
		cfg := DefaultConfig()
		cfg.ReadOnly = true
		_, admin := s.serve(cfg)
		s.audits(openTab(t, browser, admin.URL), axe, []string{"/", "/rules", "/runs", "/settings", s.examples()["/samples/{id}"][0]})
	})
	t.Run("a run that is over", func(t *testing.T) {
		s.as(t)
		var paths []string
		for _, at := range []string{"/", "/fields", "/samples", routePath("GET /checkout"), fieldPath("GET /checkout", "body.total")} {
			paths = append(paths, at+"?run=1")
		}
		if _, err := s.beginRun(t.Context(), RunBeginning{Actor: "api", Name: "v2.4.0"}); err != nil {
			t.Fatal(err)
		}
		s.audits(openTab(t, browser, s.admin.URL), axe, append(paths, "/", "/runs", "/runs/1/compare/2"))
	})
}
