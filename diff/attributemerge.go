package diff

import "slices"

// Merge adds the requests of routes to those of another and forgets the routes.
func (t *Attributes) Merge(into string, from ...string) {
	for _, name := range slices.Sorted(slices.Values(from)) {
		part := t.routes[name]
		if part == nil || name == into {
			continue
		}
		t.forget(part)
		to := t.routes[into]
		if to == nil {
			to = t.begin(into)
		}
		before := t.bytes
		t.settle(part, to)
		t.bytes = before // what is of the part is counted with the whole
		t.fields -= len(to.fields)
		t.bytes -= to.bytes()
		to.merge(part)
		t.fields += len(to.fields)
		t.bytes += to.bytes()
		t.Changed(into)
	}
}

// forget takes a route out.
func (t *Attributes) forget(r *RouteAttributes) {
	delete(t.routes, r.Route)
	t.fields -= len(r.fields)
	t.bytes -= r.bytes()
	t.out.drop(r)
}

// merge adds another route's requests, which may be changed by it. What only one of the two knows of is known of its own
// requests alone, but for parameters: these the others were without, unless some found no place.
func (r *RouteAttributes) merge(o *RouteAttributes) {
	r.adopt(o)
	o.adopt(r)
	refused, before := r.refused, r.Clone()
	for i := range r.list {
		j := o.find(&r.list[i])
		if j < 0 {
			continue
		}
		a, b := &r.list[i], &o.list[j]
		if a.Many != b.Many {
			r.crowd(i)
			o.crowd(j)
			before.crowd(i)
		}
		places := r.places(i, o, j)
		move(&a.counts, &b.counts, &places)
		a.From += b.From
		for _, f := range o.fields {
			to := r.field(f.field)
			if to == nil {
				to = &attributeField{field: f.field}
				if refused {
					to.base = make([][marks]int64, len(before.list))
					for k := range before.list {
						to.base[k] = before.list[k].counts
					}
				}
				to.grow(len(r.list))
				r.fields = append(r.fields, to)
			}
			move(&to.alone[i], &f.alone[j], &places)
			move(&to.both[i], &f.both[j], &places)
			if f.base != nil {
				to.rebase(len(r.list))
				move(&to.base[i], &f.base[j], &places)
			}
		}
		for _, f := range r.fields { // those of which the other route may have had more than it knows
			if o.refused && o.field(f.field) == nil {
				f.rebase(len(r.list))
				move(&f.base[i], &b.counts, &places)
			}
		}
	}
	r.Compared += o.Compared
	r.refused, r.unknown, r.settled = r.refused || o.refused, r.unknown || o.unknown, false
}

// rebase gives a field a base, if it has none.
func (f *attributeField) rebase(n int) {
	if f.base == nil {
		f.base = make([][marks]int64, n)
	}
}

// adopt takes in the attributes that another route has, without any of their requests, as far as there is room.
func (r *RouteAttributes) adopt(o *RouteAttributes) {
	for i := range o.list {
		a := &o.list[i]
		if r.find(a) >= 0 || len(r.list) >= attributesKept {
			continue
		}
		r.list = append(r.list, Attribute{Kind: a.Kind, Name: a.Name, raw: a.raw, place: a.place, Many: a.Many, From: r.Compared})
		for _, f := range r.fields {
			f.grow(len(r.list))
		}
		if a.Kind == AttributeQuery && !r.unknown {
			last := len(r.list) - 1
			r.list[last].From = 0
			r.backdate(last)
		}
	}
}

// find is the place of the same attribute, or -1.
func (r *RouteAttributes) find(a *Attribute) int {
	return slices.IndexFunc(r.list, func(b Attribute) bool { return a.Kind == b.Kind && a.Name == b.Name && a.raw == b.raw })
}

// places says where the values of another route's attribute are found in this one's, which takes them in while there is
// room, and where they tell more than those that it has. The method's requests have been added up by then.
func (r *RouteAttributes) places(i int, o *RouteAttributes, j int) (to [marks]int) {
	a, b := &r.list[i], &o.list[j]
	to[markOther] = markOther
	for k, v := range b.Values {
		at := a.placeOf(v, b.lengths[k])
		switch {
		case at > 0:
			to[k+1] = at
		case len(a.Values) < attributeValues:
			a.Values, a.lengths = append(a.Values, v), append(a.lengths, b.lengths[k])
			to[k+1] = len(a.Values)
		default:
			to[k+1] = r.contest(i, o, j, k+1, &to)
		}
	}
	a.crowdFrom(b, &to)
	for k := range b.early {
		if m := to[k+1]; m >= 1 && m <= attributeValues && b.early[k] > 0 {
			if a.early == nil {
				a.early = make([]int64, attributeValues)
			}
			a.early[m-1] += b.early[k]
		}
	}
	return to
}

// placeOf is the place of a value, from 1 on; 0 where it has none.
func (a *Attribute) placeOf(value string, length int) int {
	for k := range a.Values {
		if a.Values[k] == value && a.lengths[k] == length {
			return k + 1
		}
	}
	return 0
}

// contest has a value of another route take the place of one that tells less, if there is such a one.
func (r *RouteAttributes) contest(i int, o *RouteAttributes, j, mark int, to *[marks]int) int {
	a, b := &r.list[i], &o.list[j]
	if !a.telling() || a.Many || a.crowd == nil && a.counts[markOther] > 0 {
		return markOther
	}
	all := float64(max(1, r.Compared+o.Compared))
	shares := func(fields []*attributeField) (list []float64) {
		for _, f := range fields {
			share := 0.0
			if sum := r.field(f.field); sum != nil {
				share = float64(sum.count(sum.alone)) / all
			}
			list = append(list, share)
		}
		return list
	}
	if a.crowd == nil {
		a.crowd = new(crowdTable)
	}
	m, least := r.leastTelling(i, shares(r.fields))
	if o.weight(j, mark, shares(o.fields)) <= least {
		return markOther
	}
	r.replaceValue(i, m, b.Values[mark-1], b.lengths[mark-1], 0)
	for k := range to {
		if to[k] == m {
			to[k] = markOther
		}
	}
	return m
}

// crowdFrom takes in how often the other's values came that are not told apart here.
func (a *Attribute) crowdFrom(b *Attribute, to *[marks]int) {
	if b.crowd == nil && b.counts[markOther] > 0 {
		a.crowd = nil // it is not known of which values these are
		return
	}
	if b.crowd != nil && a.crowd == nil && a.counts[markOther] == 0 && !a.Many {
		a.crowd = new(crowdTable)
	}
	if a.crowd == nil {
		return
	}
	for k, v := range b.Values {
		if to[k+1] == markOther {
			a.crowd.add(v, b.counts[k+1])
		}
	}
	if b.crowd != nil {
		a.crowd.merge(b.crowd)
	}
}

func move(to, from *[marks]int64, places *[marks]int) {
	for m, n := range from {
		to[places[m]] += n
	}
}
