package web

import (
	"fmt"
	"math"
	"time"

	"shadowdiff/diff"
)

// suspect is the evidence (ln E) from which a difference that is not confirmed is worth a person's look: ten to one.
var suspect = math.Log(10)

// findingView is one difference in a list.
type findingView struct {
	Route, Field string
	Path         string // of its page
	Kind         diff.Test
	Meaning      string // of the kind, in a sentence
	Counts       string // "9 of 4,100, control 0"
	Alone        string // the same beside the rates of both: "candidate alone 9, control alone 0"
	Standing     string // "after 214 requests", "about 2 more needed"
	At           *time.Time
	Odds         string
	Confirmed    bool
	Suspected    bool
	Informs      bool // decides nothing by itself
	Whisker      whisker
	Compared     int64
	Disagrees    *disagreement // nil where it is not shown, or nothing disagrees
	Sides        sidesView
	Sample       int64 // 0: none is kept
}

// sidesView is in how many requests one side alone disagrees, at the difference's own test, with the lists of kept samples.
type sidesView struct {
	Alone, ControlAlone, Compared int64
	Leans                         bool // the counts are leanings, of which no list can be made
	NoControl                     bool // no secondary was asked in any of the requests
	Candidates, Controls          string
	Any                           string // the samples that differ here at all
}

func sidesOf(f *diff.Finding) sidesView {
	return sidesView{
		Alone: f.CandidateOnly, ControlAlone: f.ControlOnly, Compared: f.Compared, Leans: f.Kind >= diff.TestExtent, NoControl: f.NoControl,
		Candidates: samplesAtPath(f.Route, f.Field, string(diff.CandidateOnly), f.Kind),
		Controls:   samplesAtPath(f.Route, f.Field, string(diff.ControlOnly), f.Kind),
		Any:        samplesPath(f.Route, f.Field, ""),
	}
}

// standingsOf sorts a verdict's differences into those that are confirmed, those that are suspected, and those that were
// seen without a lean that counts; in each list what decides comes before what informs only.
func standingsOf(v *diff.Verdict) (confirmed, suspected, rest []*diff.Finding) {
	for _, informs := range []bool{false, true} {
		for i := range v.Differences {
			f := &v.Differences[i]
			switch {
			case f.Informs != informs:
			case f.Confirmed:
				confirmed = append(confirmed, f)
			case f.LnE >= suspect:
				suspected = append(suspected, f)
			default:
				rest = append(rest, f)
			}
		}
	}
	return confirmed, suspected, rest
}

// Standings of a difference, as addresses name them.
const (
	standingConfirmed = "confirmed"
	standingSuspected = "suspected"
	standingNoise     = "noise"
)

func standingOf(f *diff.Finding) string {
	switch {
	case f.Confirmed:
		return standingConfirmed
	case f.LnE >= suspect:
		return standingSuspected
	default:
		return standingNoise
	}
}

// informingIn is how many of them decide nothing.
func informingIn(list []*diff.Finding) (n int64) {
	for _, f := range list {
		if f.Informs {
			n++
		}
	}
	return n
}

// excessOf is the share in which the candidate alone disagrees beyond that in which the control does.
func excessOf(f *diff.Finding) float64 {
	return float64(f.CandidateOnly-f.ControlOnly) / float64(max(1, f.Compared))
}

// confirmedAt orders what is confirmed by its time, and what is not before all of it.
func confirmedAt(f *diff.Finding) int64 {
	if f.ConfirmedAt == nil {
		return 0
	}
	return f.ConfirmedAt.UnixNano()
}

func findingOf(f diff.Finding, budget float64) findingView {
	view := findingView{
		Route: f.Route, Field: f.Field, Path: findingPath(f), Kind: f.Kind, Meaning: meaning(f), Counts: countsOf(f), Odds: odds(f.LnE),
		Confirmed: f.Confirmed, Suspected: !f.Confirmed && f.LnE >= suspect, At: f.ConfirmedAt,
		Informs: f.Informs, Compared: f.Compared, Sides: sidesOf(&f),
	}
	if view.Alone = view.Counts; f.Kind < diff.TestExtent {
		view.Alone = fmt.Sprintf("candidate alone %s, control alone %s", count(f.CandidateOnly), count(f.ControlOnly))
		if f.NoControl {
			view.Alone = fmt.Sprintf("candidate %s, no control", count(f.CandidateOnly))
		}
	}
	if f.Compared > 0 {
		view.Whisker = whiskerOf(float64(f.CandidateOnly-f.ControlOnly)/float64(f.Compared), f.ExcessBounds, budget)
	}
	if f.Kind == diff.TestDrift || f.Kind == diff.TestExtent {
		view.Whisker = view.Whisker.leaning()
	}
	switch {
	case f.Confirmed && f.ConfirmedOn > 0:
		view.Standing = "after " + things(f.ConfirmedOn, "request")
	case f.MoreToConfirm > 0:
		view.Standing = "about " + count(f.MoreToConfirm) + " more needed"
	}
	if len(f.Samples) > 0 {
		view.Sample = f.Samples[0]
	}
	if f.Route == "" {
		view.Route = allRoutes
	}
	return view
}

// allRoutes stands where a route's name would, for the transport of all routes together.
const allRoutes = "all routes together"

// findingPath leads to the field's page, or to where its route's latency is shown.
func findingPath(f diff.Finding) string {
	switch {
	case f.Field == "latency":
		return routePath(f.Route) + "#latency"
	default:
		return fieldPath(f.Route, f.Field)
	}
}

// countsOf says what a difference's counts are of; extent and drift count leanings, not disagreements.
func countsOf(f diff.Finding) string {
	switch f.Kind {
	case diff.TestExtent:
		return fmt.Sprintf("more places in %s, fewer in %s", count(f.CandidateOnly), count(f.ControlOnly))
	case diff.TestDrift:
		if f.Field == "latency" {
			return fmt.Sprintf("slower in %s, not in %s", count(f.CandidateOnly), count(f.ControlOnly))
		}
		return fmt.Sprintf("greater in %s, less in %s", count(f.CandidateOnly), count(f.ControlOnly))
	default:
		if f.NoControl {
			return fmt.Sprintf("%s of %s, no control", count(f.CandidateOnly), count(f.Compared))
		}
		return fmt.Sprintf("%s of %s, control %s", count(f.CandidateOnly), count(f.Compared), count(f.ControlOnly))
	}
}

// meaning is each kind's sentence, shown where the word stands.
func meaning(f diff.Finding) string {
	switch {
	case f.Field == "latency":
		return "The candidate takes longer than the control for the same request."
	case f.Field == transport:
		return "One of the two gave no answer, and the other did."
	case f.Field == diff.FieldSize && f.Kind == diff.TestDrift:
		return "The candidate's bodies tend to be " + leans(f, "longer", "shorter") + " than the control's."
	case f.Field == "body" && f.Kind == diff.TestType:
		return "The candidate's body is of another kind: other than JSON, or JSON of another type."
	case f.Kind == diff.TestDrift:
		return "The candidate's number tends to be " + leans(f, "greater", "less") + " than the control's."
	}
	return map[diff.Test]string{
		diff.TestValue:    "The candidate has another value here.",
		diff.TestFormat:   "The candidate's value has another shape, as an epoch has where a date was.",
		diff.TestType:     "The candidate's value has another JSON type.",
		diff.TestPresence: "The field is there on one side only.",
		diff.TestExtent:   "Both differ from the primary, but one of them at more places.",
	}[f.Kind]
}

// leans is the word for the side to which a drift leans.
func leans(f diff.Finding, up, down string) string {
	if f.ControlOnly > f.CandidateOnly {
		return down
	}
	return up
}
