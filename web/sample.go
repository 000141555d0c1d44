package web

import (
	"fmt"
	"net/http"
	"strings"
	"time"

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
	Places     []placeView
	Drifted    []driftedView
	Headers    []line
	Body       bodyView
	Redactions int
	NoControl  bool
}

// requestView is what the client asked.
type requestView struct {
	Method, Target, Host string
	Headers              []headerRow
	Body                 string
	Size                 int64
}

type headerRow struct{ Name, Value string }

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
	Raw      string
	Differs  mark
}

// bodyView is the three bodies side by side, or why they are not.
type bodyView struct {
	Lines []line
	Note  string
}

// sample answers GET /samples/{id}.
func (s *Server) sample(w http.ResponseWriter, r *http.Request) error {
	sample, err := s.findSample(r)
	if err != nil {
		return err
	}
	snap := s.deps.DB.Snapshot()
	page := samplePageOf(sample, verdictOf(snap, sample.Route))
	page.frame = s.frameFor(r, snap, fmt.Sprintf("Sample %d", sample.ID))
	page.Still = true
	return s.render(w, r, http.StatusOK, "sample", page)
}

// storedRole is where each column finds its response.
var storedRole = [3]multicast.Role{multicast.Primary, multicast.Secondary, multicast.Candidate}

func samplePageOf(sample *store.Sample, v *diff.Verdict) *samplePage {
	page := &samplePage{
		ID: sample.ID, Exchange: sample.Exchange, Time: sample.Time, Route: sample.Route, Result: resultWords(sample.Result),
		Request: requestOf(&sample.Request), Places: placesViewOf(sample), Headers: headerLines(sample),
		Body: bodyLines(sample), Redactions: sample.Redactions, NoControl: sample.Responses[multicast.Secondary].Outcome == "",
	}
	for side, role := range storedRole {
		page.Legs[side] = legViewOf(&sample.Responses[role], roleWords[side], sample.BodyCut[role])
	}
	page.Legs[control].Differs, page.Legs[candidate].Differs = differs(page.Places, control), differs(page.Places, candidate)
	page.Drifted = driftedIn(sample, page.Places, v)
	page.Sentence = sampleSentence(sample, page.Places, page.Drifted)
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

func short(p *placeView, side int) string {
	if p.Absent[side] {
		return "nothing"
	}
	const most = 60
	value := p.Values[side]
	runes := []rune(value)
	switch {
	case len(runes) <= most:
		return value
	case value[0] == '{':
		return "an object"
	case value[0] == '[':
		return "a list"
	default:
		return "the text " + string(runes[:most]) + "…"
	}
}

func requestOf(req *multicast.Request) requestView {
	v := requestView{Method: req.Method, Target: req.Target, Host: req.Host, Size: int64(len(req.Body)), Body: printable(req.Body)}
	for _, name := range sortedNames(req.Header) {
		for _, value := range req.Header[name] {
			v.Headers = append(v.Headers, headerRow{name, value})
		}
	}
	return v
}

func legViewOf(resp *multicast.Response, role string, bodyCut bool) legView {
	return legView{
		Role: role, Asked: resp.Outcome != "", OK: resp.Outcome == multicast.OutcomeOK, Status: resp.Status,
		Text: http.StatusText(resp.Status), Outcome: string(resp.Outcome), Detail: resp.Detail, Duration: took(resp.Duration),
		Size: resp.Size, Cut: bodyCut, Raw: rawOf(resp),
	}
}
