package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"shadowdiff/multicast"
	"shadowdiff/store"
)

// askForm is where a reader asks the three again.
type askForm struct {
	Can      bool
	Why      string   // it cannot be done
	Redacted []string // parts of the request that were taken out when it was kept
	Headers  string   // as the reader gave them, one a line
	Fault    string   // why it was refused
	Open     bool
}

// againView is what has changed since a sample was kept.
type againView struct {
	Changes  []string
	Unknown  string   // why nothing could be compared
	Redacted []string // parts that were asked as redacted
}

func (s *Server) askForm(sample *store.Sample) askForm {
	f := askForm{Redacted: redactedPlaces(&sample.Request)}
	switch _, err := s.questionOf(sample, nil); {
	case s.deps.Instance().Replay:
		f.Why = "This is a replay: nobody is asked through this page. Copy the request as curl and ask from a terminal."
	case s.cfg.ReadOnly:
		f.Why = "web.read_only is set: nobody is asked through this page. Copy the request as curl and ask from a terminal."
	case err != nil:
		f.Why = sentenceOf(asProblem(err).Detail)
	case s.deps.Instance().Targets.Candidate == "":
		f.Why = "There is no candidate to ask."
	default:
		f.Can = true
	}
	return f
}

// askPage answers POST /samples/{id}/ask: the page of the sample, with the answers that the three give now.
func (s *Server) askPage(w http.ResponseWriter, r *http.Request) error {
	sample, q, err := s.readSampleForm(w, r)
	if err != nil {
		return err
	}
	typed := r.PostForm.Get("headers")
	refused := func(err error) error {
		p := asProblem(err)
		if p.Status >= http.StatusInternalServerError {
			return err
		}
		page, err := s.samplePage(r, sample, q)
		if err != nil {
			return err
		}
		page.still()
		page.Ask.Fault, page.Ask.Headers, page.Ask.Open = sentenceOf(p.Detail), typed, true
		return s.render(w, r, p.Status, "sample", page)
	}
	headers, err := headersTyped(typed)
	if err != nil {
		return refused(err)
	}
	question, seen, err := s.askAgain(w, r, sample, headers)
	if err != nil {
		return refused(err)
	}
	page, err := s.samplePage(r, sample, q)
	if err != nil {
		return err
	}
	now := seen.sample
	now.ID, now.Run, now.Route = sample.ID, sample.Run, sample.Route
	view, err := s.sampleView(now, query{now: q.now}, s.deps.DB.Snapshot())
	if err != nil {
		return err
	}
	view.frame, view.Exports, view.Ask, view.Shrink, view.Near = page.frame, page.Exports, page.Ask, page.Shrink, page.Near
	view.Body.inPlace()
	view.Time = sample.Time
	view.still()
	view.Ask.Headers = "" // it may hold a secret
	view.Again = &againView{Changes: changesOf(sample, now), Redacted: redactedPlaces(&question.request), Unknown: string(seen.comparison.Unknown)}
	return s.render(w, r, http.StatusOK, "sample", view)
}

// still has the page stay as it is: fetching it again would have nothing of what was asked.
func (page *samplePage) still() { page.Self = "" }

// inPlace takes the links away that lead to another view of the bodies: what they hold is not kept.
func (v *bodyView) inPlace() {
	v.Tabs = nil
	for i := range v.Rows {
		v.Rows[i].Rest = nil
	}
}

// readSampleForm reads a form of a sample's page.
func (s *Server) readSampleForm(w http.ResponseWriter, r *http.Request) (*store.Sample, query, error) {
	q, err := readQuery(r, sampleParams...)
	if err != nil {
		return nil, q, err
	}
	r.Body = http.MaxBytesReader(w, r.Body, askBody)
	if err := r.ParseForm(); err != nil {
		return nil, q, formFault(err)
	}
	sample, err := s.findSample(r)
	return sample, q, err
}

// headersTyped reads headers as people write them, one a line; one without a value is left out of the request.
func headersTyped(text string) (json.RawMessage, error) {
	given := map[string]*string{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		name, value, found := strings.Cut(line, ":")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !found || name == "" {
			return nil, refuse(http.StatusBadRequest, "headers: %q is not of the form “Name: value”; write one on each line", cut(name))
		}
		given[name] = nil
		if value != "" {
			given[name] = &value
		}
	}
	if len(given) == 0 {
		return nil, nil
	}
	return json.Marshal(given)
}

// changesOf says in sentences what is otherwise now, role by role and field by field.
func changesOf(then, now *store.Sample) []string {
	var out []string
	for side, role := range storedRole {
		was, is := &then.Responses[role], &now.Responses[role]
		switch {
		case answerWord(was) != answerWord(is):
			out = append(out, fmt.Sprintf("The %s answers %s; it was %s.", roleWords[side], answerWord(is), answerWord(was)))
		case string(was.Body) != string(is.Body) && side == primary:
			out = append(out, "The primary’s own body is another than it was.")
		}
	}
	had, has := aloneIn(then), aloneIn(now)
	add := func(words string, names []string) {
		if len(names) > 0 {
			out = append(out, words+listed(names, 8)+".")
		}
	}
	without := func(from, take []string) []string {
		return slices.DeleteFunc(slices.Clone(from), func(name string) bool { return slices.Contains(take, name) })
	}
	gone, fresh := without(had, has), without(has, had)
	add("The candidate still stands alone at ", without(had, gone))
	add("It no longer does at ", gone)
	add("The candidate stands alone for the first time at ", fresh)
	if len(had)+len(has) == 0 {
		out = append(out, "The candidate stands alone nowhere, as before.")
	}
	return out
}

func answerWord(resp *multicast.Response) string {
	if resp.Outcome != multicast.OutcomeOK {
		return "nothing (" + string(outcomeOf(resp)) + ")"
	}
	return fmt.Sprint(resp.Status)
}

// aloneIn lists the fields at which the candidate differs more gravely than the control.
func aloneIn(sample *store.Sample) []string {
	controls := fieldLevels(sample.Control)
	levels := fieldLevels(sample.Candidate)
	var names []string
	for _, d := range sample.Candidate {
		if levels[d.Field] > controls[d.Field] && !slices.Contains(names, d.Field) {
			names = append(names, d.Field)
		}
	}
	return names
}
