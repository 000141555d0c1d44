package diff

import (
	"strings"
	"sync"
	"sync/atomic"
)

// Bounds of what is remembered of noise.
const (
	noisyRoutes = 1_000
	noisyFields = 2_000 // of all routes together
	cellsKept   = 64    // different sights of one field
)

// noise remembers how the secondary differs from the primary, by route and field, and how the candidate differs in these
// same fields: what Suggestions are made from. Fields in which the candidate alone differs leave nothing behind. It is
// safe for concurrent use; where nothing differs it costs a look at a map.
type noise struct {
	ladders ladders

	mu     sync.RWMutex // guards what follows
	routes map[string]*noisyRoute
	fields int
}

// noisyRoute is one route's part. Its fields are guarded by noise.mu.
type noisyRoute struct {
	compared atomic.Int64
	fields   map[string]*noisyField
}

// noisyField counts requests by what was seen of the field in them.
type noisyField struct {
	control cells // the secondary differs
	alone   cells // only the candidate does
	both    cells // both do: how the candidate does
}

// cells count requests by the sight of the field.
type cells struct {
	all  int64
	seen map[sight]int64
	over int64 // requests of which the sight was not kept
}

func newNoise() *noise { return &noise{ladders: newLadders(), routes: map[string]*noisyRoute{}} }

// add takes in what both comparisons of one exchange found, while their documents are there.
func (n *noise) add(route string, candidate, control *found) {
	r := n.route(route)
	if r == nil {
		return
	}
	r.compared.Add(1)
	if len(control.sums) == 0 && (len(candidate.sums) == 0 || !n.knows(r)) {
		return
	}
	noisy := func(field string) bool { return control.sums[field] != nil && mayBeQuiet(field) }
	controls := n.ladders.sights(control, noisy)
	candidates := n.ladders.sights(candidate, func(field string) bool { return noisy(field) || n.known(r, field) })
	n.count(r, candidate, control, &candidates, &controls)
}

// mayBeQuiet tells whether a field is one that rules are about.
func mayBeQuiet(field string) bool {
	return field != fieldStatus && field != fieldTransport && field != FieldSize
}

func (n *noise) route(name string) *noisyRoute {
	n.mu.RLock()
	r, full := n.routes[name], len(n.routes) >= noisyRoutes
	n.mu.RUnlock()
	if r != nil || full {
		return r
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if r = n.routes[name]; r == nil {
		r = &noisyRoute{fields: map[string]*noisyField{}}
		n.routes[strings.Clone(name)] = r
	}
	return r
}

// knows tells whether the route has noise.
func (n *noise) knows(r *noisyRoute) bool {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return len(r.fields) > 0
}

func (n *noise) known(r *noisyRoute, field string) bool {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return r.fields[field] != nil
}

func (n *noise) count(r *noisyRoute, candidate, control *found, candidates, controls *sights) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for field, sum := range control.sums {
		if f := n.field(r, field); f != nil {
			f.control.count(controls.of(field), sum)
			if sum := candidate.sums[field]; sum != nil {
				f.both.count(candidates.of(field), sum)
			}
		}
	}
	for field, sum := range candidate.sums {
		if f := r.fields[field]; f != nil && control.sums[field] == nil {
			f.alone.count(candidates.of(field), sum)
		}
	}
}

// field finds or begins a field's counts; nil when there is no room.
func (n *noise) field(r *noisyRoute, name string) *noisyField {
	f := r.fields[name]
	if f == nil && n.fields < noisyFields && mayBeQuiet(name) {
		f = &noisyField{}
		r.fields[strings.Clone(name)] = f
		n.fields++
	}
	return f
}

// count counts one request. What was not seen at every place that differs is not seen.
func (c *cells) count(s *seen, sum *sum) {
	c.all++
	switch {
	case s == nil || s.places != sum.places:
		c.over++
		return
	case c.seen == nil:
		c.seen = map[sight]int64{}
	case c.seen[s.sight] == 0 && len(c.seen) >= cellsKept:
		c.over++
		return
	}
	c.seen[s.sight]++
}

// of counts the requests whose sight is as is wanted.
func (c *cells) of(wanted func(*sight) bool) (n int64) {
	for s, count := range c.seen {
		if wanted(&s) {
			n += count
		}
	}
	return n
}

// widest takes all sights together that are made of nothing but some likenesses.
func (c *cells) widest(likes uint32) (all sight) {
	for s := range c.seen {
		if s.likes&^likes != 0 {
			continue
		}
		all.likes |= s.likes
		all.number, all.share, all.time = max(all.number, s.number), max(all.share, s.share), max(all.time, s.time)
		all.most = max(all.most, s.most)
		if s.least > 0 && (all.least == 0 || s.least < all.least) {
			all.least = s.least
		}
	}
	return all
}
