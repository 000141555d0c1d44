package diff

import (
	"iter"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"shadowdiff/multicast"
	"shadowdiff/normalize"
)

// look finds the place of each of the request's attributes.
func (t *Attributes) look(r *RouteAttributes, ex *multicast.Exchange, at *[attributesKept]uint8, values *[attributesKept]string) {
	seen := Asked{Request: &ex.Request, Size: int64(len(ex.Request.Body)), Primary: primaryOf(ex)}
	for i := range r.list {
		a := &r.list[i]
		var value string
		var has bool
		switch a.Kind {
		case AttributeQuery: // below: each parameter finds its place
			continue
		case AttributeClient:
			if value, has = header(ex.Request.Header, "User-Agent"); has {
				value = r.clientOf(value)
			}
		default:
			value, has = a.of(&seen)
		}
		if has {
			at[i] = a.mark(value, t.admit)
		}
		if a.Kind == AttributePath {
			values[i] = value
		}
	}
	t.query(r, ex.Request.Target, at, values)
	if r.Compared < lookThrough || r.Compared-r.lookedAt >= lookEvery {
		r.lookedAt = r.Compared
		t.headers(r, ex.Request.Header, at)
	}
}

// clientOf is the kind of program, most often that of the request before.
func (r *RouteAttributes) clientOf(agent string) string {
	if agent != r.agent {
		r.agent = strings.Clone(agent[:min(len(agent), agentText)])
		r.client = strings.Clone(clientKind(r.agent))
	}
	return r.client
}

// query finds the places of the parameters; of several with one name the first counts.
func (t *Attributes) query(r *RouteAttributes, target string, at *[attributesKept]uint8, values *[attributesKept]string) {
	for name, value := range parameters(target) {
		i := r.parameter(name)
		if i < 0 {
			if i = t.learn(r, name); i < 0 {
				continue
			}
		}
		if at[i] == markAbsent {
			value = plainText(value, url.QueryUnescape)
			at[i], values[i] = r.list[i].mark(value, t.admit), value
		}
	}
}

// parameters are those of a request as they were sent, name and value, as far as they are looked at.
func parameters(target string) iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		_, query, _ := strings.Cut(target, "?")
		for n := 0; query != "" && n < mostParameters; n++ {
			var pair string
			pair, query, _ = strings.Cut(query, "&")
			if name, value, _ := strings.Cut(pair, "="); !yield(name, value) {
				return
			}
		}
	}
}

// parameter is the place of a parameter, or -1.
func (r *RouteAttributes) parameter(name string) int {
	for i := int(AttributeHeader); i < len(r.list); i++ {
		if a := &r.list[i]; a.raw == name && a.Kind == AttributeQuery {
			return i
		}
	}
	return -1
}

// learn gives a parameter a place, -1 where there is none. All requests before were without it, as far as is known.
func (t *Attributes) learn(r *RouteAttributes, name string) int {
	plain, err := url.QueryUnescape(name)
	if err != nil || plain == "" || len(plain) > attributeText || t.covered(normalize.Field("query").Key(plain)) {
		return -1
	}
	n := 0
	for i := range r.list {
		if r.list[i].Kind == AttributeQuery {
			n++
		}
	}
	if n >= queryAttributes || len(r.list) >= attributesKept {
		return t.replace(r, name, plain)
	}
	i := t.extend(r, AttributeQuery, name, plain)
	if a := &r.list[i]; r.unknown {
		a.From = r.Compared
	} else {
		r.backdate(i)
	}
	return i
}

// covered tells whether a place is redacted.
func (t *Attributes) covered(field normalize.Field) bool {
	return t.redactor == nil || t.redactor.Covers(string(field))
}

// backdate has all requests before count as without an attribute.
func (r *RouteAttributes) backdate(i int) {
	r.list[i].counts[markAbsent] = r.Compared
	r.total(i, markAbsent)
}

// total has all requests that differ count under one mark of an attribute.
func (r *RouteAttributes) total(i int, mark uint8) {
	whole := func(rows [][marks]int64) {
		if i < len(rows) && i > 0 {
			for _, n := range rows[0] { // the method: every request has one
				rows[i][mark] += n
			}
		}
	}
	for _, f := range r.fields {
		whole(f.alone)
		whole(f.both)
		whole(f.base)
	}
}

// extend adds an attribute.
func (t *Attributes) extend(r *RouteAttributes, kind AttributeKind, raw, name string) int {
	t.bytes += len(raw) + len(name)
	r.list = append(r.list, Attribute{
		Kind: kind, raw: strings.Clone(raw), Name: strings.Clone(name), Many: secretName(name) || t.bytes > attributeBytes,
	})
	for _, f := range r.fields {
		f.grow(len(r.list))
	}
	return len(r.list) - 1
}

// replace gives a parameter the place of one that next to no request has.
func (t *Attributes) replace(r *RouteAttributes, raw, name string) int {
	r.unknown = true
	for i := range r.list {
		a := &r.list[i]
		if a.Kind != AttributeQuery || a.present() > 3 || a.seen() < 200 {
			continue
		}
		t.bytes += len(raw) + len(name) - len(a.raw) - len(a.Name)
		t.bytes -= a.bytes()
		*a = Attribute{
			Kind: AttributeQuery, raw: strings.Clone(raw), Name: strings.Clone(name), From: r.Compared, Many: secretName(name),
		}
		for _, f := range r.fields {
			f.clear(i)
		}
		return i
	}
	return -1
}

// headers gives places to headers that have none yet.
func (t *Attributes) headers(r *RouteAttributes, h map[string][]string, at *[attributesKept]uint8) {
	room := attributesKept - queryAttributes
	for i := range r.list {
		if r.list[i].Kind != AttributeQuery {
			room--
		}
	}
	if room <= 0 || len(r.list) >= attributesKept {
		return
	}
	var fresh []string
	for name := range h {
		if !r.hasHeader(name) && len(name) <= attributeText && learntName(name) {
			fresh = append(fresh, name)
		}
	}
	slices.Sort(fresh)
	for _, name := range fresh {
		if room == 0 || len(r.list) >= attributesKept {
			return
		}
		if t.covered(normalize.HeaderField(name)) {
			continue
		}
		i := t.extend(r, AttributeHeader, name, strings.ToLower(name))
		r.list[i].From = r.Compared
		if line, ok := header(h, name); ok {
			at[i] = r.list[i].mark(line, t.admit)
		}
		room--
	}
}

func (r *RouteAttributes) hasHeader(name string) bool {
	for i := int(AttributeHeader); i < len(r.list); i++ {
		if a := &r.list[i]; a.Kind == AttributeHeader && a.raw == name {
			return true
		}
	}
	return false
}

// admit says how a new value is kept; false where it is not, since redaction would change it, or there is no room.
func (t *Attributes) admit(a *Attribute, value string) (string, bool) {
	if t.redactor == nil && a.Kind >= AttributeHeader || t.bytes > attributeBytes || a.Kind == AttributePath && len(value) > pathText {
		return "", false
	}
	kept := keptText(value)
	if changes(t.redactor, a, kept) {
		a.closed = true // what comes next may hold a secret as well, and less easily told
		return "", false
	}
	t.bytes += len(kept)
	return strings.Clone(kept), true
}

// keptText is as much of a value as is kept.
func keptText(value string) string { return value[:min(len(value), attributeText)] }

// changes tells whether redaction would change a value.
func changes(r *normalize.Redactor, a *Attribute, value string) bool {
	var n int
	switch a.Kind {
	case AttributeHeader:
		_, n = r.Request(&multicast.Request{Header: map[string][]string{a.raw: {value}}})
	case AttributeQuery:
		_, n = r.Request(&multicast.Request{Target: "/?" + a.raw + "=" + url.QueryEscape(value)})
	case AttributePath:
		return value != "" && names(r, strconv.Quote(value))
	}
	return n > 0
}
