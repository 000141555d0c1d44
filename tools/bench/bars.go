package main

import (
	"fmt"
	"math"
)

// What is asked of shadowdiff, relative to a bare ReverseProxy unless said otherwise.
const (
	barOff      = 0.95 // requests/s with shadowing off, or at 1 %
	barHealthy  = 0.42 // requests/s at 100 %, both shadows healthy, everything compared and recorded
	goalHealthy = 0.50
	barIll      = 0.85 // requests/s with slow or hanging shadows
	barP99      = 1.10 // p99 at the fixed rate with slow or hanging shadows, relative to shadowing off
	everything  = 0.99 // share of the sampled that counts as everything compared
)

// bar is one of them, with how it was met.
type bar struct {
	text    string
	figure  string
	verdict string // met, not met, not measured
}

// bars judges all of them.
func (r *results) bars(concurrency int) []bar {
	base := trial{proxy: bare}
	list := []bar{
		r.atLeast("requests/s, shadowing off", barOff, trial{proxy: ours}, base),
		r.atLeast("requests/s, 1 %, healthy shadows", barOff, trial{proxy: ours, sample: "1%", shadow: same}, base),
	}
	for _, share := range []float64{barHealthy, goalHealthy} {
		for _, shadow := range []string{same, noisy} {
			list = append(list, r.everythingAt(share, shadow))
		}
	}
	for _, shadow := range []string{slow, hanging} {
		for _, sample := range []string{"1%", "10%", "100%"} {
			t := trial{proxy: ours, sample: sample, shadow: shadow}
			list = append(list, r.atLeast("requests/s, "+sample+", "+shadow+" shadows", barIll, t, base))
		}
		list = append(list, r.connections(shadow, concurrency), r.tail(shadow))
	}
	return append(list, r.noErrors())
}

func (r *results) atLeast(what string, bar0 float64, t, base trial) bar {
	b := bar{text: fmt.Sprintf("%s: at least %.2f of bare", what, bar0)}
	if !r.measured(t) || !r.measured(base) {
		return b.unmeasured()
	}
	ratio := r.ratio(t, base, rate)
	b.figure = showRatio(ratio)
	return b.judge(ratio.value >= bar0)
}

// everythingAt asks whether the proxy reaches a share of what the bare one does, and compares everything meanwhile.
func (r *results) everythingAt(share float64, shadow string) bar {
	word := map[float64]string{barHealthy: "", goalHealthy: " (goal)"}[share]
	kind := map[string]string{same: "equal answers", noisy: "noise and a difference"}[shadow]
	b := bar{text: fmt.Sprintf("requests/s, 100 %%, healthy, %s: at least %.2f of bare%s, at least %.0f %% compared", kind, share, word, everything*100)}
	t := trial{proxy: ours, sample: "100%", shadow: shadow}
	if !r.measured(t) || !r.measured(trial{proxy: bare}) {
		return b.unmeasured()
	}
	reached := r.ratio(t, trial{proxy: bare}, rate)
	b.figure = fmt.Sprintf("%s, %s", showRatio(reached), shareOf(r.turns[t]))
	return b.judge(reached.value >= share && compared(r.turns[t]) >= everything)
}

func (r *results) connections(shadow string, concurrency int) bar {
	b := bar{text: fmt.Sprintf("connections to a %s shadow: at most %d", shadow, concurrency)}
	var most int64 = -1
	for _, t := range r.trials {
		if t.proxy == ours && t.shadow == shadow && r.measured(t) {
			most = max(most, connections(r.turns[t]))
		}
	}
	if most < 0 {
		return b.unmeasured()
	}
	b.figure = fmt.Sprint(most)
	return b.judge(most <= int64(concurrency))
}

func (r *results) tail(shadow string) bar {
	b := bar{text: fmt.Sprintf("p99 at the fixed rate, %s shadows: at most %.2f of shadowing off", shadow, barP99)}
	fixed := pace{fixed: true}
	t, off := trial{proxy: ours, sample: "100%", shadow: shadow, pace: fixed}, trial{proxy: ours, pace: fixed}
	if !r.measured(t) || !r.measured(off) {
		return b.unmeasured()
	}
	ratio := r.ratio(t, off, p99)
	b.figure = showRatio(ratio)
	return b.judge(ratio.value <= barP99)
}

func (r *results) noErrors() bar {
	b := bar{text: "errors seen by clients of shadowdiff: none"}
	var sum int64
	seen := false
	for _, t := range r.trials {
		if t.proxy == ours && r.measured(t) {
			seen = true
			sum += faults(r.turns[t]).Sum()
		}
	}
	if !seen {
		return b.unmeasured()
	}
	b.figure = fmt.Sprint(sum)
	return b.judge(sum == 0)
}

func (b bar) judge(met bool) bar {
	b.verdict = map[bool]string{true: "met", false: "NOT MET"}[met]
	return b
}

func (b bar) unmeasured() bar {
	b.figure, b.verdict = "", "not measured"
	return b
}

// show prints a figure, or a dash for none.
func show(v float64, digits int) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "–"
	}
	return fmt.Sprintf("%.*f", digits, v)
}

// showRatio prints a ratio with its interval, unless that is too narrow to be seen.
func showRatio(r ratio) string {
	low, value, high := show(r.low, 2), show(r.value, 2), show(r.high, 2)
	if low == high {
		return value
	}
	return fmt.Sprintf("%s (%s–%s)", value, low, high)
}
