package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf16"

	"go.yaml.in/yaml/v4"

	"shadowdiff/normalize"
	"shadowdiff/web"
)

// ruleBody is what the text of rules is called where its faults are told.
const ruleBody = "body"

// readRuleText reads one rule or a list of them, with or without the key rules, in YAML or JSON, and answers each as the
// YAML that is kept. Its grammar and its faults are those of the configuration file, but for two things: variables of the
// environment are not replaced, since callers would read them so, and an alias is refused, since a few of them can stand
// for any amount.
func readRuleText(text string) ([]string, error) {
	rules, d := decodeRuleText(text)
	if len(d.faults) == 0 {
		for _, err := range (normalize.Config{Rules: rules}).Validate() {
			d.follow(err)
		}
	}
	if len(d.faults) == 0 && len(rules) == 0 {
		d.faults = []fault{{d.file, position{1, 1}, `there is no rule; write one such as "drop: body.generated_at", or a list of them`}}
	}
	var texts []string
	for i := range rules {
		one, err := rules[i].YAML()
		if err != nil {
			return nil, err
		}
		if len(one) > longestRule {
			d.follow(fmt.Errorf("rules[%d]: %d bytes long; a rule that is added by API may have %d", i, len(one), longestRule))
		}
		texts = append(texts, one)
	}
	if len(d.faults) == 0 {
		return texts, nil
	}
	refused := &web.RulesRefused{Faults: told(d.sorted())}
	for i := range refused.Faults {
		if f := &refused.Faults[i]; strings.Contains(f.Message, "the environment variable ") {
			f.Message = unsetVariable.ReplaceAllString(f.Message, "$${$1} is replaced in a configuration file only; write $$$${$1} for the characters themselves")
		}
	}
	refused.Reason = "no rule was added: " + refused.Faults[0].String()
	if n := len(refused.Faults); n > 1 {
		refused.Reason += fmt.Sprintf(" (and %d more)", n-1)
	}
	return nil, refused
}

var unsetVariable = regexp.MustCompile(`the environment variable (\w+) is not set`)

// decodeRuleText reads the document.
func decodeRuleText(text string) (rules []normalize.RuleConfig, d *decoder) {
	d = newDecoder(source{file: ruleBody, env: func(string) (string, bool) { return "", false }})
	var root rulesNode
	d.document([]byte(yamlOfJSON(text)), reflect.ValueOf(&root).Elem())
	if len(d.faults) > 0 || root.node == nil {
		return nil, d
	}
	d.refuseAliases(root.node)
	list := reflect.ValueOf(&rules).Elem()
	switch n := root.node; {
	case len(d.faults) > 0:
	case n.Kind == yaml.SequenceNode:
		d.value(n, list, "rules")
	case n.Kind == yaml.MappingNode && len(n.Content) > 0 && n.Content[0].Value == "rules":
		var whole struct {
			Rules []normalize.RuleConfig `yaml:"rules"`
		}
		d.value(n, reflect.ValueOf(&whole).Elem(), "")
		rules = whole.Rules
	case n.Kind == yaml.MappingNode:
		d.places["rules[0]"] = position{n.Line, n.Column}
		rules = make([]normalize.RuleConfig, 1)
		d.value(n, list.Index(0), "rules[0]")
	default:
		d.fault(n, "", "a rule or a list of rules is expected here, not %s", describe(n))
	}
	return rules, d
}

// refuseAliases notes every alias below a node.
func (d *decoder) refuseAliases(n *yaml.Node) {
	if n.Kind == yaml.AliasNode {
		d.fault(n, "", "an alias is not taken here; write out what it stands for")
		return
	}
	for _, child := range n.Content {
		d.refuseAliases(child)
	}
}

// yamlOfJSON makes YAML of a text that is JSON, with everything at its place: YAML knows neither tabs between tokens nor
// characters that are written as two surrogates.
func yamlOfJSON(text string) string {
	if !json.Valid([]byte(text)) {
		return text
	}
	text = strings.ReplaceAll(text, "\t", " ") // within its strings none can stand
	return surrogates.ReplaceAllStringFunc(text, func(m string) string {
		if len(m) < len(`\ud83d\ude00`) {
			return m // another escape
		}
		high, _ := strconv.ParseUint(m[2:6], 16, 16)
		low, _ := strconv.ParseUint(m[8:12], 16, 16)
		return fmt.Sprintf(`\U%08X`, utf16.DecodeRune(rune(high), rune(low)))
	})
}

var surrogates = regexp.MustCompile(`\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\.`)
