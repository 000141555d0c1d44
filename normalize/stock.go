package normalize

import (
	"cmp"
	"runtime"
	"slices"
	"sync"
)

const (
	largeBody   = 64 << 10 // bytes from which on a body is read with what a stock has
	mostArenas  = 16 << 20 // bytes that are kept of them: a megabyte of usual JSON has 11
	mostParsers = 2 << 20  // of their stacks, which have half a megabyte of it
	stockAge    = 32       // collections that a stock keeps what nobody wants
)

// stock keeps the memory that bodies were read with for those that come. That of large ones it holds on to: to have it made
// anew costs more than to read a megabyte, and a pool has forgotten it by the second collection, which others bring about
// wherever large bodies are rare. But it holds little, and nothing for long.
//
// Whoever gives a document back must be the last to know of it. A build with the race detector overwrites its values, so
// that a test in which somebody reads on finds what was never sent, or a race.
type stock[T interface{ size() int }] struct {
	most  int // bytes that it keeps
	small sync.Pool
	rest  sync.Pool // of large ones what there was no room for

	mu      sync.Mutex
	kept    []lot[T] // the largest last
	size    int      // bytes of all
	watched bool     // the next collection will be noticed
}

// lot is one thing that is kept.
type lot[T any] struct {
	thing T
	size  int
	age   int // collections that it has seen
}

// take answers what was put in for a body that was large, or was not; a nil T when there is none. For one most of which
// will be taken from another that is the smallest there is, else the largest.
func (s *stock[T]) take(large, alike bool) T {
	if large {
		if thing, ok := s.find(alike); ok {
			return thing
		}
	}
	thing, _ := s.pool(large).Get().(T)
	return thing
}

// put takes back what nobody uses any more.
func (s *stock[T]) put(thing T, large bool) {
	if !large || !s.keep(thing, thing.size()) {
		s.pool(large).Put(thing)
	}
}

func (s *stock[T]) pool(large bool) *sync.Pool {
	if large {
		return &s.rest
	}
	return &s.small
}

func (s *stock[T]) find(smallest bool) (thing T, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := len(s.kept) - 1
	if at < 0 {
		return thing, false
	}
	if smallest {
		at = 0
	}
	l := s.kept[at]
	s.kept = slices.Delete(s.kept, at, at+1)
	s.size -= l.size
	return l.thing, true
}

func (s *stock[T]) keep(thing T, size int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.size+size > s.most {
		return false
	}
	at, _ := slices.BinarySearchFunc(s.kept, size, func(l lot[T], size int) int { return cmp.Compare(l.size, size) })
	s.kept = slices.Insert(s.kept, at, lot[T]{thing: thing, size: size})
	s.size += size
	s.watch()
	return true
}

// watch has the next collection noticed: it finds something that nobody holds.
func (s *stock[T]) watch() {
	if !s.watched {
		s.watched = true
		runtime.AddCleanup(new(struct{ *byte }), (*stock[T]).collected, s)
	}
}

// collected lets go what has become too old.
func (s *stock[T]) collected() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.kept {
		s.kept[i].age++
	}
	s.kept = slices.DeleteFunc(s.kept, func(l lot[T]) bool {
		if l.age <= stockAge {
			return false
		}
		s.size -= l.size
		return true
	})
	if s.watched = false; len(s.kept) > 0 {
		s.watch()
	}
}
