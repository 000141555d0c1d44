package main

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"shadowdiff/normalize"
	"shadowdiff/store"
	"shadowdiff/web"
)

// ruleSet is all rules that hold together: those of the file, and behind them those that were added by API.
type ruleSet struct {
	normal   normalize.Config // with the rules of both
	compiled *normalize.Normalizer
	stored   []store.Rule // the last ones of normal's rules
	aside    []asideRule
}

// asideRule is a stored rule that is none for this version, or not beside the file's: it is kept, and not in force.
type asideRule struct {
	store.Rule
	why string
}

func (a asideRule) String() string {
	return fmt.Sprintf("the rule %d, added by API, is set aside: %s; delete it, or go on with a version that knows it: %s",
		a.ID, a.why, strings.TrimSpace(a.Text))
}

// compile readies the rules of a configuration and the stored ones. Faults of the file are an error; a stored rule that
// has one is set aside.
func (c config) compile(stored ...store.Rule) (*ruleSet, error) {
	set := &ruleSet{normal: c.normal()}
	set.take(c.forBoth(stored, set))
	var err error
	if set.compiled, err = normalize.New(set.normal); err != nil {
		return nil, fmt.Errorf("compiling the rules: %w", err)
	}
	return set, nil
}

// take puts the stored rules behind the file's: all at once where they have no fault, else one by one.
func (set *ruleSet) take(stored []store.Rule) {
	ofFile := slices.Clip(set.normal.Rules)
	rules := make([]normalize.RuleConfig, len(stored))
	good := true
	for i := range stored {
		rule, err := storedRule(&stored[i])
		rules[i], good = rule, good && err == nil
	}
	all := append(slices.Clone(ofFile), rules...)
	if good && len(normalize.Config{Rules: all}.Validate()) == 0 {
		set.normal.Rules, set.stored = all, stored
		return
	}
	for i, rule := range rules {
		if why := faultOf(ofFile, &stored[i], rule); why != "" {
			set.aside = append(set.aside, asideRule{stored[i], why})
			continue
		}
		set.normal.Rules = append(slices.Clip(set.normal.Rules), rule)
		set.stored = append(set.stored, stored[i])
	}
}

// storedRule reads a stored rule again.
func storedRule(stored *store.Rule) (normalize.RuleConfig, error) {
	var list []normalize.RuleConfig
	if err := yaml.Unmarshal([]byte(stored.Text), &list); err != nil {
		return normalize.RuleConfig{}, fmt.Errorf("it cannot be read: %w", err)
	}
	if len(list) != 1 {
		return normalize.RuleConfig{}, fmt.Errorf("it cannot be read: %d rules stand where one should", len(list))
	}
	if rule := &list[0]; rule.Absent != "" && rule.When == "" { // what reads YAML takes null for nothing at all
		rule.When = "null"
	}
	return list[0], nil
}

// faultOf says what is wrong with a stored rule, empty where nothing is. The faults of the file itself are not its.
func faultOf(ofFile []normalize.RuleConfig, stored *store.Rule, rule normalize.RuleConfig) string {
	if _, err := storedRule(stored); err != nil {
		return err.Error()
	}
	at := len(ofFile)
	var why []string
	for _, err := range (normalize.Config{Rules: append(slices.Clone(ofFile), rule)}).Validate() {
		if text, is := strings.CutPrefix(err.Error(), fmt.Sprintf("rules[%d]", at)); is {
			why = append(why, strings.TrimLeft(text, ".: "))
		}
	}
	return strings.Join(why, "; ")
}

// listed is inForce, and behind it the rules that are set aside.
func (d *docket) listed() []web.Rule {
	list := d.inForce()
	for i := range d.aside {
		a := &d.aside[i]
		list = append(list, web.Rule{Usage: normalize.RuleUsage{Index: -1}, Stored: &a.Rule, Aside: a.why})
	}
	return list
}

// tellAside logs which rules are set aside that were not before; nil: there was nothing before.
func (d *docket) tellAside(before *docket) {
	for _, a := range d.aside {
		if before == nil || !slices.Contains(before.aside, a) {
			d.log.Warn("a rule added by API is set aside", "id", a.ID, "rule", a.Text, "err", a.why)
		}
	}
}

// asideTexts say of each rule that is set aside that it is.
func (d *docket) asideTexts() (texts []string) {
	if d == nil {
		return nil
	}
	for _, a := range d.aside {
		texts = append(texts, a.String())
	}
	return texts
}
