// Package record keeps traffic for later: what the proxy hands it is redacted, and written into the recordings of a folder.
//
//	Take ──► queue (bounded) ──► redact ──► traffic.Writer: a frame each second
//
// Take never waits: what finds no room is dropped and counted, as is what the disk does not take. A crash loses what came
// in the last second. Nothing that is not redacted reaches the disk.
package record

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"shadowdiff/multicast"
	"shadowdiff/normalize"
	"shadowdiff/traffic"
)

// Recorder writes down what it takes, while Run runs.
type Recorder struct {
	log    *slog.Logger
	queue  chan *multicast.Recording
	orders chan order    // to Run, from Purge
	ended  chan struct{} // closed when Run has returned

	mu     sync.Mutex // guards what follows
	closed bool
	cfg    multicast.RecordConfig
	redact []string
	next   *normalize.Redactor // to be taken over with the next frame; nil: as it is

	// Run's own.
	writer   *traffic.Writer
	redactor *normalize.Redactor
	waiting  []*multicast.Recording // added, and not on the disk yet
	failing  bool                   // the disk takes nothing
	spoilt   bool                   // a request could not be redacted, or not be put into words, and that was logged
	purged   []traffic.Span         // lately: of what is still under way nothing is to come back
}

const (
	queueLength = 4096
	frameEvery  = time.Second
	frameSize   = 4 << 20 // bytes that wait for the disk, from which on a frame is written before its time
)

// New readies the folder that the configuration names, which must name one. Redact is as the store's.
func New(cfg multicast.RecordConfig, redact []string, log *slog.Logger) (*Recorder, error) {
	redactor, err := newRedactor(cfg, redact)
	if err != nil {
		return nil, err
	}
	writer, err := traffic.NewWriter(cfg.Dir, bounds(cfg), redact)
	if err != nil {
		return nil, fmt.Errorf("record.dir: %w", err)
	}
	return &Recorder{
		log: log, queue: make(chan *multicast.Recording, queueLength),
		cfg: cfg, redact: redact, writer: writer, redactor: redactor,
		orders: make(chan order), ended: make(chan struct{}),
	}, nil
}

// Close gives the folder of a recorder back that Run was never called of.
func (r *Recorder) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	r.closed = true
	return r.writer.Close(time.Now())
}

func newRedactor(cfg multicast.RecordConfig, redact []string) (*normalize.Redactor, error) {
	redactor, err := normalize.NewRedactor(redact)
	if err != nil {
		return nil, err
	}
	redactor.MaxDecoded = max(redactor.MaxDecoded, 8*int64(cfg.MaxBody))
	return redactor, nil
}

func bounds(cfg multicast.RecordConfig) traffic.Bounds {
	return traffic.Bounds{
		RotateSize: int64(cfg.RotateSize), RotateAge: cfg.RotateAge, MaxSize: int64(cfg.MaxSize), MaxAge: cfg.MaxAge,
	}
}

// Reconfigure takes over other bounds and another list of what is redacted, with the next frame at the latest. The folder
// stays as it is.
func (r *Recorder) Reconfigure(cfg multicast.RecordConfig, redact []string) error {
	redactor, err := newRedactor(cfg, redact)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cfg, r.redact, r.next = cfg, redact, redactor
	return nil
}

// Take takes one recording, or drops it. It never waits.
func (r *Recorder) Take(rec *multicast.Recording) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		rec.Done(multicast.ReasonShutdown)
		return
	}
	select {
	case r.queue <- rec:
	default:
		rec.Done(multicast.ReasonQueue)
	}
}

// Run writes until ctx ends; then what was taken reaches the disk, and nothing more is taken.
func (r *Recorder) Run(ctx context.Context) error {
	defer close(r.ended)
	var indexing sync.WaitGroup
	defer indexing.Wait()
	indexing.Go(func() {
		if err := r.writer.Index(); err != nil {
			r.log.Warn("the index of recordings is not complete", "err", err)
		}
	})
	tick := time.NewTicker(frameEvery)
	defer tick.Stop()
	for {
		select {
		case rec := <-r.queue:
			r.add(rec)
			if _, size := r.writer.Held(); size >= frameSize {
				r.flush()
			}
		case <-tick.C:
			r.flush()
		case o := <-r.orders:
			o.done <- r.obey(o.spans)
		case <-ctx.Done():
			return r.end()
		}
	}
}

// end writes what is left.
func (r *Recorder) end() error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.drain()
	r.flush()
	if err := r.writer.Close(time.Now()); err != nil {
		return fmt.Errorf("ending the recording: %w", err)
	}
	return nil
}

// drain adds what is in the queue.
func (r *Recorder) drain() {
	for range len(r.queue) {
		r.add(<-r.queue)
	}
}

// add redacts one and has it wait for the next frame.
func (r *Recorder) add(rec *multicast.Recording) {
	if slices.ContainsFunc(r.purged, func(s traffic.Span) bool { return s.Has(rec.Time) }) {
		rec.Done(multicast.ReasonPurged)
		return
	}
	one, err := r.pack(rec)
	if err == nil {
		err = r.writer.Add(one)
	}
	if err != nil {
		if !r.spoilt {
			r.spoilt = true
			r.log.Error("a request could not be made ready for a recording and is in none", "err", err)
		}
		rec.Done(multicast.ReasonPanic)
		return
	}
	r.waiting = append(r.waiting, rec)
}

// pack is a recording without what is redacted. Nothing else of it is kept.
func (r *Recorder) pack(rec *multicast.Recording) (one *traffic.Record, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("redact: %v", cause)
		}
	}()
	req, _ := r.redactor.Request(&rec.Request)
	res, _ := r.redactor.Response(rec.Response(multicast.Primary))
	one = &traffic.Record{
		ID: rec.ID, Time: rec.Time.UTC(),
		Request: traffic.Request{
			Method: req.Method, Target: req.Target, Host: req.Host, Header: req.Header, Trailer: req.Trailer,
			Body: req.Body, Cut: rec.RequestCut,
		},
		Answer: &traffic.Response{
			Status: res.Status, Header: res.Header, Trailer: res.Trailer, Body: res.Body, Size: res.Size, Took: res.Duration,
		},
	}
	if rec.ResponseCut {
		one.Answer.Hash = res.Hash[:]
	}
	return one, nil
}

// flush writes a frame, and tells of each recording what became of it. Trouble is logged when it begins and when it ends.
func (r *Recorder) flush() {
	defer r.takeOver()
	held, _ := r.writer.Held()
	err := r.writer.Flush(time.Now())
	var reason multicast.Reason
	switch {
	case err != nil:
		if reason = multicast.ReasonDisk; !r.failing {
			r.log.Error("recordings cannot be written, what comes meanwhile is not recorded", "err", err)
		}
		r.failing = true
	case r.failing && held > 0:
		r.failing = false
		r.log.Info("recordings are written again")
	}
	for i, rec := range r.waiting {
		rec.Done(reason)
		r.waiting[i] = nil
	}
	r.waiting = r.waiting[:0]
}

// takeOver puts in force what Reconfigure was given. What waits was redacted as before.
func (r *Recorder) takeOver() {
	r.mu.Lock()
	cfg, redact, next := r.cfg, r.redact, r.next
	r.next = nil
	r.mu.Unlock()
	if next == nil {
		return
	}
	r.writer.SetBounds(bounds(cfg))
	if err := r.writer.SetRedact(redact); err != nil {
		r.log.Warn("a recording could not be ended well", "err", err)
	}
	r.redactor = next
}
