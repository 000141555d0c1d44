package normalize

import (
	"maps"
	"strings"
)

// sequence is the order of a markup element's children by name, less those that rules have taken out, and by the names that
// rules have given them.
func (v *Value) sequence() string {
	if v.Special == nil || v.Special.Sequence == "" {
		return ""
	}
	names := strings.Fields(v.Special.Sequence)
	kept := names[:0]
	var renamed map[string]string
	for _, name := range names {
		if v.Member(name) == nil {
			if renamed == nil {
				renamed = v.keysRenamed()
			}
			to, ok := renamed[name]
			if !ok {
				continue
			}
			name = to
		}
		kept = append(kept, name)
	}
	return strings.Join(kept, " ")
}

// keysRenamed are the keys that rules have given to members, by the ones that were sent.
func (v *Value) keysRenamed() map[string]string {
	keys := map[string]string{}
	for i := range v.Members {
		m := &v.Members[i]
		keys[m.Value.sentKey()] = m.Key
		for j := range m.Hidden {
			keys[m.Hidden[j].sentKey()] = m.Key
		}
	}
	return keys
}

// sentKey is the key as sent of a value that a rule has given another, else "".
func (v *Value) sentKey() string {
	if v.Special == nil {
		return ""
	}
	return v.Special.Sent
}

// sameSequence tells whether the children of two markup elements, which have the same members, stand in the same order.
func sameSequence(a, b *Value) bool {
	if a.Special != nil && b.Special != nil && a.Special.Sequence == b.Special.Sequence {
		return true
	}
	return a.sequence() == b.sequence()
}

// Reordered tells whether two markup elements hold children of the same names equally often, but in another order.
func Reordered(left, right *Value) bool {
	if left.Special == nil || right.Special == nil || left.Special.Sequence == right.Special.Sequence {
		return false
	}
	l, r := left.sequence(), right.sequence()
	return l != r && maps.Equal(countNames(l), countNames(r))
}

func countNames(sequence string) map[string]int {
	counts := map[string]int{}
	for _, name := range strings.Fields(sequence) {
		counts[name]++
	}
	return counts
}
