package record

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"shadowdiff/traffic"
)

// order is a purge on its way to Run.
type order struct {
	spans []traffic.Span
	done  chan error
}

// purgedFor is how long what was purged is remembered: hardly a request is under way for longer.
const purgedFor = time.Hour

// Purge takes what was asked within the spans out of the recordings, and out of what is still on its way to them: a request
// that is under way is dropped. Recording goes on meanwhile. It waits for Run.
func (r *Recorder) Purge(ctx context.Context, spans []traffic.Span) (traffic.Purged, error) {
	o := order{spans, make(chan error, 1)}
	select {
	case r.orders <- o:
	case <-r.ended:
		return traffic.Purged{}, errors.New("purging recordings: the recorder has stopped")
	case <-ctx.Done():
		return traffic.Purged{}, fmt.Errorf("purging recordings: %w", ctx.Err())
	}
	if err := <-o.done; err != nil {
		return traffic.Purged{}, fmt.Errorf("purging recordings: %w", err)
	}
	return r.writer.Purge(spans)
}

// Within tells how much Purge would look through.
func (r *Recorder) Within(spans []traffic.Span) (traffic.Purged, error) {
	return r.writer.Within(spans)
}

// obey sees that nothing of the spans comes from now on, and that what has come is in files that are complete.
func (r *Recorder) obey(spans []traffic.Span) error {
	forgotten := time.Now().Add(-purgedFor)
	r.purged = slices.DeleteFunc(r.purged, func(s traffic.Span) bool { return s.Until.Before(forgotten) })
	r.purged = append(r.purged, spans...)
	r.drain()
	r.flush()
	return r.writer.Rotate()
}
