package normalize

import "unsafe"

// Equal tells exactly whether two values are equal: numbers by value, objects without regard to order, arrays under a
// sort rule as multisets, those under a pair rule by key, what a tolerance holds for by closeness, hidden copies of members
// included. Both must come from documents made under the same rules.
func (v *Value) Equal(other *Value) bool { return (*Equality)(nil).Equal(v, other) }

// Equality tells whether values are equal within a number of steps. Only what is Loose takes steps, since whether two
// multisets of such values are equal is a question of matching; all else is linear in the size of the values. When the
// steps are used up, no two Loose values are equal any more.
type Equality struct {
	Work    *int // steps left
	Bounded bool // the steps were used up, or a matching was given up: values may be equal that were said not to be

	known map[[2]*Value]bool // of large Loose ones
}

// looseWork is the steps for one question where nobody counts them.
const looseWork = 4_000_000

// Equal is Value.Equal within the steps left.
func (e *Equality) Equal(a, b *Value) bool {
	if a.Hash != b.Hash || a.Type != b.Type || len(a.Items) != len(b.Items) || len(a.Members) != len(b.Members) ||
		a.Unordered != b.Unordered {
		return false
	}
	if a.Loose {
		return e.looseEqual(a, b)
	}
	return a.Text == b.Text && e.partsEqual(a, b)
}

// looseEqual is for values of one hash in which there are tolerances. What it finds of large ones it remembers: whoever
// asks of two that differ will ask of what is in them next.
func (e *Equality) looseEqual(a, b *Value) bool {
	if a.isScalar() {
		if e != nil {
			*e.Work--
		}
		return Close(a, b)
	}
	if e == nil {
		work := looseWork
		e = &Equality{Work: &work}
	}
	if *e.Work -= 1 + len(a.Items); *e.Work < 0 {
		e.Bounded = true
		return false
	}
	if a.Size < worthKnowing {
		return e.partsEqual(a, b)
	}
	pair := [2]*Value{a, b}
	equal, known := e.known[pair]
	if !known {
		equal = e.partsEqual(a, b)
		if e.known == nil {
			e.known = map[[2]*Value]bool{}
		}
		e.known[pair] = equal
	}
	return equal
}

// worthKnowing is the size of a value from which on it is remembered what it equals.
const worthKnowing = 32

func (v *Value) isScalar() bool { return v.Type != Array && v.Type != Object }

// Parsed tells whether a value was made of a string that a rule has parsed: it is equal to nothing that was sent as it is.
func Parsed(v *Value) bool { return v.parsed() }

// Close tells whether two scalars are equal under a tolerance: that of the left one, or of the right one where it has none.
func Close(a, b *Value) bool {
	for _, v := range [2]*Value{a, b} {
		if v.Special != nil && v.Special.Tolerance != nil && a.Type == b.Type {
			return a.parsed() == b.parsed() && (a.Text == b.Text || v.Special.Tolerance.Close(a, b))
		}
	}
	return false
}

// partsEqual compares what two containers of one length hold.
func (e *Equality) partsEqual(a, b *Value) bool {
	if a.Special == b.Special && sameMemory(a.Items, b.Items) && sameMemory(a.Members, b.Members) {
		return true
	}
	if (a.Special != nil || b.Special != nil) && (a.parsed() != b.parsed() || !sameSequence(a, b)) {
		return false
	}
	for i := range a.Members {
		l, r := &a.Members[i], &b.Members[i]
		if l.Key != r.Key || !e.Equal(&l.Value, &r.Value) || len(l.Hidden)+len(r.Hidden) > 0 && !e.itemsEqual(l.Hidden, r.Hidden) {
			return false
		}
	}
	switch {
	case len(a.Items) == 0:
		return true
	case a.Special == nil && !a.Unordered:
		return e.itemsEqual(a.Items, b.Items)
	case a.isPaired():
		return e.pairedEqual(a, b)
	case !a.Unordered:
		return e.itemsEqual(a.Items, b.Items)
	case a.Loose:
		return allMatched(e.Match(a.Elements(), b.Elements()))
	}
	return sameBag(a.Items, b.Items)
}

// sameMemory tells whether two lists of one length are one, as in documents that share what they have in common.
func sameMemory[T any](a, b []T) bool {
	return len(a) == 0 || unsafe.SliceData(a) == unsafe.SliceData(b)
}

func (e *Equality) itemsEqual(a, b []Value) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !e.Equal(&a[i], &b[i]) {
			return false
		}
	}
	return true
}

// pairedEqual compares two arrays of one length under a pair rule.
func (e *Equality) pairedEqual(a, b *Value) bool {
	for i, j := range e.PairByKey(a.Items, b.Items, a.Special.Keys) {
		if j < 0 || !e.Equal(&a.Items[i], &b.Items[j]) {
			return false
		}
	}
	return true
}

// sameBag tells whether two lists of one length, in which nothing is Loose, hold the same values equally often.
func sameBag(a, b []Value) bool {
	if len(a) == 1 {
		return a[0].Equal(&b[0])
	}
	return Classify(a, b).Permuted()
}

func allMatched(partners []int32) bool {
	for _, j := range partners {
		if j < 0 {
			return false
		}
	}
	return true
}
