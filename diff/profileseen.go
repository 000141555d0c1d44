package diff

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"shadowdiff/multicast"
	"shadowdiff/normalize"
)

// ShapeMissing is the shape of what is not there; bodies as a whole have their kind for a shape.
const ShapeMissing = "missing"

// FieldValues is what stands in a field that differs in one exchange. It shares no memory with the exchange.
type FieldValues struct {
	Field              string
	Candidate, Control Level          // as in FieldComparison
	Places             [][3]SeenValue // by multicast.Role; the first four places that differ on either side
	More               int            // places beyond
	Withheld           bool           // a value is to be redacted: none is here

	lefts   []*normalize.Value // the primary's, by place; nil once all are seen
	matched int                // places that the control has taken its part of, one bit each
}

// SeenValue is one value as it is kept. Its zero value is a role that was not asked.
type SeenValue struct {
	Shape    string  // one of normalize's, ShapeMissing, or a kind of body
	Text     string  // JSON text, cut after 120 bytes; empty where the shape and the length are all that is kept
	Cut      bool    // the value is longer
	Length   int64   // as in TopValue; -1: it has none
	Number   float64 // of numbers and of strings that are one
	IsNumber bool
	print    uint64 // of the whole value where it is cut
}

// values gives a comparison what stands at the places that differ, while the documents are there; a nil guard gives none.
func (g *profileGuard) values(out *Comparison, candidate, control *found, a *answers) {
	if g == nil || len(out.Fields) == 0 {
		return
	}
	s := seeing{guard: g, answers: a, asked: !out.NoControl}
	for i := range candidate.sightings.list {
		s.candidate(&candidate.sightings.list[i])
	}
	for i := range control.sightings.list {
		s.control(&control.sightings.list[i])
	}
	for i := range out.Fields {
		s.head(&out.Fields[i])
	}
	s.drifts(out, candidate.changes, control.changes)
	out.Values = s.list[:0]
	for _, v := range s.list {
		f := out.field(v.Field)
		if f == nil {
			continue
		}
		v.Candidate, v.Control, v.lefts = f.Candidate, f.Control, nil
		if v.Withheld {
			v.Places, v.More = nil, 0
		}
		out.Values = append(out.Values, v)
	}
}

// field finds what the comparison says of a field.
func (out *Comparison) field(name string) *FieldComparison {
	lo, hi := 0, len(out.Fields) // sorted
	for lo < hi {
		mid := (lo + hi) / 2
		if out.Fields[mid].Field < name {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo < len(out.Fields) && out.Fields[lo].Field == name {
		return &out.Fields[lo]
	}
	return nil
}

// seeing is the gathering of one exchange's values.
type seeing struct {
	guard   *profileGuard
	answers *answers
	asked   bool // the secondary was
	list    []FieldValues
	text    []byte
	clean   [3]*multicast.Response // redacted, once that was needed
}

// of finds or begins a field; nil when there are enough.
func (s *seeing) of(name string) *FieldValues {
	for i := range s.list {
		if s.list[i].Field == name {
			return &s.list[i]
		}
	}
	if len(s.list) == profiledFields {
		return nil
	}
	s.list = append(s.list, FieldValues{Field: name, Withheld: name != FieldSize && s.guard.covers(name)})
	return &s.list[len(s.list)-1]
}

// candidate takes one place at which the candidate differs; the control has there what the primary has until it is seen.
func (s *seeing) candidate(one *sighting) {
	v := s.of(one.name())
	if v == nil || v.Withheld {
		return
	}
	if len(v.Places) == profiledPlaces {
		v.More++
		return
	}
	place := [3]SeenValue{multicast.Primary: s.see(v, one, one.l, multicast.Primary)}
	if s.asked {
		place[multicast.Secondary] = place[multicast.Primary]
	}
	place[multicast.Candidate] = s.see(v, one, one.r, multicast.Candidate)
	v.add(place, one.l)
}

// control takes one place at which the secondary differs.
func (s *seeing) control(one *sighting) {
	v := s.of(one.name())
	if v == nil || v.Withheld {
		return
	}
	for i, left := range v.lefts {
		if v.matched&(1<<i) == 0 && samePlace(one, left) {
			v.Places[i][multicast.Secondary] = s.see(v, one, one.r, multicast.Secondary)
			v.matched |= 1 << i
			return
		}
	}
	if len(v.Places) == profiledPlaces {
		v.More++ // some of these may be the candidate's as well
		return
	}
	place := [3]SeenValue{multicast.Primary: s.see(v, one, one.l, multicast.Primary)}
	place[multicast.Candidate] = place[multicast.Primary]
	place[multicast.Secondary] = s.see(v, one, one.r, multicast.Secondary)
	v.matched |= 1 << len(v.Places)
	v.add(place, one.l)
}

// drifts takes the places of fields that differ only in how great they are: arrays by their lengths.
func (s *seeing) drifts(out *Comparison, candidate, control []change) {
	var fields map[string]bool
	for i := range out.Fields {
		if f := &out.Fields[i]; drifting(f) && f.Field != FieldSize && len(s.list)+len(fields) < profiledFields {
			if fields == nil {
				fields = map[string]bool{}
			}
			fields[f.Field] = true
		}
	}
	if fields == nil {
		return
	}
	for i := range candidate {
		if c := &candidate[i]; fields[c.place.field()] {
			s.candidate(&sighting{place: c.place, l: c.left, r: c.right})
		}
	}
	for i := range control {
		if c := &control[i]; fields[c.place.field()] {
			s.control(&sighting{place: c.place, l: c.left, r: c.right})
		}
	}
}

func (v *FieldValues) add(place [3]SeenValue, left *normalize.Value) {
	v.Places = append(v.Places, place)
	v.lefts = append(v.lefts, left)
}

// samePlace tells whether the primary's value of a sighting is one that was seen before. In trees it is the same value;
// outside of them it is made anew each time.
func samePlace(one *sighting, left *normalize.Value) bool {
	if one.place != nil || one.l == nil || left == nil {
		return one.l == left
	}
	return one.l.Type == left.Type && one.l.Text == left.Text
}

// see is a value as it is kept; it marks the field as withheld where it may not be.
func (s *seeing) see(v *FieldValues, at *sighting, value *normalize.Value, role multicast.Role) SeenValue {
	if value == nil {
		return SeenValue{Shape: ShapeMissing, Length: -1}
	}
	if at.place == nil && value.Type == normalize.Array { // a header's lines
		value = &normalize.Value{Type: normalize.String, Text: normalize.TextOf(string(value.Raw))}
	}
	shape := normalize.ShapeOf(value)
	seen := SeenValue{Shape: shape.String(), Length: -1}
	switch value.Type {
	case normalize.Null, normalize.Bool:
	case normalize.Array:
		seen.Length = int64(len(value.Items))
		return seen
	case normalize.Object:
		seen.Length = int64(len(value.Members))
		return seen
	case normalize.Number:
		seen.Number, seen.IsNumber = number(value.Text)
	case normalize.String:
		seen.Length = int64(utf8.RuneCountInString(value.Text))
		if shape == normalize.ShapeNumeric || shape == normalize.ShapeEpoch || shape == normalize.ShapeEpochMS {
			seen.Number, seen.IsNumber = number(value.Text)
		}
	}
	s.write(&seen, value)
	switch s.may(v.Field, at, value, shape, seen.Text, role) {
	case shown:
		return seen
	case hidden:
		v.Withheld = true
	}
	return SeenValue{Shape: seen.Shape, Length: seen.Length}
}

// write gives a value its text.
func (s *seeing) write(seen *SeenValue, value *normalize.Value) {
	x := excerpter{buf: s.text[:0], room: valueText}
	x.value(value)
	s.text = x.buf
	seen.Text = string(x.buf)
	if long := len(value.Text); long > valueText/2 { // it may have been cut, and escapes take room
		seen.Cut = strings.HasSuffix(seen.Text, `…"`) && !strings.HasSuffix(value.Text, "…")
		if seen.Cut {
			seen.print = printOf(value.Text)
		}
	}
}

// number is a canonical number as far as a float holds it: beyond what one can hold it is the greatest one, or zero.
func number(text string) (x float64, ok bool) {
	x, err := strconv.ParseFloat(text, 64)
	if math.IsInf(x, 0) {
		return math.Copysign(math.MaxFloat64, x), true
	}
	return x, err == nil
}

// printOf tells long texts apart, the same in all processes.
func printOf(text string) uint64 {
	h := uint64(len(text)) * 0x9E3779B97F4A7C15
	for ; len(text) >= 8; text = text[8:] {
		word := uint64(text[0]) | uint64(text[1])<<8 | uint64(text[2])<<16 | uint64(text[3])<<24 |
			uint64(text[4])<<32 | uint64(text[5])<<40 | uint64(text[6])<<48 | uint64(text[7])<<56
		h = (h ^ word) * 0xD6E8FEB86659FD93
		h ^= h >> 32
	}
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * 0xD6E8FEB86659FD93
		h ^= h >> 32
	}
	return h | 1 // 0 is that of a value that is not cut
}

// head sees what is no value in a tree: the status, sizes, whole bodies.
func (s *seeing) head(f *FieldComparison) {
	switch f.Field {
	case fieldStatus, FieldSize, string(normalize.FieldBody):
	default:
		return
	}
	v := s.of(f.Field)
	if v == nil || v.Withheld || len(v.Places) > 0 {
		return
	}
	var place [3]SeenValue
	for role, d := range s.answers.documents {
		switch {
		case d == nil: // the secondary, which was not asked
		case f.Field == fieldStatus:
			place[role] = numberSeen(int64(d.Status))
		case f.Field == FieldSize:
			place[role] = numberSeen(d.Body.Size)
		default:
			place[role] = s.body(v, &d.Body, multicast.Role(role))
		}
	}
	v.add(place, nil)
}

func numberSeen(n int64) SeenValue {
	return SeenValue{
		Shape: normalize.ShapeNumber.String(), Text: strconv.FormatInt(n, 10), Length: -1, Number: float64(n), IsNumber: true,
	}
}

// body sees a body of which no part was compared: its kind and its size, and a short text as it is.
func (s *seeing) body(v *FieldValues, b *normalize.Body, role multicast.Role) SeenValue {
	if b.Kind == normalize.Empty {
		return SeenValue{Shape: ShapeMissing, Length: -1}
	}
	seen := SeenValue{Shape: b.Kind.String(), Length: b.Size}
	if b.Kind != normalize.Text || len(b.Bytes) > valueText/2 {
		return seen
	}
	value := normalize.Value{Type: normalize.String, Text: normalize.TextOf(string(b.Bytes))}
	s.write(&seen, &value)
	if s.may(v.Field, nil, &value, normalize.ShapeText, seen.Text, role) != shown {
		seen.Text, seen.Cut, seen.print = "", false, 0
	}
	return seen
}

// failed gives a comparison of which one shadow gave no answer how each of them ended.
func (g *profileGuard) failed(out *Comparison) {
	f := out.field(fieldTransport)
	if g == nil || f == nil {
		return
	}
	v := FieldValues{Field: fieldTransport, Candidate: f.Candidate, Control: f.Control, Places: make([][3]SeenValue, 1)}
	for role := range out.Exchange.Responses {
		if outcome := out.Exchange.Responses[role].Outcome; outcome != "" {
			v.Places[0][role] = SeenValue{Shape: normalize.ShapeText.String(), Text: strconv.Quote(string(outcome)), Length: -1}
		}
	}
	out.Values = []FieldValues{v}
}

// keysKept is how many sightings of one comparison have their keys; those of others are not to be shown.
const keysKept = 256

// keys is the field of the place where the walk is, with the keys as they were sent, where the place's name leaves one
// out; else nothing.
func (w *walk) keys(right bool) string {
	if !w.sightings.wanted || !w.place.folded() {
		return ""
	}
	if w.sightings.keyed++; w.sightings.keyed > keysKept {
		return "?" // no field: it is covered
	}
	field := normalize.FieldBody
	for i := range w.path {
		switch s := &w.path[i]; {
		case s.element:
			field = field.Elements()
		case right:
			field = field.Key(s.rightKey)
		default:
			field = field.Key(s.key)
		}
	}
	return string(field)
}
