package web

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// n and p go from difference to difference, a fold opens in place, and a button copies and says so.
func TestKeysAndButtonsOfASample(t *testing.T) {
	r := newRig(t, says("application/json", manyItems("1.5")), says("application/json", `{"more":1,`+manyItems("2.5")[1:]), nil)
	r.ask(1, "/items")
	ctx, stop := context.WithTimeout(openBrowser(t), 120*time.Second)
	defer stop()
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(r.admin.URL+"/samples/1")); err != nil {
		t.Fatal(err)
	}
	see := func(what, condition string) {
		t.Helper()
		if _, err := chromedp.Run(ctx, chromedp.Poll[bool](condition)); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	do := func(what, script string) {
		t.Helper()
		if _, err := chromedp.Run(ctx, chromedp.Evaluate[bool](script+"; true")); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	const key = `document.body.dispatchEvent(new KeyboardEvent("keydown", {key: "%", bubbles: true}))`
	press := func(k string) {
		t.Helper()
		do("press "+k, replaced(key, k))
	}
	const here = `document.activeElement.querySelector("[id^=d]")?.id`
	press("n")
	see("the first difference has the focus", here+` === "d1"`)
	press("n")
	see("the second", here+` === "d2" && document.activeElement.textContent.includes("more")`)
	press("p")
	see("the first again", here+` === "d1"`)

	do("open a fold", `document.querySelector("#body .rest a").click()`)
	see("its lines stand in its place", `document.querySelectorAll("#body .line.same").length > 300`)

	do("a clipboard", `document.execCommand = (c) => { window.copied = document.activeElement.value; return true; };
		Object.defineProperty(navigator, "clipboard", {value: {writeText: async (s) => { window.copied = s; }}})`)
	do("copy", `document.querySelector("[data-copy-from*=curl]").click()`)
	see("it says so", `document.querySelector("[data-copy-from*=curl]").textContent.startsWith("Copied")`)
	see("the command is copied", `window.copied.includes("curl --request 'GET'")`)
}

// replaced puts a key into a script.
func replaced(script, key string) string { return strings.ReplaceAll(script, "%", key) }
