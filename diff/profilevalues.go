package diff

import (
	"cmp"
	"slices"
	"strings"
)

const (
	topValues = 16  // different values of one role that are counted at a time
	valueText = 120 // bytes of a value that are kept
)

// TopValues counts the most frequent of many values in little memory: it knows 16 values at a time, and a newcomer takes
// the place and the count of the least frequent one. Until that happens every count is exact; afterwards each is too high
// by Over at most, and a value that it does not know was seen no more often than the least of those it knows. It merges.
//
// Source: Metwally, Agrawal and El Abbadi, "Efficient computation of frequent and top-k elements in data streams"
// (ICDT 2005); merging after Agarwal and others, "Mergeable summaries" (PODS 2012).
type TopValues struct {
	list []topValue
	last int  // where the value before was found
	full bool // some value has lost its place
}

type topValue struct {
	shape  string
	text   []byte // reused by the next one in the place
	length int64
	print  uint64
	cut    bool
	count  int64
	over   int64
}

// TopValue is one value and how often it was seen.
type TopValue struct {
	Shape  string  // one of normalize's shapes, "missing", or a kind of body
	Text   Excerpt // the value as JSON text; empty where nothing is kept of it: what is missing, arrays, objects, bodies
	Cut    bool    // the value is longer than Text
	Length int64   // characters of a string, elements of an array, members of an object, bytes of a body; -1: has none
	Count  int64
	Over   int64 // by how much Count may be too high; 0: it is exact
}

// add counts one value.
func (t *TopValues) add(v *SeenValue) {
	if t.last < len(t.list) && t.list[t.last].is(v) {
		t.list[t.last].count++
		return
	}
	for i := range t.list {
		if t.list[i].is(v) {
			t.list[i].count++
			t.last = i
			return
		}
	}
	if len(t.list) < topValues {
		t.last = len(t.list)
		t.list = append(t.list, topValue{count: 1})
	} else {
		t.last = t.least()
		t.full = true
		least := &t.list[t.last]
		least.over = least.count
		least.count++
	}
	t.list[t.last].take(v)
}

func (v *topValue) is(seen *SeenValue) bool {
	return v.print == seen.print && v.length == seen.Length && v.shape == seen.Shape && string(v.text) == string(seen.Text)
}

func (v *topValue) take(seen *SeenValue) {
	v.shape, v.length, v.print, v.cut = seen.Shape, seen.Length, seen.print, seen.Cut
	v.text = append(v.text[:0], seen.Text...)
}

// least is the place of the least frequent value.
func (t *TopValues) least() int {
	at := 0
	for i := range t.list {
		if t.list[i].count < t.list[at].count {
			at = i
		}
	}
	return at
}

// Exact tells whether every value ever seen is listed.
func (t *TopValues) Exact() bool { return !t.full }

// Unseen is how often a value that is not listed may have been seen at most.
func (t *TopValues) Unseen() int64 {
	if !t.full || len(t.list) == 0 {
		return 0
	}
	return t.list[t.least()].count
}

// List returns the values, the most frequent first.
func (t *TopValues) List() []TopValue {
	out := make([]TopValue, len(t.list))
	for i := range t.list {
		v := &t.list[i]
		out[i] = TopValue{v.shape, Excerpt(v.text), v.cut, v.length, v.count, v.over}
	}
	slices.SortFunc(out, func(a, b TopValue) int {
		return cmp.Or(cmp.Compare(b.Count-b.Over, a.Count-a.Over), cmp.Compare(b.Count, a.Count),
			strings.Compare(string(a.Text), string(b.Text)), strings.Compare(a.Shape, b.Shape), cmp.Compare(a.Length, b.Length))
	})
	return out
}

// merge adds what another one counted. A value that one of them does not know may have been seen there as often as its
// least frequent one.
func (t *TopValues) merge(o *TopValues) {
	mine, theirs := t.Unseen(), o.Unseen()
	all := t.clone().list
	for i := range all {
		all[i].count += theirs
		all[i].over += theirs
	}
	for i := range o.list {
		from := o.list[i]
		from.text = slices.Clone(from.text)
		at := slices.IndexFunc(all, func(v topValue) bool { return v.same(&from) })
		if at < 0 {
			from.count += mine
			from.over += mine
			all = append(all, from)
			continue
		}
		all[at].count += from.count - theirs
		all[at].over += from.over - theirs
	}
	slices.SortStableFunc(all, func(a, b topValue) int { return cmp.Compare(b.count, a.count) })
	t.full = t.full || o.full || len(all) > topValues
	t.list, t.last = slices.Clip(all[:min(len(all), topValues)]), 0
}

func (v *topValue) same(o *topValue) bool {
	return v.print == o.print && v.length == o.length && v.shape == o.shape && string(v.text) == string(o.text)
}

// drop forgets the values that are not to be kept; what was counted of them is no longer told apart.
func (t *TopValues) drop(gone func(v *topValue) bool) (dropped bool) {
	n := len(t.list)
	t.list = slices.DeleteFunc(t.list, func(v topValue) bool { return gone(&v) })
	t.last = 0
	t.full = t.full || len(t.list) < n
	return len(t.list) < n
}

func (t *TopValues) clone() TopValues {
	c := *t
	c.list = slices.Clone(t.list)
	for i := range c.list {
		c.list[i].text = slices.Clone(c.list[i].text)
	}
	return c
}
