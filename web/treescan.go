package web

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// treeScanner reads JSON that is known to be valid into nodes. Their texts are parts of one string, and they come in blocks:
// a body of a megabyte has a hundred thousand of them.
type treeScanner struct {
	text  string
	at    int
	left  int // nodes that may still be made
	block []node
}

const nodeBlock = 512

// scanTree reads one JSON value; false where it is not valid, or is several.
func scanTree(body []byte) (n *node, ok bool, err error) {
	if !json.Valid(body) {
		return nil, false, nil
	}
	s := treeScanner{text: string(body), left: treeNodes}
	n, err = s.value(treeDepth)
	return n, true, err
}

func (s *treeScanner) make() *node {
	if len(s.block) == 0 {
		s.block = make([]node, nodeBlock)
	}
	n := &s.block[0]
	s.block = s.block[1:]
	return n
}

func (s *treeScanner) value(depth int) (*node, error) {
	if s.left--; s.left < 0 || depth == 0 {
		return nil, errTooLarge
	}
	s.skip()
	n, begin := s.make(), s.at
	switch c := s.text[s.at]; c {
	case '{', '[':
		n.open = c
		s.at++
		if err := s.kids(n, depth); err != nil {
			return nil, err
		}
		n.raw = s.text[begin:s.at]
	case '"':
		n.text = s.quoted()
	default:
		for s.at < len(s.text) && !strings.ContainsRune(" \t\r\n,]}", rune(s.text[s.at])) {
			s.at++
		}
		n.text = s.text[begin:s.at]
	}
	return n, nil
}

// kids reads what is between brackets, up to behind the closing one.
func (s *treeScanner) kids(n *node, depth int) error {
	for {
		s.skip()
		if s.text[s.at] == closing(n.open) {
			s.at++
			return nil
		}
		if n.open == '{' {
			key := s.quoted()
			if !strings.Contains(key, `\`) {
				key = key[1 : len(key)-1]
			} else if err := json.Unmarshal([]byte(key), &key); err != nil {
				return err
			}
			n.keys = append(n.keys, key)
			s.skip()
		}
		kid, err := s.value(depth - 1)
		if err != nil {
			return err
		}
		n.kids = append(n.kids, kid)
	}
}

// skip goes over white space, and over the signs between values.
func (s *treeScanner) skip() {
	for s.at < len(s.text) && strings.IndexByte(" \t\r\n,:", s.text[s.at]) >= 0 {
		s.at++
	}
}

// quoted reads a string, and has it as a page shows it: without escapes but those that are needed.
func (s *treeScanner) quoted() string {
	begin, plain := s.at, true
	for s.at++; s.text[s.at] != '"'; s.at++ {
		if s.text[s.at] == '\\' {
			s.at, plain = s.at+1, false
		}
	}
	s.at++
	text := s.text[begin:s.at]
	if plain && utf8.ValidString(text) && !strings.Contains(text, "\u2028") && !strings.Contains(text, "\u2029") {
		return text
	}
	var value string
	if json.Unmarshal([]byte(text), &value) != nil { // it is valid
		return text
	}
	return quoted(value)
}
