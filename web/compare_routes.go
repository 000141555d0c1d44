package web

import (
	"fmt"
	"math"
	"strconv"

	"shadowdiff/diff"
	"shadowdiff/store"
)

// comparedRoute is one route in both runs.
type comparedRoute struct {
	Route   string
	Sides   [2]routeCell
	Changed string // empty: nothing that matters
}

type routeCell struct {
	Path      string // empty: the run has not compared it
	Compared  int64
	Share     string // of all compared
	Candidate string
	Control   string
	Word      diff.Word

	share float64
}

// movedTraffic is the share of the requests that went to other routes in the one run than in the other.
func movedTraffic(routes []comparedRoute) (moved float64) {
	for i := range routes {
		moved += math.Abs(routes[i].Sides[0].share-routes[i].Sides[1].share) / 2
	}
	return moved
}

// comparedRoutes lists the routes of both runs, under the names that the later one has.
func comparedRoutes(c *store.Contrast, current func(string) string) []comparedRoute {
	at := map[string]int{}
	var rows []comparedRoute
	for side, snap := range []*store.Snapshot{c.Then, c.Now} {
		total := max(1, snap.Verdict.Compared)
		for i := range snap.Verdict.Routes {
			v := snap.Verdict.Routes[i]
			name := current(*v.Route)
			k, known := at[name]
			if !known {
				k = len(rows)
				at[name] = k
				rows = append(rows, comparedRoute{Route: name})
			}
			cell := &rows[k].Sides[side]
			if cell.Path != "" { // several routes have become one: the first stands for them, with all their requests
				cell.Compared += v.Compared
			} else {
				*cell = routeCell{
					Path: routePath(*v.Route) + "?run=" + strconv.FormatInt(snap.Run.ID, 10), Compared: v.Compared, Word: v.Word,
					Candidate: share(v.CandidateOnly+v.Both, v.Compared), Control: share(v.ControlOnly+v.Both, v.Compared),
				}
			}
			cell.share = float64(cell.Compared) / float64(total)
			cell.Share = share(cell.Compared, total)
		}
	}
	for i := range rows {
		rows[i].Changed = routeChange(&rows[i])
	}
	return rows
}

// routeChange says in a few words what is another at a route.
func routeChange(r *comparedRoute) string {
	then, now := &r.Sides[0], &r.Sides[1]
	switch {
	case then.Path == "":
		return "only now"
	case now.Path == "":
		return "only then"
	case then.Word != now.Word:
		return fmt.Sprintf("%s, was %s", now.Word, then.Word)
	}
	return ""
}
