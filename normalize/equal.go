package normalize

import (
	"cmp"
	"slices"
)

// Equal tells exactly whether two values are equal: numbers by value, objects without regard to order, arrays under a
// sort rule as multisets, hidden copies of members included. Both must come from documents made under the same rules.
func (v *Value) Equal(other *Value) bool {
	if v.Hash != other.Hash || v.Type != other.Type || v.Text != other.Text ||
		len(v.Items) != len(other.Items) || len(v.Members) != len(other.Members) || v.Unordered != other.Unordered {
		return false
	}
	for i := range v.Members {
		if !v.Members[i].equal(&other.Members[i]) {
			return false
		}
	}
	if v.Unordered {
		return sameBag(v.Items, other.Items)
	}
	return equalItems(v.Items, other.Items)
}

func (m *Member) equal(other *Member) bool {
	return m.Key == other.Key && m.Value.Equal(&other.Value) && equalItems(m.Hidden, other.Hidden)
}

func equalItems(a, b []Value) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !a[i].Equal(&b[i]) {
			return false
		}
	}
	return true
}

// sameBag tells whether two lists of one length hold the same values equally often. Only values of one hash are held
// against each other, and since equality is an equivalence any matching among them will do.
func sameBag(a, b []Value) bool {
	as, bs := byHash(a), byHash(b)
	for start := 0; start < len(as); {
		hash := as[start].Hash
		end := start
		for end < len(as) && as[end].Hash == hash {
			end++
		}
		open := bs[start:end]
		for _, v := range as[start:end] {
			at := slices.IndexFunc(open, v.Equal)
			if at < 0 {
				return false
			}
			open[at] = open[0]
			open = open[1:]
		}
		start = end
	}
	return true
}

// byHash lists values in the order of their hashes.
func byHash(values []Value) []*Value {
	out := make([]*Value, len(values))
	for i := range values {
		out[i] = &values[i]
	}
	slices.SortFunc(out, func(a, b *Value) int { return cmp.Compare(a.Hash, b.Hash) })
	return out
}
