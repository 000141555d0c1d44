package normalize

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Excerpt returns a difference's excerpt (a JSON text, possibly cut) without what is redacted at or below its field.
func (r *Redactor) Excerpt(field, excerpt string) string {
	pattern, err := ParseField(field)
	switch {
	case excerpt == "":
		return ""
	case err != nil || r.covers(pattern):
		return `"` + Redacted + `"`
	case pattern.root == "body":
		return r.bodyExcerpt(pattern, excerpt)
	case pattern.root == "header" && len(pattern.segments) == 1 && isURLHeader(pattern.segments[0].key):
		return r.urlExcerpt(excerpt)
	}
	return excerpt
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
