package diff

import "time"

// slower is how much longer than the secondary the candidate may take: two equal hosts are never quite equal.
const slower = 1.1

// Pair counts one pair of yes and no, and tells whether it was discordant.
func (c *Counts) Pair(candidate, control bool) (discordant bool) {
	switch {
	case candidate && control:
		c.Both++
	case candidate:
		c.CandidateOnly++
	case control:
		c.ControlOnly++
	}
	return candidate != control
}

func tick(n *int64, yes bool) {
	if yes {
		*n++
	}
}

// addField counts what one comparison says of one field.
func (t *Tally) addField(to *row[FieldTally], fc *FieldComparison, at time.Time) {
	f := t.fields.write(to)
	spread(&f.First, &f.Last, at)
	candidate, control, minute := fc.Candidate > 0, fc.Control > 0, minuteOf(at)
	tick(&f.Raw, candidate)
	tick(&f.Noise, control)
	for level := TestValue; level <= TestPresence; level++ {
		gravity := Level(level) + 1
		test := &f.Tests[level]
		t.count(test, minute, fc.Candidate >= gravity, fc.Control >= gravity)
	}
	if candidate && control {
		extent := &f.Tests[TestExtent]
		t.count(extent, minute, fc.CandidatePlaces > fc.ControlPlaces, fc.ControlPlaces > fc.CandidatePlaces)
	}
	drift := &f.Tests[TestDrift]
	t.count(drift, minute, fc.Drift > 0, fc.Drift < 0)
	f.countTrait(fc.Trait)
}

// count counts one pair for a hypothesis.
func (t *Tally) count(test *TestTally, minute int32, candidate, control bool) {
	t.number(&test.Order, test.add(minute, candidate, control))
}

// add counts one pair, and tells whether it was discordant.
func (t *TestTally) add(minute int32, candidate, control bool) (discordant bool) {
	if discordant = t.Counts.Pair(candidate, control); discordant {
		t.Minutes.add(minute, candidate)
	}
	return discordant
}

// number gives a hypothesis its place at its first discordant request.
func (t *Tally) number(order *int, discordant bool) {
	if discordant && *order == 0 {
		t.lastOrder++
		*order = t.lastOrder
	}
}

// fold joins the fields that are counted together, so that one request counts once.
func (fc *FieldComparison) fold(next *FieldComparison) {
	fc.Candidate = max(fc.Candidate, next.Candidate)
	fc.Control = max(fc.Control, next.Control)
	fc.CandidatePlaces += next.CandidatePlaces
	fc.ControlPlaces += next.ControlPlaces
}

func (r *RouteTally) unknown(reason string) {
	if r.Unknown == nil {
		r.Unknown = map[string]int64{}
	}
	r.Unknown[reason]++
}

// compared counts one compared request as a whole, and tells whether it was discordant.
func (r *RouteTally) compared(c *Comparison) (discordant bool) {
	r.Compared++
	spread(&r.First, &r.Last, c.Time)
	tick(&r.Failed, c.Failed)
	tick(&r.Raw, c.Raw)
	tick(&r.Noise, c.Noise)
	tick(&r.CandidateUp, c.CandidateUp)
	tick(&r.ControlUp, c.ControlUp)
	tick(&r.NoControl, c.NoControl)
	tick(&r.CandidateErrors, c.CandidateError && !c.ControlError && !c.NoControl)
	tick(&r.ControlErrors, c.ControlError && !c.CandidateError)
	minute, span := minuteOf(c.Time), Span{Compared: 1}
	tick(&span.Noise, c.Noise)
	tick(&span.Errors, c.PrimaryError)
	r.Course.add(int64(minute), 0, span)
	candidate := c.Result == CandidateOnly || c.Result == Both
	control := c.Result == ControlOnly || c.Result == Both
	if discordant = r.Results.Pair(candidate, control); discordant {
		r.Minutes.add(minute, candidate)
	}
	return discordant
}

// add counts one pair, and tells whether it was one: without both times there is none.
func (l *LatencyTally) add(p LatencyPair, at time.Time) (pair bool) {
	if p.Candidate <= 0 || p.Secondary <= 0 {
		return false
	}
	isSlower := float64(p.Candidate) > slower*float64(p.Secondary)
	l.Minutes.add(minuteOf(at), isSlower)
	if isSlower {
		l.Slower++
	} else {
		l.Faster++
	}
	l.Candidate.Add(p.Candidate)
	l.Secondary.Add(p.Secondary)
	return true
}

// spread stretches first and last to hold a time: exchanges need not come in order.
func spread(first, last *time.Time, at time.Time) {
	if first.IsZero() || at.Before(*first) {
		*first = at
	}
	if at.After(*last) {
		*last = at
	}
}
