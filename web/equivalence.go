package web

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"shadowdiff/diff"
	"shadowdiff/normalize"
	"shadowdiff/store"
)

const (
	differencesShown = 100
	differencesMost  = 5000
)

// equivalenceAnswer is GET /api/v1/equivalence without a window.
type equivalenceAnswer struct {
	Run store.Run `json:"run"`
	diff.Verdict
	NoiseRate *float64 `json:"noise_rate"` // null: no secondary was asked
}

// equivalence answers "may I ship?" for the run, or for one route of it; with since or until it only describes.
func (s *Server) equivalence(w http.ResponseWriter, r *http.Request) error {
	q, err := readQuery(r, "route", "run", "limit", "confirmed", "since", "until")
	if err != nil {
		return err
	}
	snap, err := s.snapshotOf(r, q)
	if err != nil {
		return err
	}
	if q.text("since") != "" || q.text("until") != "" {
		return s.window(w, r, q, snap)
	}
	limit, err := q.number("limit", differencesShown, differencesMost)
	if err != nil {
		return err
	}
	confirmed, err := q.flag("confirmed")
	if err != nil {
		return err
	}
	verdict := snap.Verdict
	if route := s.current(snap, q.text("route")); route != "" {
		if verdict = verdictOf(snap, route); verdict == nil {
			return noSuchRoute(route, snap)
		}
	}
	if s.fresh(w, r, snap) {
		return nil
	}
	return writeJSON(w, equivalenceOf(snap.Run, verdict, confirmed, limit))
}

// equivalenceOf copies a verdict, cut to what was asked for; lists are never null.
func equivalenceOf(run store.Run, v *diff.Verdict, confirmed *bool, limit int) equivalenceAnswer {
	a := equivalenceAnswer{Run: run, Verdict: *v, NoiseRate: noiseRate(v)}
	a.Differences = []diff.Finding{}
	for i := 0; i < len(v.Differences) && len(a.Differences) < limit; i++ {
		if confirmed != nil && *confirmed != v.Differences[i].Confirmed {
			continue
		}
		f := v.Differences[i]
		if f.Samples == nil {
			f.Samples = []int64{}
		}
		a.Differences = append(a.Differences, f)
	}
	if a.Reasons == nil {
		a.Reasons = []string{}
	}
	if a.NotJudged == nil {
		a.NotJudged = []diff.NotJudged{}
	}
	return a
}

// windowAnswer describes a window. It holds no confirmation and no verdict: the best of many windows is a false alarm.
type windowAnswer struct {
	Run   store.Run `json:"run"`
	Route *string   `json:"route"`
	Since time.Time `json:"since"` // of the first minute counted
	Until time.Time `json:"until"` // end of the last
	windowCounts
	RawRate   *float64 `json:"raw_rate"`   // null when nothing was compared
	NoiseRate *float64 `json:"noise_rate"` // likewise, or where no secondary was asked
	Excess    *float64 `json:"excess"`
}

type windowCounts struct {
	Compared      int64 `json:"compared"`
	Unknown       int64 `json:"unknown"`
	Raw           int64 `json:"raw"`
	Noise         int64 `json:"noise"`
	CandidateOnly int64 `json:"candidate_only"`
	ControlOnly   int64 `json:"control_only"`
	Both          int64 `json:"both"`
}

func (s *Server) window(w http.ResponseWriter, r *http.Request, q query, snap *store.Snapshot) error {
	for _, name := range []string{"confirmed", "limit"} {
		if q.text(name) != "" {
			return refuse(http.StatusBadRequest, "%s has no meaning with since or until: nothing is confirmed within a window", name)
		}
	}
	since, until, err := q.span()
	if err != nil {
		return err
	}
	route := s.current(snap, q.text("route"))
	if route != "" && verdictOf(snap, route) == nil {
		return noSuchRoute(route, snap)
	}
	points, err := s.deps.DB.Series(r.Context(), store.Filter{Run: snap.Run.ID, Route: route, Since: since, Until: until})
	if err != nil {
		return err
	}
	a := windowAnswer{Run: snap.Run, Since: since, Until: until, windowCounts: sumOf(points)}
	if len(points) > 0 {
		a.Since, a.Until = points[0].Minute, points[len(points)-1].Minute.Add(points[len(points)-1].Span)
	}
	if route != "" {
		a.Route = &route
	}
	if n := float64(a.Compared); n > 0 {
		raw, noise, excess := float64(a.Raw)/n, float64(a.Noise)/n, float64(a.CandidateOnly-a.ControlOnly)/n
		if a.RawRate, a.Excess = &raw, &excess; controlledIn(snap, route) {
			a.NoiseRate = &noise
		}
	}
	return writeJSON(w, a)
}

// controlledIn tells whether a secondary was asked, for a route or for all of them.
func controlledIn(snap *store.Snapshot, route string) bool {
	if route == "" {
		return snap.Verdict.Controlled()
	}
	return verdictOf(snap, route).Controlled()
}

func sumOf(points []store.Point) windowCounts {
	var c windowCounts
	for _, p := range points {
		c.Compared += p.Compared
		c.Unknown += p.Unknown
		c.Raw += p.Raw
		c.Noise += p.Noise
		c.CandidateOnly += p.CandidateOnly
		c.ControlOnly += p.ControlOnly
		c.Both += p.Both
	}
	return c
}

// verdictOf finds one route's verdict in a snapshot; nil when none of its requests came to an end yet.
func verdictOf(snap *store.Snapshot, route string) *diff.Verdict {
	verdicts := snap.Verdict.Routes // sorted by name
	i, found := slices.BinarySearchFunc(verdicts, route, func(v *diff.Verdict, name string) int { return strings.Compare(*v.Route, name) })
	if !found {
		return nil
	}
	return verdicts[i]
}

func noSuchRoute(route string, snap *store.Snapshot) error {
	names := make([]string, 0, len(snap.Tallies.Routes))
	for _, t := range snap.Tallies.Routes {
		names = append(names, t.Route)
	}
	if near := normalize.Nearest(route, names); near != "" {
		return refuse(http.StatusNotFound, "no request of route %q was compared in this run; did you mean %q?", route, near)
	}
	return refuse(http.StatusNotFound, "no request of route %q was compared in this run; /api/v1/routes lists those that were", route)
}
