package store

import (
	"context"
	"sync"
)

// watchers are woken by every new snapshot. A slow one misses versions, never the latest, and holds nobody up.
type watchers struct {
	mu     sync.Mutex
	all    map[chan uint64]bool
	latest uint64
	closed bool
}

// Watch yields the version of the present snapshot at once and of each one after it, until ctx ends or the store is
// closed; then the channel is closed. Versions that came while the reader was busy are left out but for the latest.
func (db *DB) Watch(ctx context.Context) <-chan uint64 {
	ch := db.watchers.add()
	context.AfterFunc(ctx, func() { db.watchers.remove(ch) })
	return ch
}

func (w *watchers) add() chan uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	ch := make(chan uint64, 1)
	if w.closed {
		close(ch)
		return ch
	}
	if w.all == nil {
		w.all = map[chan uint64]bool{}
	}
	w.all[ch] = true
	ch <- w.latest
	return ch
}

func (w *watchers) remove(ch chan uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all[ch] {
		delete(w.all, ch)
		close(ch)
	}
}

func (w *watchers) wake(version uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.latest = version
	for ch := range w.all {
		select {
		case <-ch: // it has not been read: the new one takes its place
		default:
		}
		ch <- version // has room, since only the holder of mu sends
	}
}

func (w *watchers) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	for ch := range w.all {
		close(ch)
	}
	w.all = nil
}
