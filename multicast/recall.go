package multicast

import (
	"context"
	"sync"
)

// recall calls the legs of a flight back before their time. It is a context for two, without what a context costs.
type recall struct {
	mu    sync.Mutex // guards what follows, and is held while the legs are told
	given bool
	tell  [3]func() // by Role
}

// give tells the legs under way, and those that begin to listen later.
func (r *recall) give() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.given = true
	for role, tell := range r.tell {
		if tell != nil {
			r.tell[role] = nil
			tell()
		}
	}
}

// listen has tell called at the recall. It must not block.
func (r *recall) listen(role Role, tell func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.given {
		tell()
	} else {
		r.tell[role] = tell
	}
}

// ignore ends listening: tell is not called from then on. It answers false if it was.
func (r *recall) ignore(role Role) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tell[role] = nil
	return !r.given
}

func (r *recall) has() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.given
}

// context returns one that ends with the recall, until it is cancelled.
func (r *recall) context(role Role) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	r.listen(role, cancel)
	return ctx, func() {
		r.ignore(role)
		cancel()
	}
}
