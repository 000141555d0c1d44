package web

import (
	"iter"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"shadowdiff/diff"
	"shadowdiff/store"
)

// fieldItem is one (route, field, test) in GET /api/v1/fields. For extent candidate_only and control_only count requests
// in which the candidate, or the control, differs at more places; for drift those in which it is greater, or less.
type fieldItem struct {
	Route         string     `json:"route"` // empty: all routes together, of field transport
	Field         string     `json:"field"`
	Test          diff.Test  `json:"test"`
	Page          string     `json:"page"`
	Compared      int64      `json:"compared"` // requests that tell of the field
	Raw           int64      `json:"raw"`      // requests in which the candidate differs here at all
	Noise         int64      `json:"noise"`
	CandidateOnly int64      `json:"candidate_only"`
	ControlOnly   int64      `json:"control_only"`
	Both          int64      `json:"both"`
	LnE           float64    `json:"ln_e"`
	Confirmed     bool       `json:"confirmed"`
	ConfirmedAt   *time.Time `json:"confirmed_at"`
	ConfirmedOn   *int64     `json:"confirmed_on"` // requests compared on the route by then
	First         time.Time  `json:"first"`
	Last          time.Time  `json:"last"`
}

// fieldTest is one field of one route at one test.
type fieldTest struct {
	*diff.FieldTally
	test diff.Test
}

func (f fieldTest) tally() *diff.TestTally { return &f.Tests[f.test] }

// name is the place of a row in the order of names.
func (f fieldTest) name() string {
	return f.Route + "\x00" + f.Field + "\x00" + strconv.Itoa(int(f.test))
}

// fieldMeasures are what fields can be ordered by.
var fieldMeasures = measures[fieldTest]{
	"raw":            func(f fieldTest) int64 { return f.Raw },
	"noise":          func(f fieldTest) int64 { return f.Noise },
	"candidate_only": func(f fieldTest) int64 { return f.tally().CandidateOnly },
	"control_only":   func(f fieldTest) int64 { return f.tally().ControlOnly },
	"both":           func(f fieldTest) int64 { return f.tally().Both },
	"excess":         func(f fieldTest) int64 { return f.tally().CandidateOnly - f.tally().ControlOnly },
	"first":          func(f fieldTest) int64 { return f.First.UnixMicro() },
	"last":           func(f fieldTest) int64 { return f.Last.UnixMicro() },
}

// fieldFilter is which of the rows are wanted.
type fieldFilter struct {
	route, field string
	test         *diff.Test // nil: each
	confirmed    *bool
}

// listFields answers GET /api/v1/fields, sorted by route, field and test unless asked otherwise; a test without a count is
// left out.
func (s *Server) listFields(w http.ResponseWriter, r *http.Request) error {
	q, err := readQuery(r, "route", "field", "test", "confirmed", "since", "until", "run", "format", "sort", "order", "limit", "cursor")
	if err != nil {
		return err
	}
	format, err := q.choice("format", "json", "csv")
	if err != nil {
		return err
	}
	filter := fieldFilter{field: q.text("field")}
	if filter.test, err = q.test(); err != nil {
		return err
	}
	if filter.confirmed, err = q.flag("confirmed"); err != nil {
		return err
	}
	if q.text("since") != "" || q.text("until") != "" {
		return s.windowFields(w, r, q, filter)
	}
	order, err := readOrdering(q, fieldMeasures)
	if err != nil {
		return err
	}
	snap, err := s.snapshotOf(r, q)
	if err != nil {
		return err
	}
	if s.fresh(w, r, snap) {
		return nil
	}
	filter.route = s.current(snap, q.text("route"))
	if format == "csv" && q.text("limit") == "" {
		order.limit = len(snap.Tallies.Fields) * testsOfField // all of them
	}
	rows, next := order.page(q, filter.rows(s.marks.of(snap.Tallies), &order), fieldTest.name)
	if format == "csv" {
		return s.writeFieldsCSV(w, r, snap, rows, next)
	}
	answer := list[fieldItem]{Items: make([]fieldItem, 0, len(rows)), Next: next}
	for _, row := range rows {
		answer.Items = append(answer.Items, s.fieldItem(snap, row))
	}
	return writeJSON(w, answer)
}

// windowFieldItem is what one field of one route has counted at one test in a window. It holds no evidence and no
// confirmation: the best of many windows is a false alarm.
type windowFieldItem struct {
	Route         string    `json:"route"`
	Field         string    `json:"field"`
	Test          diff.Test `json:"test"`
	Page          string    `json:"page"`
	CandidateOnly int64     `json:"candidate_only"`
	ControlOnly   int64     `json:"control_only"`
	Both          int64     `json:"both"`
}

// windowFields answers GET /api/v1/fields with since or until.
func (s *Server) windowFields(w http.ResponseWriter, r *http.Request, q query, filter fieldFilter) error {
	for _, name := range []string{"confirmed", "sort", "order", "format"} {
		if q.text(name) != "" {
			return refuse(http.StatusBadRequest, "%s has no meaning with since or until: a window has counts alone, by name", name)
		}
	}
	limit, err := q.number("limit", itemsShown, itemsMost)
	if err != nil {
		return err
	}
	since, until, err := q.span()
	if err != nil {
		return err
	}
	place, err := q.place()
	if err != nil {
		return err
	}
	snap, err := s.snapshotOf(r, q)
	if err != nil {
		return err
	}
	var after store.After
	after.Route, place, _ = strings.Cut(place, "\x00")
	after.Field, after.Test, _ = strings.Cut(place, "\x00")
	rows, more, err := s.deps.DB.WindowFields(r.Context(), store.Filter{
		Run: snap.Run.ID, Route: s.current(snap, q.text("route")), Field: filter.field, Since: since, Until: until, Limit: limit,
	}, filter.test, after)
	if err != nil {
		return err
	}
	answer := list[windowFieldItem]{Items: make([]windowFieldItem, 0, len(rows))}
	for _, row := range rows {
		answer.Items = append(answer.Items, windowFieldItem{
			row.Route, row.Field, row.Test, s.prefix + fieldPath(row.Route, row.Field), row.CandidateOnly, row.ControlOnly, row.Both,
		})
	}
	if more {
		last := &rows[len(rows)-1]
		answer.Next = q.cursorFor(last.Route + "\x00" + last.Field + "\x00" + last.Test.String())
	}
	return writeJSON(w, answer)
}

// testsOfField is how many rows one field can have.
const testsOfField = len(diff.FieldTally{}.Tests)

// test reads the parameter of this name, nil without it.
func (q query) test() (*diff.Test, error) {
	word := q.text("test")
	if word == "" {
		return nil, nil
	}
	test := new(diff.Test)
	if err := test.UnmarshalText([]byte(word)); err != nil {
		return nil, refuse(http.StatusBadRequest, "test=%q: give value, format, type, presence, extent or drift", word)
	}
	return test, nil
}

func matches(wanted, have string) bool { return wanted == "" || wanted == have }

// rows are the wanted ones in the order of their names, the transport of all routes together before all others. Where the
// order is that of names, they begin near the cursor.
func (f *fieldFilter) rows(m *marked, order *ordering[fieldTest]) iter.Seq[fieldTest] {
	fields := m.tallies.Fields
	from, to := f.among(fields)
	if at := order.after; at != nil && order.measure == nil {
		route, rest, _ := strings.Cut(at.name, "\x00")
		field, _, _ := strings.Cut(rest, "\x00")
		i, found := placeOf(fields, route, field)
		if found && order.down {
			i++
		}
		if order.down {
			to = max(from, min(to, i))
		} else {
			from = min(to, max(from, i))
		}
	}
	backward, all := order.backward(), m.all
	if f.route != "" {
		all = nil
	}
	return func(yield func(fieldTest) bool) {
		if all != nil && !backward && !f.tests(all, f.wants(marksOf(all)), backward, yield) {
			return
		}
		for i := range to - from {
			at := from + i
			if backward {
				at = to - 1 - i
			}
			wanted := f.wants(m.counted[at], m.confirmed[at])
			if wanted > 0 && !f.tests(fields[at], wanted, backward, yield) {
				return
			}
		}
		if all != nil && backward {
			f.tests(all, f.wants(marksOf(all)), backward, yield)
		}
	}
}

// among is the part of the list in which one route's fields are.
func (f *fieldFilter) among(fields []*diff.FieldTally) (from, to int) {
	if f.route == "" {
		return 0, len(fields)
	}
	from, _ = placeOf(fields, f.route, "")
	to, _ = placeOf(fields, f.route+"\x00", "")
	return from, to
}

// wants takes from a field's marks the tests that are wanted, whatever its name.
func (f *fieldFilter) wants(counted, confirmed uint8) uint8 {
	counted &= testMarks
	if f.test != nil {
		counted &= 1 << *f.test
	}
	switch {
	case f.confirmed == nil:
		return counted
	case *f.confirmed:
		return counted & confirmed
	default:
		return counted &^ confirmed
	}
}

// tests yields the wanted tests of a field if its name is wanted, too, and tells whether more are asked for.
func (f *fieldFilter) tests(t *diff.FieldTally, wanted uint8, backward bool, yield func(fieldTest) bool) bool {
	if !matches(f.field, t.Field) {
		return true
	}
	for i := range testsOfField {
		if backward {
			i = testsOfField - 1 - i
		}
		if wanted&(1<<i) > 0 && !yield(fieldTest{t, diff.Test(i)}) {
			return false
		}
	}
	return true
}

func (s *Server) fieldItem(snap *store.Snapshot, row fieldTest) fieldItem {
	tally := row.tally()
	item := fieldItem{
		Route: row.Route, Field: row.Field, Test: row.test, Page: s.prefix + fieldPath(row.Route, row.Field),
		Compared: judgedOf(snap, row.Route, row.Field), Raw: row.Raw, Noise: row.Noise,
		CandidateOnly: tally.CandidateOnly, ControlOnly: tally.ControlOnly, Both: tally.Both,
		LnE: evidence(row.test, tally.Counts), First: row.First, Last: row.Last,
	}
	if c := tally.Confirmed; c != nil {
		item.Confirmed, item.ConfirmedAt, item.ConfirmedOn = true, &c.Time, &c.Requests
	}
	return item
}

// judgedOf is how many compared requests tell of a field: where one shadow gave no answer, only of transport.
func judgedOf(snap *store.Snapshot, route, field string) int64 {
	t := &snap.Tallies.Total
	if route != "" {
		if t = routeOf(snap, route); t == nil {
			return 0
		}
	}
	if field == transport {
		return t.Compared
	}
	return t.Judged()
}

// fieldOf finds one field's tally in a snapshot; without a route that of transport over all of them.
func fieldOf(snap *store.Snapshot, route, field string) *diff.FieldTally {
	if route == "" && field == transport {
		return snap.Tallies.AllTransport()
	}
	i, found := placeOf(snap.Tallies.Fields, route, field)
	if !found {
		return nil
	}
	return snap.Tallies.Fields[i]
}

// placeOf searches fields, which are sorted by route, then field.
func placeOf(fields []*diff.FieldTally, route, field string) (int, bool) {
	return slices.BinarySearchFunc(fields, [2]string{route, field}, func(t *diff.FieldTally, k [2]string) int {
		if c := strings.Compare(t.Route, k[0]); c != 0 {
			return c
		}
		return strings.Compare(t.Field, k[1])
	})
}
