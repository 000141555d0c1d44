package multicast

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
)

// Play asks the primary, the secondary and the candidate what was recorded, all at one moment and in random order, and
// waits until the exchange was delivered, as that of a client's request is: by Deps.Deliver, and with its place in the
// counts. It answers with the reason for which the request is not compared; none when it is.
//
// With an answer the primary is not asked: what it said when the request was recorded stands for it.
//
// Nothing is sampled, and nothing waits in a queue: whoever plays decides how many are under way. A shadow that fails is
// never paused, since what is not asked now will not be asked later. When ctx ends, what is under way is cancelled. Run must
// run.
func (p *Proxy) Play(ctx context.Context, req *Request, answer *Response) Reason {
	p.counters.requests.Add(1)
	f, err := p.newAsk(req)
	if err != nil {
		return p.left(err)
	}
	var primary *shadow
	if answer == nil {
		if primary, err = p.inquiries.wayToPrimary(p, f.setup); err != nil {
			f.account.close()
			return p.left(err)
		}
	}
	if err := p.dispatcher.enter(f); err != nil {
		f.account.close()
		return p.left(err)
	}
	p.counters.open.Add(1)
	p.counters.exchanged.Add(1)
	stop := context.AfterFunc(ctx, func() { f.fail(ReasonCancelled) })
	f.play(primary, answer)
	stop()
	return f.delivery()
}

// left counts a request that nobody was asked.
func (p *Proxy) left(err error) Reason {
	reason := ReasonPanic
	if not, is := err.(*NotAsked); is {
		reason = not.Reason
	}
	switch reason {
	case ReasonQueue, ReasonMemory:
		p.counters.dropped.add(reason)
	default:
		p.counters.skipped.add(reason)
	}
	return reason
}

// enter lets a request be played, if shadows are asked at all.
func (d *dispatcher) enter(f *flight) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.running || !d.enabled {
		return &NotAsked{ReasonDisabled, "shadowing is switched off"}
	}
	d.asked[f] = struct{}{}
	return nil
}

// play asks all who are to be asked, and waits for them.
func (f *flight) play(primary *shadow, answer *Response) {
	if answer != nil {
		f.mu.Lock()
		f.ex.Responses[Primary], f.answered = *answer, true
		f.mu.Unlock()
	}
	asked := []*shadow{primary, f.setup.shadows[Secondary], f.setup.shadows[Candidate]}
	rand.Shuffle(len(asked), func(i, j int) { asked[i], asked[j] = asked[j], asked[i] })
	var legs sync.WaitGroup
	for _, s := range asked {
		switch {
		case s == nil: // there may be no secondary, and the primary need not be asked
		case s.role == Primary:
			legs.Go(func() { f.askAgain(s) })
		default:
			legs.Go(func() { f.playLeg(s) })
		}
	}
	legs.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ex.Unknown = f.verdict(); f.ex.Unknown == "" {
		f.ex.Unknown = f.unfitPrimary()
	}
	f.phase, f.legs = ended, 0
}

// playLeg is a shadow's leg with its place in the counts.
func (f *flight) playLeg(s *shadow) {
	legs := &f.proxy.counters.legs[s.role]
	legs.sent.Add(1)
	legs.inFlight.Add(1)
	f.askAgain(s)
	res := &f.ex.Responses[s.role]
	legs.outcome.add(res.Outcome)
	legs.inFlight.Add(-1)
	if observe := f.proxy.deps.ObserveShadow; observe != nil {
		observe(s.role, res.Outcome, res.Duration)
	}
}

// delivery hands the exchange to the comparers and waits for them.
func (f *flight) delivery() Reason {
	done := make(chan struct{})
	var reason atomic.Pointer[Reason]
	deliver := f.proxy.receiver(f.setup)
	f.deliver = func(ex *Exchange) {
		defer close(done)
		panicked := ReasonPanic
		reason.Store(&panicked)
		if deliver != nil {
			deliver(ex)
		}
		unknown := ex.Unknown
		reason.Store(&unknown)
	}
	f.proxy.comparers.add(f)
	<-done
	return *reason.Load()
}
