package web

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
)

// Rows, views, the search, the list of keys: without a mouse, and never while somebody types.
func TestKeysGoAlong(t *testing.T) {
	r := newRig(t, shop("1"), shop("1"), nil)
	for i := range 3 {
		if err := r.db.LogActivity(t.Context(), "page", "rules", fmt.Sprintf("added %d: drop: body.x", i+1)); err != nil {
			t.Fatal(err)
		}
	}
	b := openTab(t, openBrowser(t), r.admin.URL)
	b.visit("/activity")
	const row = `[...document.querySelectorAll("[data-row]")].findIndex((r) => r.contains(document.activeElement))`
	for _, step := range []struct {
		key string
		row int
	}{{"j", 0}, {"j", 1}, {"j", 2}, {"j", 2}, {"k", 1}, {"k", 0}, {"k", 0}} {
		b.press(step.key)
		if at := eval[int](b, row); at != step.row {
			t.Errorf("after %s the focus is in row %d, want %d", step.key, at, step.row)
		}
	}
	if !eval[bool](b, `document.activeElement.matches(":focus-visible")`) {
		t.Error("the focus is not to be seen")
	}
	b.press("o")
	b.await("the row is open", `location.pathname === "/rules" && document.readyState === "complete"`)
	b.press("g")
	b.press("s")
	b.await("the view is there", `location.pathname === "/settings" && document.readyState === "complete"`)

	b.do("enter the field", chromedp.Click(chromedp.CSS("#rate")))
	b.press("g")
	b.press("o")
	b.press("?")
	if value := eval[string](b, `document.querySelector("#rate").value`); value != "100%go?" && value != "go?100%" {
		t.Errorf("typed: %q", value)
	}
	if at := b.path(); at != "/settings" || eval[bool](b, `document.querySelector("#keys").open`) {
		t.Errorf("typing leads to %s, or opens the keys", at)
	}
	b.press("\x1b")
	b.await("the field is left", `document.activeElement === document.body`)

	b.press("?")
	b.await("the keys are listed", `document.querySelector("#keys").open && document.querySelector("#keys").innerText.includes("next row")`)
	b.press("\x1b")
	b.await("the list is closed", `!document.querySelector("#keys").open`)

	b.visit("/activity")
	b.press("/")
	b.await("the search has the focus", `document.activeElement.matches("[data-search]")`)

	b.visit("/activity")
	eval[bool](b, `document.querySelector("#keys-on").click(), true`)
	b.press("j")
	if at := eval[int](b, row); at != -1 {
		t.Errorf("keys that are off move to row %d", at)
	}
}

// A word shows its meaning while it has the focus, and Escape hides it.
func TestWordShowsItsMeaning(t *testing.T) {
	r := newRig(t, shop("1"), shop("1"), nil)
	b := openTab(t, openBrowser(t), r.admin.URL)
	for _, l := range looks() {
		b.watch(l)
		b.visit("/settings")
		const shown = `getComputedStyle(document.querySelector("#targets .meaning")).display !== "none"`
		if eval[bool](b, shown) {
			t.Errorf("%s: the meaning is there unasked", l)
		}
		eval[bool](b, `document.querySelector("#targets .word").focus(), true`)
		if !eval[bool](b, shown) {
			t.Errorf("%s: the focus shows no meaning", l)
		}
		if wide := eval[string](b, tooWide); wide != "" {
			t.Errorf("%s: the meaning makes the page too wide: %s", l, wide)
		}
		const inside = `(({left, right, top, bottom}) => left >= 0 && right <= innerWidth && top >= 0 && bottom <= innerHeight)(document.querySelector("#targets .meaning").getBoundingClientRect())`
		if !eval[bool](b, inside) {
			t.Errorf("%s: the meaning is not in the window", l)
		}
		b.press("\x1b")
		b.await("Escape hides it", "!("+shown+")")
	}
}
