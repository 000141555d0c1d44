package main

import (
	"context"
	"fmt"
	"time"

	"shadowdiff/tools/rig"
)

// reading is how the process stands at a moment.
type reading struct {
	at          time.Duration
	rss         int64
	goroutines  int
	descriptors int
	counts      rig.Counts
}

func read(ctx context.Context, s *rig.Service, at time.Duration) (r reading, err error) {
	r.at = at
	if r.counts, err = s.Counts(ctx); err != nil {
		return r, err
	}
	goroutines, err := s.Metric(ctx, "go_goroutines")
	if err != nil {
		return r, err
	}
	r.goroutines = int(goroutines)
	if r.descriptors, err = rig.Descriptors(s.PID()); err != nil {
		return r, err
	}
	r.rss, err = rig.RSS(s.PID())
	return r, err
}

func (r reading) String() string {
	c := r.counts
	return fmt.Sprintf("%7s  RSS %s, %d goroutines, %d descriptors, %.1f MiB captured, %d requests, %d compared; skipped: %v; dropped: %v; unknown: %v",
		r.at.Round(time.Second), mib(r.rss), r.goroutines, r.descriptors, float64(c.Captured)/(1<<20), c.Requests, c.Compared,
		c.Skipped, c.Dropped, c.Unknown)
}

func mib(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

// resident is the memory by time.
type resident struct {
	at  time.Duration
	rss int64
}
