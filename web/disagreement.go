package web

import "shadowdiff/diff"

// disagreement is how often the two shadows differ from the primary at a field, whichever test is shown of it: the counts
// of extent and drift are leanings, and no control has disagreed for being the lesser one.
type disagreement struct {
	Candidate, Control string // rates
	Bar                bar

	raw, noise float64
}

// disagreementOf is nil for what does not disagree, but only leans: a size, a latency.
func disagreementOf(t *diff.FieldTally, compared int64) *disagreement {
	if t == nil || t.Raw == 0 && t.Noise == 0 {
		return nil
	}
	return &disagreement{
		Candidate: share(t.Raw, compared), Control: share(t.Noise, compared), raw: float64(t.Raw), noise: float64(t.Noise),
	}
}
