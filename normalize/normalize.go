// Package normalize turns one response into a Document: comparable values, with what never matters (white space, key
// order, content codings, connection headers) taken away and what a rule excludes removed.
//
// It promises that two documents are equal exactly when the answers mean the same under the rules: numbers are exact,
// strings are kept code point by code point, nothing undecodable is taken for equal. It holds no goroutine, clock, file
// or log.
package normalize

import (
	"errors"
	"slices"
	"strings"
	"sync"

	"shadowdiff/multicast"
)

// Normalizer turns responses into documents under one set of rules. It is safe for concurrent use.
type Normalizer struct {
	cfg      Config
	rules    []*rule
	always   *plan // when no rule asks for a route or role
	plans    plans
	header   headerRules
	decoders decoders
	parsers  stock[*parser]
	arenas   stock[*arena]
	appliers sync.Pool
}

// New compiles the rules. Its error joins what Config.Validate finds.
func New(cfg Config) (*Normalizer, error) {
	if faults := cfg.Validate(); len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	if cfg.MaxDecoded <= 0 {
		cfg.MaxDecoded = defaultMaxDecode
	}
	n := &Normalizer{cfg: cfg, header: compileHeaders(cfg.Headers)}
	n.parsers.most, n.arenas.most = mostParsers, mostArenas
	n.rules, _ = compileRules(cfg.Rules)
	if !slices.ContainsFunc(n.rules, func(r *rule) bool { return r.candidate || r.route.text != "" }) {
		n.always = n.makePlan(func(int) bool { return true })
	}
	return n, nil
}

// Document reads one response. The document shares memory with resp.Body and holds as long as that does. Reserve is
// asked before memory is taken, beside that of resp.Body; nil means there is no budget. When it refuses, Body.Refused
// says so.
func (n *Normalizer) Document(route string, role multicast.Role, resp *multicast.Response, reserve func(int64) bool) *Document {
	return n.DocumentLike(nil, route, role, resp, reserve)
}

// DocumentLike is Document for a response that is probably much like another one, of which this Normalizer has made a
// document before: what their bodies have in common is not read again. Nothing else depends on the other one, which may be
// nil, but the document ends with it: they are to be released together.
func (n *Normalizer) DocumentLike(other *Document, route string, role multicast.Role, resp *multicast.Response, reserve func(int64) bool) *Document {
	var like *Body
	if other != nil {
		like = &other.Body
	}
	p := n.plan(route, role).forDocument()
	defer p.settle()
	d := &Document{
		Status:   resp.Status,
		Headers:  n.headers("header", resp.Header, p),
		Cookies:  n.cookies(resp.Header, p),
		Trailers: n.headers("trailer", resp.Trailer, p),
		Body:     n.body(resp, p, like, reserve),
	}
	if p.status != nil {
		d.Status = 0
		p.status.counts.add(tally{1, 1})
	}
	return d
}

// Fingerprint is a canonical text of the rules and the header list: two Normalizers with the same one leave out the same.
// Spelling does not matter, nor do order and repetition of rules whose effect does not depend on it.
func (n *Normalizer) Fingerprint() string {
	var free, ordered []string
	for _, r := range n.rules {
		if r.verb.ordered() {
			ordered = append(ordered, r.String())
		} else {
			free = append(free, r.String())
		}
	}
	slices.Sort(free)
	lines := append(slices.Compact(free), slices.Compact(ordered)...)
	return strings.Join(append(lines, "headers "+n.header.String()), "\n")
}

// parser hands out a parser with an empty budget.
func (n *Normalizer) parser(reserve func(int64) bool) *parser {
	p := n.parserFor(0, false)
	p.budget.reserve = reserve
	return p
}

// parserFor hands out a parser for a body of so many bytes; alike says that most of it will be taken from another one.
func (n *Normalizer) parserFor(size int, alike bool) *parser {
	large := size >= largeBody
	p := n.parsers.take(large, alike)
	if p == nil {
		p = new(parser)
	}
	p.large, p.budget, p.arena = large, budget{}, n.arenaFor(large, alike)
	return p
}

func (n *Normalizer) arenaFor(large, alike bool) *arena {
	a := n.arenas.take(large, alike)
	if a == nil {
		a = new(arena)
	}
	a.large = large
	return a
}

// release keeps the parser's stacks for the next body, and nothing that points into this one; its arena too, unless a Body
// has taken it.
func (n *Normalizer) release(p *parser) {
	if p.arena != nil {
		n.putArena(p.arena)
	}
	p.reset()
	n.parsers.put(p, p.large)
}

func (n *Normalizer) putArena(a *arena) {
	a.recycle()
	n.arenas.put(a, a.large)
}

// Release gives back the memory of documents that this Normalizer made, for others to be made in: their values, and all
// that points into them, must not be looked at afterwards. What was copied out, texts among it, stays. Documents that
// are not released are left to the garbage collector.
func (n *Normalizer) Release(documents ...*Document) {
	for _, d := range documents {
		if d == nil || d.Body.arena == nil {
			continue
		}
		a := *d.Body.arena
		*d.Body.arena, d.Body.Root = nil, nil
		if a != nil {
			n.putArena(a)
		}
	}
}
