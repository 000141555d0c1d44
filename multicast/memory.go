package multicast

import (
	"net/http"
	"sync/atomic"
)

// memory is the one budget for all that is captured.
type memory struct {
	limit atomic.Int64
	used  atomic.Int64
	stock stock
}

// account is what one exchange holds of the budget. It may be used by several goroutines until it is closed.
type account struct {
	memory *memory
	held   atomic.Int64
}

// take adds n bytes to what is used; it answers false, and takes nothing, when the budget would be exceeded. What is not
// granted is not seen for a moment either: it would keep others from what is theirs.
func (m *memory) take(n int64) bool {
	for {
		used := m.used.Load()
		if used+n > m.limit.Load() {
			return false
		}
		if m.used.CompareAndSwap(used, used+n) {
			return true
		}
	}
}

// take adds n bytes to what is held; it answers false, and takes nothing, when the budget would be exceeded.
func (a *account) take(n int64) bool {
	if !a.memory.take(n) {
		return false
	}
	a.held.Add(n)
	return true
}

func (a *account) give(n int64) {
	a.held.Add(-n)
	a.memory.used.Add(-n)
}

// close gives back all that is held.
func (a *account) close() { a.memory.used.Add(-a.held.Swap(0)) }

// headerSize is about what a header takes.
func headerSize(h http.Header) int64 {
	var size int64
	for name, values := range h {
		size += int64(len(name)) + 32
		for _, v := range values {
			size += int64(len(v)) + 16
		}
	}
	return size
}
