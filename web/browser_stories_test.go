package web

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// The dashboard as people use it, each of these ways from its beginning to its end, in a real browser and on what a crowd of
// clients left behind. Those that change something come last.
func TestPeopleUseTheDashboard(t *testing.T) {
	s := openShop(t, nil)
	s.crowd(2500)
	s.pay(200)
	s.later("GET /products/{id}")
	browser := openBrowser(t)
	for _, story := range []struct {
		name string
		tell func(*toyShop, *tab)
	}{
		{"from the verdict to the proof in three clicks", threeClicks},
		{"which requests, and how to see it again", forWhom},
		{"with the keyboard alone", keyboardAlone},
		{"without scripts", withoutScripts},
		{"Back, Forward and reload", backAndForth},
		{"light and dark", lightAndDark},
		{"on paper", onPaper},
		{"asked again, and made smaller", againAndSmaller},
		{"the switch and the rate", switchAndRate},
		{"a rule for noise", ruleForNoise},
		{"one run and another", oneRunAndAnother},
	} {
		t.Run(story.name, func(t *testing.T) {
			s.as(t)
			story.tell(s, openTab(t, browser, s.admin.URL))
		})
	}
	t.Run("below a path, behind a reverse proxy", func(t *testing.T) {
		s.as(t)
		behindAProxy(t, s, browser)
	})
	t.Run("an interrupted stream", func(t *testing.T) {
		s.as(t)
		interrupted(t, s, browser)
	})
	t.Run("two tabs", func(t *testing.T) {
		s.as(t)
		twoTabs(s, openTab(t, browser, s.admin.URL), openTab(t, browser, s.admin.URL))
	})
}

// mustSay fails for each text that the page does not show.
func (b *tab) mustSay(texts ...string) {
	b.t.Helper()
	said := strings.Join(strings.Fields(b.text("main")), " ")
	for _, text := range texts {
		if !strings.Contains(said, text) {
			b.t.Errorf("%s does not say %q:\n%.3000s", b.path(), text, said)
		}
	}
}

// at waits until the tab is where a path begins so.
func (b *tab) at(prefix string) {
	b.t.Helper()
	b.await("the tab is at "+prefix, fmt.Sprintf(`location.href.startsWith(%q) && document.readyState === "complete" && document.querySelector("main")`, b.origin+prefix))
}

// toTotal goes from the overview to the field that is broken at the till.
func (b *tab) toTotal() {
	b.t.Helper()
	b.visit("/")
	b.clickText("#confirmed a.cover", "body.total")
	b.at("/fields/")
	if got := b.text("h1 .fieldname"); got != "body.total" {
		b.t.Fatalf("it led to %q", got)
	}
}

// threeClicks: the overview says no; the field that says so is one click away, and what one request got another.
func threeClicks(s *toyShop, b *tab) {
	b.visit("/")
	if said := b.text("h1"); !strings.Contains(strings.ToLower(said), "different") {
		b.t.Errorf("the overview answers with %q", said)
	}
	b.toTotal()
	b.mustSay("19.90", "20.90", "Confirmed")
	b.click("#samples a.cover")
	b.at("/samples/")
	b.mustSay("/checkout?", "currency=EUR", "19.90", "20.90", "candidate")
}

// forWhom: the field's page says which requests differ, and which do not, in one sentence with counts; the sample's page
// gives the command, and running it shows the difference.
func forWhom(s *toyShop, b *tab) {
	b.toTotal()
	sentence := regexp.MustCompile(`(?i)\ball 50\b.*currency.*EUR.*\b150\b`)
	if said := strings.Join(strings.Fields(b.text("main")), " "); !sentence.MatchString(said) {
		b.t.Errorf("the field's page does not say that all 50 have the currency EUR and none of the other 150: %.1500s", said)
	}
	b.click("#samples a.cover")
	b.at("/samples/")
	var got []string
	for _, role := range []string{"primary", "candidate"} {
		at := eval[string](b, fmt.Sprintf(`[...document.querySelectorAll("a[href*='/curl']")].map((a) => a.href).find((h) => h.includes(%q) || %q === "primary" && !h.includes("role=")) ?? ""`,
			"role="+role, role))
		if at == "" {
			b.t.Fatalf("the sample's page offers no command for the %s", role)
		}
		command := s.get(strings.TrimPrefix(at, b.origin))
		out, err := exec.CommandContext(b.t.Context(), "sh", "-c", command).Output()
		if err != nil {
			b.t.Fatalf("%s: %v", command, err)
		}
		got = append(got, string(out))
	}
	if !strings.Contains(got[0], `"total":19.90`) || !strings.Contains(got[1], `"total":20.90`) {
		b.t.Errorf("the commands got %q", got)
	}
}

// againAndSmaller: a stored request is asked again, and made as small as it still differs.
func againAndSmaller(s *toyShop, b *tab) {
	before := s.proxy.Counts().Requests
	b.toTotal()
	b.click("#samples a.cover")
	b.at("/samples/")
	b.clickText("#do summary", "Ask again")
	b.clickText("#do button", "Ask the three now")
	b.await("what they answer now is there", `document.querySelector("#again")`)
	b.mustSay("Asked again just now", "20.90")
	b.clickText("#do summary", "Shrink")
	b.clickText("#do button", "Find the smallest request")
	b.await("the smallest request is there", `document.querySelector("#shrunk")`)
	if least := b.text("#shrunk .least"); !strings.Contains(least, "/checkout?currency=EUR") || strings.Contains(least, "cart") {
		b.t.Errorf("the smallest request that differs is %q", least)
	}
	if after := s.proxy.Counts().Requests; after != before {
		b.t.Errorf("%d requests were counted for it", after-before)
	}
}

// keyboardAlone: no mouse is needed, from one view to another, along rows, to search, and for help.
func keyboardAlone(s *toyShop, b *tab) {
	b.visit("/")
	b.press("\t")
	if got := eval[string](b, `document.activeElement.innerText`); !strings.Contains(got, "Skip") {
		b.t.Errorf("the first stop of Tab is %q", got)
	}
	b.press("?")
	b.await("help is there", `document.querySelector("dialog[open]")`)
	b.press("\u001b")
	b.await("help is gone", `!document.querySelector("dialog[open]")`)
	b.press("/")
	b.await("the search has the focus", `document.activeElement.matches("[data-search]")`)
	b.press("total")
	b.press("\r")
	b.await("what was searched stands in the address", `location.search.includes("q=total") && document.querySelector("#confirmed") && document.readyState === "complete"`)
	if found := b.texts("#confirmed a.cover"); len(found) != 1 || found[0] != "body.total" {
		b.t.Errorf("the search for total found %q", found)
	}
	b.press("j")
	b.await("a row has the focus", `document.activeElement.closest("[data-row]")`)
	first := eval[string](b, `document.activeElement.innerText`)
	b.press("j")
	b.await("the next has it", fmt.Sprintf(`document.activeElement.innerText !== %q`, first))
	b.press("k")
	b.await("and the first again", fmt.Sprintf(`document.activeElement.innerText === %q`, first))
	b.press("\r")
	b.at("/fields/")
	for _, to := range []struct{ letter, path string }{{"r", "/rules"}, {"u", "/runs"}, {"a", "/activity"}, {"s", "/settings"}, {"o", "/"}} {
		b.press("g")
		b.press(to.letter)
		b.await("the tab is at "+to.path, fmt.Sprintf(`location.pathname === %q && document.readyState === "complete"`, to.path))
	}
	b.press("j")
	b.await("a row has the focus", `document.activeElement.closest("[data-row]")`)
	if !eval[bool](b, `["", "::after"].some((part) => getComputedStyle(document.activeElement, part).outlineStyle !== "none")`) {
		b.t.Error("nobody can see which row has the focus")
	}
}

// withoutScripts: every page can be read, times say their zone, filters and switches work.
func withoutScripts(s *toyShop, b *tab) {
	tell(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	for _, at := range s.pagePaths() {
		b.visit(at)
		if said := b.text("main"); len(strings.Fields(said)) < 8 {
			b.t.Errorf("%s says %q without scripts", at, said)
		}
		if zoneless := eval[string](b, `[...document.querySelectorAll("time")].map((t) => t.textContent).find((t) => !t.includes("UTC")) ?? ""`); zoneless != "" {
			b.t.Errorf("%s tells a time as %q: of which zone?", at, zoneless)
		}
		if dead := eval[string](b, `[...document.querySelectorAll("button")].filter((e) => e.checkVisibility() && !e.matches(".word") && (!e.form || e.type === "button"))
			.map((e) => e.outerHTML).join("\n")`); dead != "" {
			b.t.Errorf("%s shows what does nothing without scripts: %s", at, dead)
		}
	}
	b.expect("/nowhere", "/samples/4000000000")
	b.visit("/samples")
	b.do("choose", chromedp.SetValue(chromedp.CSS(`select[name=result]`), "candidate_only"))
	b.clickText("form.filters button", "Filter")
	b.at("/samples?")
	b.mustSay("in which the candidate alone differed")
	b.visit("/")
	b.click("#switch")
	b.await("it is paused", `document.querySelector("#switch")?.innerText === "Resume"`)
	if s.proxy.Shadowing().Enabled {
		b.t.Error("the page says that it is paused, and shadows are asked")
	}
	b.click("#switch")
	b.await("it goes on", `document.querySelector("#switch")?.innerText === "Pause"`)
	if eval[int](b, `[...document.querySelectorAll("#over-time svg, #over-time table")].filter((e) => e.checkVisibility()).length`) == 0 {
		b.t.Error("the course of things is not shown at all")
	}
}

// backAndForth: a filter is an address, so that Back, Forward and reload are as anywhere.
func backAndForth(s *toyShop, b *tab) {
	b.visit("/fields")
	b.do("choose", chromedp.SetValue(chromedp.CSS(`select[name=standing]`), "confirmed"))
	b.clickText("form.filters button", "Filter")
	b.await("the list is filtered", `location.search.includes("standing=confirmed") && document.readyState === "complete"`)
	filtered, head := b.path(), b.text("h1")
	b.click("main table a.cover")
	b.at("/fields/")
	field := b.path()
	b.back(-1, filtered)
	if got := b.text("h1"); got != head {
		b.t.Errorf("back, the list is headed %q, and was %q", got, head)
	}
	if got := eval[string](b, `document.querySelector("select[name=standing]").value`); got != "confirmed" {
		b.t.Errorf("back, the filter shows %q", got)
	}
	b.do("reload", chromedp.Reload())
	if got := b.path(); got != filtered || b.text("h1") != head {
		b.t.Errorf("after a reload at %s: %s", got, b.text("h1"))
	}
	b.back(1, field)
	b.back(-1, filtered)
}

// darkness is how dark the page's ground is, from 0 to 1.
func (b *tab) darkness() float64 {
	b.t.Helper()
	return eval[float64](b, `(() => {
		const canvas = new OffscreenCanvas(1, 1).getContext("2d");
		const ground = [document.body, document.documentElement].map((e) => getComputedStyle(e).backgroundColor);
		canvas.fillStyle = ground.find((c) => c !== "rgba(0, 0, 0, 0)") ?? "white";
		canvas.fillRect(0, 0, 1, 1);
		const [r, g, b] = canvas.getImageData(0, 0, 1, 1).data;
		return 1 - (r + g + b) / 765;
	})()`)
}

// lightAndDark: as the system says, until the reader says otherwise, which is remembered.
func lightAndDark(s *toyShop, b *tab) {
	b.visit("/")
	if d := b.darkness(); d > 0.2 {
		b.t.Errorf("light, and %.2f dark", d)
	}
	b.watch(look{1440, "dark"})
	if d := b.darkness(); d < 0.8 {
		b.t.Errorf("dark by the system, and %.2f dark", d)
	}
	b.watch(desk())
	b.click(".theme button")
	b.await("dark was chosen", `document.documentElement.classList.contains("dark")`)
	b.visit("/rules")
	if d := b.darkness(); d < 0.8 {
		b.t.Errorf("dark by choice, and %.2f dark on another page", d)
	}
	b.click(".theme button")
	b.await("light was chosen", `document.documentElement.classList.contains("light")`)
	b.watch(look{1440, "dark"})
	if d := b.darkness(); d > 0.2 {
		b.t.Errorf("light by choice on a dark system, and %.2f dark", d)
	}
	b.click(".theme button")
	b.await("it is the system's again", `!document.documentElement.matches(".light, .dark")`)
}

// onPaper: a page is printed dark on white, without what only a screen needs, and with what was folded.
func onPaper(s *toyShop, b *tab) {
	b.visit("/")
	b.watch(look{1440, "dark"})
	b.click(".theme button")
	b.await("dark was chosen", `document.documentElement.classList.contains("dark")`)
	tell(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
	if d := b.darkness(); d > 0.05 {
		b.t.Errorf("on paper the ground is %.2f dark", d)
	}
	if n := eval[int](b, `[...document.querySelectorAll("#switch, .theme button, nav.views a")].filter((e) => e.checkVisibility()).length`); n > 0 {
		b.t.Errorf("%d things are printed that only a screen needs", n)
	}
	folded := eval[int](b, `(dispatchEvent(new Event("beforeprint")), document.querySelectorAll("main details:not([open])").length)`)
	if folded > 0 {
		b.t.Errorf("%d things are printed folded", folded)
	}
	eval[bool](b, `dispatchEvent(new Event("afterprint"))`)
	pdf := tell(b, page.PrintToPDF, page.PrintToPDFParams{})
	if len(pdf.Data) < 10_000 {
		b.t.Errorf("printed, it is %d bytes", len(pdf.Data))
	}
}

// switchAndRate: shadowing is paused, resumed and slowed down from any page, and the page says who did.
func switchAndRate(s *toyShop, b *tab) {
	b.visit("/rules")
	eval[bool](b, `window.neverReloaded = true`)
	b.click("#switch")
	b.await("it is paused", `document.querySelector("#switch").innerText === "Resume" && document.querySelector(".switch .state").innerText.includes("paused")`)
	if s.proxy.Shadowing().Enabled {
		b.t.Error("shadows are still asked")
	}
	b.click("#switch")
	b.await("it goes on", `document.querySelector("#switch").innerText === "Pause"`)
	b.click(".switch details.rate summary")
	b.await("the rate can be set", `document.querySelector("#sample").checkVisibility()`)
	eval[bool](b, `(document.querySelector("#sample").select(), document.querySelector("#sample").focus(), true)`)
	b.press("50%")
	b.press("\r")
	b.await("it is another rate", `document.querySelector(".switch .state").innerText.includes("50%") || document.querySelector(".switch .state").innerText.includes("50 %")`)
	if got := shareText(s.proxy.Shadowing().Sample); got != "50%" {
		b.t.Errorf("the rate is %s", got)
	}
	if !eval[bool](b, `window.neverReloaded === true`) {
		b.t.Error("the switch reloaded the page")
	}
	b.visit("/activity")
	b.mustSay("50")
	s.do(http.MethodPut, "/api/v1/shadowing", `{"sample":"100%"}`)
	b.visit("/")
	eval[bool](b, `(document.querySelector("#sample").value = "150%", true)`)
	b.click(".switch details.rate summary")
	b.clickText(".switch .popover button", "Set")
	b.await("a rate that is none is refused, in words", `document.querySelector("#said, main").innerText.includes("150%")`)
	b.expect("/shadowing")
}

// ruleForNoise: a suggested rule shows what it would do before it is taken; taken, the noise falls silent; it can be taken
// back.
func ruleForNoise(s *toyShop, b *tab) {
	const route, field = "GET /products/{id}", "body.served_by" // which no slow machine makes noisier
	noise := fieldsPath(route) + "&q=served_by"
	b.visit(noise)
	b.mustSay("1 of")
	b.visit("/rules")
	const one = `#suggestions .each a.button[href*="served_by"][href*="products"]` // among those that do the same on other routes
	b.await("it is suggested", fmt.Sprintf(`(() => {
		for (const group of document.querySelectorAll("#suggestions details.each")) group.open = true;
		return document.querySelector(%q)?.checkVisibility();
	})()`, one))
	b.clickText(one, "Preview")
	b.await("what it would do is shown", `document.querySelector("#trial table")`)
	b.mustSay(field)
	if len(s.listed()) > 0 {
		b.t.Fatal("a preview has changed the rules")
	}
	b.clickText("#trial form.confirm button", "Add")
	b.await("the rule is in force", fmt.Sprintf(`document.querySelector("#rules table")?.innerText.includes(%q)`, field))
	if len(s.listed()) != 1 {
		b.t.Fatalf("the rules in force are %+v", s.listed())
	}
	s.crowd(400)
	b.visit(noise)
	if n := b.there("main table a.cover"); n != 0 {
		b.t.Errorf("under the rule %s is still noise: %s", field, b.text("main"))
	}
	b.visit("/rules")
	if said := b.text("#rules table"); !regexp.MustCompile(`\d`).MatchString(said) {
		b.t.Errorf("what the rule did is not told: %s", said)
	}
	b.clickText("#rules a", "Remove")
	b.clickText("#trial form.confirm button", "Remove")
	b.await("it is gone", `!document.querySelector("#rules table")`)
	if len(s.listed()) != 0 {
		b.t.Errorf("the rules in force are %+v", s.listed())
	}
}

// oneRunAndAnother: a run is begun, renamed and held against the one before.
func oneRunAndAnother(s *toyShop, b *tab) {
	b.visit("/runs")
	b.click("#begin-form summary")
	b.do("its name", chromedp.SendKeys(chromedp.CSS("#name"), "v2.4.0"), chromedp.SendKeys(chromedp.CSS("#notes"), "with the new till"))
	b.clickText("#begin-form button", "Begin")
	b.await("it is in force", `document.querySelector(".whence, .bar").innerText.includes("v2.4.0")`)
	run := s.db.Snapshot().Run
	if run.Name != "v2.4.0" {
		b.t.Fatalf("in force is %+v", run)
	}
	s.crowd(300)
	s.pay(80)
	b.visit(fmt.Sprintf("/runs/%d", run.ID))
	eval[bool](b, `(document.querySelector("#change #name").select(), document.querySelector("#change #name").focus(), true)`)
	b.press("v2.4.1")
	b.clickText("#change button", "Save")
	b.await("it has another name", `document.querySelector(".whence, .bar").innerText.includes("v2.4.1")`)
	b.visit("/runs")
	b.mustSay("v2.4.1", "v2.3.1", "with the new till")
	b.clickText("#runs button", "Compare")
	b.at("/runs/")
	b.await("they are side by side", `location.pathname.includes("/compare/")`)
	b.mustSay("v2.4.1", "body.total")
	b.visit("/?run=1")
	b.mustSay("body.total")
	if said := b.text("#live"); !strings.Contains(said, "earlier run") {
		b.t.Errorf("the page of an earlier run does not say so: %.500s", said)
	}
	if b.there("#stream") != 0 {
		b.t.Error("the page of an earlier run follows the stream")
	}
}

// proxied is a reverse proxy before an address, with the pages below a path, as people put one there.
func proxied(t *testing.T, s *toyShop, prefix string) (*httptest.Server, *atomic.Bool) {
	t.Helper()
	var to atomic.Pointer[url.URL]
	var down atomic.Bool
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rest, below := strings.CutPrefix(r.URL.Path, prefix)
		if down.Load() || !below {
			panic(http.ErrAbortHandler)
		}
		proxy := httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(out *httputil.ProxyRequest) {
			out.SetURL(to.Load())
			out.Out.URL.Path, out.Out.URL.RawPath = rest, ""
			out.SetXForwarded()
		}, ErrorLog: nil}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	cfg := DefaultConfig()
	cfg.BaseURL = front.URL + prefix
	_, admin := s.serve(cfg)
	u, err := url.Parse(admin.URL)
	if err != nil {
		t.Fatal(err)
	}
	to.Store(u)
	return front, &down
}

// behindAProxy: every address that a page asks is below the path, the stream comes through, and forms work.
func behindAProxy(t *testing.T, s *toyShop, browser context.Context) {
	front, _ := proxied(t, s, "/ops/shadowdiff")
	b := openTab(t, browser, front.URL+"/ops/shadowdiff")
	for _, at := range s.pagePaths() {
		b.visit(at)
	}
	b.expect("/nowhere", "/samples/4000000000")
	b.visit("/")
	eval[bool](b, `(window.events = 0, document.body.addEventListener("snapshot", () => window.events++), true)`)
	s.pay(4)
	b.await("the stream comes through", `window.events > 0`)
	b.clickText("#routes a.cover", "GET /checkout")
	b.at("/routes/")
	b.click("#switch")
	b.await("the switch works", `document.querySelector("#switch").innerText === "Resume"`)
	b.click("#switch")
	b.await("and back", `document.querySelector("#switch").innerText === "Pause"`)
	b.click(".theme button")
	b.await("the choice of colours works", `document.documentElement.classList.contains("dark")`)
	b.at("/routes/")
}

// interrupted: a page that hears nothing says how old it is, and is up to date again when it can be.
func interrupted(t *testing.T, s *toyShop, browser context.Context) {
	front, down := proxied(t, s, "/down")
	b := openTab(t, browser, front.URL+"/down")
	b.visit("/")
	eval[bool](b, `(window.events = 0, document.body.addEventListener("snapshot", () => window.events++), true)`)
	s.pay(4)
	b.await("it hears of news", `window.events > 0`)
	broke := time.Now()
	down.Store(true)
	front.CloseClientConnections()
	b.await("it says that it is interrupted, and of when it is", `document.documentElement.classList.contains("stale") &&
		getComputedStyle(document.querySelector("#asof"), "::before").content.includes("interrupted") && document.querySelector("#asof").innerText.includes("as of")`)
	s.pay(4)
	if of := eval[string](b, `document.querySelector("#asof time").dateTime`); of == "" || of > broke.UTC().Format(time.RFC3339) {
		b.t.Errorf("interrupted at %v, the page is as of %q", broke, of)
	}
	down.Store(false)
	b.await("it has caught up", `!document.documentElement.classList.contains("stale")`)
	counted := fmt.Sprint(s.db.Snapshot().Tallies.Total.Compared)
	b.await("with what came meanwhile", fmt.Sprintf(`document.querySelector(".facts").innerText.replaceAll(",", "").includes(%q)`, counted))
	b.expect("failed: "+front.URL, "htmx", "net::ERR", "TypeError: Failed to fetch", "Failed to fetch", "502")
}

// twoTabs: what one does the other is told of.
func twoTabs(s *toyShop, one, other *tab) {
	one.visit("/")
	other.visit("/rules")
	one.click("#switch")
	one.await("it is paused", `document.querySelector("#switch").innerText === "Resume"`)
	other.await("it is paused in the other", `document.querySelector("#switch").innerText === "Resume"`)
	other.click("#switch")
	one.await("it goes on in the one", `document.querySelector("#switch").innerText === "Pause"`)
	s.pay(4)
	counted := fmt.Sprint(s.db.Snapshot().Tallies.Total.Compared)
	one.await("the counts are those of now", fmt.Sprintf(`document.querySelector(".facts").innerText.replaceAll(",", "").includes(%q)`, counted))
}
