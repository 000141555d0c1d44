package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
)

// node is one JSON value as a sample page shows it: members in the order sent, numbers as written.
type node struct {
	open byte     // '{', '[' or 0 for a scalar
	text string   // a scalar's JSON text
	keys []string // an object's
	kids []*node
}

const (
	treeDepth = 200    // deeper documents are shown raw
	treeNodes = 50_000 // larger ones, too
)

var errTooLarge = errors.New("too deep or too large to be laid out")

// parseTree reads one JSON value; several, as NDJSON has them, become an array as they do in comparing.
func parseTree(body []byte) (*node, error) {
	dec := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(body, []byte("\ufeff"))))
	dec.UseNumber()
	left := treeNodes
	var all []*node
	for {
		n, err := readNode(dec, treeDepth, &left)
		if errors.Is(err, io.EOF) && len(all) > 0 {
			break
		}
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	if len(all) == 1 {
		return all[0], nil
	}
	return &node{open: '[', kids: all}, nil
}

func readNode(dec *json.Decoder, depth int, left *int) (*node, error) {
	if *left--; *left < 0 || depth == 0 {
		return nil, errTooLarge
	}
	token, err := dec.Token()
	if err != nil {
		return nil, err
	}
	open, isOpen := token.(json.Delim)
	if !isOpen {
		return &node{text: scalarText(token)}, nil
	}
	n := &node{open: byte(open)}
	for dec.More() {
		if open == '{' {
			key, err := dec.Token()
			if err != nil {
				return nil, err
			}
			n.keys = append(n.keys, key.(string)) // the decoder allows nothing else here
		}
		kid, err := readNode(dec, depth-1, left)
		if err != nil {
			return nil, err
		}
		n.kids = append(n.kids, kid)
	}
	_, err = dec.Token() // the closing bracket
	return n, err
}

func scalarText(token any) string {
	switch t := token.(type) {
	case json.Number:
		return t.String()
	case string:
		return quoted(t)
	default:
		text, _ := json.Marshal(t) // null, true or false
		return string(text)
	}
}

// quoted writes a string as JSON does, without escaping what only HTML minds.
func quoted(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // strings always encode
	return strings.TrimSuffix(b.String(), "\n")
}

// member finds an object's member; of several under one key the last counts.
func (n *node) member(key string) *node {
	if n == nil || n.open != '{' {
		return nil
	}
	for i := len(n.keys) - 1; i >= 0; i-- {
		if n.keys[i] == key {
			return n.kids[i]
		}
	}
	return nil
}

// item is an array's element, nil outside of it.
func (n *node) item(i int) *node {
	if n == nil || n.open != '[' || i < 0 || i >= len(n.kids) {
		return nil
	}
	return n.kids[i]
}

// compact writes the value in one line.
func (n *node) compact() string {
	var b strings.Builder
	n.write(&b)
	return b.String()
}

func (n *node) write(b *strings.Builder) {
	if n.open == 0 {
		b.WriteString(n.text)
		return
	}
	b.WriteByte(n.open)
	for i, kid := range n.kids {
		if i > 0 {
			b.WriteString(", ")
		}
		if n.open == '{' {
			b.WriteString(quoted(n.keys[i]) + ": ")
		}
		kid.write(b)
	}
	b.WriteByte(closing(n.open))
}

func closing(open byte) byte {
	if open == '{' {
		return '}'
	}
	return ']'
}

// same says whether two values read the same; object members may stand in any order.
func same(a, b *node) bool {
	if a == nil || b == nil {
		return a == b
	}
	if a.open != b.open || a.text != b.text || len(a.kids) != len(b.kids) {
		return false
	}
	for i, kid := range a.kids {
		other := b.kids[i]
		if a.open == '{' && a.keys[i] != b.keys[i] {
			other = b.member(a.keys[i])
		}
		if !same(kid, other) {
			return false
		}
	}
	return true
}
