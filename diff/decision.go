package diff

import (
	"time"

	"github.com/dustin/go-humanize"
)

// listed is how many differences a verdict's reasons name before they are only counted.
const listed = 3

// decide finds the word, the reasons for it, and what is missing.
func (s *scope) decide(v *Verdict) {
	if v.Reasons = s.faults(v); len(v.Reasons) > 0 {
		v.Word = Different
	} else {
		more, ok := s.forecast()
		if ok && s.row.NoControl == 0 && !s.lopsided() && !s.slow() && len(s.slowed) == 0 {
			v.MoreNeeded = &more
		}
		if v.Reasons = s.missing(v); len(v.Reasons) > 0 {
			v.Word = Undecided
		} else {
			v.Word, v.Reasons = Equivalent, s.proof(v)
		}
	}
	if v.Word == Different {
		v.Reasons = append(v.Reasons, s.too()...)
	}
	s.calibrated(v)
	v.Reasons = append(v.Reasons, s.asides()...)
}

// too says what would keep a scope that is "different" from "equivalent" as well.
func (s *scope) too() (said []string) {
	if s.erring() {
		said = append(said, "beside the verdict: "+s.errs())
	}
	if s.slow() {
		said = append(said, "beside the verdict: "+s.tooSlow())
	}
	return said
}

// faults says what makes the scope "different".
func (s *scope) faults(v *Verdict) (reasons []string) {
	beyond := 0
	for _, st := range s.confirmed {
		switch {
		case st.decides == nil:
		case len(reasons) < listed:
			reasons = append(reasons, s.fault(st))
		default:
			beyond++
		}
	}
	if beyond > 0 {
		reasons = append(reasons, humanize.Comma(int64(beyond))+" more confirmed differences decide it as well")
	}
	budget := s.watch.cfg.budget()
	if seen := s.seen(); seen > 0 && s.watch.bets.above(s.scores(), s.alpha(), budget*seen) {
		reasons = append(reasons, "at least "+percentBeside(1-v.EquivBounds[1], budget)+
			" of the requests differ because of the candidate, over "+s.budget())
	}
	return reasons
}

// missing says what stands between the counts and "equivalent".
func (s *scope) missing(v *Verdict) (reasons []string) {
	say := func(reason string) { reasons = append(reasons, reason) }
	if s.row.Compared == 0 {
		return []string{"nothing has been compared yet"}
	}
	if s.row.NoControl > 0 {
		say(s.uncontrolled())
	}
	proven := s.proven()
	if !proven && (s.silent <= 0 || 1-v.EquivBounds[0] > s.watch.cfg.budget()) {
		say(s.reaches(v))
	}
	switch {
	case proven:
	case s.silent > 0:
		say(s.unanswered())
	case s.seen() <= 0:
		say("in every request the control differs at some field more than the candidate does: such noise leaves nothing to judge")
	}
	if s.lopsided() {
		say(s.leans())
	}
	for _, st := range s.confirmed {
		if st.over != nil {
			say(s.reachesAlone(st))
		}
	}
	reasons = append(reasons, s.spoilt()...)
	if said, over := s.lost(v); over {
		say(said)
	}
	if s.owed {
		say("the run has lost more exchanges by the candidate's doing than " + s.budget() + " allows, and some may have been this route's")
	}
	reasons = append(reasons, s.unfinished()...)
	if !proven && v.MoreNeeded != nil && s.priced(*v.MoreNeeded) {
		say(s.noise(*v.MoreNeeded))
	}
	return reasons
}

// spoilt says what is worse at the candidate, on all routes together or on some by themselves, than "equivalent" admits.
func (s *scope) spoilt() (reasons []string) {
	if len(s.different) > 0 {
		reasons = append(reasons, "different by themselves: "+listing(s.different))
	}
	if s.erring() {
		reasons = append(reasons, s.errs())
	}
	if len(s.erred) > 0 {
		reasons = append(reasons, "the candidate answers with more errors than the control on "+listing(s.erred))
	}
	if said := s.tooSlow(); said != "" {
		reasons = append(reasons, said)
	}
	if len(s.slowed) > 0 {
		reasons = append(reasons, "over max_latency_ratio by themselves: "+listing(s.slowed))
	}
	return reasons
}

// unfinished says what the configuration wants to be watched still.
func (s *scope) unfinished() (reasons []string) {
	row, cfg := s.row, s.watch.cfg
	if row.Compared < cfg.MinCompared {
		reasons = append(reasons, humanize.Comma(cfg.MinCompared)+" requests are to be compared, so far it is "+humanize.Comma(row.Compared))
	}
	if lasted := row.Last.Sub(row.First); lasted < cfg.MinDuration {
		reasons = append(reasons, "traffic is to be watched for "+cfg.MinDuration.String()+", so far it is "+lasted.Truncate(time.Second).String())
	}
	return reasons
}

// lost tells whether more exchanges were lost by the candidate's doing than the budget allows. A candidate that is paused
// is not asked what it cannot answer: that is the run's affair, since nobody knows which routes these would have been.
func (s *scope) lost(v *Verdict) (said string, over bool) {
	lost, why := s.row.Unknown["oversize"]+s.row.Unknown["panic"], "oversize, panic"
	if s.paused > 0 {
		lost, why = lost+s.paused, why+", or dropped while the candidate was paused"
	}
	if s.awaited > 0 {
		lost, why = lost+s.awaited, why+", or waiting for the candidate alone"
	}
	if n := s.ceased(); n > 0 {
		lost, why = lost+n, why+", or kept connections that the candidate ended more often than the control"
	}
	said = humanize.Comma(lost) + " exchanges could not be judged (" + why + "), more than " + s.budget() + " allows"
	return said, float64(lost) > s.watch.cfg.budget()*float64(s.row.Compared+v.Unknown+s.paused+s.awaited)
}

// owes tells whether what is lost without a route, by the candidate's doing, is more than the budget allows: then no route
// is proven by itself either.
func (s *scope) owes() bool {
	lost, all := s.paused+s.awaited+s.ceased(), s.row.Compared+s.paused+s.awaited
	for _, n := range s.row.Unknown {
		all += n
	}
	return lost > 0 && float64(lost) > s.watch.cfg.budget()*float64(all)
}

// priced tells whether noise is what the proof costs so much for: a new run without any would be quicker.
func (s *scope) priced(more int64) bool {
	if s.noisiest == nil || s.noisiest.noise() == 0 {
		return false
	}
	free, ok := leastMore(func(m float64) bool {
		return s.watch.bets.atMost(scores{0, m, 0}, s.watch.cfg.Alpha, s.watch.cfg.budget())
	})
	return ok && more > free
}
