package web

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strings"
	"time"

	"shadowdiff/diff"
	"shadowdiff/store"
)

const (
	itemsShown = 100
	itemsMost  = 1000
)

// routeItem is one route in GET /api/v1/routes.
type routeItem struct {
	Route         string           `json:"route"`
	Page          string           `json:"page"`
	Compared      int64            `json:"compared"`
	Unknown       map[string]int64 `json:"unknown"`
	Failed        int64            `json:"failed"` // compared, but exactly one shadow gave an answer
	Raw           int64            `json:"raw"`
	Noise         int64            `json:"noise"`
	CandidateOnly int64            `json:"candidate_only"`
	ControlOnly   int64            `json:"control_only"`
	Both          int64            `json:"both"`
	CandidateUp   int64            `json:"candidate_up"`
	ControlUp     int64            `json:"control_up"`
	First         time.Time        `json:"first"`
	Last          time.Time        `json:"last"`
	*routeJudged                   // what the verdict adds; left out until there is one
}

type routeJudged struct {
	RawRate      float64             `json:"raw_rate"`
	NoiseRate    float64             `json:"noise_rate"`
	Excess       float64             `json:"excess"`
	ExcessBounds [2]float64          `json:"excess_interval"`
	Equivalence  float64             `json:"equivalence_rate"`
	EquivBounds  [2]float64          `json:"equivalence_interval"`
	Word         diff.Word           `json:"verdict"`
	MoreNeeded   *int64              `json:"more_needed"`
	Confirmed    int                 `json:"confirmed_differences"`
	Latency      diff.LatencyFinding `json:"latency"`
}

// listRoutes answers GET /api/v1/routes, sorted by name.
func (s *Server) listRoutes(w http.ResponseWriter, r *http.Request) error {
	q, err := readQuery(r, "run", "limit", "cursor")
	if err != nil {
		return err
	}
	snap := s.deps.DB.Snapshot()
	if err := currentRun(q, snap.Run); err != nil {
		return err
	}
	items := make([]routeItem, 0, len(snap.Tallies.Routes))
	for _, t := range snap.Tallies.Routes {
		items = append(items, s.routeItem(t, verdictOf(snap, t.Route)))
	}
	return writeList(w, q, items, func(i routeItem) string { return i.Route })
}

func (s *Server) routeItem(t *diff.RouteTally, v *diff.Verdict) routeItem {
	item := routeItem{
		Route: t.Route, Page: s.prefix + routePath(t.Route), Compared: t.Compared, Unknown: t.Unknown, Failed: t.Failed,
		Raw: t.Raw, Noise: t.Noise,
		CandidateOnly: t.Results.CandidateOnly, ControlOnly: t.Results.ControlOnly, Both: t.Results.Both,
		CandidateUp: t.CandidateUp, ControlUp: t.ControlUp, First: t.First, Last: t.Last,
	}
	if item.Unknown == nil {
		item.Unknown = map[string]int64{}
	}
	if v != nil {
		item.routeJudged = &routeJudged{
			RawRate: v.RawRate, NoiseRate: v.NoiseRate, Excess: v.Excess, ExcessBounds: v.ExcessBounds,
			Equivalence: v.Equivalence, EquivBounds: v.EquivBounds, Word: v.Word, MoreNeeded: v.MoreNeeded,
			Confirmed: confirmedIn(v), Latency: v.Latency,
		}
	}
	return item
}

func confirmedIn(v *diff.Verdict) int {
	n := 0
	for _, f := range v.Differences {
		if f.Confirmed {
			n++
		}
	}
	return n
}

// fieldItem is one (route, field, test) in GET /api/v1/fields. For extent candidate_only and control_only count requests
// in which the candidate, or the control, differs at more places; for drift those in which it is greater, or less.
type fieldItem struct {
	Route         string     `json:"route"`
	Field         string     `json:"field"`
	Test          diff.Test  `json:"test"`
	Page          string     `json:"page"`
	Raw           int64      `json:"raw"` // requests in which the candidate differs here at all
	Noise         int64      `json:"noise"`
	CandidateOnly int64      `json:"candidate_only"`
	ControlOnly   int64      `json:"control_only"`
	Both          int64      `json:"both"`
	LnE           float64    `json:"ln_e"`
	Confirmed     bool       `json:"confirmed"`
	ConfirmedAt   *time.Time `json:"confirmed_at"`
	ConfirmedOn   *int64     `json:"confirmed_on"` // requests compared on the route by then
	First         time.Time  `json:"first"`
	Last          time.Time  `json:"last"`
}

// listFields answers GET /api/v1/fields, sorted by route, field and test; a test without a count is left out.
func (s *Server) listFields(w http.ResponseWriter, r *http.Request) error {
	q, err := readQuery(r, "route", "field", "test", "confirmed", "run", "limit", "cursor")
	if err != nil {
		return err
	}
	confirmed, err := q.flag("confirmed")
	if err != nil {
		return err
	}
	var test *diff.Test
	if word := q.text("test"); word != "" {
		test = new(diff.Test)
		if err := test.UnmarshalText([]byte(word)); err != nil {
			return refuse(http.StatusBadRequest, "test=%q: give value, format, type, presence, extent or drift", word)
		}
	}
	snap := s.deps.DB.Snapshot()
	if err := currentRun(q, snap.Run); err != nil {
		return err
	}
	items, route := []fieldItem{}, s.current(snap, q.text("route"))
	for _, t := range snap.Tallies.Fields {
		if matches(route, t.Route) && matches(q.text("field"), t.Field) {
			items = append(items, s.fieldItems(t, test, confirmed)...)
		}
	}
	return writeList(w, q, items, func(i fieldItem) string { return i.Route + "\x00" + i.Field + "\x00" + i.Test.String() })
}

func matches(wanted, have string) bool { return wanted == "" || wanted == have }

func (s *Server) fieldItems(t *diff.FieldTally, test *diff.Test, confirmed *bool) []fieldItem {
	var items []fieldItem
	for i := range t.Tests {
		kind, tally := diff.Test(i), &t.Tests[i]
		if tally.Counts == (diff.Counts{}) || (test != nil && *test != kind) ||
			(confirmed != nil && *confirmed != (tally.Confirmed != nil)) {
			continue
		}
		item := fieldItem{
			Route: t.Route, Field: t.Field, Test: kind, Page: s.prefix + fieldPath(t.Route, t.Field),
			Raw: t.Raw, Noise: t.Noise, CandidateOnly: tally.CandidateOnly, ControlOnly: tally.ControlOnly, Both: tally.Both,
			LnE: evidence(kind, tally.Counts), First: t.First, Last: t.Last,
		}
		if c := tally.Confirmed; c != nil {
			item.Confirmed, item.ConfirmedAt, item.ConfirmedOn = true, &c.Time, &c.Requests
		}
		items = append(items, item)
	}
	return items
}

// writeList sorts by key, goes on after the cursor and cuts at the limit. A cursor is the last key of the page before,
// so that lists may grow between two pages without a row lost or shown twice.
func writeList[T any](w http.ResponseWriter, q query, items []T, key func(T) string) error {
	limit, err := q.number("limit", itemsShown, itemsMost)
	if err != nil {
		return err
	}
	slices.SortStableFunc(items, func(a, b T) int { return strings.Compare(key(a), key(b)) })
	if cursor := q.text("cursor"); cursor != "" {
		after, err := base64.RawURLEncoding.DecodeString(cursor)
		if err != nil {
			return badCursor(cursor)
		}
		i, found := slices.BinarySearchFunc(items, string(after), func(item T, k string) int { return strings.Compare(key(item), k) })
		if found {
			i++
		}
		items = items[i:]
	}
	answer := list[T]{Items: items}
	if len(items) > limit {
		next := base64.RawURLEncoding.EncodeToString([]byte(key(items[limit-1])))
		answer.Items, answer.Next = items[:limit], &next
	}
	return writeJSON(w, answer)
}

func badCursor(cursor string) error {
	return refuse(http.StatusBadRequest, "cursor=%q was not given out by a page before; leave it out to start over", cursor)
}

// counters answers GET /api/v1/counters: what the proxy counted since the process started.
func (s *Server) counters(w http.ResponseWriter, r *http.Request) error {
	if _, err := readQuery(r); err != nil {
		return err
	}
	return writeJSON(w, s.deps.Proxy.Counts())
}

// fieldOf finds one field's tally in a snapshot; without a route that of transport over all of them.
func fieldOf(snap *store.Snapshot, route, field string) *diff.FieldTally {
	if route == "" && field == transport {
		return snap.Tallies.AllTransport()
	}
	fields := snap.Tallies.Fields // sorted by route, then field
	i, found := slices.BinarySearchFunc(fields, [2]string{route, field}, func(t *diff.FieldTally, k [2]string) int {
		if c := strings.Compare(t.Route, k[0]); c != 0 {
			return c
		}
		return strings.Compare(t.Field, k[1])
	})
	if !found {
		return nil
	}
	return fields[i]
}

// routeOf finds one route's tally in a snapshot.
func routeOf(snap *store.Snapshot, route string) *diff.RouteTally {
	for _, t := range snap.Tallies.Routes {
		if t.Route == route {
			return t
		}
	}
	return nil
}
