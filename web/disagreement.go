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

// disagree fills in how often the fields of one route disagree; their bars have one scale.
func (v *findingsView) disagree(tally func(field string) *diff.FieldTally) {
	most := 0.0
	lists := [][]findingView{v.Confirmed, v.Suspected, v.Rest}
	for _, list := range lists {
		for i := range list {
			f := &list[i]
			if f.Disagrees = disagreementOf(tally(f.Field), f.Compared); f.Disagrees != nil {
				most = max(most, f.Disagrees.raw, f.Disagrees.noise)
			}
		}
	}
	for _, list := range lists {
		for _, f := range list {
			if d := f.Disagrees; d != nil {
				d.Bar = barOf(d.raw, d.noise, most)
			}
		}
	}
}
