package normalize

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
)

// appendExact appends a text of a value that two values have in common exactly when they are equal, tolerances aside: what
// key values are compared by, and values that too many others share their hash with.
func appendExact(dst []byte, v *Value) []byte {
	kind := byte(v.Type)
	if v.parsed() {
		kind |= 1 << 7
	}
	dst = append(dst, kind)
	switch {
	case v.Type == Object:
		dst = appendText(dst, v.sequence())
		dst = binary.AppendUvarint(dst, uint64(len(v.Members)))
		for i := range v.Members {
			m := &v.Members[i]
			dst = appendText(dst, m.Key)
			dst = appendExact(dst, &m.Value)
			dst = appendExactItems(dst, m.Hidden)
		}
		return dst
	case v.Type != Array:
		return appendText(dst, v.Text)
	case v.isPaired():
		return appendExactPaired(dst, v)
	case v.Unordered:
		return appendExactBag(dst, v.Elements())
	}
	return appendExactItems(dst, v.Items)
}

func appendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

func appendExactItems(dst []byte, items []Value) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(items)))
	for i := range items {
		dst = appendExact(dst, &items[i])
	}
	return dst
}

// appendExactBag appends values in the order of their hashes. Only those that share one are sorted by their own texts: as
// such values are as large as each other, little is copied twice however deep multisets are nested.
func appendExactBag(dst []byte, items []*Value) []byte {
	slices.SortFunc(items, func(a, b *Value) int { return cmp.Compare(a.Hash, b.Hash) })
	dst = binary.AppendUvarint(dst, uint64(len(items)))
	for i := 0; i < len(items); {
		n := 1
		for i+n < len(items) && items[i+n].Hash == items[i].Hash {
			n++
		}
		if n == 1 {
			dst = appendExact(dst, items[i])
		} else {
			texts := make([][]byte, n)
			for k, v := range items[i : i+n] {
				texts[k] = appendExact(nil, v)
			}
			slices.SortFunc(texts, bytes.Compare)
			dst = append(dst, bytes.Join(texts, nil)...)
		}
		i += n
	}
	return dst
}

// appendExactPaired appends the elements of a paired array by key, those of one key in their order.
func appendExactPaired(dst []byte, v *Value) []byte {
	type keyed struct {
		key  string
		item *Value
	}
	k := keyring{patterns: v.Special.Keys}
	var with []keyed
	var without []*Value
	for i := range v.Items {
		if k.read(&v.Items[i]) {
			with = append(with, keyed{string(k.key), &v.Items[i]})
		} else {
			without = append(without, &v.Items[i])
		}
	}
	slices.SortStableFunc(with, func(a, b keyed) int { return cmp.Compare(a.key, b.key) })
	dst = binary.AppendUvarint(dst, uint64(len(with)))
	for i := range with {
		dst = appendExact(dst, with[i].item)
	}
	return appendExactBag(dst, without)
}

// Elements are those of an array, as Equality.Match takes them.
func (v *Value) Elements() []*Value { return pointersTo(v.Items) }

func pointersTo(items []Value) []*Value {
	out := make([]*Value, len(items))
	for i := range items {
		out[i] = &items[i]
	}
	return out
}
