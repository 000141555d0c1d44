package normalize

import "unsafe"

const noMemory = "the memory budget is spent"

// budget counts the memory of a Value. What a common body takes is free; beyond that the exchange's budget is asked.
type budget struct {
	reserve func(int64) bool
	taken   int64
	refused bool
}

// freeTree is how many bytes the Values of one body may take before the budget is asked. Few comparers run at a time, and
// this is their working memory: 1 MiB of usual JSON takes about 10 MiB.
const freeTree = 32 << 20

// take asks for n more bytes.
func (b *budget) take(n int64) bool {
	over := b.taken + n - max(b.taken, freeTree)
	b.taken += n
	if over > 0 && b.reserve != nil && !b.reserve(over) {
		b.refused = true
	}
	return !b.refused
}

// growStack doubles a stack of children.
func growStack[T any](b *budget, stack *[]T) bool {
	var t T
	n := max(64, 2*cap(*stack))
	if !b.take(int64(n-cap(*stack)) * int64(unsafe.Sizeof(t))) {
		return false
	}
	*stack = append(make([]T, 0, n), *stack...)
	return true
}

// maxKept is how many bytes of each stack, and of each kind of array in an arena, are kept for the next body until the
// collector wants them: what usual JSON of a megabyte takes.
const maxKept = 12 << 20

// keep empties a stack that has been so high, or gives it up when it has become large.
func keep[T any](stack []T, top int) []T {
	if bytesIn(stack) > maxKept {
		return nil
	}
	clear(stack[:min(top, cap(stack))])
	return stack[:0]
}

// bytesIn is how many bytes an array takes, all that is behind its end included.
func bytesIn[T any](array []T) int {
	var t T
	return cap(array) * int(unsafe.Sizeof(t))
}
