package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"shadowdiff/diff"
	"shadowdiff/multicast"
	"shadowdiff/store"
)

// fieldPage answers "what exactly differs, for which requests?".
type fieldPage struct {
	frame
	Route, Field string
	Sentence     string
	Never        bool          // it has not differed in this run
	Requests     *requestsView // which differ; nil: they were not counted by their attributes
	Finding      *findingView  // nil when nothing lopsided was seen
	Disagrees    *disagreement
	Raw, Noise   int64
	Compared     int64
	Square       squareView
	At           string    // what "differs" means in the square
	AtTest       diff.Test // the same as a word
	Tests        []testRow
	Profile      *profileView // nil: none is kept
	Values       []valuesRow
	MoreValues   int64 // combinations beyond those listed
	Rule         *ruleView
	Series       seriesView
	Samples      []sampleRow
	Proof        *sampleRow // the one to reproduce it by; nil: none is kept
	Curl         string     // path of the command that asks the candidate for it; empty: there is none
	Kept         int
	More         bool  // samples beyond those listed
	Seen         int64 // requests that differed here on either side
	First, Last  time.Time
	NoControl    bool // no secondary was asked in any of the samples
}

// testRow is one test's counts in the table of evidence.
type testRow struct {
	Kind      diff.Test
	Meaning   string
	Candidate int64
	Control   int64
	Both      int64
	Leaning   string // in words, where the counts are no disagreements
	Odds      string
	LnE       float64
	Confirmed *diff.Confirmation
}

// countedPart is what the part "counted" is handed.
type countedPart struct {
	frame
	Rows      []countRow
	NoControl bool
}

// Counted hands rows of counts to their part.
func (p *fieldPage) Counted(rows []countRow) countedPart {
	return countedPart{p.frame, rows, p.NoControl}
}

// Counted tells a test whose counts are of requests, so that kept ones of each can be listed.
func (r testRow) Counted() bool { return r.Kind <= diff.TestPresence }

// valuesRow is one combination of values with the number of places in the kept samples at which it stands.
type valuesRow struct {
	Cells  [3]cell
	Mark   mark
	Count  int64
	Sample int64
}

// sampleRow is one sample in a list.
type sampleRow struct {
	ID     int64
	Time   time.Time
	Method string
	Target string
	Cut    bool // its body was not kept whole, so that it cannot be asked again
	Route  string
	Result diff.Result
	Mark   mark // at the field that is asked for, or of the whole request
	Status [3]int
	Values []cell // what the three had at the first place where the field differs; none where no field is asked for
	Places int    // more of such places
	Fields string // that differ, in short
}

const (
	samplesKept  = 200 // read for a field's page
	samplesShown = 40
	valuesShown  = 10
)

// field answers GET /fields/{id}.
func (s *Server) field(w http.ResponseWriter, r *http.Request) error {
	route, field, ok := readFieldID(chi.URLParam(r, "id"))
	if !ok {
		return refuse(http.StatusNotFound, "this is not the address of a field; each route's page lists its own")
	}
	q, err := readQuery(r, "run")
	if err != nil {
		return err
	}
	s.deps.DB.Steady(r.Context())
	snap, err := s.snapshotOf(r, q)
	if err != nil {
		return err
	}
	if now := s.current(snap, route); now != route {
		return s.moved(w, r, q.elsewhere(fieldPath(now, field)))
	}
	beside, err := s.besideField(r.Context(), &snap, route, field)
	if err != nil {
		return err
	}
	tally, whole, verdict := fieldOf(snap, route, field), routeOf(snap, route), verdictOf(snap, route)
	if route == "" {
		whole, verdict = &snap.Tallies.Total, snap.Verdict
	}
	if tally == nil || whole == nil {
		return refuse(http.StatusNotFound, "field %s of route %s has not differed in this run", field, route)
	}
	page, err := s.fieldPage(r.Context(), snap, tally, whole, verdict, beside)
	if err != nil {
		return err
	}
	page.frame = s.frameFor(r, snap, field)
	page.Here, page.Scripts = "overview", chartScripts()
	return s.render(w, r, http.StatusOK, "field", page)
}

// fieldBeside is what is counted of a field beside its tallies; nil where it is not.
type fieldBeside struct {
	profile    *diff.FieldProfile
	attributes *diff.RouteAttributes
}

// besideField reads it. Of the run in force the snapshot becomes that of the same moment.
func (s *Server) besideField(ctx context.Context, snap **store.Snapshot, route, field string) (b fieldBeside, err error) {
	if route == "" {
		return b, nil
	}
	if (*snap).Run.ID == s.deps.DB.Snapshot().Run.ID {
		*snap, b.profile, b.attributes = s.deps.DB.Moment(route, field)
		return b, nil
	}
	if b.profile, err = s.deps.DB.Profile(ctx, (*snap).Run.ID, route, field); errors.Is(err, store.ErrNotFound) {
		b.profile, err = nil, nil
	}
	if err != nil {
		return b, err
	}
	if b.attributes, err = s.deps.DB.Attributes(ctx, (*snap).Run.ID, route); errors.Is(err, store.ErrNotFound) {
		b.attributes, err = nil, nil
	}
	return b, err
}

// fieldPage reads what a page shows of a field.
func (s *Server) fieldPage(ctx context.Context, snap *store.Snapshot, tally *diff.FieldTally, whole *diff.RouteTally, v *diff.Verdict, beside fieldBeside) (*fieldPage, error) {
	of := store.Filter{Run: snap.Run.ID, Route: tally.Route, Field: tally.Field, Limit: samplesKept}
	samples, next, err := s.deps.DB.Samples(ctx, of)
	if err != nil {
		return nil, err
	}
	points, err := s.deps.DB.Series(ctx, of)
	if err != nil {
		return nil, err
	}
	page := fieldPageOf(tally, whole, v, samples, points)
	page.More = next != ""
	if beside.attributes != nil {
		page.Requests = requestsViewOf(tally, beside.attributes.Separating(tally.Field))
	}
	if beside.profile != nil {
		page.Profile = profileViewOf(snap.Run, beside.profile)
	}
	if page.Proof != nil && !page.Proof.Cut && s.address(multicast.Candidate) != "" {
		page.Curl = "/api/v1" + samplePath(page.Proof.ID) + "/curl?role=" + multicast.Candidate.String()
	}
	page.Rule, err = s.ruleOf(snap, tally.Route, tally.Field)
	return page, err
}

func fieldPageOf(t *diff.FieldTally, whole *diff.RouteTally, v *diff.Verdict, samples []*store.Sample, points []store.Point) *fieldPage {
	requests := whole.Judged()
	if t.Field == transport {
		requests = whole.Compared
	}
	alone := whole.Compared > 0 && whole.NoControl == whole.Compared
	page := &fieldPage{
		Route: t.Route, Field: t.Field, Square: squareOf(requests, t.Tests[diff.TestValue].Counts).alone(alone),
		Tests: testRows(t), Series: seriesOf(controlled(!alone, begunAt(whole.First, points))), Kept: len(samples),
		First: t.First, Last: t.Last, Raw: t.Raw, Noise: t.Noise, Compared: requests, Disagrees: disagreementOf(t, requests, alone),
		NoControl: alone,
	}
	if d := page.Disagrees; d != nil {
		d.Bar = barOf(d.raw, d.noise, max(d.raw, d.noise))
	}
	page.Values, page.MoreValues = valuesOf(samples, t.Field)
	c := t.Tests[diff.TestValue].Counts
	page.Seen = c.CandidateOnly + c.ControlOnly + c.Both
	if v != nil {
		for _, f := range v.Differences {
			if f.Field == t.Field && f.Route == t.Route {
				view := findingOf(f, v.Budget)
				view.Disagrees = disagreementOf(t, f.Compared, alone)
				if words := kindsOfBody(samples, f); words != "" {
					view.Meaning = words
				}
				page.Finding = &view
				if f.Kind > diff.TestValue && f.Kind <= diff.TestPresence {
					page.At, page.AtTest, page.Square = testMeaning(f.Kind), f.Kind, squareOf(f.Compared, t.Tests[f.Kind].Counts).alone(alone)
				}
				break
			}
		}
	}
	page.Sentence = fieldSentence(page.Finding, page.Square)
	for _, sample := range samples[:min(len(samples), samplesShown)] {
		page.Samples = append(page.Samples, sampleRowOf(sample, t.Field))
	}
	page.Proof = proofOf(samples, page.Finding)
	return page
}

// proofOf is the sample by which a difference is best reproduced: that of the verdict, which is kept the longest, else the
// latest. Noise needs no proof.
func proofOf(samples []*store.Sample, f *findingView) *sampleRow {
	if f == nil || !f.Confirmed && !f.Suspected || len(samples) == 0 {
		return nil
	}
	best := max(0, slices.IndexFunc(samples, func(s *store.Sample) bool { return s.ID == f.Sample }))
	row := sampleRowOf(samples[best], f.Field)
	return &row
}

// fieldSentence says what differs, from the gravest evidence there is.
func fieldSentence(f *findingView, sq squareView) string {
	switch {
	case f == nil && sq.CandidateOnly == 0 && sq.ControlOnly == 0:
		return "Only noise so far: candidate and control differ here together."
	case f == nil:
		return "Noise so far: the control differs here as the candidate does."
	case f.Confirmed:
		return f.Meaning + " Confirmed " + f.Standing + "."
	case f.Suspected && f.Standing != "":
		return f.Meaning + " Not confirmed yet: " + f.Standing + "."
	case f.Disagrees == nil:
		return fmt.Sprintf("Noise so far: %s of %s.", f.Counts, things(f.Compared, "request"))
	default:
		return fmt.Sprintf("Noise so far: the candidate differs in %s, the control in %s of %s.",
			f.Disagrees.Candidate, f.Disagrees.Control, things(f.Compared, "request"))
	}
}

// kindsOfBody says which kinds of body were met where they differ, as far as a kept sample tells.
func kindsOfBody(samples []*store.Sample, f diff.Finding) string {
	if f.Field != "body" || f.Kind != diff.TestType {
		return ""
	}
	for _, sample := range samples {
		for _, d := range sample.Candidate {
			if d.Field != f.Field || d.Kind != diff.KindContent {
				continue
			}
			words := strings.FieldsFunc(d.Note, func(r rune) bool { return strings.ContainsRune(" ,;:", r) })
			if len(words) >= 3 && words[1] == "against" {
				return fmt.Sprintf("The body is of another kind: %s instead of %s.", words[2], words[0])
			}
		}
	}
	return ""
}

func testRows(t *diff.FieldTally) []testRow {
	var rows []testRow
	for i := range t.Tests {
		kind, tally := diff.Test(i), &t.Tests[i]
		if tally.CandidateOnly == 0 && tally.ControlOnly == 0 && tally.Both == 0 {
			continue
		}
		lnE := evidence(kind, tally.Counts)
		leaning := ""
		if kind >= diff.TestExtent {
			leaning = countsOf(diff.Finding{Field: t.Field, Kind: kind, CandidateOnly: tally.CandidateOnly, ControlOnly: tally.ControlOnly})
		}
		rows = append(rows, testRow{
			Leaning: leaning, Kind: kind, Meaning: testMeaning(kind), Candidate: tally.CandidateOnly, Control: tally.ControlOnly, Both: tally.Both,
			Odds: odds(lnE), LnE: lnE, Confirmed: tally.Confirmed,
		})
	}
	return rows
}

// testMeaning says what a test counts.
func testMeaning(t diff.Test) string {
	return map[diff.Test]string{
		diff.TestValue:    "differs at all",
		diff.TestFormat:   "another shape, or worse",
		diff.TestType:     "another JSON type or kind of body, or worse",
		diff.TestPresence: "there on one side only",
		diff.TestExtent:   "both differ, one of them at more places",
		diff.TestDrift:    "the candidate's number is greater · less than the control's",
	}[t]
}

// evidence is ln E of one test's counts.
func evidence(t diff.Test, c diff.Counts) float64 {
	if t == diff.TestDrift {
		return diff.EvidenceTwoSided(c.CandidateOnly, c.ControlOnly)
	}
	return diff.Evidence(c.CandidateOnly, c.ControlOnly)
}

// valuesOf gathers what the three sides had at a field in the kept samples, the most frequent first, and counts the
// combinations that are too many to list.
func valuesOf(samples []*store.Sample, field string) (rows []valuesRow, more int64) {
	at := map[[4]string]int{}
	for _, sample := range samples {
		for _, p := range placesViewOf(sample) {
			if p.Field != field {
				continue
			}
			key := [4]string{p.Values[primary], p.Values[control], p.Values[candidate], string(p.Mark)}
			i, known := at[key]
			if !known {
				i = len(rows)
				at[key] = i
				rows = append(rows, valuesRow{Cells: p.Cells(), Mark: p.Mark, Sample: sample.ID})
			}
			rows[i].Count++
		}
	}
	order := map[mark]int{markCandidate: 0, markBoth: 1, markControl: 2}
	slices.SortStableFunc(rows, func(a, b valuesRow) int {
		if a.Count != b.Count {
			return int(b.Count - a.Count)
		}
		return order[a.Mark] - order[b.Mark]
	})
	shown := min(len(rows), valuesShown)
	return rows[:shown], int64(len(rows) - shown)
}

// sampleRowOf is a row of a list; the field is empty where none is asked for.
func sampleRowOf(sample *store.Sample, field string) sampleRow {
	row := sampleRow{
		ID: sample.ID, Time: sample.Time, Method: sample.Request.Method, Target: begins(sample.Request.Target, targetShown),
		Route: sample.Route, Result: sample.Result, Cut: sample.RequestCut,
	}
	for side, role := range storedRole {
		row.Status[side] = sample.Responses[role].Status
	}
	if field == "" {
		row.Mark = map[diff.Result]mark{
			diff.CandidateOnly: markCandidate, diff.ControlOnly: markControl, diff.Both: markBoth,
		}[sample.Result]
		var alone bool
		if row.Fields, alone = tellingFields(sample); alone {
			row.Mark = markCandidate
		}
		return row
	}
	row.Mark = markOf(levelAt(sample.Candidate, field), levelAt(sample.Control, field))
	for _, p := range placesViewOf(sample) {
		switch {
		case p.Field != field:
		case row.Values == nil:
			for _, c := range p.Cells() {
				row.Values = append(row.Values, c.Short())
			}
		default:
			row.Places++
		}
	}
	if field == diff.FieldSize {
		row.Values = sizesOf(sample)
	}
	return row
}

// sizesOf are the sizes of the three bodies, decoded where that is known.
func sizesOf(sample *store.Sample) []cell {
	var cells []cell
	for side, role := range storedRole {
		n := sample.Decoded[role]
		if n < 0 {
			n = sample.Responses[role].Size
		}
		c := cell{Role: roleWords[side], Before: size(n)}
		if sample.Responses[role].Status == 0 {
			c = cell{Role: roleWords[side], Absent: true, Missing: "no answer"}
		}
		cells = append(cells, c)
	}
	return cells
}

// tellingFields names first where the candidate alone differs, and tells whether there is such a field: beside it noise is
// only counted.
func tellingFields(sample *store.Sample) (text string, alone bool) {
	var telling []string
	for _, field := range sample.Fields {
		if markOf(levelAt(sample.Candidate, field), levelAt(sample.Control, field)) == markCandidate {
			telling = append(telling, field)
		}
	}
	if len(telling) == 0 {
		return listed(sample.Fields, min(2, len(sample.Fields))), false
	}
	text = listed(telling, min(2, len(telling)))
	if noise := len(sample.Fields) - len(telling); noise > 0 {
		text += "; noise in " + things(int64(noise), "field")
	}
	return text, true
}

// targetShown is how many characters of a request's target a list shows.
const targetShown = 200

// begins cuts a text for a list.
func begins(text string, most int) string {
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}
