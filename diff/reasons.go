package diff

import (
	"fmt"
	"strings"

	"github.com/dustin/go-humanize"
)

// budget names the budget as the configuration does.
func (s *scope) budget() string { return "the budget of " + percent(s.watch.cfg.budget()) }

// place names a field for a sentence.
func (st *standing) place() string {
	if st.finding.Route == "" {
		return st.finding.Field + " on all routes together"
	}
	return st.finding.Field + " on " + st.finding.Route
}

// fault says what a deciding difference is, why no budget saves it, and how steady it is.
func (s *scope) fault(st *standing) string {
	return s.faultOf(st) + "; " + st.decides.minutes.said()
}

func (s *scope) faultOf(st *standing) string {
	r, said := st.decides, st.place()+" "
	switch {
	case r.test == TestExtent:
		return said + fmt.Sprintf("differs on both sides, in more places on the candidate's %s times and on the control's %s times",
			humanize.Comma(r.counts.CandidateOnly), humanize.Comma(r.counts.ControlOnly))
	case r.test == TestDrift:
		return said + fmt.Sprintf("has drifted: the candidate's is greater than the control's %s times and less %s times",
			humanize.Comma(r.counts.CandidateOnly), humanize.Comma(r.counts.ControlOnly))
	}
	verb := [...]string{TestValue: "differs", TestFormat: "has another format", TestType: "has another type", TestPresence: "is missing or extra"}[r.test]
	if st.row.Field == fieldTransport {
		verb = "failed"
	}
	said += fmt.Sprintf("%s on the candidate's side alone in %s of %s requests, on the control's alone in %s",
		verb, humanize.Comma(r.counts.CandidateOnly), humanize.Comma(st.n), humanize.Comma(r.counts.ControlOnly))
	budget := s.watch.cfg.budget()
	switch {
	case st.row.Field == fieldTransport, st.row.Field == fieldStatus:
		return said + "; no budget covers " + st.row.Field
	case s.watch.bets.above(r.counts.scores(st.n), r.alpha, budget):
		low, _ := s.watch.bets.interval(r.counts.scores(st.n), r.alpha)
		return said + "; in excess at least " + percentBeside(low, budget) + ", over " + s.budget()
	default:
		return said + "; strict allows none"
	}
}

// reaches says that the interval is still too wide.
func (s *scope) reaches(v *Verdict) string {
	budget := s.watch.cfg.budget()
	return "the interval reaches " + percentBeside(1-v.EquivBounds[0], budget) + ", over " + s.budget()
}

// reachesAlone says that one confirmed difference may still be over the budget.
func (s *scope) reachesAlone(st *standing) string {
	budget := s.watch.cfg.budget()
	_, high := s.watch.bets.interval(st.over.counts.scores(st.n), st.over.alpha)
	return "the confirmed difference " + st.place() + " reaches " + percentBeside(high, budget) + " of its route's requests, over " + s.budget() +
		"; " + st.over.minutes.said()
}

func (s *scope) uncontrolled() string {
	const why = "without a control nothing is ever called equivalent"
	if s.row.NoControl == s.row.Compared {
		return "there is no secondary: noise counts against the candidate, and " + why
	}
	return humanize.Comma(s.row.NoControl) + " of " + humanize.Comma(s.row.Compared) + " requests were compared without a secondary, and " + why
}

// unanswered says that what the control did not answer is no proof.
func (s *scope) unanswered() string {
	return "the control failed in " + humanize.Comma(s.silent) + " more of " + humanize.Comma(s.row.Compared) +
		" requests than the candidate: these prove nothing"
}

// leans says where the control differs and the candidate does not.
func (s *scope) leans() string {
	what, c, n := "the control alone differs", s.row.Results, s.row.Compared
	if len(s.alone) > 0 {
		st := s.alone[0]
		what, c, n = "at "+st.place()+" the control alone differs", st.alone.counts, st.n
	}
	said := fmt.Sprintf("%s in %s of %s requests, the candidate alone in %s",
		what, humanize.Comma(c.ControlOnly), humanize.Comma(n), humanize.Comma(c.CandidateOnly))
	if beyond := len(s.alone) - 1; beyond > 0 {
		said += fmt.Sprintf(" (and %s more such)", humanize.Comma(int64(beyond)))
	}
	return said + ": what the control does by itself could hide what the candidate does; is the secondary the primary's twin?"
}

// listing names some of a list.
func listing(names []string) string {
	rest := ""
	if beyond := len(names) - listed; beyond > 0 {
		names, rest = names[:listed], fmt.Sprintf(" and %s more", humanize.Comma(int64(beyond)))
	}
	return strings.Join(names, ", ") + rest
}

// noise names the field that makes most noise, and what quieting it would save.
func (s *scope) noise(more int64) string {
	st := s.noisiest
	said := fmt.Sprintf("the noise of %s (%s of its requests differ on one side only) is what keeps it from equivalent",
		st.place(), percent(ratio(st.noise(), st.n)))
	all, ok := s.quiet()
	if saved := more - all; ok && saved > more/10 {
		return said + ": quieting it would save " + about(saved) + " requests"
	}
	return said + ", together with that of other fields: quieting it alone would save little"
}

// proof says what makes the scope "equivalent".
func (s *scope) proof(v *Verdict) []string {
	budget := s.watch.cfg.budget()
	reasons := []string{"at most " + percentBeside(1-v.EquivBounds[0], budget) + " of the requests differ because of the candidate, within " + s.budget()}
	within := 0
	for _, st := range s.confirmed {
		if !st.informs() {
			within++
		}
	}
	switch {
	case within == 1:
		reasons = append(reasons, "1 confirmed difference is within it too")
	case within > 1:
		reasons = append(reasons, humanize.Comma(int64(within))+" confirmed differences are each within it too")
	}
	return reasons
}

// asides says what stands beside the verdict: what is confirmed and decides nothing, what has become worse for all three,
// and which attempt it is.
func (s *scope) asides() (said []string) {
	for _, st := range s.confirmed {
		if !st.informs() {
			continue
		}
		if len(said) == listed {
			break
		}
		what := "the bodies of " + st.finding.Route + " have drifted in size"
		if st.finding.Field == fieldLatency {
			what = st.finding.Route + " is slower than the control"
		}
		said = append(said, "beside the verdict: "+what+"; "+st.finding.said())
	}
	said = append(said, s.worse...)
	if cfg := s.watch.cfg; s.whole && cfg.Attempt > 1 {
		name := "under its name"
		if cfg.Name != "" {
			name = "named " + cfg.Name
		}
		said = append(said, fmt.Sprintf("the %s run %s: judged at alpha %.2g", humanize.Ordinal(cfg.Attempt), name, cfg.Alpha))
	}
	return said
}
