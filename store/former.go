package store

import (
	"context"
	"time"

	"shadowdiff/diff"
)

// steadyFor is how long profiles and attributes stand with the snapshot after somebody has asked for that.
const steadyFor = 2 * time.Minute

// former are copies of profiles and attributes from before they changed: as they were at one cut of the counts. A part that is
// not among them is as it was. A nil one was not there.
type former struct {
	profiles   map[diff.FieldAddress]*diff.FieldProfile
	attributes map[string]*diff.RouteAttributes
}

func newFormer() *former {
	return &former{map[diff.FieldAddress]*diff.FieldProfile{}, map[string]*diff.RouteAttributes{}}
}

// steadiness has what is read of a profile ledger be of the moment of the latest snapshot, though counting goes on.
type steadiness struct {
	until time.Time // as long as somebody looks
	begun time.Time // when the first one to look did
	shown *former   // since the cut that the latest snapshot shows; nil: nobody looks
	next  *former   // since the last cut, which is not shown yet
	cut   bool      // there was one since the snapshot
}

// steadyWait is the longest that Steady waits for a flush. One of a large store that is written into all the time may take a
// second, and nobody is to wait for a page that long.
const steadyWait = 30 * time.Millisecond

// Steady has Profile and Attributes of the run in force tell of the moment of the latest snapshot from now on, for two
// minutes, so that their numbers may stand beside each other. Who reads a snapshot calls it before. The first one to look
// has the store flush, and waits for that a moment at most: where it takes longer, the numbers agree with the next
// snapshot, and nobody waits again.
func (db *DB) Steady(ctx context.Context) {
	l := db.ledgers.current()
	if l == nil {
		return
	}
	wait := l.profiles.look()
	if wait <= 0 {
		return
	}
	stands := make(chan struct{})
	go func() {
		defer close(stands)
		db.steady(context.WithoutCancel(ctx), l)
	}()
	patience := time.NewTimer(wait)
	defer patience.Stop()
	select {
	case <-stands:
	case <-patience.C:
	case <-ctx.Done():
	}
}

// steady flushes if anything has been counted since the last snapshot: one that was cut before somebody looked holds nothing.
func (db *DB) steady(ctx context.Context, l *ledger) {
	db.flushing.Lock()
	defer db.flushing.Unlock()
	if !l.standsStill() {
		_ = db.flush(ctx, time.Now().Add(packFor)) // what goes wrong is in Health
	}
}

// Moment is the latest snapshot with the profile of a field and the attributes of its route as they were at that moment, if
// Steady was called; nil where there are none.
func (db *DB) Moment(route, field string) (*Snapshot, *diff.FieldProfile, *diff.RouteAttributes) {
	db.showing.RLock()
	defer db.showing.RUnlock()
	snap := db.snapshot.Load()
	l := db.ledgers.get(snap.Run.ID)
	if l == nil {
		return snap, nil, nil
	}
	return snap, l.profiles.profileOf(route, field), l.profiles.attributesOf(route)
}

// look notes that somebody looks, and answers how long to wait until what is read is steady: 0 if it is, or if those who have
// looked before have waited long enough.
func (p *profileLedger) look() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	now, s := time.Now(), &p.steady
	if now.After(s.until) {
		s.begun = now
	}
	s.until = now.Add(steadyFor)
	if s.shown != nil {
		return 0
	}
	return steadyWait - now.Sub(s.begun)
}

// standsStill begins to hold what changes if nothing has been counted since the last cut, which is the one shown.
func (l *ledger) standsStill() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.profiles.mu.Lock()
	defer l.profiles.mu.Unlock()
	s := &l.profiles.steady
	if s.shown == nil && !l.fresh && !s.cut {
		s.shown = newFormer()
	}
	return s.shown != nil
}

// beginCut is called when the counts are cut.
func (p *profileLedger) beginCut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := &p.steady
	if s.cut, s.next = true, nil; time.Now().Before(s.until) {
		s.next = newFormer()
	}
}

// show is called when a snapshot shows the last cut.
func (p *profileLedger) show() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := &p.steady; s.cut {
		s.shown, s.next, s.cut = s.next, nil, false
	}
}

// hold copies what is about to change. The caller holds mu.
func (p *profileLedger) hold(route string, fields ...string) {
	for _, h := range [...]*former{p.steady.shown, p.steady.next} {
		if h == nil {
			continue
		}
		if _, has := h.attributes[route]; !has {
			h.attributes[route] = p.attributes.Route(route)
		}
		for _, field := range fields {
			at := diff.FieldAddress{Route: route, Field: field}
			if _, has := h.profiles[at]; !has {
				h.profiles[at] = p.profiles.Profile(route, field)
			}
		}
	}
}

// holdAll copies all that there is of a route before it becomes part of another. The caller holds mu.
func (p *profileLedger) holdAll(route string) {
	if p.steady.shown != nil || p.steady.next != nil {
		p.hold(route, p.profiles.Fields(route)...)
	}
}

// letGo forgets all copies: what they hold is to be kept no longer. The caller holds mu.
func (p *profileLedger) letGo() {
	for _, h := range [...]**former{&p.steady.shown, &p.steady.next} {
		if *h != nil {
			*h = newFormer()
		}
	}
}

// profileOf is a copy of a profile as the latest snapshot has it; nil when there is none.
func (p *profileLedger) profileOf(route, field string) *diff.FieldProfile {
	p.mu.Lock()
	defer p.mu.Unlock()
	if h := p.steady.shown; h != nil {
		if f, has := h.profiles[diff.FieldAddress{Route: route, Field: field}]; has && f != nil {
			return f.Clone()
		} else if has {
			return nil
		}
	}
	return p.profiles.Profile(route, field)
}

// attributesOf is likewise a copy of the attributes of a route.
func (p *profileLedger) attributesOf(route string) *diff.RouteAttributes {
	p.mu.Lock()
	defer p.mu.Unlock()
	if h := p.steady.shown; h != nil {
		if r, has := h.attributes[route]; has && r != nil {
			return r.Clone()
		} else if has {
			return nil
		}
	}
	return p.attributes.Route(route)
}
