package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"shadowdiff/diff"
)

// watcher counts with the product's Tally and looks after every request, as Watch.Judge would: at the tests of the rows
// that changed, by the product's Evidence. Judge itself computes every figure of a page, which takes a thousand times as
// long; checked tells whether both say the same.
type watcher struct {
	tally *diff.Tally
	marks []mark
	known map[mark]bool
	diffy map[string]bool // fields that Diffy's rule has flagged at some look
}

// mark is a confirmation.
type mark struct {
	route, field string
	test         diff.Test
}

func newWatcher() *watcher {
	return &watcher{tally: diff.NewTally(nil), known: map[mark]bool{}, diffy: map[string]bool{}}
}

// add counts one request and looks. It answers with the rows that changed.
func (w *watcher) add(c *diff.Comparison) (changed []*diff.FieldTally) {
	w.tally.Add(c)
	if len(c.Fields) == 0 && c.Latency == (diff.LatencyPair{}) {
		return nil // no pair of counts has changed
	}
	all, now := w.tally.Cut()
	w.latency(&all.Total)
	for _, r := range now.Routes {
		w.latency(r)
	}
	for _, f := range now.Fields {
		w.field(f)
		if diffyFlags(f.Raw, f.Noise, all.Total.Compared) {
			w.diffy[f.Field] = true
		}
	}
	if t := all.Transport.Counts; diff.Evidence(t.CandidateOnly, t.ControlOnly) >= -math.Log(0.02*alpha) {
		w.mark(mark{"", "transport", diff.TestPresence})
	}
	return now.Fields
}

func (w *watcher) latency(r *diff.RouteTally) {
	if diff.Evidence(r.Latency.Slower, r.Latency.Faster) >= threshold(r.Latency.Order) && r.Latency.Order > 0 {
		w.mark(mark{r.Route, "latency", diff.TestDrift})
	}
}

func (w *watcher) field(f *diff.FieldTally) {
	for i := range f.Tests {
		t, test := &f.Tests[i], diff.Test(i)
		if t.CandidateOnly+t.ControlOnly == 0 {
			continue
		}
		lnE := 0.0
		switch {
		case test != diff.TestDrift:
			lnE = diff.Evidence(t.CandidateOnly, t.ControlOnly)
		default:
			lnE = f.EvidenceOfDrift()
		}
		if lnE >= threshold(t.Order) {
			w.mark(mark{f.Route, f.Field, test})
		}
	}
}

func (w *watcher) mark(m mark) {
	if !w.known[m] {
		w.known[m] = true
		w.marks = append(w.marks, m)
	}
}

// threshold is the ln E at which the j-th hypothesis is confirmed: E = (j+20)²/(20·alpha).
func threshold(j int) float64 {
	d := float64(j) + 20
	return math.Log(d * d / (20 * alpha))
}

// diffyFlags is Diffy's rule at its defaults: more raw differences than noise, by more than 20 % of their sum,
// and by more than 0.03 % of the requests.
func diffyFlags(raw, noise, requests int64) bool {
	more := float64(raw - noise)
	return more > 0 && more/float64(raw+noise) > 0.20 && more/float64(requests) > 0.0003
}

// checked has Watch.Judge look after every request of one run, and says where it marks something else than the watcher
// does, or at another request.
func checked(run func() *diff.Comparison, requests int) error {
	cfg := diff.DefaultConfig()
	ours, tally, watch := newWatcher(), diff.NewTally(nil), diff.NewWatch(cfg)
	for i := range requests {
		c := run()
		before := len(ours.marks)
		ours.add(c)
		tally.Add(c)
		all, _ := tally.Cut()
		_, fresh := watch.Judge(all)
		tally.Confirm(fresh)
		var marks []mark
		for _, c := range fresh {
			marks = append(marks, mark{c.Route, c.Field, c.Test})
		}
		mine := slices.Clone(ours.marks[before:])
		order := func(a, b mark) int {
			return cmp.Or(cmp.Compare(a.route, b.route), cmp.Compare(a.field, b.field), int(a.test)-int(b.test))
		}
		slices.SortFunc(marks, order)
		slices.SortFunc(mine, order)
		if !slices.Equal(marks, mine) {
			return fmt.Errorf("at request %d Watch.Judge confirms %v, the simulation %v", i+1, marks, mine)
		}
	}
	return nil
}
