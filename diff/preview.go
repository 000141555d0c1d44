package diff

import (
	"cmp"
	"slices"
	"strings"

	"shadowdiff/multicast"
)

// Preview tells what other rules would make of exchanges that are kept: each is compared under the rules in force and under
// the others, and what comes out differently is counted by field. It keeps no exchange. It is for one goroutine.
type Preview struct {
	before, after *Comparer
	counts        PreviewCounts
	fields        map[fieldKey]*PreviewField
}

// PreviewCounts is what a preview says of whole requests.
type PreviewCounts struct {
	Compared int            // exchanges
	Changed  int            // of these, in which anything comes out differently
	Unknown  int            // beside these: they cannot be judged
	Before   map[Result]int // what they say as a whole under the rules in force
	After    map[Result]int // and under the others
}

// PreviewField is what a preview says of one field.
type PreviewField struct {
	Route, Field string
	Changed      int          // exchanges in which anything comes out differently here
	Candidate    PreviewCount // exchanges in which the candidate differs from the primary
	Control      PreviewCount // likewise the secondary
	Drift        PreviewCount // in which candidate and secondary differ in size
	Shows        int          // in which the candidate would differ and the secondary not, or less gravely, and that is not so yet
	Hides        int          // in which it is so, and would not be
	Hidden       int64        // the first of the latter; 0: there is none
	Samples      []int64      // some of those that come out differently, as they came
}

// PreviewCount counts exchanges.
type PreviewCount struct {
	Before int // in which there is a difference under the rules in force
	Vanish int // of these, in which there would be none
	Change int // of these, in which there would be another: a kind, a place or a value
	Appear int // in which there would be one, and is none yet
}

// After is how many exchanges would have a difference.
func (c PreviewCount) After() int { return c.Before - c.Vanish + c.Appear }

// previewSamples is how many exchanges are named for a field.
const previewSamples = 20

type fieldKey struct{ route, field string }

// NewPreview holds the rules of one Comparer against those of another. Both learn from what they compare, so they should
// be none that serve.
func NewPreview(before, after *Comparer) *Preview {
	return &Preview{
		before: before, after: after, fields: map[fieldKey]*PreviewField{},
		counts: PreviewCounts{Before: map[Result]int{}, After: map[Result]int{}},
	}
}

// Add compares one exchange twice. The id is what it is called in Samples, the route what it is counted under.
func (p *Preview) Add(id int64, route string, ex *multicast.Exchange) {
	first, second := *ex, *ex
	before, after := p.before.Compare(&first), p.after.Compare(&second)
	if before.Unknown != "" || after.Unknown != "" {
		p.counts.Unknown++
		return
	}
	p.counts.Compared++
	p.counts.Before[before.Result]++
	p.counts.After[after.Result]++
	changed := before.Result != after.Result
	pair := previewPair{before: before, after: after}
	for _, field := range pair.fields() {
		key := fieldKey{route, field}
		f := p.fields[key]
		if f == nil {
			f = &PreviewField{Route: route, Field: field}
			p.fields[key] = f
		}
		if f.add(id, &pair) {
			changed = true
		}
	}
	if changed {
		p.counts.Changed++
	}
}

// Counts is what was added so far.
func (p *Preview) Counts() PreviewCounts { return p.counts }

// Fields lists those in which anything comes out differently, those first in which most does.
func (p *Preview) Fields() []PreviewField {
	list := []PreviewField{}
	for _, f := range p.fields {
		if f.Changed > 0 {
			list = append(list, *f)
		}
	}
	slices.SortFunc(list, func(a, b PreviewField) int {
		return cmp.Or(cmp.Compare(b.Changed, a.Changed), strings.Compare(a.Route, b.Route), strings.Compare(a.Field, b.Field))
	})
	return list
}

// previewPair is one exchange, compared twice.
type previewPair struct{ before, after *Comparison }

// fields lists all that either says something of.
func (p *previewPair) fields() []string {
	var names []string
	for _, c := range []*Comparison{p.before, p.after} {
		for i := range c.Fields {
			names = append(names, c.Fields[i].Field)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// add counts one exchange, and tells whether anything of it comes out differently in this field.
func (f *PreviewField) add(id int64, p *previewPair) bool {
	before, after := fieldOf(p.before, f.Field), fieldOf(p.after, f.Field)
	listed := !p.before.Cut && !p.after.Cut // else what is listed of one field hangs on the others
	same := func(a, b []Difference) bool {
		return !listed || slices.EqualFunc(ofField(a, f.Field), ofField(b, f.Field), sameDifference)
	}
	changed := f.Candidate.add(before.Candidate > 0, after.Candidate > 0, before.Candidate == after.Candidate &&
		before.CandidatePlaces == after.CandidatePlaces && same(p.before.Candidate, p.after.Candidate))
	changed = f.Control.add(before.Control > 0, after.Control > 0, before.Control == after.Control &&
		before.ControlPlaces == after.ControlPlaces && same(p.before.Control, p.after.Control)) || changed
	changed = f.Drift.add(before.Drift != 0, after.Drift != 0, before.Drift == after.Drift) || changed
	if !changed {
		return false
	}
	f.Changed++
	if len(f.Samples) < previewSamples {
		f.Samples = append(f.Samples, id)
	}
	switch was, is := before.Candidate > before.Control, after.Candidate > after.Control; {
	case was && !is:
		if f.Hides++; f.Hidden == 0 {
			f.Hidden = id
		}
	case is && !was:
		f.Shows++
	}
	return true
}

// add counts one exchange, and tells whether it comes out differently.
func (c *PreviewCount) add(before, after, same bool) bool {
	if before {
		c.Before++
	}
	switch {
	case before && !after:
		c.Vanish++
	case !before && after:
		c.Appear++
	case before && !same:
		c.Change++
	default:
		return false
	}
	return true
}

// fieldOf is what a comparison says of a field, if it says anything.
func fieldOf(c *Comparison, field string) FieldComparison {
	i, found := slices.BinarySearchFunc(c.Fields, field, func(f FieldComparison, name string) int { return strings.Compare(f.Field, name) })
	if !found {
		return FieldComparison{}
	}
	return c.Fields[i]
}

func ofField(list []Difference, field string) (found []Difference) {
	for i := range list {
		if list[i].Field == field {
			found = append(found, list[i])
		}
	}
	return found
}

func sameDifference(a, b Difference) bool {
	return a.Kind == b.Kind && a.Left == b.Left && a.Right == b.Right && samePointer(a.LeftPointer, b.LeftPointer) && samePointer(a.RightPointer, b.RightPointer)
}

func samePointer(a, b *string) bool { return a == nil && b == nil || a != nil && b != nil && *a == *b }
