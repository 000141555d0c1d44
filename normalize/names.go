package normalize

import (
	"bytes"
	"strings"
	"sync"
)

// Names makes route names from raw paths: `GET /users/8f14e45f-…/orders/17` is counted as
// `GET /users/{id}/orders/{id}`.
//
// What looks like an id is replaced by {id} at once. Where looks are not enough (`/products/red-shoes`), Names learns: it
// keeps the paths it has named as a tree, and a place of it at which too many values appear that hardly anybody asks for
// folds: from then on they count as {id} there too, with all that is below them. A fold is for good. fold.go says when.
//
// Its memory is bounded whatever clients ask for, and so is the number of names: what is beyond the bounds is named
// OtherRoute. The zero Names is ready and knows nothing; it is safe for concurrent use.
type Names struct {
	mu       sync.Mutex
	root     branch
	branches int             // below the root
	routes   int             // names in the tree
	methods  map[string]bool // those seen that are no standard ones
	given    map[string]bool // names that were given
	other    int64           // requests that were named OtherRoute
	folds    int             // places that are folded
	version  uint64          // grows with every fold
}

// OtherRoute is the name of all routes beyond the bounds, and the method of those that are none of the usual ones.
const OtherRoute = "(other)"

const (
	maxNames    = 950   // of either kind together: a run keeps counts of 1,000 routes, a few of them soon to be merged
	maxRoutes   = 800   // made here
	maxGiven    = 500   // given by clients in a header
	maxBranches = 8_192 // segments in the tree: some 3 MB
	maxMethods  = 16    // beside the standard ones
)

// NamesCounts tells how much Names knows.
type NamesCounts struct {
	Routes   int   // names made from paths that are in use
	Given    int   // names given by clients in a header, and those of routes that were counted before a restart
	Branches int   // segments in the tree
	Folds    int   // places that are folded
	Other    int64 // requests named OtherRoute because there were too many names already
}

// Counts answers how much there is by now.
func (n *Names) Counts() NamesCounts {
	n.mu.Lock()
	defer n.mu.Unlock()
	return NamesCounts{Routes: n.routes, Given: len(n.given), Branches: n.branches, Folds: n.folds, Other: n.other}
}

// Route names the route of a request that the primary answered with status, 0 when it did not: by its method and its path;
// the query does not count. The name is printable ASCII and at most some 350 bytes long whatever the target holds.
//
// shape is the name before anything was learnt: the same for the same request at all times, so it is what rules go by.
//
// A segment becomes known by an answer below 400 only. What is not known while the answer is another, such as what a
// scanner asks for and does not find, is named {id}, or /* with what is below it.
func (n *Names) Route(method, target string, status int) (name, shape string) {
	if !isToken(method) || len(method) > 20 {
		method = OtherRoute
	}
	path, taught := pathOf(target), 0 < status && status < 400
	if path == "*" {
		n.mu.Lock()
		defer n.mu.Unlock()
		return n.method(method, taught) + " *", method + " *"
	}
	var room [2 * maxPath]byte
	out := appendShape(append(append(room[:0], method...), ' '), path)
	name = n.learn(method, out[len(method)+1:], taught)
	if name == string(out) {
		return name, name
	}
	return name, string(out)
}

// learn finds or makes the name for a path's shape, and counts the request.
func (n *Names) learn(method string, path []byte, taught bool) (name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	before := n.routes
	at := n.follow(path, taught)
	if at == nil {
		n.other++
		return OtherRoute
	}
	r := n.route(at, n.method(method, taught))
	if r == nil {
		n.other++
		return OtherRoute
	}
	if !taught {
		return r.name
	}
	r.requests++
	if at.raise(r.requests) || n.routes > before {
		if n.relieve(at) {
			return n.current(r.name)
		}
	}
	return r.name
}

// follow goes down a path and makes what is missing of it; it answers nil when there is no room.
func (n *Names) follow(path []byte, taught bool) *branch {
	at := &n.root
	for path != nil {
		segment := path[1:]
		if end := bytes.IndexByte(segment, '/'); end >= 0 {
			segment, path = segment[:end], segment[end:]
		} else {
			path = nil
		}
		next := at.find(segment)
		if next == nil || !next.known {
			if !taught {
				return n.unknown(at, segment, path == nil)
			}
			if next == nil {
				next = n.grow(at, string(segment))
			}
			if next == nil {
				return nil
			}
			next.known = true
		}
		at = next
	}
	return at
}

// unknown is where requests go that nothing is learnt from: to {id} for a last segment, to /* for more.
func (n *Names) unknown(at *branch, segment []byte, last bool) *branch {
	as := restSegment
	if last {
		as = idSegment
		if len(segment) == 0 {
			as = ""
		}
	}
	if next := at.own(as); next != nil {
		return next
	}
	return n.grow(at, as)
}

// grow makes what follows at a branch, nil when there is no room.
func (n *Names) grow(at *branch, segment string) *branch {
	if n.branches >= maxBranches || n.full() {
		return nil
	}
	n.branches++
	next := &branch{segment: segment}
	at.put(next)
	return next
}

// full tells whether there are as many names as there may be.
func (n *Names) full() bool { return n.routes >= maxRoutes || n.routes+len(n.given) >= maxNames }

// route finds or makes the name of the requests with one method that end at a branch, nil when there is no room.
func (n *Names) route(at *branch, method string) *routeName {
	for _, r := range at.routes {
		if r.method == method {
			return r
		}
	}
	if n.full() {
		return nil
	}
	n.routes++
	r := &routeName{method: method, name: method + " " + at.path()}
	at.routes = append(at.routes, r)
	return r
}

// method is the method as names have it: what clients make up beyond a few is OtherRoute.
func (n *Names) method(method string, taught bool) string {
	switch method {
	case "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "QUERY", "PURGE",
		"PROPFIND", "PROPPATCH", "MKCOL", "COPY", "MOVE", "LOCK", "UNLOCK", "REPORT", "SEARCH", OtherRoute:
		return method
	}
	if n.methods[method] {
		return method
	}
	if !taught || len(n.methods) >= maxMethods {
		return OtherRoute
	}
	if n.methods == nil {
		n.methods = map[string]bool{}
	}
	method = strings.Clone(method)
	n.methods[method] = true
	return method
}

// Given is the name of a route that a client gives in a header: itself, as long as there are not too many of these. A
// given name is never folded. The names of configured routes are none of its business: they are as many as the
// configuration has.
func (n *Names) Given(name string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.given[name] {
		return name
	}
	if len(n.given) >= maxGiven || n.routes+len(n.given) >= maxNames {
		n.other++
		return OtherRoute
	}
	if n.given == nil {
		n.given = map[string]bool{}
	}
	n.given[strings.Clone(name)] = true
	return name
}
