package normalize

// applier runs body rules over a parsed value. It walks only where some rule may still match, and sets hashes and sizes
// anew on the way back up wherever something changed.
type applier struct {
	matcher
	rules   []*rule
	ignored int // values dropped
	changed bool
}

// newApplier is ready to visit the root at level 0.
func newApplier(rules []*rule) *applier {
	a := &applier{rules: rules}
	for _, r := range rules {
		a.patterns = append(a.patterns, r.pattern)
	}
	a.begin()
	return a
}

// visit holds the states from a level on against a value. It tells whether the value is dropped.
func (a *applier) visit(v *Value, from int) (dropped bool) {
	changed := false
	for _, s := range a.states[from:] {
		if !a.done(s) {
			continue
		}
		if a.rules[s.pattern].verb == verbDrop {
			return true
		}
		if v.Type == Array && !v.Unordered {
			v.Unordered, changed = true, true
		}
	}
	if v.Type == Array && a.items(v, from) || v.Type == Object && a.members(v, from) || changed {
		v.rehash()
		a.changed = true
	}
	return false
}

// items visits the elements of an array and takes out the dropped ones. It tells whether anything below changed.
func (a *applier) items(v *Value, from int) (changed bool) {
	kept := v.Items[:0]
	for i := range v.Items {
		item := &v.Items[i]
		hash := item.Hash
		dropped := a.child(item, from, func(s *segment) bool { return s.takesElement(item) })
		if dropped {
			a.ignored += item.Size
			changed = true
			continue
		}
		changed = changed || item.Hash != hash
		if len(kept) < i {
			kept = append(kept, *item)
		} else {
			kept = v.Items[:i+1]
		}
	}
	clear(v.Items[len(kept):])
	v.Items = kept
	return changed
}

// members does the same for an object's members. All copies of one key are under the same rules.
func (a *applier) members(v *Value, from int) (changed bool) {
	kept := v.Members[:0]
	for i := range v.Members {
		m := &v.Members[i]
		hash := m.Value.Hash
		takes := func(s *segment) bool { return s.takesKey(m.Key, false) }
		if a.child(&m.Value, from, takes) {
			a.ignored += m.size()
			changed = true
			continue
		}
		changed = changed || m.Value.Hash != hash
		for j := range m.Hidden {
			hash := m.Hidden[j].Hash
			a.child(&m.Hidden[j], from, takes)
			changed = changed || m.Hidden[j].Hash != hash
		}
		if len(kept) < i {
			kept = append(kept, *m)
		} else {
			kept = v.Members[:i+1]
		}
	}
	clear(v.Members[len(kept):])
	v.Members = kept
	return changed
}

// size is the values in a member with all its copies.
func (m *Member) size() int {
	n := m.Value.Size
	for i := range m.Hidden {
		n += m.Hidden[i].Size
	}
	return n
}

// child moves the states of a level on to one child and visits it. It tells whether the child is dropped.
func (a *applier) child(v *Value, from int, takes func(*segment) bool) (dropped bool) {
	level := a.step(from, takes)
	if len(a.states) > level {
		dropped = a.visit(v, level)
	}
	a.states = a.states[:level]
	return dropped
}
