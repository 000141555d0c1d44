package normalize

import "slices"

// matcher holds many patterns against a value at once while it is walked from the root down.
type matcher struct {
	patterns []*Pattern
	fold     bool    // the case of ASCII letters in keys does not matter
	states   []state // of all levels under way, the innermost last; of each in the order of patterns
}

// state is how far a pattern has come: its next segment. At the end of the segments the place is the one named.
type state struct{ pattern, at int }

// begin holds all patterns against the root: level 0.
func (m *matcher) begin() {
	m.states = m.states[:0]
	for i := range m.patterns {
		m.reach(0, state{pattern: i})
	}
}

// reach adds a state to the level that begins at from. ** takes nothing as well, so what follows it is reached too.
func (m *matcher) reach(from int, s state) {
	if m.has(from, s) {
		return
	}
	m.states = append(m.states, s)
	segments := m.patterns[s.pattern].segments
	if s.at < len(segments) && segments[s.at].kind == stepDeep {
		m.reach(from, state{s.pattern, s.at + 1})
	}
}

// has tells whether a state is in the level that begins at from. Those of one pattern stand together there, and the last
// pattern is the one under way: with hundreds of them it would not do to look at all.
func (m *matcher) has(from int, s state) bool {
	for i := len(m.states) - 1; i >= from && m.states[i].pattern == s.pattern; i-- {
		if m.states[i].at == s.at {
			return true
		}
	}
	return false
}

// step moves the states of the level that begins at from on to one child, as a new level. Whoever called it cuts the
// states back to that level's begin, which it answers, when the child is done; there may be none.
func (m *matcher) step(from int, takes func(*segment) bool) (level int) {
	level = len(m.states)
	for i := from; i < level; i++ {
		s := m.states[i]
		segments := m.patterns[s.pattern].segments
		if s.at == len(segments) || !takes(&segments[s.at]) {
			continue
		}
		if segments[s.at].kind != stepDeep {
			s.at++
		}
		m.reach(level, s)
	}
	return level
}

// done tells whether a state's pattern names the place it stands at.
func (m *matcher) done(s state) bool { return s.at == len(m.patterns[s.pattern].segments) }

// anyDone tells whether some pattern names the place of the level that begins at from.
func (m *matcher) anyDone(from int) bool { return slices.ContainsFunc(m.states[from:], m.done) }

// takesStep tells whether the segment takes what a step of a field's name stands for; where that is not sure (an id that
// was folded, an element chosen by its number) it answers yes.
func (s *segment) takesStep(step *segment, fold bool) bool {
	element := s.kind == stepAny || s.kind == stepIndex || s.kind == stepWhere
	switch step.kind {
	case stepKey:
		return s.takesKey(step.key, fold)
	case stepAny, stepIndex, stepWhere:
		return element || s.kind == stepDeep
	case stepIDKey:
		return !element && (s.kind != stepKey || FoldsKey(s.key))
	}
	return true
}

// follow moves from the root along the steps of a field's name. It tells whether a pattern names a place on the way or
// its end; the states left are those that may still name one below it.
func (m *matcher) follow(path []segment) (covered bool) {
	m.begin()
	from := 0
	for i := range path {
		if m.anyDone(from) {
			return true
		}
		from = m.step(from, func(s *segment) bool { return s.takesStep(&path[i], m.fold) })
	}
	covered = m.anyDone(from)
	m.states = append(m.states[:0], m.states[from:]...)
	return covered
}

// covers tells whether a path of keys is at or below what the pattern names.
func (p *Pattern) covers(path ...string) bool { return coversKeys(p.segments, path, false) }

func coversKeys(segments []segment, path []string, fold bool) bool {
	switch {
	case len(segments) == 0:
		return true
	case segments[0].kind == stepDeep:
		for i := 0; i <= len(path); i++ {
			if coversKeys(segments[1:], path[i:], fold) {
				return true
			}
		}
		return false
	case len(path) == 0 || !segments[0].takesKey(path[0], fold):
		return false
	}
	return coversKeys(segments[1:], path[1:], fold)
}
