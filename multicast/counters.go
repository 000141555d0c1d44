package multicast

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"
)

// Counts is one reading of the counters, in the form of GET /api/v1/counters. At any time
// requests = Σskipped + Σdropped + compared + Σunknown + open, but for what changes while it is read; when no request is
// under way, exchanged = compared + Σunknown, and per role sent = Σoutcome.
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
	Awaited       int64                 `json:"-"`                 // exchanges in which only the candidate is waited for, for over a second
	Circuit       map[string]Circuit    `json:"circuit,omitempty"` // by role, of the configuration in force
	Record        *RecordCounts         `json:"record,omitempty"`  // nil where nothing was to be recorded
}

// ShadowLegs counts one role's legs.
type ShadowLegs struct {
	Sent    int64             `json:"sent"`
	Outcome map[Outcome]int64 `json:"outcome"`
	Paused  int64             `json:"paused,omitempty"` // exchanges dropped as circuit because this role was paused
}

// counters count every request once, in exactly one place.
type counters struct {
	started   time.Time
	requests  atomic.Int64
	open      atomic.Int64
	skipped   tally[Reason]
	dropped   tally[Reason]
	exchanged atomic.Int64
	compared  atomic.Int64
	unknown   tally[Reason]
	legs      [3]legCounters // by Role
}

type legCounters struct {
	sent     atomic.Int64
	inFlight atomic.Int64
	outcome  tally[Outcome]
	paused   atomic.Int64
}

// tally counts by word, without a lock for a word that it knows. Its zero value is ready.
type tally[K ~string] struct {
	count atomic.Pointer[map[K]*atomic.Int64]
	mu    sync.Mutex // guards replacing the map
}

func (t *tally[K]) add(word K) {
	if n := t.words()[word]; n != nil {
		n.Add(1)
		return
	}
	t.learn(word).Add(1)
}

func (t *tally[K]) words() map[K]*atomic.Int64 {
	if m := t.count.Load(); m != nil {
		return *m
	}
	return nil
}

func (t *tally[K]) learn(word K) *atomic.Int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	words := t.words()
	if words[word] == nil {
		words = maps.Clone(words)
		if words == nil {
			words = make(map[K]*atomic.Int64)
		}
		words[word] = new(atomic.Int64)
		t.count.Store(&words)
	}
	return words[word]
}

func (t *tally[K]) read() map[K]int64 {
	counts := make(map[K]int64)
	for word, n := range t.words() {
		counts[word] = n.Load()
	}
	return counts
}

// Counts reads the counters. What is placed is read before what came in, so that a reading under traffic never shows
// more requests placed than came.
func (p *Proxy) Counts() Counts {
	c := &p.counters
	counts := Counts{
		Started:   c.started,
		Skipped:   c.skipped.read(),
		Dropped:   c.dropped.read(),
		Compared:  c.compared.Load(),
		Unknown:   c.unknown.read(),
		Exchanged: c.exchanged.Load(),
		Shadow:    make(map[string]ShadowLegs, 2),
		InFlight:  make(map[string]int64, 2),
	}
	for _, role := range [...]Role{Secondary, Candidate} {
		legs := &c.legs[role]
		outcome := legs.outcome.read()
		counts.Shadow[role.String()] = ShadowLegs{Sent: legs.sent.Load(), Outcome: outcome, Paused: legs.paused.Load()}
		counts.InFlight[role.String()] = legs.inFlight.Load()
	}
	counts.Open = c.open.Load()
	counts.Requests = c.requests.Load()
	counts.Queue = int64(p.dispatcher.queued())
	counts.Awaited = p.dispatcher.awaited()
	counts.CapturedBytes = p.memory.used.Load()
	counts.Circuit = p.dispatcher.circuits(p.setup.Load())
	counts.Record = p.recordings.counts()
	return counts
}
