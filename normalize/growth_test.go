package normalize

import (
	"runtime"
	"testing"
	"time"
)

// grows fails when what is done takes this thread far more than eight times as much for eight times as much. Only the
// thread's own time counts, not what others make it wait, and 20 ms are as little as none.
func grows(t *testing.T, do func(n int)) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	spent := func(n int) time.Duration {
		before := threadTime(t)
		do(n)
		return threadTime(t) - before
	}
	const n = 1 << 14
	small, large := spent(n), spent(8*n)
	t.Logf("%v, then %v", small, large)
	if large > 32*max(small, 20*time.Millisecond) {
		t.Errorf("it takes %v, and %v for eight times as much", small, large)
	}
}
