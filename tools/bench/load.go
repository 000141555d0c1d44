package main

import (
	"sync/atomic"
	"time"
)

// load sends requests over kept connections and measures each. In a closed loop (rate 0) each connection sends its next
// request when it has the answer. With a rate, requests are due at fixed times, whatever becomes of those before; one that
// finds no free connection waits, and is measured from the moment at which it was due, so that a proxy that stalls
// cannot hide it by being asked less.
type load struct {
	addr  string // host and port
	conns int
	rate  float64 // requests a second; 0: a closed loop
	want  *answer
	limit int // ends after so many answers and errors; 0: when the phase is over

	phase atomic.Int32 // warming, measuring, over
}

const (
	warming int32 = iota
	measuring
	over
)

// tally is what a load has measured.
type tally struct {
	latencies []time.Duration // of the requests whose answers came while measuring
	errors    map[string]int  // by what was wrong, at any time
	dues      []time.Time     // with a rate: when each of these was due
	ended     int             // answers and errors, at any time
}

func newTally() *tally {
	return &tally{latencies: make([]time.Duration, 0, 1<<20), errors: make(map[string]int)}
}

func (t *tally) failed(what string) {
	t.errors[what]++
	t.ended++
}
