package normalize

import (
	"maps"
	"net/http"
	"slices"
	"strings"
)

// DefaultIgnored lists the response headers that are not compared unless headers.compare names them, in lower case. They
// speak of the connection, the moment or the one request, or say again what the body says. Set-Cookie is not among them:
// of it the values alone are left out.
func DefaultIgnored() []string {
	return []string{
		"date", "age", "server", "via",
		"connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer",
		"transfer-encoding", "upgrade",
		"content-length", "content-encoding",
		"traceparent", "tracestate", "b3", "x-request-id", "x-correlation-id", "x-trace-id", "x-amzn-trace-id", "cf-ray",
		"x-runtime", "x-response-time", "server-timing", "report-to", "nel",
	}
}

// headerRules is the compiled list of headers.
type headerRules struct {
	ignored      map[string]bool
	cookieValues bool // headers.compare names Set-Cookie: values are compared too
	names        *headerNames
}

func compileHeaders(c HeaderConfig) headerRules {
	r := headerRules{ignored: map[string]bool{}}
	for _, name := range DefaultIgnored() {
		r.ignored[name] = true
	}
	for _, name := range c.Ignore {
		r.ignored[strings.ToLower(name)] = true
	}
	for _, name := range c.Compare {
		name = strings.ToLower(name)
		delete(r.ignored, name)
		r.cookieValues = r.cookieValues || name == "set-cookie"
	}
	r.names = newHeaderNames(r.ignored)
	return r
}

// String is the list's canonical text.
func (r *headerRules) String() string {
	names := slices.Sorted(maps.Keys(r.ignored))
	text := "ignore " + strings.Join(names, " ")
	if r.cookieValues {
		text += "\ncompare set-cookie"
	}
	return text
}

// headers turns headers or trailers (the root says which) into those that are compared, sorted by name.
func (n *Normalizer) headers(root string, from http.Header, p *plan) []Header {
	if p.others != nil && p.inOrder(root) {
		return n.headersInOrder(root, from, p)
	}
	var out []Header
	for key, lines := range from {
		h, ok := n.oneHeader(root, key, lines, p)
		if !ok {
			continue
		}
		if out == nil {
			out = make([]Header, 0, min(len(from), 16))
		}
		out = append(out, h)
	}
	slices.SortFunc(out, func(a, b Header) int { return strings.Compare(a.Name, b.Name) })
	for i := 1; i < len(out); i++ {
		if out[i].Name == out[i-1].Name {
			return n.headers(root, joinNames(from), p)
		}
	}
	return out
}

// oneHeader is a header as it is compared, if it is.
func (n *Normalizer) oneHeader(root, key string, lines []string, p *plan) (Header, bool) {
	name := n.header.names.of(key)
	if len(lines) == 0 || name.ignored || name.form == formCookies && root == "header" {
		return Header{}, false
	}
	if p.others != nil {
		sent := textOf(name.lower)
		if p.drops(root, sent) {
			return Header{}, false
		}
		var ok bool
		if lines, ok = p.lines(lines, root, sent); !ok {
			return Header{}, false
		}
		if to := p.rename(root, name.lower); to != name.lower {
			name = n.header.names.of(to)
		}
	}
	return Header{Name: name.lower, Values: name.form.values(lines)}, true
}

// joinNames joins the lines of headers whose names differ in case only, which no HTTP parser hands on but tests and stored
// exchanges may.
func joinNames(from http.Header) http.Header {
	out := make(http.Header, len(from))
	for _, key := range slices.Sorted(maps.Keys(from)) {
		name := strings.ToLower(key)
		out[name] = append(out[name], from[key]...)
	}
	return out
}

// isJSONType tells whether a media type promises one JSON value.
func isJSONType(media string) bool {
	switch media {
	case "application/json", "text/json", "application/x-json", "text/x-json":
		return true
	}
	return strings.HasSuffix(media, "+json") && !isRecordsType(media)
}

// isRecordsType tells whether a media type promises JSON records, one a line.
func isRecordsType(media string) bool {
	switch media {
	case "application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonl", "application/jsonlines",
		"application/x-jsonlines", "application/json-lines", "application/stream+json", "application/x-json-stream",
		"text/x-ndjson", "text/jsonl":
		return true
	}
	return false
}
