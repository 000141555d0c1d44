package main

import "time"

// mood is how a shadow behaves.
type mood string

const (
	healthy  mood = "healthy"
	slow     mood = "slow"     // 200 ms
	hanging  mood = "hanging"  // reads the request and never answers
	deaf     mood = "deaf"     // accepts and does not read
	refusing mood = "refusing" // nobody listens
	flapping mood = "flapping" // connections are reset, then served, five times a second
	reset    mood = "reset"    // the connection is reset where the answer should be
	cut      mood = "cut"      // the answer ends in the middle
	garbage  mood = "garbage"  // what comes is not HTTP
	hinting  mood = "hinting"  // informational answers without end
	dripping mood = "dripping" // a byte each 50 ms
	endless  mood = "endless"  // chunks without end
	huge     mood = "huge"     // 100 MB
	bomb     mood = "bomb"     // 1 MB of gzip that is 1 GB
	heads    mood = "heads"    // 4 MB of headers
)

func moods() []mood {
	return []mood{
		healthy, slow, hanging, deaf, refusing, flapping, reset, cut, garbage, hinting, dripping, endless, huge, bomb, heads,
	}
}

// schedule tells how the shadows behave after some time. Each mood has a turn in a cycle: first the candidate is so, then
// both, then the secondary; the other one is healthy.
type schedule struct{ cycle time.Duration }

func newSchedule(whole time.Duration) schedule { return schedule{min(90*time.Second, whole/2)} }

func (s schedule) at(elapsed time.Duration) (candidate, secondary mood) {
	parts := time.Duration(3 * len(moods()))
	part := int(elapsed % s.cycle * parts / s.cycle)
	m := moods()[part/3]
	switch part % 3 {
	case 0:
		return m, healthy
	case 1:
		return m, m
	default:
		return healthy, m
	}
}
