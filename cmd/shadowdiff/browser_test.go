package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"shadowdiff/fixtures"
	"shadowdiff/multicast"
)

// browserStep is how long one thing may take in the browser: generous, for a busy machine under the race detector.
const browserStep = 90 * time.Second

// findChromium fails the test where there is no browser: a test that skips proves nothing.
func findChromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatal("no Chromium found: install it (Debian, Ubuntu: apt-get install chromium; macOS: brew install chromium), or run make test, which does")
	return ""
}

// browser is one tab of a headless Chromium of its own.
type browser struct {
	t   *testing.T
	ctx context.Context

	mu       sync.Mutex
	problems []string // what the console complained of
}

// openBrowser starts Chromium. It is gone, with all its processes, when the test ends.
func openBrowser(t *testing.T) *browser {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(findChromium(t)),
		chromedp.NoSandbox, // as root, in a container
		chromedp.DisableGPU,
		chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true),
	)
	allocator, free := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(allocator)
	b := &browser{t: t, ctx: ctx}
	var listening sync.WaitGroup
	t.Cleanup(func() {
		closing, stop := context.WithTimeout(ctx, 30*time.Second)
		defer stop()
		if err := chromedp.Cancel(closing); err != nil {
			t.Errorf("close Chromium: %v", err)
		}
		cancel()
		free()
		listening.Wait()
	})
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("start Chromium: %v", err)
	}
	messages := chromedp.Console(ctx)
	listening.Go(func() {
		for m, err := range messages {
			if err != nil {
				return
			}
			if text := fmt.Sprint(m); strings.Contains(text, "error") || strings.Contains(text, "Content Security Policy") {
				b.mu.Lock()
				b.problems = append(b.problems, text)
				b.mu.Unlock()
			}
		}
	})
	return b
}

// do runs steps under one deadline.
func (b *browser) do(what string, steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, stop := context.WithTimeout(b.ctx, browserStep)
	defer stop()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.t.Fatalf("%s: %v", what, err)
	}
}

// await waits until an expression is true in the page.
func (b *browser) await(what, expression string) {
	b.t.Helper()
	ctx, stop := context.WithTimeout(b.ctx, browserStep)
	defer stop()
	if _, err := chromedp.Run(ctx, chromedp.Poll[bool](expression)); err != nil {
		b.t.Fatalf("waiting until %s: %v\n%s", what, err, b.text("main"))
	}
}

// text reads what an element shows.
func (b *browser) text(selector string) string {
	return eval[string](b, fmt.Sprintf(`document.querySelector(%q)?.innerText ?? ""`, selector))
}

func eval[T any](b *browser, expression string) T {
	b.t.Helper()
	ctx, stop := context.WithTimeout(b.ctx, browserStep)
	defer stop()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// follow goes where a link leads as a keyboard does: rows move while the page is alive, the focus stays on its own.
func (b *browser) follow(selector string) {
	b.t.Helper()
	ctx, stop := context.WithTimeout(b.ctx, browserStep)
	defer stop()
	err := chromedp.Do(ctx, chromedp.Focus(chromedp.CSS(selector)))
	if err == nil {
		_, err = chromedp.RunResponse(ctx, chromedp.KeyEvent("\r"))
	}
	if err != nil {
		b.t.Fatalf("follow %s: %v\n%s", selector, err, b.text("main"))
	}
}

// complaints are the console's errors so far.
func (b *browser) complaints() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.problems
}

// openDashboard runs the whole service before three shops, on ports of their own. The traffic waits for its start; end
// ends all of it.
func openDashboard(t *testing.T) (svc *service, traffic, end func()) {
	t.Helper()
	shops, err := openShops(fixtures.Faults())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(shops.close)
	cfg := demoConfig(t.TempDir(), shops)
	cfg.Web.Listen = "127.0.0.1:0"
	if svc, err = newService(cfg, source{}, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	crowded, disperse := context.WithCancel(context.Background())
	var running, crowd sync.WaitGroup
	running.Go(func() {
		if err := svc.Run(ctx); err != nil {
			t.Errorf("the service: %v", err)
		}
	})
	end = sync.OnceFunc(func() {
		disperse()
		crowd.Wait()
		stop()
		running.Wait()
	})
	t.Cleanup(end)
	traffic = func() {
		crowd.Go(func() {
			visitors := fixtures.Traffic{URL: svc.ProxyURL(), Clients: 4, Rate: 150, Seed: 3, Server: shopName(multicast.Primary)}
			if err := visitors.Run(crowded); err != nil {
				t.Errorf("traffic: %v", err)
			}
		})
	}
	return svc, traffic, end
}

// readCounts reads the counters as a script would.
func readCounts(t *testing.T, svc *service) (c multicast.Counts) {
	t.Helper()
	resp, err := http.Get(svc.AdminURL() + "/api/v1/counters")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil {
		err = json.Unmarshal(body, &c)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// awaitCounts reads the counters until they are as wanted.
func awaitCounts(t *testing.T, svc *service, what string, wanted func(multicast.Counts) bool) multicast.Counts {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), browserStep)
	defer stop()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		c := readCounts(t, svc)
		if wanted(c) {
			return c
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("waiting until %s: %+v", what, c)
		}
	}
}

func sentShadows(c multicast.Counts) int64 {
	return c.Shadow["candidate"].Sent + c.Shadow["secondary"].Sent
}

// The dashboard in a real browser, with traffic flowing: from nothing to a verdict without reloading, from a confirmed
// difference to its field and to a sample with both values, and the switch that stops all shadows.
func TestDashboardInABrowser(t *testing.T) {
	svc, traffic, end := openDashboard(t)
	b := openBrowser(t)
	b.do("open the overview", chromedp.EmulateViewport(1440, 900), chromedp.Navigate(svc.AdminURL()+"/"))
	if got := b.text("h1"); got != "Nothing has been compared yet." {
		t.Fatalf("before any traffic: %q", got)
	}
	eval[bool](b, `window.neverReloaded = true`)
	traffic()
	b.await("the first verdict stands there", `!!document.querySelector(".answer .verdict")`)
	b.await("the verdict is “different”", `document.querySelector(".answer .verdict.is-different") && document.title.includes("different")`)
	price := `#confirmed .finding a.cover[href^="/fields/"]`
	b.await("a field is confirmed", fmt.Sprintf(`document.querySelectorAll(%q).length > 2`, price))
	b.await("the chart is drawn", `!!document.querySelector("#chart canvas")`)
	if !eval[bool](b, `window.neverReloaded === true`) {
		t.Error("the page was reloaded")
	}
	stayAsTheyWere(b)
	fitOnAPhone(b, "overview")
	fromDifferenceToProof(b)

	b.do("back to the overview", chromedp.Navigate(svc.AdminURL()+"/"))
	flipTheSwitch(b, svc)
	if found := b.complaints(); len(found) > 0 {
		t.Errorf("the console complains:\n%s", strings.Join(found, "\n"))
	}
	saidOnce(b, svc)

	b.do("back to the overview", chromedp.Navigate(svc.AdminURL()+"/"))
	end()
	b.await("the page says that it is interrupted, and how old it is",
		`getComputedStyle(document.querySelector("#asof"), "::before").content.includes("interrupted") && document.querySelector("#asof").innerText.includes("as of")`)
}

// stayAsTheyWere: while the page updates itself, what was opened, focused and scrolled to stays so.
func stayAsTheyWere(b *browser) {
	b.t.Helper()
	eval[bool](b, `(() => {
		document.querySelector("#why").open = true;
		document.querySelector("#switch").focus({preventScroll: true});
		scrollTo(0, 120);
		window.updates = window.events = 0;
		document.body.addEventListener("htmx:after:swap", () => window.updates++);
		document.body.addEventListener("snapshot", () => window.events++);
		return true;
	})()`)
	before := b.text("#asof")
	b.await("the page has updated itself on three events", `window.updates >= 3 && window.events >= 3`)
	state := eval[string](b, `[document.querySelector("#why").open, document.activeElement.id, scrollY].join(" ")`)
	if state != "true switch 120" {
		b.t.Errorf("after updates: %q, want open, the switch in focus and scrolled to 120", state)
	}
	if after := b.text("#asof"); after == before {
		b.t.Errorf("it says %q before and after", after)
	}
}

// fitOnAPhone: nothing reaches beyond 390 px.
func fitOnAPhone(b *browser, page string) {
	b.t.Helper()
	b.do("a phone", chromedp.EmulateViewport(390, 844))
	if over := eval[int](b, `document.documentElement.scrollWidth - innerWidth`); over > 0 {
		b.t.Errorf("%s is %d px too wide for a phone", page, over)
	}
	b.do("a desk", chromedp.EmulateViewport(1440, 900))
}

// fromDifferenceToProof goes from a confirmed difference to its field, and on to a sample with both values.
func fromDifferenceToProof(b *browser) {
	b.t.Helper()
	const discount = `[...document.querySelectorAll("#confirmed a.cover")].find((a) => a.innerText === "body.discount")`
	b.await("the missing discount is confirmed", "!!"+discount)
	b.follow(fmt.Sprintf(`#confirmed a.cover[href=%q]`, eval[string](b, discount+`.getAttribute("href")`)))
	b.await("the field is there", `document.querySelector("h1 .fieldname")?.innerText === "body.discount"`)
	b.await("its values stand side by side", `!!document.querySelector("#combinations .line.is-candidate")`)
	values := `#combinations .line.is-candidate `
	if p, c := b.text(values+".cell.primary"), b.text(values+".cell.candidate"); p != "null" || c != "none" {
		b.t.Errorf("field: the primary has %q and the candidate %q, want null and none", p, c)
	}
	fitOnAPhone(b, "field")

	b.follow(`#samples a.cover`)
	b.await("the sample is there", `!!document.querySelector("#differences .spot.is-candidate")`)
	place := `#differences .spot.is-candidate `
	if p, c := b.text(place+".cell.primary"), b.text(place+".cell.candidate"); p == c || p == "" || c == "" {
		b.t.Errorf("sample: the primary has %q and the candidate %q, want two values", p, c)
	}
	if n := eval[int](b, `document.querySelectorAll("#body .line.is-candidate").length`); n == 0 {
		b.t.Error("no line of the body is marked as the candidate's")
	}
	fitOnAPhone(b, "sample")
}

// saidOnce: a page that tells of a sample that is gone is not told the same again by each fetch in the background.
func saidOnce(b *browser, svc *service) {
	b.t.Helper()
	b.do("a sample that is gone", chromedp.Navigate(svc.AdminURL()+"/samples/4000000000"))
	b.await("the page says why", `document.querySelector(".is-problem h1")?.innerText.includes("store.samples_per_field")`)
	eval[bool](b, `document.body.addEventListener("htmx:response:error", () => setTimeout(() => { window.fetchedAgain = true })), htmx.trigger("#live", "refresh"), true`)
	b.await("it was fetched again", `window.fetchedAgain === true`)
	if said := b.text("#said"); said != "" {
		b.t.Errorf("said twice: %q", said)
	}
}

// flipTheSwitch pauses from the page: the counters prove that no shadow is sent while clients are still served, until it
// is switched on again.
func flipTheSwitch(b *browser, svc *service) {
	b.t.Helper()
	eval[bool](b, `window.neverReloaded = true`)
	press := func() { b.do("press the switch", chromedp.Focus(chromedp.CSS("#switch")), chromedp.KeyEvent("\r")) }
	press()
	b.await("it says so", `document.querySelector(".switch .state").innerText === "shadowing paused" && document.querySelector("#switch").innerText === "Resume"`)
	quiet := awaitCounts(b.t, svc, "nothing is in flight", func(c multicast.Counts) bool {
		return c.InFlight["candidate"]+c.InFlight["secondary"]+c.Queue == 0
	})
	later := awaitCounts(b.t, svc, "clients were served meanwhile", func(c multicast.Counts) bool { return c.Requests >= quiet.Requests+100 })
	if sentShadows(later) != sentShadows(quiet) {
		b.t.Errorf("%d shadows were sent while paused", sentShadows(later)-sentShadows(quiet))
	}
	if later.Skipped[multicast.ReasonDisabled] < quiet.Skipped[multicast.ReasonDisabled]+90 {
		b.t.Errorf("skipped as disabled: %d, then %d", quiet.Skipped[multicast.ReasonDisabled], later.Skipped[multicast.ReasonDisabled])
	}
	press()
	b.await("it is on again", `document.querySelector("#switch").innerText === "Pause"`)
	awaitCounts(b.t, svc, "shadows are sent again", func(c multicast.Counts) bool { return sentShadows(c) > sentShadows(later) })
	if !eval[bool](b, `window.neverReloaded === true`) {
		b.t.Error("the switch reloaded the page")
	}
}
