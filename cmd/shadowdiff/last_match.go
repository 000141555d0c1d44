package main

import (
	"sync"
	"sync/atomic"
	"time"

	"shadowdiff/normalize"
)

// sweepEvery is how often the rules are asked whether they have matched meanwhile.
const sweepEvery = time.Second

// lastMatches remembers when each rule matched last, to within a second, so that comparing need not look at the clock for
// each rule. Its methods are safe for concurrent use; the zero value is ready.
type lastMatches struct {
	latest atomic.Int64 // of the exchanges' times, in ns
	next   atomic.Int64 // before which the rules are not asked again

	mu      sync.Mutex // guards what follows
	matched []int64
	at      []time.Time
}

// note takes the time of an exchange that was compared.
func (l *lastMatches) note(rules *normalize.Normalizer, t time.Time) {
	now := t.UnixNano()
	for was := l.latest.Load(); was < now && !l.latest.CompareAndSwap(was, now); was = l.latest.Load() {
	}
	if next := l.next.Load(); now >= next && l.next.CompareAndSwap(next, now+int64(sweepEvery)) {
		l.sweep(rules.Usage())
	}
}

// sweep finds which rules have matched since it was last done, and answers when each did; zero: it has not.
func (l *lastMatches) sweep(usage []normalize.RuleUsage) []time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.at == nil {
		l.matched, l.at = make([]int64, len(usage)), make([]time.Time, len(usage))
	}
	latest := l.latest.Load()
	for i := range usage {
		if usage[i].Matched > l.matched[i] && latest > 0 {
			l.matched[i], l.at[i] = usage[i].Matched, time.Unix(0, latest).UTC()
		}
	}
	return append([]time.Time(nil), l.at...)
}
