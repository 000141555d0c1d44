package normalize

import (
	"sync"

	"shadowdiff/multicast"
)

// plan is the rules that hold for one response, by the part they touch, each kind in the order of the configuration.
type plan struct {
	status *rule    // drops it
	parse  []*rule  // of the body: what it contains is parsed before anything else
	body   []*rule  // the others of the body
	others []*rule  // of headers, cookies and trailers
	walk   patterns // of body
	unfold patterns // of parse

	head *headTally // of the document that the plan is for; nil in one that is kept
}

// patterns are those of rules, in the same order.
type patterns []*Pattern

func patternsOf(rules []*rule) patterns {
	var out patterns
	for _, r := range rules {
		out = append(out, r.pattern)
	}
	return out
}

// maxPlans bounds how many plans are kept. There are as many as there are sets of rules that hold together.
const maxPlans = 1024

// plans keeps the plans that were made, by which rules they have.
type plans struct {
	mu   sync.RWMutex
	made map[string]*plan // guarded by mu
}

// plan finds the rules that hold for a role's answers on a route.
func (n *Normalizer) plan(route string, role multicast.Role) *plan {
	if n.always != nil {
		return n.always
	}
	var room [64]byte
	set := room[:0]
	for i, r := range n.rules {
		if i%8 == 0 {
			set = append(set, 0)
		}
		if r.holds(route, role) {
			set[i/8] |= 1 << (i % 8)
		}
	}
	n.plans.mu.RLock()
	p := n.plans.made[string(set)]
	n.plans.mu.RUnlock()
	if p != nil {
		return p
	}
	p = n.makePlan(func(i int) bool { return set[i/8]&(1<<(i%8)) != 0 })
	n.plans.mu.Lock()
	defer n.plans.mu.Unlock()
	if n.plans.made == nil {
		n.plans.made = map[string]*plan{}
	}
	if len(n.plans.made) < maxPlans {
		n.plans.made[string(set)] = p
	}
	return p
}

func (n *Normalizer) makePlan(holds func(i int) bool) *plan {
	p := new(plan)
	for i, r := range n.rules {
		switch {
		case !holds(i):
		case r.pattern.root == "status":
			p.status = r
		case r.pattern.root != "body":
			p.others = append(p.others, r)
		case r.verb == verbParse:
			p.parse = append(p.parse, r)
		default:
			p.body = append(p.body, r)
		}
	}
	p.walk, p.unfold = patternsOf(p.body), patternsOf(p.parse)
	return p
}
