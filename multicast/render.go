package multicast

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// question is a request as it goes over the wire. It may be used again; it holds on to nothing between two uses but room.
type question struct {
	fields []field
	marks  marks
	head   []byte // and what the body's framing begins with
	body   []byte // the flight's
	tail   []byte // the end of the framing, and trailers
}

// field is one header with its values.
type field struct {
	name   string
	values []string
}

// render writes what this shadow is asked, in the very bytes that net/http sends to a primary.
func (q *question) render(s *shadow, f *flight) error {
	q.fields, q.head, q.body, q.tail = q.fields[:0], q.head[:0], nil, q.tail[:0]
	if err := q.gather(s, f); err != nil {
		return err
	}
	host := s.hostOf(f)
	q.head = append(q.head, f.ex.Request.Method...)
	q.head = append(q.head, ' ')
	before := len(q.head)
	q.head = s.target.appendURI(q.head, f.path, f.url)
	if !plainHost(host) || !plainURI(q.head[before:]) {
		q.head = q.head[:0]
		return q.renderOdd(s, f)
	}
	q.head = append(q.head, " HTTP/1.1\r\nHost: "...)
	q.head = append(q.head, host...)
	q.head = append(q.head, "\r\n"...)
	if i := q.find("User-Agent"); i >= 0 && q.fields[i].values[0] != "" {
		q.head = appendField(q.head, "User-Agent", q.fields[i].values[:1])
	}
	chunked := q.frame(s, f)
	for _, field := range q.fields {
		if field.name != "User-Agent" {
			q.head = appendField(q.head, field.name, field.values)
		}
	}
	q.head = append(q.head, "\r\n"...)
	q.body = f.ex.Request.Body
	if chunked {
		q.chunk(s.trailers(f))
	}
	return nil
}

// renderOdd leaves to net/http what is seldom: a host that must be encoded, and what may not be sent.
func (q *question) renderOdd(s *shadow, f *flight) error {
	buf := bytes.NewBuffer(q.head)
	err := s.request(f).Write(buf)
	q.head = buf.Bytes()
	if err != nil {
		return fmt.Errorf("%w: %w", errUnsendable, err)
	}
	return nil
}

// gather lists the headers in the order in which they are sent. It refuses what net/http's transport would refuse.
func (q *question) gather(s *shadow, f *flight) error {
	q.marks = marksOf(f)
	for name, values := range s.headers(f, &q.marks) {
		switch name {
		case "Host", "Content-Length", "Transfer-Encoding", "Trailer":
			continue // written with the framing
		}
		if len(values) > 0 {
			q.fields = append(q.fields, field{name, values})
		}
	}
	slices.SortFunc(q.fields, func(a, b field) int { return strings.Compare(a.name, b.name) })
	for _, field := range q.fields { // the names were checked, by the server or with the configuration
		if !sendable(field.values) {
			return errUnsendable
		}
	}
	for name, values := range f.ex.Request.Trailer {
		if !token(name) || !sendable(values) {
			return errUnsendable
		}
	}
	return nil
}

func (q *question) find(name string) int {
	return slices.IndexFunc(q.fields, func(f field) bool { return f.name == name })
}

// sendable reports whether each value may stand in a header (RFC 9110, section 5.5).
func sendable(values []string) bool {
	for _, value := range values {
		for _, c := range []byte(value) {
			if c < ' ' && c != '\t' || c == 0x7f {
				return false
			}
		}
	}
	return true
}

// plainURI reports whether a URI may stand in a request line.
func plainURI(uri []byte) bool {
	for _, c := range uri {
		if c <= ' ' || c == 0x7f {
			return false
		}
	}
	return true
}

// plainHost reports whether a host needs no care: no letter beyond ASCII, no zone, nothing that ends a line.
func plainHost(host string) bool {
	for _, c := range []byte(host) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && c != '.' && c != '-' && c != ':' && c != '_' {
			return false
		}
	}
	return host != ""
}

// frame says how the body ends, as the client did; it answers true for chunks.
func (q *question) frame(s *shadow, f *flight) (chunked bool) {
	length, method := len(f.ex.Request.Body), f.ex.Request.Method
	switch {
	case f.length < 0:
		q.head = append(q.head, "Transfer-Encoding: chunked\r\n"...)
		q.announce(slices.DeleteFunc(slices.Clone(f.trails), s.withheld))
		return true
	case length > 0 || method == http.MethodPost || method == http.MethodPut || method == http.MethodPatch:
		q.head = append(q.head, "Content-Length: "...)
		q.head = strconv.AppendInt(q.head, int64(length), 10)
		q.head = append(q.head, "\r\n"...)
	}
	return false
}

func (q *question) announce(trails []string) {
	for i, name := range trails {
		if i == 0 {
			q.head = append(q.head, "Trailer: "...)
		} else {
			q.head = append(q.head, ',')
		}
		q.head = append(q.head, name...)
	}
	if len(trails) > 0 {
		q.head = append(q.head, "\r\n"...)
	}
}

// chunk puts the body into one chunk.
func (q *question) chunk(trailer http.Header) {
	if len(q.body) > 0 {
		q.head = strconv.AppendInt(q.head, int64(len(q.body)), 16)
		q.head = append(q.head, "\r\n"...)
		q.tail = append(q.tail, "\r\n"...)
	}
	q.tail = append(q.tail, "0\r\n"...)
	for _, name := range sortedNames(trailer) {
		q.tail = appendField(q.tail, name, trailer[name])
	}
	q.tail = append(q.tail, "\r\n"...)
}

func sortedNames(h http.Header) []string {
	if len(h) == 0 {
		return nil
	}
	names := make([]string, 0, len(h))
	for name := range h {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func appendField(b []byte, name string, values []string) []byte {
	for _, value := range values {
		b = append(b, name...)
		b = append(b, ": "...)
		b = append(b, strings.Trim(value, " \t")...)
		b = append(b, "\r\n"...)
	}
	return b
}
