package web

import (
	"cmp"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"

	"shadowdiff/diff"
	"shadowdiff/store"
)

// fieldsPage lists the fields that have differed, one row each, at the gravest test that has evidence: what the verdict
// lists as its differences.
type fieldsPage struct {
	listPage
	Route     string // empty: of all routes
	Listed    int64  // that meet the filters
	Confirmed int64  // of the run or the route, whatever the filters
	Suspected int64
	Noise     int64
	Bounded   bool // there are more than a verdict lists
	Rows      []findingView
	Standings []optionView
	Kinds     []optionView
	Sorts     []optionView
	JSON, CSV string
}

// All is how many fields there are.
func (p *fieldsPage) All() int64 { return p.Confirmed + p.Suspected + p.Noise }

// fieldParameters are the filters that the page takes; q is a part of a field's name.
var fieldParameters = [...]string{"route", "q", "field", "standing", "confirmed", "test", "sort", "order", "run", "limit", "cursor"}

// foundField is a finding with what its field has counted.
type foundField struct {
	*diff.Finding
	tally *diff.FieldTally // nil for what is no place in an answer: latency
}

func (f foundField) name() string { return f.Route + "\x00" + f.Field }

// raw and noise are the requests in which the two differ here at all.
func (f foundField) raw() int64 {
	if f.tally == nil {
		return 0
	}
	return f.tally.Raw
}

func (f foundField) noise() int64 {
	if f.tally == nil {
		return 0
	}
	return f.tally.Noise
}

func (f foundField) standing() string {
	switch {
	case f.Confirmed:
		return "confirmed"
	case f.LnE >= suspect:
		return "suspected"
	default:
		return "noise"
	}
}

// byEvidence is the order of a verdict: what is confirmed, then what is likely.
const byEvidence = "evidence"

// foundMeasures are what the list can be ordered by.
func foundMeasures() measures[foundField] {
	return measures[foundField]{
		byEvidence: func(f foundField) int64 {
			rank := int64(math.Round(1e6 * min(max(f.LnE, -1e6), 1e6)))
			if f.Confirmed {
				rank += 1e13
			}
			if f.Informs {
				rank -= 4e12
			}
			return rank
		},
		"raw":            foundField.raw,
		"noise":          foundField.noise,
		"candidate_only": func(f foundField) int64 { return f.CandidateOnly },
		"control_only":   func(f foundField) int64 { return f.ControlOnly },
		"excess":         func(f foundField) int64 { return f.CandidateOnly - f.ControlOnly },
		"compared":       func(f foundField) int64 { return f.Compared },
	}
}

// fieldsList answers GET /fields.
func (s *Server) fieldsList(w http.ResponseWriter, r *http.Request) error {
	q, err := readQuery(r, fieldParameters[:]...)
	if err != nil {
		return err
	}
	wanted, err := readFound(q)
	if err != nil {
		return err
	}
	order, err := readOrdering(q, foundMeasures())
	if err != nil {
		return err
	}
	if q.text("sort") == "" {
		order.measure, order.down = foundMeasures()[byEvidence], q.text("order") != "asc"
	}
	snap, err := s.snapshotOf(r, q)
	if err != nil {
		return err
	}
	route := s.current(snap, q.text("route"))
	page := &fieldsPage{
		listPage: s.listPageOf(q, snap, "route", "q", "field", "standing", "confirmed", "test"), Route: route,
		Standings: choices(q.text("standing"), "confirmed", "suspected", "noise"),
		Kinds:     choices(q.text("test"), "value", "format", "type", "presence", "extent", "drift"),
		Sorts:     choices(q.text("sort"), "name", "raw", "noise", "candidate_only", "control_only", "excess", "compared"),
		JSON:      s.fieldsExport(q, ""), CSV: s.fieldsExport(q, "csv"),
	}
	page.Keep = q.along("q", "route", "standing", "test", "sort", "cursor")
	verdict := verdictOf(snap, route)
	if route == "" {
		verdict = snap.Verdict
	}
	if verdict != nil {
		rows, next := order.page(q, slices.Values(page.found(snap, verdict, wanted, order.backward())), foundField.name)
		page.show(rows, verdict.Budget)
		if next != nil {
			page.More = q.with("cursor", *next)
		}
	}
	if len(page.Rows) == 0 {
		page.Empty = page.emptyFields(snap)
	}
	page.frame = s.frameFor(r, snap, "Fields")
	page.Here = "overview"
	return s.render(w, r, http.StatusOK, "fields", page)
}

// fieldsExport is the address under which the API tells of the same fields, test by test. It has no search and knows no
// suspicion: those are left out.
func (s *Server) fieldsExport(q query, format string) string {
	pairs := []string{"route", q.text("route"), "field", q.text("field"), "test", q.text("test"), "run", q.text("run"), "format", format}
	switch confirmed := q.text("confirmed"); {
	case q.text("standing") == "confirmed":
		pairs = append(pairs, "confirmed", "true")
	case q.text("standing") != "":
		pairs = append(pairs, "confirmed", "false")
	default:
		pairs = append(pairs, "confirmed", confirmed)
	}
	return listPath("/api/v1/fields", pairs...)
}

// foundFilter is which of the fields are wanted.
type foundFilter struct {
	part, field, standing string
	test                  *diff.Test
	confirmed             *bool
}

func readFound(q query) (f foundFilter, err error) {
	f.part, f.field = strings.ToLower(q.text("q")), q.text("field")
	if f.standing, err = q.choice("standing", "confirmed", "suspected", "noise"); err != nil {
		return f, err
	}
	if f.confirmed, err = q.flag("confirmed"); err != nil {
		return f, err
	}
	f.test, err = q.test()
	return f, err
}

func (f *foundFilter) admits(one foundField) bool {
	return strings.Contains(strings.ToLower(one.Field), f.part) && matches(f.field, one.Field) && matches(f.standing, one.standing()) &&
		(f.test == nil || *f.test == one.Kind) && (f.confirmed == nil || *f.confirmed == one.Confirmed)
}

// foundMost is how many differences a verdict lists at most.
const foundMost = 10_000

// found are the wanted fields in the order of their names, and counts all there are.
func (p *fieldsPage) found(snap *store.Snapshot, v *diff.Verdict, wanted foundFilter, backward bool) []foundField {
	var list []foundField
	p.Bounded = len(v.Differences) >= foundMost
	for i := range v.Differences {
		one := foundField{Finding: &v.Differences[i]}
		switch one.standing() {
		case "confirmed":
			p.Confirmed++
		case "suspected":
			p.Suspected++
		default:
			p.Noise++
		}
		if wanted.admits(one) {
			one.tally = fieldOf(snap, one.Route, one.Field)
			list = append(list, one)
		}
	}
	p.Listed = int64(len(list))
	slices.SortFunc(list, func(a, b foundField) int {
		if backward {
			a, b = b, a
		}
		return cmp.Or(strings.Compare(a.Route, b.Route), strings.Compare(a.Field, b.Field))
	})
	return list
}

// show puts the fields of one page into words; their bars have one scale, since shares of different routes stand
// together.
func (p *fieldsPage) show(rows []foundField, budget float64) {
	most := 0.0
	of := func(n int64, f foundField) float64 { return float64(n) / float64(max(1, f.Compared)) }
	for _, f := range rows {
		most = max(most, of(f.raw(), f), of(f.noise(), f))
	}
	for _, f := range rows {
		view := findingOf(*f.Finding, budget)
		if view.Disagrees = disagreementAt(f.tally, f.Finding); view.Disagrees != nil {
			view.Disagrees.Bar = barOf(view.Disagrees.raw/float64(max(1, f.Compared)), view.Disagrees.noise/float64(max(1, f.Compared)), most)
		}
		p.Rows = append(p.Rows, view)
	}
}

// emptyFields says why nothing is listed, and what to do about it.
func (p *fieldsPage) emptyFields(snap *store.Snapshot) []string {
	switch compared := snap.Tallies.Total.Compared; {
	case compared == 0:
		return []string{"Nothing has been compared in this run yet.", "Send a request through the proxy; the overview says what is missing beside that."}
	case p.Route != "" && routeOf(snap, p.Route) == nil:
		return []string{sentenceOf(asProblem(noSuchRoute(p.Route, snap)).Detail)}
	case p.All() == 0:
		return []string{fmt.Sprintf("No field has differed in %s.", things(compared, "compared request"))}
	case p.First != "":
		return []string{"No more of them are listed.", "Go back to the first page."}
	default:
		return []string{fmt.Sprintf("None of the %s meets these filters.", things(p.All(), "field")), "Take one away to see others."}
	}
}
