package diff

import "slices"

// outbox remembers which parts of a whole have changed since they were last taken to be written down, and the names of those
// that are gone.
type outbox[P outgoing[P, N], N any] struct {
	changed []P // the longest ago first
	gone    []N // given up, or merged into another
}

// outgoing is a part with its name and the mark that it is in the outbox.
type outgoing[P, N any] interface {
	comparable
	name() N
	mark() *bool
	Clone() P
}

// touch notes that a part has changed.
func (o *outbox[P, N]) touch(p P) {
	if mark := p.mark(); !*mark {
		*mark = true
		o.changed = append(o.changed, p)
	}
}

// drop notes that a part is gone.
func (o *outbox[P, N]) drop(p P) {
	if *p.mark() {
		o.changed = slices.DeleteFunc(o.changed, func(c P) bool { return c == p })
	}
	o.gone = append(o.gone, p.name())
}

// take empties the outbox of copies of the parts that have waited longest, so many at most and only those that are due; of
// all of them where some are gone, since what was theirs may be in these.
func (o *outbox[P, N]) take(most int, due func(N) bool) (changed []P, gone []N) {
	var wait []P
	all := len(o.gone) > 0
	for i, p := range o.changed {
		if len(changed) >= most && !all {
			wait = append(wait, o.changed[i:]...)
			break
		}
		if !all && !due(p.name()) {
			wait = append(wait, p)
			continue
		}
		*p.mark() = false
		changed = append(changed, p.Clone())
	}
	gone = o.gone
	o.changed, o.gone = wait, nil
	return changed, gone
}

func (o *outbox[P, N]) pending() bool { return len(o.changed)+len(o.gone) > 0 }
