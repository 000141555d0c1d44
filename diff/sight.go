package diff

import (
	"strings"

	"shadowdiff/normalize"
)

// sighting is one place that differs, with what stands there; nil is a side that has nothing.
type sighting struct {
	place *place // in the body, or
	field string // elsewhere
	kind  Kind
	l, r  *normalize.Value
	keys  string // the field with the keys as they were sent, where the place's name leaves one out
}

func (s *sighting) name() string {
	if s.place != nil {
		return s.place.field()
	}
	return s.field
}

// sightings are the places that differ in one comparison, kept while its documents are.
type sightings struct {
	wanted bool
	list   []sighting
	keyed  int // of these, whose keys were asked for
}

// sightingsKept bounds them: of what differs at more places than that nothing is suggested.
const sightingsKept = 10_000

func (s *sightings) add(one sighting) {
	if !s.wanted || len(s.list) == sightingsKept {
		return
	}
	if s.list == nil {
		s.list = make([]sighting, 0, 8)
	}
	s.list = append(s.list, one)
}

// saw notes a difference outside of bodies; nil is a side that has nothing, or no single text.
func (f *found) saw(field string, kind Kind, l, r []string) {
	if !f.sightings.wanted {
		return
	}
	one := sighting{field: field, kind: kind}
	if kind != KindExtra {
		one.l = textValue(l)
	}
	if kind != KindMissing {
		one.r = textValue(r)
	}
	f.sightings.add(one)
}

// textValue is a header's line as a value; several lines are an array.
func textValue(lines []string) *normalize.Value {
	if len(lines) != 1 {
		return &normalize.Value{
			Type: normalize.Array, Items: make([]normalize.Value, len(lines)), Raw: []byte(strings.Join(lines, ", ")),
		}
	}
	return &normalize.Value{Type: normalize.String, Text: normalize.TextOf(lines[0])}
}

// sight is what all places of one field that differ in one comparison have in common: which likenesses there are, and
// how far apart they are on each ladder at most.
type sight struct {
	likes               uint32 // a bit for each likeness
	number, share, time uint8  // rungs; one more than the last: beyond
	least, most         uint16 // length of tokens; 0: there are none
}

func bit(ks ...normalize.Likeness) (bits uint32) {
	for _, k := range ks {
		bits |= 1 << k
	}
	return bits
}

// ladders are what distances are measured with.
type ladders struct{ number, share, time normalize.Ladder }

func newLadders() ladders {
	return ladders{normalize.NumberLadder(), normalize.ShareLadder(), normalize.TimeLadder()}
}

// look takes one more place into a sight.
func (l *ladders) look(s *sight, one *sighting) {
	k := normalize.LikenessOf(one.l, one.r)
	switch {
	case one.kind == KindOrder:
		k = normalize.OtherOrder
	case one.kind == KindType && k != normalize.OneNull: // a string that was parsed, and one that could not be
		k = normalize.Unlike
	}
	s.likes |= bit(k)
	switch k {
	case normalize.LikeEpoch, normalize.LikeNumber:
		s.number = uint8(l.number.Reach(one.l, one.r, int(s.number)))
		s.share = uint8(l.share.Reach(one.l, one.r, int(s.share)))
		if k == normalize.LikeEpoch {
			s.time = uint8(l.time.Reach(one.l, one.r, int(s.time)))
		}
	case normalize.LikeTime, normalize.LikeWebTime, normalize.LikeEpochText:
		s.time = uint8(l.time.Reach(one.l, one.r, int(s.time)))
	}
	switch k {
	case normalize.LikeHex, normalize.LikeBase64, normalize.LikeEpochText:
		for _, v := range [2]*normalize.Value{one.l, one.r} {
			length := uint16(min(k.TokenLength(v), 1<<16-1))
			s.most = max(s.most, length)
			if s.least == 0 || length < s.least {
				s.least = length
			}
		}
	}
}

// seen is the sight of one field, and at how many places it was had.
type seen struct {
	field string
	sight
	places int
}

// sights are what one comparison shows, by field.
type sights struct {
	list  []seen
	index map[string]int // once there are many
}

// few is how many fields are looked through one by one.
const few = 16

// of finds a field; nil when it was not seen.
func (s *sights) of(field string) *seen {
	if s.index != nil {
		if i, ok := s.index[field]; ok {
			return &s.list[i]
		}
		return nil
	}
	for i := range s.list {
		if s.list[i].field == field {
			return &s.list[i]
		}
	}
	return nil
}

// add begins a field.
func (s *sights) add(field string) *seen {
	s.list = append(s.list, seen{field: field})
	switch n := len(s.list); {
	case n == few+1:
		s.index = make(map[string]int, 4*few)
		for i := range s.list {
			s.index[s.list[i].field] = i
		}
	case n > few:
		s.index[field] = n - 1
	}
	return &s.list[len(s.list)-1]
}

// sights are what a comparison shows of the fields that are wanted.
func (l *ladders) sights(f *found, wanted func(field string) bool) (out sights) {
	for i := range f.sightings.list {
		one := &f.sightings.list[i]
		field := one.name()
		s := out.of(field)
		if s == nil {
			if !wanted(field) {
				continue
			}
			s = out.add(field)
		}
		l.look(&s.sight, one)
		s.places++
	}
	return out
}
