package diff

import (
	"fmt"
	"math"

	"github.com/dustin/go-humanize"
)

// erring tells whether the candidate answers with errors, or not at all, where the secondary does neither, more often
// than chance has it. It is the whole scope's: one error on each of twenty routes tells at none of them. A candidate that
// answers 503 where the secondary answers 500 has as many errors.
//
// It only holds "equivalent" back, and confirms nothing. So a route has the share of α that its result has, and all of
// them together have what their transport has.
func (s *scope) erring() bool {
	share := transportShare * s.watch.cfg.Alpha
	if !s.whole {
		share = s.alpha()
	}
	return Evidence(s.row.CandidateErrors, s.row.ControlErrors) >= -math.Log(share)
}

// ceased is how many more kept connections the candidate has ended instead of answering than the secondary, 0 where that
// may be chance. Both are given the same connections for the same time, so that what is the server's habit is
// symmetrical; a crash is not, and is seen as a failure on a fresh connection alone.
func (s *scope) ceased() int64 {
	if Evidence(s.stale.Candidate, s.stale.Control) < -math.Log(transportShare*s.watch.cfg.Alpha) {
		return 0
	}
	return s.stale.Candidate - s.stale.Control
}

// errs says how much more often the candidate answers with errors.
func (s *scope) errs() string {
	return fmt.Sprintf("the candidate alone answers with an error, or not at all, in %s of %s requests, the control alone in %s",
		humanize.Comma(s.row.CandidateErrors), humanize.Comma(s.row.Compared), humanize.Comma(s.row.ControlErrors))
}
