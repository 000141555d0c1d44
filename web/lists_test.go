package web

import (
	"cmp"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"shadowdiff/diff"
	"shadowdiff/store"
)

// snapshotWith is a snapshot with so many fields on each of two routes.
func snapshotWith(fields int) *store.Snapshot {
	t := &diff.Tallies{}
	for _, route := range []string{"GET /a", "GET /b"} {
		for i := range fields {
			f := &diff.FieldTally{Route: route, Field: fmt.Sprintf("body.f%05d", i), Noise: int64(i * 7919 % 101)}
			f.Tests[diff.TestValue].Both = 1
			f.Tests[diff.TestPresence].CandidateOnly = int64(i % 5)
			t.Fields = append(t.Fields, f)
		}
	}
	return &store.Snapshot{Tallies: t}
}

func queryOf(t *testing.T, text string, known ...string) query {
	t.Helper()
	q, err := readQuery(httptest.NewRequest(http.MethodGet, "/api/v1/fields?"+text, nil), known...)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// Pages that follow one another have each row once, in the order that sorting all of them gives, whichever order it is.
func TestPagesAreTheSortedList(t *testing.T) {
	snap := snapshotWith(50)
	for _, sort := range []string{"", "name", "noise", "candidate_only", "both"} {
		for _, order := range []string{"", "asc", "desc"} {
			text := "limit=7&sort=" + sort + "&order=" + order
			q := queryOf(t, text, "limit", "sort", "order", "cursor")
			o, err := readOrdering(q, fieldMeasures)
			if err != nil {
				t.Fatal(err)
			}
			filter := fieldFilter{}
			all := slices.Collect(filter.rows(markedOf(snap.Tallies, nil), &ordering[fieldTest]{}))
			slices.SortStableFunc(all, func(a, b fieldTest) int {
				if o.measure == nil {
					if o.down {
						return strings.Compare(b.name(), a.name())
					}
					return strings.Compare(a.name(), b.name())
				}
				by := cmp.Compare(o.measure(a), o.measure(b))
				if o.down {
					by = -by
				}
				return cmp.Or(by, strings.Compare(a.name(), b.name()))
			})
			var got []string
			for pages := 0; pages < 100; pages++ {
				rows, next := o.page(q, filter.rows(markedOf(snap.Tallies, nil), &o), fieldTest.name)
				for _, row := range rows {
					got = append(got, row.name())
				}
				if next == nil {
					break
				}
				q = queryOf(t, text+"&cursor="+url.QueryEscape(*next), "limit", "sort", "order", "cursor")
				if o, err = readOrdering(q, fieldMeasures); err != nil {
					t.Fatal(err)
				}
			}
			var want []string
			for _, row := range all {
				want = append(want, row.name())
			}
			if !slices.Equal(got, want) {
				t.Errorf("sort=%s order=%s: %d rows, want %d in another order", sort, order, len(got), len(want))
			}
		}
	}
}

// A page by name looks at what it shows, however long the list is and wherever the page is in it.
func TestAPageCostsWhatItShows(t *testing.T) {
	snap := snapshotWith(20_000)
	for _, order := range []string{"asc", "desc"} {
		q := queryOf(t, "limit=10&order="+order, "limit", "order")
		o, err := readOrdering(q, fieldMeasures)
		if err != nil {
			t.Fatal(err)
		}
		o.after = &spot{0, "GET /b\x00body.f10000\x000"}
		filter, looked := fieldFilter{}, 0
		rows, next := o.page(q, func(yield func(fieldTest) bool) {
			for row := range filter.rows(markedOf(snap.Tallies, nil), &o) {
				looked++
				if !yield(row) {
					return
				}
			}
		}, fieldTest.name)
		if len(rows) != 10 || next == nil || looked > 20 {
			t.Errorf("%s: %d rows, and %d were looked at", order, len(rows), looked)
		}
	}
}

// A cursor is good for the list and the order that gave it out, and for nothing else.
func TestACursorIsOfItsList(t *testing.T) {
	r := newRig(t, shop("1"), shop("2"), nil)
	r.ask(4, "/a")
	r.ask(4, "/b")
	next := func(path string) string {
		var page list[map[string]any]
		decode(t, r.get(path), &page)
		if page.Next == nil {
			t.Fatalf("%s has one page", path)
		}
		return *page.Next
	}
	cursors := map[string]string{}
	for _, path := range []string{
		"/api/v1/routes?limit=1", "/api/v1/routes?limit=1&sort=noise", "/api/v1/routes?limit=1&order=desc", "/api/v1/fields?limit=1", "/api/v1/fields?limit=1&since=1h",
		"/api/v1/fields?limit=1&sort=both&order=asc", "/api/v1/samples?limit=1", "/api/v1/suggestions?limit=1",
	} {
		cursors[path] = next(path)
	}
	for of, cursor := range cursors {
		for path := range cursors {
			a := r.do(http.MethodGet, path+"&cursor="+cursor, "")
			if path == of && a.status != http.StatusOK {
				t.Errorf("%s refuses its own cursor: %s", path, a.body)
			}
			if path != of && (a.status != http.StatusBadRequest || !strings.Contains(a.body, cursor)) {
				t.Errorf("%s takes the cursor of %s: %d %s", path, of, a.status, a.body)
			}
		}
	}
}

// What a window and a series count is what was counted.
func TestWindowsAndSeriesHoldTheCounts(t *testing.T) {
	r := newRig(t, shop("1"), shop("2"), nil)
	r.ask(6, "/a")
	r.ask(3, "/b")
	var fields list[windowFieldItem]
	decode(t, r.get("/api/v1/fields?since=1h&field=body.price&test=value"), &fields)
	if len(fields.Items) != 2 || fields.Items[0].Route != "GET /a" || fields.Items[0].CandidateOnly != 6 || fields.Items[1].CandidateOnly != 3 {
		t.Errorf("the window %+v", fields.Items)
	}
	decode(t, r.get("/api/v1/fields?until=1h"), &fields)
	if len(fields.Items) != 0 {
		t.Errorf("before all: %+v", fields.Items)
	}
	for path, want := range map[string]int64{
		"/api/v1/series": 9, "/api/v1/series?route=GET+/b": 3, "/api/v1/series?field=body.price": 9, "/api/v1/series?field=body.price&route=GET+/a": 6,
		"/api/v1/series?until=1h": 0,
	} {
		var points list[pointItem]
		decode(t, r.get(path), &points)
		var compared, only int64
		for _, p := range points.Items {
			compared, only = compared+p.Compared, only+p.CandidateOnly
		}
		if compared != want || only != want {
			t.Errorf("%s counts %d compared, %d of the candidate alone, want %d", path, compared, only, want)
		}
	}
	for path, says := range map[string]string{
		"/api/v1/series?test=drift": "give field, too", "/api/v1/series?route=GET+/c": "no request of route", "/api/v1/fields?since=1h&sort=noise": "sort has no meaning",
	} {
		if a := r.do(http.MethodGet, path, ""); a.status < 400 || !strings.Contains(a.body, says) {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
}

// The transport of all routes together is in the list of fields, and can be told from the routes' own.
func TestTransportOfAllRoutesIsListed(t *testing.T) {
	r := newRig(t, shop("1"), func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) }, nil)
	r.ask(2, "/a")
	r.ask(2, "/b")
	var fields list[fieldItem]
	decode(t, r.get("/api/v1/fields?field=transport&test=presence"), &fields)
	if len(fields.Items) != 3 || fields.Items[0].Route != "" || fields.Items[0].CandidateOnly != 4 || fields.Items[0].Compared != 4 || fields.Items[1].CandidateOnly != 2 {
		t.Errorf("%+v", fields.Items)
	}
	decode(t, r.get("/api/v1/fields?field=transport&test=presence&order=desc&limit=2"), &fields)
	if len(fields.Items) != 2 || fields.Items[0].Route != "GET /b" || fields.Next == nil {
		t.Fatalf("backward %+v", fields.Items)
	}
	decode(t, r.get("/api/v1/fields?field=transport&test=presence&order=desc&limit=2&cursor="+*fields.Next), &fields)
	if len(fields.Items) != 1 || fields.Items[0].Route != "" || fields.Next != nil {
		t.Errorf("the last page backward %+v", fields.Items)
	}
}

// FuzzQuery: whatever stands in a query is read or refused, and a refusal is a problem of the caller's.
func FuzzQuery(f *testing.F) {
	for _, seed := range []string{"", "limit=3", "limit=3&limit=4", "cursor=AAAA", "sort=noise&order=asc&cursor=%ff", "since=1h&until=2h", "test=x", "%zz", "a;b", "since=-1h", "limit=99999999999999999999"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r := &http.Request{Method: http.MethodGet, URL: &url.URL{Path: "/api/v1/fields", RawQuery: text}}
		q, err := readQuery(r, "limit", "cursor", "sort", "order", "since", "until", "test", "confirmed")
		steps := []func() error{
			func() error { return err },
			func() error { _, err := readOrdering(q, fieldMeasures); return err },
			func() error { _, _, err := q.span(); return err },
			func() error { _, err := q.test(); return err },
			func() error { _, err := q.flag("confirmed"); return err },
		}
		for _, step := range steps {
			err := step()
			if err == nil {
				continue
			}
			if p := asProblem(err); p.Status != http.StatusBadRequest || p.Detail == "" {
				t.Errorf("%q: %d %q", text, p.Status, p.Detail)
			}
			return
		}
		o, _ := readOrdering(q, fieldMeasures)
		if o.limit < 1 || o.limit > itemsMost {
			t.Errorf("%q: a limit of %d", text, o.limit)
		}
	})
}

// FuzzCursor: a cursor gives back the place it was made of; nothing else is taken for one.
func FuzzCursor(f *testing.F) {
	f.Add("GET /a", "AAAA")
	f.Add("\x00\xff", "")
	f.Add("12 x", "!")
	f.Fuzz(func(t *testing.T, place, other string) {
		at := func(cursor string) (string, error) {
			r := &http.Request{Method: http.MethodGet, URL: &url.URL{Path: "/api/v1/routes", RawQuery: url.Values{"cursor": {cursor}}.Encode()}}
			q, err := readQuery(r, "cursor")
			if err != nil {
				t.Fatal(err)
			}
			return q.place()
		}
		q := query{request: &http.Request{URL: &url.URL{Path: "/api/v1/routes"}}}
		if got, err := at(*q.cursorFor(place)); place != "" && (err != nil || got != place) {
			t.Errorf("%q comes back as %q, %v", place, got, err)
		}
		if got, err := at(other); err == nil && other != "" && *q.cursorFor(got) != other {
			t.Errorf("%q is taken for a cursor of %q", other, got)
		}
		away := query{request: &http.Request{URL: &url.URL{Path: "/api/v1/fields"}}}
		if got, err := at(*away.cursorFor(place)); err == nil {
			t.Errorf("the cursor of another list is taken for one of %q", got)
		}
	})
}
