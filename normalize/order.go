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
	for _, name := range names {
		if v.Member(name) != nil || v.child(&segment{kind: stepKey, key: name}) != nil {
			kept = append(kept, name)
		}
	}
	return strings.Join(kept, " ")
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
