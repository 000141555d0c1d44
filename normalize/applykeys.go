package normalize

import (
	"cmp"
	"slices"
	"strings"
	"unsafe"
)

// members visits the members of an object, takes out those that are gone, and gives keys their new names. All copies of
// one key are under the same rules.
func (a *applier) members(v *Value, l level) (changed bool) {
	if l.first == l.end {
		states := a.states[l.states:]
		if 2*len(v.Members) < len(states) || slices.ContainsFunc(states, a.takesManyKeys) {
			return a.allMembers(v, l, false)
		}
		return a.namedMembers(v, l)
	}
	masked, numbered := false, false
	for _, i := range a.active[l.first:l.end] {
		if r := a.rules[i]; r.verb == verbMaskKeys {
			masked, numbered = true, numbered || r.numbered
		}
	}
	if numbered { // by first appearance
		slices.SortStableFunc(v.Members, func(a, b Member) int { return cmp.Compare(a.Value.sentAt(), b.Value.sentAt()) })
	}
	changed = a.allMembers(v, l, masked)
	if numbered {
		v.sortMembers()
	}
	return changed
}

// sentAt orders values that were read from one text by where they stood in it; it is 0 for a value that was not.
func (v *Value) sentAt() uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(v.Raw))) }

// takesManyKeys tells whether a state may move on to members under more than one key.
func (a *applier) takesManyKeys(s state) bool {
	if a.done(s) {
		return false
	}
	switch a.patterns[s.pattern].segments[s.at].kind {
	case stepAnyKey, stepIDKey, stepRegexp, stepDeep:
		return true
	}
	return false
}

// namedMembers visits the members that patterns name by their very keys.
func (a *applier) namedMembers(v *Value, l level) (changed bool) {
	var renamed [][2]string // from, to: done when all are found
	end := len(a.states)
	for i := l.states; i < end; i++ {
		key, ok := a.literal(a.states[i])
		if !ok || slices.ContainsFunc(a.states[l.states:i], func(s state) bool { k, ok := a.literal(s); return ok && k == key }) {
			continue
		}
		at, ok := v.find(key)
		if !ok {
			continue
		}
		to, gone, below := a.member(&v.Members[at], l, false)
		switch {
		case gone:
			v.Members = slices.Delete(v.Members, at, at+1)
		case to != key:
			renamed = append(renamed, [2]string{key, to})
		}
		changed = changed || below || gone
	}
	if renamed != nil {
		v.rename(renamed)
		return true
	}
	return changed
}

// literal is the key that a state moves on by.
func (a *applier) literal(s state) (string, bool) {
	segments := a.patterns[s.pattern].segments
	if s.at == len(segments) || segments[s.at].kind != stepKey {
		return "", false
	}
	return segments[s.at].key, true
}

// allMembers visits every member.
func (a *applier) allMembers(v *Value, l level, masked bool) (changed bool) {
	kept := v.Members[:0]
	moved := false
	for i := range v.Members {
		m := &v.Members[i]
		to, gone, below := a.member(m, l, masked)
		changed = changed || below || gone
		if gone {
			continue
		}
		if to != m.Key {
			m.Key, moved = to, true
		}
		if len(kept) < i {
			kept = append(kept, *m)
		} else {
			kept = v.Members[:i+1]
		}
	}
	clear(v.Members[len(kept):])
	v.Members = kept
	if moved {
		v.sortMembers()
	}
	return changed || moved
}

// member visits one member. It answers the key that the member is to have, and whether it is gone or has changed.
func (a *applier) member(m *Member, l level, masked bool) (key string, gone, changed bool) {
	takes := func(s *segment) bool { return s.takesKey(m.Key, false) }
	below := a.below(l, takes)
	if below.first == below.end && len(a.states) == below.states {
		return m.Key, false, false
	}
	if fate := a.gone(&m.Value, m.Hidden, below, true); fate != stays {
		if fate == dropped {
			a.ignored += m.size()
		}
		a.leave(l, below)
		return m.Key, true, true
	}
	key, sent := a.newKey(m.Key, below)
	if masked {
		key, sent = a.maskKey(key, sent, m.Key, l)
	}
	ignored := a.ignored
	changed = a.inside(&m.Value, below)
	gone = changed && a.emptied(m, ignored, below)
	a.leave(l, below)
	if gone {
		return m.Key, true, true
	}
	for i := range m.Hidden {
		below = a.below(l, takes)
		changed = a.inside(&m.Hidden[i], below) || changed
		a.leave(l, below)
	}
	if sent != nil {
		m.Value.with(sent)
		for i := range m.Hidden {
			m.Hidden[i].with(sent)
		}
	}
	return key, false, changed
}

// newKey is the key that a rename rule gives to the member of a level, the first one if there are several, and how its
// values remember the one they had.
func (a *applier) newKey(key string, l level) (string, *Special) {
	for _, s := range a.states[l.states:] {
		if !a.done(s) {
			continue
		}
		if r := a.rules[s.pattern]; r.verb == verbRename && a.count(int32(s.pattern), key != r.to) {
			if r.special == nil {
				return r.to, &Special{Sent: key}
			}
			return r.to, r.special
		}
	}
	return key, nil
}

// maskKey is the key as the mask_keys rules of the object leave it.
func (a *applier) maskKey(key string, special *Special, sent string, l level) (string, *Special) {
	for _, i := range a.active[l.first:l.end] {
		r := a.rules[i]
		if r.verb != verbMaskKeys {
			continue
		}
		to := r.text(key, a.numbering(i))
		if a.count(i, to != key) {
			special = &Special{Sent: sent, Masked: true}
		}
		key = to
	}
	return key, special
}

// size is the values in a member with all its copies.
func (m *Member) size() int {
	n := m.Value.Size
	for i := range m.Hidden {
		n += m.Hidden[i].Size
	}
	return n
}

// find is where the member under a key stands.
func (v *Value) find(key string) (int, bool) {
	return slices.BinarySearchFunc(v.Members, key, func(m Member, key string) int { return strings.Compare(m.Key, key) })
}

// rename gives members new keys, all at once: from and to.
func (v *Value) rename(keys [][2]string) {
	for i := range v.Members {
		for _, k := range keys {
			if v.Members[i].Key == k[0] {
				v.Members[i].Key = k[1]
				break
			}
		}
	}
	v.sortMembers()
}

// sortMembers sorts members whose keys have changed. Those that have come to one key become copies of it: none is lost, and
// another number of them on the other side is a difference. The value that counts is the one that was sent under this key,
// if there is one; the others are ordered by what they are, since their names said nothing.
func (v *Value) sortMembers() {
	slices.SortStableFunc(v.Members, func(a, b Member) int {
		return cmp.Or(strings.Compare(a.Key, b.Key), a.rank()-b.rank(), cmp.Compare(a.Value.Hash, b.Value.Hash))
	})
	kept := v.Members[:0]
	for rest := v.Members; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].Key == rest[0].Key {
			n++
		}
		kept = append(kept, joined(rest[:n]))
		rest = rest[n:]
	}
	clear(v.Members[len(kept):])
	v.Members = kept
}

// joined is one member of which the last one has the value that counts, and the others are copies.
func joined(members []Member) Member {
	m := members[len(members)-1]
	if len(members) == 1 {
		return m
	}
	before := 0
	for i := range members {
		before += 1 + len(members[i].Hidden)
	}
	hidden := make([]Value, 0, before-1)
	for i := range members[:len(members)-1] {
		hidden = append(append(hidden, members[i].Hidden...), members[i].Value)
	}
	m.Hidden = append(hidden, m.Hidden...)
	return m
}

// rank puts the member that has its key from the start behind those that were given it.
func (m *Member) rank() int {
	if m.Value.Special != nil && m.Value.Special.Sent != "" {
		return 0
	}
	return 1
}
