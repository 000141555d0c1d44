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
		places := a.places(b)
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
		r.list = append(r.list, Attribute{Kind: a.Kind, Name: a.Name, raw: a.raw, Many: a.Many, From: r.Compared})
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

// places says where the values of another are found in this one, which takes them in while there is room.
func (a *Attribute) places(b *Attribute) (to [marks]int) {
	to[markOther] = markOther
	for i, v := range b.Values {
		at := -1
		for k := range a.Values {
			if a.Values[k] == v && a.lengths[k] == b.lengths[i] {
				at = k
			}
		}
		switch {
		case at >= 0:
			to[i+1] = at + 1
		case len(a.Values) < attributeValues:
			a.Values, a.lengths = append(a.Values, v), append(a.lengths, b.lengths[i])
			to[i+1] = len(a.Values)
		default:
			to[i+1] = markOther
		}
	}
	return to
}

func move(to, from *[marks]int64, places *[marks]int) {
	for m, n := range from {
		to[places[m]] += n
	}
}
