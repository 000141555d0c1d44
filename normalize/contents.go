package normalize

import (
	"encoding/base64"
	"net/url"
	"slices"
	"strings"
)

// contents is what a parse rule takes a string to contain.
type contents uint8

const (
	contentsJSON   contents = iota // any JSON value
	contentsBase64                 // bytes, in either alphabet, padded or not: a string again
	contentsJWT                    // a JSON Web Token: {header, payload, signature}
	contentsQuery                  // a=1&b=2: an object, in which a name that repeats has an array
	contentsURL                    // {scheme, userinfo, host, path, query, fragment}, less those it does not have
)

func contentsWords() []string { return []string{"json", "base64", "jwt", "query", "url"} }

// partsAreLike tells whether a part of such contents may be read as the same contents again, and again without end: the
// path of a URL is a URL. A rule does not parse what it has made of these.
func (c contents) partsAreLike() bool { return c == contentsURL || c == contentsQuery }

// maxParts is how many levels deep the parts of a URL, a query or a token may lie, beside what JSON adds to a token.
const maxParts = 4

// read reads a text. It answers false when the text contains no such thing.
func (c contents) read(u *unfolder, text string) (Value, bool) {
	switch c {
	case contentsBase64:
		data, ok := decodeBase64(text)
		return stringValue(textOf(string(data))), ok
	case contentsJWT:
		return u.token(text)
	case contentsQuery:
		return queryValue(strings.TrimPrefix(text, "?")), true
	case contentsURL:
		return urlValue(text), true
	}
	return u.json(text)
}

// decodeBase64 reads base64 (RFC 4648, sections 4 and 5), with line breaks (RFC 2045) and with or without padding.
func decodeBase64(text string) ([]byte, bool) {
	plain := strings.Map(func(r rune) rune {
		switch r {
		case '-':
			return '+'
		case '_':
			return '/'
		case '\r', '\n', ' ', '\t':
			return -1
		}
		return r
	}, text)
	if padded := len(plain); strings.HasSuffix(plain, "=") {
		if plain = strings.TrimRight(plain, "="); padded%4 != 0 || padded-len(plain) > 2 {
			return nil, false
		}
	}
	data, err := base64.RawStdEncoding.DecodeString(plain)
	return data, err == nil
}

// token reads a JSON Web Token in its compact form (RFC 7519, RFC 7515).
func (u *unfolder) token(text string) (Value, bool) {
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return Value{}, false
	}
	var read [2]Value
	for i := range read {
		data, ok := decodeBase64(parts[i])
		if !ok {
			return Value{}, false
		}
		if read[i], ok = u.json(string(data)); !ok || read[i].Type != Object {
			return Value{}, false
		}
	}
	return objectValue([]Member{
		{Key: "header", Value: read[0]},
		{Key: "payload", Value: read[1]},
		{Key: "signature", Value: stringValue(parts[2])},
	}), true
}

// queryValue reads a query or a form. The order of names does not matter, that of the values of one name does. A name
// without = has null.
func queryValue(text string) Value {
	values := map[string][]Value{}
	var names []string
	for piece := range strings.SplitSeq(text, "&") {
		if piece == "" {
			continue
		}
		name, value, ok := strings.Cut(piece, "=")
		name = unescapeForm(name)
		if values[name] == nil {
			names = append(names, name)
		}
		if ok {
			values[name] = append(values[name], stringValue(unescapeForm(value)))
		} else {
			values[name] = append(values[name], Value{Size: 1})
		}
	}
	slices.Sort(names)
	members := make([]Member, 0, len(names))
	for _, name := range names {
		v := values[name][0]
		if items := values[name]; len(items) > 1 {
			v = Value{Type: Array, Items: items}
			for i := range items {
				items[i].Index = i
			}
			v.rehash()
		}
		members = append(members, Member{Key: name, Value: v})
	}
	return objectValue(members)
}

// unescapeForm undoes percent-encoding, and + for a space, and answers a text. A % that no two hex digits follow stands for
// itself, as for browsers.
func unescapeForm(s string) string {
	if !strings.ContainsAny(s, "%+") {
		return s // a text already
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '+':
			out = append(out, ' ')
		case s[i] == '%' && i+2 < len(s) && isHexDigit(s[i+1]) && isHexDigit(s[i+2]):
			out = append(out, hexByte(s[i+1])<<4|hexByte(s[i+2]))
			i += 2
		default:
			out = append(out, s[i])
		}
	}
	return textOf(string(out))
}

// address is a URL or a reference taken apart (RFC 3986, appendix B). Scheme and host, which have no case, are in lower case.
type address struct {
	scheme, userinfo, host, path, query, fragment      string
	hasScheme, hasUser, hasHost, hasQuery, hasFragment bool
}

func parseAddress(text string) address {
	var a address
	a.path, a.fragment, a.hasFragment = strings.Cut(text, "#")
	a.path, a.query, a.hasQuery = strings.Cut(a.path, "?")
	if scheme, after, ok := strings.Cut(a.path, ":"); ok && isScheme(scheme) {
		a.scheme, a.path, a.hasScheme = strings.ToLower(scheme), after, true
	}
	if authority, ok := strings.CutPrefix(a.path, "//"); ok {
		a.hasHost, a.path = true, ""
		if slash := strings.IndexByte(authority, '/'); slash >= 0 {
			authority, a.path = authority[:slash], authority[slash:]
		}
		if at := strings.LastIndexByte(authority, '@'); at >= 0 {
			a.userinfo, authority, a.hasUser = authority[:at], authority[at+1:], true
		}
		a.host = strings.ToLower(authority)
	}
	return a
}

// urlValue is what a URL consists of.
func urlValue(text string) Value {
	a := parseAddress(text)
	var members []Member
	add := func(has bool, key string, v Value) {
		if has {
			members = append(members, Member{Key: key, Value: v})
		}
	}
	add(a.hasFragment, "fragment", stringValue(a.fragment))
	add(a.hasHost, "host", stringValue(a.host))
	add(true, "path", stringValue(a.path))
	add(a.hasQuery, "query", queryValue(a.query))
	add(a.hasScheme, "scheme", stringValue(a.scheme))
	add(a.hasUser, "userinfo", stringValue(a.userinfo))
	return objectValue(members)
}

// canonicalURL writes a URL so that two which consist of the same are the same text.
func canonicalURL(text string) string {
	a := parseAddress(text)
	var b strings.Builder
	if a.hasScheme {
		b.WriteString(a.scheme + ":")
	}
	if a.hasHost {
		b.WriteString("//")
		if a.hasUser {
			b.WriteString(a.userinfo + "@")
		}
		b.WriteString(a.host)
	}
	b.WriteString(a.path)
	if a.hasQuery {
		b.WriteString("?" + canonicalQuery(a.query))
	}
	if a.hasFragment {
		b.WriteString("#" + a.fragment)
	}
	return b.String()
}

// canonicalQuery writes a query's parameters in the order of their names, those of one name as they stood, escaped in one
// way.
func canonicalQuery(text string) string {
	type parameter struct{ name, rest string }
	var parameters []parameter
	for piece := range strings.SplitSeq(text, "&") {
		name, value, ok := strings.Cut(piece, "=")
		p := parameter{name: bytesOf(unescapeForm(name))}
		if ok {
			p.rest = "=" + url.QueryEscape(bytesOf(unescapeForm(value)))
		}
		if piece != "" {
			parameters = append(parameters, p)
		}
	}
	slices.SortStableFunc(parameters, func(a, b parameter) int { return strings.Compare(a.name, b.name) })
	var b strings.Builder
	for i, p := range parameters {
		if i > 0 {
			b.WriteByte('&')
		}
		b.WriteString(url.QueryEscape(p.name) + p.rest)
	}
	return b.String()
}

func isScheme(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && (i == 0 || !isDigit(c) && c != '+' && c != '-' && c != '.') {
			return false
		}
	}
	return s != ""
}
