package normalize

import (
	"maps"
	"strings"
)

// sequence is the order of a markup element's children by name, less those that rules have taken out.
func (v *Value) sequence() string {
	if v.Special == nil || v.Special.Sequence == "" {
		return ""
	}
	names := strings.Fields(v.Special.Sequence)
	kept := names[:0]
	var renamed map[string]bool
	for _, name := range names {
		if v.Member(name) == nil {
			if renamed == nil {
				renamed = v.keysRenamed()
			}
			if !renamed[name] {
				continue
			}
		}
		kept = append(kept, name)
	}
	return strings.Join(kept, " ")
}

// keysRenamed are the keys as sent of members that rules have renamed.
func (v *Value) keysRenamed() map[string]bool {
	keys := map[string]bool{}
	for i := range v.Members {
		if s := v.Members[i].Value.Special; s != nil && s.Sent != "" {
			keys[s.Sent] = true
		}
	}
	return keys
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
