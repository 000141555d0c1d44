package web

import "testing"

// What a link leads to stands below the head that stays at the top, whatever the width.
func TestWhatALinkLeadsToIsSeen(t *testing.T) {
	r := newRig(t, shop("1"), shop("2"), nil)
	r.ask(40, "/products/1")
	b := openTab(t, openBrowser(t), r.admin.URL)
	for _, width := range []int64{1440, 1000, 760, 390} {
		b.watch(look{width, "light"})
		for _, path := range []string{"/rules#write", "/#routes"} {
			b.visit(path)
			b.await("it has jumped", `document.querySelector(":target") && scrollY > 0 || document.documentElement.scrollHeight <= innerHeight`)
			covered := eval[float64](b, `(() => {
				const bar = document.querySelector(".bar").getBoundingClientRect(), at = document.querySelector(":target").getBoundingClientRect();
				return bar.bottom - at.top;
			})()`)
			if covered > 0 {
				t.Errorf("%s, %d px: the head covers %.0f px of it", path, width, covered)
			}
		}
	}
}
