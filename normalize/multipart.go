package normalize

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"mime/quotedprintable"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	maxNested = 4    // multiparts within each other; a deeper one is text
	maxFolded = 1024 // header lines of a part
)

// part is one part of a multipart body.
type part struct {
	headers []Member // by name in lower case
	label   label
	name    string // of a form's field
	body    []byte
}

// multipart reads a multipart body (RFC 2046, section 5.1) into an object of its parts by name, if it is a form, else into
// an array. What stands before the first boundary and behind the last is not compared.
func (r *reader) multipart(data []byte, l *label, depth int) (root Value, why string, ok bool) {
	pieces, why := splitParts(data, l.boundary)
	if why != "" {
		return Value{}, why, false
	}
	form := l.media == "multipart/form-data"
	parts := make([]Member, 0, len(pieces))
	if !r.charge(len(pieces)) {
		return Value{}, noMemory, false
	}
	for _, piece := range pieces {
		p, why := readPart(piece, l.media)
		if why != "" {
			return Value{}, why, false
		}
		v, ok := r.part(&p, depth)
		if !ok {
			return Value{}, noMemory, false
		}
		parts = append(parts, Member{Key: p.name, Value: v})
	}
	if form {
		return r.named(parts)
	}
	items, ok := r.values(len(parts))
	for i := range items {
		items[i] = parts[i].Value
	}
	return arrayValue(items), noMemory, ok
}

// splitParts cuts a body at its boundary, which stands on lines of its own.
func splitParts(data []byte, boundary string) (parts [][]byte, why string) {
	if boundary == "" || len(boundary) > 200 {
		return nil, "no boundary"
	}
	delimiter := []byte("--" + boundary)
	start := -1 // of the part under way
	for at := 0; ; {
		found := bytes.Index(data[at:], delimiter)
		if found < 0 {
			return nil, "no boundary ends it"
		}
		found += at
		at = found + len(delimiter)
		last, next, ok := boundaryEnd(data, at)
		if !ok || found > 0 && data[found-1] != '\n' {
			continue
		}
		if start >= 0 {
			end := max(start, found-1)
			if end > start && data[end-1] == '\r' {
				end--
			}
			parts = append(parts, data[start:end])
		}
		if last {
			return parts, ""
		}
		start, at = next, next
		// The end of the boundary's line may begin the next one, when a part is empty.
	}
}

// boundaryEnd reads what follows a boundary on its line: two dashes behind the last one, white space, and the line's end.
func boundaryEnd(data []byte, at int) (last bool, next int, ok bool) {
	rest := data[at:]
	if last = bytes.HasPrefix(rest, []byte("--")); last {
		rest = rest[2:]
	}
	rest = bytes.TrimLeft(rest, " \t")
	switch {
	case len(rest) == 0:
		return last, len(data), last
	case rest[0] == '\n':
		rest = rest[1:]
	case len(rest) > 1 && rest[0] == '\r' && rest[1] == '\n':
		rest = rest[2:]
	default:
		return false, 0, false
	}
	return last, len(data) - len(rest), true
}

// readPart reads a part's headers. What says how the part was sent, its boundary, length and transfer encoding, is not
// kept.
func readPart(data []byte, media string) (p part, why string) {
	p.label.media = "text/plain" // RFC 2046, section 5.1
	if media == "multipart/digest" {
		p.label.media = "message/rfc822"
	}
	encoding, ok := "", false
	for n := 0; ; n++ {
		var line, rest []byte
		line, rest, ok = bytes.Cut(data, []byte("\n"))
		line = bytes.TrimSuffix(line, []byte("\r"))
		if !ok && len(line) > 0 || n > maxFolded {
			return p, "a part's headers do not end"
		}
		data = rest
		if len(line) == 0 {
			break
		}
		line = slices.Clip(line)
		for len(data) > 0 && (data[0] == ' ' || data[0] == '\t') && n <= maxFolded { // folded
			more, rest, _ := bytes.Cut(data, []byte("\n"))
			line = append(append(line, ' '), bytes.TrimSpace(more)...)
			data, n = rest, n+1
		}
		key, value, ok := strings.Cut(string(line), ":")
		if !ok {
			return p, "a part's header without a colon"
		}
		p.header(strings.ToLower(trimSpace(key)), trimSpace(value), &encoding)
	}
	if p.body, ok = decodePart(data, strings.ToLower(encoding)); !ok {
		p.headers = append(p.headers, Member{Key: "content-transfer-encoding", Value: stringValue(textOf(encoding))})
	}
	return p, ""
}

func (p *part) header(name, value string, encoding *string) {
	switch name {
	case "content-length":
		return
	case "content-transfer-encoding":
		*encoding = value
		return
	case "content-disposition":
		p.name = textOf(param(afterSemicolon(value), "name"))
	case "content-type":
		p.label = readLabel(value)
		if p.label.boundary != "" {
			value = p.label.media
		} else {
			value = canonicalMediaType(value)
		}
	}
	p.headers = append(p.headers, Member{Key: textOf(name), Value: stringValue(textOf(value))})
}

func afterSemicolon(value string) string {
	_, params, _ := strings.Cut(value, ";")
	return params
}

// decodePart undoes a transfer encoding. It answers false for what stays as sent and is not what its header says.
func decodePart(data []byte, encoding string) ([]byte, bool) {
	switch encoding {
	case "base64":
		plain := bytes.Map(func(c rune) rune {
			if strings.ContainsRune(" \t\r\n", c) {
				return -1
			}
			return c
		}, data)
		if out, err := base64.StdEncoding.DecodeString(string(plain)); err == nil {
			return out, true
		}
		return data, false
	case "quoted-printable":
		if out, err := io.ReadAll(quotedprintable.NewReader(bytes.NewReader(data))); err == nil {
			return out, true
		}
		return data, false
	}
	return data, true
}

// part makes a part's value. Its "kind" is told where the value of "body" alone would not tell it from JSON or text.
func (r *reader) part(p *part, depth int) (Value, bool) {
	headers, _, ok := r.named(p.headers)
	if !ok {
		return Value{}, false
	}
	body, kind, ok := r.partBody(p, depth)
	if !ok {
		return Value{}, false
	}
	n := 2
	if kind != "" {
		n = 3
	}
	members, ok := r.members(n)
	if !ok {
		return Value{}, false
	}
	members[0], members[1] = Member{Key: "body", Value: body}, Member{Key: "headers", Value: headers}
	if kind != "" {
		members[2] = Member{Key: "kind", Value: stringValue(kind)}
	}
	return objectValue(members), true
}

// partBody reads the body of a part by its own type, as a whole body is.
func (r *reader) partBody(p *part, depth int) (v Value, kind string, ok bool) {
	data, _, err := toUTF8(p.body, p.label, nil)
	if err != nil || !r.budget.take(int64(len(data))) {
		data = p.body
	}
	if looksJSON(data) {
		if v, _, ok = r.json(data, false); ok || r.budget.refused {
			return v, "", ok
		}
	}
	if p.label.boundary != "" && depth < maxNested {
		v, _, ok = r.multipart(data, &p.label, depth+1)
		kind = "multipart"
	} else {
		var of BodyKind
		v, of, _, ok = r.tree(data, &p.label)
		kind = of.String()
	}
	switch {
	case ok || r.budget.refused:
		return v, kind, ok
	case utf8.Valid(data) && bytes.IndexByte(data, 0) < 0:
		return stringValue(string(data)), "", true
	}
	text := Describe(int64(len(p.body)), p.body, sha256.Sum256(p.body))
	return stringValue(text), "bytes", true
}
