package multicast

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// RecordConfig is what is kept of the traffic, and where. Its keys stand below record.
type RecordConfig struct {
	Dir        string        `yaml:"dir"`         // the folder; empty: nothing is recorded
	Sample     Share         `yaml:"sample"`      // share of all requests, whether shadowed or not
	MaxBody    Size          `yaml:"max_body"`    // of a request and of an answer; a longer one is left out
	Memory     Size          `yaml:"memory"`      // of all that is on its way to the disk
	RotateSize Size          `yaml:"rotate_size"` // of a file, from which on another is begun
	RotateAge  time.Duration `yaml:"rotate_age"`  // likewise its age
	MaxSize    Size          `yaml:"max_size"`    // of all files; the oldest are removed
	MaxAge     time.Duration `yaml:"max_age"`     // at which files are removed
}

func defaultRecordConfig() RecordConfig {
	return RecordConfig{
		Sample: Whole, MaxBody: 1 * MiB, Memory: 32 * MiB,
		RotateSize: 64 * MiB, RotateAge: time.Hour, MaxSize: 10 * GiB, MaxAge: 7 * 24 * time.Hour,
	}
}

func (c *RecordConfig) validate(f *faults) {
	if c.Sample > Whole {
		f.add("record.sample", "must be at most 100%%, is %s", c.Sample)
	}
	if c.MaxBody < 0 || c.MaxBody > 16*MiB {
		f.add("record.max_body", "must be from 0 to 16MiB, is %s", c.MaxBody)
	}
	if c.Memory < 1*MiB || c.MaxBody <= 16*MiB && c.Memory < 2*c.MaxBody {
		f.add("record.memory", "must be 1MiB or more, and twice record.max_body, is %s", c.Memory)
	}
	if c.RotateSize < 64*KiB {
		f.add("record.rotate_size", "must be 64KiB or more, is %s", c.RotateSize)
	}
	if c.RotateAge < time.Second {
		f.add("record.rotate_age", "must be 1s or more, is %s", c.RotateAge)
	}
	if c.MaxSize < c.RotateSize {
		f.add("record.max_size", "must be record.rotate_size or more, is %s", c.MaxSize)
	}
	if c.MaxAge < time.Minute {
		f.add("record.max_age", "must be 1m or more, is %s", c.MaxAge)
	}
}

// RecordCounts counts requests that were to be recorded: when none is under way, sampled = written + Σdropped.
type RecordCounts struct {
	Sampled int64            `json:"sampled"`
	Written int64            `json:"written"`
	Dropped map[Reason]int64 `json:"dropped"`
}

// RecordReasons are all for which a request that was to be recorded was not.
func RecordReasons() []Reason {
	return []Reason{
		ReasonClientAborted, ReasonPrimaryFailed, ReasonRequestIncomplete, ReasonStream, ReasonMemory, ReasonQueue, ReasonDisk,
		ReasonPurged, ReasonShutdown, ReasonPanic,
	}
}

// recordings is what the proxy has for recording beside the shadows. The memory is another than theirs: neither takes
// from the other.
type recordings struct {
	sampler *sampler
	memory  memory
	wanted  atomic.Bool // something was to be recorded, once
	sampled atomic.Int64
	written atomic.Int64
	dropped tally[Reason]
}

func (r *recordings) counts() *RecordCounts {
	if !r.wanted.Load() {
		return nil
	}
	c := RecordCounts{Written: r.written.Load(), Dropped: r.dropped.read()}
	c.Sampled = r.sampled.Load()
	return &c
}

// Recording is one request with the primary's answer, on its way to a file.
type Recording struct {
	Exchange         // without shadows
	RequestCut  bool // the request had a body longer than record.max_body
	ResponseCut bool // likewise the answer; its Size and Hash are known

	proxy *Proxy
	tap   *tap
}

// Done tells what became of it: it was written (no reason), or why not. Nothing of it may be looked at any more.
func (r *Recording) Done(reason Reason) {
	if reason == "" {
		r.proxy.recordings.written.Add(1)
	} else {
		r.proxy.recordings.dropped.add(reason)
	}
	r.tap.close()
}

// tap takes a copy of one request and its answer as they pass. It is to recording what a flight is to shadowing, and has no
// part in that.
type tap struct {
	proxy   *Proxy
	account account
	started time.Time // when the primary was asked

	mu       sync.Mutex // guards what follows
	rec      Recording
	length   int64 // of the request body; -1: unknown
	request  capture
	whole    bool // the request body was read to its end
	answer   capture
	answered bool // the answer is whole
	endless  bool
}

// newTap begins to record a request, if it is to be.
func (p *Proxy) newTap(v *visit, now time.Time) *tap {
	cfg, r := &v.setup.cfg.Record, v.in
	if cfg.Dir == "" || p.deps.Record == nil {
		return nil
	}
	p.recordings.wanted.Store(true)
	if r.Method == http.MethodConnect || upgrades(r) || r.Header["X-Shadow-Request"] != nil || !p.recordings.sampler.next(cfg.Sample) {
		return nil
	}
	p.recordings.sampled.Add(1)
	t := &tap{proxy: p, length: r.ContentLength}
	t.account.memory = &p.recordings.memory
	t.request = capture{account: &t.account, limit: int64(cfg.MaxBody)}
	t.answer = capture{account: &t.account, limit: int64(cfg.MaxBody), digest: true}
	t.rec = Recording{proxy: p, tap: t, Exchange: Exchange{
		ID: newID(), Time: now, Request: Request{Method: r.Method, Target: rawTarget(r), Host: r.Host},
	}}
	if v.flight != nil {
		t.rec.ID = v.flight.ex.ID // as on its sample
	}
	return t
}

// sent tells what the primary is about to be asked.
func (t *tap) sent(out *http.Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rec.Request.Host, t.started = out.Host, time.Now()
	t.rec.Request.Header = recordedHeader(out.Header)
	switch {
	case t.length == 0:
		t.whole = true
	case t.length > t.request.limit:
		t.request.over = true
	default:
		t.request.expect(t.length, firstRoom)
	}
}

// recordedHeader is a header as the primary sees it, without what net/http is told by it and what frames the body.
func recordedHeader(from http.Header) http.Header {
	h := from.Clone()
	if agent := h[strings.ToLower("User-Agent")]; agent != nil { // several, or one that is empty: see header
		h["User-Agent"] = agent
	} else if h.Get("User-Agent") == "" {
		delete(h, "User-Agent")
	}
	for _, name := range [...]string{"user-agent", "content-length", "Content-Length", "Expect", "Te"} {
		delete(h, name)
	}
	return h
}

// requestRead takes what the primary's transport has read of the request body.
func (t *tap) requestRead(p []byte, err error, trailer http.Header) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.whole {
		return
	}
	t.request.write(p)
	if err == io.EOF || t.request.size == t.length {
		t.whole = true
		t.rec.Request.Trailer = trailer.Clone()
	}
}

// head takes the head of the answer.
func (t *tap) head(res *http.Response) {
	t.mu.Lock()
	defer t.mu.Unlock()
	primary := &t.rec.Responses[Primary]
	primary.Status, primary.Header = res.StatusCode, res.Header.Clone()
	if t.endless = endless(res.Header.Get("Content-Type")); !t.endless {
		t.answer.expect(res.ContentLength, answerRoom)
	}
}

// answerRead takes what the client is about to get.
func (t *tap) answerRead(p []byte, err error, res *http.Response) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.endless || t.answered {
		return
	}
	t.answer.write(p)
	if t.answered = err == io.EOF; t.answered {
		primary := &t.rec.Responses[Primary]
		primary.Outcome, primary.Trailer, primary.Duration = OutcomeOK, res.Trailer.Clone(), time.Since(t.started)
	}
}

// left is told that the client's request is over, and hands the recording on; gone says that the client was the one to end
// it, and begun that an answer had begun.
func (t *tap) left(gone, begun bool) {
	t.mu.Lock()
	reason := t.unfit(gone, begun)
	t.whole, t.answered = true, true // nothing more is taken
	if reason == "" {
		req, res := &t.rec.Request, &t.rec.Responses[Primary]
		req.Body, t.rec.RequestCut = t.request.body, t.request.over
		res.Body, res.Size, res.Over = t.answer.body, t.answer.size, t.answer.over
		if t.answer.hash != nil {
			t.answer.hash.Sum(res.Hash[:0])
		}
		t.rec.ResponseCut = res.Over
	}
	t.mu.Unlock()
	if reason != "" {
		t.rec.Done(reason)
		return
	}
	t.proxy.deps.Record(&t.rec)
}

// unfit says why there is nothing to record, if there is not. The caller holds mu.
func (t *tap) unfit(gone, begun bool) Reason {
	switch {
	case t.endless:
		return ReasonStream
	case gone && !t.answered:
		return ReasonClientAborted
	case !begun || !t.answered:
		return ReasonPrimaryFailed
	case !t.whole && !t.request.over:
		return ReasonRequestIncomplete
	case t.request.lost || t.answer.lost || !t.account.take(headerSize(t.rec.Request.Header)+headerSize(t.rec.Responses[Primary].Header)):
		return ReasonMemory
	}
	return ""
}

// close gives back what was captured.
func (t *tap) close() {
	stock := &t.account.memory.stock
	stock.give(t.request.body)
	stock.give(t.answer.body)
	t.request.body, t.answer.body = nil, nil
	t.account.close()
}
