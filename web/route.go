package web

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"shadowdiff/diff"
	"shadowdiff/multicast"
	"shadowdiff/store"
)

// routePage answers "which fields of this route differ, and whose doing is it?".
type routePage struct {
	frame
	Route    string
	Answer   answerView
	Facts    factsView
	Series   seriesView
	Search   searchView
	Fields   pageOf[*fieldRow]
	Tree     []branch    // the same rows by where they are in an answer; nil: a list was asked for
	Views    [2]pickView // list or tree
	Standing []pickView  // to choose from
	Totals   fieldTotals // whatever is searched
	Square   squareView
	Latency  latencyView
	Unknown  []lostRow
	Failed   int64
	Equal    []int64 // samples in which nothing differed
}

// fieldTotals are how many fields of a route have which standing.
type fieldTotals struct{ Deciding, Informing, Suspected, Noise int64 }

// routeParameters are what the page can be asked for.
var routeParameters = [...]string{"run", "since", "q", "standing", "view", "sort", "order", "page"}

// route answers GET /routes/{id}.
func (s *Server) route(w http.ResponseWriter, r *http.Request) error {
	name, ok := readRouteID(chi.URLParam(r, "id"))
	if !ok {
		return refuse(http.StatusNotFound, "this is not the address of a route; the overview lists them all")
	}
	q, err := readQuery(r, routeParameters[:]...)
	if err != nil {
		return err
	}
	snap, err := s.snapshotOf(r, q)
	if err != nil {
		return err
	}
	if now := s.current(snap, name); now != name {
		return s.moved(w, r, querying(routePath(now), r))
	}
	tally, verdict := routeOf(snap, name), verdictOf(snap, name)
	if tally == nil || verdict == nil {
		return noSuchRoute(name, snap)
	}
	page := routePageOf(tally, verdict)
	if err := page.fields(q, s.prefix, snap, verdict); err != nil {
		return err
	}
	if page.Series, err = s.series(r.Context(), q, s.prefix, snap, verdict); err != nil {
		return err
	}
	page.Equal = snap.SampleIDs(name, "")
	page.frame = s.frameFor(r, snap, name)
	page.Here, page.Scripts = "overview", chartScripts()
	return s.render(w, r, http.StatusOK, "route", page)
}

// querying keeps the query of a page that has moved.
func querying(path string, r *http.Request) string {
	if r.URL.RawQuery == "" {
		return path
	}
	return path + "?" + r.URL.RawQuery
}

// current is the name under which a route is counted by now: routes become one as names are learnt, and addresses that
// people keep hold their former names.
func (s *Server) current(snap *store.Snapshot, route string) string {
	if route == "" || routeOf(snap, route) != nil {
		return route
	}
	if snap.Run.ID != s.deps.DB.Snapshot().Run.ID {
		return s.deps.DB.CurrentName(route)
	}
	return s.deps.DB.CurrentRoute(route)
}

// moved sends people on to a page's present address. Not for good: another run may count under the former name.
func (s *Server) moved(w http.ResponseWriter, r *http.Request, path string) error {
	http.Redirect(w, r, s.prefix+path, http.StatusFound)
	return nil
}

func routePageOf(t *diff.RouteTally, v *diff.Verdict) *routePage {
	page := &routePage{
		Route: t.Route, Answer: answerOf(v, t.Route), Facts: factsOf(v),
		Square: squareOf(t.Compared, t.Results).alone(!v.Controlled()).of(t.Route, "", diff.TestValue), Latency: latencyOf(&t.Latency, v.Latency).alone(!v.Controlled()),
		Failed: t.Failed,
	}
	unknown := map[multicast.Reason]int64{}
	for reason, n := range t.Unknown {
		unknown[multicast.Reason(reason)] = n
	}
	page.Unknown = lostRows(unknown)
	return page
}

// squareView is the four cells in which a compared request can fall, each with the list of samples that fell there.
type squareView struct {
	Compared, Agree, CandidateOnly, ControlOnly, Both int64
	NoControl                                         bool   // no secondary was asked: nothing is known of two of the cells
	All, Agrees, Candidates, Controls, Boths          string // paths; empty where the page has no such lists
}

func squareOf(compared int64, c diff.Counts) squareView {
	return squareView{
		Compared: compared, Agree: compared - c.CandidateOnly - c.ControlOnly - c.Both,
		CandidateOnly: c.CandidateOnly, ControlOnly: c.ControlOnly, Both: c.Both,
	}
}

// alone says whether there is no control.
func (s squareView) alone(so bool) squareView {
	s.NoControl = so
	return s
}

// of leads each cell to the kept samples of a route, or of a test of one of its fields.
func (s squareView) of(route, field string, test diff.Test) squareView {
	path := func(result diff.Result) string { return samplesAtPath(route, field, string(result), test) }
	s.All, s.Agrees, s.Candidates = path(""), path(diff.Agree), path(diff.CandidateOnly)
	s.Controls, s.Boths = path(diff.ControlOnly), path(diff.Both)
	return s
}

// Sentence is the same in words.
func (s squareView) Sentence() string {
	if s.Compared == 0 {
		return "Nothing has been compared yet."
	}
	if s.NoControl {
		return fmt.Sprintf("The candidate disagrees in %s. No secondary was asked, so it is not known how much of that is noise.", count(s.CandidateOnly))
	}
	lead := s.CandidateOnly - s.ControlOnly
	begin := fmt.Sprintf("The candidate alone disagrees in %s, the control alone in %s", count(s.CandidateOnly), count(s.ControlOnly))
	switch {
	case s.CandidateOnly+s.ControlOnly == 0 && s.Both == 0:
		return "Neither ever disagreed with the primary."
	case s.CandidateOnly+s.ControlOnly == 0:
		return "Whenever one of the two disagreed, the other did: noise."
	case lead > 0:
		return begin + fmt.Sprintf(": %s more, %s of all. What is lopsided is the candidate's doing; what is even is noise.",
			count(lead), share(lead, s.Compared))
	default:
		return begin + ": no surplus of the candidate's. What is even is noise."
	}
}

// latencyView is how long the two shadows took, as two distributions on one logarithmic scale.
type latencyView struct {
	Candidate, Control spreadView
	Ticks              []tick
	Shapes             [2]string // how often each duration occurs: candidate, control
	Sentence           string
	Known              bool
}

// alone says whether there is no control.
func (l latencyView) alone(so bool) latencyView {
	if so && !l.Known {
		l.Sentence = "No secondary was asked, so there is no latency to hold the candidate's against."
	}
	return l
}

// spreadView is one distribution: the middle half, the middle nine tenths, and the slowest hundredth.
type spreadView struct {
	P5, P25, P50, P75, P90, P95, P99 float64 // across, 0 to 100
	Median, Ninetieth, NinetyNinth   string
}

func latencyOf(t *diff.LatencyTally, f diff.LatencyFinding) latencyView {
	var view latencyView
	lo, known := t.Secondary.Quantile(.01)
	lo2, known2 := t.Candidate.Quantile(.01)
	if !known || !known2 {
		view.Sentence = "No pair has answered yet."
		return view
	}
	hi, _ := t.Secondary.Quantile(.99)
	hi2, _ := t.Candidate.Quantile(.99)
	scale := scaleOf(min(lo, lo2), max(hi, hi2))
	view.Known = true
	view.Control, view.Candidate = spreadOf(&t.Secondary, scale), spreadOf(&t.Candidate, scale)
	view.Ticks = scale.ticks()
	view.Shapes = shapesOf(&t.Candidate, &t.Secondary, scale)
	pairs := f.Slower + f.Faster
	view.Sentence = fmt.Sprintf("The candidate took over 1.1 times as long as the control in %s of %s.", count(f.Slower), things(pairs, "pair"))
	switch {
	case f.Confirmed:
		view.Sentence = "Confirmed slower. " + view.Sentence
	case f.LnE >= suspect:
		view.Sentence += " Evidence that it is slower: " + odds(f.LnE) + "."
	default:
		view.Sentence += " That is no evidence that it is slower."
	}
	return view
}

// scale is logarithmic from lo to hi.
type scale struct{ lo, hi float64 }

func scaleOf(lo, hi time.Duration) scale {
	l, h := math.Log(max(float64(lo), 1000)*.85), math.Log(max(float64(hi), 2000)*1.15)
	if h-l < math.Ln2 {
		l, h = (l+h-math.Ln2)/2, (l+h+math.Ln2)/2
	}
	return scale{l, h}
}

func (s scale) across(d time.Duration) float64 {
	x := (math.Log(max(float64(d), 1)) - s.lo) / (s.hi - s.lo)
	return math.Round(1000*100*min(1, max(0, x))) / 1000
}

// ticks stand at 1, 2 and 5 times the powers of ten, no more than fit.
func (s scale) ticks() []tick {
	var all []tick
	for unit := time.Microsecond; unit <= time.Hour; unit *= 10 {
		for _, m := range []time.Duration{1, 2, 5} {
			if l := math.Log(float64(m * unit)); l > s.lo && l < s.hi {
				all = append(all, tick{X: s.across(m * unit), Label: roundDuration(m * unit)})
			}
		}
	}
	for len(all) > 6 { // leave every other out
		kept := all[:0]
		for i := 0; i < len(all); i += 2 {
			kept = append(kept, all[i])
		}
		all = kept
	}
	return all
}

func roundDuration(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return fmt.Sprintf("%d\u202fµs", d/time.Microsecond)
	case d < time.Second:
		return fmt.Sprintf("%d\u202fms", d/time.Millisecond)
	default:
		return fmt.Sprintf("%d\u202fs", d/time.Second)
	}
}

func spreadOf(s *diff.Sketch, on scale) spreadView {
	at := func(q float64) (float64, string) {
		d, _ := s.Quantile(q)
		return on.across(d), took(d)
	}
	var v spreadView
	v.P5, _ = at(.05)
	v.P25, _ = at(.25)
	v.P50, v.Median = at(.5)
	v.P75, _ = at(.75)
	v.P95, _ = at(.95)
	v.P90, v.Ninetieth = at(.9)
	v.P99, v.NinetyNinth = at(.99)
	return v
}

const (
	shapeBins  = 80  // across the drawing of a distribution
	shapeReads = 800 // quantiles that are read of it
)

// shapesOf draws two distributions as lines on one scale, from the left to the right and from 0 to 100 down, the higher of
// the two as high as there is room.
func shapesOf(candidate, control *diff.Sketch, on scale) [2]string {
	var heights [2][shapeBins]float64
	most := 0.0
	for i, sketch := range []*diff.Sketch{candidate, control} {
		var bins [shapeBins]float64
		for read := range shapeReads {
			d, _ := sketch.Quantile((float64(read) + .5) / shapeReads)
			if x := on.across(d); x > 0 && x < 100 {
				bins[int(x*shapeBins/100)]++
			}
		}
		for bin := range bins { // smoothed, as the sketch's own bins do not fall into these evenly
			for away, weight := range []float64{3, 2, 1} {
				for _, next := range []int{bin - away, bin + away} {
					if next >= 0 && next < shapeBins {
						heights[i][next] += bins[bin] * weight / 12
					}
				}
			}
		}
		most = max(most, slices.Max(heights[i][:]))
	}
	var shapes [2]string
	for i := range heights {
		var text strings.Builder
		for bin, height := range heights[i] {
			fmt.Fprintf(&text, "%.0f,%.0f ", (float64(bin)+.5)*1000/shapeBins, 100-95*height/max(most, 1))
		}
		shapes[i] = text.String()
	}
	return shapes
}
