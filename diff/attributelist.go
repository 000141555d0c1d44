package diff

import (
	"cmp"
	"slices"
	"strings"
)

// AttributeCount is how many requests have one value of an attribute.
type AttributeCount struct {
	Value     string
	Cut       bool // the value is longer
	Requests  int64
	Differing int64 // of these the candidate differs in the field, more gravely than the secondary
	Both      int64 // of these the candidate differs, but not more gravely
}

// AttributeTally is one attribute with its counts.
type AttributeTally struct {
	Attribute string
	Part      string           // of the route's path, where it is one of its segments: {id}
	From      int64            // requests of the route before it was known; they are not counted here
	Many      bool             // its values are not told apart: they are all in Other
	Values    []AttributeCount // the most frequent first
	Absent    AttributeCount   // without it
	Other     AttributeCount   // with another value
}

// List tells what was counted, with how many of the requests differ in a field; with an empty field none do. Attributes
// that no request had are left out.
func (r *RouteAttributes) List(field string) []AttributeTally {
	f := r.field(field)
	list := make([]AttributeTally, 0, len(r.list))
	for i := range r.list {
		a := &r.list[i]
		if a.present() == 0 {
			continue
		}
		t := AttributeTally{Attribute: a.String(), From: a.From, Many: a.Many || a.crowd != nil && a.crowded()}
		if a.Kind == AttributePath {
			t.Part = r.part(a)
		}
		for m, n := range a.counts {
			one := AttributeCount{Requests: n}
			if f != nil {
				one.Differing, one.Both = f.alone[i][m], f.both[i][m]
			}
			switch {
			case m == markAbsent:
				t.Absent = one
			case m == markOther || t.Many:
				t.Other.Requests += one.Requests
				t.Other.Differing += one.Differing
				t.Other.Both += one.Both
			default:
				if m <= len(a.Values) {
					one.Value, one.Cut = a.shown(m-1), a.lengths[m-1] > len(a.Values[m-1])
					t.Values = append(t.Values, one)
				}
			}
		}
		slices.SortStableFunc(t.Values, func(x, y AttributeCount) int {
			return cmp.Or(cmp.Compare(y.Requests, x.Requests), strings.Compare(x.Value, y.Value))
		})
		list = append(list, t)
	}
	return list
}

// shown is a value as people read it, in valid UTF-8.
func (a *Attribute) shown(i int) string { return strings.ToValidUTF8(a.Values[i], "\uFFFD") }
