package diff

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"shadowdiff/normalize"
)

// applied is a JSON body after operations, each under the rules of RFC 6902. A key of which there are several copies
// stands for the last one.
func applied(left *normalize.Value, ops []Operation) ([]byte, error) {
	root := &node{value: left}
	for i := range ops {
		o := &ops[i]
		if !utf8.ValidString(o.Old) || !utf8.ValidString(o.Value) {
			return nil, fmt.Errorf("operation %d: it is not valid UTF-8", i)
		}
		if err := root.apply(o.Op, o.Path, o.Value); err != nil {
			return nil, fmt.Errorf("operation %d: %s %q: %w", i, o.Op, o.Path, err)
		}
	}
	if root.value == left {
		return appendRoot(nil, left), nil
	}
	return root.append(nil), nil
}

// node is a value that operations may change. It is opened when one goes through it.
type node struct {
	value   *normalize.Value // as sent, until it is opened
	text    string           // or the JSON text that has taken its place
	members []*node          // or the members, in the order of their keys, added ones last
	byKey   map[string]*node
	array   bool // or the elements
	front   []*node
	back    []*node // those behind the last place of work, in reverse order: there, inserting costs nothing

	key  string // as text, of a member
	gone bool
}

func (n *node) apply(op, path, value string) error {
	if path == "" {
		*n = node{text: value, key: n.key}
		return nil
	}
	tokens := strings.Split(path[1:], "/")
	for _, token := range tokens[:len(tokens)-1] {
		next, err := n.child(token)
		if err != nil {
			return err
		}
		n = next
	}
	last := tokens[len(tokens)-1]
	if op == opAdd {
		return n.add(last, value)
	}
	child, err := n.child(last)
	switch {
	case err != nil:
		return err
	case op == opReplace:
		*child = node{text: value, key: child.key}
	case n.array:
		n.front = n.front[:len(n.front)-1] // where child has put it
	default:
		child.gone = true
		delete(n.byKey, child.key)
	}
	return nil
}

// unescape reads a reference token of RFC 6901.
func unescape(token string) string {
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
}

// child is the value under a token. An element is then the last one in front.
func (n *node) child(token string) (*node, error) {
	n.open()
	if !n.array {
		if child := n.byKey[unescape(token)]; child != nil {
			return child, nil
		}
		return nil, fmt.Errorf("there is no member %q", token)
	}
	i, err := strconv.Atoi(token)
	if err != nil || i < 0 || i >= len(n.front)+len(n.back) {
		return nil, fmt.Errorf("there is no element %q", token)
	}
	n.split(i + 1)
	return n.front[i], nil
}

func (n *node) add(token, value string) error {
	n.open()
	child := &node{text: value}
	if !n.array {
		child.key = unescape(token)
		if n.byKey == nil {
			return fmt.Errorf("there is no object")
		}
		if old := n.byKey[child.key]; old != nil {
			*old = *child
			return nil
		}
		n.members = append(n.members, child)
		n.byKey[child.key] = child
		return nil
	}
	i, err := strconv.Atoi(token)
	if err != nil || i < 0 || i > len(n.front)+len(n.back) {
		return fmt.Errorf("there is no place %q", token)
	}
	n.split(i)
	n.front = append(n.front, child)
	return nil
}

// split moves elements so that so many are in front.
func (n *node) split(at int) {
	for len(n.front) > at {
		n.back = append(n.back, n.front[len(n.front)-1])
		n.front = n.front[:len(n.front)-1]
	}
	for len(n.front) < at {
		n.front = append(n.front, n.back[len(n.back)-1])
		n.back = n.back[:len(n.back)-1]
	}
}

func (n *node) open() {
	v := n.value
	if v == nil {
		return
	}
	switch v.Type {
	case normalize.Array:
		n.value, n.array = nil, true
		n.front = make([]*node, len(v.Items))
		for i := range v.Items {
			n.front[i] = &node{value: &v.Items[i]}
		}
	case normalize.Object:
		n.value, n.byKey = nil, make(map[string]*node, len(v.Members))
		for i := range v.Members {
			m := &v.Members[i]
			for j := range m.Hidden {
				n.members = append(n.members, &node{value: &m.Hidden[j], key: m.Key})
			}
			child := &node{value: &m.Value, key: m.Key}
			n.members = append(n.members, child)
			n.byKey[m.Key] = child
		}
	}
}

func (n *node) append(dst []byte) []byte {
	switch {
	case n.value != nil:
		return appendSent(dst, n.value)
	case n.array:
		n.split(len(n.front) + len(n.back))
		dst = append(dst, '[')
		for i, child := range n.front {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = child.append(dst)
		}
		return append(dst, ']')
	case n.byKey == nil:
		return append(dst, n.text...)
	}
	dst = append(dst, '{')
	first := true
	for _, child := range n.members {
		if child.gone {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(appendKey(dst, child.key), ':')
		dst = child.append(dst)
	}
	return append(dst, '}')
}

// appendKey appends a member's key as a JSON string.
func appendKey(dst []byte, key string) []byte {
	if utf8.ValidString(key) {
		return appendString(dst, key)
	}
	dst = append(dst, '"')
	for key != "" {
		r, n := utf8.DecodeRuneInString(key)
		if r != utf8.RuneError || n > 1 {
			quoted := appendString(nil, key[:n])
			dst = append(dst, quoted[1:len(quoted)-1]...)
		} else if r, n = atomOf(key); r < 0 {
			dst = append(dst, byte(-r))
		} else {
			dst = fmt.Appendf(dst, `\u%04x`, r)
		}
		key = key[n:]
	}
	return append(dst, '"')
}
