package normalize

import "sync/atomic"

// RuleUsage says what one rule has done since its Normalizer was made. A rule that never takes effect asserts nothing,
// and neither does one that takes everything away.
type RuleUsage struct {
	Index int    // in Config.Rules
	Rule  string // its canonical text

	// Documents is how many documents the rule was held against: those of its route and role that have the part it is
	// about, which for a field in the body is a body that was read. Bodies of the same bytes are read once for all roles
	// or not at all.
	Documents int64
	Matched   int64 // of these, in which there was something of the kind the rule is for: an array for sort, a string for mask
	Effective int64 // of these, in which it changed, marked or took away something
	Values    int64 // how many values, in all documents, it was for
	Changed   int64 // how many of them it changed, marked or took away
	Whole     int64 // documents whose whole body it took away, or left free
}

// usageCounts is RuleUsage as it grows.
type usageCounts struct {
	documents, matched, effective, values, changed, whole atomic.Int64
}

// tally is what one rule does in one document.
type tally struct{ values, changed int64 }

// add counts one document.
func (c *usageCounts) add(t tally) {
	c.documents.Add(1)
	if t.values > 0 {
		c.matched.Add(1)
		c.values.Add(t.values)
	}
	if t.changed > 0 {
		c.effective.Add(1)
		c.changed.Add(t.changed)
	}
}

// Usage lists what each rule has done, in the order of the configuration.
func (n *Normalizer) Usage() []RuleUsage {
	out := make([]RuleUsage, 0, len(n.rules))
	for _, r := range n.rules {
		out = append(out, RuleUsage{
			Index: r.index, Rule: r.String(),
			Documents: r.counts.documents.Load(), Matched: r.counts.matched.Load(), Effective: r.counts.effective.Load(),
			Values: r.counts.values.Load(), Changed: r.counts.changed.Load(), Whole: r.counts.whole.Load(),
		})
	}
	return out
}
