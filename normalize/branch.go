package normalize

import "strings"

// branch is one segment in the tree of the paths that Names knows, and what follows it: a place.
//
//	/ ─┬─ products ─┬─ {id} ── reviews
//	   │            └─ featured
//	   └─ health
type branch struct {
	above   *branch
	segment string
	words   map[string]*branch // what follows under its own name
	id      *branch            // what follows and looks like an id, or was folded
	rest    *branch            // /*: all that is left of paths that are too long, or not known
	routes  []*routeName       // those that end here
	folded  bool               // words holds what is kept, and all that will ever be in it
	kept    map[string]bool    // of a folded place
	known   bool               // a request that teaches went through it
	most    int64              // requests of the most used route that goes through it
	rare    int                // words whose most is 1
}

// routeName is one route: those of the requests that end at one branch which have the same method.
type routeName struct {
	method, name string
	requests     int64
}

// find is what follows under a segment of a shape, nil when nothing does.
func (b *branch) find(segment []byte) *branch {
	switch string(segment) {
	case idSegment:
		return b.id
	case restSegment:
		return b.rest
	}
	if next := b.words[string(segment)]; next != nil || !b.folded || len(segment) == 0 {
		return next
	}
	return b.id
}

// own is what follows under this very segment.
func (b *branch) own(segment string) *branch {
	switch segment {
	case idSegment:
		return b.id
	case restSegment:
		return b.rest
	}
	return b.words[segment]
}

// put hangs a branch where its segment says.
func (b *branch) put(next *branch) {
	next.above = b
	switch next.segment {
	case idSegment:
		b.id = next
	case restSegment:
		b.rest = next
	default:
		if b.words == nil {
			b.words = map[string]*branch{}
		}
		b.words[next.segment] = next
	}
}

// isWord tells whether the branch is a value that its place may fold: the empty segment behind a last slash is none.
func (b *branch) isWord() bool {
	return b.above != nil && b.segment != "" && b.segment != idSegment && b.segment != restSegment
}

// raise notes that a route through the branch has had so many requests, and tells whether it was the first one of some
// branch.
func (b *branch) raise(requests int64) (first bool) {
	for ; b != nil && b.most < requests; b = b.above {
		if b.isWord() {
			if b.most == 1 {
				b.above.rare--
			}
			if requests == 1 {
				b.above.rare++
			}
		}
		first = first || b.most == 0
		b.most = requests
	}
	return first
}

// path is the path that leads to the branch, itself included.
func (b *branch) path() string {
	var segments []string
	for at := b; at.above != nil; at = at.above {
		segments = append(segments, at.segment)
	}
	var path strings.Builder
	for i := len(segments) - 1; i >= 0; i-- {
		path.WriteByte('/')
		path.WriteString(segments[i])
	}
	return path.String()
}

// each calls do with what follows the branch, in no order.
func (b *branch) each(do func(*branch)) {
	for _, next := range b.words {
		do(next)
	}
	for _, next := range []*branch{b.id, b.rest} {
		if next != nil {
			do(next)
		}
	}
}
