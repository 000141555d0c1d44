package web

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"shadowdiff/diff"
	"shadowdiff/store"
)

// samplesPage lists the kept samples that meet the filters in its address, and says how many requests were counted that
// do.
type samplesPage struct {
	listPage
	Head    samplesHead
	Rows    []sampleRow
	AtField bool // a field is asked for: the rows show what stood there
	JSON    string
	HAR     string
	Results []optionView
	There   []optionView
}

// samplesHead is the first line: "20 kept of 312 requests in which the candidate alone differed at body.price of GET /search".
type samplesHead struct {
	Kept    string
	Counted string   // requests that meet the filters; empty where they are not counted together
	One     bool     // it is one request
	Having  []phrase // "with `query.currency` = `EUR`"
	Early   bool     // what has it is not counted from the first on
	Did     string   // "in which the candidate alone differed"
	Value   string   // that is asked for, as JSON
	At      string   // the field
	By      string   // "another JSON type, or worse"
	Whole   string   // what the two did in the request as a whole, where a field is asked for, too
	Route   string
	Since   time.Time
	Until   time.Time
	Fewer   bool // fewer are kept than were counted
}

// samplesAsked are the filters that the form of the page asks for.
var samplesAsked = [...]string{"route", "field", "at_field", "result", "since", "until"}

// samplesList answers GET /samples.
func (s *Server) samplesList(w http.ResponseWriter, r *http.Request) error {
	q, err := readQuery(r, sampleParameters[:]...)
	if err != nil {
		return err
	}
	if to := q.orphaned(samplesAsked[:]...); to != "" {
		http.Redirect(w, r, s.prefix+to, http.StatusSeeOther)
		return nil
	}
	filter, err := s.sampleFilter(r, q)
	if err != nil {
		return err
	}
	snap, err := s.snapshotOf(r, q)
	if err != nil {
		return err
	}
	filter.Run, filter.Route = snap.Run.ID, s.current(snap, filter.Route)
	if err = s.choose(r.Context(), snap, &filter); err != nil {
		return err
	}
	samples, next, err := s.samplesOf(r.Context(), q, filter)
	if err != nil {
		return err
	}
	page := &samplesPage{
		listPage: s.samplesFiltered(q, snap, filter),
		AtField:  filter.Field != "", JSON: q.elsewhere("/api/v1/samples"), HAR: q.elsewhere("/api/v1/samples", "format", "har"),
		Results: choices(q.text("result"), "candidate_only", "control_only", "both", "agree"),
		There:   choices(q.text("at_field"), "candidate_only", "control_only", "both", "agree", "candidate", "control", "candidate_graver", "candidate_agrees"),
	}
	if next != "" {
		page.More = q.with("cursor", *q.cursorFor(next))
	}
	for _, sample := range samples {
		page.Rows = append(page.Rows, sampleRowOf(sample, filter.Field))
	}
	kept, more := int64(len(samples)), next != ""
	if more || filter.Cursor != "" {
		if kept, more, err = s.keptOf(r.Context(), q, filter); err != nil {
			return err
		}
	}
	counted, known := countedOf(snap, filter)
	page.Head = headOf(filter, kept, more, counted, known)
	if len(samples) == 0 {
		page.Empty = emptySamples(snap, filter, counted, known, page.More != "" || page.First != "")
	}
	page.frame = s.frameFor(r, snap, "Samples")
	page.Here = "overview"
	return s.render(w, r, http.StatusOK, "samples", page)
}

// samplesFiltered has the filters of a list of samples. What the request is to have is one of them, in words.
func (s *Server) samplesFiltered(q query, snap *store.Snapshot, f sampleFilter) listPage {
	names := []string{"route", "field", "at_field", "test", "role", "result", "since", "until"}
	if f.having == nil {
		names = slices.Insert(names, 4, "value")
	}
	page := s.listPageOf(q, snap, names...)
	if f.having != nil {
		var words strings.Builder
		for _, p := range havingWords(f.chosen, f.having) {
			words.WriteString(p.Text)
		}
		page.Chips = append(page.Chips, chip{filterWords("attribute"), words.String(), q.without("attribute")})
	}
	page.Keep = q.along(append(samplesAsked[:], "cursor")...)
	return page
}

// choices are the words of a filter, and which of them is chosen.
func choices(chosen string, words ...string) []optionView {
	list := make([]optionView, 0, len(words))
	for _, word := range words {
		list = append(list, optionView{word, strings.ReplaceAll(word, "_", " "), word == chosen})
	}
	return list
}

// keptCounted bounds how many kept samples are counted for a page.
const keptCounted = 10_000

// keptOf counts the kept samples that a filter admits; more tells that there are more than it has counted.
func (s *Server) keptOf(ctx context.Context, q query, f sampleFilter) (n int64, more bool, err error) {
	if !f.looks() {
		n, err = s.deps.DB.CountSamples(ctx, f.Filter, keptCounted+1)
		return min(n, keptCounted), n > keptCounted, err
	}
	f.Cursor, f.Limit = "", samplesLooked
	all, next, err := s.samplesOf(ctx, q, f)
	return int64(len(all)), next != "", err
}

// countedOf is how many compared requests meet a filter, kept or not. It is not known of a time, nor of what a field and a
// whole request come to together: these are not counted so.
func countedOf(snap *store.Snapshot, f sampleFilter) (n int64, known bool) {
	switch {
	case !f.Since.IsZero() || !f.Until.IsZero():
		return 0, false
	case f.Field != "" && f.Result != "", f.value != "":
		return 0, false
	case f.chosen != nil:
		return f.countedChosen()
	case f.Field != "":
		return countedAt(snap, f)
	}
	t := &snap.Tallies.Total
	if f.Route != "" {
		if t = routeOf(snap, f.Route); t == nil {
			return 0, true
		}
	}
	if f.Result == "" {
		return t.Compared, true
	}
	return countOf(t.Results, f.Result, t.Compared), true
}

// countedAt counts those that differ at a field: of one route, or of all that have a field of this name.
func countedAt(snap *store.Snapshot, f sampleFilter) (n int64, known bool) {
	leaning := false
	add := func(t *diff.FieldTally) {
		c := t.Tests[f.test].Counts
		all := c.CandidateOnly + c.ControlOnly + c.Both
		if whole := routeOf(snap, t.Route); f.beyondField() && whole != nil {
			if all = whole.Judged(); t.Field == transport {
				all = whole.Compared
			}
		}
		n += countOf(c, f.atField, all)
		value := t.Tests[diff.TestValue].Counts
		leaning = leaning || value == diff.Counts{}
	}
	if f.Route != "" {
		if t := fieldOf(snap, f.Route, f.Field); t != nil {
			add(t)
		}
	} else {
		for _, t := range snap.Tallies.Fields {
			if t.Field == f.Field {
				add(t)
			}
		}
	}
	return n, !leaning && f.atField != candidateGraver // of what only leans, as a size, no request differs
}

func countOf(c diff.Counts, result diff.Result, all int64) int64 {
	switch result {
	case diff.CandidateOnly:
		return c.CandidateOnly
	case diff.ControlOnly:
		return c.ControlOnly
	case diff.Both:
		return c.Both
	case candidateDiffers:
		return c.CandidateOnly + c.Both
	case controlDiffers:
		return c.ControlOnly + c.Both
	case diff.Agree:
		return all - c.CandidateOnly - c.ControlOnly - c.Both
	case candidateAgrees:
		return all - c.CandidateOnly - c.Both
	default:
		return all
	}
}

func headOf(f sampleFilter, kept int64, more bool, counted int64, known bool) samplesHead {
	h := samplesHead{Kept: count(kept), At: f.Field, Route: f.Route, Since: f.Since, Until: f.Until}
	if more {
		h.Kept += "+"
	}
	h.One = kept == 1 && !more
	if f.chosen != nil {
		h.Having = havingWords(f.chosen, f.having)
		_, exact := f.chosen.Count(f.Field)
		h.Early = !exact
	}
	if known {
		h.Counted, h.One, h.Fewer = count(counted), counted == 1, kept < counted
	}
	did := cmp.Or(f.atField, f.Result)
	if f.Field != "" && f.atField == "" {
		did = ""
	}
	switch {
	case did == diff.CandidateOnly:
		h.Did = "in which the candidate alone differed"
	case did == diff.ControlOnly:
		h.Did = "in which the control alone differed"
	case did == diff.Both:
		h.Did = "in which candidate and control both differed"
	case did == candidateDiffers:
		h.Did = "in which the candidate differed"
	case did == controlDiffers:
		h.Did = "in which the control differed"
	case did == candidateGraver:
		h.Did = "in which the candidate differed more gravely than the control"
	case did == candidateAgrees:
		h.Did = "in which the candidate agreed"
	case did == diff.Agree:
		h.Did = "in which all three agreed"
	case f.value != "" && f.side != anySide:
		h.Did, h.Value = "in which "+roleWords[f.side]+" had", begins(f.value, valueShown)
	case f.value != "":
		h.Did, h.Value = "in which one had", begins(f.value, valueShown)
	case f.Field != "":
		h.Did = "that differed"
	default:
		h.Did = "that were compared"
		if h.One {
			h.Did = "that was compared"
		}
	}
	if f.test > diff.TestValue {
		h.By = testMeaning(f.test)
	}
	if f.Field != "" {
		h.Whole = resultWords(f.Result)
	}
	return h
}

// emptySamples says why a list is empty, and what to do about it.
func emptySamples(snap *store.Snapshot, f sampleFilter, counted int64, known, paged bool) []string {
	const gone = "Samples make room for more telling ones (store.samples_per_field), go when they are older than store.keep_samples, " +
		"and sooner when the file is over store.max_size."
	switch {
	case snap.Tallies.Total.Compared == 0:
		return []string{"Nothing has been compared in this run yet.", "Send a request through the proxy; the overview says what is missing beside that."}
	case f.Route != "" && routeOf(snap, f.Route) == nil:
		return []string{sentenceOf(asProblem(noSuchRoute(f.Route, snap)).Detail)}
	case paged:
		return []string{"No more of them are kept.", "Go back to the newest."}
	case known && counted == 0 && f.Field != "":
		return []string{"No compared request did that.", "Take a filter away, or look whether the field's name is written as on its page."}
	case known && counted == 0:
		return []string{"No compared request did that.", "Take a filter away to see others."}
	case known:
		return []string{
			fmt.Sprintf("%s counted, and none of them is kept.", isAre(int(counted), "request was", "requests were")), gone,
			"The next that come are kept again.",
		}
	default:
		return []string{"No kept sample meets all of these filters.", gone, "Take a filter away to see others."}
	}
}
