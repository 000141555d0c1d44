package diff

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"
)

// timely counts one request at a time after noon.
func timely(tally *Tally, after time.Duration, fields ...FieldComparison) {
	c := compared("GET /a", fields...)
	c.Time = noon.Add(after)
	tally.Add(c)
}

func first(t *testing.T, v *Verdict) *Finding {
	t.Helper()
	if len(v.Differences) == 0 {
		t.Fatal("no differences")
	}
	return &v.Differences[0]
}

func TestADifferenceIsSteadyOnceItIsLopsidedMinuteAfterMinute(t *testing.T) {
	tally := NewTally(nil)
	for i := range 15 * 60 {
		switch after, minute := time.Duration(i)*time.Second, i/60; {
		case i%10 == 0 && minute != 7:
			timely(tally, after, at("body.x", 1, 0))
		case i%10 == 0:
			timely(tally, after, at("body.x", 0, 1))
		default:
			timely(tally, after)
		}
	}
	timely(tally, 15*time.Minute)
	v := judged(t, tally)
	want(t, v, Different,
		"body.x on GET /a differs on the candidate's side alone in 84 of 901 requests, on the control's alone in 6; in excess at least 4.8 %, over the budget of 0.1 %; lopsided in 14 of 15 minutes",
		"at least 5.6 % of the requests differ because of the candidate, over the budget of 0.1 %")
	same(t, "steadiness of the difference", first(t, v).Steadiness, Steadiness{true, 14, 1})
	same(t, "steadiness of the requests as a whole", v.Steadiness, Steadiness{true, 14, 1})
	same(t, "steadiness of the route", v.Routes[0].Steadiness, Steadiness{true, 14, 1})
}

func TestABurstIsConfirmedAndNotSteady(t *testing.T) {
	tally := NewTally(nil)
	for i := range 40 {
		timely(tally, time.Duration(i)*time.Second, at("body.x", 1, 0))
	}
	v := judged(t, tally)
	same(t, "while the minute is open", first(t, v).Steadiness, Steadiness{false, 0, 0})
	if !first(t, v).Confirmed || v.Reasons[0][len(v.Reasons[0])-len("; one burst so far"):] != "; one burst so far" {
		t.Errorf("%q", v.Reasons)
	}
	for i := range 30 { // all is well for half an hour
		timely(tally, time.Duration(i+1)*time.Minute)
	}
	v = judged(t, tally)
	same(t, "half an hour later", first(t, v).Steadiness, Steadiness{false, 1, 0})
	for minute := 31; minute < 34; minute++ { // more bursts
		timely(tally, time.Duration(minute)*time.Minute, at("body.x", 1, 0))
	}
	timely(tally, 40*time.Minute)
	same(t, "after more bursts", judged(t, tally).Differences[0].said(), "not steady yet, lopsided in 4 of 4 minutes")
}

// A drift to either side is lopsided, and steady by evidence for either side.
func TestADriftIsSteadyToEitherSide(t *testing.T) {
	for _, sign := range []int8{1, -1} {
		tally := NewTally(nil)
		for i := range 12 * 60 {
			timely(tally, time.Duration(i)*time.Second, FieldComparison{Field: "body.n", Candidate: 1, Control: 1, CandidatePlaces: 1, ControlPlaces: 1, Drift: sign})
		}
		f := first(t, judged(t, tally))
		if f.Kind != TestDrift || !f.Steady || f.MinutesCandidate+f.MinutesControl != 11 {
			t.Errorf("to %d: %+v", sign, *f)
		}
	}
}

func TestLateRequestsCountInTheOpenMinute(t *testing.T) {
	var m Minutes
	m.add(100, false)
	m.add(101, true)
	m.add(100, true)           // late: the minute is over and stays so
	m.add(101-lateBy, true)    // as late as can be
	m.add(101-lateBy-1, false) // the clock was set
	m.add(101-lateBy-1, false) //
	m.add(101-lateBy, true)    //
	same(t, "minutes", m, Minutes{Candidate: 1, Control: 2, Open: 101 - lateBy, Lean: 1})
	same(t, "in that minute", m.at(101-lateBy), m)
	same(t, "in the next", m.at(102-lateBy), Minutes{Candidate: 2, Control: 2, Open: 101 - lateBy})
	same(t, "a draw", func() Minutes { m := Minutes{}; m.add(5, true); m.add(5, false); return m.at(6) }(), Minutes{Open: 5})
}

// A burst that hits a hundred routes in one minute is one burst, also when the routes become one.
func TestMergedMinutesMakeNoneUp(t *testing.T) {
	tally := NewTally(nil)
	var names []string
	for i := range 100 {
		name := fmt.Sprintf("GET /%d", i)
		names = append(names, name)
		for minute, side := range []FieldComparison{at("body.x", 1, 0), {}, {}, at("body.x", 0, 1)} {
			c := compared(name, side)
			c.Time = noon.Add(time.Duration(minute) * time.Minute)
			tally.Add(c)
		}
	}
	tally.Merge("GET /{id}", names...)
	all, _ := tally.Cut()
	f := field(t, all, "GET /{id}", "body.x")
	open := minuteOf(noon) + 3
	same(t, "minutes", f.Tests[TestValue].Minutes, Minutes{Candidate: 1, Open: open, Lean: -100})
	same(t, "of the route", all.Routes[0].Minutes, Minutes{Candidate: 1, Open: open, Lean: -100})
}

// Where nothing is wrong, few runs ever have a field that is called steady, however often one looks.
func TestNoiseIsSeldomSteady(t *testing.T) {
	const runs, minutes = 1000, 300
	rnd, steady := rand.New(rand.NewPCG(4, 4)), 0
	for range runs {
		var m Minutes
		for minute := range int32(minutes) {
			for range rnd.IntN(12) {
				m.add(1000+minute, rnd.IntN(2) == 0)
			}
			if m.steadiness(1001+minute, Evidence).Steady {
				steady++
				break
			}
		}
	}
	t.Logf("%.1f %% of fields with noise are ever called steady", 100*float64(steady)/runs)
	if steady > runs*5/100 {
		t.Errorf("%d of %d fields with noise were steady, more than 5 %%", steady, runs)
	}
}

// What the minutes cost at most: 19.2 MB for 200,000 fields.
func TestMinutesAreSmall(t *testing.T) {
	if size := unsafe.Sizeof(Minutes{}) * uintptr(tests) * maxFields; size != 19_200_000 {
		t.Errorf("the minutes of %d fields take %d bytes", maxFields, size)
	}
}

// exchanged is a comparison with the two shadows' names exchanged.
func exchanged(c *Comparison) *Comparison {
	s := *c
	s.CandidateUp, s.ControlUp, s.Raw, s.Noise = c.ControlUp, c.CandidateUp, c.Noise, c.Raw
	s.CandidateError, s.ControlError = c.ControlError, c.CandidateError
	switch c.Result {
	case CandidateOnly:
		s.Result = ControlOnly
	case ControlOnly:
		s.Result = CandidateOnly
	}
	s.Fields = slices.Clone(c.Fields)
	for i, f := range c.Fields {
		s.Fields[i] = FieldComparison{Field: f.Field, Candidate: f.Control, Control: f.Candidate, CandidatePlaces: f.ControlPlaces, ControlPlaces: f.CandidatePlaces, Drift: -f.Drift, Trait: f.Trait}
	}
	return &s
}

// history is traffic with errors and failures, out of order now and then, on one side more than on the other.
func history(seed uint64, n int) []*Comparison {
	rnd, list := rand.New(rand.NewPCG(seed, 77)), traffic(seed, n)
	lean := rnd.Float64()
	for i, c := range list {
		c.Time = noon.Add(time.Duration(i)*time.Second*3 - time.Duration(rnd.IntN(40))*time.Second)
		if c.Unknown != "" {
			continue
		}
		c.CandidateError, c.ControlError, c.PrimaryError = rnd.Float64() < 0.1*lean, rnd.Float64() < 0.1*(1-lean), rnd.IntN(30) == 0
		if rnd.IntN(40) == 0 {
			side := candidateFails
			if rnd.Float64() > lean {
				side = controlFails
			}
			failed := compared(c.Route, side)
			failed.Time, failed.Failed = c.Time, true
			list[i] = failed
		}
	}
	return list
}

// With the names exchanged the verdict is the mirror image: every count, every minute, every interval, every j.
func TestExchangedNamesGiveTheMirroredVerdict(t *testing.T) {
	for seed := range uint64(8) {
		one, other := NewTally(nil), NewTally(nil)
		for _, c := range history(seed, 1500) {
			one.Add(c)
			other.Add(exchanged(c))
		}
		a, _ := one.Cut()
		b, _ := other.Cut()
		if d := cmp.Diff(orders(a), orders(b)); d != "" {
			t.Fatalf("seed %d: %s", seed, d)
		}
		now := minuteOf(a.Total.Last)
		for i, f := range a.Fields {
			for test := range tests {
				x, y := &f.Tests[test], &b.Fields[i].Tests[test]
				same(t, "counts", y.Counts, Counts{x.ControlOnly, x.CandidateOnly, x.Both})
				mirrored := x.Minutes.at(now)
				mirrored.Candidate, mirrored.Control, mirrored.Lean = mirrored.Control, mirrored.Candidate, -mirrored.Lean
				same(t, "minutes", y.Minutes.at(now), mirrored)
				if test == TestDrift && math.Abs(EvidenceTwoSided(x.CandidateOnly, x.ControlOnly)-EvidenceTwoSided(y.CandidateOnly, y.ControlOnly)) > 1e-9 {
					t.Errorf("seed %d: drift of %s has another evidence", seed, f.Field)
				}
			}
		}
		v, _ := Judge(a, DefaultConfig())
		w, _ := Judge(b, DefaultConfig())
		same(t, "excess", w.Excess, -v.Excess)
		for side := range 2 {
			if got, want := w.ExcessBounds[side], -v.ExcessBounds[1-side]; math.Abs(got-want) > 1e-12 {
				t.Errorf("seed %d: bound %v, want %v", seed, got, want)
			}
		}
		same(t, "rates and errors", []any{w.RawRate, w.NoiseRate, w.CandidateErrors, w.ControlErrors}, []any{v.NoiseRate, v.RawRate, v.ControlErrors, v.CandidateErrors})
		same(t, "minutes of the run", [2]int64{w.MinutesCandidate, w.MinutesControl}, [2]int64{v.MinutesControl, v.MinutesCandidate})
	}
}

// Whatever happens, a Watch says what Judge says: minutes that pass, errors, latencies, attempts, routes that merge and
// restarts included.
func TestAWatchAnswersLikeJudgeInAnyHistory(t *testing.T) {
	steady := 0
	for seed := range uint64(6) {
		rnd, cfg := rand.New(rand.NewPCG(seed, 3)), DefaultConfig()
		cfg.Attempt, cfg.MaxLatencyRatio = int(seed%3), float64(seed%2)*1.5
		tally, watch := NewTally(nil), NewWatch(cfg)
		for i, c := range history(seed, 1200) {
			if i%7 == 0 && c.Unknown == "" && !c.Failed {
				c.Fields = append(c.Fields, at("body.z", 2, 0))
			}
			tally.Add(c)
			switch rnd.IntN(200) {
			case 0:
				tally.Merge("GET /1", "GET /2")
			case 1:
				all, _ := tally.Cut()
				tally = NewTally(all)
			}
			if rnd.IntN(40) != 0 {
				continue
			}
			all, _ := tally.Cut()
			watched, fresh := watch.Judge(all)
			pure, freshToo := Judge(all, cfg)
			if d := cmp.Diff(exact(pure), exact(watched)); d != "" {
				t.Fatalf("seed %d after %d requests: %s", seed, i+1, d)
			}
			if d := cmp.Diff(fresh, freshToo); d != "" {
				t.Fatalf("seed %d after %d requests: %s", seed, i+1, d)
			}
			tally.Confirm(fresh)
			for _, f := range pure.Differences {
				if f.Steady {
					steady++
				}
			}
		}
	}
	if steady == 0 {
		t.Error("nothing was ever steady")
	}
}

// A minute that passes changes a verdict although the field's row did not change.
func TestAWatchSeesAMinutePass(t *testing.T) {
	tally, watch := NewTally(nil), NewWatch(DefaultConfig())
	for i := range 30 {
		timely(tally, time.Duration(i)*time.Second, at("body.x", 1, 0))
	}
	all, _ := tally.Cut()
	v, _ := watch.Judge(all)
	same(t, "in the minute", first(t, v).MinutesCandidate, int64(0))
	c := compared("GET /b")
	c.Time = noon.Add(time.Minute)
	tally.Add(c) // on another route
	all, _ = tally.Cut()
	v, _ = watch.Judge(all)
	same(t, "after the minute", first(t, v).MinutesCandidate, int64(1))
}
