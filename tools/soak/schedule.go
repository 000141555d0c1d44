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

// every tells how many requests a mood lets pass for each that it spoils in a mild cycle. What ends in a timeout spoils
// few, or it would hold every connection; what fails at once more, but never so many running that the proxy leaves
// the shadow alone.
func (m mood) every() int64 {
	switch m {
	case healthy, slow:
		return 1
	case reset, cut, garbage, heads, flapping, refusing:
		return 4
	default:
		return 32
	}
}

// schedule tells how the shadows behave after some time. Each mood has a turn in a cycle: first the candidate is so, then
// both, then the secondary; the other one is healthy. Most cycles are mild: a mood spoils some of the requests, so that
// shadowing goes on. Each fourth, from the second on, is harsh: it spoils all, and the proxy pauses the shadow.
type schedule struct{ cycle time.Duration }

func newSchedule(whole time.Duration) schedule { return schedule{min(90*time.Second, whole/2)} }

func (s schedule) at(elapsed time.Duration) (candidate, secondary mood, harsh bool) {
	harsh = int(elapsed/s.cycle)%4 == 1
	parts := time.Duration(3 * len(moods()))
	part := int(elapsed % s.cycle * parts / s.cycle)
	m := moods()[part/3]
	switch part % 3 {
	case 0:
		return m, healthy, harsh
	case 1:
		return m, m, harsh
	default:
		return healthy, m, harsh
	}
}
