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
func disagreementOf(t *diff.FieldTally, compared int64, uncontrolled bool) *disagreement {
	if t == nil || t.Raw == 0 && t.Noise == 0 {
		return nil
	}
	d := &disagreement{
		Candidate: share(t.Raw, compared), Control: share(t.Noise, compared), raw: float64(t.Raw), noise: float64(t.Noise),
	}
	if uncontrolled {
		d.Control = noControl
	}
	return d
}

// disagreementAt is the same of what a difference is told by: where that is another shape, type or presence, the requests
// that differ in a lesser way do not count, as they do not for its evidence.
func disagreementAt(t *diff.FieldTally, f *diff.Finding) *disagreement {
	if t == nil || f.Kind == diff.TestValue || f.Kind >= diff.TestExtent {
		return disagreementOf(t, f.Compared, f.NoControl)
	}
	c := t.Tests[f.Kind].Counts
	return disagreementOf(&diff.FieldTally{Raw: c.CandidateOnly + c.Both, Noise: c.ControlOnly + c.Both}, f.Compared, f.NoControl)
}

// noControl stands where what the control does would, had a secondary been asked. The template "control" says so.
const noControl = "—"

// noiseRate is nil where no secondary was asked: then there is none to tell of.
func noiseRate(v *diff.Verdict) *float64 {
	if !v.Controlled() {
		return nil
	}
	rate := v.NoiseRate
	return &rate
}

// noiseShare is the same for people.
func noiseShare(v *diff.Verdict) string {
	if !v.Controlled() {
		return noControl
	}
	return shareOf(v.NoiseRate, v.Compared)
}
