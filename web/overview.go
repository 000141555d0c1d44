package web

import (
	"cmp"
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
	Search    searchView
	Confirmed pageOf[findingView]
	Suspected pageOf[findingView]
	Informing int64 // of all that are confirmed
	Deciding  int64
	Doubtful  int64 // all that are suspected
	Differing int64 // neither
	Routes    pageOf[routeRow]
	Words     []pickView // verdicts of routes, to choose from
	All       int64      // routes, whatever is searched
	Square    squareView
	Latency   latencyView
	Lost      lostView
	State     stateView
	NotJudged pageOf[notJudgedView]
	Steps     []step // until the first comparison has arrived
}

const (
	routesShown    = 100 // rows of the table of routes
	findingsListed = 25  // rows of each list of findings, and of what is not judged
)

// overviewParameters are what the page can be asked for.
var overviewParameters = [...]string{"run", "since", "q", "verdict", "sort", "order", "page", "by", "confirmed", "suspected", "noisy"}

// overview answers GET /.
func (s *Server) overview(w http.ResponseWriter, r *http.Request) error {
	q, err := readQuery(r, overviewParameters[:]...)
	if err != nil {
		return err
	}
	snap, err := s.snapshotOf(r, q)
	if err != nil {
		return err
	}
	page, err := overviewOf(q, s.prefix, snap, s.deps.Proxy.Counts())
	if err != nil {
		return err
	}
	if page.Series, err = s.series(r.Context(), q, s.prefix, snap, snap.Verdict); err != nil {
		return err
	}
	page.frame = s.frameFor(r, snap, page.Answer.Title())
	page.Here, page.Scripts = "overview", chartScripts()
	counts, now := s.deps.Proxy.Counts(), s.deps.Instance()
	if !page.Earlier {
		page.State = stateOf(now, counts, s.deps.DB.Health(), s.shadowingNow())
		page.State = append(stateView{s.shadowingRow(counts)}, page.State...)
	}
	if snap.Verdict.Compared == 0 && !page.Earlier {
		page.Steps = stepsOf(now.Targets, page.Switch, page.Lost, counts)
	}
	return s.render(w, r, http.StatusOK, "overview", page)
}

// shadowingRow says what the switch and the rate come to at the moment.
func (s *Server) shadowingRow(counts multicast.Counts) stateRow {
	state, row := s.shadowingNow(), stateRow{Name: "shadowing", Word: "on"}
	switch {
	case s.deps.Instance().Targets.Candidate == "":
		row.Word, row.Text = "off", "There is no candidate: this is a plain proxy."
		return row
	case !state.Enabled:
		row.Word, row.Bad, row.Text = "paused", true, "Resume it at the top of this page."
		return row
	case state.Guard != nil && state.Guard.Paused:
		row.Word, row.Bad = "paused", true
	}
	under := counts.InFlight[multicast.Candidate.String()] + counts.InFlight[multicast.Secondary.String()]
	row.Text = fmt.Sprintf("%s of eligible requests. %s waiting in the queue, %s under way.",
		shareText(state.Sample), count(counts.Queue), things(under, "shadow request"))
	return row
}

// overviewOf makes the page of one snapshot.
func overviewOf(q query, base string, snap *store.Snapshot, counts multicast.Counts) (*overviewPage, error) {
	v := snap.Verdict
	page := &overviewPage{
		Answer: answerOf(v, ""), Facts: factsOf(v), All: int64(len(v.Routes)),
		Square: squareOf(v.Compared, diff.Counts{CandidateOnly: v.CandidateOnly, ControlOnly: v.ControlOnly, Both: v.Both}).
			alone(!v.Controlled()).of("", "", diff.TestValue),
		Latency: latencyOf(&snap.Tallies.Total.Latency, v.Latency).alone(!v.Controlled()),
		Lost:    lostOf(snap.Counters, counts),
		Search:  q.search(base, "Find a route or a field", "", "page", "confirmed", "suspected", "noisy"),
	}
	page.Lost.where(snap.Tallies.Routes)
	if err := page.findings(q, base, v); err != nil {
		return nil, err
	}
	if err := page.routes(q, base, v); err != nil {
		return nil, err
	}
	noisy := slices.DeleteFunc(slices.Clone(v.NotJudged), func(n diff.NotJudged) bool {
		return !mentions(n.Route, q.text("q")) && !mentions(n.Field, q.text("q"))
	})
	list, err := listing[diff.NotJudged]{
		Page: "noisy", Anchor: "not-judged", Most: findingsListed, Columns: []column[diff.NotJudged]{asTheyCome[diff.NotJudged]("")},
	}.read(q, base, noisy)
	graver := confirmedGraver(v)
	page.NotJudged = turned(list, func(n diff.NotJudged) notJudgedView {
		view := notJudgedViewOf(n)
		view.Yet = graver[[2]string{n.Route, n.Field}]
		return view
	})
	return page, err
}

// confirmedGraver are the tests, by route and field, at which something graver than another value is confirmed, and by route
// alone one at which anything is.
func confirmedGraver(v *diff.Verdict) map[[2]string]string {
	tests := map[[2]string]string{}
	for i := range v.Differences {
		f := &v.Differences[i]
		if !f.Confirmed {
			continue
		}
		tests[[2]string{f.Route, ""}] = f.Kind.String()
		if f.Kind > diff.TestValue {
			tests[[2]string{f.Route, f.Field}] = f.Kind.String()
		}
	}
	return tests
}

// findings fills in the two lists of differences, both in the order that is asked for.
func (p *overviewPage) findings(q query, base string, v *diff.Verdict) error {
	confirmed, suspected, rest := standingsOf(v)
	p.Informing, p.Doubtful, p.Differing = informingIn(confirmed), int64(len(suspected)), int64(len(rest))
	p.Deciding = int64(len(confirmed)) - p.Informing
	wanted := q.text("q")
	for _, list := range []struct {
		name string
		all  []*diff.Finding
		into *pageOf[findingView]
	}{{standingConfirmed, confirmed, &p.Confirmed}, {standingSuspected, suspected, &p.Suspected}} {
		found := slices.DeleteFunc(list.all, func(f *diff.Finding) bool { return !mentions(f.Field, wanted) && !mentions(f.Route, wanted) })
		page, err := listing[*diff.Finding]{
			Sort: "by", Page: list.name, Anchor: list.name, Most: findingsListed, Columns: findingColumns(),
		}.read(q, base, found)
		if err != nil {
			return err
		}
		*list.into = turned(page, func(f *diff.Finding) findingView { return findingOf(*f, v.Budget) })
	}
	return nil
}

// findingColumns are what the lists of an overview can be ordered by, the worst first unless asked otherwise.
func findingColumns() []column[*diff.Finding] {
	return []column[*diff.Finding]{
		asTheyCome[*diff.Finding]("evidence"), // as the verdict has them
		byText("field", func(f *diff.Finding) string { return f.Field + "\x00" + f.Route }),
		by("kind", func(f *diff.Finding) diff.Test { return f.Kind }),
		by("candidate", func(f *diff.Finding) int64 { return f.CandidateOnly }),
		by("excess", excessOf),
		by("when", confirmedAt),
	}
}

// routes fills in the table of routes and the verdicts to choose from.
func (p *overviewPage) routes(q query, base string, v *diff.Verdict) error {
	words := []string{string(diff.Different), string(diff.Undecided), string(diff.Equivalent)}
	word, err := q.choice("verdict", words...)
	if err != nil {
		return err
	}
	wanted, found := q.text("q"), map[string]bool{}
	for i := range v.Differences {
		if f := &v.Differences[i]; wanted != "" && (f.Confirmed || f.LnE >= suspect) && mentions(f.Field, wanted) {
			found[f.Route] = true
		}
	}
	counts, rows := map[string]int64{}, make([]*diff.Verdict, 0, len(v.Routes))
	for _, route := range v.Routes {
		if route.Route == nil || !mentions(*route.Route, wanted) && !found[*route.Route] {
			continue
		}
		counts[string(route.Word)]++
		counts[""]++
		if word == "" || word == string(route.Word) {
			rows = append(rows, route)
		}
	}
	p.Words = picksOf(words, counts, word, func(choice string) string {
		return base + q.address("routes", "verdict", choice, "page", "")
	})
	slices.SortStableFunc(rows, func(a, b *diff.Verdict) int { return cmp.Compare(b.Compared, a.Compared) })
	list, err := listing[*diff.Verdict]{
		Sort: "sort", Order: "order", Page: "page", Anchor: "routes", Most: routesShown, Columns: routeColumns(),
	}.read(q, base, rows)
	p.Routes = turned(list, func(route *diff.Verdict) routeRow { return routeRowOf(route, v.Compared) })
	return err
}

// routeColumns are what routes can be ordered by: the different ones first, unless asked otherwise. Rates are those that
// are shown, where the API's measures of the same names are counts.
func routeColumns() []column[*diff.Verdict] {
	gravity := map[diff.Word]int{diff.Different: 3, diff.Undecided: 2, diff.Equivalent: 1}
	return []column[*diff.Verdict]{
		by("verdict", func(v *diff.Verdict) int { return gravity[v.Word] }),
		byText("name", func(v *diff.Verdict) string { return *v.Route }),
		by("compared", func(v *diff.Verdict) int64 { return v.Compared }),
		by("raw", func(v *diff.Verdict) float64 { return v.RawRate }),
		by("noise", func(v *diff.Verdict) float64 { return v.NoiseRate }),
		by("excess", func(v *diff.Verdict) float64 { return v.Excess }),
		by("latency", func(v *diff.Verdict) float64 {
			if v.Latency.P99Ratio == nil {
				return 0
			}
			return *v.Latency.P99Ratio
		}),
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
	return answerView{Word: v.Word, Sentence: sentence(v, of), Reasons: reasonSentences(v.Reasons)}
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
	case v.Word == diff.Different && confirmed > 0 && !v.Controlled():
		return fmt.Sprintf("The candidate differs: %s%s. Without a secondary nothing tells how much of it is noise.",
			things(int64(confirmed), "confirmed difference"), where)
	case v.Word == diff.Different && !v.Controlled():
		return fmt.Sprintf("The candidate disagrees in more than %s of the requests. Without a secondary nothing tells how much of it is noise.", budget)
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
	if v.Excess > v.Budget && v.Controlled() { // a forecast of a proof would be one against what is seen
		return begin + fmt.Sprintf(" So far the candidate alone disagrees in %s of %s, the control alone in %s: more requests will tell.",
			count(v.CandidateOnly), count(v.Compared), count(v.ControlOnly))
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
		Candidate: shareOf(v.RawRate, v.Compared), Control: noiseShare(v),
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
	Yet          string // the graver change that is confirmed there all the same, empty without one
}

// notJudgedOf lists what noise hides, as far as a report shows it.
func notJudgedOf(v *diff.Verdict) []notJudgedView {
	var views []notJudgedView
	for _, n := range v.NotJudged[:min(len(v.NotJudged), notJudgedReported)] {
		views = append(views, notJudgedViewOf(n))
	}
	return views
}

// notJudgedReported bounds that list.
const notJudgedReported = 200

func notJudgedViewOf(n diff.NotJudged) notJudgedView {
	return notJudgedView{Route: n.Route, Field: n.Field, Noise: percent(n.NoiseRate, 0)}
}

// routeRow is one line of the table of routes.
type routeRow struct {
	Route     string
	Traffic   string // share of what was compared
	Compared  int64
	Candidate string
	Control   string
	Whisker   whisker
	Excess    string
	Latency   string
	Word      diff.Word
	Confirmed int
	Because   string // the field that has most to do with it that it is different
	Path      string // of that field
}

// routeRowOf puts a route's verdict into a line; all is what was compared on all routes.
func routeRowOf(v *diff.Verdict, all int64) routeRow {
	facts := factsOf(v)
	row := routeRow{
		Route: *v.Route, Traffic: percent(float64(v.Compared)/float64(max(1, all)), 1), Compared: v.Compared,
		Candidate: facts.Candidate, Control: facts.Control, Whisker: facts.Whisker,
		Excess: rate(v.Excess, v.ExcessBounds[1]-v.ExcessBounds[0]), Latency: facts.Latency, Word: v.Word, Confirmed: confirmedIn(v),
	}
	if v.Word != diff.Different {
		return row
	}
	for i := range v.Differences[:row.Confirmed] { // the most evidence first
		if f := &v.Differences[i]; !f.Informs {
			row.Because, row.Path = f.Field, findingPath(*f)
			break
		}
	}
	return row
}
