package normalize

import (
	"fmt"
	"slices"
	"strings"

	"shadowdiff/multicast"
)

// rule is one compiled rule.
type rule struct {
	index     int // in the configuration
	verb      verb
	pattern   *Pattern
	route     routePattern
	candidate bool   // holds for the candidate's answers only
	settings  string // canonical, for String

	text      textChange  // of mask, mask_keys, lower, trim, squeeze, nfc; of parse in headers
	numbered  bool        // of mask, mask_keys: text wants a numbering
	value     valueChange // of round, coerce
	tolerance *Tolerance
	by        []*Pattern // of pair, relative to the element
	to        string     // of rename
	when      *Value     // of absent; nil is all that is empty
	contents  contents   // of parse
	special   *Special   // what values get that need nothing but this rule's

	counts usageCounts
}

// String is the rule's canonical text.
func (r *rule) String() string {
	text := fmt.Sprintf("%s %s%s", r.verb, r.pattern, r.settings)
	if r.route.text != "" {
		text += " route " + r.route.text
	}
	if r.candidate {
		text += " role candidate"
	}
	return text
}

// holds tells whether the rule applies to a role's answers on a route.
func (r *rule) holds(route string, role multicast.Role) bool {
	return (!r.candidate || role == multicast.Candidate) && r.route.matches(route)
}

// compileRules compiles all rules, and answers all their faults.
func compileRules(configs []RuleConfig) ([]*rule, []error) {
	var rules []*rule
	var faults []error
	for i := range configs {
		r, errs := configs[i].compile()
		r.index = i
		for _, err := range errs {
			faults = append(faults, fmt.Errorf("rules[%d]%w", i, err))
		}
		rules = append(rules, r)
	}
	if len(faults) == 0 {
		followRenames(rules)
	}
	return rules, faults
}

// compile answers one rule's faults without the `rules[i]` they begin with.
func (c *RuleConfig) compile() (*rule, []error) {
	r := &rule{candidate: c.Role == "candidate"}
	faults := c.checkKeys()
	var err error
	if r.verb, err = c.verb(); err != nil {
		if len(faults) == 0 || !strings.HasPrefix(err.Error(), ": a rule needs") { // the verb may be among the unknown keys
			faults = append(faults, err)
		}
		return r, faults
	}
	fault := func(key string, err error) {
		if err != nil {
			faults = append(faults, fmt.Errorf(".%s: %w", key, err))
		}
	}
	if r.pattern, err = ParseField(c.fields()[r.verb]); err == nil {
		err = r.checkField()
	}
	fault(r.verb.String(), err)
	missing := c.checkSettings(r.verb)
	if faults = append(faults, missing...); len(missing) == 0 {
		faults = append(faults, c.compileSettings(r)...)
	}
	r.route, err = parseRoutePattern(c.Route)
	fault("route", err)
	fault("role", c.checkRole(r))
	return r, faults
}

// checkField refuses fields that the verb can do nothing with.
func (r *rule) checkField() error {
	root := r.pattern.root
	switch {
	case root == "query":
		return fmt.Errorf("column 1: query belongs to requests, which are not compared: it is for store.redact")
	case root == "transport" || root == "latency":
		return fmt.Errorf("column 1: %s is not a part of the answer and cannot be left out", root)
	case root == "status" && r.verb != verbDrop:
		return fmt.Errorf("column 1: of a status nothing can be taken but all: only drop takes it")
	case root == "body":
		return r.checkBodyField()
	}
	switch r.verb {
	case verbSort:
		return fmt.Errorf("column 1: only arrays in the body have an order: a field begins with body")
	case verbPair:
		return fmt.Errorf("column 1: only arrays in the body have elements: a field begins with body")
	case verbMaskKeys:
		return fmt.Errorf("column 1: only objects in the body have keys: a field begins with body")
	case verbTolerate:
		return fmt.Errorf("column 1: a %s is a text, which is close to none: round or mask it", root)
	case verbRename:
		return r.checkRenamed()
	}
	return nil
}

func (r *rule) checkBodyField() error {
	if r.verb == verbRename {
		return r.checkRenamed()
	}
	return nil
}

// checkRenamed refuses to rename what has no name of its own.
func (r *rule) checkRenamed() error {
	segments := r.pattern.segments
	if len(segments) == 0 {
		return fmt.Errorf("column 1: %s is no key: name a key below it", r.pattern.root)
	}
	switch last := segments[len(segments)-1]; {
	case last.kind == stepAny || last.kind == stepIndex || last.kind == stepWhere:
		return fmt.Errorf("column 1: an element has no key: name a key of it, as in %s.id", r.pattern)
	case last.kind == stepAnyKey || last.kind == stepDeep:
		return fmt.Errorf("column 1: it names many keys, which cannot all have one name: name one, as in body.user_name")
	case r.pattern.root == "cookie" && len(segments) > 1:
		return fmt.Errorf("column 1: a cookie's attributes have fixed names: name the cookie")
	}
	return nil
}

// checkRole refuses roles, and verbs that on one side only would make a difference and not take one away.
func (c *RuleConfig) checkRole(r *rule) error {
	whole := r.pattern != nil && (r.pattern.root == "status" || r.pattern.root == "body" && r.pattern.covers())
	switch {
	case c.Role == "":
		return nil
	case c.Role != "candidate":
		return fmt.Errorf("%q: only candidate is possible; without role a rule holds for all three", c.Role)
	case r.verb == verbSort, r.verb == verbPair:
		return fmt.Errorf("order cannot be left out on one side only: leave role out")
	case r.verb == verbTolerate:
		return fmt.Errorf("two values are close to each other, not one of them: leave role out")
	case r.verb == verbPresent:
		return fmt.Errorf("a value left free on one side only would always differ: leave role out")
	case r.verb == verbDrop && whole:
		return fmt.Errorf("a %s left out on one side only would always differ: leave role out", r.pattern.root)
	}
	return nil
}

// followRenames lets pair rules find a key under the name that a rename rule gives it: both names mean the same then, as
// one side may have been sent with each.
func followRenames(rules []*rule) {
	for _, pair := range rules {
		if pair.verb != verbPair {
			continue
		}
		for i, by := range pair.by {
			for _, rename := range rules {
				if rename.verb == verbRename && rename.pattern.String() == pair.pattern.String()+"[]"+strings.TrimPrefix(by.String(), "body") {
					pair.by[i] = by.renamed(rename.to)
				}
			}
		}
	}
}

// renamed is the pattern with another last key.
func (p *Pattern) renamed(key string) *Pattern {
	out := &Pattern{root: p.root, segments: slices.Clone(p.segments)}
	out.segments[len(out.segments)-1].key = key
	return out
}
