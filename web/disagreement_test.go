package web

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"shadowdiff/diff"
	"shadowdiff/multicast"
)

// scored answers with a number that differs each time, and is always greater than what is added to it.
func scored(add float64, pad string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"score":%.3f,"note":"%s"}`, add+rand.Float64(), pad)
	}
}

// A drift is told in words; the columns of a route's fields are disagreement with the primary, never a leaning. What only
// informs stands last and says so, and the sample that proves a drift leads to its field.
func TestDriftIsNoDisagreementOfTheControl(t *testing.T) {
	r := newRig(t, scored(1, "abc"), scored(5, "abcdef"), nil)
	r.ask(80, "/scores/7")
	const route = "GET /scores/{id}"

	page := r.get(routePath(route))
	mustHold(t, "route", page, "2 confirmed, 1 informs", `<td class="counted leaning" colspan="3">greater in 80, less in 0</td>`)
	if a, b := strings.Index(page, "<code>body.note</code>"), strings.Index(page, "<code>size</code>"); a < 0 || b < a {
		t.Error("what informs only does not stand last")
	}
	mustHold(t, "size", r.get(fieldPath(route, "size")), "it leans over many requests", "\u202fB</span></td>", "Reproduce it")
	snap := r.db.Snapshot()
	score, verdict := fieldOf(snap, route, "body.score"), verdictOf(snap, route)
	for i := range verdict.Differences {
		f := fieldRowOf(&verdict.Differences[i], fieldOf(snap, route, verdict.Differences[i].Field), verdict.Budget, 1)
		switch d := f.Disagrees; {
		case f.Field == "size" && d != nil:
			t.Errorf("a size disagrees: %+v", d)
		case f.Field == "body.score" && (d.Control != share(score.Noise, f.Compared) || d.Candidate != share(score.Raw, f.Compared)):
			t.Errorf("score: %+v, tallied %d and %d", d, score.Raw, score.Noise)
		}
	}
	overview := r.get("/")
	mustHold(t, "overview", overview, "The candidate differs: 2 confirmed differences that noise does not explain.", "2, and 1 that informs")

	proof := r.get(link(t, overview, "/samples/"))
	mustHold(t, "proof", proof, "lean to one side: ", fieldPath(route, "body.score"))
}

// A body of another kind is called by its kind, and long values fold.
func TestBodyOfAnotherKind(t *testing.T) {
	long := strings.Repeat("a long note ", 40)
	var served atomic.Int64
	known := func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":%q,"note":%q}`, req.URL.Query().Get("q"), long)
	}
	trial := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprintf(w, "internal error %d\n", served.Add(1))
	}
	r := newRig(t, known, trial, nil)
	r.ask(60, "/quotes/7?q=x")
	page := r.get(fieldPath("GET /quotes/{id}", "body"))
	mustHold(t, "field", page, "The body is of another kind: text instead of JSON.", `<details class="long"><summary>`, " characters</i>", " more combination")
	if n := strings.Count(page, `class="line is-candidate"`); n != valuesShown {
		t.Errorf("%d combinations are listed, want %d", n, valuesShown)
	}
}

func TestLongValuesAreShortened(t *testing.T) {
	plain := strings.Repeat("x", 500)
	for _, c := range []cell{{Before: plain}, {Before: plain, In: "y", End: plain}, {In: plain}, {Before: "a", In: "ü", End: plain}} {
		if short := c.Short(); !c.Long() || short.Long() || (c.In != "" && short.In == "") {
			t.Errorf("%d characters became %+v", c.Length(), short)
		}
	}
	if c := (cell{Before: "short"}); c.Long() || c.Short() != c {
		t.Errorf("a short value became %+v", c.Short())
	}
}

// What a sample says of itself is grammar as well as truth.
func TestSampleSentences(t *testing.T) {
	place := func(m mark, p, s, c string) placeView {
		return placeView{Field: "body.n", Mark: m, Values: [3]string{p, s, c}}
	}
	asked := compared(t, `{}`, `{}`, `{}`)
	both := place(markBoth, "1", "2", "3")
	for _, c := range []struct {
		places  []placeView
		drifted []driftedView
		want    string
	}{
		{nil, nil, "All three answers agree under the rules."},
		{[]placeView{both}, nil, "The candidate stands alone nowhere; 1 difference is noise."},
		{[]placeView{both, both, both, both}, nil, "The candidate stands alone nowhere; 4 differences are noise."},
		{
			[]placeView{both, both},
			[]driftedView{{"body.n", against("3", "2")}},
			"The candidate stands alone nowhere; 2 differences are noise, but over many requests body.n has drifted: 3 here against the control's 2.",
		},
		{[]placeView{place(markCandidate, "1", "1", "2"), both}, nil, "The candidate alone has 2 at body.n, where the primary has 1. 1 other difference is noise."},
		{
			[]placeView{place(markCandidate, "[1]"+strings.Repeat(" ", 60), "", "[2]"+strings.Repeat(" ", 60))},
			nil,
			"The candidate alone has another list at body.n.",
		},
	} {
		if got := sampleSentence(asked, c.places, c.drifted); got != c.want {
			t.Errorf("got  %q\nwant %q", got, c.want)
		}
	}
}

// A side's mark says whether it differs alone or with the other.
func TestMarkOfASide(t *testing.T) {
	sample := compared(t, `{"a":1,"b":1}`, `{"a":2,"b":1}`, `{"a":3,"b":1}`)
	page := samplePageOf(sample, nil)
	if c, s := page.Legs[candidate].Differs, page.Legs[control].Differs; c != markBoth || s != markBoth {
		t.Errorf("marks %q and %q, want both", c, s)
	}
	if sample.Responses[multicast.Primary].Status == 0 {
		t.Error("the primary was not asked")
	}
}

// Shares of a difference are those of its own test: another type in each request is no noise for being another value, too.
func TestSharesAreThoseOfTheirTest(t *testing.T) {
	var served atomic.Int64
	known := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"seen":"2026-11-30T10:00:%02d.%06dZ"}`, served.Add(1)%60, served.Load())
	}
	trial := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"seen":%d}`, 1_796_000_000+served.Add(1))
	}
	r := newRig(t, known, trial, nil)
	r.ask(60, "/users/7")
	snap := r.db.Snapshot()
	for i := range snap.Verdict.Differences {
		f := &snap.Verdict.Differences[i]
		if f.Field != "body.seen" {
			continue
		}
		if d := disagreementAt(fieldOf(snap, f.Route, f.Field), f); f.Kind != diff.TestType || d.Candidate != share(60, 60) || d.Control != share(0, 60) {
			t.Errorf("by %s the candidate disagrees in %s, the control in %s", f.Kind, d.Candidate, d.Control)
		}
	}
	page := r.get(fieldPath("GET /users/{id}", "body.seen"))
	mustHold(t, "the field", page, "Reproduce it", `hx-morph-skip data-copy-from="/api/v1/samples/`, "curl?role=candidate")
	command := r.get(strings.TrimSuffix(strings.TrimPrefix(regexp.MustCompile(`data-copy-from="[^"]+"`).FindString(page), `data-copy-from="`), `"`))
	mustHold(t, "the command", command, "curl", r.now().Targets.Candidate+"/users/7")
	mustHold(t, "the overview", r.get("/"), "yet confirmed by type")
}

// Where more than the budget is seen to differ, nothing is said of when the contrary would be proven.
func TestNoForecastAgainstWhatIsSeen(t *testing.T) {
	r := newRig(t, shop("1"), shop("2"), nil)
	r.ask(3, "/products/1")
	page := r.get("/")
	mustHold(t, "the overview", page, "So far the candidate alone disagrees in 3 of 3, the control alone in 0", "without enough evidence")
	if strings.Contains(page, "would prove") {
		t.Error("a proof is forecast")
	}
}
