package multicast

import "time"

// Counts is one reading of the counters, in the form of GET /api/v1/counters. When no request is under way:
// requests = Σskipped + Σdropped + exchanged, exchanged = compared + Σunknown, and per role sent = Σoutcome.
type Counts struct {
	Started       time.Time             `json:"started"`
	Requests      int64                 `json:"requests"`
	Skipped       map[Reason]int64      `json:"skipped"`
	Dropped       map[Reason]int64      `json:"dropped"`
	Exchanged     int64                 `json:"exchanged"`
	Compared      int64                 `json:"compared"`
	Unknown       map[Reason]int64      `json:"unknown"`
	Shadow        map[string]ShadowLegs `json:"shadow"` // by role
	Open          int64                 `json:"open"`   // requests whose place is not decided yet
	InFlight      map[string]int64      `json:"in_flight"`
	Queue         int64                 `json:"queue"`
	CapturedBytes int64                 `json:"captured_bytes"`
}

// ShadowLegs counts one role's legs.
type ShadowLegs struct {
	Sent    int64             `json:"sent"`
	Outcome map[Outcome]int64 `json:"outcome"`
}
