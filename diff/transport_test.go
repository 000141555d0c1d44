package diff

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// failing counts n requests that take turns on so many routes, in each of which one shadow gave no answer.
func failing(tally *Tally, routes, n int, side FieldComparison) *Tally {
	for i := range n {
		c := compared(fmt.Sprintf("GET /%c", 'a'+i%routes), side)
		c.Failed = true
		tally.Add(c)
	}
	return tally
}

// well counts n requests, on as many routes, in which all agree.
func well(tally *Tally, routes, n int) *Tally {
	for i := range n {
		tally.Add(compared(fmt.Sprintf("GET /%c", 'a'+i%routes)))
	}
	return tally
}

var (
	candidateFails = at("transport", 4, 0)
	controlFails   = at("transport", 0, 4)
)

// latched judges and confirms, as the store does.
func latched(t *testing.T, tally *Tally) *Verdict {
	t.Helper()
	all, _ := tally.Cut()
	_, fresh := Judge(all, DefaultConfig())
	tally.Confirm(fresh)
	return judged(t, tally)
}

// allRoutes is what a verdict says of transport over all routes together, nil when it says nothing.
func allRoutes(v *Verdict) *Finding {
	for i := range v.Differences {
		if v.Differences[i].Route == "" {
			return &v.Differences[i]
		}
	}
	return nil
}

// A candidate that dies is asked twenty times, and these may be on so many routes that none can confirm it.
func TestADeadCandidateIsDifferentOnHoweverManyRoutes(t *testing.T) {
	tally := failing(well(NewTally(nil), 13, 20_000), 13, 20, candidateFails)
	v := latched(t, tally)
	want(t, v, Different, "transport on all routes together failed on the candidate's side alone in 20 of 20,020 requests, "+
		"on the control's alone in 0; no budget covers transport; one burst so far")
	f := v.Differences[0]
	if f.Route != "" || f.Field != "transport" || f.Kind != TestPresence || !f.Confirmed || f.ConfirmedOn != 20_020 || f.CandidateOnly != 20 || f.Compared != 20_020 {
		t.Errorf("first of the differences is %+v", f)
	}
	for _, f := range v.Differences[1:] {
		if f.Confirmed {
			t.Errorf("confirmed on one route: %+v", f)
		}
	}

	// It stays: while the secondary fails as often from now on, after a restart, and when routes become one.
	failing(tally, 13, 40, controlFails)
	all, _ := tally.Cut()
	again := NewTally(all)
	again.Merge("GET /{id}", "GET /a", "GET /b", "GET /c")
	for _, tally := range []*Tally{tally, again} {
		f := allRoutes(latched(t, tally))
		if f == nil || !f.Confirmed || f.ConfirmedOn != 20_020 || f.CandidateOnly != 20 || f.ControlOnly != 40 {
			t.Errorf("later it is %+v", f)
		}
	}
}

func TestTransportOfAllRoutesIsConfirmedByThirteenFailures(t *testing.T) {
	f := allRoutes(latched(t, failing(well(NewTally(nil), 13, 50), 13, 12, candidateFails)))
	if f == nil || f.Confirmed || f.MoreToConfirm != 1 {
		t.Errorf("after twelve failures it is %+v", f)
	}
	f = allRoutes(latched(t, failing(well(NewTally(nil), 13, 50), 13, 13, candidateFails)))
	if f == nil || !f.Confirmed {
		t.Errorf("after thirteen failures it is %+v", f)
	}
}

// What a route shows by itself is not shown twice.
func TestTransportOfAllRoutesIsShownWhereNoRouteTells(t *testing.T) {
	v := latched(t, failing(well(NewTally(nil), 1, 50), 1, 3, candidateFails))
	if f := allRoutes(v); f != nil {
		t.Errorf("one route alone fails: %+v", f)
	}
	tally := failing(well(NewTally(nil), 13, 50), 13, 20, candidateFails)
	latched(t, tally)
	v = latched(t, failing(tally, 1, 20, candidateFails))
	if f := allRoutes(v); f != nil || !v.Differences[0].Confirmed || v.Differences[0].Route != "GET /a" || v.Word != Different {
		t.Errorf("a route's own transport is confirmed as well: %s, %+v, %+v", v.Word, f, v.Differences[0])
	}
	all, _ := tally.Cut()
	if all.Transport.Confirmed == nil || all.Transport.Confirmed.Requests != 70 {
		t.Errorf("what was confirmed before is %+v", all.Transport.Confirmed)
	}
}

// Where both fail now and then it is the network.
func TestTransportOfAllRoutesIsQuietWhereBothFail(t *testing.T) {
	tally := well(NewTally(nil), 13, 2000)
	for range 10 {
		failing(failing(tally, 13, 20, controlFails), 13, 20, candidateFails)
	}
	if v := latched(t, tally); v.Word == Different || allRoutes(v) != nil {
		t.Errorf("the verdict is %s: %v", v.Word, v.Reasons)
	}
}

// TestTransportOfAllRoutesRaisesFewFalseAlarms looks after every request. At its share of α it is to be wrong in one of a
// thousand runs.
func TestTransportOfAllRoutesRaisesFewFalseAlarms(t *testing.T) {
	const runs, requests = 4000, 1000
	threshold := -math.Log(transportShare * DefaultConfig().Alpha)
	flapping := func() pair { // no answer to either now and then, to one of them when it happens in between
		down := 0
		return func(rnd *rand.Rand) (bool, bool) {
			if down--; rnd.IntN(50) == 0 {
				down = rnd.IntN(20)
			}
			return down > 0 && rnd.IntN(2) == 0, down > 0 && rnd.IntN(2) == 0
		}
	}
	for name, of := range map[string]func() pair{
		"rare failures":                 func() pair { return either(0.002, 0.002) },
		"many failures":                 func() pair { return either(0.2, 0.2) },
		"a network that comes and goes": flapping,
	} {
		rnd := rand.New(rand.NewPCG(3, 1))
		alarms := 0
		for range runs {
			if reached(rnd, of(), requests, threshold, Evidence) > 0 {
				alarms++
			}
		}
		t.Logf("%s: %d of %d runs are called different", name, alarms, runs)
		if alarms > runs/500 {
			t.Errorf("%s: %d of %d runs are called different, more than 2 in a thousand", name, alarms, runs)
		}
	}
}

// All hypotheses together spend no more than α: the numbered ones, however many, and transport over all routes.
func TestAllHypothesesSpendAlphaAtMost(t *testing.T) {
	const n = 1_000_000
	numbered := 0.0
	for j := n; j >= 1; j-- {
		numbered += alphaAt(1, j)
	}
	numbered += 20.0 / (n + 20) // more than all that follow
	if whole := numbered + transportShare; math.Abs(numbered-0.97542) > 1e-5 || whole > 1 {
		t.Errorf("the numbered ones spend %v of α, all together %v", numbered, whole)
	}
}

// What the candidate did not answer for being paused is lost by its doing: it does not pass for equal.
func TestACandidateThatIsPausedIsNotProvenEquivalent(t *testing.T) {
	tally := well(NewTally(nil), 3, 6000)
	tally.Pause(6)
	want(t, judged(t, tally), Equivalent, "at most 0.082 % of the requests differ because of the candidate, within the budget of 0.1 %")
	if !tally.Pause(7) || tally.Pause(7) {
		t.Error("what is new is not told from what is known")
	}
	v := judged(t, tally)
	want(t, v, Undecided, "7 exchanges could not be judged (oversize, panic, or dropped while the candidate was paused), more than the budget of 0.1 % allows")
	want(t, v.Routes[0], Undecided, v.Routes[0].Reasons...)
}

// A candidate that crashes ends a kept connection without a word, as a server may that is tired of it: more often than the
// control does is its own doing, and no more than that.
func TestACandidateThatEndsKeptConnectionsIsNotProvenEquivalent(t *testing.T) {
	tally := well(NewTally(nil), 3, 6000)
	const calm = "at most 0.082 % of the requests differ because of the candidate, within the budget of 0.1 %"
	for _, both := range []Stale{{12, 0}, {400, 370}, {0, 400}} {
		tally.Cease(both)
		want(t, judged(t, tally), Equivalent, calm)
	}
	if !tally.Cease(Stale{54, 3}) || tally.Cease(Stale{54, 3}) {
		t.Error("what is new is not told from what is known")
	}
	const said = "51 exchanges could not be judged (oversize, panic, or kept connections that the candidate ended more often than the control), " +
		"more than the budget of 0.1 % allows"
	want(t, judged(t, tally), Undecided, said)
	sum, _ := tally.Cut()
	if v, _ := Judge(Add(sum), DefaultConfig()); v.Word != Undecided || v.Reasons[0] != said {
		t.Errorf("added up it is %s: %v", v.Word, v.Reasons)
	}
}

// Nobody knows which routes those requests were of that have no answer: none is proven by itself either.
func TestWhatTheRunHasLostNoRouteIsProvenWithout(t *testing.T) {
	tally := well(NewTally(nil), 1, 6000)
	watch := NewWatch(DefaultConfig())
	for _, loss := range []func(n int64){
		func(n int64) { tally.Pause(n) }, func(n int64) { tally.Await(n) }, func(n int64) { tally.Cease(Stale{n, 0}) },
	} {
		for lost, word := range map[int64]Word{54: Undecided, 0: Equivalent} {
			loss(lost)
			all, _ := tally.Cut()
			v, _ := watch.Judge(all)
			if v.Word != word || v.Routes[0].Word != word {
				t.Errorf("with %d lost the run is %s, its route %s: %v", lost, v.Word, v.Routes[0].Word, v.Routes[0].Reasons)
			}
		}
		loss(0)
	}
}

// What comes last is what hangs: a proof that does not wait for it would be one of the quick answers alone.
func TestACandidateThatIsWaitedForIsNotProvenEquivalent(t *testing.T) {
	tally := well(NewTally(nil), 3, 6000)
	tally.Await(6)
	want(t, judged(t, tally), Equivalent, "at most 0.082 % of the requests differ because of the candidate, within the budget of 0.1 %")
	if !tally.Await(7) || tally.Await(7) {
		t.Error("what is new is not told from what is known")
	}
	const said = "7 exchanges could not be judged (oversize, panic, or waiting for the candidate alone), more than the budget of 0.1 % allows"
	want(t, judged(t, tally), Undecided, said)
	sum, _ := tally.Cut()
	if v, _ := Judge(Add(sum), DefaultConfig()); v.Word != Undecided || v.Reasons[0] != said {
		t.Errorf("added up it is %s: %v", v.Word, v.Reasons)
	}
	tally.Await(0)
	want(t, judged(t, tally), Equivalent, "at most 0.082 % of the requests differ because of the candidate, within the budget of 0.1 %")
}
