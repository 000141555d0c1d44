package web

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

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

// placeView is one difference with the three values at its place.
type placeView struct {
	Field   string
	Kind    diff.Kind
	Note    string
	Pointer string
	Values  [3]string // "" where that side has none
	Absent  [3]bool
	Mark    mark

	levels [3]diff.Level // of control and candidate
}

// Cells are the values as a line shows them.
func (p placeView) Cells() [3]cell {
	var cells [3]cell
	for side := range cells {
		cells[side] = cellOf(p.Values[side], p.Values[primary], p.Absent[side], p.Absent[primary])
		cells[side].Role = roleWords[side]
	}
	return cells
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
	page := samplePageOf(sample)
	page.frame = s.frameFor(r, s.deps.DB.Snapshot(), fmt.Sprintf("Sample %d", sample.ID))
	return s.render(w, r, http.StatusOK, "sample", page)
}

// storedRole is where each column finds its response.
var storedRole = [3]multicast.Role{multicast.Primary, multicast.Secondary, multicast.Candidate}

func samplePageOf(sample *store.Sample) *samplePage {
	page := &samplePage{
		ID: sample.ID, Exchange: sample.Exchange, Time: sample.Time, Route: sample.Route, Result: resultWords(sample.Result),
		Request: requestOf(&sample.Request), Places: placesViewOf(sample), Headers: headerLines(sample),
		Body: bodyLines(sample), Redactions: sample.Redactions, NoControl: sample.Responses[multicast.Secondary].Outcome == "",
	}
	for side, role := range storedRole {
		page.Legs[side] = legViewOf(&sample.Responses[role], roleWords[side], sample.BodyCut[role])
	}
	page.Legs[control].Differs, page.Legs[candidate].Differs = differs(sample.Control, markControl), differs(sample.Candidate, markCandidate)
	page.Sentence = sampleSentence(sample, page.Places)
	return page
}

func differs(differences []diff.Difference, as mark) mark {
	if len(differences) > 0 {
		return as
	}
	return unmarked
}

func resultWords(r diff.Result) string {
	return map[diff.Result]string{
		diff.Agree: "all agree", diff.CandidateOnly: "candidate only", diff.ControlOnly: "control only", diff.Both: "both",
	}[r]
}

// sampleSentence says what this request got, by the first place where the candidate stands alone.
func sampleSentence(sample *store.Sample, found []placeView) string {
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
		return "All three answers agree under the rules."
	case first == nil:
		return fmt.Sprintf("The candidate stands alone nowhere; %s is noise.", things(int64(noise), "difference"))
	case first.Field == "transport":
		return "The candidate gave no answer: " + sample.Responses[multicast.Candidate].Detail + "."
	}
	sentence := fmt.Sprintf("The candidate alone has %s at %s, where the primary has %s", short(first, candidate), first.Field, short(first, primary))
	if alone > 1 {
		sentence += fmt.Sprintf("; it stands alone at %s", things(int64(alone-1), "more place"))
	}
	if noise > 0 {
		sentence += fmt.Sprintf(". %s noise", isAre(noise, "other difference is", "other differences are"))
	}
	return sentence + "."
}

func short(p *placeView, side int) string {
	if p.Absent[side] {
		return "nothing"
	}
	if v := []rune(p.Values[side]); len(v) > 60 {
		return string(v[:60]) + "…"
	}
	return p.Values[side]
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

func sortedNames(h http.Header) []string {
	names := make([]string, 0, len(h))
	for name := range h {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func legViewOf(resp *multicast.Response, role string, bodyCut bool) legView {
	return legView{
		Role: role, Asked: resp.Outcome != "", OK: resp.Outcome == multicast.OutcomeOK, Status: resp.Status,
		Text: http.StatusText(resp.Status), Outcome: string(resp.Outcome), Detail: resp.Detail, Duration: took(resp.Duration),
		Size: resp.Size, Cut: bodyCut, Raw: rawOf(resp),
	}
}

// rawOf writes an answer as it would stand on the wire, its body decoded.
func rawOf(resp *multicast.Response) string {
	var b strings.Builder
	if resp.Status > 0 {
		fmt.Fprintf(&b, "HTTP/1.1 %d %s\n", resp.Status, http.StatusText(resp.Status))
	}
	for _, name := range sortedNames(resp.Header) {
		for _, value := range resp.Header[name] {
			fmt.Fprintf(&b, "%s: %s\n", name, value)
		}
	}
	b.WriteString("\n" + printable(resp.Body))
	return b.String()
}

const (
	printMost = 256 << 10 // bytes of a body that a page prints raw
	dumpMost  = 1 << 10   // bytes of a binary body
)

// printable shows text as it is and anything else as a dump of its beginning.
func printable(body []byte) string {
	if utf8.Valid(body) && bytes.IndexByte(body, 0) < 0 {
		if len(body) > printMost {
			return strings.ToValidUTF8(string(body[:printMost]), "") + fmt.Sprintf("\n… %s more", size(int64(len(body)-printMost)))
		}
		return string(body)
	}
	if len(body) > dumpMost {
		return hex.Dump(body[:dumpMost]) + fmt.Sprintf("… %s more", size(int64(len(body)-dumpMost)))
	}
	return hex.Dump(body)
}

// placesViewOf joins the two comparisons: a place that both find is one line.
func placesViewOf(sample *store.Sample) []placeView {
	var out []placeView
	at := map[string]int{}
	key := func(d *diff.Difference) string {
		if d.LeftPointer == nil && d.RightPointer != nil {
			return d.Field + "\x00" + *d.RightPointer
		}
		return d.Field + "\x00" + pointerText(d.LeftPointer)
	}
	add := func(d *diff.Difference, side int) {
		i, known := at[key(d)]
		if !known || (d.LeftPointer == nil && out[i].Values[side] != "") {
			i = len(out)
			at[key(d)] = i
			left := string(d.Left)
			out = append(out, placeView{
				Field: d.Field, Kind: d.Kind, Note: d.Note, Pointer: pointerText(d.LeftPointer),
				Values: [3]string{left, left, left}, Absent: [3]bool{left == "", left == "", left == ""},
			})
		}
		out[i].levels[side] = d.Kind.Level()
		out[i].Mark = markOf(out[i].levels[candidate], out[i].levels[control])
		out[i].Values[side], out[i].Absent[side] = string(d.Right), d.Right == ""
	}
	for i := range sample.Candidate {
		add(&sample.Candidate[i], candidate)
	}
	for i := range sample.Control {
		add(&sample.Control[i], control)
	}
	order := map[mark]int{markCandidate: 0, markBoth: 1, markControl: 2}
	slices.SortStableFunc(out, func(a, b placeView) int { return order[a.Mark] - order[b.Mark] })
	return out
}

func pointerText(p *string) string {
	if p == nil {
		return ""
	}
	return *p
}
