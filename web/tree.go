package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"shadowdiff/normalize"
)

// node is one JSON value as a sample page shows it: members in the order sent, numbers as written.
type node struct {
	open byte     // '{', '[' or 0 for a scalar
	text string   // a scalar's JSON text
	keys []string // an object's
	kids []*node

	raw   string         // of an object or an array, as it was sent; empty where that is not known
	place map[string]int // of an object with many members: where each key stands last; made when it is first looked for
	size  int            // lines that it takes, once counted
}

const (
	treeDepth = 200     // deeper documents are shown raw
	treeNodes = 300_000 // larger ones, too
)

var errTooLarge = errors.New("too deep or too large to be laid out")

// parseTree reads one JSON value; several, as NDJSON has them, become an array as they do in comparing.
func parseTree(body []byte) (*node, error) {
	body = bytes.TrimPrefix(body, []byte("\ufeff"))
	if n, ok, err := scanTree(body); ok {
		return n, err
	}
	dec := json.NewDecoder(bytes.NewReader(body))
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

// nodeOf is a value as it was read of a body: of one that is no JSON, or none that can be laid out as it was sent.
func nodeOf(v *normalize.Value, depth int, left *int) (*node, error) {
	if *left--; *left < 0 || depth == 0 {
		return nil, errTooLarge
	}
	n := &node{}
	add := func(v *normalize.Value) error {
		kid, err := nodeOf(v, depth-1, left)
		n.kids = append(n.kids, kid)
		return err
	}
	switch v.Type {
	case normalize.Array:
		n.open = '['
		for i := range v.Items {
			if err := add(&v.Items[i]); err != nil {
				return nil, err
			}
		}
	case normalize.Object:
		n.open = '{'
		for i := range v.Members {
			n.keys = append(n.keys, v.Members[i].Key)
			if err := add(&v.Members[i].Value); err != nil {
				return nil, err
			}
		}
	case normalize.String:
		n.text = quoted(v.Text)
	case normalize.Null:
		n.text = "null"
	default:
		n.text = v.Text
	}
	return n, nil
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
	if len(n.keys) > 16 {
		if i, known := n.places()[key]; known {
			return n.kids[i]
		}
		return nil
	}
	for i := len(n.keys) - 1; i >= 0; i-- {
		if n.keys[i] == key {
			return n.kids[i]
		}
	}
	return nil
}

func (n *node) places() map[string]int {
	if n.place == nil {
		n.place = make(map[string]int, len(n.keys))
		for i, key := range n.keys {
			n.place[key] = i
		}
	}
	return n.place
}

// lines is how many lines a value takes when nothing is folded: one, or one for each bracket and those of what is between.
func (n *node) lines() int {
	if n.size > 0 {
		return n.size
	}
	n.size = 1
	if len(n.kids) > 0 {
		n.size = 2
	}
	for i, kid := range n.kids {
		if n.open == '[' || n.member(n.keys[i]) == kid {
			n.size += kid.lines()
		}
	}
	return n.size
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
	if a == nil || b == nil || a == b {
		return a == b
	}
	if a.raw != "" && a.raw == b.raw {
		return true
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
