package main

import (
	"os"
	"reflect"

	"go.yaml.in/yaml/v4"

	"shadowdiff/normalize"
)

// rulesNode takes the document of a rules file as it stands.
type rulesNode struct{ node *yaml.Node }

func (r *rulesNode) UnmarshalYAML(n *yaml.Node) error {
	r.node = n
	return nil
}

// comparing is what a rules file may hold.
type comparing struct {
	Headers normalize.HeaderConfig `yaml:"headers"`
	Rules   []normalize.RuleConfig `yaml:"rules"`
}

// readRules reads the rules of a file: a list, or a mapping with the keys rules and headers as in a configuration. Without
// a file there are none.
func readRules(file string, std stdio) (normalize.Config, error) {
	if file == "" {
		return normalize.Config{}, nil
	}
	text, err := readInput(file, std)
	if err != nil {
		return normalize.Config{}, err
	}
	return decodeRules(file, text)
}

// decodeRules answers all faults at once.
func decodeRules(file string, text []byte) (normalize.Config, error) {
	d := newDecoder(source{file: file, env: os.LookupEnv})
	var root rulesNode
	var cfg comparing
	d.document(text, reflect.ValueOf(&root).Elem())
	switch {
	case len(d.faults) > 0 || root.node == nil:
	case root.node.Kind == yaml.SequenceNode:
		d.value(root.node, reflect.ValueOf(&cfg.Rules).Elem(), "rules")
	default:
		d.value(root.node, reflect.ValueOf(&cfg).Elem(), "")
	}
	out := normalize.Config{Headers: cfg.Headers, Rules: cfg.Rules}
	for _, err := range out.Validate() {
		d.follow(err)
	}
	if len(d.faults) > 0 {
		return out, faultList(d.sorted())
	}
	return out, nil
}
