package diff

import (
	"fmt"
	"net/url"
	"strconv"

	"shadowdiff/normalize"
)

// MarshalBinary writes all but the route, most often in a few KB.
func (r *RouteAttributes) MarshalBinary() ([]byte, error) {
	w := blobWriter{attributeForm}
	w.count(r.Compared)
	w.flag(r.refused)
	w.flag(r.unknown)
	w.count(int64(len(r.list)))
	for i := range r.list {
		a := &r.list[i]
		w.count(int64(a.Kind))
		w.text(a.Name)
		w.text(a.raw)
		w.flag(a.Many)
		w.count(a.From)
		w.count(int64(len(a.Values)))
		for k, v := range a.Values {
			w.text(v)
			w.count(int64(a.lengths[k]))
			w.count(a.earlyOf(k + 1))
		}
		w.row(&a.counts)
		w.flag(a.crowd != nil)
		if a.crowd != nil {
			w.crowd(a.crowd)
		}
	}
	w.count(int64(len(r.fields)))
	for _, f := range r.fields {
		w.text(f.field)
		w.flag(f.base != nil)
		for i := range r.list {
			w.row(&f.alone[i])
			w.row(&f.both[i])
			if f.base != nil {
				w.row(&f.base[i])
			}
		}
	}
	return w, nil
}

// row writes those counts that are not 0.
func (w *blobWriter) row(row *[marks]int64) {
	bits := uint64(0)
	for m, n := range row {
		if n != 0 {
			bits |= 1 << m
		}
	}
	w.count(int64(bits))
	for _, n := range row {
		if n != 0 {
			w.count(n)
		}
	}
}

// row reads the counts of an attribute with so many values.
func (r *blobReader) row(values int) (row [marks]int64) {
	bits := r.count()
	for m := values + 1; m < markOther; m++ {
		if bits&(1<<m) != 0 {
			r.fail()
		}
	}
	if bits >= 1<<marks || r.faulty {
		r.fail()
		return row
	}
	for m := range row {
		if bits&(1<<m) != 0 {
			row[m] = r.count()
		}
	}
	return row
}

// crowd writes the cells that are not 0, each with how many are between it and the one before.
func (w *blobWriter) crowd(c *crowdTable) {
	cells := int64(0)
	for _, n := range c {
		cells += int64(one(n != 0))
	}
	w.count(cells)
	last := -1
	for i, n := range c {
		if n != 0 {
			w.count(int64(i - last - 1))
			w.count(int64(n))
			last = i
		}
	}
}

func (r *blobReader) crowd() *crowdTable {
	c, at := new(crowdTable), -1
	for range r.length(len(c)) {
		at += 1 + r.length(len(c))
		n := r.length(crowdFull)
		if r.faulty || at >= len(c) || n == 0 {
			r.fail()
			break
		}
		c[at] = uint16(n)
	}
	return c
}

// UnmarshalBinary replaces all but the route by what MarshalBinary wrote.
func (r *RouteAttributes) UnmarshalBinary(b []byte) error {
	in, read := blobReader{rest: b}, RouteAttributes{Route: r.Route}
	form, err := in.form(attributeFormer, attributeForm)
	if err != nil {
		return fmt.Errorf("decode attributes: %w", err)
	}
	read.Compared = in.count()
	read.refused, read.unknown = in.flag(), in.flag()
	for i := range in.length(attributesKept) {
		a := in.attribute(form)
		if i < int(AttributeHeader) && int(a.Kind) != i || i >= int(AttributeHeader) && a.Kind < AttributeHeader {
			in.fail()
			break
		}
		read.list = append(read.list, a)
	}
	if len(read.list) < int(AttributeHeader) {
		in.fail()
	}
	for range in.length(1024) { // a route may have more than it may begin, once others were merged into it
		if in.faulty {
			break
		}
		read.fields = append(read.fields, in.field(read.list))
	}
	if err := in.end(); err != nil {
		return fmt.Errorf("decode attributes: %w", err)
	}
	*r = read
	return nil
}

func (r *blobReader) attribute(form byte) Attribute {
	a := Attribute{Kind: AttributeKind(r.length(int(attributeKinds) - 1))}
	a.Name, a.raw, a.Many, a.From = r.text(mostBlobText), r.text(mostBlobText), r.flag(), r.count()
	for range r.length(attributeValues) {
		a.Values = append(a.Values, r.text(attributeText))
		a.lengths = append(a.lengths, int(r.count()))
		if k := len(a.Values) - 1; len(a.Values[k]) > a.lengths[k] || len(a.Values[k]) < a.lengths[k] && len(a.Values[k]) < attributeText {
			r.fail()
		}
		if form == attributeFormer {
			a.plain(len(a.Values) - 1)
			continue
		}
		if n := r.count(); n > 0 {
			if a.early == nil {
				a.early = make([]int64, attributeValues)
			}
			a.early[len(a.Values)-1] = n
		}
	}
	a.counts = r.row(len(a.Values))
	if form != attributeFormer && r.flag() {
		a.crowd = r.crowd()
	}
	if a.Kind == AttributePath {
		if a.place, _ = strconv.Atoi(a.Name); a.place < 1 {
			r.fail()
		}
	}
	if a.crowd != nil && (!a.telling() || len(a.Values) < attributeValues) {
		r.fail()
	}
	return a
}

// plain takes the percent-encoding off a parameter's value, which the former form had.
func (a *Attribute) plain(k int) {
	if a.Kind == AttributeQuery && a.lengths[k] == len(a.Values[k]) {
		a.Values[k] = plainText(a.Values[k], url.QueryUnescape)
		a.lengths[k] = len(a.Values[k])
	}
}

func (r *blobReader) field(attributes []Attribute) *attributeField {
	f := &attributeField{field: r.text(mostBlobText)}
	f.grow(len(attributes))
	if r.flag() {
		f.rebase(len(attributes))
	}
	for i := range attributes {
		values := len(attributes[i].Values)
		f.alone[i], f.both[i] = r.row(values), r.row(values)
		if f.base != nil {
			f.base[i] = r.row(values)
		}
	}
	return f
}

// Withhold forgets the values that a redactor takes out: there may be some when it is another than before. It tells
// whether there were any.
func (r *RouteAttributes) Withhold(redactor *normalize.Redactor) (changed bool) {
	for i := range r.list {
		a := &r.list[i]
		if len(a.Values) > 0 && r.withheld(a, redactor) {
			r.crowd(i)
			changed = true
		}
	}
	return changed
}

func (route *RouteAttributes) withheld(a *Attribute, r *normalize.Redactor) bool {
	covered := func(field normalize.Field) bool { return r.Covers(string(field)) }
	switch a.Kind {
	case AttributeHost:
		return covered(normalize.HeaderField("host"))
	case AttributeType:
		return covered(normalize.HeaderField("content-type"))
	case AttributeClient:
		return covered(normalize.HeaderField("user-agent"))
	case AttributeHeader:
		if covered(normalize.HeaderField(a.Name)) {
			return true
		}
	case AttributeQuery:
		if covered(normalize.Field("query").Key(a.Name)) {
			return true
		}
	case AttributePath:
		if segments, _ := patternOf(route.Route); secretPath(segments, a.place, covered) {
			return true
		}
	default:
		return false
	}
	for _, v := range a.Values {
		if changes(r, a, v) {
			return true
		}
	}
	return false
}

// Redactor is what says that something is not to be kept.
func (t *Attributes) Redactor() *normalize.Redactor { return t.redactor }

// Redact has another redactor say what is kept from now on, and forgets what it takes out.
func (t *Attributes) Redact(r *normalize.Redactor) {
	t.redactor = r
	for route, attributes := range t.routes {
		before := attributes.bytes()
		if attributes.Withhold(r) {
			t.bytes += attributes.bytes() - before
			t.Changed(route)
		}
	}
}

// Withhold forgets the values that a redactor takes out. It tells whether there were any.
func (p *FieldProfile) Withhold(r *normalize.Redactor) (changed bool) {
	switch p.Field {
	case fieldStatus, fieldTransport, FieldSize:
		return false
	}
	if r.Covers(p.Field) {
		changed = p.Withheld < p.Exchanges
		p.Roles, p.Places, p.MorePlaces, p.Withheld = [3]RoleProfile{}, 0, 0, p.Exchanges
		return changed
	}
	for i := range p.Roles {
		dropped := p.Roles[i].Values.drop(func(v *topValue) bool {
			text := string(v.text)
			return text != "" && (r.Excerpt(p.Field, text, nil) != text || names(r, text))
		})
		changed = changed || dropped
	}
	return changed
}

// Redact forgets what a redactor takes out.
func (p *Profiles) Redact(r *normalize.Redactor) {
	for _, fields := range p.routes {
		for _, f := range fields {
			if f.Withhold(r) {
				p.out.touch(f)
			}
		}
	}
}
