package normalize

import "slices"

// applier runs body rules over a parsed value. It walks only where some rule may still match, and sets hashes and sizes
// anew on the way back up wherever something changed.
type applier struct {
	rules   []*rule
	states  []state // of all levels under way, the innermost last
	ignored int     // values dropped
	changed bool
}

// state is how far a rule's pattern has come: its next segment. At the end of the segments the value is the one named.
type state struct{ rule, at int }

// start holds the rules against the root. It tells whether the whole body is dropped.
func (a *applier) start(root *Value) (dropped bool) {
	for i := range a.rules {
		a.reach(0, state{rule: i})
	}
	return a.visit(root, 0)
}

// reach adds a state to the level that begins at from. ** takes nothing as well, so what follows it is reached too.
func (a *applier) reach(from int, s state) {
	if slices.Contains(a.states[from:], s) {
		return
	}
	a.states = append(a.states, s)
	segments := a.rules[s.rule].pattern.segments
	if s.at < len(segments) && segments[s.at].kind == stepDeep {
		a.reach(from, state{s.rule, s.at + 1})
	}
}

// visit holds the states from a level on against a value. It tells whether the value is dropped.
func (a *applier) visit(v *Value, from int) (dropped bool) {
	changed := false
	for _, s := range a.states[from:] {
		r := a.rules[s.rule]
		if s.at < len(r.pattern.segments) {
			continue
		}
		if r.verb == verbDrop {
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
	level := len(a.states)
	for i := from; i < level; i++ {
		s := a.states[i]
		segments := a.rules[s.rule].pattern.segments
		if s.at == len(segments) || !takes(&segments[s.at]) {
			continue
		}
		if segments[s.at].kind != stepDeep {
			s.at++
		}
		a.reach(level, s)
	}
	if len(a.states) > level {
		dropped = a.visit(v, level)
	}
	a.states = a.states[:level]
	return dropped
}
