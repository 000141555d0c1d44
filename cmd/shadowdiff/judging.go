package main

import (
	"fmt"

	"shadowdiff/diff"
	"shadowdiff/multicast"
	"shadowdiff/normalize"
	"shadowdiff/store"
	"shadowdiff/web"
)

// judging is what becomes of an exchange: compared under one set of rules, counted in one run.
type judging struct {
	*docket
	comparer *diff.Comparer
	run      store.Run // as it was when this began

	// The docket's mu guards what follows.
	version string // of the candidate; empty: not known
	untold  bool   // an answer of the candidate that told no version was counted
}

// judgingOf returns what compares for a run of this docket.
func (d *docket) judgingOf(run store.Run, counted bool) *judging {
	comparer := diff.NewComparer(d.rules, d.names, diff.DefaultLimits())
	comparer.Profile(d.db.Redactor)
	return &judging{
		docket: d, comparer: comparer, run: run,
		version: run.Version, untold: counted && run.Version == "",
	}
}

func (d *docket) deliver(ex *multicast.Exchange) {
	j := d.assign(ex)
	c := j.comparer.Compare(ex)
	d.db.Record(j.run.ID, c)
	if c.Unknown != "" {
		return
	}
	if len(d.normal.Rules) > 0 {
		d.matches.note(d.rules, ex.Time)
	}
	if n := d.compared.Add(1); len(d.normal.Rules) > 0 && (n == 1 || n == 100 || n%1000 == 0) {
		d.complain(n)
	}
}

// inForce lists the rules with what they have done so far.
func (d *docket) inForce() []web.Rule {
	exchanges := d.compared.Load()
	usages := d.rules.Usage()
	last := d.matches.sweep(usages)
	var list []web.Rule
	for i, usage := range usages {
		rule := web.Rule{Config: d.normal.Rules[usage.Index], Usage: usage, Exchanges: exchanges, Last: last[i]}
		if i := usage.Index - (len(d.normal.Rules) - len(d.stored)); i >= 0 {
			rule.Stored = &d.stored[i]
		}
		list = append(list, rule)
	}
	return list
}

// What a rule is complained of for.
const (
	complainUnused = iota
	complainTooWide
)

// complain logs, once for each, which rules have nothing to do and which leave nothing to compare.
func (d *docket) complain(exchanges int64) {
	d.complaining.Lock()
	defer d.complaining.Unlock()
	for _, rule := range d.inForce() {
		say := func(why int, message string) {
			if key := [2]int{rule.Usage.Index, why}; !d.warned[key] {
				d.warned[key] = true
				d.log.Warn(message, "rule", rule.Usage.Rule, "exchanges", exchanges)
			}
		}
		if rule.Unused() {
			say(complainUnused, "a rule has matched nothing: is its field or its route misspelt?")
		}
		if rule.TooWide() {
			say(complainTooWide, "a rule takes whole bodies away: nothing of them is compared")
		}
	}
}

// beside is a comparer under the rules in force of which nobody learns anything: neither what rules have done, nor what
// rules to suggest, nor how routes are called.
func (j *judging) beside() (*diff.Comparer, error) {
	rules, err := normalize.New(j.normal)
	if err != nil {
		return nil, fmt.Errorf("compiling the rules: %w", err)
	}
	return diff.NewComparer(rules, new(normalize.Names), diff.DefaultLimits()), nil
}

// ruleText is the rules as YAML, for people to read beside a run.
func ruleText(rules []normalize.RuleConfig) (string, error) {
	text := ""
	for _, rule := range rules {
		one, err := rule.YAML()
		if err != nil {
			return "", err
		}
		text += one
	}
	return text, nil
}
