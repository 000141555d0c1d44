package diff

import (
	"cmp"
	"maps"
	"slices"

	"shadowdiff/multicast"
)

// FieldSize is the field in which a body's decoded size may drift. It informs and decides nothing.
const FieldSize = "size"

// judge puts what was found in both comparisons side by side. The candidate is up if its level is above the control's
// at some field, and the control likewise.
func (out *Comparison) judge(candidate, control *found) {
	out.Candidate, out.Control = candidate.differences, control.differences
	out.Cut = candidate.cut || control.cut
	out.Raw, out.Noise = len(candidate.sums) > 0, len(control.sums) > 0
	fields := map[string]*FieldComparison{}
	for field, s := range candidate.sums {
		f := fieldAt(fields, field)
		f.Candidate, f.CandidatePlaces = s.level, s.extent()
	}
	for field, s := range control.sums {
		f := fieldAt(fields, field)
		f.Control, f.ControlPlaces = s.level, s.extent()
	}
	for _, f := range fields {
		out.CandidateUp = out.CandidateUp || f.Candidate > f.Control
		out.ControlUp = out.ControlUp || f.Control > f.Candidate
	}
	out.Result = result(out.Raw || out.Noise, out.CandidateUp, out.ControlUp)
	out.list(fields)
}

func result(differs, candidateUp, controlUp bool) Result {
	switch {
	case candidateUp && !controlUp:
		return CandidateOnly
	case controlUp && !candidateUp:
		return ControlOnly
	case differs:
		return Both
	}
	return Agree
}

// drift adds who is greater where: in the bodies, and in their sizes.
func (out *Comparison) drift(candidate, control *found, sizes [3]int64) {
	fields := map[string]*FieldComparison{}
	for i := range out.Fields {
		fields[out.Fields[i].Field] = &out.Fields[i]
	}
	for field, sign := range drifts(candidate, control) {
		fieldAt(fields, field).Drift = sign
	}
	for field, sign := range traits(control) {
		fieldAt(fields, field).Trait = sign
	}
	p, s, c := sizes[multicast.Primary], sizes[multicast.Secondary], sizes[multicast.Candidate]
	if min(p, s, c) >= 0 && (c != s || s != p) {
		f := fieldAt(fields, FieldSize)
		f.Drift, f.Trait = int8(cmp.Compare(c, s)), int8(cmp.Compare(s, p))
	}
	out.list(fields)
}

func fieldAt(fields map[string]*FieldComparison, field string) *FieldComparison {
	f := fields[field]
	if f == nil {
		f = &FieldComparison{Field: field}
		fields[field] = f
	}
	return f
}

func (out *Comparison) list(fields map[string]*FieldComparison) {
	if len(fields) == 0 {
		return
	}
	list := make([]FieldComparison, 0, len(fields))
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		list = append(list, *fields[field])
	}
	out.Fields = list
}
