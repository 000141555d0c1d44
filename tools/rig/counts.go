package rig

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Counts is a reading of GET /api/v1/counters.
type Counts struct {
	Requests  int64          `json:"requests"`
	Skipped   Words          `json:"skipped"`
	Dropped   Words          `json:"dropped"`
	Exchanged int64          `json:"exchanged"`
	Compared  int64          `json:"compared"`
	Unknown   Words          `json:"unknown"`
	Shadow    map[string]Leg `json:"shadow"`
	Open      int64          `json:"open"`
	InFlight  Words          `json:"in_flight"`
	Queue     int64          `json:"queue"`
	Captured  int64          `json:"captured_bytes"`
}

// Leg counts what was sent to one shadow.
type Leg struct {
	Sent    int64 `json:"sent"`
	Outcome Words `json:"outcome"`
}

// Words are numbers by reason, outcome or role.
type Words map[string]int64

// Sum adds all numbers up.
func (w Words) Sum() (sum int64) {
	for _, n := range w {
		sum += n
	}
	return sum
}

// String lists what is not zero, the greatest first.
func (w Words) String() string {
	words := slices.SortedFunc(maps.Keys(w), func(a, b string) int {
		if w[a] != w[b] {
			return int(min(1, max(-1, w[b]-w[a])))
		}
		return strings.Compare(a, b)
	})
	var list []string
	for _, word := range words {
		if w[word] != 0 {
			list = append(list, fmt.Sprintf("%s %d", word, w[word]))
		}
	}
	if list == nil {
		return "none"
	}
	return strings.Join(list, ", ")
}

// Minus is what was counted since an earlier reading.
func (w Words) Minus(before Words) Words {
	since := make(Words)
	for word, n := range w {
		if n != before[word] {
			since[word] = n - before[word]
		}
	}
	return since
}

// Sampled is how many requests were to be shadowed: exchanged, or dropped before.
func (c Counts) Sampled() int64 { return c.Exchanged + c.Dropped.Sum() }

// Since is what was counted after an earlier reading. What is no count, such as the queue, is as it stands.
func (c Counts) Since(before Counts) Counts {
	since := c
	since.Requests -= before.Requests
	since.Exchanged -= before.Exchanged
	since.Compared -= before.Compared
	since.Skipped = c.Skipped.Minus(before.Skipped)
	since.Dropped = c.Dropped.Minus(before.Dropped)
	since.Unknown = c.Unknown.Minus(before.Unknown)
	since.Shadow = make(map[string]Leg)
	for role, leg := range c.Shadow {
		old := before.Shadow[role]
		since.Shadow[role] = Leg{Sent: leg.Sent - old.Sent, Outcome: leg.Outcome.Minus(old.Outcome)}
	}
	return since
}

// Faults tells what is wrong with the counters of a proxy through which nothing goes: where the counting identity is
// broken, and what is still held.
func (c Counts) Faults() []string {
	var faults []string
	equal := func(what string, left, right int64) {
		if left != right {
			faults = append(faults, fmt.Sprintf("%s: %d and %d, %+d", what, left, right, left-right))
		}
	}
	equal("requests = skipped + dropped + exchanged", c.Requests, c.Skipped.Sum()+c.Dropped.Sum()+c.Exchanged)
	equal("exchanged = compared + unknown", c.Exchanged, c.Compared+c.Unknown.Sum())
	for _, role := range slices.Sorted(maps.Keys(c.Shadow)) {
		equal(role+": sent = outcomes", c.Shadow[role].Sent, c.Shadow[role].Outcome.Sum())
	}
	equal("open", c.Open, 0)
	equal("in flight", c.InFlight.Sum(), 0)
	equal("queue", c.Queue, 0)
	equal("captured bytes", c.Captured, 0)
	return faults
}
