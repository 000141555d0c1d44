package store

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"shadowdiff/diff"
)

// The list is narrowed by route, field, result and time, newest first, and pages follow one another without a gap while
// more is recorded.
func TestSamplesAreListedAndPaged(t *testing.T) {
	db := openStore(t, testConfig(t), Deps{})
	run := startRun(t, db, candidateV1)
	record := func(n int) {
		for i := range n {
			at := noon.Add(time.Duration(i) * time.Minute)
			db.Record(run.ID, compared("GET /a", at, field(fmt.Sprintf("body.f%d", i), 1, 0)))
			db.Record(run.ID, compared("GET /b", at, field(fmt.Sprintf("body.f%d", i), 0, 1)))
		}
	}
	record(30)
	flush(t, db)
	for _, c := range []struct {
		name string
		f    Filter
		want int
	}{
		{"all", Filter{Limit: 500}, 60},
		{"default page", Filter{}, 50},
		{"route", Filter{Route: "GET /a"}, 30},
		{"field", Filter{Field: "body.f7"}, 2},
		{"result", Filter{Result: diff.ControlOnly}, 30},
		{"route and result that exclude each other", Filter{Route: "GET /a", Result: diff.ControlOnly}, 0},
		{"since", Filter{Since: noon.Add(20 * time.Minute)}, 20},
		{"until", Filter{Until: noon.Add(20 * time.Minute), Route: "GET /a"}, 20},
		{"another run", Filter{Run: 7}, 0},
	} {
		items, _, err := db.Samples(context.Background(), c.f)
		if err != nil || len(items) != c.want {
			t.Errorf("%s: %d items, want %d, %v", c.name, len(items), c.want, err)
		}
	}

	seen, f := map[int64]bool{}, Filter{Limit: 7}
	var last time.Time
	for page := 0; page == 0 || f.Cursor != ""; page++ {
		items, next, err := db.Samples(context.Background(), f)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range items {
			if seen[s.ID] || !last.IsZero() && s.Time.After(last) {
				t.Errorf("page %d: sample %d again, or out of order", page, s.ID)
			}
			if s.Request.Body != nil || s.Responses[0].Body != nil || s.Request.Target == "" || len(s.Fields) != 1 {
				t.Errorf("listed as %+v", s)
			}
			seen[s.ID], last = true, s.Time
		}
		f.Cursor = next
		db.Record(run.ID, compared("GET /c", noon.Add(time.Duration(page)*time.Hour), field(fmt.Sprintf("body.g%d", page), 1, 0)))
		flush(t, db)
	}
	for id := int64(1); id <= 60; id++ {
		if !seen[id] {
			t.Errorf("sample %d was on no page", id)
		}
	}
	for _, cursor := range []string{"x", "1.", ".1", "!.?", "1.2.3"} {
		if _, _, err := db.Samples(context.Background(), Filter{Cursor: cursor}); !errors.Is(err, ErrCursor) {
			t.Errorf("cursor %q: %v", cursor, err)
		}
	}
}
