package diff

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"shadowdiff/multicast"
)

// erred counts n requests in each of which the one or the other answers with an error.
func erred(tally *Tally, routes, n int, candidate, control bool) *Tally {
	for i := range n {
		c := compared(fmt.Sprintf("GET /%d", i%routes))
		c.CandidateError, c.ControlError = candidate, control
		tally.Add(c)
	}
	return tally
}

func TestACandidateWithMoreErrorsIsNotEquivalent(t *testing.T) {
	// Two on each of seven routes: no route can tell.
	tally := erred(story(NewTally(nil), "GET /0", 50_000, every(1, at("body.x", 1, 1))), 7, 14, true, false)
	v := judged(t, tally)
	want(t, v, Undecided, "the candidate alone answers with an error, or not at all, in 14 of 50,014 requests, the control alone in 0")
	same(t, "errors", []int64{v.CandidateErrors, v.ControlErrors}, []int64{14, 0})

	// Beside a difference it is named, too.
	v = judged(t, erred(story(NewTally(nil), "GET /0", 5000, every(9, at("body.y", 1, 0))), 7, 14, true, false))
	same(t, "said beside a difference", v.Reasons[2], "beside the verdict: the candidate alone answers with an error, or not at all, in 14 of 5,014 requests, the control alone in 0")

	// As many on the control's side are noise of the network.
	erred(tally, 7, 12, false, true)
	if v := judged(t, tally); v.Word != Equivalent {
		t.Errorf("%s: %q", v.Word, v.Reasons)
	}

	// On one route among many.
	tally = erred(erred(story(NewTally(nil), "GET /a", 50_000, every(1, at("body.x", 1, 1))), 1, 30, true, false), 100, 40, false, true)
	v = judged(t, tally)
	if v.Word != Undecided || !slices.Contains(v.Reasons, "the candidate answers with more errors than the control on GET /0") {
		t.Errorf("%s: %q", v.Word, v.Reasons)
	}
}

func TestOneErrorForAnotherIsNone(t *testing.T) {
	answer := func(status int) *multicast.Response {
		return &multicast.Response{Outcome: multicast.OutcomeOK, Status: status, Header: http.Header{"Content-Type": {"text/plain"}}, Body: []byte("no")}
	}
	refused := &multicast.Response{Outcome: multicast.OutcomeDial}
	for _, test := range []struct {
		primary, secondary, candidate *multicast.Response
		want                          string
	}{
		{answer(200), answer(200), answer(200), "- - -"},
		{answer(200), answer(200), answer(500), "- - candidate"},
		{answer(200), answer(200), refused, "- - candidate"},
		{answer(200), refused, answer(200), "- control -"},
		{answer(500), answer(500), answer(503), "primary control candidate"},
		{answer(200), refused, answer(503), "- control candidate"},
		{answer(404), answer(404), answer(400), "- - -"},
		{answer(200), nil, answer(500), "- - candidate"},
	} {
		c := comparer(t).Compare(exchange(test.primary, test.secondary, test.candidate))
		words := []string{"-", "-", "-"}
		for i, set := range []bool{c.PrimaryError, c.ControlError, c.CandidateError} {
			if set {
				words[i] = []string{"primary", "control", "candidate"}[i]
			}
		}
		same(t, "errors", strings.Join(words, " "), test.want)
		tally := NewTally(nil)
		tally.Add(c)
		all, _ := tally.Cut()
		lone := test.secondary != nil && c.CandidateError && !c.ControlError
		same(t, "counted for the candidate", all.Total.CandidateErrors == 1 && all.Routes[0].CandidateErrors == 1, lone)
		same(t, "counted for the control", all.Total.ControlErrors == 1, c.ControlError && !c.CandidateError)
	}
}

func TestEachFurtherRunUnderANameIsJudgedMoreStrictly(t *testing.T) {
	tally := story(NewTally(nil), "GET /a", 15, every(1, at("body.x", 1, 0)))
	attempt := func(k int, name string) *Verdict {
		return judged(t, tally, func(c *Config) { c.Attempt, c.Name = k, name })
	}
	for k, want := range map[int]float64{0: 0.05, 1: 0.05, 2: 0.05 / 6, 3: 0.05 / 12} {
		v := attempt(k, "")
		same(t, "alpha", v.Alpha, want)
		same(t, "attempt", v.Attempt, max(k, 1))
		if v.Differences[0].Confirmed != (k < 3) {
			t.Errorf("attempt %d: 15 requests on one side confirmed: %v", k, v.Differences[0].Confirmed)
		}
	}
	last := func(v *Verdict) string { return v.Reasons[len(v.Reasons)-1] }
	same(t, "said", last(attempt(3, "v2")), "the 3rd run named v2: judged at alpha 0.0042")
	same(t, "said without a name", last(attempt(2, "")), "the 2nd run under its name: judged at alpha 0.0083")
	if said := last(attempt(1, "v2")); strings.Contains(said, "named") {
		t.Errorf("of the first run: %s", said)
	}
}
