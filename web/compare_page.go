package web

import (
	"cmp"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"shadowdiff/diff"
	"shadowdiff/store"
)

// comparePage sets two runs side by side: what was different in the one, and what is in the other.
type comparePage struct {
	frame
	Sentence string
	Doubts   []string // why what changed need not be the candidate's doing
	Sides    [2]comparedSide
	Fates    []fateView // to choose from
	Groups   []fateGroup
	Beyond   int // fields that are not listed
	Routes   []comparedRoute
	Latency  string
	Rules    *otherRules // nil: they are the same
	Swap     string      // path of the page with the two in the other order
}

// comparedSide is what one of the two runs comes to.
type comparedSide struct {
	comparedRun
	Side, Label         string
	Path, Overview      string
	Confirms, Samples   string // paths of the lists of what the counts count
	Rate, Raw, Noise    string
	Interval, P99, Took string
	Excess              whisker
	Informing           int64 // of what is confirmed
	Deciding            int64

	budget float64
}

// fateView is one choice among what may have become of a difference.
type fateView struct {
	Word, Path string
	Count      int
	Chosen     bool
}

// fateGroup are the fields of like fates.
type fateGroup struct {
	ID, Title, Meaning string
	Rows               []contrastRow
}

// Tells is that one of its fields has more to tell than that it is of this group.
func (g fateGroup) Tells() bool {
	return slices.ContainsFunc(g.Rows, func(r contrastRow) bool { return r.Said() != "" })
}

// contrastRow is one field in both runs.
type contrastRow struct {
	comparedField
	Sides [2]contrastCell
}

// otherRules are the rules that only one of two runs has, as YAML, and how many both have.
type otherRules struct {
	pair[string]
	Same int
}

// otherRulesOf takes away what two lists of rules have in common; nil: they are the same.
func otherRulesOf(rules *pair[string]) *otherRules {
	if rules == nil {
		return nil
	}
	then, now := rulesIn(rules.Then), rulesIn(rules.Now)
	left := map[string]int{}
	for _, rule := range now {
		left[rule]++
	}
	o := &otherRules{}
	for _, rule := range then {
		if left[rule] > 0 {
			left[rule]--
			o.Same++
		} else {
			o.Then += rule
		}
	}
	for _, rule := range slices.Backward(now) { // of those that are there more often now, the last are new
		if left[rule] > 0 {
			left[rule]--
			o.Now = rule + o.Now
		}
	}
	return o
}

// rulesIn takes the list of a run's rules apart.
func rulesIn(list string) (rules []string) {
	for line := range strings.Lines(list) {
		if strings.HasPrefix(line, "- ") || len(rules) == 0 {
			rules = append(rules, "")
		}
		rules[len(rules)-1] += line
	}
	return rules
}

// Said is what has become of it. That it is still there its group says; what is left is how it has changed.
func (r contrastRow) Said() string {
	if r.State != store.FateStill {
		return r.Text
	}
	_, change, _ := strings.Cut(r.Text, ": ")
	return change
}

// contrastCell is a field in one of the two.
type contrastCell struct {
	Path   string // of the field's page in that run; empty: the run has not compared its route
	Share  string // of the requests, in which the candidate alone differs; empty: leanings are counted, which are of no whole
	Counts string
	Excess *whisker // nil: there is nothing to draw
	Sure   bool
}

const (
	fieldsContrasted = 200
	routesContrasted = 100
	otherTraffic     = 0.1 // share of the requests that went to other routes, from which the traffic is called another
)

// compareView answers GET /runs/{a}/compare/{b}.
func (s *Server) compareView(w http.ResponseWriter, r *http.Request) error {
	q, err := readQuery(r, "state")
	if err != nil {
		return err
	}
	state, err := q.fate()
	if err != nil {
		return err
	}
	contrast, records, err := s.contrastInPath(r)
	if err != nil {
		return err
	}
	answer := s.compareAnswer(contrast, records, state, fieldsContrasted)
	page := &comparePage{
		frame: s.frameFor(r, s.deps.DB.Snapshot(), runTitle(answer.Then.Run)+" and "+runTitle(answer.Now.Run)),
		Rules: otherRulesOf(answer.Configuration.Rules), Swap: comparePath(answer.Now.Run.ID, answer.Then.Run.ID), Latency: latencyTold(&answer),
		Routes: comparedRoutes(contrast, s.deps.DB.CurrentName),
	}
	page.Here = "runs"
	page.Still = answer.Then.Run.Ended != nil && answer.Now.Run.Ended != nil
	page.Sides = [2]comparedSide{s.comparedSide("Then", &answer.Then, contrast.Then), s.comparedSide("Now", &answer.Now, contrast.Now)}
	page.Sentence = compareSentence(&answer, contrast)
	page.Doubts = doubtsOf(&answer, page.Routes)
	page.group(&answer, state)
	slices.SortStableFunc(page.Routes, func(a, b comparedRoute) int {
		return cmp.Or(one(b.Changed != "")-one(a.Changed != ""), cmp.Compare(b.Sides[0].Compared+b.Sides[1].Compared, a.Sides[0].Compared+a.Sides[1].Compared))
	})
	page.Routes = page.Routes[:min(len(page.Routes), routesContrasted)]
	return s.render(w, r, http.StatusOK, "compare", page)
}

func (s *Server) comparedSide(word string, run *comparedRun, snap *store.Snapshot) comparedSide {
	ref := strconv.FormatInt(run.Run.ID, 10)
	side := comparedSide{
		comparedRun: *run, Side: word, Label: runTitle(run.Run), Path: runPath(run.Run.ID), Overview: listPath("/", "run", ref),
		Confirms: listPath("/fields", "run", ref, "confirmed", "true"), Samples: listPath("/samples", "run", ref),
		Rate: "–", Raw: "–", Noise: "–", P99: "–", Took: runTook(run.Run, s.deps.DB.Snapshot().Time),
		Excess: whiskerOf(run.Excess, run.ExcessBounds, snap.Verdict.Budget), budget: snap.Verdict.Budget,
	}
	if run.Compared > 0 {
		side.Rate, side.Interval = rate(run.Equivalence, run.EquivBounds[1]-run.EquivBounds[0]), between(run.EquivBounds[0], run.EquivBounds[1])
		side.Raw, side.Noise = shareOf(run.RawRate, run.Compared), noiseShare(snap.Verdict)
	}
	for i := range snap.Verdict.Differences[:run.Confirmed] {
		side.Informing += int64(one(snap.Verdict.Differences[i].Informs))
	}
	side.Deciding = int64(run.Confirmed) - side.Informing
	if run.P99Ratio != nil {
		side.P99 = threeDigits(*run.P99Ratio) + "\u202f×"
	}
	return side
}

// compareSentence says what has become of what was confirmed, counting what may decide a verdict.
func compareSentence(a *compareAnswer, c *store.Contrast) string {
	fates := map[store.Fate]int{}
	for i := range c.Fields {
		if f := &c.Fields[i]; !f.Informs {
			fates[f.Fate]++
		}
	}
	then, now := runTitle(a.Then.Run), sentenceStart(runTitle(a.Now.Run))
	if a.Then.Run.ID == a.Now.Run.ID {
		return now + " is held against itself: choose another run for one of the sides."
	}
	if a.Now.Compared == 0 {
		return now + " has compared nothing, so nothing can be said of it yet."
	}
	gone, unseen := fates[store.FateGone], fates[store.FateNotSeen]
	unsure := fates[store.FateAgain] + fates[store.FateTooFew]
	were := fates[store.FateStill] + unsure + unseen + gone
	fresh := fates[store.FateNew] + fates[store.FateNewConfirmed]
	if were == 0 {
		if fresh == 0 {
			return fmt.Sprintf("No difference is confirmed in either: neither in %s, nor in %s.", then, runTitle(a.Now.Run))
		}
		return fmt.Sprintf("%s brings %s; %s had none.", now, things(int64(fresh), "confirmed difference"), then)
	}
	text := now + " "
	confirmed := things(int64(were), "confirmed difference")
	switch {
	case gone+unseen == were && were == 1:
		text += "no longer shows the confirmed difference of " + then
	case gone+unseen == were:
		text += "no longer shows any of the " + confirmed + " of " + then
	case gone+unseen == 0 && fates[store.FateStill] == were && were > 1:
		text += "still has all " + confirmed + " of " + then
	case gone+unseen == 0 && fates[store.FateStill] == were:
		text += "still has the confirmed difference of " + then
	case gone+unseen == 0:
		text += "still has " + fmt.Sprintf("%s of the %s of %s", numberOrNone(fates[store.FateStill]), confirmed, then)
	case a.Configuration.Rules != nil: // it may only be compared no longer
		text += fmt.Sprintf("no longer shows %s of the %s of %s", count(int64(gone+unseen)), confirmed, then)
	default:
		text += fmt.Sprintf("fixes %s of the %s of %s", count(int64(gone+unseen)), confirmed, then)
	}
	if unsure > 0 {
		text += fmt.Sprintf(", %s cannot be told yet,", count(int64(unsure)))
	}
	return text + fmt.Sprintf(" and brings %s new.", numberOrNone(fresh))
}

func numberOrNone(n int) string {
	if n == 0 {
		return "none"
	}
	return count(int64(n))
}

// doubtsOf says why what changed need not be the candidate's doing.
func doubtsOf(a *compareAnswer, routes []comparedRoute) (doubts []string) {
	if a.Configuration.Rules != nil {
		doubts = append(doubts, "The rules were others: what is gone may only be compared no longer, and what is new may only be compared now.")
	}
	if c := a.Configuration.Candidate; c.Then != c.Now {
		doubts = append(doubts, fmt.Sprintf("The candidate was asked at another address: %s, then %s.", orNone(c.Then), orNone(c.Now)))
	}
	if moved := movedTraffic(routes); moved >= otherTraffic && a.Then.Compared > 0 && a.Now.Compared > 0 {
		doubts = append(doubts, fmt.Sprintf("The traffic was another: %s of it went to other routes than before. What few requests reach is seldom seen.", percent(moved, 0)))
	}
	if least, most := min(a.Then.Compared, a.Now.Compared), max(a.Then.Compared, a.Now.Compared); least > 0 && most >= 4*least {
		doubts = append(doubts, fmt.Sprintf("One run compared %s requests and the other %s: the smaller one proves less.", count(most), count(least)))
	}
	if a.Then.Run.Started.After(a.Now.Run.Started) {
		doubts = append(doubts, "The later run stands on the left: “new” is what the earlier run had and the later has not.")
	}
	return doubts
}

func orNone(address string) string {
	if address == "" {
		return "none"
	}
	return address
}

// latencyTold says how the 99th percentiles have changed; empty: one of them is not known.
func latencyTold(a *compareAnswer) string {
	if a.Latency == nil {
		return ""
	}
	return fmt.Sprintf("Latency, p99 of the candidate over the control: %s\u202f× then, %s\u202f× now.",
		threeDigits(a.Latency.Then), threeDigits(a.Latency.Now))
}

// group puts the fields under what has become of them.
func (p *comparePage) group(a *compareAnswer, state store.Fate) {
	here := comparePath(a.Then.Run.ID, a.Now.Run.ID)
	all, chosen := 0, 0
	for _, fate := range store.Fates() {
		n := a.Counts[fate]
		all += n
		if state == "" || state == fate {
			chosen += n
		}
		if n > 0 || state == fate {
			p.Fates = append(p.Fates, fateView{fateWord(fate), listPath(here, "state", string(fate)), n, state == fate})
		}
	}
	p.Fates = append([]fateView{{"all", here, all, state == ""}}, p.Fates...)
	p.Beyond = chosen - len(a.Fields)
	groups := fateGroups()
	for i := range a.Fields {
		row := contrastRow{comparedField: a.Fields[i]}
		row.Sides = [2]contrastCell{
			contrastCellOf(&row.comparedField, &row.Then, &p.Sides[0], a.Then.Run.ID), contrastCellOf(&row.comparedField, &row.Now, &p.Sides[1], a.Now.Run.ID),
		}
		at := groupOf(row.State)
		groups[at].Rows = append(groups[at].Rows, row)
	}
	for _, g := range groups {
		if len(g.Rows) > 0 {
			p.Groups = append(p.Groups, g)
		}
	}
}

func fateGroups() []fateGroup {
	return []fateGroup{
		{ID: "new", Title: "New", Meaning: "Confirmed now, and not then."},
		{ID: "still", Title: "Still there", Meaning: "Confirmed in both."},
		{ID: "unsure", Title: "Not to be told yet", Meaning: "Confirmed then. Now it is seen without being confirmed, or there are too few requests to miss it."},
		{ID: "gone", Title: "Gone", Meaning: "Confirmed then. Now it is not seen, in as many requests as would have shown it."},
		{ID: "noise", Title: "Other noise", Meaning: "Confirmed in neither. The control disagrees in another share of the requests than it did, beyond chance."},
	}
}

// groupOf is where a fate stands among the groups.
func groupOf(fate store.Fate) int {
	switch fate {
	case store.FateNew, store.FateNewConfirmed:
		return 0
	case store.FateStill:
		return 1
	case store.FateAgain, store.FateTooFew:
		return 2
	case store.FateGone, store.FateNotSeen:
		return 3
	}
	return 4
}

func fateWord(fate store.Fate) string {
	return map[store.Fate]string{
		store.FateNew: "new", store.FateNewConfirmed: "newly confirmed", store.FateStill: "still there", store.FateAgain: "seen again",
		store.FateTooFew: "too few requests", store.FateNotSeen: "not seen again", store.FateGone: "gone", store.FateNoise: "other noise",
	}[fate]
}

func contrastCellOf(f *comparedField, side *sideAnswer, run *comparedSide, id int64) contrastCell {
	cell := contrastCell{Sure: side.Confirmed}
	if side.Compared == 0 {
		cell.Counts = "not compared"
		return cell
	}
	cell.Path = fieldPath(f.Route, f.Field) + "?run=" + strconv.FormatInt(id, 10)
	if f.State == store.FateNoise {
		cell.Counts = fmt.Sprintf("control %s of %s", share(int64(math.Round(side.NoiseRate*float64(side.Compared))), side.Compared), count(side.Compared))
		return cell
	}
	cell.Counts = countsOf(diff.Finding{
		Field: f.Field, Kind: f.Kind, Compared: side.Compared, CandidateOnly: side.CandidateOnly, ControlOnly: side.ControlOnly,
	})
	if f.Kind < diff.TestExtent {
		cell.Share = share(side.CandidateOnly, side.Compared)
	}
	if side.ExcessBounds != [2]float64{-1, 1} {
		w := whiskerOf(float64(side.CandidateOnly-side.ControlOnly)/float64(side.Compared), side.ExcessBounds, run.budget)
		if f.Kind == diff.TestDrift || f.Kind == diff.TestExtent {
			w = w.leaning()
		}
		cell.Excess = &w
	} else if side.CandidateOnly+side.ControlOnly+side.Both == 0 {
		cell.Counts, cell.Path, cell.Share = fmt.Sprintf("not seen in %s", count(side.Compared)), "", ""
	}
	return cell
}
