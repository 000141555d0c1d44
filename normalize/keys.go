package normalize

import (
	"encoding/binary"
	"slices"
)

// isPaired tells whether the value is an array whose elements are paired by key.
func (v *Value) isPaired() bool {
	return v.Type == Array && v.Special != nil && len(v.Special.Keys) > 0
}

// PairKeys are the keys by which the elements of two arrays are paired: nil when there is no rule for either. Where only
// one side has a rule it holds for both.
func PairKeys(left, right *Value) []*Pattern {
	for _, v := range [2]*Value{left, right} {
		if v.isPaired() {
			return v.Special.Keys
		}
	}
	return nil
}

// keyring numbers elements by their key values, from 0 in the order of first appearance. Key values are compared exactly,
// whatever tolerance may hold for them. An element has no key when a part of it is missing or null: as in a database, null
// is the same as no other null.
type keyring struct {
	patterns []*Pattern
	numbers  map[string]int
	key      []byte // the last one read, as an exact text
}

// number is that of an element's key, or -1.
func (k *keyring) number(element *Value) int {
	if !k.read(element) {
		return -1
	}
	n, ok := k.numbers[string(k.key)]
	if !ok {
		if k.numbers == nil {
			k.numbers = map[string]int{}
		}
		n = len(k.numbers)
		k.numbers[string(k.key)] = n
	}
	return n
}

// read reads the key of an element; false means that it has none.
func (k *keyring) read(element *Value) bool {
	k.key = k.key[:0]
	for _, p := range k.patterns {
		part := element.at(p)
		if part == nil || part.Type == Null {
			return false
		}
		if part.isScalar() || part.Loose && part.Size <= looseKey {
			k.key = appendExact(k.key, part)
		} else {
			k.key = binary.LittleEndian.AppendUint64(append(k.key, "hash"...), part.Hash)
		}
	}
	return true
}

// looseKey is how many values an array or object that is a key, and in which something is tolerated, may hold to go by its
// exact text. All others go by their hash, or keys that are nested in keys would be written again for each level. Should two
// of them share it, what they differ in is found inside.
const looseKey = 16

// at is the value that a pattern without wildcards names relative to v, or nil. A member is named by its key, or by the
// one it was sent with before a rule renamed it.
func (v *Value) at(p *Pattern) *Value {
	for i := range p.segments {
		s := &p.segments[i]
		next := v.Member(s.key)
		if s.kind != stepKey || next == nil {
			next = v.child(s)
		}
		if v = next; v == nil {
			return nil
		}
	}
	return v
}

// child is the first element that a segment takes, or the first member that it takes by the key as sent; or nil.
func (v *Value) child(s *segment) *Value {
	for i := range v.Items {
		if s.takesElement(&v.Items[i]) {
			return &v.Items[i]
		}
	}
	for i := range v.Members {
		m := &v.Members[i].Value
		if m.Special != nil && m.Special.Sent != "" && s.takesKey(m.Special.Sent, false) {
			return m
		}
	}
	return nil
}

// PairByKey pairs the elements of two arrays under a pair rule: those of one key in the order of their appearance, those
// without a key with equal ones. It answers the place of each left element's partner on the right, or -1. Elements that
// have a key need not be equal to their partners.
func (e *Equality) PairByKey(left, right []Value, keys []*Pattern) []int32 {
	partners := make([]int32, len(left))
	k := keyring{patterns: keys}
	var first []int32 // by key: its next element on the right, plus one
	next := make([]int32, len(right))
	var without [2][]int32
	for j := len(right) - 1; j >= 0; j-- {
		switch key := k.number(&right[j]); {
		case key < 0:
			without[1] = append(without[1], int32(j))
		case key == len(first):
			first = append(first, int32(j)+1)
		default:
			next[j], first[key] = first[key], int32(j)+1
		}
	}
	for i := range left {
		partners[i] = -1
		switch key := k.number(&left[i]); {
		case key < 0:
			without[0] = append(without[0], int32(i))
		case key < len(first) && first[key] > 0:
			partners[i] = first[key] - 1
			first[key] = next[partners[i]]
		}
	}
	slices.Reverse(without[1])
	e.pairEqual(left, right, without, partners)
	return partners
}

// pairEqual pairs equal elements at the given places of two arrays.
func (e *Equality) pairEqual(left, right []Value, places [2][]int32, partners []int32) {
	if len(places[0]) == 0 || len(places[1]) == 0 {
		return
	}
	var chosen [2][]*Value
	for side, items := range [2][]Value{left, right} {
		for _, at := range places[side] {
			chosen[side] = append(chosen[side], &items[at])
		}
	}
	for i, j := range e.Match(chosen[0], chosen[1]) {
		if j >= 0 {
			partners[places[0][i]] = places[1][j]
		}
	}
}
