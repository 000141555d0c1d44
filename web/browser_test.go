package web

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// browserStep is how long one thing may take in the browser: generous, for a busy machine under the race detector.
const browserStep = 90 * time.Second

// tab is one tab of a browser, with cookies of its own. It remembers whatever went wrong in it.
type tab struct {
	t      *testing.T
	ctx    context.Context
	origin string // where the pages are, with their base path; nothing may be asked of any other origin

	mu      sync.Mutex
	wrong   []string
	refused []string // addresses that were answered with a status of 400 or above
	asked   map[network.RequestID]string
}

// look is how a page is looked at.
type look struct {
	width int64
	theme string // the system's: "light" or "dark"
}

func (l look) String() string { return fmt.Sprintf("%d px, %s", l.width, l.theme) }

func desk() look  { return look{1440, "light"} }
func phone() look { return look{390, "light"} }

// looks are both widths in both themes.
func looks() []look {
	return []look{desk(), {1440, "dark"}, {390, "dark"}, phone()}
}

// openTab opens a tab on the pages at an address. It is closed with the test, which fails for all that went wrong in it by
// then and was not taken back with expect.
func openTab(t *testing.T, browser context.Context, origin string) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
	b := &tab{t: t, ctx: ctx, origin: origin, asked: map[network.RequestID]string{}}
	if err := chromedp.Listen(ctx, b.hear); err != nil {
		t.Fatalf("open a tab: %v", err)
	}
	t.Cleanup(func() {
		b.expect()
		closing, stop := context.WithTimeout(ctx, 30*time.Second)
		defer stop()
		if err := chromedp.Cancel(closing); err != nil {
			t.Errorf("close a tab: %v", err)
		}
		cancel()
	})
	b.watch(desk())
	return b
}

// hear notes what a person who has the developer's tools open would see in red.
func (b *tab) hear(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		text := e.ExceptionDetails.Text
		if e.ExceptionDetails.Exception != nil {
			text += " " + e.ExceptionDetails.Exception.Description
		}
		b.wrong = append(b.wrong, "exception: "+text)
	case *runtime.EventConsoleAPICalled:
		if e.Type == "error" || e.Type == "warning" || e.Type == "assert" {
			var words []string
			for _, arg := range e.Args {
				words = append(words, string(arg.Value)+arg.Description)
			}
			b.wrong = append(b.wrong, fmt.Sprintf("console.%s: %s", e.Type, strings.Join(words, " ")))
		}
	case *log.EventEntryAdded: // the policy is among them
		if (e.Entry.Level == "error" || e.Entry.Level == "warning") && e.Entry.Source != "network" {
			b.wrong = append(b.wrong, fmt.Sprintf("%s: %s %s", e.Entry.Source, e.Entry.Text, e.Entry.URL))
		}
	case *network.EventRequestWillBeSent:
		at := e.Request.URL
		b.asked[e.RequestID] = at
		if !strings.HasPrefix(at, b.origin+"/") && !strings.HasPrefix(at, "data:") && !strings.HasPrefix(at, "blob:") && at != "about:blank" {
			b.wrong = append(b.wrong, "asked elsewhere: "+at)
		}
	case *network.EventResponseReceived:
		if e.Response.Status >= http.StatusBadRequest {
			b.refused = append(b.refused, fmt.Sprintf("%d %s", e.Response.Status, e.Response.URL))
		}
	case *network.EventLoadingFailed:
		// What is cancelled was given up by the page or with it.
		if !e.Canceled && e.ErrorText != "net::ERR_ABORTED" {
			b.wrong = append(b.wrong, fmt.Sprintf("failed: %s %s", b.asked[e.RequestID], e.ErrorText))
		}
	}
}

// expect fails the test for all that went wrong so far, but for refusals of addresses that hold one of the texts, and
// complaints that do.
func (b *tab) expect(texts ...string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, complaint := range append(b.wrong, b.refused...) {
		if !slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(complaint, text) }) {
			b.t.Errorf("in the browser: %s", complaint)
		}
	}
	b.wrong, b.refused = nil, nil
}

// do takes steps under one deadline.
func (b *tab) do(what string, steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, stop := context.WithTimeout(b.ctx, browserStep)
	defer stop()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.t.Fatalf("%s: %v\n%s", what, err, b.saying())
	}
}

// tell sends a command of the browser's protocol.
func tell[P, R any](b *tab, command cdp.Command[P, R], params P) (r R) {
	b.t.Helper()
	ctx, stop := context.WithTimeout(b.ctx, browserStep)
	defer stop()
	r, err := chromedp.Run(ctx, func(ctx context.Context, target *chromedp.Target) (R, error) {
		return cdp.Call(ctx, target, command, params)
	})
	if err != nil {
		b.t.Fatalf("%s: %v", command.Method, err)
	}
	return r
}

// watch looks at the page in another way from now on.
func (b *tab) watch(l look) {
	b.t.Helper()
	height := int64(900)
	if l.width < 700 {
		height = 844
	}
	b.do("look at "+l.String(), chromedp.EmulateViewport(l.width, height))
	tell(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: l.theme}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}})
}

// visit goes to a page by its path.
func (b *tab) visit(path string) {
	b.t.Helper()
	b.do("visit "+path, chromedp.Navigate(b.origin+path))
}

// eval computes something in the page; a promise is waited for.
func eval[T any](b *tab, expression string) T {
	b.t.Helper()
	ctx, stop := context.WithTimeout(b.ctx, browserStep)
	defer stop()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%.300s: %v", expression, err)
	}
	return v
}

// await waits until an expression is true in the page, also over loads of other pages.
func (b *tab) await(what, expression string) {
	b.t.Helper()
	ctx, stop := context.WithTimeout(b.ctx, browserStep)
	defer stop()
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for {
		// While another page is on its way there may be no document to ask.
		yes, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("!!("+expression+")"))
		if err == nil && yes {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			b.t.Fatalf("waiting until %s: %v\n%s", what, err, b.saying())
		}
	}
}

// saying is where the tab is and what stands there, for messages.
func (b *tab) saying() string {
	ctx, stop := context.WithTimeout(b.ctx, 10*time.Second)
	defer stop()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string](`location.href + "\n" + (document.querySelector("main")?.innerText ?? document.body?.innerText ?? "").slice(0, 3000)`))
	if err != nil {
		return err.Error()
	}
	return text
}

// text reads what an element shows, or nothing where there is none.
func (b *tab) text(selector string) string {
	b.t.Helper()
	return eval[string](b, fmt.Sprintf(`document.querySelector(%q)?.innerText ?? ""`, selector))
}

// texts reads what each of some elements shows.
func (b *tab) texts(selector string) []string {
	b.t.Helper()
	return eval[[]string](b, fmt.Sprintf(`[...document.querySelectorAll(%q)].map((e) => e.innerText)`, selector))
}

// there counts elements.
func (b *tab) there(selector string) int {
	b.t.Helper()
	return eval[int](b, fmt.Sprintf(`document.querySelectorAll(%q).length`, selector))
}

// path is where the tab is, with its query, below where the pages are.
func (b *tab) path() string {
	b.t.Helper()
	at := eval[string](b, `location.href`)
	return strings.TrimPrefix(at, b.origin)
}

// back goes back, or forward, in the tab's history: a page that the browser has kept does not load again.
func (b *tab) back(steps int, to string) {
	b.t.Helper()
	eval[bool](b, fmt.Sprintf(`(history.go(%d), true)`, steps))
	b.await("the tab is at "+to, fmt.Sprintf(`location.href === %q && document.readyState === "complete"`, b.origin+to))
}

// press sends keys to what has the focus, as a keyboard does: what the page takes for itself is not typed.
func (b *tab) press(keys string) {
	b.t.Helper()
	for _, r := range keys {
		events := kb.Encode(r)
		down, up := *events[0], *events[len(events)-1]
		if len(events) == 3 {
			down.Type, down.Text, down.UnmodifiedText = input.DispatchKeyEventTypeKeyDown, events[1].Text, events[1].UnmodifiedText
		}
		tell(b, input.DispatchKeyEvent, down)
		tell(b, input.DispatchKeyEvent, up)
	}
}

// click presses what a person would: a link, a button, a summary. It is scrolled to, and clicked in its middle; what lies
// over it there gets the click.
func (b *tab) click(selector string) {
	b.t.Helper()
	b.do("click "+selector, chromedp.Click(chromedp.CSS(selector), chromedp.NodeVisible))
}

// clickText clicks the first of some elements that shows a text, where it stands at that moment: pages that live move.
func (b *tab) clickText(selector, text string) {
	b.t.Helper()
	find := fmt.Sprintf(`[...document.querySelectorAll(%q)].find((e) => e.innerText.includes(%q) && e.checkVisibility())`, selector, text)
	b.await(fmt.Sprintf("%s says %q", selector, text), find)
	at := eval[[2]float64](b, fmt.Sprintf(`(() => {
		const e = %s;
		e.scrollIntoView({block: "center", behavior: "instant"});
		const r = e.getClientRects()[0];
		return [r.left + r.width / 2, r.top + r.height / 2];
	})()`, find))
	b.do("click "+text, chromedp.MouseClickXY(at[0], at[1]))
}
