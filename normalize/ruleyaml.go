package normalize

import (
	"encoding/json"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"
)

// By is the list of keys that a pair rule goes by; a single one may be written without a list.
type By []string

// UnmarshalYAML takes one word or a list of words.
func (b *By) UnmarshalYAML(n *yaml.Node) error {
	nodes := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		nodes = n.Content
	}
	*b = By{}
	for _, item := range nodes {
		if item.Kind == yaml.AliasNode {
			item = item.Alias
		}
		if item.Kind != yaml.ScalarNode || item.Tag == "!!null" {
			return fmt.Errorf("a field relative to the element is expected here, or a list of them, as in [region, id]")
		}
		*b = append(*b, item.Value)
	}
	return nil
}

// JSONValue is a JSON value as its text, such as `null` or `{"a": 1}`; or the word `empty`, which stands for the empty
// string, array and object. "" means that none is given.
type JSONValue string

// whenEmpty is the word for all that is empty.
const whenEmpty JSONValue = "empty"

// maxWhen bounds how deep the value of a rule may nest.
const maxWhen = 100

// UnmarshalYAML takes any YAML value that JSON has too.
func (v *JSONValue) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode && n.Value == string(whenEmpty) {
		*v = whenEmpty
		return nil
	}
	out, err := appendJSON(nil, n, maxWhen)
	*v = JSONValue(out)
	return err
}

// appendJSON writes a YAML value as JSON.
func appendJSON(dst []byte, n *yaml.Node, levels int) ([]byte, error) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if levels == 0 {
		return nil, fmt.Errorf("the value nests over %d levels", maxWhen)
	}
	opening, closing := "[", "]"
	switch n.Kind {
	case yaml.ScalarNode:
		return appendScalar(dst, n)
	case yaml.MappingNode:
		opening, closing = "{", "}"
	}
	var err error
	dst = append(dst, opening...)
	for i, child := range n.Content {
		switch key := n.Kind == yaml.MappingNode && i%2 == 0; {
		case key && child.Kind != yaml.ScalarNode:
			return nil, fmt.Errorf("a key must be a word, as in JSON")
		case key:
			text, _ := json.Marshal(child.Value) // a string: it cannot fail
			dst = append(append(separate(dst, i), text...), ':')
			continue
		case n.Kind != yaml.MappingNode:
			dst = separate(dst, i)
		}
		if dst, err = appendJSON(dst, child, levels-1); err != nil {
			return nil, err
		}
	}
	return append(dst, closing...), nil
}

func separate(dst []byte, i int) []byte {
	if i > 0 {
		dst = append(dst, ',')
	}
	return dst
}

func appendScalar(dst []byte, n *yaml.Node) ([]byte, error) {
	switch n.Tag {
	case "!!null":
		return append(dst, "null"...), nil
	case "!!bool":
		return append(dst, strings.ToLower(n.Value)...), nil
	case "!!int", "!!float":
		if _, end, ok := scanNumber(n.Value, 0); !ok || end != len(n.Value) {
			return nil, fmt.Errorf("%q is no number in JSON: write it in decimal digits, or quote it if it is a string", n.Value)
		}
		return append(dst, n.Value...), nil
	}
	text, err := json.Marshal(n.Value)
	return append(dst, text...), err
}
