package diff

import (
	"sort"
	"strconv"

	"shadowdiff/normalize"
)

// change is a place of the left body whose value is greater or less on the right: both numbers, both booleans, or two
// arrays by their length.
type change struct {
	at          int // in the order of the left body's values
	place       *place
	left, right *normalize.Value
}

// changesKept bounds the places at which drift is looked for; a body with more has none that is judged.
const changesKept = 100_000

// change notes a place for drift.
func (w *walk) change(l, r *normalize.Value, at int) {
	switch {
	case w.counting > 0, l.Type == normalize.String, l.Type == normalize.Array && len(l.Items) == len(r.Items):
		return
	case len(w.changes) == changesKept:
		w.noDrift = true
	default:
		w.changes = append(w.changes, change{at, w.place, l, r})
	}
}

// amount is what a value counts as, a JSON number.
func amount(v *normalize.Value) string {
	switch {
	case v.Type == normalize.Array:
		return strconv.Itoa(len(v.Items))
	case v.Type == normalize.Number:
		return v.Text
	case v.Text == "true":
		return "1"
	}
	return "0"
}

// hasLost tells whether a place of the left body has nothing to be compared with.
func (f *found) hasLost(at int) bool {
	k := sort.Search(len(f.lost), func(k int) bool { return f.lost[k].at > at })
	return k > 0 && at < f.lost[k-1].at+f.lost[k-1].size
}

// drifts compares what two shadows have at the same places of the primary's body: by field, the sign of the sum of
// candidate minus control over the places that both align with. Fields in which the sum is 0 are left out.
func drifts(candidate, control *found) map[string]int8 {
	if candidate.noDrift || control.noDrift {
		return nil
	}
	pairs := map[string][][2]string{}
	c, s := candidate.changes, control.changes
	for len(c) > 0 || len(s) > 0 {
		switch {
		case len(s) == 0 || len(c) > 0 && c[0].at < s[0].at: // the control has what the primary has
			if !control.hasLost(c[0].at) {
				field := c[0].place.field()
				pairs[field] = append(pairs[field], [2]string{amount(c[0].right), amount(c[0].left)})
			}
			c = c[1:]
		case len(c) == 0 || s[0].at < c[0].at:
			if !candidate.hasLost(s[0].at) {
				field := s[0].place.field()
				pairs[field] = append(pairs[field], [2]string{amount(s[0].left), amount(s[0].right)})
			}
			s = s[1:]
		default:
			field := c[0].place.field()
			pairs[field] = append(pairs[field], [2]string{amount(c[0].right), amount(s[0].right)})
			c, s = c[1:], s[1:]
		}
	}
	return signs(pairs)
}

// traits is the same for the control against the primary.
func traits(control *found) map[string]int8 {
	if control.noDrift {
		return nil
	}
	pairs := map[string][][2]string{}
	for _, s := range control.changes {
		field := s.place.field()
		pairs[field] = append(pairs[field], [2]string{amount(s.right), amount(s.left)})
	}
	return signs(pairs)
}

func signs(pairs map[string][][2]string) map[string]int8 {
	if len(pairs) == 0 {
		return nil
	}
	out := make(map[string]int8, len(pairs))
	for field, p := range pairs {
		if sign := signOfSum(p); sign != 0 {
			out[field] = sign
		}
	}
	return out
}
