package diff

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
	"unicode/utf8"
)

// The first byte of what is written says in which form.
const (
	profileForm     = 1
	attributeForm   = 2
	attributeFormer = 1 // without segments of paths, with parameters as they were sent
)

const mostBlobText = 8 << 10 // bytes of one text in a blob

var errDamaged = errors.New("damaged")

// blobWriter appends numbers and texts.
type blobWriter []byte

func (w *blobWriter) count(n int64)        { *w = binary.AppendUvarint(*w, uint64(n)) }
func (w *blobWriter) signed(n int64)       { *w = binary.AppendVarint(*w, n) }
func (w *blobWriter) fixed(n uint64)       { *w = binary.LittleEndian.AppendUint64(*w, n) }
func (w *blobWriter) text(s string)        { w.count(int64(len(s))); *w = append(*w, s...) }
func (w *blobWriter) moment(t time.Time)   { w.signed(t.UnixMicro()) }
func (w *blobWriter) number(x float64)     { w.fixed(math.Float64bits(x)) }
func (w *blobWriter) flag(is bool)         { *w = append(*w, one(is)) }
func (w *blobWriter) counts(all ...*int64) { each(w.count, all) }

func each(do func(int64), all []*int64) {
	for _, n := range all {
		do(*n)
	}
}

func one(is bool) byte {
	if is {
		return 1
	}
	return 0
}

// blobReader reads what blobWriter has written. After a fault it answers nothing but zeros.
type blobReader struct {
	rest   []byte
	faulty bool
}

func (r *blobReader) fail() {
	r.rest, r.faulty = nil, true
}

func (r *blobReader) count() int64 {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 || n > maxCount {
		r.fail()
		return 0
	}
	r.rest = r.rest[size:]
	return int64(n)
}

func (r *blobReader) signed() int64 {
	n, size := binary.Varint(r.rest)
	if size <= 0 {
		r.fail()
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

func (r *blobReader) fixed() uint64 {
	if len(r.rest) < 8 {
		r.fail()
		return 0
	}
	n := binary.LittleEndian.Uint64(r.rest)
	r.rest = r.rest[8:]
	return n
}

// length is how many of something follow.
func (r *blobReader) length(most int) int {
	n := r.count()
	if n > int64(most) {
		r.fail()
		return 0
	}
	return int(n)
}

func (r *blobReader) text(most int) string {
	n := r.length(most)
	if n > len(r.rest) {
		r.fail()
		return ""
	}
	s := string(r.rest[:n])
	r.rest = r.rest[n:]
	return s
}

func (r *blobReader) flag() bool {
	if len(r.rest) == 0 || r.rest[0] > 1 {
		r.fail()
		return false
	}
	is := r.rest[0] == 1
	r.rest = r.rest[1:]
	return is
}

// moment refuses times that JSON cannot write.
func (r *blobReader) moment() time.Time {
	t := time.UnixMicro(r.signed()).UTC()
	if y := t.Year(); y < 1 || y > 9999 {
		r.fail()
		return time.Time{}
	}
	return t
}

func (r *blobReader) number() float64 {
	x := math.Float64frombits(r.fixed())
	if math.IsNaN(x) || math.IsInf(x, 0) {
		r.fail()
		return 0
	}
	return x
}

func (r *blobReader) counts(all ...*int64) {
	for _, n := range all {
		*n = r.count()
	}
}

// end answers an error unless all was read, and well.
func (r *blobReader) end() error {
	if r.faulty || len(r.rest) > 0 {
		return errDamaged
	}
	return nil
}

// form reads the first byte.
func (r *blobReader) form(known ...byte) (form byte, err error) {
	if len(r.rest) == 0 {
		return 0, errDamaged
	}
	form = r.rest[0]
	r.rest = r.rest[1:]
	if !slices.Contains(known, form) {
		return 0, fmt.Errorf("unknown form %d", form)
	}
	return form, nil
}

// MarshalBinary writes all but the route and the field, most often in less than 1 KB.
func (p *FieldProfile) MarshalBinary() ([]byte, error) {
	w := blobWriter{profileForm}
	w.counts(&p.Exchanges, &p.CandidateOnly, &p.ControlOnly, &p.Both, &p.Places, &p.MorePlaces, &p.Withheld)
	w.flag(p.Late)
	w.moment(p.First)
	w.moment(p.Last)
	for i := range p.Roles {
		r := &p.Roles[i]
		w.count(int64(len(r.Shapes)))
		for _, s := range r.Shapes {
			w.text(s.Shape)
			w.count(s.Count)
		}
		r.Values.write(&w)
		r.Lengths.write(&w)
		r.Numbers.write(&w)
	}
	return w, nil
}

// UnmarshalBinary replaces all but the route and the field by what MarshalBinary wrote.
func (p *FieldProfile) UnmarshalBinary(b []byte) error {
	r, read := blobReader{rest: b}, FieldProfile{Route: p.Route, Field: p.Field}
	if _, err := r.form(profileForm); err != nil {
		return fmt.Errorf("decode profile: %w", err)
	}
	r.counts(&read.Exchanges, &read.CandidateOnly, &read.ControlOnly, &read.Both, &read.Places, &read.MorePlaces, &read.Withheld)
	read.Late, read.First, read.Last = r.flag(), r.moment(), r.moment()
	for i := range read.Roles {
		role := &read.Roles[i]
		for range r.length(profiledClasses) {
			role.Shapes = append(role.Shapes, ShapeCount{r.shape(), r.count()})
		}
		role.Values.read(&r)
		role.Lengths.read(&r)
		role.Numbers.read(&r)
	}
	if err := r.end(); err != nil {
		return fmt.Errorf("decode profile: %w", err)
	}
	*p = read
	return nil
}

func (r *blobReader) shape() string {
	s := r.text(40)
	if s == "" || !utf8.ValidString(s) {
		r.fail()
	}
	return s
}

func (t *TopValues) write(w *blobWriter) {
	w.flag(t.full)
	w.count(int64(len(t.list)))
	for i := range t.list {
		v := &t.list[i]
		w.text(v.shape)
		w.text(string(v.text))
		w.signed(v.length)
		w.flag(v.cut)
		w.fixed(v.print)
		w.counts(&v.count, &v.over)
	}
}

func (t *TopValues) read(r *blobReader) {
	t.full = r.flag()
	for range r.length(topValues) {
		v := topValue{shape: r.shape(), text: []byte(r.text(valueText)), length: r.signed(), cut: r.flag(), print: r.fixed()}
		r.counts(&v.count, &v.over)
		if v.length < -1 || v.over > v.count || len(v.text) > 0 && !json.Valid(v.text) {
			r.fail()
			return
		}
		t.list = append(t.list, v)
	}
}

func (n *Numbers) write(w *blobWriter) {
	w.count(int64(n.level))
	w.count(n.zeros)
	w.number(n.least)
	w.number(n.most)
	for _, bins := range [2][]numberBin{n.positive, n.negative} {
		w.count(int64(len(bins)))
		before := int64(0)
		for _, b := range bins {
			w.signed(int64(b.index) - before)
			w.count(b.count)
			before = int64(b.index)
		}
	}
}

// mostIndex is above the bin of the greatest float, and below minus it is none of the least.
const mostIndex = 40_000

func (n *Numbers) read(r *blobReader) {
	n.level = uint8(r.length(numberLevels))
	n.zeros = r.count()
	n.least, n.most = r.number(), r.number()
	for _, into := range [2]*[]numberBin{&n.positive, &n.negative} {
		before := int64(-mostIndex - 1)
		for i := range r.length(numberBins) {
			distance := r.signed()
			b := numberBin{count: r.count()}
			index := distance
			if i > 0 {
				index += before
			}
			if distance > 2*mostIndex || index > mostIndex || index <= before || b.count == 0 {
				r.fail()
				return
			}
			b.index, before = int32(index), index
			*into = append(*into, b)
		}
	}
	if len(n.positive)+len(n.negative) > numberBins || n.least > n.most {
		r.fail()
	}
}
