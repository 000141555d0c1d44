package web

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"shadowdiff/diff"
	"shadowdiff/store"
)

// runsPage answers "is the new candidate better than the last?".
type runsPage struct {
	frame
	Sentence string
	Rows     []runRow
	Newer    string // path of the first page; empty: this is it
	Older    string // path of the next page; empty: there is none
	Begin    beginView
	Command  string // begins one from a shell
	ReadOnly bool
}

// runRow is one run in the list.
type runRow struct {
	runItem
	Verdict  string // empty: it was not judged anew yet
	Label    string
	Took     string
	Rate     string // the equivalence rate; empty: it is not known
	Interval string
	Alpha    string
	Path     string
	Overview string
	Confirms string // path of the list of what is confirmed
	Samples  string // path of the list of its samples
	Compare  string // with the one before it; empty: there is none here
	Before   string // that one

	Comparisons, Confirmations string
	Deciding, Informing        int // of what is confirmed, what decides and what only informs
}

// beginView is the form that begins a run, as it was filled in.
type beginView struct {
	Name, Version, Notes string
	Fault                string // why it was not taken
	Open                 bool
	Next                 int    // the attempt that a run of the present name would be
	Alpha                string // that it would be judged at
	Present              string // the present run
}

const runsShown = 25

// runsView answers GET /runs.
func (s *Server) runsView(w http.ResponseWriter, r *http.Request) error {
	q, err := readQuery(r, "limit", "cursor", "begin")
	if err != nil {
		return err
	}
	begin, err := q.flag("begin")
	if err != nil {
		return err
	}
	return s.writeRuns(w, r, http.StatusOK, q, beginView{Open: begin != nil && *begin})
}

// writeRuns is the page of the runs, with the form as it was filled in.
func (s *Server) writeRuns(w http.ResponseWriter, r *http.Request, status int, q query, begin beginView) error {
	list, err := s.runList(r.Context(), q, runsShown)
	if err != nil {
		return err
	}
	snap := s.deps.DB.Snapshot()
	page := &runsPage{frame: s.frameFor(r, snap, "Runs"), ReadOnly: s.cfg.ReadOnly, Begin: s.beginView(snap, begin)}
	page.Command = `curl -d '{"name": "v2.4.0"}' ` + s.reachedAt(r) + "/api/v1/runs"
	page.Here = "runs"
	if r.Method == http.MethodPost {
		page.Self, page.Still = "/runs", true
	}
	for i := range list.Items {
		page.Rows = append(page.Rows, runRowOf(snap, &list.Items[i]))
	}
	for i := range page.Rows[:max(0, len(page.Rows)-1)] {
		page.Rows[i].Compare, page.Rows[i].Before = comparePath(page.Rows[i+1].ID, page.Rows[i].ID), page.Rows[i+1].Label
	}
	if list.Next != nil {
		page.Older = listPath("/runs", "limit", q.text("limit"), "cursor", *list.Next)
	}
	if q.text("cursor") != "" {
		page.Newer = listPath("/runs", "limit", q.text("limit"))
	}
	page.Sentence = runsSentence(page)
	return s.render(w, r, status, "runs", page)
}

// beginView fills in what a new run would mean.
func (s *Server) beginView(snap *store.Snapshot, v beginView) beginView {
	judge := diff.DefaultConfig()
	if s.deps.Judge != nil {
		judge = s.deps.Judge()
	}
	k := float64(snap.Run.Attempt + 1)
	v.Next, v.Alpha, v.Present = snap.Run.Attempt+1, fmt.Sprintf("%.2g", judge.Alpha/(k*(k+1))), runTitle(snap.Run)
	v.Open = v.Open || v.Fault != ""
	return v
}

// By says who or what has begun the run.
func (r runRow) By() string { return actorWord(r.BegunBy) }

func runRowOf(now *store.Snapshot, item *runItem) runRow {
	ref := strconv.FormatInt(item.ID, 10)
	row := runRow{
		runItem: *item, Label: runTitle(item.Run), Path: runPath(item.ID), Overview: listPath("/", "run", ref),
		Confirms: listPath("/fields", "run", ref, "confirmed", "true"), Samples: listPath("/samples", "run", ref),
		Took: runTook(item.Run, now.Time),
	}
	if item.Word != nil {
		row.Verdict, row.Comparisons = string(*item.Word), count(*item.Compared)
		row.Deciding, row.Informing = *item.Confirmed-item.informing, item.informing
		row.Confirmations = count(int64(row.Deciding))
	}
	if item.Alpha != nil {
		row.Alpha = fmt.Sprintf("%.2g", *item.Alpha)
	}
	if item.EquivBounds != nil && *item.Compared > 0 {
		row.Rate = rate(*item.Equivalence, item.EquivBounds[1]-item.EquivBounds[0])
		row.Interval = between(item.EquivBounds[0], item.EquivBounds[1])
	}
	return row
}

// runsSentence compares the run in force with the one before it, as far as this page tells of both.
func runsSentence(page *runsPage) string {
	if len(page.Rows) == 0 {
		return "There are no runs this far back."
	}
	now := &page.Rows[0]
	if !now.Current {
		return "Earlier runs, the newest first."
	}
	text := sentenceStart(now.Label) + " is in force"
	switch {
	case now.Compared == nil || *now.Compared == 0:
		text += ", and has compared nothing yet"
	default:
		text += ": " + string(*now.Word) + " after " + things(*now.Compared, "comparison")
	}
	if len(page.Rows) > 1 && (page.Rows[1].Compared == nil || *page.Rows[1].Compared == 0) {
		return text + ". " + sentenceStart(page.Rows[1].Label) + " before it compared nothing."
	}
	if len(page.Rows) == 1 {
		return text + ". It is the first run, so there is none to compare it with yet."
	}
	if before := &page.Rows[1]; before.Word != nil && before.Confirmed != nil && now.Confirmed != nil {
		text += fmt.Sprintf("; %s, against %s in %s before it", things(int64(now.Deciding), "confirmed difference"), numberOrNone(before.Deciding), before.Label)
	}
	return text + "."
}

// runTitle tells a run from others of its name.
func runTitle(run store.Run) string {
	name := run.Name
	if !strings.HasPrefix(name, "run ") {
		name = "run " + name
	}
	if run.Attempt > 1 {
		name += fmt.Sprintf(", attempt %d", run.Attempt)
	}
	return name
}

// sentenceStart has a text begin a sentence.
func sentenceStart(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// runTook is how long a run was in force, or is.
func runTook(run store.Run, now time.Time) string {
	if run.Ended != nil {
		now = *run.Ended
	}
	return lasted(now.Sub(run.Started))
}

// lasted writes a long duration with its two largest units: 3 d 4 h, 12 min 5 s.
func lasted(d time.Duration) string {
	d = max(0, d).Round(time.Second)
	units := []struct {
		of   time.Duration
		word string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "min"}, {time.Second, "s"}}
	for i, u := range units {
		if d < u.of && u.of > time.Second {
			continue
		}
		text := fmt.Sprintf("%d\u202f%s", d/u.of, u.word)
		if rest := d % u.of; i+1 < len(units) && rest >= units[i+1].of {
			text += fmt.Sprintf(" %d\u202f%s", rest/units[i+1].of, units[i+1].word)
		}
		return text
	}
	return ""
}

func runPath(id int64) string { return "/runs/" + strconv.FormatInt(id, 10) }

// comparePath is the page that sets two runs side by side.
func comparePath(then, now int64) string {
	return runPath(then) + "/compare/" + strconv.FormatInt(now, 10)
}

// chooseRuns answers GET /runs/compare?then=…&now=…, which is how a form without a script leads to the page of two runs.
func (s *Server) chooseRuns(w http.ResponseWriter, r *http.Request) error {
	q, err := readQuery(r, "then", "now")
	if err != nil {
		return err
	}
	var ids [2]int64
	for i, name := range []string{"then", "now"} {
		if q.text(name) == "" {
			return refuse(http.StatusBadRequest, "%s: choose a run for each of the two sides", name)
		}
		run, err := s.findRun(r, q.text(name))
		if err != nil {
			return err
		}
		ids[i] = run.ID
	}
	http.Redirect(w, r, s.prefix+comparePath(ids[0], ids[1]), http.StatusSeeOther)
	return nil
}

// postRunForm answers the form that begins a run.
func (s *Server) postRunForm(w http.ResponseWriter, r *http.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
	if err := r.ParseForm(); err != nil {
		return formFault(err)
	}
	form := beginView{
		Name: strings.TrimSpace(r.PostForm.Get("name")), Version: strings.TrimSpace(r.PostForm.Get("version")),
		Notes: plainLines(r.PostForm.Get("notes")),
	}
	run, err := s.deps.BeginRun(r.Context(), RunBeginning{Actor: pageActor, Name: form.Name, Version: form.Version, Notes: form.Notes})
	if errors.Is(err, store.ErrRunText) {
		form.Fault = faultOfText(err)
		return s.writeRuns(w, r, http.StatusBadRequest, query{request: r, values: url.Values{}}, form)
	}
	if err != nil {
		return err
	}
	http.Redirect(w, r, s.prefix+runPath(run.ID), http.StatusSeeOther)
	return nil
}

// faultOfText says why a name, a version or notes are not usable.
func faultOfText(err error) string {
	text := strings.TrimPrefix(strings.TrimSuffix(err.Error(), ": "+store.ErrRunText.Error()), "begin run: ")
	if _, after, found := strings.Cut(text, ": "); strings.HasPrefix(text, "change run ") && found {
		text = after
	}
	return sentenceOf(strings.ReplaceAll(text, ": "+store.ErrRunText.Error()+"\n", "; "))
}
