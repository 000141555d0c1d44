package normalize

import (
	"bytes"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unsafe"
)

// body undoes the content codings of a body, takes Content-Encoding off the header, which is the caller's own, and
// replaces what is named.
func (r *Redactor) body(header http.Header, body []byte) ([]byte, int) {
	if len(body) == 0 {
		return body, 0
	}
	patterns := r.places["body"]
	data, _, err := r.decoders.decode(header, body, r.MaxDecoded, nil)
	if err != nil {
		if len(patterns) > 0 {
			return []byte(redactedUnread), 1
		}
		return body, 0
	}
	header.Del("Content-Encoding")
	if len(patterns) == 0 {
		return data, 0
	}
	media, params, _ := mime.ParseMediaType(header.Get("Content-Type"))
	switch {
	case isWide(data, params["charset"]):
		return []byte(redactedUnread), 1
	case media == "application/x-www-form-urlencoded":
		text, n := redactForm(string(data), r.namesFormKey, patterns...)
		return []byte(text), n
	case strings.HasPrefix(media, "multipart/") && params["boundary"] != "":
		return r.multipart(data, params["boundary"])
	}
	m := matcher{patterns: patterns, fold: true}
	m.begin()
	if out, n, ok := redactJSON(&m, data, isRecordsType(media)); ok {
		return out, n
	}
	return redactText(patterns, data)
}

// isWide tells whether a text's characters take two or four bytes: by its label, by its byte-order mark, or by where the
// zeros are among its first four bytes (RFC 4627, section 3). No name can be looked for in it.
func isWide(data []byte, charset string) bool {
	charset = strings.ToLower(charset)
	for _, wide := range []string{"utf-16", "utf16", "utf-32", "utf32", "ucs-", "iso-10646", "unicode"} {
		if strings.HasPrefix(charset, wide) {
			return true
		}
	}
	if len(data) < 4 {
		return false
	}
	if mark := string(data[:2]); mark == "\xfe\xff" || mark == "\xff\xfe" {
		return true
	}
	var zeros [4]bool
	for i := range zeros {
		zeros[i] = data[i] == 0
	}
	switch zeros {
	case [4]bool{true, true, true, false}, [4]bool{true, false, true, false}, [4]bool{false, true, true, true}, [4]bool{false, true, false, true}:
		return true
	}
	return false
}

// redactJSON replaces the values that the states of a matcher name, and leaves every other byte as it is. It answers
// false for what is no JSON.
func redactJSON(m *matcher, data []byte, records bool) ([]byte, int, bool) {
	// What would take more memory than usual JSON is searched as text.
	p := &parser{budget: budget{reserve: func(int64) bool { return false }}}
	if !p.parse(data, records) {
		return nil, 0, false
	}
	w := redactWalk{matcher: m}
	w.visit(&p.root, 0)
	return w.replace(data)
}

// redactWalk finds the values to be replaced, in the order in which the tree is walked.
type redactWalk struct {
	*matcher
	found []replacement
}

// replacement is a part of a body and what stands there instead.
type replacement struct {
	part []byte // within the body
	text string
}

func (w *redactWalk) visit(v *Value, from int) {
	if w.anyDone(from) {
		w.found = append(w.found, replacement{v.Raw, `"` + Redacted + `"`})
		return
	}
	switch v.Type {
	case Array:
		for i := range v.Items {
			item := &v.Items[i]
			w.child(item, from, func(s *segment) bool { return s.takesElement(item) })
		}
	case Object:
		for i := range v.Members {
			m := &v.Members[i]
			takes := func(s *segment) bool { return s.takesKey(m.Key, w.fold) }
			w.child(&m.Value, from, takes)
			for j := range m.Hidden {
				w.child(&m.Hidden[j], from, takes)
			}
		}
	case String:
		// A string may hold JSON in its turn; ** reaches there too.
		if bytes.Contains(v.Raw, []byte(`\"`)) || bytes.Contains(v.Raw, []byte(hexQuote)) {
			if text, n := redactText(w.open(from), v.Raw[1:len(v.Raw)-1]); n > 0 {
				w.found = append(w.found, replacement{v.Raw, `"` + string(text) + `"`})
			}
		}
	}
}

// open is the patterns that may name places at any depth below the level that begins at from.
func (w *redactWalk) open(from int) []*Pattern {
	var out []*Pattern
	for _, s := range w.states[from:] {
		p := w.patterns[s.pattern]
		if s.at < len(p.segments) && p.segments[s.at].kind == stepDeep {
			out = append(out, p)
		}
	}
	return out
}

func (w *redactWalk) child(v *Value, from int, takes func(*segment) bool) {
	level := w.step(from, takes)
	if len(w.states) > level {
		w.visit(v, level)
	}
	w.states = w.states[:level]
}

// replace writes the body anew.
func (w *redactWalk) replace(data []byte) ([]byte, int, bool) {
	if len(w.found) == 0 {
		return data, 0, true
	}
	slices.SortFunc(w.found, func(a, b replacement) int { return offset(data, a.part) - offset(data, b.part) })
	out := make([]byte, 0, len(data)+len(w.found)*len(Redacted))
	at := 0
	for _, f := range w.found {
		start := offset(data, f.part)
		out = append(append(out, data[at:start]...), f.text...)
		at = start + len(f.part)
	}
	return append(out, data[at:]...), len(w.found), true
}

// offset is where a part of data begins in it.
func offset(data, part []byte) int {
	return int(uintptr(unsafe.Pointer(unsafe.SliceData(part))) - uintptr(unsafe.Pointer(unsafe.SliceData(data))))
}

// redactForm replaces the values of named keys in a query or a form, and whole values that hold such a key in their turn:
// URLs with a query, and JSON or XML where that may hold the places of the patterns.
func redactForm(form string, named func(name string) bool, within ...*Pattern) (string, int) {
	const nested = 4 // URLs within URLs; deeper ones are taken out
	return redactPairs(form, named, within, nested)
}

func redactPairs(form string, named func(name string) bool, within []*Pattern, nested int) (string, int) {
	count := 0
	var out []byte
	for form != "" {
		end := strings.IndexAny(form, "&;")
		pair, separator := form, ""
		if end >= 0 {
			pair, separator = form[:end], form[end:end+1]
		}
		form = form[len(pair)+len(separator):]
		if name, value, ok := strings.Cut(pair, "="); ok && (named(formKey(name)) || hides(value, named, within, nested)) {
			pair = name + "=" + redactedEncoded
			count++
		}
		out = append(append(out, pair...), separator...)
	}
	return string(out), count
}

// hides tells whether a form's value holds a named key in its turn.
func hides(value string, named func(name string) bool, within []*Pattern, nested int) bool {
	if plain, err := url.QueryUnescape(value); err == nil {
		value = plain
	}
	if len(within) > 0 && strings.ContainsAny(value, "{[<") {
		if _, n := redactText(within, []byte(value)); n > 0 {
			return true
		}
	}
	_, query, ok := strings.Cut(value, "?")
	if !ok || !strings.Contains(query, "=") {
		return false
	}
	if nested == 0 {
		return true
	}
	_, n := redactPairs(query, named, within, nested-1)
	return n > 0
}

// formKey is a key as a text, without its percent-encoding.
func formKey(name string) string {
	if plain, err := url.QueryUnescape(name); err == nil {
		name = plain
	}
	return textOf(name)
}

// namesFormKey tells whether a key of a form is named. user[password] lies at body.user.password; the plain name counts
// as well.
func (r *Redactor) namesFormKey(key string) bool {
	path := formPath(key)
	for _, p := range r.places["body"] {
		if coversKeys(p.segments, []string{key}, true) || coversKeys(p.segments, path, true) {
			return true
		}
	}
	return false
}

// formPath is the keys of which a form's key is made: user[password] is user, password.
func formPath(key string) []string {
	return strings.FieldsFunc(key, func(c rune) bool { return c == '[' || c == ']' })
}

// multipart replaces the values of a form's named parts, and what is named within its other parts' text.
func (r *Redactor) multipart(data []byte, boundary string) ([]byte, int) {
	delimiter := []byte("--" + boundary)
	parts := bytes.Split(data, delimiter)
	count := 0
	for i, part := range parts {
		head, value, ok := bytes.Cut(part, []byte("\r\n\r\n"))
		if !ok {
			continue
		}
		if r.namesFormKey(partName(head)) {
			parts[i] = slices.Concat(head, []byte("\r\n\r\n"+Redacted+"\r\n"))
			count++
			continue
		}
		text, n := redactText(r.places["body"], value)
		if n > 0 {
			parts[i] = slices.Concat(head, []byte("\r\n\r\n"), text)
			count += n
		}
	}
	return bytes.Join(parts, delimiter), count
}

// partName is the name that a part's Content-Disposition gives it.
func partName(head []byte) string {
	for line := range strings.SplitSeq(string(head), "\r\n") {
		name, value, _ := strings.Cut(line, ":")
		if strings.EqualFold(trimSpace(name), "content-disposition") {
			_, params, _ := mime.ParseMediaType(trimSpace(value))
			return textOf(params["name"])
		}
	}
	return ""
}
