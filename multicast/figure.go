package multicast

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// watched is one of the figures that have a limit.
type watched int

const (
	watchedP99    watched = iota // seconds
	watchedErrors                // share
	watchedMemory                // bytes
	watchedCPU                   // share
	watchedCount
)

// String is the figure's key below guard.
func (w watched) String() string {
	return [...]string{"primary_p99", "primary_errors", "memory", "cpu"}[w]
}

// text is a value of the figure, for people.
func (w watched) text(v float64) string {
	switch w {
	case watchedP99:
		return shortDuration(time.Duration(v * float64(time.Second)))
	case watchedMemory:
		return strconv.FormatFloat(v/float64(MiB), 'f', 0, 64) + "MiB"
	}
	digits := 10. // of a percentage's tenths
	if v < 0.1 {
		digits = 1000
	}
	return strconv.FormatFloat(math.Round(v*100*digits)/digits, 'f', -1, 64) + "%"
}

// shortDuration is a duration in three digits or so, and without zero parts at its end.
func shortDuration(d time.Duration) string {
	switch {
	case d >= time.Minute:
		d = d.Round(time.Second)
	case d >= time.Second:
		d = d.Round(10 * time.Millisecond)
	case d >= 100*time.Millisecond:
		d = d.Round(time.Millisecond)
	case d >= time.Millisecond:
		d = d.Round(100 * time.Microsecond)
	}
	text := d.String() // 1h0m0s
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// figure is one watched value as it was at the last look.
type figure struct {
	value float64
	known bool // there was enough to tell by
	over  bool // its limit

	accident bool // over it by one or two requests only, or by none of late
}

// The looks back.
const (
	pulseWindow = 5   // looks
	pulseLong   = 10  // looks, where the shorter window has few requests
	pulseMany   = 100 // requests that are not few
	pulseLeast  = 20  // requests by which one can tell
	pulseBad    = 3   // slow or failed ones that are no accident
)

// measure reads the figures that have a limit.
func (g *guard) measure(limits GuardConfig) (figures [watchedCount]figure) {
	g.measureProcess(limits, &figures)
	g.measurePrimary(limits, &figures)
	for w := range figures {
		f := &figures[w]
		limit := limits.limit(watched(w))
		f.over = f.known && limit > 0 && f.value > limit && !f.accident
	}
	return figures
}

// measureProcess reads what this process takes: memory now, processors in the last 5 s.
func (g *guard) measureProcess(limits GuardConfig, figures *[watchedCount]figure) {
	if limits.Memory == 0 && limits.CPU == 0 {
		g.usages = nil
		return
	}
	now := g.usage()
	g.usages = lastOf(append(g.usages, now), pulseWindow+1)
	figures[watchedMemory] = figure{value: float64(now.memory), known: now.memory > 0}
	if first := g.usages[0]; now.at.Sub(first.at) >= 2*guardLook {
		spent := (now.cpu - first.cpu).Seconds() / now.at.Sub(first.at).Seconds() / float64(now.processors)
		figures[watchedCPU] = figure{value: spent, known: now.cpu > 0}
	}
}

// measurePrimary reads how the primary has answered in the last 5 s, or, where that is too little to go by, in the last 10:
// then something must have been bad in the last 5, too.
func (g *guard) measurePrimary(limits GuardConfig, figures *[watchedCount]figure) {
	if !limits.primary() {
		g.pulses = nil
		return
	}
	g.pulses = lastOf(append(g.pulses, g.pulse.read()), pulseLong+1)
	last := len(g.pulses) - 1
	recent := g.pulses[last].since(&g.pulses[max(0, last-pulseWindow)])
	window := recent
	if recent.requests() < pulseMany {
		window = g.pulses[last].since(&g.pulses[0])
	}
	n := window.requests()
	if n < pulseLeast {
		return
	}
	if limits.PrimaryP99 > 0 {
		p99, slower := window.p99(limits.PrimaryP99)
		_, late := recent.p99(limits.PrimaryP99)
		figures[watchedP99] = figure{value: p99.Seconds(), known: true, accident: slower < pulseBad || late == 0}
	}
	if limits.PrimaryErrors > 0 {
		accident := window.failed < pulseBad || recent.failed == 0
		figures[watchedErrors] = figure{value: float64(window.failed) / float64(n), known: true, accident: accident}
	}
}

// lastOf keeps the last n of a list.
func lastOf[T any](list []T, n int) []T {
	if len(list) > n {
		list = append(list[:0], list[len(list)-n:]...)
	}
	return list
}
