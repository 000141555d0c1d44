package multicast

import (
	"log/slog"
	"sync/atomic"
	"time"
)

// throttle logs one line a second at most, with the number of lines left out since the last one: what fails may fail
// for every request.
type throttle struct {
	log    *slog.Logger
	last   atomic.Int64 // Unix time in ns
	missed atomic.Int64
}

func (t *throttle) warn(message string, attrs ...any) {
	now, last := time.Now().UnixNano(), t.last.Load()
	if now-last < int64(time.Second) || !t.last.CompareAndSwap(last, now) {
		t.missed.Add(1)
		return
	}
	if missed := t.missed.Swap(0); missed > 0 {
		attrs = append(attrs, slog.Int64("left_out", missed))
	}
	t.log.Warn(message, attrs...)
}
