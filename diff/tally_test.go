package diff

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// compared is what a comparer makes of one request, given what it found at each field.
func compared(route string, fields ...FieldComparison) *Comparison {
	c := &Comparison{Time: noon, Route: route, Result: Agree, Fields: fields}
	for _, f := range fields {
		c.Raw = c.Raw || f.Candidate > 0
		c.Noise = c.Noise || f.Control > 0
		c.CandidateUp = c.CandidateUp || f.Candidate > f.Control
		c.ControlUp = c.ControlUp || f.Control > f.Candidate
	}
	switch {
	case c.CandidateUp && !c.ControlUp:
		c.Result = CandidateOnly
	case c.ControlUp && !c.CandidateUp:
		c.Result = ControlOnly
	case c.Raw || c.Noise:
		c.Result = Both
	}
	return c
}

// at is what one request says of a field that differs at one place on a side, or at none.
func at(field string, candidate, control Level) FieldComparison {
	places := func(l Level) int { return min(int(l), 1) }
	return FieldComparison{Field: field, Candidate: candidate, Control: control, CandidatePlaces: places(candidate), ControlPlaces: places(control)}
}

func field(t *testing.T, all *Tallies, route, name string) *FieldTally {
	t.Helper()
	for _, f := range all.Fields {
		if f.Route == route && f.Field == name {
			return f
		}
	}
	t.Fatalf("no field %s on %s", name, route)
	return nil
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: %+v, want %+v", what, got, want)
	}
}

func TestLevelsCountAtThisLevelOrAbove(t *testing.T) {
	tally := NewTally(nil)
	tally.Add(compared("GET /a", at("body.x", 1, 0)))                // a value
	tally.Add(compared("GET /a", at("body.x", 3, 1)))                // a type against a value
	tally.Add(compared("GET /a", at("body.x", 4, 4), at("z", 0, 2))) // missing on both sides
	tally.Add(compared("GET /a"))                                    // agreement
	all, _ := tally.Cut()
	x := field(t, all, "GET /a", "body.x")
	for test, want := range map[Test]Counts{
		TestValue:    {CandidateOnly: 1, Both: 2},
		TestFormat:   {CandidateOnly: 1, Both: 1},
		TestType:     {CandidateOnly: 1, Both: 1},
		TestPresence: {Both: 1},
		TestExtent:   {},
		TestDrift:    {},
	} {
		same(t, test.String(), x.Tests[test].Counts, want)
	}
	same(t, "raw and noise", [2]int64{x.Raw, x.Noise}, [2]int64{3, 2})
	r := all.Routes[0]
	same(t, "whole requests", r.Results, Counts{CandidateOnly: 2, ControlOnly: 1})
	same(t, "the total", all.Total.Results, r.Results)
	same(t, "compared, raw, noise, up", []int64{r.Compared, r.Raw, r.Noise, r.CandidateUp, r.ControlUp}, []int64{4, 3, 2, 2, 1})
}

func TestExtentAndDriftCountWhoseSideIsMore(t *testing.T) {
	tally := NewTally(nil)
	for _, fc := range []FieldComparison{
		{Candidate: 1, Control: 1, CandidatePlaces: 37, ControlPlaces: 1, Drift: 1, Trait: 1},
		{Candidate: 1, Control: 1, CandidatePlaces: 1, ControlPlaces: 2, Drift: -1, Trait: -1},
		{Candidate: 1, Control: 1, CandidatePlaces: 5, ControlPlaces: 5, Drift: 1}, // a tie
		{Candidate: 1, CandidatePlaces: 9, Drift: 1},                               // only one side differs
	} {
		fc.Field = "body.items[].score"
		tally.Add(compared("GET /a", fc))
	}
	all, _ := tally.Cut()
	f := field(t, all, "GET /a", "body.items[].score")
	same(t, "extent", f.Tests[TestExtent].Counts, Counts{CandidateOnly: 1, ControlOnly: 1})
	same(t, "drift", f.Tests[TestDrift].Counts, Counts{CandidateOnly: 3, ControlOnly: 1})
	same(t, "traits", [2]int64{f.TraitGreater, f.TraitLess}, [2]int64{1, 1})
}

func TestUnknownAndFailedExchangesTellNothingOfFields(t *testing.T) {
	tally := NewTally(nil)
	tally.Add(&Comparison{Time: noon, Route: "GET /a", Unknown: "oversize"})
	failed := compared("GET /a", at("transport", 4, 0))
	failed.Failed = true
	tally.Add(failed)
	tally.Add(compared("GET /a"))
	all, _ := tally.Cut()
	r := all.Routes[0]
	same(t, "unknown", r.Unknown, map[string]int64{"oversize": 1})
	same(t, "the total's unknown", all.Total.Unknown, r.Unknown)
	same(t, "compared, failed, judged", []int64{r.Compared, r.Failed, r.Judged()}, []int64{2, 1, 1})
	transport := field(t, all, "GET /a", "transport")
	for _, test := range []Test{TestValue, TestFormat, TestType, TestPresence} {
		same(t, "transport at "+test.String(), transport.Tests[test].Counts, Counts{CandidateOnly: 1})
	}
}

func TestLatencyCountsPairsWithATenthOfGrace(t *testing.T) {
	tally := NewTally(nil)
	for _, p := range []LatencyPair{{110, 100}, {111, 100}, {90, 100}, {0, 100}, {100, 0}} {
		c := compared("GET /a")
		c.Latency = LatencyPair{p.Candidate * time.Millisecond, p.Secondary * time.Millisecond}
		tally.Add(c)
	}
	all, _ := tally.Cut()
	l := &all.Routes[0].Latency
	same(t, "slower and faster", [2]int64{l.Slower, l.Faster}, [2]int64{1, 2})
	same(t, "times kept", [2]int64{l.Candidate.Count(), l.Secondary.Count()}, [2]int64{3, 3})
}

func TestTimesNeedNotComeInOrder(t *testing.T) {
	tally := NewTally(nil)
	for _, minute := range []int{3, 1, 5, 2} {
		c := compared("GET /a", at("body.x", 1, 1))
		c.Time = noon.Add(time.Duration(minute) * time.Minute)
		tally.Add(c)
	}
	all, _ := tally.Cut()
	same(t, "first", all.Total.First, noon.Add(time.Minute))
	same(t, "last", all.Fields[0].Last, noon.Add(5*time.Minute))
}

// orders are the numbers of all hypotheses.
func orders(all *Tallies) map[string]int {
	list := map[string]int{"latency": all.Total.Latency.Order}
	for _, r := range all.Routes {
		list[r.Route], list[r.Route+" latency"] = r.Order, r.Latency.Order
	}
	for _, f := range all.Fields {
		for test := range tests {
			list[fmt.Sprint(f.Route, " ", f.Field, " ", test)] = f.Tests[test].Order
		}
	}
	return list
}

func TestHypothesesAreNumberedAtTheirFirstDiscordantRequest(t *testing.T) {
	tally := NewTally(nil)
	tally.Add(compared("GET /a", at("body.noisy", 1, 1))) // concordant: no number
	tally.Add(compared("GET /a", at("body.b", 0, 1)))     // the control's side counts as well
	tally.Add(compared("GET /a", at("body.a", 2, 0), at("body.noisy", 1, 1)))
	tally.Add(compared("GET /a", at("body.b", 4, 0)))
	all, _ := tally.Cut()
	got := orders(all)
	for name, want := range map[string]int{
		"GET /a": 1, "GET /a body.b value": 2, "GET /a body.a value": 3, "GET /a body.a format": 4,
		"GET /a body.b format": 5, "GET /a body.b type": 6, "GET /a body.b presence": 7, "GET /a body.noisy value": 0,
	} {
		if got[name] != want {
			t.Errorf("%s is number %d, want %d", name, got[name], want)
		}
	}
}

// traffic is a random mixture of all that can be counted.
func traffic(seed uint64, n int) []*Comparison {
	rnd := rand.New(rand.NewPCG(seed, 2))
	list := make([]*Comparison, n)
	for i := range list {
		var fields []FieldComparison
		for _, name := range []string{"body.a", "body.b[]", "status"} {
			fc := at(name, Level(max(0, rnd.IntN(8)-3)), Level(max(0, rnd.IntN(8)-3)))
			fc.CandidatePlaces *= 1 + rnd.IntN(3)
			fc.ControlPlaces *= 1 + rnd.IntN(3)
			fc.Drift, fc.Trait = int8(rnd.IntN(3)-1), int8(rnd.IntN(3)-1)
			fields = append(fields, fc)
		}
		c := compared("GET /"+strconv.Itoa(rnd.IntN(4)), fields...)
		c.Time = noon.Add(time.Duration(i) * time.Second)
		c.Latency = LatencyPair{time.Duration(1 + rnd.IntN(1000)), time.Duration(1 + rnd.IntN(1000))}
		if rnd.IntN(20) == 0 {
			c = &Comparison{Time: c.Time, Route: c.Route, Unknown: "stale"}
		}
		list[i] = c
	}
	return list
}

func TestNumbersDoNotDependOnWhichShadowIsTheCandidate(t *testing.T) {
	one, other := NewTally(nil), NewTally(nil)
	for _, c := range traffic(1, 300) {
		one.Add(c)
		s := *c
		s.CandidateUp, s.ControlUp, s.Raw, s.Noise = c.ControlUp, c.CandidateUp, c.Noise, c.Raw
		s.Result = map[Result]Result{CandidateOnly: ControlOnly, ControlOnly: CandidateOnly}[c.Result]
		s.Latency = LatencyPair{c.Latency.Secondary, c.Latency.Candidate}
		s.Fields = slices.Clone(c.Fields)
		for i, f := range c.Fields {
			s.Fields[i] = FieldComparison{f.Field, f.Control, f.Candidate, f.ControlPlaces, f.CandidatePlaces, -f.Drift, f.Trait}
		}
		other.Add(&s)
	}
	a, _ := one.Cut()
	b, _ := other.Cut()
	if d := cmp.Diff(orders(a), orders(b)); d != "" {
		t.Error(d)
	}
}

// written makes tallies comparable: a sketch is its bytes.
func written(t *testing.T, all *Tallies) string {
	t.Helper()
	var s string
	for _, r := range append(slices.Clone(all.Routes), &all.Total) {
		candidate, err := r.Latency.Candidate.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		secondary, err := r.Latency.Secondary.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		plain := *r
		plain.Latency.Candidate, plain.Latency.Secondary = Sketch{}, Sketch{}
		s += fmt.Sprintf("%+v %x %x\n", plain, candidate, secondary)
	}
	for _, f := range all.Fields {
		s += fmt.Sprintf("%+v\n", *f)
	}
	return s
}

func TestASnapshotNeverChangesAndSharesWhatDidNot(t *testing.T) {
	tally := NewTally(nil)
	tally.Add(compared("GET /a", at("body.x", 1, 0)))
	tally.Add(compared("GET /b", at("body.y", 1, 0)))
	first, changed := tally.Cut()
	same(t, "all is new", [2]int{len(changed.Routes), len(changed.Fields)}, [2]int{2, 2})
	before := written(t, first)

	again, none := tally.Cut()
	if again != first || len(none.Routes)+len(none.Fields) != 0 {
		t.Error("a cut without a change is another snapshot")
	}
	c := compared("GET /b", at("body.y", 1, 0), at("body.a", 1, 0))
	c.Latency = LatencyPair{time.Second, time.Second}
	tally.Add(c)
	tally.Add(&Comparison{Route: "GET /b", Unknown: "stale"})
	second, changed := tally.Cut()
	if got := written(t, first); got != before {
		t.Errorf("the first snapshot changed:\n%s\n%s", before, got)
	}
	if second.Routes[0] != first.Routes[0] || second.Fields[0] != first.Fields[0] {
		t.Error("rows of GET /a were copied though nothing was counted there")
	}
	names := func(list []*FieldTally) (s []string) {
		for _, f := range list {
			s = append(s, f.Route+" "+f.Field)
		}
		return s
	}
	same(t, "fields", names(second.Fields), []string{"GET /a body.x", "GET /b body.a", "GET /b body.y"})
	same(t, "changed fields", names(changed.Fields), []string{"GET /b body.a", "GET /b body.y"})
	if len(changed.Routes) != 1 || changed.Routes[0] != second.Routes[1] {
		t.Errorf("changed routes: %v", changed.Routes)
	}
}

func TestARestoredTallyGoesOnAsIfItHadNotStopped(t *testing.T) {
	list := traffic(2, 600)
	whole, part := NewTally(nil), NewTally(nil)
	for i, c := range list {
		whole.Add(c)
		if i%100 == 99 { // stop, and start from what was handed out, in any order
			all, _ := part.Cut()
			slices.Reverse(all.Routes)
			slices.Reverse(all.Fields)
			part = NewTally(all)
		}
		part.Add(c)
	}
	a, _ := whole.Cut()
	b, changed := part.Cut()
	if d := cmp.Diff(written(t, a), written(t, b)); d != "" {
		t.Error(d)
	}
	if len(changed.Routes) == 0 {
		t.Error("what was counted after the restart is not among the changed rows")
	}
}

func TestARestoredTallyHasNothingToWriteYet(t *testing.T) {
	tally := NewTally(nil)
	tally.Add(compared("GET /a", at("body.x", 1, 0)))
	all, _ := tally.Cut()
	again, changed := NewTally(all).Cut()
	same(t, "rows", [2]int{len(again.Routes), len(again.Fields)}, [2]int{1, 1})
	same(t, "changed rows", [2]int{len(changed.Routes), len(changed.Fields)}, [2]int{0, 0})
}

func TestBeyondTheCapsEverythingIsCountedTogether(t *testing.T) {
	tally := NewTally(nil)
	for i := range maxRoutes + 50 {
		tally.Add(compared("GET /" + strconv.Itoa(i)))
	}
	for i := range maxRouteFields - 1 {
		tally.Add(compared("GET /1", at("body.k"+strconv.Itoa(i), 1, 0)))
	}
	// One name is left: the other two fields of this request share a row, and count once.
	tally.Add(compared("GET /1", at("body.x", 1, 0), at("body.y", 2, 0), at("body.z", 0, 1)))
	all, _ := tally.Cut()
	same(t, "routes", len(all.Routes), maxRoutes+1)
	same(t, "the others", all.Routes[0].Route, Other)
	same(t, "compared on the others", all.Routes[0].Compared, int64(50))
	same(t, "compared in all", all.Total.Compared, int64(maxRoutes+50+maxRouteFields))
	same(t, "fields", len(all.Fields), maxRouteFields+1)
	other := field(t, all, "GET /1", Other)
	same(t, "value", other.Tests[TestValue].Counts, Counts{Both: 1})
	same(t, "format", other.Tests[TestFormat].Counts, Counts{CandidateOnly: 1})

	restored := NewTally(all)
	restored.Add(compared("GET /new", at("body.x", 1, 0)))
	restored.Add(compared("GET /1", at("body.new", 1, 0)))
	again, _ := restored.Cut()
	same(t, "routes after a restart", len(again.Routes), maxRoutes+1)
	same(t, "fields after a restart", len(again.Fields), maxRouteFields+2)
}

func TestWhatIsConfirmedStaysSo(t *testing.T) {
	tally := NewTally(nil)
	c := compared("GET /a", at("body.x", 1, 0))
	c.Latency = LatencyPair{2, 1}
	tally.Add(c)
	before, _ := tally.Cut()
	first := Confirmation{Time: noon, Requests: 214, Alpha: 0.05}
	later := Confirmation{Time: noon.Add(time.Hour), Requests: 900, Alpha: 0.05}
	for _, as := range []Confirmation{first, later} {
		tally.Confirm([]Confirmed{
			{"GET /a", "body.x", TestValue, as},
			{"GET /a", "latency", TestDrift, as},
			{"", "latency", TestDrift, as},
			{"GET /a", "body.unknown", TestValue, as},
			{"GET /unknown", "body.x", TestValue, as},
		})
	}
	all, changed := tally.Cut()
	for what, got := range map[string]*Confirmation{
		"the field": all.Fields[0].Tests[TestValue].Confirmed, "its row to be written": changed.Fields[0].Tests[TestValue].Confirmed,
		"the route's latency": all.Routes[0].Latency.Confirmed, "the run's latency": all.Total.Latency.Confirmed,
	} {
		if got == nil || *got != first {
			t.Errorf("%s: %+v, want %+v", what, got, first)
		}
	}
	if all.Fields[0].Tests[TestFormat].Confirmed != nil || before.Fields[0].Tests[TestValue].Confirmed != nil {
		t.Error("another test, or the snapshot before, is confirmed too")
	}
}

func TestTestsHaveWords(t *testing.T) {
	for test := range tests {
		b, err := test.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		var back Test
		if err := back.UnmarshalText(b); err != nil || back != test {
			t.Errorf("%s reads as %v, %v", b, back, err)
		}
	}
	var test Test
	if err := test.UnmarshalText([]byte("order")); err == nil || err.Error() != `unknown test "order"` {
		t.Errorf("order: %v", err)
	}
}

func BenchmarkTallyAdd(b *testing.B) {
	tally := NewTally(nil)
	list := traffic(3, 1000)
	for i := 0; b.Loop(); i++ {
		tally.Add(list[i%len(list)])
	}
}
