package web

import (
	"fmt"
	"net/http"
	"slices"

	"shadowdiff/diff"
	"shadowdiff/multicast"
	"shadowdiff/store"
)

// overviewPage answers "may I ship?", then what is confirmed, what is suspected, how each route does, and what was not
// looked at.
type overviewPage struct {
	frame
	Answer    answerView
	Facts     factsView
	Series    seriesView
	Findings  findingsView
	Routes    []routeRow
	Lost      lostView
	State     stateView
	NotJudged []notJudgedView // as many as are shown
	Steps     []step          // until the first comparison has arrived

	RouteCount     int64
	NotJudgedCount int64
}

// NotJudgedBeyond is how many of what is not judged the list leaves out.
func (p *overviewPage) NotJudgedBeyond() int64 { return p.NotJudgedCount - int64(len(p.NotJudged)) }

// RoutesBeyond is how many routes the table leaves out.
func (p *overviewPage) RoutesBeyond() int64 { return p.RouteCount - int64(len(p.Routes)) }

// routesShown bounds the table of routes.
const routesShown = 200

// overview answers GET /.
func (s *Server) overview(w http.ResponseWriter, r *http.Request) error {
	snap := s.deps.DB.Snapshot()
	series, err := s.series(r.Context(), snap, "")
	if err != nil {
		return err
	}
	counts, now := s.deps.Proxy.Counts(), s.deps.Instance()
	page := overviewOf(snap, counts)
	page.Series, page.State = series, stateOf(now, counts, s.deps.DB.Health(), s.shadowingNow())
	page.frame = s.frameFor(r, snap, page.Answer.Title())
	page.Here = "overview"
	page.Scripts = chartScripts()
	if snap.Verdict.Compared == 0 {
		page.Steps = stepsOf(now.Targets, page.Switch, page.Lost, counts)
	}
	return s.render(w, r, http.StatusOK, "overview", page)
}

// overviewOf makes the page of one snapshot.
func overviewOf(snap *store.Snapshot, counts multicast.Counts) *overviewPage {
	v := snap.Verdict
	return &overviewPage{
		RouteCount: int64(len(v.Routes)), NotJudgedCount: int64(len(v.NotJudged)),

		Answer:    answerOf(v, ""),
		Facts:     factsOf(v),
		Findings:  findingsOf(v, false),
		Routes:    routeRows(snap),
		Lost:      lostOf(snap.Counters, counts),
		NotJudged: notJudgedOf(v),
	}
}

// answerView is a verdict in words.
type answerView struct {
	Word     diff.Word
	Sentence string
	Reasons  []string
}

// Title is the verdict as the browser's tab shows it.
func (a answerView) Title() string {
	return map[diff.Word]string{diff.Different: "● different", diff.Undecided: "◐ undecided", diff.Equivalent: "○ equivalent"}[a.Word]
}

// answerOf puts a verdict into the sentence that the page begins with. of names what it is about, unless it is all.
func answerOf(v *diff.Verdict, of string) answerView {
	return answerView{Word: v.Word, Sentence: sentence(v, of), Reasons: v.Reasons}
}

func sentence(v *diff.Verdict, of string) string {
	if v.Calibration != nil {
		return calibrationSentence(v)
	}
	confirmed, informing := decidingIn(v)
	budget := plain(v.Budget)
	where := ""
	if of == "" {
		where = onRoutes(v)
	}
	switch {
	case v.Compared == 0:
		return "Nothing has been compared yet."
	case v.Word == diff.Different && confirmed > 0:
		return fmt.Sprintf("The candidate differs: %s%s that noise does not explain.",
			things(int64(confirmed), "confirmed difference"), where)
	case v.Word == diff.Different:
		return fmt.Sprintf("The candidate disagrees in more than %s of the requests beyond the noise.", budget)
	case v.Word == diff.Equivalent && confirmed > 0:
		return fmt.Sprintf("For the traffic seen, the candidate stays within the budget of %s; %s listed below.",
			budget, isAre(confirmed, "confirmed difference is", "confirmed differences are"))
	case v.Word == diff.Equivalent:
		return fmt.Sprintf("For the traffic seen, the candidate answers as the known-good code does: the excess is proven to be at most %s.", budget)
	}
	begin := "No difference is confirmed."
	if informing > 0 {
		begin = "No difference that decides is confirmed."
	}
	if confirmed > 0 {
		begin = fmt.Sprintf("%s confirmed, but not beyond the budget.", isAre(confirmed, "difference is", "differences are"))
	}
	if v.MoreNeeded != nil && *v.MoreNeeded > 0 {
		return begin + fmt.Sprintf(" About %s would prove the excess to be at most %s.", moreRequests(*v.MoreNeeded), budget)
	}
	return begin
}

// moreRequests rounds a forecast to two digits: it is no more exact than that.
func moreRequests(n int64) string {
	unit := int64(1)
	for n/unit >= 100 {
		unit *= 10
	}
	return things((n+unit-1)/unit*unit, "more request")
}

func isAre(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return count(int64(n)) + " " + many
}

// decidingIn counts the confirmed differences that may decide a verdict, and those that inform only.
func decidingIn(v *diff.Verdict) (deciding, informing int) {
	for i := range v.Differences {
		switch f := &v.Differences[i]; {
		case f.Confirmed && f.Informs:
			informing++
		case f.Confirmed:
			deciding++
		}
	}
	return deciding, informing
}

// onRoutes says on how many routes differences are confirmed.
func onRoutes(v *diff.Verdict) string {
	routes := map[string]bool{}
	for i := range v.Differences {
		if f := &v.Differences[i]; f.Confirmed && !f.Informs && f.Route != "" {
			routes[f.Route] = true
		}
	}
	if len(routes) < 2 {
		return ""
	}
	return fmt.Sprintf(" on %d routes", len(routes))
}

// factsView are the figures beside the sentence.
type factsView struct {
	Equivalence     string
	EquivalenceSpan string
	Whisker         whisker
	Compared        int64
	Unknown         int64
	Candidate       string // raw rate
	Control         string // noise rate
	Latency         string // candidate's p99 over the secondary's
	Slower, Faster  int64
	LatencySure     bool
	Confidence      string // of intervals
	Budget          string
}

func factsOf(v *diff.Verdict) factsView {
	width := v.EquivBounds[1] - v.EquivBounds[0]
	f := factsView{
		Equivalence: rate(v.Equivalence, width), EquivalenceSpan: between(v.EquivBounds[0], v.EquivBounds[1]),
		Whisker:  whiskerOf(v.Excess, v.ExcessBounds, v.Budget),
		Compared: v.Compared, Unknown: v.Unknown,
		Candidate: shareOf(v.RawRate, v.Compared), Control: shareOf(v.NoiseRate, v.Compared),
		Latency: "–", Slower: v.Latency.Slower, Faster: v.Latency.Faster, LatencySure: v.Latency.Confirmed,
		Confidence: plain(1 - v.Alpha), Budget: plain(v.Budget),
	}
	if v.Latency.P99Ratio != nil {
		f.Latency = fmt.Sprintf("%.2f\u202f×", *v.Latency.P99Ratio)
	}
	return f
}

// shareOf writes a rate with the digits that so many requests support.
func shareOf(x float64, of int64) string {
	if of == 0 {
		return "–"
	}
	return share(int64(x*float64(of)+0.5), of)
}

// notJudgedView is a field that noise hides.
type notJudgedView struct {
	Route, Field string
	Noise        string
}

func notJudgedOf(v *diff.Verdict) []notJudgedView {
	var views []notJudgedView
	for _, n := range v.NotJudged[:min(len(v.NotJudged), findingsShown)] {
		views = append(views, notJudgedView{Route: n.Route, Field: n.Field, Noise: percent(n.NoiseRate, 0)})
	}
	return views
}

// routeRow is one line of the table of routes.
type routeRow struct {
	Route     string
	Traffic   string // share of what was compared
	Compared  int64
	Candidate string
	Control   string
	Bar       bar
	Whisker   whisker
	Excess    string
	Latency   string
	Word      diff.Word
	Confirmed int
}

// routeRows lists the routes, the different ones first, then by traffic.
func routeRows(snap *store.Snapshot) []routeRow {
	most := 0.0
	verdicts := make([]*diff.Verdict, 0, len(snap.Verdict.Routes))
	for _, v := range snap.Verdict.Routes {
		most = max(most, v.RawRate, v.NoiseRate)
		if v.Route != nil {
			verdicts = append(verdicts, v)
		}
	}
	gravity := map[diff.Word]int{diff.Different: 0, diff.Undecided: 1, diff.Equivalent: 2}
	slices.SortStableFunc(verdicts, func(a, b *diff.Verdict) int {
		if d := gravity[a.Word] - gravity[b.Word]; d != 0 {
			return d
		}
		return int(b.Compared - a.Compared)
	})
	var rows []routeRow
	for _, v := range verdicts[:min(len(verdicts), routesShown)] {
		facts := factsOf(v)
		rows = append(rows, routeRow{
			Route: *v.Route, Traffic: percent(float64(v.Compared)/float64(max(1, snap.Verdict.Compared)), 1), Compared: v.Compared,
			Candidate: facts.Candidate, Control: facts.Control, Bar: barOf(v.RawRate, v.NoiseRate, most), Whisker: facts.Whisker,
			Excess: rate(v.Excess, v.ExcessBounds[1]-v.ExcessBounds[0]), Latency: facts.Latency, Word: v.Word, Confirmed: confirmedIn(v),
		})
	}
	return rows
}
