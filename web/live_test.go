package web

import (
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// What a reader has opened, typed, focused, selected and scrolled to is there after the page was fetched again.
func TestWhatAReaderDidSurvives(t *testing.T) {
	r := newRig(t, shop("1"), shop("2"), nil)
	r.ask(40, "/products/1")
	b := openTab(t, openBrowser(t), r.admin.URL)
	b.visit("/")
	b.await("the page is live", `document.querySelector("#stream")._htmx?.sse`)
	b.do("open the rate", chromedp.Click(chromedp.CSS(".switch summary")))
	b.do("type", chromedp.Click(chromedp.CSS("#sample")), chromedp.KeyEvent("7"))
	eval[bool](b, `window.field = document.querySelector("#sample"), window.text = field.value,
		window.fold = document.querySelector("main details"), fold.open = true, scrollTo(0, 300), true`)
	for _, compared := range []string{"50", "60", "70"} { // its time says seconds, and two snapshots may be of one
		r.ask(10, "/products/1")
		b.await("the page is of now", `document.querySelector("main").innerText.includes("`+compared+` requests compared")`)
	}
	for what, holds := range map[string]string{
		"the field itself": `field.isConnected`,
		"its text":         `field.value === text && text.includes("7")`,
		"its focus":        `document.activeElement === field`,
		"the open rate":    `document.querySelector(".switch details").open`,
		"the open fold":    `fold.isConnected && fold.open`,
		"the place":        `scrollY === 300`,
		"a local time":     `!document.querySelector("#asof time").textContent.includes("UTC")`,
		"its zone, once":   `/\d [^\d].*$/.test(document.querySelector(".foot time").textContent) && document.querySelectorAll("time[data-zone]").length === 1`,
	} {
		if !eval[bool](b, holds) {
			t.Errorf("%s did not survive", what)
		}
	}
}

// A page is live once it is read: no timer has to come round first.
func TestPageIsLiveOnceRead(t *testing.T) {
	r := newRig(t, shop("1"), shop("2"), nil)
	r.ask(40, "/products/1")
	b := openTab(t, openBrowser(t), r.admin.URL)
	tell(b, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: `window.setInterval = () => 0`})
	b.visit("/")
	b.await("the page is live", `document.querySelector("#stream")._htmx?.sse`)
}

// A stream that breaks is told of, with the moment that the page is of, and begun again.
func TestInterruptedStreamIsToldOf(t *testing.T) {
	r := newRig(t, shop("1"), shop("2"), nil)
	r.ask(40, "/products/1")
	b := openTab(t, openBrowser(t), r.admin.URL)
	b.visit("/")
	b.await("the page is live", `document.querySelector("#stream")._htmx?.sse`)
	eval[bool](b, `window.seen = [], window.words = [], new MutationObserver(() => {
		seen.push(document.documentElement.classList.contains("stale"));
		words.push(getComputedStyle(document.querySelector("#asof"), "::before").content);
	}).observe(document.documentElement, {attributes: true, attributeFilter: ["class"]}), true`)
	r.admin.CloseClientConnections()
	b.await("the interruption is told of", `seen.includes(true) && words.some((w) => w.includes("interrupted"))`)
	b.await("the stream is back", `!document.documentElement.classList.contains("stale") && document.querySelector("#stream")._htmx?.sse`)
	b.await("the end of it is told to those who hear", `document.querySelector("#told").textContent === "The page is up to date again."`)
	b.expect("net::ERR", "Failed to fetch", "network error", "htmx")
}

// hide makes the page think that it is behind other tabs, or in front again.
func (b *tab) hide(yes bool) {
	b.t.Helper()
	word := "false"
	if yes {
		word = "true"
	}
	eval[bool](b, `(() => { const hidden = `+word+`; Object.defineProperty(document, "hidden", {configurable: true, get: () => hidden}); document.dispatchEvent(new Event("visibilitychange")); return true; })()`)
}

// A tab behind others holds no connection; in front again it is of now at once.
func TestHiddenTabHoldsNoConnection(t *testing.T) {
	r := newRig(t, shop("1"), shop("2"), nil)
	r.ask(40, "/products/1")
	b := openTab(t, openBrowser(t), r.admin.URL)
	b.visit("/")
	b.await("the page is live", `document.querySelector("#stream")._htmx?.sse`)
	open := func(n int64) {
		t.Helper()
		for r.server.streams.Load() != n {
			eval[bool](b, `new Promise((done) => setTimeout(done, 50, true))`)
		}
	}
	open(1)
	b.hide(true)
	open(0)
	r.ask(10, "/products/1")
	b.hide(false)
	b.await("the page is of now", `document.querySelector("main").innerText.includes("50 requests compared")`)
	open(1)
}
