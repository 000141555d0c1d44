package multicast

import (
	"cmp"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// flight is one sampled request from its arrival to its place in the counts. The client's goroutine, the primary's
// transport and the legs tell it what they see; none of them ever waits for another.
//
//	travelling ──► queued ──► asked ──► ended
//	     │            │                   ▲
//	     └────────────┴───────────────────┘ skipped, dropped
type flight struct {
	proxy   *Proxy
	setup   *setup
	route   *route
	deliver Deliver
	account account
	recall  recall      // of the legs
	rooms   [3][]byte   // of the responses' bodies, by Role; given back at the end
	came    [3]progress // of the legs

	// What the shadows are asked; set before the primary is asked and not changed after.
	header  http.Header // as sent to the primary
	url     *url.URL    // the client's
	path    string      // as the client sent it
	length  int64       // of the request body; -1: unknown
	trails  []string    // the trailers that were announced
	started time.Time   // when the primary was asked

	mu       sync.Mutex // guards what follows
	phase    phase
	ex       Exchange
	reason   Reason  // the first one found after the shadows were asked
	request  capture // the request body
	whole    bool    // the request body was read to its end
	answer   capture // the primary's body
	answered bool    // nothing more comes from the primary
	legs     int     // shadows under way
	begun    time.Time
	home     [3]bool // by Role: the shadow's answer is there
	waiting  time.Time
	patience *time.Timer // runs while only the primary is waited for
}

type phase uint8

const (
	travelling phase = iota // to the primary; no shadow was asked
	queued                  // for the shadows
	asked
	ended // counted, or about to be: nothing that comes later matters
)

// drop ends a flight whose shadows were not asked, and does nothing to one that has ended or whose shadows were.
func (f *flight) drop(reason Reason) (dropped bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	dropped = f.phase == travelling || f.phase == queued
	if dropped {
		f.place(&f.proxy.counters.dropped, reason)
	}
	return dropped
}

// place ends a flight whose shadows were not asked. The caller holds mu.
func (f *flight) place(count *tally[Reason], reason Reason) {
	f.phase = ended
	f.request.free()
	f.answer.free()
	f.account.close()
	count.add(reason)
	f.proxy.counters.open.Add(-1)
}

// clear gives back the room of the responses' bodies, when the exchange was delivered and nobody looks at them any more. The
// request's is left to the collector: a transport may read it after its leg has ended (golang.org/issue/46866).
func (f *flight) clear() {
	for role, room := range f.rooms {
		f.proxy.memory.stock.give(room)
		f.rooms[role], f.ex.Responses[role].Body = nil, nil
	}
}

// fail says that the exchange cannot be judged. Before the shadows were asked it is skipped, or dropped for want of
// memory; afterwards they are cancelled and it is unknown.
func (f *flight) fail(reason Reason) {
	f.mu.Lock()
	before := f.phase
	switch {
	case before == ended:
	case before == asked:
		f.reason = cmp.Or(f.reason, reason)
	case reason == ReasonMemory:
		f.place(&f.proxy.counters.dropped, reason)
	case reason == ReasonPrimaryIncomplete:
		f.place(&f.proxy.counters.skipped, ReasonPrimaryFailed)
	default:
		f.place(&f.proxy.counters.skipped, reason)
	}
	f.mu.Unlock()
	switch before {
	case asked:
		f.recall.give()
		f.settle()
	case queued:
		f.proxy.dispatcher.remove(f)
	}
}

// begin makes the flight one whose shadows are asked; it answers false if it has ended meanwhile.
func (f *flight) begin(legs int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.phase == ended {
		return false
	}
	f.phase, f.legs, f.begun = asked, legs, time.Now()
	f.proxy.counters.exchanged.Add(1)
	return true
}

// landed takes note that the answer of one shadow is there.
func (f *flight) landed(role Role) {
	f.mu.Lock()
	f.legs--
	f.home[role] = true
	f.mu.Unlock()
	f.settle()
}

// awaits reports whether only the candidate is waited for, and has been asked before a moment.
func (f *flight) awaits(before time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.phase == asked && f.legs == 1 && !f.home[Candidate] && f.begun.Before(before)
}

// settle hands the exchange on once nothing more is waited for. An exchange that cannot be judged waits for no primary,
// and one that only the primary keeps from its end waits for a timeout and no longer.
func (f *flight) settle() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.phase != asked || f.legs > 0 {
		return
	}
	if !f.answered && f.reason == "" {
		if f.patience == nil {
			f.patience = time.AfterFunc(f.route.longest(), func() { f.fail(ReasonPrimaryIncomplete) })
		}
		return
	}
	f.phase = ended
	if f.patience != nil {
		f.patience.Stop()
	}
	if !f.answered {
		f.landAnswer(OutcomeReset, "not whole")
	}
	f.recall.give()
	f.ex.Unknown = f.verdict()
	f.proxy.comparers.add(f)
}

// landAnswer closes the primary's part. The caller holds mu.
func (f *flight) landAnswer(outcome Outcome, detail string) {
	f.answered = true
	res := &f.ex.Responses[Primary]
	res.Outcome, res.Detail = outcome, detail
	res.Duration = time.Since(f.started)
	f.answer.into(res)
	f.rooms[Primary] = res.Body
}

// expected is how long the primary's body is, or, before it is whole, is said to be. It answers false when nobody knows.
func (f *flight) expected() (int64, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.answered {
		return f.ex.Responses[Primary].Size, true
	}
	return f.answer.announced, f.answer.announced > 0
}

// verdict says why the exchange cannot be judged, if it cannot. The caller holds mu.
func (f *flight) verdict() Reason {
	if f.reason != "" {
		return f.reason
	}
	primary, asked, failed := &f.ex.Responses[Primary], 0, 0
	var stale, oversize, cancelled bool
	for _, role := range [...]Role{Secondary, Candidate} {
		switch res := &f.ex.Responses[role]; res.Outcome {
		case "":
			continue
		case OutcomeOK:
		case OutcomeOversize:
			// Longer than the primary's is a difference; how much longer does not matter.
			oversize = oversize || primary.Size >= res.Size
		case OutcomeStale:
			stale = true
		case OutcomeCancelled:
			cancelled = true
		default:
			failed++
		}
		asked++
	}
	switch {
	case cancelled:
		return ReasonCancelled
	case stale:
		return ReasonStale
	case oversize:
		return ReasonOversize
	case failed == 2 && asked == 2:
		return ReasonShadowsFailed
	case f.ex.strayed(f.setup.lineage):
		return ReasonLineage
	}
	return ""
}
