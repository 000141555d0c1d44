package diff

import (
	"slices"
	"strconv"
	"strings"

	"shadowdiff/normalize"
)

// heads compares everything but the bodies.
func (f *found) heads(l, r *normalize.Document) {
	if l.Status != r.Status {
		f.add(Difference{
			Field: string(normalize.FieldStatus), Kind: KindValue,
			Left: Excerpt(strconv.Itoa(l.Status)), Right: Excerpt(strconv.Itoa(r.Status)),
		})
	}
	followBody := l.Body.Changed || r.Body.Changed
	f.headers(l.Headers, r.Headers, normalize.HeaderField, followBody)
	f.cookies(l.Cookies, r.Cookies)
	f.headers(l.Trailers, r.Trailers, normalize.TrailerField, followBody)
}

// isDigest tells whether a header's value is made from the body. When a rule has changed a body, the body's verdict is
// this header's too.
func isDigest(name string) bool {
	switch name {
	case "etag", "content-md5", "digest", "content-digest", "repr-digest":
		return true
	}
	return false
}

func (f *found) headers(l, r []normalize.Header, field func(string) normalize.Field, followBody bool) {
	byName := func(a, b normalize.Header) int { return strings.Compare(a.Name, b.Name) }
	merge(l, r, byName, func(a, b *normalize.Header) {
		switch {
		case b == nil:
			f.add(Difference{Field: string(field(a.Name)), Kind: KindMissing, Left: f.header(a.Values)})
		case a == nil:
			f.add(Difference{Field: string(field(b.Name)), Kind: KindExtra, Right: f.header(b.Values)})
		case slices.Equal(a.Values, b.Values) || followBody && isDigest(a.Name):
		default:
			f.lines(string(field(a.Name)), a.Values, b.Values)
		}
	})
}

// lines reports two headers of the same name with other lines.
func (f *found) lines(field string, l, r []string) {
	d := Difference{Field: field, Kind: KindValue}
	if slices.Equal(slices.Sorted(slices.Values(l)), slices.Sorted(slices.Values(r))) {
		d.Kind = KindOrder
	}
	if len(l) == 1 && len(r) == 1 {
		d.Left, d.Right, d.Note = texts(sane(l[0]), sane(r[0]), f.limits.Excerpt)
	} else {
		d.Left, d.Right = f.header(l), f.header(r)
	}
	f.add(d)
}

// header shows a header: one line as a string, several as an array.
func (f *found) header(values []string) Excerpt {
	if len(values) == 1 {
		return excerptOfText(values[0], f.limits.Excerpt)
	}
	v := normalize.Value{Type: normalize.Array}
	for _, line := range values {
		v.Items = append(v.Items, normalize.Value{Type: normalize.String, Text: sane(line)})
	}
	return excerptOf(&v, f.limits.Excerpt)
}

// cookies compares Set-Cookie lines by the cookie's name and attributes. Of several with one name the first goes with
// the first.
func (f *found) cookies(l, r []normalize.Cookie) {
	byName := func(a, b normalize.Cookie) int { return strings.Compare(a.Name, b.Name) }
	merge(l, r, byName, func(a, b *normalize.Cookie) {
		switch {
		case b == nil:
			f.add(Difference{Field: string(normalize.CookieField(a.Name)), Kind: KindMissing, Left: f.cookie(a)})
		case a == nil:
			f.add(Difference{Field: string(normalize.CookieField(b.Name)), Kind: KindExtra, Right: f.cookie(b)})
		default:
			f.attributes(a, b)
		}
	})
}

// cookie shows a cookie without its value, which is nobody's business.
func (f *found) cookie(c *normalize.Cookie) Excerpt {
	parts := []string{c.Name + "=…"}
	for _, a := range c.Attributes {
		parts = append(parts, attribute(a))
	}
	return excerptOfText(strings.Join(parts, "; "), f.limits.Excerpt)
}

func attribute(a normalize.Attribute) string {
	if a.Value == "" {
		return a.Name
	}
	return a.Name + "=" + a.Value
}

func (f *found) attributes(l, r *normalize.Cookie) {
	byName := func(a, b normalize.Attribute) int { return strings.Compare(a.Name, b.Name) }
	merge(l.Attributes, r.Attributes, byName, func(a, b *normalize.Attribute) {
		d := Difference{Kind: KindValue}
		switch {
		case b == nil:
			d.Kind, d.Left = KindMissing, excerptOfText(a.Value, f.limits.Excerpt)
		case a == nil:
			d.Kind, d.Right = KindExtra, excerptOfText(b.Value, f.limits.Excerpt)
			a = b
		case a.Value == b.Value:
			return
		default:
			d.Left, d.Right, d.Note = texts(sane(a.Value), sane(b.Value), f.limits.Excerpt)
		}
		d.Field = string(normalize.CookieAttributeField(l.Name, a.Name))
		f.add(d)
	})
}

// merge walks two sorted lists and hands on what belongs together; nil is the side that has none.
func merge[T any](l, r []T, compare func(a, b T) int, do func(a, b *T)) {
	for len(l) > 0 || len(r) > 0 {
		order := 0
		switch {
		case len(r) == 0:
			order = -1
		case len(l) == 0:
			order = 1
		default:
			order = compare(l[0], r[0])
		}
		switch {
		case order < 0:
			do(&l[0], nil)
			l = l[1:]
		case order > 0:
			do(nil, &r[0])
			r = r[1:]
		default:
			do(&l[0], &r[0])
			l, r = l[1:], r[1:]
		}
	}
}

// sane makes valid UTF-8 of a header's bytes.
func sane(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
