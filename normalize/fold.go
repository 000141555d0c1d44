package normalize

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// When a place folds.
//
// A place (all that follows one path, /products/…) folds when more than rareWords of its values are rare, that is when
// no route through them was asked for more than once; or when it has more than mostWords values at all. Among N values
// that are asked for again and again, however unevenly, no more than N/e (37 %) can be expected to be at their first
// request at any one time: so what has up to some 150 well-used names under one path does not fold, and what has
// thousands of slugs folds soon after its 65th. A place with up to rareWords values never folds.
//
// When names become many, over crowded, the place with the most values folds as well, if it has more than rareWords.
//
// The values that stand out are kept under their own names for good: those with at least standsOut times the requests of
// the one in the middle, keptWords at most. So /users/me stays beside /users/{id}.
const (
	rareWords = 64
	mostWords = 256
	crowded   = 500 // names
	standsOut = 5
	keptWords = 64
)

// Fold is a place at which what follows is counted as {id}.
type Fold struct {
	Place string   // the path up to it, as names have it: "/products", "" before the first segment
	Kept  []string // the segments that follow it under their own names, sorted
}

// wide tells whether the place is to fold.
func (b *branch) wide() bool {
	return !b.folded && (b.rare > rareWords || len(b.words) > mostWords)
}

// relieve folds what has become too wide above a branch to which a route was added, the topmost place first, and tells
// whether anything was folded.
func (n *Names) relieve(at *branch) bool {
	var wide *branch
	for b := at; b != nil; b = b.above {
		if b.wide() {
			wide = b
		}
	}
	if wide == nil && n.routes > crowded {
		wide = n.root.widest()
	}
	if wide == nil {
		return false
	}
	n.fold(wide, wide.standing())
	return true
}

// widest is the place with the most values at or below b, nil when none has enough of them to be folded.
func (b *branch) widest() *branch {
	var best *branch
	if !b.folded && len(b.words) > rareWords {
		best = b
	}
	b.each(func(next *branch) {
		if w := next.widest(); w != nil && (best == nil || wider(w, best)) {
			best = w
		}
	})
	return best
}

func wider(a, b *branch) bool {
	return cmp.Or(cmp.Compare(len(a.words), len(b.words)), strings.Compare(b.path(), a.path())) > 0
}

// ranked are the values of a place, the most used first.
func (b *branch) ranked() []*branch {
	var words []*branch
	for _, w := range b.words {
		if w.isWord() {
			words = append(words, w)
		}
	}
	slices.SortFunc(words, func(a, b *branch) int {
		return cmp.Or(cmp.Compare(b.most, a.most), strings.Compare(a.segment, b.segment))
	})
	return words
}

// standing are the values that stand out.
func (b *branch) standing() map[string]bool {
	words, kept := b.ranked(), map[string]bool{}
	if len(words) == 0 {
		return kept
	}
	least := standsOut * max(1, words[len(words)/2].most)
	for _, w := range words[:min(len(words), keptWords)] {
		if w.most >= least {
			kept[w.segment] = true
		}
	}
	return kept
}

// fold makes {id} of all values of a place but those kept, and then of places below it that have become too wide by
// being laid together.
func (n *Names) fold(place *branch, kept map[string]bool) {
	n.gather(place, kept)
	n.settle(place.id)
	place.id.rename(place.path() + "/" + idSegment)
	place.count()
	place.raise(place.most)
	if place.above != nil {
		place.above.raise(place.most)
	}
}

// gather lays all values of a place but those kept together as {id}.
func (n *Names) gather(place *branch, kept map[string]bool) {
	n.version++
	if !place.folded {
		place.folded = true
		n.folds++
	}
	place.kept = kept
	if place.id == nil {
		place.put(&branch{segment: idSegment})
		n.branches++
	}
	place.id.known = true
	for _, w := range place.ranked() {
		if !kept[w.segment] {
			delete(place.words, w.segment)
			n.join(place.id, w)
		}
	}
}

// join moves all that is at and below one branch to another. What is kept at either is kept at both together.
func (n *Names) join(to, from *branch) {
	n.branches--
	to.known = to.known || from.known
	for _, r := range from.routes {
		n.joinRoute(to, r)
	}
	if from.folded && to.folded {
		n.folds--
	}
	to.folded = to.folded || from.folded
	if to.kept == nil {
		to.kept = map[string]bool{}
	}
	maps.Copy(to.kept, from.kept)
	from.each(func(next *branch) {
		if there := to.own(next.segment); there != nil {
			n.join(there, next)
		} else {
			to.put(next)
		}
	})
}

func (n *Names) joinRoute(to *branch, r *routeName) {
	for _, there := range to.routes {
		if there.method == r.method {
			there.requests += r.requests
			n.routes--
			return
		}
	}
	to.routes = append(to.routes, r)
}

// settle counts anew what was laid together at and below a branch, and folds what was folded in one of its parts, or is
// too wide now.
func (n *Names) settle(b *branch) {
	if b.folded {
		n.gather(b, b.mostKept())
	}
	b.each(n.settle)
	b.count()
	if b.wide() {
		n.gather(b, b.standing())
		n.settle(b.id)
		b.count()
	}
}

// mostKept are the values that were kept at a folded place, the most used ones if they have become too many.
func (b *branch) mostKept() map[string]bool {
	kept := map[string]bool{}
	for _, w := range b.ranked() {
		if b.kept[w.segment] && len(kept) < keptWords {
			kept[w.segment] = true
		}
	}
	return kept
}

// count brings most and rare up to date with what follows the branch.
func (b *branch) count() {
	b.rare = 0
	for _, r := range b.routes {
		b.most = max(b.most, r.requests)
	}
	b.each(func(next *branch) {
		b.most = max(b.most, next.most)
		if next.isWord() && next.most == 1 {
			b.rare++
		}
	})
}

// rename names the routes at and below a branch after its path.
func (b *branch) rename(path string) {
	for _, r := range b.routes {
		r.name = r.method + " " + path
	}
	b.each(func(next *branch) { next.rename(path + "/" + next.segment) })
}

// Folds lists the places that are folded, in the order of their paths; with version, which grows whenever they change.
func (n *Names) Folds() (folds []Fold, version uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.root.list(&folds, "")
	slices.SortFunc(folds, func(a, b Fold) int { return strings.Compare(a.Place, b.Place) })
	return folds, n.version
}

func (b *branch) list(folds *[]Fold, path string) {
	if b.folded {
		*folds = append(*folds, Fold{Place: path, Kept: slices.Sorted(maps.Keys(b.kept))})
	}
	b.each(func(next *branch) { next.list(folds, path+"/"+next.segment) })
}

// Version grows whenever a place folds: while it stays, Current and Renamed answer the same.
func (n *Names) Version() uint64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.version
}

// Restore folds what Folds listed. It is to be called before anything is named.
func (n *Names) Restore(folds []Fold) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, f := range folds {
		at := &n.root
		if f.Place != "" {
			at = n.follow([]byte(f.Place), true)
		}
		if at == nil {
			return
		}
		kept := map[string]bool{}
		for _, segment := range f.Kept[:min(len(f.Kept), keptWords)] {
			next := at.own(segment)
			if next == nil {
				next = n.grow(at, segment)
			}
			if next != nil {
				next.known, kept[segment] = true, true
			}
		}
		n.fold(at, kept)
	}
}

// Learn takes in names that Route made earlier, perhaps in another process, with the requests each had. What has been
// learnt from requests is learnt from names as well, so that a restart does not begin anew.
func (n *Names) Learn(requests map[string]int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(requests)) {
		method, path, _ := strings.Cut(name, " ")
		if !strings.HasPrefix(path, "/") {
			continue
		}
		at := n.follow([]byte(path), true)
		if at == nil {
			continue
		}
		if r := n.route(at, n.method(method, true)); r != nil {
			r.requests += max(requests[name], 1)
			at.raise(r.requests)
		}
	}
	for wide := n.root.firstWide(); wide != nil; wide = n.root.firstWide() { // once all are known, to see what stands out
		n.fold(wide, wide.standing())
	}
}

// firstWide is a place that is to fold, at or below b, and none above it; nil when there is none.
func (b *branch) firstWide() (wide *branch) {
	if b.wide() {
		return b
	}
	b.each(func(next *branch) {
		if wide == nil {
			wide = next.firstWide()
		}
	})
	return wide
}

// Current is what a name that Route made earlier has become by folding: most often itself.
func (n *Names) Current(name string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.current(name)
}

// Renamed are those of names that Route made earlier which have become others, with these; and the version for which that
// holds.
func (n *Names) Renamed(names []string) (now map[string]string, version uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	now = map[string]string{}
	for _, name := range names {
		if current := n.current(name); current != name {
			now[name] = current
		}
	}
	return now, n.version
}

func (n *Names) current(name string) string {
	method, path, _ := strings.Cut(name, " ")
	if n.folds == 0 || !strings.HasPrefix(path, "/") {
		return name
	}
	out := append([]byte(method), ' ')
	at := &n.root
	for segment := range strings.SplitSeq(path[1:], "/") {
		if at != nil {
			at = at.find([]byte(segment))
		}
		if at != nil {
			segment = at.segment
		}
		out = append(append(out, '/'), segment...)
	}
	if string(out) == name {
		return name
	}
	return string(out)
}
