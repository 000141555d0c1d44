package normalize

import (
	"bytes"
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
	l := labelOf(header)
	if isWide(data, l.charset) {
		return []byte(redactedUnread), 1
	}
	text, _, _ := toUTF8(data, l, nil) // names are looked for in UTF-8
	if out, n := r.text(text, &l); n > 0 {
		return out, n
	}
	return data, 0
}

// text replaces what is named in a decoded body.
func (r *Redactor) text(data []byte, l *label) ([]byte, int) {
	patterns := r.places["body"]
	m := matcher{patterns: patterns, fold: true}
	m.begin()
	if out, n, ok := redactJSON(&m, data, l.records); ok {
		return out, n
	}
	switch {
	case l.media == mediaForm:
		text, n := redactForm(string(data), r.namesFormKey, patterns...)
		return []byte(text), n
	case l.boundary != "":
		return r.multipart(data, l.boundary)
	case l.media == mediaEvents:
		return r.events(data)
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

// namesFormKey tells whether a key of a form is named. user[password] and user.password lie at body.user.password; the
// plain name counts as well.
func (r *Redactor) namesFormKey(key string) bool {
	path := formPath(key)
	for _, p := range r.places["body"] {
		if coversKeys(p.segments, []string{key}, true) || coversKeys(p.segments, path, true) {
			return true
		}
	}
	return false
}

// formPath is the keys of which a form's key is made: user[password] and user.password are user, password.
func formPath(key string) []string {
	return strings.FieldsFunc(key, func(c rune) bool { return c == '[' || c == ']' || c == '.' })
}

// multipart replaces the values of a form's named parts, and what is named within its other parts, their headers too.
func (r *Redactor) multipart(data []byte, boundary string) ([]byte, int) {
	delimiter := []byte("--" + boundary)
	parts := bytes.Split(data, delimiter)
	count := 0
	for i, part := range parts {
		head, value, ok := bytes.Cut(part, []byte("\r\n\r\n"))
		end := "\r\n"
		if !ok {
			if head, value, ok = bytes.Cut(part, []byte("\n\n")); !ok {
				continue
			}
			end = "\n"
		}
		head, n := redactText(r.places["body"], head)
		count += n
		switch name := partName(head); {
		case name != "" && (r.namesFormKey(name) || r.names("body", name, "body")):
			value = []byte(Redacted + end)
			count++
		case isEncodedPart(head):
			value = []byte(redactedUnread + end)
			count++
		default:
			value, n = redactText(r.places["body"], value)
			count += n
		}
		parts[i] = slices.Concat(head, []byte(end+end), value)
	}
	return bytes.Join(parts, delimiter), count
}

// isEncodedPart tells whether a part's body is sent in an encoding in which no name can be looked for.
func isEncodedPart(head []byte) bool {
	for line := range strings.SplitSeq(string(head), "\n") {
		name, value, _ := strings.Cut(line, ":")
		if strings.EqualFold(strings.TrimSpace(name), "content-transfer-encoding") {
			value = strings.ToLower(strings.TrimSpace(value))
			return value == "base64" || value == "quoted-printable"
		}
	}
	return false
}

// events replaces the fields of server-sent events that are named, and what is named within their data.
func (r *Redactor) events(data []byte) ([]byte, int) {
	var out []byte
	count := 0
	var lines [][]byte // of the event under way
	for more := true; more; {
		var line, end []byte
		if line, end, more = cutEventLine(data); more || len(line) > 0 {
			lines = append(lines, line)
		}
		data = data[len(line)+len(end):]
		if len(line) > 0 && more {
			continue
		}
		text, n := r.event(lines)
		out, count, lines = append(out, text...), count+n, lines[:0]
	}
	return out, count
}

// cutEventLine is the first line and what ends it; false when nothing does.
func cutEventLine(data []byte) (line, end []byte, ok bool) {
	line, rest := cutLine(data)
	end = data[len(line) : len(data)-len(rest)]
	return line, end, len(end) > 0
}

// event writes an event's lines anew, its data in one piece where something in it is named.
func (r *Redactor) event(lines [][]byte) (out []byte, count int) {
	var data [][]byte
	for _, line := range lines {
		if name, value, _ := bytes.Cut(line, []byte(":")); string(name) == "data" {
			data = append(data, bytes.TrimPrefix(value, []byte(" ")))
		}
	}
	text, n := redactText(r.places["body"], bytes.Join(data, []byte("\n")))
	if n > 0 {
		data = bytes.Split(text, []byte("\n"))
	}
	if r.namesKey("data") && len(data) > 0 {
		data, n = [][]byte{[]byte(Redacted)}, 1
	}
	count = n
	for _, line := range lines {
		name, value, _ := bytes.Cut(line, []byte(":"))
		switch {
		case string(name) == "data" && n > 0:
			for _, part := range data {
				out = append(append(append(out, "data: "...), part...), '\n')
			}
			data = nil
			continue
		case len(value) > 0 && r.namesKey(textOf(string(name))):
			line = []byte(string(name) + ": " + Redacted)
			count++
		case len(name) == 0: // a comment
			var n int
			line, n = redactText(r.places["body"], line)
			count += n
		}
		out = append(append(out, line...), '\n')
	}
	return out, count
}

// namesKey tells whether the last step of some place takes a key.
func (r *Redactor) namesKey(key string) bool {
	for _, p := range r.places["body"] {
		if s := lastName(p); s != nil && s.takesKey(key, true) {
			return true
		}
	}
	return false
}

// partName is the name that a part's Content-Disposition gives it.
func partName(head []byte) string {
	for line := range strings.SplitSeq(string(head), "\n") {
		name, value, _ := strings.Cut(line, ":")
		if strings.EqualFold(strings.TrimSpace(name), "content-disposition") {
			return textOf(param(afterSemicolon(strings.TrimSpace(value)), "name"))
		}
	}
	return ""
}
