package normalize

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"shadowdiff/multicast"
)

// Redacted stands where a value was taken out; in a URL or a form it is percent-encoded.
const (
	Redacted        = "[redacted]"
	redactedEncoded = "%5Bredacted%5D"
	redactedUnread  = "[redacted: not decoded]" // a body in which nothing can be looked for
)

// Redactor replaces the values at named places before anything is kept. Names are taken without regard to the case of
// ASCII letters: better one value too many. It is safe for concurrent use.
type Redactor struct {
	// MaxDecoded bounds a body after its content codings are undone, in bytes. Where places in bodies are named, a body
	// over it, or one that cannot be decoded, is withheld as a whole. NewRedactor sets 8 MiB.
	MaxDecoded int64

	places   map[string][]*Pattern // by root
	decoders decoders
}

// NewRedactor compiles places: fields as in rules, and `query.NAME`. Its error joins all faults, each beginning with
// `redact[i]`.
func NewRedactor(places []string) (*Redactor, error) {
	r := &Redactor{MaxDecoded: defaultMaxDecode, places: map[string][]*Pattern{}}
	var faults []error
	for i, place := range places {
		pattern, err := ParseField(place)
		switch {
		case err != nil:
			faults = append(faults, fmt.Errorf("redact[%d]: %w", i, err))
		case pattern.root == "status" || pattern.root == "transport" || pattern.root == "latency":
			faults = append(faults, fmt.Errorf("redact[%d]: column 1: %s holds no value to take out", i, pattern.root))
		default:
			r.places[pattern.root] = append(r.places[pattern.root], pattern)
			if pattern.root == "header" { // a trailer may have any header's name
				r.places["trailer"] = append(r.places["trailer"], pattern)
			}
		}
	}
	return r, errors.Join(faults...)
}

// Request returns a copy of a request with its values replaced, and how many places that were.
func (r *Redactor) Request(req *multicast.Request) (multicast.Request, int) {
	out := *req
	var n, count int
	out.Target, n = r.url(req.Target)
	count += n
	out.Header, n = r.headers("header", req.Header)
	count += n
	out.Trailer, n = r.headers("trailer", req.Trailer)
	count += n
	out.Body, n = r.body(out.Header, req.Body)
	return out, count + n
}

// Response returns a copy of a response with its content codings undone (and Content-Encoding gone) and its values
// replaced, and how many places that were.
func (r *Redactor) Response(resp *multicast.Response) (multicast.Response, int) {
	out := *resp
	var n, count int
	out.Header, n = r.headers("header", resp.Header)
	count += n
	out.Trailer, n = r.headers("trailer", resp.Trailer)
	count += n
	out.Body, n = r.body(out.Header, resp.Body)
	return out, count + n
}

// Covers tells whether a difference in this field shows a value that is to be redacted: the field lies at or below a
// redacted place. A field above one shows it too; Excerpt takes care of that. What is no field is covered.
func (r *Redactor) Covers(field string) bool {
	pattern, err := ParseField(field)
	if err != nil {
		return true
	}
	return r.covers(pattern)
}

func (r *Redactor) covers(field *Pattern) bool {
	if field.root == "query" && len(field.segments) > 0 && field.segments[0].kind == stepKey && r.parameter(field.segments[0].key) {
		return true
	}
	m := matcher{patterns: r.places[field.root], fold: true}
	if m.follow(field.segments) || field.root == "body" && m.follow(withoutArrays(field.segments)) {
		return true
	}
	// A cookie shows its value only as a whole or under "value": that of the header Set-Cookie.
	whole := len(field.segments) < 2 || field.segments[1].key == "value"
	return field.root == "cookie" && whole && r.names("header", "set-cookie")
}

// withoutArrays is a field as people may write it who do not know how markup becomes a tree: elements are in arrays there,
// and names have marks.
func withoutArrays(segments []segment) []segment {
	var out []segment
	for _, s := range segments {
		switch {
		case s.kind == stepAny || s.kind == stepIndex || s.kind == stepWhere || s.kind == stepKey && s.key == textKey:
			continue
		case s.kind == stepKey:
			s.key = strings.TrimPrefix(s.key, "@")
		}
		out = append(out, s)
	}
	return out
}

// names tells whether a name below a root is redacted, or with several what lies below each other.
func (r *Redactor) names(root string, path ...string) bool {
	for _, p := range r.places[root] {
		if coversKeys(p.segments, path, true) {
			return true
		}
	}
	return false
}

// headers copies headers or trailers, with what is named replaced.
func (r *Redactor) headers(root string, from http.Header) (http.Header, int) {
	out := from.Clone()
	count := 0
	for key, lines := range out {
		name := strings.ToLower(key)
		for i, line := range lines {
			var n int
			lines[i], n = r.header(root, name, line)
			count += n
		}
	}
	return out, count
}

// header replaces what is named in one line of a header.
func (r *Redactor) header(root, name, line string) (string, int) {
	all := r.names(root, textOf(name))
	switch {
	case name == "cookie":
		return r.cookies(line, all)
	case name == "set-cookie":
		pair, attributes, more := strings.Cut(line, ";")
		pair, n := r.cookies(pair, all)
		if more {
			pair += ";" + attributes
		}
		return pair, n
	case all:
		return Redacted, 1
	}
	return r.url(line) // Location, Referer, Link, Refresh and more hold one, whose query is redacted as the request's own is
}

// cookies replaces the values of cookies in a Cookie line, all of them or those named; their names stay.
func (r *Redactor) cookies(line string, all bool) (string, int) {
	count := 0
	pairs := strings.Split(line, ";")
	for i, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		switch plain := trimSpace(name); {
		case ok && value != "" && (all || r.names("cookie", textOf(plain))):
			pairs[i] = name + "=" + Redacted
			count++
		case !ok && plain != "" && all: // a value without a name
			pairs[i] = strings.Replace(pair, plain, Redacted, 1)
			count++
		}
	}
	return strings.Join(pairs, ";"), count
}

// parameter tells whether a parameter of a query is redacted, or is an element of one that is, as token[] is of token. Of
// ?x?token=… the parameter is x?token to a server; whoever wrote a second question mark meant token.
func (r *Redactor) parameter(name string) bool {
	array, _, _ := strings.Cut(name, "[")
	if r.names("query", name) || r.names("query", array) {
		return true
	}
	last := strings.LastIndexByte(name, '?')
	return last >= 0 && r.parameter(name[last+1:])
}

// url replaces the values of named parameters in a URL's query, and in a fragment that has some, as OAuth's answers do;
// everything else stays byte for byte.
func (r *Redactor) url(target string) (string, int) {
	at := strings.IndexAny(target, "?#")
	if at < 0 || len(r.places["query"]) == 0 {
		return target, 0
	}
	query, fragment, hasFragment := strings.Cut(target[at+1:], "#")
	query, count := redactForm(query, r.parameter)
	if hasFragment {
		text, n := redactForm(fragment, r.parameter)
		query += "#" + text
		count += n
	}
	return target[:at+1] + query, count
}
