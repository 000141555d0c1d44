package diff

import "math"

const (
	// trait is the ln E from which the instances are taken to differ by themselves, as pids and clocks do: E = 20.
	trait = 2.995732
	// stateful is how many standard deviations fewer turns than chance would have are taken for state.
	stateful = 3
)

// countTrait counts where the secondary stands beside the primary: greater, 1, or less, -1.
func (f *FieldTally) countTrait(sign int8) {
	if sign == 0 {
		return
	}
	tick(&f.TraitGreater, sign > 0)
	tick(&f.TraitLess, sign < 0)
	tick(&f.TraitTurns, f.TraitLast == -sign)
	f.TraitLast = sign
}

// lopsided tells whether the secondary lies to one side of the primary by itself: then a drift of the candidate says
// nothing.
func (f *FieldTally) lopsided() bool { return EvidenceTwoSided(f.TraitGreater, f.TraitLess) >= trait }

// anew is how much of one more request is news for a drift. What instances keep for a while, as each its own cache, makes
// the secondary greater than the primary for a stretch of requests, and then less for another; so it does with the
// candidate, and a stretch says no more than a request does that stands alone. Where the secondary turns as often as
// independent requests would, it is 1. Else it is (1−ρ)/(1+ρ), ρ being the correlation of neighbours: so many independent
// requests have a sum that varies as much.
//
// Source: Bayley and Hammersley, "The effective number of independent observations in an autocorrelated time series" (1946).
func (f *FieldTally) anew() float64 {
	g, l := float64(f.TraitGreater), float64(f.TraitLess)
	if g == 0 || l == 0 {
		return 1
	}
	n := g + l
	kept := 1 - float64(f.TraitTurns)*n/(2*g*l)
	if kept*math.Sqrt(n) < stateful {
		return 1
	}
	return (1 - kept) / (1 + kept)
}

// EvidenceOfDrift is the ln E of a field's drift; −Inf where the instances lie to one side of each other by themselves.
func (f *FieldTally) EvidenceOfDrift() float64 {
	if f.lopsided() {
		return math.Inf(-1)
	}
	c := f.Tests[TestDrift].Counts
	return evidenceAnew(c.CandidateOnly, c.ControlOnly, f.anew())
}

// evidenceAnew is EvidenceTwoSided where of each count only a part is news.
func evidenceAnew(b, c int64, part float64) float64 {
	return EvidenceTwoSided(int64(part*float64(b)), int64(part*float64(c)))
}
