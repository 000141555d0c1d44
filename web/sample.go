package web

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"shadowdiff/diff"
	"shadowdiff/multicast"
	"shadowdiff/store"
)

// samplePage answers "what did this one request get?".
type samplePage struct {
	frame
	ID         int64
	Exchange   string
	Time       time.Time
	Route      string
	Sentence   string
	Result     string
	Request    requestView
	Legs       [3]legView // primary, control, candidate
	Places     []placeRow
	Split      string     // whose doing they are
	PlacesRest []placeRow // behind the first few
	PlacesMore int64      // that are not listed
	PlacesAll  string     // the page that lists them
	Drifted    []driftedView
	Silent     string // classes of the columns whose side gave no answer
	Headers    []line
	Trailers   []line
	Body       bodyView
	Redactions int
	NoControl  bool
	Near       *neighboursView
	Exports    exportsView
	Ask        askForm
	Shrink     shrinkForm
	Again      *againView  // what was answered now
	Shrunk     *shrunkView // the smallest request that still differs
	Gone       *goneView   // there is no such sample: everything else is empty
}

// goneView is what can be said of a sample that is not there.
type goneView struct {
	ID     string
	Detail string
}

// legView is one role's answer in short.
type legView struct {
	Role     string
	Asked    bool
	OK       bool
	Status   int
	Text     string // of the status
	Outcome  string
	Detail   string
	Duration string
	Size     int64
	Cut      bool
	Over     bool
	Differs  mark
}

// sampleParams are what the address of a sample's page may hold.
var sampleParams = []string{"field", "view", "after", "open", "places", "run"}

// sample answers GET /samples/{id}.
func (s *Server) sample(w http.ResponseWriter, r *http.Request) error {
	q, err := readQuery(r, sampleParams...)
	if err != nil {
		return err
	}
	sample, err := s.findSample(r)
	if p, is := errors.AsType[*problem](err); is && p.Status == http.StatusNotFound && r.Header.Get("HX-Request") == "" {
		return s.goneSample(w, r, p)
	}
	if err != nil {
		return err
	}
	page, err := s.samplePage(r, sample, q)
	if err != nil {
		return err
	}
	return s.render(w, r, http.StatusOK, "sample", page)
}

// goneSample says that a sample is not kept, and where others are.
func (s *Server) goneSample(w http.ResponseWriter, r *http.Request, p *problem) error {
	id := chi.URLParam(r, "id")
	page := &samplePage{Gone: &goneView{ID: id, Detail: p.Detail}}
	page.frame = s.frameFor(r, s.deps.DB.Snapshot(), "No such sample")
	page.Still = true
	return s.render(w, r, p.Status, "sample", page)
}

// backToSample answers GET where a form of the page was sent to.
func (s *Server) backToSample(w http.ResponseWriter, r *http.Request) error {
	sample, err := s.findSample(r)
	if err != nil {
		return err
	}
	http.Redirect(w, r, s.prefix+samplePath(sample.ID), http.StatusSeeOther)
	return nil
}

// samplePage makes the page of a sample that is kept.
func (s *Server) samplePage(r *http.Request, sample *store.Sample, q query) (*samplePage, error) {
	snap := s.deps.DB.Snapshot()
	if sample.Run != snap.Run.ID {
		earlier, err := s.deps.DB.RunSnapshot(r.Context(), sample.Run)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return nil, err
		}
		if err == nil {
			snap = earlier
		}
	}
	page, err := s.sampleView(sample, q, snap)
	if err != nil {
		return nil, err
	}
	page.frame = s.frameFor(r, snap, fmt.Sprintf("Sample %d", sample.ID))
	page.Still, page.Scripts = true, []string{"sample.js"}
	page.Exports, page.Ask, page.Shrink = s.exportsOf(sample), s.askForm(sample), s.shrinkForm(sample)
	page.Near, err = s.neighboursOf(r.Context(), sample, q)
	return page, err
}

// sampleView is what a page shows of answers, kept or given just now.
func (s *Server) sampleView(sample *store.Sample, q query, snap *store.Snapshot) (*samplePage, error) {
	view, err := q.choice("view", viewParsed, viewText, viewRaw)
	if err != nil {
		return nil, err
	}
	lines, err := q.window()
	if err != nil {
		return nil, err
	}
	laid, err := layOut(sample, view)
	if err != nil {
		return nil, err
	}
	page := samplePageOf(sample, verdictOf(snap, sample.Route))
	at := linesAt{s.prefix + samplePath(sample.ID), q.kept("field", "view", "run")}
	page.Body = s.bodyView(sample, laid, lines, view, at)
	rows := s.placeRows(sample, snap, laid, page.Body.Rows, at)
	page.list(rows, q.text("places") == "all", at)
	return page, nil
}

// kept are the parameters of these names that are given.
func (q query) kept(names ...string) url.Values {
	kept := url.Values{}
	for _, name := range names {
		if value := q.text(name); value != "" {
			kept.Set(name, value)
		}
	}
	return kept
}

// storedRole is where each column finds its response.
var storedRole = [3]multicast.Role{multicast.Primary, multicast.Secondary, multicast.Candidate}

// samplePageOf is the part of the page that needs nothing but the sample, and the verdict on its route.
func samplePageOf(sample *store.Sample, v *diff.Verdict) *samplePage {
	page := &samplePage{
		ID: sample.ID, Exchange: sample.Exchange, Time: sample.Time, Route: sample.Route, Result: resultWords(sample.Result),
		Request: requestOf(&sample.Request, sample.RequestCut), Headers: headerLines(sample), Trailers: trailerLines(sample),
		Redactions: sample.Redactions, NoControl: sample.Responses[multicast.Secondary].Outcome == "",
	}
	places := placesViewOf(sample)
	var silent [3]bool
	for side, role := range storedRole {
		silent[side] = sample.Responses[role].Status == 0
		page.Legs[side] = legViewOf(&sample.Responses[role], roleWords[side], sample.BodyCut[role])
	}
	page.Silent = columnsGone(silent)
	page.Legs[control].Differs, page.Legs[candidate].Differs = differs(places, control), differs(places, candidate)
	page.Drifted = driftedIn(sample, places, v)
	page.Sentence = sampleSentence(sample, places, page.Drifted)
	return page
}

// differs marks a side that differs anywhere: alone, or only together with the other.
func differs(places []placeView, side int) mark {
	alone := [3]mark{control: markControl, candidate: markCandidate}[side]
	found := unmarked
	for _, p := range places {
		switch {
		case p.Mark == alone:
			return alone
		case p.levels[side] > 0:
			found = markBoth
		}
	}
	return found
}

func resultWords(r diff.Result) string {
	return map[diff.Result]string{
		diff.Agree: "all agree", diff.CandidateOnly: "candidate only", diff.ControlOnly: "control only", diff.Both: "both",
	}[r]
}

// sampleSentence says what this request got, by the first place where the candidate stands alone.
func sampleSentence(sample *store.Sample, found []placeView, drifted []driftedView) string {
	alone, noise := 0, 0
	var first *placeView
	for i := range found {
		if found[i].Mark == markCandidate {
			alone++
			if first == nil {
				first = &found[i]
			}
		} else {
			noise++
		}
	}
	switch {
	case len(found) == 0:
		if sample.Responses[multicast.Secondary].Outcome == "" {
			return "Primary and candidate agree under the rules; no secondary was asked."
		}
		return "All three answers agree under the rules" + yet(drifted) + "."
	case first == nil:
		return fmt.Sprintf("The candidate stands alone nowhere; %s noise", isAre(noise, "difference is", "differences are")) + yet(drifted) + "."
	case first.Field == "transport":
		return "The candidate gave no answer: " + sample.Responses[multicast.Candidate].Detail + "."
	}
	has, had := short(first, candidate), short(first, primary)
	sentence := fmt.Sprintf("The candidate alone has %s at %s, where the primary has %s", has, first.Field, had)
	if has == had {
		sentence = fmt.Sprintf("The candidate alone has another %s at %s", has[strings.Index(has, " ")+1:], first.Field)
	}
	if alone > 1 {
		sentence += fmt.Sprintf("; it stands alone at %s", things(int64(alone-1), "more place"))
	}
	if noise > 0 {
		sentence += fmt.Sprintf(". %s noise", isAre(noise, "other difference is", "other differences are"))
	}
	return sentence + "."
}

// yet says that something has drifted where a request by itself shows only noise.
func yet(drifted []driftedView) string {
	if len(drifted) == 0 {
		return ""
	}
	words := ", but over many requests " + drifted[0].Field + " has drifted"
	if drifted[0].Words != "" {
		words += ": " + drifted[0].Words
	}
	return words
}

// byteDigest is what stands for bytes: how many there are, and their hash.
var byteDigest = regexp.MustCompile(`^"(\d+ bytes), sha256 ([0-9a-f]{8})[0-9a-f]{56}"$`)

func short(p *placeView, side int) string {
	if p.Absent[side] {
		return "nothing"
	}
	const most = 60
	value := p.Values[side]
	runes := []rune(value)
	bytes := byteDigest.FindStringSubmatch(value)
	switch {
	case bytes != nil:
		return bytes[1] + " (sha256 " + bytes[2] + "…)"
	case len(runes) <= most:
		return value
	case value[0] == '{':
		return "an object"
	case value[0] == '[':
		return "a list"
	default:
		return "the text " + string(runes[:most]) + `…"`
	}
}

func legViewOf(resp *multicast.Response, role string, bodyCut bool) legView {
	return legView{
		Role: role, Asked: resp.Outcome != "", OK: resp.Outcome == multicast.OutcomeOK, Status: resp.Status,
		Text: http.StatusText(resp.Status), Outcome: string(resp.Outcome), Detail: resp.Detail, Duration: took(resp.Duration),
		Size: resp.Size, Cut: bodyCut, Over: resp.Over,
	}
}
