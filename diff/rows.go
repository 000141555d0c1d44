package diff

import "slices"

// rows keeps counts of one kind in order, so that a snapshot shares with the last one all that did not change: a row
// that was handed out is copied before it is written again.
type rows[T any] struct {
	order   func(a, b *T) int
	copy    func(*T) *T
	shown   []*T      // as last handed out
	sorted  []*row[T] // the same rows, in the same places
	fresh   []*row[T] // not handed out yet
	touched []*row[T] // changed since the last cut, the fresh ones included
}

// row is one row and its place in the snapshot.
type row[T any] struct {
	now   *T
	place int
	owned bool // not handed out: may be written
}

// restore takes over rows that were handed out before.
func (rs *rows[T]) restore(shown []*T) {
	rs.shown = slices.Clone(shown)
	slices.SortFunc(rs.shown, rs.order)
	rs.sorted = make([]*row[T], len(rs.shown))
	for i, v := range rs.shown {
		rs.sorted[i] = &row[T]{now: v, place: i}
	}
}

// add takes in a new row.
func (rs *rows[T]) add(v *T) *row[T] {
	r := &row[T]{now: v, owned: true}
	rs.fresh = append(rs.fresh, r)
	rs.touched = append(rs.touched, r)
	return r
}

// write returns the row's value to be changed.
func (rs *rows[T]) write(r *row[T]) *T {
	if !r.owned {
		r.now, r.owned = rs.copy(r.now), true
		rs.touched = append(rs.touched, r)
	}
	return r.now
}

// drop takes rows out.
func (rs *rows[T]) drop(gone map[*row[T]]bool) {
	dropped := func(r *row[T]) bool { return gone[r] }
	rs.fresh = slices.DeleteFunc(rs.fresh, dropped)
	rs.touched = slices.DeleteFunc(rs.touched, dropped)
	rs.sorted = slices.DeleteFunc(rs.sorted, dropped)
	rs.shown = make([]*T, len(rs.sorted))
	for i, r := range rs.sorted {
		r.place, rs.shown[i] = i, r.now
	}
}

// cut hands out all rows and those that changed, both in order.
func (rs *rows[T]) cut() (all, changed []*T) {
	if len(rs.touched) == 0 {
		return rs.shown, nil
	}
	if len(rs.fresh) > 0 {
		rs.merge()
	} else {
		rs.shown = slices.Clone(rs.shown)
	}
	changed = make([]*T, len(rs.touched))
	for i, r := range rs.touched {
		r.owned = false
		rs.shown[r.place] = r.now
		changed[i] = r.now
	}
	rs.touched = nil
	slices.SortFunc(changed, rs.order)
	return rs.shown, changed
}

// merge puts the fresh rows among the sorted ones.
func (rs *rows[T]) merge() {
	rs.sorted = append(rs.sorted, rs.fresh...)
	rs.fresh = nil
	slices.SortFunc(rs.sorted, func(a, b *row[T]) int { return rs.order(a.now, b.now) })
	rs.shown = make([]*T, len(rs.sorted))
	for i, r := range rs.sorted {
		r.place, rs.shown[i] = i, r.now
	}
}
