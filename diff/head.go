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

// followsBody tells whether all that two digests differ in comes from the bodies: how they are made must be the same, that
// is strong or weak for an ETag, and the algorithms for the others.
func followsBody(l, r *normalize.Header) bool {
	return isDigest(l.Name) && slices.EqualFunc(l.Values, r.Values, func(a, b string) bool {
		return slices.Equal(makings(l.Name, a), makings(l.Name, b))
	})
}

// makings are what a digest's value says of how it was made.
func makings(name, value string) []string {
	switch name {
	case "content-md5":
		return nil
	case "etag":
		return []string{strconv.FormatBool(strings.HasPrefix(value, "W/"))}
	}
	var algorithms []string
	for member := range strings.SplitSeq(value, ",") {
		algorithm, _, _ := strings.Cut(member, "=")
		algorithms = append(algorithms, strings.ToLower(strings.TrimSpace(algorithm)))
	}
	return algorithms
}

func (f *found) headers(l, r []normalize.Header, field func(string) normalize.Field, followBody bool) {
	byName := func(a, b normalize.Header) int { return strings.Compare(a.Name, b.Name) }
	merge(l, r, byName, func(a, b *normalize.Header) {
		switch {
		case b == nil:
			f.oneSided(string(field(a.Name)), KindMissing, a.Values)
		case a == nil:
			f.oneSided(string(field(b.Name)), KindExtra, b.Values)
		case sameLines(a.Values, b.Values) || followBody && followsBody(a, b):
		default:
			f.lines(string(field(a.Name)), a.Values, b.Values)
		}
	})
}

// oneSided reports a header that only the left has, or only the right.
func (f *found) oneSided(field string, kind Kind, lines []string) {
	d := Difference{Field: field, Kind: kind}
	if kind == KindMissing {
		d.Left = f.header(lines)
	} else {
		d.Right = f.header(lines)
	}
	f.add(d)
	f.saw(field, kind, lines, lines)
}

// sameLines tells whether two headers say the same: the same lines, or lines that are the same once they are joined by
// commas, which proxies may do to any header but Set-Cookie (RFC 9110, section 5.3).
func sameLines(l, r []string) bool {
	if slices.Equal(l, r) {
		return true
	}
	return len(l) != len(r) && len(l) > 0 && len(r) > 0 &&
		(strings.Join(l, ",") == strings.Join(r, ",") || strings.Join(l, ", ") == strings.Join(r, ", "))
}

// lines reports two headers of the same name with other lines.
func (f *found) lines(field string, l, r []string) {
	d := Difference{Field: field, Kind: KindValue}
	if slices.Equal(slices.Sorted(slices.Values(l)), slices.Sorted(slices.Values(r))) {
		d.Kind = KindOrder
	}
	if len(l) == 1 && len(r) == 1 {
		d.Left, d.Right, d.Note = texts(normalize.TextOf(l[0]), normalize.TextOf(r[0]), f.limits.Excerpt)
	} else {
		d.Left, d.Right = f.header(l), f.header(r)
		d.Note = unlike(l, r)
	}
	f.add(d)
	f.countWords(field, strings.Join(l, "\n"), strings.Join(r, "\n"))
	f.saw(field, KindValue, l, r)
}

// unlike names the first bytes that differ where two lists of lines may look alike.
func unlike(l, r []string) string {
	for i := range min(len(l), len(r)) {
		if a, b := normalize.TextOf(l[i]), normalize.TextOf(r[i]); a != b {
			at := differAt(a, b)
			return lookAlike(a[at:], b[at:])
		}
	}
	return ""
}

// header shows a header: one line as a string, several as an array.
func (f *found) header(values []string) Excerpt {
	if len(values) == 1 {
		return f.text(values[0])
	}
	v := normalize.Value{Type: normalize.Array}
	for _, line := range values {
		v.Items = append(v.Items, normalize.Value{Type: normalize.String, Text: normalize.TextOf(line)})
	}
	return excerptOf(&v, f.limits.Excerpt)
}

// text shows a header's bytes.
func (f *found) text(s string) Excerpt { return excerptText(normalize.TextOf(s), f.limits.Excerpt) }

// cookies compares Set-Cookie lines by the cookie's name and attributes. Of several with one name those that a browser takes
// for one go together, and of the others the first with the first.
func (f *found) cookies(l, r []normalize.Cookie) {
	for len(l) > 0 || len(r) > 0 {
		n, m := sameName(l, r)
		f.cookiesOfOneName(l[:n], r[:m])
		l, r = l[n:], r[m:]
	}
}

// sameName is how many cookies on each side have the first name there is.
func sameName(l, r []normalize.Cookie) (n, m int) {
	var name string
	switch {
	case len(r) == 0 || len(l) > 0 && l[0].Name < r[0].Name:
		name = l[0].Name
	default:
		name = r[0].Name
	}
	for n < len(l) && l[n].Name == name {
		n++
	}
	for m < len(r) && r[m].Name == name {
		m++
	}
	return n, m
}

func (f *found) cookiesOfOneName(l, r []normalize.Cookie) {
	if len(l) == 1 && len(r) == 1 {
		f.attributes(&l[0], &r[0])
		return
	}
	var left, right []*normalize.Cookie // without a partner
	merge(l, r, normalize.Cookie.Compare, func(a, b *normalize.Cookie) {
		switch {
		case b == nil:
			left = append(left, a)
		case a == nil:
			right = append(right, b)
		default:
			f.attributes(a, b)
		}
	})
	both := min(len(left), len(right))
	for i := range both {
		f.attributes(left[i], right[i])
	}
	for _, c := range left[both:] {
		field := string(normalize.CookieField(c.Name))
		f.add(Difference{Field: field, Kind: KindMissing, Left: f.cookie(c)})
		f.saw(field, KindMissing, []string{c.Name}, nil)
	}
	for _, c := range right[both:] {
		field := string(normalize.CookieField(c.Name))
		f.add(Difference{Field: field, Kind: KindExtra, Right: f.cookie(c)})
		f.saw(field, KindExtra, nil, []string{c.Name})
	}
}

// cookie shows a cookie without its value, which is nobody's business.
func (f *found) cookie(c *normalize.Cookie) Excerpt {
	parts := []string{c.Name + "=…"}
	for _, a := range c.Attributes {
		parts = append(parts, attribute(a))
	}
	return f.text(strings.Join(parts, "; "))
}

func attribute(a normalize.Attribute) string {
	if a.Value == "" {
		return a.Name
	}
	return a.Name + "=" + a.Value
}

// valueOf is an attribute's value as a list; empty where there is no attribute.
func valueOf(a *normalize.Attribute) []string {
	if a == nil {
		return nil
	}
	return []string{a.Value}
}

func (f *found) attributes(l, r *normalize.Cookie) {
	byName := func(a, b normalize.Attribute) int { return strings.Compare(a.Name, b.Name) }
	merge(l.Attributes, r.Attributes, byName, func(a, b *normalize.Attribute) {
		d := Difference{Kind: KindValue}
		left, right := valueOf(a), valueOf(b)
		switch {
		case b == nil:
			d.Kind, d.Left = KindMissing, f.text(a.Value)
		case a == nil:
			d.Kind, d.Right = KindExtra, f.text(b.Value)
			a = b
		case a.Alike(*b):
			return
		default:
			d.Left, d.Right, d.Note = texts(normalize.TextOf(a.Value), normalize.TextOf(b.Value), f.limits.Excerpt)
		}
		d.Field = string(normalize.CookieAttributeField(l.Name, a.Name))
		f.add(d)
		f.saw(d.Field, d.Kind, left, right)
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
