package normalize

// applyRules runs the rules that hold for the response over its body, whatever it is compared as: a tree is walked; of a
// text the rules can change, take away or leave free the whole, of anything else take it away or leave it free. It answers
// false when there was no memory for what parse rules found.
func (n *Normalizer) applyRules(body *Body, p *plan, reserve func(int64) bool) bool {
	if body.Kind == Empty || len(p.body)+len(p.parse) == 0 || p.applyWhole(body) {
		return true
	}
	if body.Root == nil {
		p.applyText(body)
		return true
	}
	if len(p.parse) > 0 && !n.unfold(body, p, reserve) {
		return false
	}
	if len(p.body) == 0 {
		return true
	}
	a := n.applier(p)
	defer n.appliers.Put(a)
	gone, changed := a.run(body.Root)
	for i, r := range p.body {
		r.counts.add(a.tallies[i])
		if gone != stays && a.tallies[i].changed > 0 {
			r.counts.whole.Add(1)
		}
	}
	if gone != stays {
		*body = Body{Changed: true, arena: body.arena}
		return true
	}
	body.Changed, body.Ignored = body.Changed || changed, a.ignored
	return true
}

// isWhole tells whether a rule names the body as a whole.
func (r *rule) isWhole() bool { return r.pattern.covers() }

// applyWhole takes away or leaves free the whole body, if a rule says so. It tells whether one has.
func (p *plan) applyWhole(body *Body) bool {
	for _, r := range p.body {
		if !r.isWhole() || r.verb != verbDrop && r.verb != verbPresent {
			continue
		}
		if r.verb == verbPresent && body.Root != nil && body.Root.Type == Null {
			continue
		}
		taken := Body{Changed: true, Ignored: 1, arena: body.arena}
		if body.Root != nil {
			taken.Ignored = body.Root.Size
		}
		if r.verb == verbPresent {
			marker := stringValue(presentText)
			taken = Body{Kind: JSON, Bytes: body.Bytes, Size: body.Size, Root: &marker, Changed: true, arena: body.arena}
		}
		*body = taken
		r.counts.add(tally{1, 1})
		r.counts.whole.Add(1)
		return true
	}
	return false
}

// applyText does what the rules for strings do to a text, as a whole.
func (p *plan) applyText(body *Body) {
	if body.Kind != Text {
		return
	}
	text := textOf(string(body.Bytes))
	for _, r := range p.body {
		if !r.isWhole() {
			continue
		}
		switch {
		case r.verb == verbAbsent:
			v := stringValue(text)
			if gone := r.isAbsent(&v); gone {
				r.counts.add(tally{1, 1})
				r.counts.whole.Add(1)
				*body = Body{Changed: true}
				return
			}
			r.counts.add(tally{1, 0})
		case r.text != nil && r.verb != verbMaskKeys:
			to, t := r.text(text, new(numbering)), tally{values: 1}
			if to != text {
				text, t.changed = to, 1
				body.Bytes, body.Changed = []byte(bytesOf(text)), true
			}
			r.counts.add(t)
		}
	}
}
