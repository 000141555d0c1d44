package normalize

import "slices"

// unfolder runs parse rules: it puts what strings contain in their place, before any other rule is held against a value.
type unfolder struct {
	matcher
	rules   []*rule
	tallies []tally
	parser  *parser
	arena   *arena
	makers  []int // the rules that have made what is looked at out of strings around it
	depth   int   // levels around what is looked at
	changed bool
	refused bool // there was no memory
}

// unfold parses in a body's value what its rules say. It answers false when there is no memory for it.
func (n *Normalizer) unfold(body *Body, p *plan, reserve func(int64) bool) bool {
	u := &unfolder{rules: p.parse, tallies: make([]tally, len(p.parse)), parser: n.parser(reserve)}
	u.patterns = p.unfold
	defer func() {
		u.parser.arena = nil // the body's, or left to the garbage collector
		n.release(u.parser)
	}()
	if u.parser.arena != nil {
		n.putArena(u.parser.arena)
	}
	if u.arena = new(arena); body.arena != nil && *body.arena != nil {
		u.arena = *body.arena
	}
	u.begin()
	u.visit(body.Root, 0)
	for i, r := range u.rules {
		r.counts.add(u.tallies[i])
	}
	body.Changed = body.Changed || u.changed
	return !u.refused
}

// visit parses a value and all below it, what has come out of it too. It tells whether anything has changed.
func (u *unfolder) visit(v *Value, from int) (changed bool) {
	makers := len(u.makers)
	for i := from; i < len(u.states) && v.Type == String; i++ {
		if s := u.states[i]; u.done(s) {
			changed = u.parse(v, s.pattern) || changed
		}
	}
	u.depth++
	switch v.Type {
	case Array:
		for i := range v.Items {
			item := &v.Items[i]
			below := u.child(item, from, func(s *segment) bool { return s.takesElement(item) })
			changed = changed || below
		}
	case Object:
		for i := range v.Members {
			m := &v.Members[i]
			takes := func(s *segment) bool { return s.takesKey(m.Key, false) }
			changed = u.child(&m.Value, from, takes) || changed
			for j := range m.Hidden {
				changed = u.child(&m.Hidden[j], from, takes) || changed
			}
		}
	}
	u.depth--
	u.makers = u.makers[:makers]
	if changed {
		v.rehash()
		u.changed = true
	}
	return changed
}

func (u *unfolder) child(v *Value, from int, takes func(*segment) bool) (changed bool) {
	level := u.step(from, takes)
	if len(u.states) > level {
		changed = u.visit(v, level)
	}
	u.states = u.states[:level]
	return changed
}

// parse puts what a string contains in its place.
func (u *unfolder) parse(v *Value, number int) bool {
	r := u.rules[number]
	if r.contents.partsAreLike() && slices.Contains(u.makers, number) || u.depth+maxParts > MaxDepth {
		return false
	}
	u.tallies[number].values++
	out, ok := r.contents.read(u, v.Text)
	if !ok {
		return false
	}
	u.tallies[number].changed++
	u.makers = append(u.makers, number)
	out.Index, out.Raw, out.Special = v.Index, v.Raw, v.Special
	out.with(r.special)
	out.rehash()
	*v = out
	return true
}

// json reads a text as one JSON value. What nests too deeply where it stands is none.
func (u *unfolder) json(text string) (Value, bool) {
	if u.refused || text == "" || u.depth+nesting(text) > MaxDepth {
		return Value{}, false
	}
	p := u.parser
	p.arena = u.arena
	ok := p.parse([]byte(text), false)
	root, spent := p.root, p.budget
	p.reset()
	p.budget = spent
	u.refused = u.refused || spent.refused
	return root, ok
}

// nesting is how deep a JSON text nests; a bound of it for a short text.
func nesting(text string) int {
	if len(text) < 1000 {
		return len(text) / 2
	}
	depth, most := 0, 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '[', '{':
			depth++
			most = max(most, depth)
		case ']', '}':
			depth--
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		}
	}
	return most
}
