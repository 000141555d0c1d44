package normalize

import (
	"fmt"

	"go.yaml.in/yaml/v4"
)

// MarshalYAML writes the value so that UnmarshalYAML reads it again: null as null, not as a word.
func (v JSONValue) MarshalYAML() (any, error) {
	if v == "" || v == whenEmpty {
		return string(v), nil
	}
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(v), &document); err != nil { // JSON is YAML
		return nil, err
	}
	return document.Content[0], nil
}

// YAML is the rule as an item of the list under rules:, so that it can be read from there again.
func (c RuleConfig) YAML() (string, error) {
	text, err := yaml.Marshal([]RuleConfig{c})
	if err != nil {
		return "", fmt.Errorf("writing a rule: %w", err)
	}
	return string(text), nil
}
