package web

import (
	"fmt"
	"net/http"
	"testing"
	"time"
)

// Who changed what can be read newest first, page by page, by actor, by action and by time, while more is added.
func TestActivityIsListed(t *testing.T) {
	r := newRig(t, shop("1"), shop("2"), nil)
	for i := range 7 {
		if err := r.db.LogActivity(t.Context(), []string{"api", "page"}[i%2], "rules", fmt.Sprint("change ", i)); err != nil {
			t.Fatal(err)
		}
	}
	r.do(http.MethodPut, "/api/v1/shadowing", `{"enabled": false}`)
	pages, path := 0, "/api/v1/activity?action=rules&limit=3"
	var details []string
	for ; path != "" && pages < 9; pages++ {
		var page list[activityItem]
		decode(t, r.get(path), &page)
		for _, item := range page.Items {
			details = append(details, item.Detail)
			if item.Action != "rules" || item.ID == 0 || time.Since(item.Time) > time.Hour {
				t.Errorf("%+v", item)
			}
		}
		path = ""
		if page.Next != nil {
			path = "/api/v1/activity?action=rules&limit=3&cursor=" + *page.Next
		}
		if err := r.db.LogActivity(t.Context(), "api", "rules", "meanwhile"); err != nil {
			t.Fatal(err)
		}
	}
	if want := "[change 6 change 5 change 4 change 3 change 2 change 1 change 0]"; fmt.Sprint(details) != want || pages != 3 {
		t.Errorf("%d pages hold %v, want %s", pages, details, want)
	}
	for path, count := range map[string]int{
		"/api/v1/activity?actor=page": 3, "/api/v1/activity?action=shadowing": 1, "/api/v1/activity?until=1h": 0, "/api/v1/activity?since=1h&actor=page": 3,
		"/api/v1/activity?actor=nobody": 0,
	} {
		var page list[activityItem]
		decode(t, r.get(path), &page)
		if len(page.Items) != count {
			t.Errorf("%s lists %d, want %d", path, len(page.Items), count)
		}
	}
}
