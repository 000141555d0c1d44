// Package replay asks recorded requests again, at the pace at which they were recorded or another.
//
//	files ──► traffic.Reader ──► chosen? ──► pace ──► journal ──► Play
//	             │                  │
//	             bad lines          left out, counted by reason
//
// A request stands in the journal before it is asked. So a replay that is interrupted, or killed, goes on where it was and
// asks nothing twice.
package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"shadowdiff/multicast"
	"shadowdiff/traffic"
)

// Config is what is replayed, and how.
type Config struct {
	Files       []string
	Format      traffic.Format // of all of them; empty: each tells its own
	Choice      Choice
	Header      Rewrite
	Pace        Pace
	Loop        bool  // begin again at the end
	Limit       int64 // so many requests are asked; 0: all
	Concurrency int   // requests under way
	Recorded    bool  // the recorded answer stands for the primary's
}

// Play asks one request, and returns when what came of it is counted; the reason says why it is not compared. With an
// answer the primary is not asked.
type Play func(ctx context.Context, req *multicast.Request, answer *multicast.Response) multicast.Reason

// Replay is one replay. Run may be called once; Progress at any time.
type Replay struct {
	cfg     Config
	play    Play
	journal *Journal
	onBad   func(*traffic.Bad)
	sizes   []int64 // of the files; -1: not known
	clock   clock

	failing atomic.Int64 // requests running to which the primary gave no answer
	down    chan struct{}
	once    sync.Once

	mu       sync.Mutex // guards what follows
	counts   Counts
	done     int64 // bytes of files that were read to their end, in this pass
	reader   *traffic.Reader
	progress meter
}

// Counts are what became of the lines of the files.
type Counts struct {
	Read     int64                      // requests that the files hold, each pass
	Bad      int64                      // lines that hold none
	Before   int64                      // asked by what this replay resumes
	Asked    int64                      // by this one
	Compared int64                      // of these
	Unknown  map[multicast.Reason]int64 // of these: not compared, by reason
	LeftOut  map[string]int64           // by reason: one of ours, or that of Play for which nobody was asked
	Redacted map[string]int64           // asked without what was taken out when they were recorded: by header, or "query", or "body"
	Passes   int64
	Behind   time.Duration    // that the pace could not be kept, altogether
	Hosts    map[string]int64 // asked, by host

	spared int64 // of LeftOut, those that Play has left out: it was their turn, as for those that were asked
}

// taken are the requests whose turn it was.
func (c *Counts) taken() int64 { return c.Asked + c.spared }

// maxHosts bounds the hosts that are counted.
const maxHosts = 1000

// ErrPrimary is why a replay ends before its time: the primary answers nothing.
var ErrPrimary = errors.New("the primary gives no answer")

// downAfter is how many requests running the primary may leave without an answer.
const downAfter = 20

// Check opens each file. It fails where a file cannot be read, where its format cannot be told, and where it can be read once
// only and is to be repeated.
func (c *Config) Check() error {
	for _, name := range c.Files {
		if sizeOf(name) < 0 {
			if c.Loop {
				return fmt.Errorf("%s can be read once only: it cannot be repeated (-loop)", name)
			}
			continue
		}
		reader, err := traffic.Open(name, c.Format)
		if err != nil {
			return err
		}
		if err := reader.Close(); err != nil {
			return err
		}
	}
	return nil
}

// AsksNothing tells that the files hold no request that may be asked. It reads until the first that may; of a file that can
// be read once only nobody knows, and of one that cannot be read the replay is to tell.
func (c *Config) AsksNothing(ctx context.Context) bool {
	for _, name := range c.Files {
		if sizeOf(name) < 0 || !c.leavesOut(ctx, name) {
			return false
		}
	}
	return true
}

// leavesOut tells that no request of a file may be asked.
func (c *Config) leavesOut(ctx context.Context, name string) bool {
	reader, err := traffic.Open(name, c.Format)
	if err != nil {
		return false
	}
	defer reader.Close()
	for ctx.Err() == nil {
		rec, err := reader.Next()
		if err == io.EOF {
			return true
		}
		if _, bad := errors.AsType[*traffic.Bad](err); bad {
			continue
		}
		if err != nil || c.leftOut(rec) == "" {
			return false
		}
	}
	return false
}

// sizeOf is how long a file is; below 0 for what is no regular one.
func sizeOf(name string) int64 {
	if about, err := os.Stat(name); name != "-" && err == nil && about.Mode().IsRegular() {
		return about.Size()
	}
	return -1
}

// New readies a replay. The journal tells where it begins; onBad, which may be nil, is told of each line that holds no
// request.
func New(cfg Config, play Play, journal *Journal, onBad func(*traffic.Bad)) *Replay {
	r := &Replay{
		cfg: cfg, play: play, journal: journal, onBad: onBad, down: make(chan struct{}),
		counts: Counts{
			Unknown: map[multicast.Reason]int64{}, LeftOut: map[string]int64{}, Redacted: map[string]int64{}, Hosts: map[string]int64{},
		},
	}
	for _, name := range cfg.Files {
		r.sizes = append(r.sizes, sizeOf(name))
	}
	return r
}

// Run asks until the files are at their end or ctx ends, and waits for what is under way. It answers nil when all was
// asked, the error of ctx when that ended first, and ErrPrimary.
func (r *Replay) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var asking sync.WaitGroup
	defer asking.Wait()
	slots := make(chan struct{}, max(1, r.cfg.Concurrency))
	r.begin()
	for {
		before := r.count(func(c *Counts) { c.Passes++ })
		for i, name := range r.cfg.Files {
			err := r.file(ctx, name, slots, &asking)
			if errors.Is(err, errLimit) {
				return nil
			}
			if err != nil {
				return err
			}
			r.mu.Lock()
			r.done += max(0, r.sizes[i])
			r.mu.Unlock()
		}
		after := r.Counts()
		if !r.cfg.Loop || after.Asked+after.Before == before.Asked+before.Before {
			return nil
		}
		r.mu.Lock()
		r.done = 0
		r.mu.Unlock()
		r.clock.anew()
	}
}

// errLimit ends a replay that has asked as many as it was to.
var errLimit = errors.New("the limit is reached")

// file replays one file.
func (r *Replay) file(ctx context.Context, name string, slots chan struct{}, asking *sync.WaitGroup) error {
	reader, err := traffic.Open(name, r.cfg.Format)
	if err != nil {
		return err
	}
	defer reader.Close()
	r.mu.Lock()
	r.reader = reader
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		r.reader = nil
		r.mu.Unlock()
	}()
	for ctx.Err() == nil {
		rec, err := reader.Next()
		if bad, is := errors.AsType[*traffic.Bad](err); is {
			if r.count(func(c *Counts) { c.Bad++ }); r.onBad != nil {
				r.onBad(bad)
			}
			continue
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := r.next(ctx, rec, slots, asking); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// next asks one request, when its time has come and there is room.
func (r *Replay) next(ctx context.Context, rec *traffic.Record, slots chan struct{}, asking *sync.WaitGroup) error {
	select {
	case <-r.down:
		return ErrPrimary
	default:
	}
	counts := r.count(func(c *Counts) { c.Read++ })
	if reason := r.cfg.leftOut(rec); reason != "" {
		r.count(func(c *Counts) { c.LeftOut[reason]++ })
		return nil
	}
	if r.cfg.Limit > 0 && counts.Before+counts.taken() >= r.cfg.Limit {
		return errLimit
	}
	if counts.Read <= r.journal.begin {
		r.count(func(c *Counts) { c.Before++ })
		return nil
	}
	select {
	case slots <- struct{}{}:
	case <-r.down:
		return ErrPrimary
	case <-ctx.Done():
		return ctx.Err()
	}
	behind, err := r.clock.wait(ctx, r.cfg.Pace, rec.Time)
	if err == nil {
		err = r.journal.mark(counts.Read)
	}
	if err != nil {
		<-slots
		return err
	}
	r.count(func(c *Counts) {
		c.Asked++
		c.Behind += behind
		if _, known := c.Hosts[rec.Request.Host]; known || len(c.Hosts) < maxHosts {
			c.Hosts[rec.Request.Host]++
		}
	})
	r.first()
	asking.Go(func() {
		defer func() { <-slots }()
		r.ask(rec)
	})
	return nil
}

// ask plays one request. It is not called back when the replay is interrupted: its time is short, and it is asked once.
func (r *Replay) ask(rec *traffic.Record) {
	req := request(&rec.Request)
	redacted := r.cfg.Header.apply(req)
	var answer *multicast.Response
	if r.cfg.Recorded {
		answer = response(rec.Answer)
	}
	reason := r.play(context.Background(), req, answer)
	r.count(func(c *Counts) {
		switch {
		case reason == "":
			c.Compared++
		case spared(reason):
			c.Asked, c.spared = c.Asked-1, c.spared+1
			c.LeftOut[string(reason)]++
			return
		default:
			c.Unknown[reason]++
		}
		for _, place := range redacted {
			c.Redacted[place]++
		}
	})
	if reason != multicast.ReasonPrimaryFailed {
		r.failing.Store(0)
	} else if r.failing.Add(1) >= downAfter {
		r.once.Do(func() { close(r.down) })
	}
}

// The reasons for which a request is left out.
const (
	LeftOutMethod   = "method"
	LeftOutMatch    = "match"
	LeftOutBody     = "body not recorded"
	LeftOutAnswer   = "answer not recorded"
	LeftOutUpgrades = "another protocol"
)

// spared tells whether a reason that Play gives is the request's own, for which nobody was asked.
func spared(reason multicast.Reason) bool {
	switch reason {
	case multicast.ReasonConnect, multicast.ReasonUpgrade, multicast.ReasonSignedIn, multicast.ReasonRoute, multicast.ReasonMethod,
		multicast.ReasonBodyTooLarge:
		return true
	}
	return false
}

// leftOut says why a request is not asked, as far as the file tells, if it is not.
func (c *Config) leftOut(rec *traffic.Record) string {
	switch reason := c.Choice.leftOut(&rec.Request); {
	case reason != "":
		return reason
	case rec.Request.Cut:
		return LeftOutBody
	case c.Recorded && (rec.Answer == nil || rec.Answer.Cut):
		return LeftOutAnswer
	case rec.Answer != nil && rec.Answer.Status == 101:
		return LeftOutUpgrades
	}
	return ""
}

// count changes the counts, and returns them; the maps are the caller's to read only while it counts.
func (r *Replay) count(change func(*Counts)) Counts {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.counts)
	return r.counts
}

// Counts reads the counts.
func (r *Replay) Counts() Counts {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.counts
	c.Unknown, c.LeftOut = maps.Clone(c.Unknown), maps.Clone(c.LeftOut)
	c.Redacted, c.Hosts = maps.Clone(c.Redacted), maps.Clone(c.Hosts)
	return c
}
