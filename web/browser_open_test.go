package web

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/performance"
)

// held is what a page holds after its garbage is gone.
type held struct{ heap, nodes, listeners float64 }

// holds measures it.
func (b *tab) holds() (h held) {
	b.t.Helper()
	for range 3 { // what one finds to be garbage may hold the last of what the next does
		tell(b, heapprofiler.CollectGarbage, cdp.Empty{})
	}
	for _, m := range tell(b, performance.GetMetrics, cdp.Empty{}).Metrics {
		switch m.Name {
		case "JSHeapUsedSize":
			h.heap = m.Value
		case "Nodes":
			h.nodes = m.Value
		case "JSEventListeners":
			h.listeners = m.Value
		}
	}
	return h
}

// A page that is left open neither grows nor errs: after 10,000 events, and all that it has fetched again on them, it holds
// what it held after the first hundred.
func TestAPageLeftOpenDoesNotGrow(t *testing.T) {
	r := newRig(t, shop("10.50"), shop("10.51"), nil)
	r.ask(40, "/products/17")
	r.later(r.db.Snapshot().Tallies.Routes[0].Route) // the chart is there from the beginning
	events := make(chan struct{})
	admin, err := url.Parse(r.admin.URL)
	if err != nil {
		t.Fatal(err)
	}
	pages := httputil.NewSingleHostReverseProxy(admin)
	// The pages are the server's; only the events come faster than anything flushes.
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path != "/api/v1/events" {
			pages.ServeHTTP(w, req)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for n := 1; ; n++ {
			select {
			case <-events:
			case <-req.Context().Done():
				return
			}
			fmt.Fprintf(w, "event: snapshot\nid: %d\ndata: {\"version\":%d}\n\n", n, n)
			if http.NewResponseController(w).Flush() != nil {
				return
			}
		}
	}))
	t.Cleanup(front.Close)
	b := openTab(t, openBrowser(t), front.URL)
	tell(b, performance.Enable, performance.EnableParams{})
	b.visit("/")
	eval[bool](b, `(window.events = window.swaps = 0, document.body.addEventListener("snapshot", () => window.events++),
		document.body.addEventListener("htmx:after:swap", () => window.swaps++), true)`)

	sent, swapped := 0, 0
	// follow sends events until there were so many, and until the page has fetched itself again so often, with other counts
	// each time.
	follow := func(total, swaps int) {
		t.Helper()
		for sent < total || swapped < swaps {
			for range min(50, max(total-sent, 1)) {
				select {
				case events <- struct{}{}:
					sent++
				case <-time.After(browserStep):
					t.Fatalf("nobody takes events after %d", sent)
				}
			}
			if sent%500 != 0 && swapped >= swaps {
				continue
			}
			r.ask(1, "/products/17")
			eval[bool](b, `(htmx.trigger("#live", "refresh"), true)`)
			b.await("the page has fetched itself again", fmt.Sprintf(`window.swaps > %d`, swapped))
			swapped = eval[int](b, `window.swaps`)
		}
		b.await("all events have come", fmt.Sprintf(`window.events >= %d`, sent))
		counted := fmt.Sprint(r.db.Snapshot().Tallies.Total.Compared)
		eval[bool](b, `(htmx.trigger("#live", "refresh"), true)`)
		b.await("it shows what was counted last", fmt.Sprintf(`document.querySelector(".facts").innerText.replaceAll(",", "").includes(%q)`, counted))
	}
	follow(100, 10)
	for !eval[bool](b, `!!document.querySelector("#chart canvas")`) { // it comes with the second point
		follow(sent+1, swapped+1)
	}
	before := b.holds()
	follow(10_000, 60)
	after := b.holds()
	for range 30 { // what the last events left behind goes with the next that happens
		if after.heap <= 1.1*before.heap {
			break
		}
		follow(sent+1, swapped+1)
		after = b.holds()
	}
	t.Logf("%d events, fetched again %d times: %+v, then %+v", sent, swapped, before, after)
	for what, grown := range map[string]float64{
		"heap": after.heap / before.heap, "nodes": after.nodes / before.nodes, "listeners": after.listeners / before.listeners,
	} {
		if grown > 1.1 || before.heap == 0 || before.nodes == 0 || before.listeners == 0 {
			t.Errorf("the page's %s grew to %.2f of what it was: %+v, then %+v", what, grown, before, after)
		}
	}
}
