package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"shadowdiff/diff"
	"shadowdiff/multicast"
	"shadowdiff/store"
)

// runPage tells of one run.
type runPage struct {
	frame
	Of       runItem
	Label    string
	Sentence string
	Reasons  []string
	Rate     string // the equivalence rate, with its interval
	Raw      string
	Noise    string
	Excess   whisker
	Adds     string // the excess in figures
	Budget   string
	Took     string
	Alpha    string
	Rules    string // as YAML
	Requests int64
	Apart    int64 // of these, those for which no shadow was asked, or that were given up

	Compared, Unknown    int64
	Confirmed, Informing int       // of what is confirmed, what decides and what only informs
	Views                []runLink // the other pages of this run
	Compare              []runLink
	Form                 runForm
	ReadOnly             bool
}

// runLink leads to a page of this run, or to this run beside another.
type runLink struct {
	Word, Path string
	Run        string // the other
}

// runForm is the form that names a run, as it was filled in.
type runForm struct{ Name, Notes, Fault string }

// runView answers GET /runs/{id}; an id, a name or "current".
func (s *Server) runView(w http.ResponseWriter, r *http.Request) error {
	if _, err := readQuery(r); err != nil {
		return err
	}
	run, err := s.runInPath(r, "id")
	if err != nil {
		return err
	}
	return s.writeRunPage(w, r, http.StatusOK, run.ID, nil)
}

func (s *Server) writeRunPage(w http.ResponseWriter, r *http.Request, status int, id int64, form *runForm) error {
	snap, err := s.deps.DB.RunSnapshot(r.Context(), id)
	if err != nil {
		return err
	}
	record, err := s.deps.DB.RunRecord(r.Context(), id)
	if err != nil {
		return err
	}
	v := snap.Verdict
	page := &runPage{
		frame: s.frameFor(r, s.deps.DB.Snapshot(), sentenceStart(runTitle(record.Run))), Of: s.runItem(&record), Label: runTitle(record.Run),
		Sentence: runSentence(&record, v), Reasons: reasonSentences(v.Reasons), Rules: record.RuleText, Requests: record.Counters.Requests,
		Apart:    notExchanged(&record.Counters),
		Compared: v.Compared, Unknown: v.Unknown,
		Rate: equivalenceText(v), Raw: shareOf(v.RawRate, v.Compared), Noise: noiseShare(v),
		Excess: whiskerOf(v.Excess, v.ExcessBounds, v.Budget), Budget: plain(v.Budget), Alpha: fmt.Sprintf("%.2g", v.Alpha), Form: runForm{Name: record.Name, Notes: record.Notes}, ReadOnly: s.cfg.ReadOnly,
	}
	page.Confirmed, page.Informing = decidingIn(v)
	if v.Compared > 0 {
		page.Adds = between(v.ExcessBounds[0], v.ExcessBounds[1])
	}
	page.Here, page.Still, page.Took = "runs", !page.Of.Current, runTook(record.Run, s.deps.DB.Snapshot().Time)
	ref := strconv.FormatInt(id, 10)
	page.Views = []runLink{
		{Word: "Overview", Path: listPath("/", "run", ref)},
		{Word: "Fields", Path: listPath("/fields", "run", ref)},
		{Word: "Confirmed", Path: listPath("/fields", "run", ref, "confirmed", "true")},
		{Word: "Samples", Path: listPath("/samples", "run", ref)},
		{Word: "Report", Path: listPath("/api/v1/report", "run", ref, "format", "html")},
	}
	if form != nil {
		page.Form, page.Still, page.Self = *form, true, runPath(id)
	}
	if page.Compare, err = s.neighbours(r.Context(), &record); err != nil {
		return err
	}
	return s.render(w, r, status, "run", page)
}

// runSentence says what a run has come to.
func runSentence(record *store.RunRecord, v *diff.Verdict) string {
	is := "is in force"
	if record.Ended != nil {
		is = "has ended"
	}
	if v.Compared == 0 {
		return sentenceStart(runTitle(record.Run)) + " " + is + ", and nothing was compared in it."
	}
	deciding, informing := decidingIn(v)
	text := fmt.Sprintf("%s %s, with %s after %s", sentenceStart(runTitle(record.Run)), is, noneOr(deciding, "confirmed difference"), things(v.Compared, "comparison"))
	if informing > 0 {
		text += "; " + isAre(informing, "more only informs", "more only inform")
	}
	return text + "."
}

// noneOr writes a number with its noun, where 0 is "no": no differences.
func noneOr(n int, noun string) string {
	if n == 0 {
		return "no " + noun
	}
	return things(int64(n), noun)
}

// notExchanged is how many requests were asked of the primary alone.
func notExchanged(c *multicast.Counts) (n int64) {
	for _, skipped := range c.Skipped {
		n += skipped
	}
	for _, dropped := range c.Dropped {
		n += dropped
	}
	return n
}

// equivalenceText is the equivalence rate with its interval.
func equivalenceText(v *diff.Verdict) string {
	if v.Compared == 0 {
		return ""
	}
	return rate(v.Equivalence, v.EquivBounds[1]-v.EquivBounds[0]) + " (" + between(v.EquivBounds[0], v.EquivBounds[1]) + ")"
}

// neighbours are the runs that a run is most often held against.
func (s *Server) neighbours(ctx context.Context, of *store.RunRecord) (links []runLink, err error) {
	before, _, err := s.deps.DB.Runs(ctx, 1, strconv.FormatInt(of.ID, 36))
	if err != nil {
		return nil, err
	}
	if len(before) > 0 {
		links = append(links, runLink{"with the run before it", comparePath(before[0].ID, of.ID), runTitle(before[0].Run)})
	}
	if now := s.deps.DB.Snapshot().Run; now.ID != of.ID {
		links = append(links, runLink{"with the run in force", comparePath(of.ID, now.ID), runTitle(now)})
	}
	return links, nil
}

// postRunChange answers the form that gives a run another name or other notes.
func (s *Server) postRunChange(w http.ResponseWriter, r *http.Request) error {
	run, err := s.runInPath(r, "id")
	if err != nil {
		return err
	}
	r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
	if err := r.ParseForm(); err != nil {
		return formFault(err)
	}
	name, notes := r.PostForm.Get("name"), plainLines(r.PostForm.Get("notes"))
	err = s.changeRun(r.Context(), run, store.RunChange{Name: &name, Notes: &notes}, pageActor)
	if errors.Is(err, store.ErrRunText) {
		return s.writeRunPage(w, r, http.StatusBadRequest, run.ID, &runForm{name, notes, faultOfText(err)})
	}
	if err != nil {
		return err
	}
	http.Redirect(w, r, s.prefix+runPath(run.ID), http.StatusSeeOther)
	return nil
}

// By says who or what has begun the run.
func (p *runPage) By() string { return actorWord(p.Of.BegunBy) }

// VerdictWord is the word of a verdict that may not have been made.
func (p *runPage) VerdictWord() diff.Word {
	if p.Of.Word == nil {
		return diff.Undecided
	}
	return *p.Of.Word
}
