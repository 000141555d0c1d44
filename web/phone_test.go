package web

import (
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// tooWide names what reaches beyond the window, if the page is wider than that.
const tooWide = `document.documentElement.scrollWidth <= innerWidth ? "" : [...document.querySelectorAll("body *")]
	.filter((e) => e.getBoundingClientRect().right > innerWidth)
	.map((e) => e.tagName + "." + e.className + " to " + Math.round(e.getBoundingClientRect().right)).slice(0, 9).join("; ")`

// Whatever names and values clients and upstreams make up, no page is wider than a phone, not even for the moment until
// the chart is drawn anew; and then the chart fits.
func TestPagesFitOnAPhone(t *testing.T) {
	long := strings.Repeat("abcdefgh", 60)
	answers := func(v string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"%s":%q,"price":%q}`, long, v+long, v)
		}
	}
	r := newRig(t, answers("1"), answers("2"), nil)
	target := "/a/" + strings.Repeat("w", 50) + "/" + strings.Repeat("v", 50) + "/" + strings.Repeat("u", 50) + "?q=" + strings.Repeat("zz", 300)
	r.ask(40, target)
	r.later(r.db.Snapshot().Tallies.Routes[0].Route)
	paths := []string{"/", "/samples/1"}
	for _, f := range r.db.Snapshot().Tallies.Fields {
		paths = append(paths, fieldPath(f.Route, f.Field))
	}
	paths = append(paths, routePath(r.db.Snapshot().Tallies.Routes[0].Route))

	browser, charts := openBrowser(t), 0
	for _, path := range paths {
		ctx, stop := context.WithTimeout(browser, 90*time.Second)
		err := chromedp.Do(ctx, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(r.admin.URL+path), chromedp.EmulateViewport(390, 844))
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		wide, err := chromedp.Run(ctx, chromedp.Evaluate[string](tooWide))
		if err != nil || wide != "" {
			t.Errorf("%s is too wide for a phone: %s, %v", path, wide, err)
		}
		const drawn = `[...document.querySelectorAll("#chart canvas")].every((c) => c.getBoundingClientRect().right <= innerWidth)`
		if _, err := chromedp.Run(ctx, chromedp.Poll[bool](drawn)); err != nil {
			t.Errorf("%s: the chart is not drawn anew: %v", path, err)
		}
		if here, err := chromedp.Run(ctx, chromedp.Evaluate[bool](`!!document.querySelector("#chart canvas")`)); err == nil && here {
			charts++
		}
		stop()
	}
	if charts < 2 {
		t.Errorf("%d of %d pages had a chart", charts, len(paths))
	}
}

// openBrowser starts a headless Chromium, which is gone when the test ends.
func openBrowser(t *testing.T) context.Context {
	t.Helper()
	path, err := exec.LookPath("chromium")
	for _, name := range []string{"chromium-browser", "google-chrome", "google-chrome-stable"} {
		if err != nil {
			path, err = exec.LookPath(name)
		}
	}
	if err != nil {
		t.Fatal("no Chromium found: install it (Debian, Ubuntu: apt-get install chromium; macOS: brew install chromium), or run make test, which does")
	}
	allocator, free := chromedp.NewExecAllocator(context.Background(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true))...)
	ctx, cancel := chromedp.NewContext(allocator)
	t.Cleanup(func() {
		closing, stop := context.WithTimeout(ctx, 30*time.Second)
		defer stop()
		if err := chromedp.Cancel(closing); err != nil {
			t.Errorf("close Chromium: %v", err)
		}
		cancel()
		free()
	})
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("start Chromium: %v", err)
	}
	return ctx
}
