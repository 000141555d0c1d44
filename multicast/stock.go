package multicast

import (
	"math/bits"
	"sync"
	"unsafe"
)

// stock keeps the room that captured bodies have left, for those that come: most of the garbage of an exchange would be
// this. The collector empties it, as any sync.Pool, so that nothing is held for long. Its zero value is ready.
//
// Whoever gives room back must be the last to know of it. A build with the race detector overwrites what is given back, so
// that a test in which somebody reads on has other bytes than it expects, or a race.
type stock struct {
	shelves [4 * 17]sync.Pool // of *byte, by shelfOf: four sizes between each power of two and the next
}

// The sizes that are kept. Smaller ones are not worth it, greater ones would lie about.
const (
	stockLeast = 512
	stockMost  = 64 << 10
)

// fit is the size that n bytes are given: at most a quarter more.
func fit(n int64) int64 {
	if n <= stockLeast || n > stockMost {
		return n
	}
	step := int64(1) << (bits.Len64(uint64(n-1)) - 3)
	return (n + step - 1) &^ (step - 1)
}

// shelf is where room of a size lies; nil where such is not kept.
func (s *stock) shelf(size int) *sync.Pool {
	if size < stockLeast || size > stockMost || fit(int64(size)) != int64(size) {
		return nil
	}
	digits := bits.Len(uint(size - 1))
	return &s.shelves[4*(digits-1)+(size-1)>>(digits-3)&3]
}

// take returns room of this size, with anything in it.
func (s *stock) take(size int64) []byte {
	if shelf := s.shelf(int(size)); shelf != nil {
		if first, ok := shelf.Get().(*byte); ok {
			return unsafe.Slice(first, size)[:0]
		}
	}
	return make([]byte, 0, size)
}

// give takes room back. It must come from take, and be whole.
func (s *stock) give(room []byte) {
	shelf := s.shelf(cap(room))
	if shelf == nil {
		return
	}
	if poisoned {
		poison(room[:cap(room)])
	}
	shelf.Put(unsafe.SliceData(room))
}

// poison makes room unlike any body.
func poison(room []byte) {
	for i := range room {
		room[i] = 0xDB
	}
}
