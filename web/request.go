package web

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"

	"shadowdiff/multicast"
)

// requestView is what the client asked.
type requestView struct {
	Method, Path, Target, Host string
	Query                      []headerRow
	Headers                    []headerRow
	Trailers                   []headerRow
	Form                       []headerRow // of a body that is one
	Body                       string      // readable: JSON indented, bytes as a dump
	As                         string      // "JSON", "a form", "text", "bytes"
	Size                       int64
	Cut                        bool
}

// headerRow is a name with its value, of a header or a parameter.
type headerRow struct {
	Name, Value string
	Redacted    bool // something was taken out of the value
}

const requestShown = 48 << 10 // bytes of a request's body that a page shows

func requestOf(req *multicast.Request, cut bool) requestView {
	v := requestView{Method: req.Method, Target: req.Target, Host: req.Host, Size: int64(len(req.Body)), Cut: cut}
	path, query, _ := strings.Cut(req.Target, "?")
	v.Path, v.Query = path, pairsOf(query)
	for _, name := range slices.Sorted(maps.Keys(req.Header)) {
		for _, value := range req.Header[name] {
			v.Headers = append(v.Headers, rowOf(name, value))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(req.Trailer)) {
		for _, value := range req.Trailer[name] {
			v.Trailers = append(v.Trailers, rowOf(name, value))
		}
	}
	v.body(req)
	return v
}

func rowOf(name, value string) headerRow { return headerRow{name, cut(value), holdsRedacted(value)} }

// body shows a request's body as people read it.
func (v *requestView) body(req *multicast.Request) {
	body := req.Body
	if len(body) == 0 {
		return
	}
	media, _, _ := strings.Cut(req.Header.Get("Content-Type"), ";")
	var indented bytes.Buffer
	switch {
	case strings.EqualFold(strings.TrimSpace(media), "application/x-www-form-urlencoded") && len(body) <= requestShown:
		v.As, v.Form = "a form", pairsOf(string(body))
		return
	case json.Indent(&indented, body, "", "  ") == nil:
		v.As, body = "JSON", indented.Bytes()
	case typed(body):
		v.As = "text"
	default:
		v.As = "bytes"
	}
	if v.As != "bytes" && len(body) > requestShown {
		v.Body = strings.ToValidUTF8(string(body[:requestShown]), "") + "\n… " + size(int64(len(body)-requestShown)) + " more in the JSON of this sample"
		return
	}
	v.Body = printable(body)
}

// pairsOf are the parameters of a query or a form in the order sent. What is not well encoded stands as it was sent.
func pairsOf(text string) []headerRow {
	var rows []headerRow
	for pair := range strings.SplitSeq(text, "&") {
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		row := rowOf(parameterText(name), parameterText(value))
		row.Redacted = row.Redacted || holdsRedacted(value)
		rows = append(rows, row)
	}
	return rows
}

func parameterText(text string) string {
	if plain, err := url.QueryUnescape(text); err == nil {
		return strings.ToValidUTF8(plain, "\ufffd")
	}
	return text
}
