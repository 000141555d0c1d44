package normalize

import (
	"bytes"
	"encoding/json"
	"html"
	"net/http"
	"slices"
	"strings"

	"shadowdiff/multicast"
)

// Excerpt returns a difference's excerpt (a JSON text, possibly cut) without what is redacted at or below its field.
// redacted is what Response has made of the response that it is from; nil where there is none.
func (r *Redactor) Excerpt(field, excerpt string, redacted *multicast.Response) string {
	pattern, err := ParseField(field)
	switch {
	case excerpt == "":
		return ""
	case err != nil || r.covers(pattern):
		return `"` + Redacted + `"`
	case r.startsWithin(pattern, excerpt) && !shows(redacted, pattern, excerpt):
		return `"` + Redacted + `"`
	case pattern.root == "body":
		out := r.bodyExcerpt(pattern, excerpt)
		if len(r.places["body"]) > 0 && redacted != nil && isLine(pattern, out) && !shows(redacted, pattern, out) {
			return `"` + Redacted + `"`
		}
		if len(r.places["body"]) > 0 && redacted != nil && len(pattern.segments) > 0 && !showsAll(redacted, out) {
			return `"` + Redacted + `"`
		}
		return out
	case pattern.root == "header" || pattern.root == "trailer":
		return r.urlExcerpt(excerpt)
	}
	return excerpt
}

// isLine tells whether an excerpt is a line of a body that is no JSON, and may name a value: in a form, say, in which only
// the form's own reader finds the names.
func isLine(field *Pattern, excerpt string) bool {
	return len(field.segments) == 0 && excerpt[0] == '"' && strings.ContainsAny(excerpt, "=:<")
}

// startsWithin tells whether an excerpt begins in the middle of a text in which something may be redacted: then the name
// that would tell may stand before it.
func (r *Redactor) startsWithin(field *Pattern, excerpt string) bool {
	if !strings.HasPrefix(excerpt, `"…`) {
		return false
	}
	if field.root != "body" {
		return len(r.places["query"]) > 0
	}
	m := matcher{patterns: r.places["body"], fold: true}
	m.follow(field.segments)
	return len(m.states) > 0
}

// shows tells whether what an excerpt of a longer text shows is still there after redaction.
func shows(redacted *multicast.Response, field *Pattern, excerpt string) bool {
	var text string
	if redacted == nil || json.Unmarshal([]byte(excerpt), &text) != nil {
		return false
	}
	text = strings.TrimSuffix(strings.TrimPrefix(text, "…"), "…")
	switch field.root {
	case "body":
		body := strings.ToValidUTF8(string(redacted.Body), "\uFFFD")
		return strings.Contains(body, text) || strings.Contains(keyText(body), text)
	case "header":
		return headersShow(redacted.Header, text)
	case "trailer":
		return headersShow(redacted.Trailer, text)
	}
	return true // a cookie's attribute
}

// showsAll tells whether all texts in an excerpt of a tree that was made of something else than JSON are still there after
// redaction: names are looked for there as they were sent, and the tree may have them in other places.
func showsAll(redacted *multicast.Response, excerpt string) bool {
	l := labelOf(redacted.Header)
	body, _, _ := toUTF8(redacted.Body, l, nil)
	if !l.promisesTree(body) || looksJSON(body) {
		return true
	}
	var value any
	if json.Unmarshal([]byte(excerpt), &value) != nil {
		return false
	}
	views := [4]string{strings.ToValidUTF8(string(body), "\uFFFD")}
	return allShown(value, func(text string) bool {
		for i := range views {
			if i > 0 && views[i] == "" {
				views[i] = textView(i, views[0])
			}
			if strings.Contains(views[i], text) {
				return true
			}
		}
		return false
	})
}

// textView is a body's text with its references undone, then with its white space in single spaces, or as a form's.
func textView(i int, body string) string {
	switch i {
	case 1:
		return html.UnescapeString(body)
	case 2:
		return strings.Join(strings.Fields(html.UnescapeString(body)), " ")
	}
	return strings.ToValidUTF8(formText(body), "\uFFFD")
}

// allShown tells whether all texts of a JSON value are, piece by piece.
func allShown(value any, shown func(string) bool) bool {
	switch v := value.(type) {
	case string:
		for _, piece := range strings.FieldsFunc(v, func(c rune) bool { return c == '\n' || c == '…' || string(c) == childMark }) {
			if piece = strings.Join(strings.Fields(piece), " "); !shown(piece) {
				return false
			}
		}
	case []any:
		return !slices.ContainsFunc(v, func(item any) bool { return !allShown(item, shown) })
	case map[string]any:
		for _, item := range v {
			if !allShown(item, shown) {
				return false
			}
		}
	}
	return true
}

func headersShow(header http.Header, text string) bool {
	for _, lines := range header {
		for _, line := range lines {
			if strings.Contains(line, text) {
				return true
			}
		}
	}
	return false
}

func (r *Redactor) bodyExcerpt(field *Pattern, excerpt string) string {
	m := matcher{patterns: r.places["body"], fold: true}
	m.follow(field.segments)
	if len(m.states) == 0 {
		return excerpt
	}
	isText := len(field.segments) == 0 && excerpt[0] == '"' // lines of a body that is no JSON
	if out, _, ok := redactJSON(&m, []byte(excerpt), false); ok && !isText {
		return string(out)
	}
	var below []*Pattern
	for _, s := range m.states {
		below = append(below, m.patterns[s.pattern])
	}
	if !isText {
		out, _ := redactText(below, []byte(excerpt))
		return string(out)
	}
	out, _ := redactText(below, []byte(excerpt[1:]))
	if n := len(excerpt); n > 1 && excerpt[n-1] == '"' && out[len(out)-1] != '"' {
		out = append(out, '"')
	}
	return `"` + string(out)
}

// urlExcerpt redacts the query within a JSON string, or within a cut one up to its end.
func (r *Redactor) urlExcerpt(excerpt string) string {
	var text string
	if json.Unmarshal([]byte(excerpt), &text) != nil {
		text = strings.Trim(excerpt, `"`)
	}
	redacted, n := r.url(text)
	if n == 0 {
		return excerpt
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(redacted) != nil {
		return `"` + Redacted + `"`
	}
	return strings.TrimSuffix(out.String(), "\n")
}
