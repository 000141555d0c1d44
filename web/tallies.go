package web

import (
	"iter"
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
	NoiseRate    *float64            `json:"noise_rate"` // null: no secondary was asked
	Excess       float64             `json:"excess"`
	ExcessBounds [2]float64          `json:"excess_interval"`
	Equivalence  float64             `json:"equivalence_rate"`
	EquivBounds  [2]float64          `json:"equivalence_interval"`
	Word         diff.Word           `json:"verdict"`
	MoreNeeded   *int64              `json:"more_needed"`
	Confirmed    int                 `json:"confirmed_differences"`
	Latency      diff.LatencyFinding `json:"latency"`
}

// routeMeasures are what routes can be ordered by.
var routeMeasures = measures[*diff.RouteTally]{
	"compared":       func(t *diff.RouteTally) int64 { return t.Compared },
	"raw":            func(t *diff.RouteTally) int64 { return t.Raw },
	"noise":          func(t *diff.RouteTally) int64 { return t.Noise },
	"candidate_only": func(t *diff.RouteTally) int64 { return t.Results.CandidateOnly },
	"control_only":   func(t *diff.RouteTally) int64 { return t.Results.ControlOnly },
	"both":           func(t *diff.RouteTally) int64 { return t.Results.Both },
	"excess":         func(t *diff.RouteTally) int64 { return t.Results.CandidateOnly - t.Results.ControlOnly },
	"failed":         func(t *diff.RouteTally) int64 { return t.Failed },
	"first":          func(t *diff.RouteTally) int64 { return t.First.UnixMicro() },
	"last":           func(t *diff.RouteTally) int64 { return t.Last.UnixMicro() },
}

// listRoutes answers GET /api/v1/routes, sorted by name unless asked otherwise.
func (s *Server) listRoutes(w http.ResponseWriter, r *http.Request) error {
	q, err := readQuery(r, "route", "verdict", "run", "sort", "order", "limit", "cursor")
	if err != nil {
		return err
	}
	word, err := q.choice("verdict", string(diff.Different), string(diff.Equivalent), string(diff.Undecided))
	if err != nil {
		return err
	}
	order, err := readOrdering(q, routeMeasures)
	if err != nil {
		return err
	}
	snap, err := s.snapshotOf(r, q)
	if err != nil {
		return err
	}
	if s.fresh(w, r, snap) {
		return nil
	}
	name := s.current(snap, q.text("route"))
	rows, next := order.page(q, func(yield func(*diff.RouteTally) bool) {
		for t := range along(snap.Tallies.Routes, order.backward()) {
			if !matches(name, t.Route) || word != "" && !hasWord(snap, t.Route, word) {
				continue
			}
			if !yield(t) {
				return
			}
		}
	}, func(t *diff.RouteTally) string { return t.Route })
	answer := list[routeItem]{Items: make([]routeItem, 0, len(rows)), Next: next}
	for _, t := range rows {
		answer.Items = append(answer.Items, s.routeItem(t, verdictOf(snap, t.Route)))
	}
	return writeJSON(w, answer)
}

func hasWord(snap *store.Snapshot, route, word string) bool {
	v := verdictOf(snap, route)
	return v != nil && string(v.Word) == word
}

// along walks a list from either end.
func along[T any](list []T, backward bool) iter.Seq[T] {
	return func(yield func(T) bool) {
		for i := range list {
			if backward {
				i = len(list) - 1 - i
			}
			if !yield(list[i]) {
				return
			}
		}
	}
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
			RawRate: v.RawRate, NoiseRate: noiseRate(v), Excess: v.Excess, ExcessBounds: v.ExcessBounds,
			Equivalence: v.Equivalence, EquivBounds: v.EquivBounds, Word: v.Word, MoreNeeded: v.MoreNeeded,
			Confirmed: confirmedIn(v), Latency: v.Latency,
		}
	}
	return item
}

func confirmedIn(v *diff.Verdict) int {
	for i := range v.Differences { // confirmed ones first
		if !v.Differences[i].Confirmed {
			return i
		}
	}
	return len(v.Differences)
}

// counters answers GET /api/v1/counters: what the proxy counted since the process started.
func (s *Server) counters(w http.ResponseWriter, r *http.Request) error {
	if _, err := readQuery(r); err != nil {
		return err
	}
	return writeJSON(w, s.deps.Proxy.Counts())
}

// routeOf finds one route's tally in a snapshot.
func routeOf(snap *store.Snapshot, route string) *diff.RouteTally {
	routes := snap.Tallies.Routes // sorted by name
	i, found := slices.BinarySearchFunc(routes, route, func(t *diff.RouteTally, name string) int { return strings.Compare(t.Route, name) })
	if !found {
		return nil
	}
	return routes[i]
}
