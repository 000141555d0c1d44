package normalize

import "slices"

// Relation tells which values of two lists are equal where equality makes no classes.
type Relation struct {
	start, right []int32 // of the i-th left one: right[start[i]:start[i+1]], ascending
}

// Of lists the places of the right values that the i-th left one equals, ascending.
func (r *Relation) Of(i int) []int32 { return r.right[r.start[i]:r.start[i+1]] }

// relate lists the equal pairs of a group by their places in it. Where there are too many to try it lists those of the
// nearest it comes by, and answers false.
func (e *Equality) relate(g *group, x *index, left, right []*Value) (r Relation, ok bool) {
	most := e.mostPairs(g)
	share := max(1, most/len(g.left)) // where all of them are too many, each left one tries so many
	ok = x.candidates() <= most
	r.start = make([]int32, 1, len(g.left)+1)
	for i := range g.left {
		from := len(r.right)
		for tried, j := range x.near(i) {
			if !ok && tried == share || *e.Work < 0 {
				break
			}
			if e.Equal(left[g.left[i]], right[g.right[j]]) {
				r.right = append(r.right, j)
			}
		}
		slices.Sort(r.right[from:])
		r.start = append(r.start, int32(len(r.right)))
	}
	return r, ok && *e.Work >= 0
}

// Relate lists the equal pairs of two lists; false when there are too many.
func (e *Equality) Relate(left, right []Value) (Relation, bool) {
	return e.relateAll(pointersTo(left), pointersTo(right))
}

func (e *Equality) relateAll(left, right []*Value) (Relation, bool) {
	byLeft := make([][]int32, len(left))
	most := pairsTried + 4*(len(left)+len(right))
	pairs := relateClasses(left, right, byLeft, most)
	for _, g := range looseGroups(left, right) {
		if len(g.left) == 0 || len(g.right) == 0 || pairs > most {
			continue
		}
		related, ok := e.relate(&g, newIndex(&g, left, right), left, right)
		if pairs += len(related.right); !ok || pairs > most {
			return Relation{}, false
		}
		for i, at := range g.left {
			for _, j := range related.Of(i) {
				byLeft[at] = append(byLeft[at], g.right[j])
			}
		}
	}
	if pairs > most {
		return Relation{}, false
	}
	out := Relation{start: make([]int32, 1, len(left)+1), right: make([]int32, 0, pairs)}
	for _, places := range byLeft {
		out.right = append(out.right, places...)
		out.start = append(out.start, int32(len(out.right)))
	}
	return out, true
}

// relateClasses lists the equal pairs of values that have classes, and counts them, until there are more than most.
func relateClasses(left, right []*Value, byLeft [][]int32, most int) (pairs int) {
	c := newClassifier(len(right))
	var places [][]int32 // on the right, by class
	for j, v := range right {
		if v.Loose {
			continue
		}
		class := c.number(v)
		if int(class) == len(places) {
			places = append(places, nil)
		}
		places[class] = append(places[class], int32(j))
	}
	for i, v := range left {
		if v.Loose {
			continue
		}
		if class := c.number(v); int(class) < len(places) {
			byLeft[i] = places[class]
			if pairs += len(places[class]); pairs > most {
				break
			}
		}
	}
	return pairs
}
