package normalize

import (
	"fmt"
	"slices"
	"strings"

	"shadowdiff/multicast"
)

// verb is what a rule does.
type verb uint8

const (
	verbDrop verb = iota
	verbSort
)

func (v verb) String() string { return [...]string{"drop", "sort"}[v] }

// rule is one compiled rule.
type rule struct {
	verb      verb
	pattern   *Pattern
	route     routePattern
	candidate bool // holds for the candidate's answers only
}

// String is the rule's canonical text.
func (r *rule) String() string {
	text := fmt.Sprintf("%s %s", r.verb, r.pattern)
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

// plan is the rules that hold for one response, by the part they touch.
type plan struct {
	status bool // dropped
	body   []*rule
	others []*rule // headers, cookies and trailers
}

func (n *Normalizer) plan(route string, role multicast.Role) *plan {
	if n.always != nil {
		return n.always
	}
	p := new(plan)
	for i := range n.rules {
		r := &n.rules[i]
		if !r.holds(route, role) {
			continue
		}
		switch r.pattern.root {
		case "status":
			p.status = true
		case "body":
			p.body = append(p.body, r)
		default:
			p.others = append(p.others, r)
		}
	}
	return p
}

// drops tells whether a header, cookie or trailer of this name, or one attribute of a cookie, is dropped. A rule on the
// whole takes the attributes with it.
func (p *plan) drops(root string, path ...string) bool {
	for _, r := range p.others {
		if r.pattern.root == root && r.pattern.covers(path...) {
			return true
		}
	}
	return false
}

// compileRules compiles all rules, and answers all their faults.
func compileRules(configs []RuleConfig) ([]rule, []error) {
	var rules []rule
	var faults []error
	for i := range configs {
		r, errs := configs[i].compile()
		for _, err := range errs {
			faults = append(faults, fmt.Errorf("rules[%d]%w", i, err))
		}
		rules = append(rules, r)
	}
	return rules, faults
}

// compile answers one rule's faults without the `rules[i]` they begin with.
func (c *RuleConfig) compile() (rule, []error) {
	r := rule{candidate: c.Role == "candidate"}
	faults := c.checkKeys()
	var key, field string
	switch {
	case c.Drop != "" && c.Sort != "":
		return r, append(faults, fmt.Errorf(": a rule has one verb, this one has drop and sort: make it two rules"))
	case c.Drop != "":
		key, field = "drop", c.Drop
	case c.Sort != "":
		key, field, r.verb = "sort", c.Sort, verbSort
	case len(faults) == 0:
		return r, append(faults, fmt.Errorf(": a rule needs a verb with a field: drop or sort"))
	default:
		return r, faults
	}
	var err error
	if r.pattern, err = ParseField(field); err != nil {
		faults = append(faults, fmt.Errorf(".%s: %w", key, err))
	} else if err = r.checkField(); err != nil {
		faults = append(faults, fmt.Errorf(".%s: %w", key, err))
	}
	if r.route, err = parseRoutePattern(c.Route); err != nil {
		faults = append(faults, fmt.Errorf(".route: %w", err))
	}
	if err = c.checkRole(&r); err != nil {
		faults = append(faults, fmt.Errorf(".role: %w", err))
	}
	return r, faults
}

// checkField refuses fields that the verb can do nothing with.
func (r *rule) checkField() error {
	switch root := r.pattern.root; {
	case root == "query":
		return fmt.Errorf("column 1: query belongs to requests, which are not compared: it is for store.redact")
	case root == "transport" || root == "latency":
		return fmt.Errorf("column 1: %s is not a part of the answer and cannot be left out", root)
	case r.verb == verbSort && root != "body":
		return fmt.Errorf("column 1: only arrays in the body have an order: a field begins with body")
	}
	return nil
}

// checkRole refuses roles, and verbs that on one side only would make a difference and not take one away.
func (c *RuleConfig) checkRole(r *rule) error {
	switch {
	case c.Role == "":
		return nil
	case c.Role != "candidate":
		return fmt.Errorf("%q: only candidate is possible; without role a rule holds for all three", c.Role)
	case r.verb == verbSort:
		return fmt.Errorf("order cannot be left out on one side only: leave role out")
	case r.pattern != nil && (r.pattern.root == "status" || r.pattern.root == "body" && r.pattern.covers()):
		return fmt.Errorf("a %s left out on one side only would always differ: leave role out", r.pattern.root)
	}
	return nil
}

// laterVerbs are words of the rule language that this version does not act on yet; a false value means a verb, true a
// setting of one.
func laterVerbs() map[string]bool {
	return map[string]bool{
		"pair": false, "round": false, "tolerate": false, "mask": false, "mask_keys": false, "rename": false, "lower": false,
		"trim": false, "squeeze": false, "nfc": false, "coerce": false, "absent": false, "parse": false, "present": false,
		"by": true, "to": true, "within": true, "pattern": true, "with": true, "numbered": true, "when": true, "as": true,
	}
}

// checkKeys tells what is wrong with keys beyond those of RuleConfig.
func (c *RuleConfig) checkKeys() []error {
	later := laterVerbs()
	var faults []error
	words := []string{"drop", "sort", "route", "role"}
	anyVerb := false
	for word, setting := range later {
		words = append(words, word)
		if _, given := c.Other[word]; given && !setting {
			anyVerb = true
		}
	}
	slices.Sort(words)
	for _, key := range sortedKeys(c.Other) {
		setting, known := later[key]
		switch near := Nearest(strings.ToLower(key), words); {
		case known && setting && anyVerb: // said with its verb
		case known && setting:
			faults = append(faults, fmt.Errorf(".%s: drop and sort take no %s", key, key))
		case known:
			faults = append(faults, fmt.Errorf(".%s: not yet supported", key))
		case near != "":
			faults = append(faults, fmt.Errorf(".%s: unknown key: did you mean %s?", key, near))
		default:
			faults = append(faults, fmt.Errorf(".%s: unknown key: a rule has drop or sort, and may have route and role", key))
		}
	}
	return faults
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
