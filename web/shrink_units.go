package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"shadowdiff/multicast"
)

// unit is one part of a request that can be left out.
type unit struct {
	name   string // "query.currency", "header.accept", "body.user.name"
	parent int    // the unit that it is a part of; -1: none
	group  int    // units of one group are tried together
}

// The groups, in the order in which they are tried: of the body's, each level is one.
const (
	groupQuery = iota
	groupHeaders
	groupBody
)

// unitDepth is how deep a body is taken apart; what is below is left out with what holds it, or not at all.
const unitDepth = 32

// mostUnits is how many parts a request is taken apart into: more could not be tried in the time that there is. What is
// beyond stays, or goes with what holds it.
const mostUnits = 2000

// anatomy is a request taken apart.
type anatomy struct {
	whole   multicast.Request
	units   []unit
	path    string
	query   []string // as in the target, in order; the first of them is unit 0
	headers []string // names, sorted; their units follow
	body    *limb    // nil: it has no parts, being empty or no JSON; then it is one unit, if there is one
	bodyAt  int      // its unit
}

// limb is one value of a JSON body, as its bytes.
type limb struct {
	unit     int    // -1: it cannot be left out by itself
	key      []byte // with the colon, in an object
	text     []byte // of what has no parts
	open     byte   // { or [ of what has some
	children []*limb
}

// newAnatomy takes a request apart. What frames it, or says whom it is for, is no part.
func newAnatomy(req *multicast.Request) *anatomy {
	a := &anatomy{whole: *req, bodyAt: -1}
	path, query, asks := strings.Cut(req.Target, "?")
	if a.path = path; asks {
		a.query = strings.SplitN(query, "&", mostUnits/2)
	}
	for _, pair := range a.query {
		name, _, _ := strings.Cut(pair, "=")
		a.add("query."+plainName(name), -1, groupQuery)
	}
	for _, name := range slices.Sorted(maps.Keys(req.Header)) {
		switch http.CanonicalHeaderKey(name) {
		case "Content-Length", "Transfer-Encoding", "Connection", "Host", "Te", "Trailer", "Expect":
			continue
		}
		a.headers = append(a.headers, name)
		a.add("header."+strings.ToLower(name), -1, groupHeaders)
	}
	if len(req.Body) == 0 {
		return a
	}
	a.bodyAt = a.add("body", -1, groupBody)
	if json.Valid(req.Body) {
		s := scanner{a: a, text: req.Body}
		a.body = s.value(a.bodyAt, "body", 0)
	}
	return a
}

func (a *anatomy) add(name string, parent, group int) int {
	a.units = append(a.units, unit{name, parent, group})
	return len(a.units) - 1
}

// groups is how many there are.
func (a *anatomy) groups() int {
	n := groupBody
	for _, u := range a.units {
		n = max(n, u.group+1)
	}
	return n
}

// without puts the request together again, without what is left out. Where nothing of the body is, its bytes stay.
func (a *anatomy) without(out []bool) *multicast.Request {
	req := a.whole
	var pairs []string
	for i, pair := range a.query {
		if !out[i] {
			pairs = append(pairs, pair)
		}
	}
	if req.Target = a.path; len(pairs) > 0 {
		req.Target += "?" + strings.Join(pairs, "&")
	}
	req.Header = maps.Clone(req.Header)
	for i, name := range a.headers {
		if out[len(a.query)+i] {
			delete(req.Header, name)
		}
	}
	if a.bodyAt >= 0 && slices.Contains(out[a.bodyAt:], true) {
		maps.DeleteFunc(req.Header, func(name string, _ []string) bool { return strings.EqualFold(name, "Content-Length") })
	}
	switch {
	case a.bodyAt < 0:
	case out[a.bodyAt]:
		req.Body = nil
	case slices.Contains(out[a.bodyAt:], true):
		var b bytes.Buffer
		a.body.write(&b, out)
		req.Body = b.Bytes()
	}
	return &req
}

func (n *limb) write(b *bytes.Buffer, out []bool) {
	b.Write(n.key)
	if n.open == 0 {
		b.Write(n.text)
		return
	}
	b.WriteByte(n.open)
	first := true
	for _, child := range n.children {
		if child.unit >= 0 && out[child.unit] {
			continue
		}
		if !first {
			b.WriteByte(',')
		}
		first = false
		child.write(b, out)
	}
	b.WriteByte(n.open + 2) // } and ]
}

// scanner takes a JSON text apart that is known to be one. Its values keep their bytes: numbers their digits, texts their
// escapes.
type scanner struct {
	a    *anatomy
	text []byte
	at   int
}

func (s *scanner) space() {
	for s.at < len(s.text) && strings.IndexByte(" \t\r\n", s.text[s.at]) >= 0 {
		s.at++
	}
}

// value reads one that is so deep.
func (s *scanner) value(unit int, name string, depth int) *limb {
	s.space()
	n := &limb{unit: unit}
	if c := s.text[s.at]; c != '{' && c != '[' || depth >= unitDepth || len(s.a.units) >= mostUnits {
		from := s.at
		s.skip()
		n.text = s.text[from:s.at]
		return n
	}
	n.open = s.text[s.at]
	s.at++
	for i := 0; ; i++ {
		s.space()
		switch s.text[s.at] {
		case '}', ']':
			s.at++
			return n
		case ',':
			s.at++
			s.space()
		}
		part, key := fmt.Sprintf("%s[%d]", name, i), []byte(nil)
		if n.open == '{' {
			from := s.at
			s.skip()
			part = name + memberName(s.text[from:s.at])
			s.space()
			s.at++ // the colon
			key = append(slices.Clone(s.text[from:s.trimmed(from)]), ':')
		}
		child := -1
		if len(s.a.units) < mostUnits {
			child = s.a.add(part, unit, groupBody+1+depth)
		}
		held := s.value(child, part, depth+1)
		held.key = key
		n.children = append(n.children, held)
	}
}

// trimmed is the end of the text that begins at a place and is followed by space and the colon that was read last.
func (s *scanner) trimmed(from int) int {
	return from + len(bytes.TrimRight(s.text[from:s.at-1], " \t\r\n"))
}

// skip passes over one value.
func (s *scanner) skip() {
	for depth := 0; ; {
		switch s.text[s.at] {
		case '{', '[':
			depth++
			s.at++
		case '}', ']':
			depth--
			s.at++
		case '"':
			for s.at++; s.text[s.at] != '"'; s.at++ {
				if s.text[s.at] == '\\' {
					s.at++
				}
			}
			s.at++
		case ',', ':', ' ', '\t', '\r', '\n':
			s.at++
		default:
			for s.at < len(s.text) && strings.IndexByte(",:]} \t\r\n", s.text[s.at]) < 0 {
				s.at++
			}
		}
		if depth == 0 {
			return
		}
	}
}

// memberName names a member as fields do.
func memberName(quoted []byte) string {
	var key string
	_ = json.Unmarshal(quoted, &key) // it is a JSON text
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
	if key == "" || strings.Trim(key, plain) != "" {
		return "[" + strconv.Quote(key) + "]"
	}
	return "." + key
}
