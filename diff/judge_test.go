package diff

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// story counts n requests of a route, one a second; of says what each of them finds.
func story(tally *Tally, route string, n int, of func(i int) []FieldComparison) *Tally {
	for i := range n {
		c := compared(route, of(i)...)
		c.Time = noon.Add(time.Duration(i) * time.Second)
		tally.Add(c)
	}
	return tally
}

// every is a field that differs in each k-th request, the others in none.
func every(k int, fc FieldComparison) func(i int) []FieldComparison {
	return func(i int) []FieldComparison {
		if i%k == k-1 {
			return []FieldComparison{fc}
		}
		return nil
	}
}

// coin differs on the candidate's side in every fourth request, and in every fourth on the control's.
func coin(field string) func(i int) []FieldComparison {
	return func(i int) []FieldComparison {
		return [][]FieldComparison{{at(field, 1, 0)}, nil, {at(field, 0, 1)}, nil}[i%4]
	}
}

func judged(t *testing.T, tally *Tally, change ...func(*Config)) *Verdict {
	t.Helper()
	cfg := DefaultConfig()
	for _, c := range change {
		c(&cfg)
	}
	if faults := cfg.Validate(); faults != nil {
		t.Fatal(faults)
	}
	all, _ := tally.Cut()
	v, _ := Judge(all, cfg)
	return v
}

func want(t *testing.T, v *Verdict, word Word, reasons ...string) {
	t.Helper()
	if v.Word != word {
		t.Errorf("the verdict is %s, want %s", v.Word, word)
	}
	if d := cmp.Diff(reasons, v.Reasons); d != "" {
		t.Error(d)
	}
}

func TestNothingComparedIsUndecided(t *testing.T) {
	v := judged(t, NewTally(nil))
	want(t, v, Undecided, "nothing has been compared yet")
	if v.MoreNeeded == nil || *v.MoreNeeded < 4906 || *v.MoreNeeded > 4960 {
		t.Errorf("more needed: %v, want some 4,906", v.MoreNeeded)
	}
	same(t, "interval", v.EquivBounds, [2]float64{0, 1})
}

func TestEqualAnswersAreProvenEquivalent(t *testing.T) {
	tally := story(NewTally(nil), "GET /a", 3000, every(1, at("body.generated_at", 1, 1)))
	v := judged(t, tally)
	want(t, v, Undecided, "the interval reaches 0.16 %, over the budget of 0.1 %")
	if *v.MoreNeeded < 1906 || *v.MoreNeeded > 1930 {
		t.Errorf("%d more needed, want some 1,906", *v.MoreNeeded)
	}
	same(t, "not judged", v.NotJudged, []NotJudged{{"GET /a", "body.generated_at", 3000, 1}})
	v = judged(t, story(tally, "GET /a", 2000, every(1, at("body.generated_at", 1, 1))))
	want(t, v, Equivalent, "at most 0.098 % of the requests differ because of the candidate, within the budget of 0.1 %")
	same(t, "more needed", *v.MoreNeeded, int64(0))
	want(t, v.Routes[0], Equivalent, v.Reasons...)
}

func TestUndecidedNamesTheNoiseThatPricesTheProof(t *testing.T) {
	tally := story(NewTally(nil), "GET /products/{id}", 4000, coin("body.promoted"))
	story(tally, "GET /b", 4000, every(1, at("body.x", 1, 1)))
	v := judged(t, tally)
	want(t, v, Undecided,
		"the interval reaches 2.3 %, over the budget of 0.1 %",
		"the noise of body.promoted on GET /products/{id} (50 % of its requests differ on one side only) is what keeps it from equivalent: quieting it would save about 4,700,000 requests")
	if v.Differences[1].Confirmed || v.Differences[1].Field != "body.promoted" || v.Differences[1].Kind != TestValue {
		t.Errorf("%+v", v.Differences)
	}
	want(t, v.Routes[0], Undecided, "the interval reaches 0.12 %, over the budget of 0.1 %") // GET /b
}

// A field that always differs costs nothing by that. What prices the proof is that its shape differs on one side only.
func TestTheNoiseOfAShapeIsNamed(t *testing.T) {
	v := judged(t, story(NewTally(nil), "GET /a", 4000, func(i int) []FieldComparison {
		switch i % 10 {
		case 3:
			return []FieldComparison{at("body.u", 2, 1)}
		case 7:
			return []FieldComparison{at("body.u", 1, 2)}
		}
		return []FieldComparison{at("body.u", 1, 1)}
	}))
	if v.Word != Undecided || !strings.Contains(strings.Join(v.Reasons, "\n"), "the noise of body.u on GET /a (20 % of its requests differ on one side only)") {
		t.Errorf("%s: %q", v.Word, v.Reasons)
	}
}

func TestNoiseOfManyFieldsSaysSo(t *testing.T) {
	v := judged(t, story(NewTally(nil), "GET /a", 16_000, func(i int) []FieldComparison {
		return coin("body.k" + string(rune('A'+i%20)))(i / 20) // each field at other requests
	}))
	want(t, v, Undecided,
		"the interval reaches 2.7 %, over the budget of 0.1 %",
		"the noise of body.kA on GET /a (2.5 % of its requests differ on one side only) is what keeps it from equivalent, together with that of other fields: quieting it alone would save little")
}

func TestAFaultAboveTheBudgetIsDifferent(t *testing.T) {
	v := judged(t, story(NewTally(nil), "GET /search", 4000, every(40, at("body.items[].price", 1, 0))))
	want(t, v, Different,
		"body.items[].price on GET /search differs on the candidate's side alone in 100 of 4,000 requests, on the control's alone in 0; in excess at least 1.6 %, over the budget of 0.1 %; lopsided in 66 of 66 minutes",
		"at least 1.8 % of the requests differ because of the candidate, over the budget of 0.1 %")
	if v.MoreNeeded != nil {
		t.Errorf("%d more requests are to make it equivalent", *v.MoreNeeded)
	}
	f := v.Differences[0]
	if !f.Confirmed || f.Kind != TestValue || f.ConfirmedOn != 4000 || !f.ConfirmedAt.Equal(noon.Add(3999*time.Second)) || f.MoreToConfirm != 0 {
		t.Errorf("%+v", f)
	}
	if low, high := f.ExcessBounds[0], f.ExcessBounds[1]; !(0.01 < low && low < 0.025 && 0.025 < high && high < 0.05) {
		t.Errorf("excess %v to %v", low, high)
	}
}

func TestAConfirmedDifferenceWithinTheBudgetIsListedAndNoMore(t *testing.T) {
	tally := story(NewTally(nil), "GET /a", 100_000, every(4000, at("body.x", 1, 0)))
	v := judged(t, tally)
	want(t, v, Equivalent,
		"at most 0.046 % of the requests differ because of the candidate, within the budget of 0.1 %",
		"1 confirmed difference is within it too")
	if !v.Differences[0].Confirmed || v.Differences[0].CandidateOnly != 25 {
		t.Errorf("%+v", v.Differences[0])
	}
	v = judged(t, tally, func(c *Config) { c.Strict = true })
	want(t, v, Different, "body.x on GET /a differs on the candidate's side alone in 25 of 100,000 requests, on the control's alone in 0; strict allows none; lopsided in 24 of 24 minutes")
}

func TestAConfirmedDifferenceThatMayBeOverTheBudgetIsUndecided(t *testing.T) {
	tally := story(NewTally(nil), "GET /a", 15_000, every(1000, at("body.x", 1, 0)))
	story(tally, "GET /b", 200_000, every(1, at("body.y", 1, 1)))
	v := judged(t, tally)
	if v.Word != Undecided || len(v.Reasons) != 1 || !strings.HasPrefix(v.Reasons[0], "the confirmed difference body.x on GET /a reaches 0.2") {
		t.Errorf("%s: %q", v.Word, v.Reasons)
	}
	if v.MoreNeeded == nil || *v.MoreNeeded < 100_000 {
		t.Errorf("more needed: %v, though only one request in fourteen is of GET /a", v.MoreNeeded)
	}
}

func TestNoBudgetCoversStatusTransportExtentAndDrift(t *testing.T) {
	const n = 100_000
	for reason, fc := range map[string]FieldComparison{
		"status on GET /a differs on the candidate's side alone in 25 of 100,000 requests, on the control's alone in 0; no budget covers status; lopsided in 24 of 24 minutes":      at("status", 1, 0),
		"transport on GET /a failed on the candidate's side alone in 25 of 100,000 requests, on the control's alone in 0; no budget covers transport; lopsided in 24 of 24 minutes": at("transport", 4, 0),
		"body.items[] on GET /a differs on both sides, in more places on the candidate's 25 times and on the control's 0 times; lopsided in 24 of 24 minutes":                       {Field: "body.items[]", Candidate: 1, Control: 1, CandidatePlaces: 37, ControlPlaces: 1},
		"body.score on GET /a has drifted: the candidate's is greater than the control's 0 times and less 25 times; lopsided in 24 of 24 minutes":                                   {Field: "body.score", Candidate: 1, Control: 1, CandidatePlaces: 1, ControlPlaces: 1, Drift: -1},
	} {
		v := judged(t, story(NewTally(nil), "GET /a", n, every(4000, fc)))
		want(t, v, Different, reason)
	}
}

func TestAGraverChangeShowsThroughNoise(t *testing.T) {
	noisy := func(i int) []FieldComparison {
		if i%100 == 99 {
			return []FieldComparison{at("body.last_seen", 3, 1)}
		}
		return []FieldComparison{at("body.last_seen", 1, 1)}
	}
	v := judged(t, story(NewTally(nil), "GET /users/{id}", 3000, noisy))
	want(t, v, Different,
		"body.last_seen on GET /users/{id} has another type on the candidate's side alone in 30 of 3,000 requests, on the control's alone in 0; in excess at least 0.42 %, over the budget of 0.1 %; lopsided in 29 of 29 minutes",
		"at least 0.54 % of the requests differ because of the candidate, over the budget of 0.1 %")
	f := v.Differences[0]
	same(t, "kind and counts", []any{f.Kind, f.CandidateOnly, f.ControlOnly, f.Both}, []any{TestType, int64(30), int64(0), int64(0)})
	same(t, "not judged", v.NotJudged, []NotJudged{{"GET /users/{id}", "body.last_seen", 3000, 1}})
}

func TestAllConfirmedTestsOfAFieldDecide(t *testing.T) {
	// Missing in a few requests, which the budget covers; wrong in many, which it does not.
	v := judged(t, story(NewTally(nil), "GET /a", 200_000, func(i int) []FieldComparison {
		switch {
		case i%8000 == 1:
			return []FieldComparison{at("body.x", 4, 0)}
		case i%100 == 2:
			return []FieldComparison{at("body.x", 1, 0)}
		}
		return nil
	}))
	if v.Word != Different || !strings.HasPrefix(v.Reasons[0], "body.x on GET /a differs on the candidate's side alone in 2,025 of 200,000 requests") {
		t.Errorf("%s: %q", v.Word, v.Reasons)
	}
	same(t, "shown", v.Differences[0].Kind, TestPresence)
}

func TestTraitsOfInstancesAreNoDrift(t *testing.T) {
	pid := FieldComparison{Field: "body.pid", Candidate: 1, Control: 1, CandidatePlaces: 1, ControlPlaces: 1, Drift: 1, Trait: -1}
	v := judged(t, story(NewTally(nil), "GET /a", 6000, every(1, pid)))
	if v.Word != Equivalent || v.Differences[0].Confirmed || v.Differences[0].Kind != TestValue {
		t.Errorf("%s: %+v", v.Word, v.Differences)
	}
}

func TestLatencyAndSizeInformAndDecideNothing(t *testing.T) {
	tally := NewTally(nil)
	for range 6000 {
		c := compared("GET /search", FieldComparison{Field: "size", Drift: 1})
		c.Latency = LatencyPair{15 * time.Millisecond, 10 * time.Millisecond}
		tally.Add(c)
	}
	v := judged(t, tally, func(c *Config) { c.Strict = true })
	want(t, v, Equivalent,
		"at most 0.082 % of the requests differ because of the candidate, within the budget of 0.1 %",
		"beside the verdict: GET /search is slower than the control; one burst so far",
		"beside the verdict: the bodies of GET /search have drifted in size; one burst so far")
	if len(v.Differences) != 2 || !v.Differences[0].Confirmed || !v.Differences[1].Confirmed {
		t.Fatalf("%+v", v.Differences)
	}
	if !v.Differences[0].Informs || !v.Differences[1].Informs {
		t.Errorf("not marked as informing only: %+v", v.Differences)
	}
	f := v.Differences[0]
	same(t, "the slow route", []any{f.Field, f.Kind, f.CandidateOnly, f.ControlOnly}, []any{"latency", TestDrift, int64(6000), int64(0)})
	if l := v.Latency; l.Slower != 6000 || !l.Confirmed || l.P99Ratio == nil || math.Abs(*l.P99Ratio-1.5) > 0.04 {
		t.Errorf("%+v", l)
	}
}

func TestWithoutAControlNothingIsEquivalent(t *testing.T) {
	alone := func(tally *Tally, n int) *Tally {
		for range n {
			c := compared("GET /a")
			c.NoControl = true
			tally.Add(c)
		}
		return tally
	}
	v := judged(t, alone(NewTally(nil), 6000))
	want(t, v, Undecided, "there is no secondary: noise counts against the candidate, and without a control nothing is ever called equivalent")
	if v.MoreNeeded != nil {
		t.Errorf("%d more requests are to make it equivalent", *v.MoreNeeded)
	}
	v = judged(t, alone(story(NewTally(nil), "GET /a", 6000, every(1, at("body.x", 1, 1))), 40))
	want(t, v, Undecided, "40 of 6,040 requests were compared without a secondary, and without a control nothing is ever called equivalent")
}

func TestExitCriteriaHoldEquivalentBack(t *testing.T) {
	tally := story(NewTally(nil), "GET /a", 6000, every(1, at("body.x", 1, 1)))
	for range 10 {
		tally.Add(&Comparison{Time: noon, Route: "GET /a", Unknown: "oversize"})
	}
	v := judged(t, tally, func(c *Config) { c.MinCompared, c.MinDuration = 20_000, 3*time.Hour })
	want(t, v, Undecided,
		"10 exchanges could not be judged (oversize, panic), more than the budget of 0.1 % allows",
		"20,000 requests are to be compared, so far it is 6,000",
		"traffic is to be watched for 3h0m0s, so far it is 1h39m59s")
	same(t, "more needed", *v.MoreNeeded, int64(14_000))
	same(t, "unknown", v.Unknown, int64(10))
}

func TestManySmallFaultsTogetherAreDifferent(t *testing.T) {
	v := judged(t, story(NewTally(nil), "GET /a", 5000, func(i int) []FieldComparison {
		if i%50 == 0 {
			return []FieldComparison{at("body.k"+string(rune('A'+i/50)), 1, 0)}
		}
		return nil
	}))
	want(t, v, Different, "at least 1.4 % of the requests differ because of the candidate, over the budget of 0.1 %")
	if v.Differences[0].Confirmed {
		t.Errorf("confirmed on one request: %+v", v.Differences[0])
	}
}

func TestARouteDifferentByItselfKeepsTheRunFromEquivalent(t *testing.T) {
	tally := story(NewTally(nil), "GET /a", 1000, func(i int) []FieldComparison {
		if i%20 == 0 {
			return []FieldComparison{at("body.k"+string(rune('A'+i/20)), 1, 0)}
		}
		return nil
	})
	story(tally, "GET /b", 500_000, every(1, at("body.y", 1, 1)))
	v := judged(t, tally)
	want(t, v, Undecided, "different by themselves: GET /a")
	want(t, v.Routes[0], Different, "at least 3.1 % of the requests differ because of the candidate, over the budget of 0.1 %")
}

func TestTooFewRequestsAreNotJudged(t *testing.T) {
	tally := story(NewTally(nil), "GET /a", 2000, coin("body.x"))
	story(tally, "GET /b", 9, every(1, at("body.y", 0, 0)))
	v := judged(t, tally)
	same(t, "not judged", v.NotJudged, []NotJudged{{"GET /b", "", 9, 0}})
	same(t, "of the route", v.Routes[1].NotJudged, v.NotJudged)
}

func TestAFindingNeedsFewMoreRequests(t *testing.T) {
	tally := story(NewTally(nil), "GET /a", 400, every(100, at("body.x", 2, 0)))
	f := judged(t, tally).Differences[0]
	if f.Confirmed || f.Kind != TestFormat || f.MoreToConfirm < 3 || f.MoreToConfirm > 10 {
		t.Fatalf("%+v", f)
	}
	story(tally, "GET /a", int(f.MoreToConfirm)-1, every(1, at("body.x", 2, 0)))
	if f := judged(t, tally).Differences[0]; f.Confirmed || f.MoreToConfirm != 1 {
		t.Errorf("one before: %+v", f)
	}
	story(tally, "GET /a", 1, every(1, at("body.x", 2, 0)))
	if f := judged(t, tally).Differences[0]; !f.Confirmed {
		t.Errorf("then: %+v", f)
	}
}

func TestConfirmationIsReportedOnceAndForGood(t *testing.T) {
	tally := story(NewTally(nil), "GET /a", 100, every(4, at("body.x", 1, 0)))
	all, _ := tally.Cut()
	v, fresh := Judge(all, DefaultConfig())
	same(t, "fresh", fresh, []Confirmed{{"GET /a", "body.x", TestValue, Confirmation{noon.Add(99 * time.Second), 100, 0.05}}})
	same(t, "shown as confirmed at once", v.Differences[0].Confirmed, true)
	tally.Confirm(fresh)
	story(tally, "GET /a", 200, every(2, at("body.x", 0, 1))) // as if it had been a burst
	all, _ = tally.Cut()
	v, fresh = Judge(all, DefaultConfig())
	same(t, "fresh after", len(fresh), 0)
	if f := v.Differences[0]; !f.Confirmed || f.LnE > 0 || f.ConfirmedOn != 100 {
		t.Errorf("%+v", f)
	}
}

func TestForecastKeepsItsWord(t *testing.T) {
	seen := 0
	rare := func(int) []FieldComparison { // 0.1 % on each side, evenly
		seen++
		switch seen % 1000 {
		case 250:
			return []FieldComparison{at("body.x", 1, 0)}
		case 750:
			return []FieldComparison{at("body.x", 0, 1)}
		}
		return nil
	}
	tally := story(NewTally(nil), "GET /a", 5000, rare)
	more := int(*judged(t, tally).MoreNeeded)
	v := judged(t, story(tally, "GET /a", more/20*19, rare))
	if v.Word != Undecided {
		t.Errorf("%s at 95 %% of the forecast of %d", v.Word, more)
	}
	v = judged(t, story(tally, "GET /a", more/20+520, rare)) // to the end of a round
	if v.Word != Equivalent {
		t.Errorf("%s after the forecast of %d: %q, %v more needed", v.Word, more, v.Reasons, v.MoreNeeded)
	}
}

func TestAWatchAnswersLikeJudge(t *testing.T) {
	tally, watch := NewTally(nil), NewWatch(DefaultConfig())
	for i, c := range traffic(5, 4000) {
		if i%10 == 0 {
			c.Fields = append(c.Fields, at("body.z", 2, 0))
		}
		tally.Add(c)
		if i%97 != 0 {
			continue
		}
		all, _ := tally.Cut()
		watched, fresh := watch.Judge(all)
		pure, freshToo := Judge(all, DefaultConfig())
		if d := cmp.Diff(exact(pure), exact(watched)); d != "" {
			t.Fatalf("after %d requests: %s", i+1, d)
		}
		if !reflect.DeepEqual(fresh, freshToo) {
			t.Fatalf("after %d requests %+v is fresh, or %+v", i+1, fresh, freshToo)
		}
		tally.Confirm(fresh)
	}
	all, _ := tally.Cut()
	if v, _ := watch.Judge(all); !slices.ContainsFunc(v.Differences, func(f Finding) bool { return f.Confirmed }) {
		t.Error("nothing was confirmed")
	}
}

// exact is a verdict without the intervals that a Watch may take from a little earlier.
func exact(v *Verdict) *Verdict {
	c := *v
	c.Differences = slices.Clone(v.Differences)
	for i := range c.Differences {
		if !c.Differences[i].Confirmed {
			c.Differences[i].ExcessBounds = [2]float64{}
		}
	}
	c.Routes = nil
	for _, r := range v.Routes {
		c.Routes = append(c.Routes, exact(r))
	}
	return &c
}

func TestAWatchOfManyRowsFillsInIntervalsBitByBit(t *testing.T) {
	for _, idle := range []bool{false, true} {
		tally, watch := NewTally(nil), NewWatch(DefaultConfig())
		for call, want := range []int{9, 6, 3, 0, 0} {
			if !idle || call == 0 { // all rows change at every call, or none
				for _, route := range []string{"GET /a", "GET /b", "GET /c", "GET /d"} {
					tally.Add(compared(route, at("body.x", 1, 1), at("body.y", 1, 1), at("body.z", 1, 1)))
				}
			}
			all, _ := tally.Cut()
			v, _ := watch.judge(all, 3)
			open := 0
			for _, f := range v.Differences {
				if f.ExcessBounds == [2]float64{-1, 1} {
					open++
				}
			}
			if open != want {
				t.Errorf("idle %v, call %d: %d intervals to come, want %d", idle, call, open, want)
			}
		}
	}
}

func TestAVerdictListsNoMoreThanTenThousandDifferences(t *testing.T) {
	all := &Tallies{}
	for i := range maxFindings + 100 {
		if i%1000 == 0 {
			all.Routes = append(all.Routes, &RouteTally{Route: fmt.Sprintf("GET /%03d", i/1000), Compared: 500})
		}
		f := &FieldTally{Route: all.Routes[i/1000].Route, Field: fmt.Sprintf("body.k%03d", i%1000)}
		f.Tests[TestValue].Counts = Counts{CandidateOnly: int64(i % 3), Both: 1}
		if i == maxFindings+99 {
			f.Tests[TestValue].Confirmed = &Confirmation{Time: noon, Requests: 400, Alpha: 0.05}
		}
		all.Fields = append(all.Fields, f)
	}
	v, _ := Judge(all, DefaultConfig())
	same(t, "listed", len(v.Differences), maxFindings)
	same(t, "the confirmed one is first", v.Differences[0].Field, "body.k099")
	same(t, "then by evidence", []int64{v.Differences[1].CandidateOnly, v.Differences[maxFindings-1].CandidateOnly}, []int64{2, 0})
	same(t, "the routes list all", len(v.Routes[0].Differences)+len(v.Routes[10].Differences), 1100)
}

func TestVerdictsAreJSON(t *testing.T) {
	empty, err := json.Marshal(judged(t, NewTally(nil)))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{`"route":null`, `"verdict":"undecided"`, `"not_judged":[]`, `"differences":[]`, `"p99_ratio":null`, `"budget":0.001`} {
		if !strings.Contains(string(empty), s) {
			t.Errorf("no %s in %s", s, empty)
		}
	}
	v := judged(t, story(NewTally(nil), "GET /a", 100, every(4, at("body.x", 1, 0))))
	one, err := json.Marshal(v.Routes[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{`"route":"GET /a"`, `"kind":"value"`, `"confirmed":true,"confirmed_at":"2026-11-30T12:01:39Z","confirmed_on":100`, `"samples":[]`, `"more_needed":null`} {
		if !strings.Contains(string(one), s) {
			t.Errorf("no %s in %s", s, one)
		}
	}
}

func TestNoCountsMakeAVerdictThatIsNoJSON(t *testing.T) {
	all := func(n int64) *Tallies {
		r := RouteTally{Route: "GET /a", Compared: n, Failed: n, Raw: n, Noise: n, CandidateUp: n, ControlUp: n, NoControl: n}
		r.Results, r.Latency.Slower = Counts{n, n, n}, n
		f := &FieldTally{Route: "GET /a", Field: "body.x", Raw: n, Noise: n, TraitGreater: n}
		for i := range f.Tests {
			f.Tests[i].Counts = Counts{n, n, n}
		}
		return &Tallies{Total: r, Routes: []*RouteTally{&r}, Fields: []*FieldTally{f}}
	}
	for _, n := range []int64{-5, 0, 1, 1 << 40, math.MaxInt64} {
		v, _ := Judge(all(n), DefaultConfig())
		if _, err := json.Marshal(v); err != nil {
			t.Errorf("counts of %d: %v", n, err)
		}
	}
}

// busy is a run of so many routes, each with so many noisy fields, and n requests.
func busy(tally *Tally, routes, fields, n int, seed uint64) *Tally {
	rnd := rand.New(rand.NewPCG(seed, 4))
	names := make([]string, fields)
	for i := range names {
		names[i] = "body.k" + strconv.Itoa(i)
	}
	for i := range n {
		var list []FieldComparison
		for _, name := range names {
			if a, b := Level(rnd.IntN(2)), Level(rnd.IntN(2)); a+b > 0 {
				list = append(list, at(name, a, b))
			}
		}
		c := compared("GET /"+strconv.Itoa(rnd.IntN(routes)), list...)
		c.Time = noon.Add(time.Duration(i) * time.Second)
		c.Latency = LatencyPair{time.Duration(1 + rnd.IntN(1e7)), time.Duration(1 + rnd.IntN(1e7))}
		tally.Add(c)
	}
	return tally
}

// A verdict is asked for twice a second. "small" is a usual service, "large" one at its limits; "next" is a half second
// with 500 requests later.
func BenchmarkJudge(b *testing.B) {
	for name, size := range map[string][3]int{"small": {50, 20, 100_000}, "large": {1000, 200, 200_000}} {
		tally := busy(NewTally(nil), size[0], size[1], size[2], 1)
		all, _ := tally.Cut()
		b.Run(name+"/first", func(b *testing.B) {
			for b.Loop() {
				Judge(all, DefaultConfig())
			}
		})
		watch := NewWatch(DefaultConfig())
		watch.Judge(all)
		b.Run(name+"/next", func(b *testing.B) {
			for i := uint64(2); b.Loop(); i++ {
				b.StopTimer()
				busy(tally, size[0], size[1], 500, i)
				b.StartTimer()
				all, _ := tally.Cut()
				watch.Judge(all)
			}
		})
	}
}

// A control that does not answer, or that always differs, is no proof, however lopsided that makes the counts.
func TestASilentControlProvesNothing(t *testing.T) {
	unanswered := func(n int) *Tally {
		tally := NewTally(nil)
		for range n {
			c := compared("GET /a", at(fieldTransport, 0, 4))
			c.Failed = true
			tally.Add(c)
		}
		return tally
	}
	never := func(int) []FieldComparison { return nil }
	want(t, judged(t, unanswered(2000)), Undecided, "the interval reaches 100 %, over the budget of 0.1 %",
		"the control failed in 2,000 more of 2,000 requests than the candidate: these prove nothing")
	v := judged(t, story(unanswered(1000), "GET /a", 1000, never))
	want(t, v, Undecided, "the control failed in 1,000 more of 2,000 requests than the candidate: these prove nothing")
	if v.MoreNeeded == nil || *v.MoreNeeded < 3906 || *v.MoreNeeded > 3906*101/100 {
		t.Errorf("forecast %v", v.MoreNeeded)
	}
	if v := judged(t, story(unanswered(1000), "GET /a", 4906, never)); v.Word != Equivalent {
		t.Errorf("with enough answers: %s, %q", v.Word, v.Reasons)
	}
	v = judged(t, story(NewTally(nil), "GET /a", 3000, every(1, at("body.x", 0, 1))))
	want(t, v, Undecided, "the interval reaches 100 %, over the budget of 0.1 %",
		"in every request the control differs at some field more than the candidate does: such noise leaves nothing to judge",
		"at body.x on GET /a the control alone differs in 3,000 of 3,000 requests, the candidate alone in 0: what the control does by itself could hide what the candidate does; is the secondary the primary's twin?")
	if v.MoreNeeded != nil {
		t.Errorf("forecast %d", *v.MoreNeeded)
	}
}

// TestAControlThatDiffersByItselfProvesNothing: a secondary of another version must not outweigh the candidate's faults.
func TestAControlThatDiffersByItselfProvesNothing(t *testing.T) {
	faults := func(i int) []FieldComparison { // 1 % of the requests, each at a field that is too rare to confirm
		if i%100 == 0 {
			return []FieldComparison{at(fmt.Sprintf("body.k%d", i/100), 1, 0)}
		}
		return nil
	}
	const twin = ": what the control does by itself could hide what the candidate does; is the secondary the primary's twin?"

	v := judged(t, story(NewTally(nil), "GET /a", 6000, func(i int) []FieldComparison {
		if i%20 == 3 {
			return []FieldComparison{at("body.x", 0, 1)}
		}
		return faults(i)
	}))
	want(t, v, Undecided, "at body.x on GET /a the control alone differs in 300 of 6,000 requests, the candidate alone in 0"+twin)
	if v.MoreNeeded != nil {
		t.Errorf("%d more requests are to make it equivalent", *v.MoreNeeded)
	}

	v = judged(t, story(NewTally(nil), "GET /a", 6000, func(i int) []FieldComparison {
		if i%20 == 3 {
			return []FieldComparison{at(fmt.Sprintf("body.s%d", i/40), 0, 1)}
		}
		return faults(i)
	}))
	want(t, v, Undecided, "the control alone differs in 300 of 6,000 requests, the candidate alone in 60"+twin)

	v = judged(t, story(NewTally(nil), "GET /a", 6000, every(2000, at("body.x", 0, 1)))) // within the budget
	if v.Word != Equivalent {
		t.Errorf("%s: %q", v.Word, v.Reasons)
	}
}
