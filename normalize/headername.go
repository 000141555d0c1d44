package normalize

import (
	"maps"
	"strings"
	"sync"
	"sync/atomic"
)

// headerName is what is known of a header's name, whatever its case.
type headerName struct {
	lower   string
	form    headerForm
	ignored bool
}

// namesKnown bounds how many spellings of names are remembered: upstreams may send any number of them.
const namesKnown = 1_000

// headerNames remembers names as they were sent, so that a document does not spell each of them anew. It is safe for
// concurrent use, and reading takes no lock.
type headerNames struct {
	known   atomic.Pointer[map[string]*headerName]
	ignored map[string]bool // by lower-case name; not to be changed any more
	forms   map[string]headerForm
	mu      sync.Mutex // held while a name is learnt
}

func newHeaderNames(ignored map[string]bool) *headerNames {
	n := &headerNames{ignored: ignored, forms: headerForms()}
	n.known.Store(&map[string]*headerName{})
	return n
}

// of is what is known of a name as it was sent.
func (n *headerNames) of(sent string) *headerName {
	if name := (*n.known.Load())[sent]; name != nil {
		return name
	}
	return n.learn(sent)
}

func (n *headerNames) learn(sent string) *headerName {
	lower := strings.ToLower(sent)
	name := &headerName{lower: lower, form: n.forms[lower], ignored: n.ignored[lower]}
	n.mu.Lock()
	defer n.mu.Unlock()
	known := *n.known.Load()
	if len(known) >= namesKnown || len(sent) > maxKey {
		return name
	}
	name.lower = strings.Clone(lower) // not to keep a whole answer alive
	next := maps.Clone(known)
	next[strings.Clone(sent)] = name
	n.known.Store(&next)
	return name
}
