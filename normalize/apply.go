package normalize

import "slices"

// applier runs all rules but parse over a parsed value, in one walk from the root down. It goes only where some rule may
// still match, and sets hashes and sizes anew on the way back up wherever something has changed.
//
// All rules are held against what was sent: a place's rules are known when the walk comes to it, before anything at or
// below it has changed, and keys get their new names when it leaves. At each place it takes out what is absent or dropped,
// then goes below, and does to scalars what the rules say in their order, tolerances last.
type applier struct {
	matcher
	rules   []*rule
	tallies []tally
	numbers []numbering // by rule
	active  []int32     // lists of rules that take all below some place, the innermost last
	ignored int         // values dropped
}

// level is where the rules that concern one place stand: states from a place on, and the list of active rules.
type level struct{ states, first, end int }

// fate is what becomes of a value.
type fate uint8

const (
	stays   fate = iota
	dropped      // counted as ignored
	absent
)

// applier is ready to run the rules of a plan over a body. It is to be given back.
func (n *Normalizer) applier(p *plan) *applier {
	a, _ := n.appliers.Get().(*applier)
	if a == nil {
		a = new(applier)
	}
	a.rules, a.patterns = p.body, p.walk
	a.tallies = slices.Grow(a.tallies[:0], len(p.body))[:len(p.body)]
	clear(a.tallies)
	a.numbers, a.active, a.ignored = nil, a.active[:0], 0
	return a
}

// run holds the rules against a body's root.
func (a *applier) run(root *Value) (fate, bool) {
	a.begin()
	l := a.cover(level{})
	there := len(root.Items)+len(root.Members) > 0 || root.Type != Object && root.Type != Array
	if gone := a.gone(root, nil, l, there); gone != stays {
		return gone, true
	}
	if l.end == l.first && len(a.states) == 0 {
		return stays, false
	}
	return stays, a.inside(root, l)
}

// cover makes the rules active that name the place of a level and take what is below it too. Nothing more of their
// patterns need be looked at.
func (a *applier) cover(l level) level {
	copied := false
	for i := l.states; i < len(a.states); i++ {
		s := a.states[i]
		if !a.done(s) || !a.rules[s.pattern].verb.covers() {
			continue
		}
		if !copied {
			first := len(a.active)
			a.active = append(a.active, a.active[l.first:l.end]...)
			l.first, copied = first, true
		}
		at, _ := slices.BinarySearch(a.active[l.first:], int32(s.pattern))
		a.active = slices.Insert(a.active, l.first+at, int32(s.pattern))
	}
	if !copied {
		return l
	}
	l.end = len(a.active)
	kept := a.states[:l.states]
	for _, s := range a.states[l.states:] {
		if _, covered := slices.BinarySearch(a.active[l.first:], int32(s.pattern)); !covered {
			kept = append(kept, s)
		}
	}
	a.states = kept
	return l
}

// gone tells whether a value is taken out, with its hidden copies. Only members, and a whole body, can be absent: an
// element without a value is still one, and so is a body that is an empty object or array, to which fields may come.
func (a *applier) gone(v *Value, hidden []Value, l level, member bool) fate {
	if member {
		for _, i := range a.active[l.first:l.end] {
			if r := a.rules[i]; r.verb == verbAbsent && a.count(i, r.areAbsent(v, hidden)) {
				return absent
			}
		}
	}
	for _, s := range a.states[l.states:] {
		if a.done(s) && a.rules[s.pattern].verb == verbDrop {
			a.count(int32(s.pattern), true)
			return dropped
		}
	}
	return stays
}

// count notes that a rule was for a value, and whether it took effect, which it answers.
func (a *applier) count(i int32, effect bool) bool {
	a.tallies[i].values++
	if effect {
		a.tallies[i].changed++
	}
	return effect
}

// areAbsent tells whether a value and all its hidden copies count as missing, as they were sent.
func (r *rule) areAbsent(v *Value, hidden []Value) bool {
	for i := range hidden {
		if !r.isAbsent(&hidden[i]) {
			return false
		}
	}
	return r.isAbsent(v)
}

// emptied tells whether an object that is absent when it is empty has become so, because all its members are absent. It is
// as if it had been sent without them; ignored is the number of dropped values before it was visited, since what holds a
// dropped one was not sent empty.
func (a *applier) emptied(m *Member, ignored int, l level) bool {
	if m.Value.Type != Object || len(m.Value.Members) > 0 || len(m.Hidden) > 0 || a.ignored != ignored {
		return false
	}
	for _, i := range a.active[l.first:l.end] {
		if r := a.rules[i]; r.verb == verbAbsent && r.isAbsent(&m.Value) {
			a.tallies[i].changed++
			return true
		}
	}
	return false
}

func (r *rule) isAbsent(v *Value) bool {
	if r.when != nil {
		return r.when.Equal(v)
	}
	return v.Type != Null && v.Text == "" && len(v.Items) == 0 && len(v.Members) == 0
}

// inside does what rules say to a value that stays, and to all below it. It tells whether anything has changed.
func (a *applier) inside(v *Value, l level) (changed bool) {
	if a.present(v, l) {
		return true
	}
	switch v.Type {
	case Array:
		changed = a.items(v, l)
		changed = a.match(v, l) || changed
	case Object:
		changed = a.members(v, l)
	default:
		changed = a.scalar(v, l)
	}
	if changed {
		v.rehash()
	}
	return changed
}

// presentText is the text of all values that only need to be there.
const presentText = "(present)"

// present makes a value that needs only to be there equal to all such values.
func (a *applier) present(v *Value, l level) bool {
	for _, s := range a.states[l.states:] {
		if a.done(s) && a.rules[s.pattern].verb == verbPresent && a.count(int32(s.pattern), v.Type != Null) {
			*v = Value{Type: String, Text: presentText, Index: v.Index, Raw: v.Raw}
			v.rehash()
			return true
		}
	}
	return false
}

// match marks an array whose elements are not matched in their order.
func (a *applier) match(v *Value, l level) (changed bool) {
	for _, s := range a.states[l.states:] {
		if !a.done(s) {
			continue
		}
		switch r := a.rules[s.pattern]; r.verb {
		case verbSort:
			v.Unordered, changed = a.count(int32(s.pattern), true), true
		case verbPair:
			v.with(r.special)
			changed = a.count(int32(s.pattern), true)
		}
	}
	return changed
}

// scalar does to a scalar what the active rules say.
func (a *applier) scalar(v *Value, l level) (changed bool) {
	tolerated := false
	for _, i := range a.active[l.first:l.end] {
		switch r := a.rules[i]; {
		case r.verb == verbTolerate:
			tolerated = true
		case r.value != nil:
			if r.isFor(v) {
				changed = a.count(i, r.value(v)) || changed
			}
		case r.text != nil && r.verb != verbMaskKeys && v.Type == String:
			text := r.text(v.Text, a.numbering(i))
			if a.count(i, text != v.Text) {
				v.Text, changed = text, true
			}
		}
	}
	return tolerated && a.tolerate(v, l) || changed
}

// tolerate marks a scalar with the last tolerance that is one for it, after all else was done to it.
func (a *applier) tolerate(v *Value, l level) bool {
	for j := l.end - 1; j >= l.first; j-- {
		i := a.active[j]
		if r := a.rules[i]; r.verb == verbTolerate && r.tolerance.takes(v) {
			v.with(r.special)
			return a.count(i, true)
		}
	}
	return false
}

// isFor tells whether a rule that changes values is for one of this type.
func (r *rule) isFor(v *Value) bool {
	return r.verb == verbCoerce && v.Type != Null || v.Type == Number
}

// numbering is that of a numbered mask in this document.
func (a *applier) numbering(i int32) *numbering {
	if !a.rules[i].numbered {
		return nil
	}
	if a.numbers == nil {
		a.numbers = make([]numbering, len(a.rules))
	}
	return &a.numbers[i]
}

// items visits the elements of an array and takes out the dropped ones.
func (a *applier) items(v *Value, l level) (changed bool) {
	if l.first == l.end && !slices.ContainsFunc(a.states[l.states:], a.takesElements) {
		return false
	}
	kept := v.Items[:0]
	for i := range v.Items {
		item := &v.Items[i]
		below := a.below(l, func(s *segment) bool { return s.takesElement(item) })
		switch gone := a.gone(item, nil, below, false); {
		case gone != stays:
			a.ignored += item.Size
			changed = true
		default:
			changed = a.inside(item, below) || changed
			if len(kept) < i {
				kept = append(kept, *item)
			} else {
				kept = v.Items[:i+1]
			}
		}
		a.leave(l, below)
	}
	clear(v.Items[len(kept):])
	v.Items = kept
	return changed
}

// takesElements tells whether a state may move on to an element of an array.
func (a *applier) takesElements(s state) bool {
	if a.done(s) {
		return false
	}
	switch a.patterns[s.pattern].segments[s.at].kind {
	case stepAny, stepDeep, stepIndex, stepWhere:
		return true
	}
	return false
}

// below is the level of a child.
func (a *applier) below(l level, takes func(*segment) bool) level {
	at := level{a.step(l.states, takes), l.first, l.end}
	if len(a.states) > at.states {
		at = a.cover(at)
	}
	return at
}

// leave forgets the level of a child.
func (a *applier) leave(l, below level) {
	a.states = a.states[:below.states]
	if below.first != l.first {
		a.active = a.active[:below.first]
	}
}
