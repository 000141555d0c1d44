package normalize

import (
	"maps"
	"mime"
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
	if len(from) == 0 {
		return nil
	}
	out := make([]Header, 0, len(from))
	for key, lines := range from {
		name := strings.ToLower(key)
		if len(lines) == 0 || n.header.ignored[name] || name == "set-cookie" && root == "header" ||
			p.others != nil && p.drops(root, textOf(name)) {
			continue
		}
		out = append(out, Header{Name: name, Values: headerValues(name, lines)})
	}
	slices.SortFunc(out, func(a, b Header) int { return strings.Compare(a.Name, b.Name) })
	return mergeHeaders(out)
}

// mergeHeaders joins the lines of headers whose names differ in case only, which no HTTP parser hands on but tests and
// stored exchanges may.
func mergeHeaders(sorted []Header) []Header {
	out := sorted[:0]
	for _, h := range sorted {
		if last := len(out) - 1; last >= 0 && out[last].Name == h.Name {
			out[last].Values = headerValues(h.Name, slices.Concat(out[last].Values, h.Values))
			continue
		}
		out = append(out, h)
	}
	return out
}

// headerValues is the comparable form of one header's lines.
func headerValues(name string, lines []string) []string {
	switch name {
	case "content-type":
		out := make([]string, len(lines))
		for i, line := range lines {
			out[i] = canonicalMediaType(line)
		}
		return out
	case "vary", "access-control-allow-headers", "access-control-expose-headers":
		return headerSet(lines, true)
	case "allow", "access-control-allow-methods": // methods have case
		return headerSet(lines, false)
	}
	trimmed := true
	for _, line := range lines {
		trimmed = trimmed && line == trimSpace(line)
	}
	if trimmed {
		return lines
	}
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = trimSpace(line)
	}
	return out
}

// trimSpace takes off what HTTP calls optional white space.
func trimSpace(s string) string { return strings.Trim(s, " \t") }

// headerSet is the members of a comma-separated list over all lines, sorted, each once.
func headerSet(lines []string, lower bool) []string {
	out := make([]string, 0, 8)
	for _, line := range lines {
		for member := range strings.SplitSeq(line, ",") {
			if member = trimSpace(member); member == "" {
				continue
			}
			if lower {
				member = strings.ToLower(member)
			}
			out = append(out, member)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// canonicalMediaType writes a Content-Type with its type and parameter names in lower case, parameters sorted, and the
// charset, which has no case, in lower case too. What is no media type stays as it is.
func canonicalMediaType(value string) string {
	value = trimSpace(value)
	switch value {
	case "application/json", "application/json; charset=utf-8", "text/html; charset=utf-8", "text/plain; charset=utf-8":
		// What is usual is canonical already.
		return value
	}
	media, params, err := mime.ParseMediaType(value)
	if err != nil {
		return value
	}
	if charset, ok := params["charset"]; ok {
		params["charset"] = strings.ToLower(charset)
	}
	if canonical := mime.FormatMediaType(media, params); canonical != "" {
		return canonical
	}
	return value
}

// mediaType is the media type that a response's Content-Type names, in lower case and without parameters; empty when
// there is none.
func mediaType(header http.Header) string {
	media, _, _ := strings.Cut(header.Get("Content-Type"), ";")
	return strings.ToLower(trimSpace(media))
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
