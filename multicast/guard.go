package multicast

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// GuardConfig are the limits beyond which shadowing pauses by itself. Each at 0 is not watched.
type GuardConfig struct {
	PrimaryP99    time.Duration `yaml:"primary_p99"`    // of the time to the head of an answer
	PrimaryErrors Share         `yaml:"primary_errors"` // share of answers that are 5xx, or do not come
	Memory        Size          `yaml:"memory"`         // of this process
	CPU           Share         `yaml:"cpu"`            // of the processors that this process may use (GOMAXPROCS)
}

// Watches reports whether any limit is set.
func (c GuardConfig) Watches() bool { return c != GuardConfig{} }

// primary reports whether the client's path has to be watched.
func (c GuardConfig) primary() bool { return c.PrimaryP99 > 0 || c.PrimaryErrors > 0 }

// leastMemory is less than any process of this kind takes: a limit below it has lost its unit.
const leastMemory = 16 * MiB

func (c GuardConfig) validate(f *faults) {
	f.notNegative("guard.primary_p99", c.PrimaryP99)
	if c.PrimaryErrors > Whole {
		f.add("guard.primary_errors", "must be at most 100%%, is %s", c.PrimaryErrors)
	}
	if c.Memory != 0 && c.Memory < leastMemory {
		f.add("guard.memory", "must be 0 or at least %s, is %s", leastMemory, c.Memory)
	}
	if c.CPU > Whole {
		f.add("guard.cpu", "must be at most 100%%, is %s", c.CPU)
	}
}

// limit is the bound of one watched figure, in the figure's unit; 0: it is not watched.
func (c GuardConfig) limit(w watched) float64 {
	switch w {
	case watchedP99:
		return c.PrimaryP99.Seconds()
	case watchedErrors:
		return float64(c.PrimaryErrors) / float64(Whole)
	case watchedMemory:
		return float64(c.Memory)
	}
	return float64(c.CPU) / float64(Whole)
}

// The guard's times.
const (
	guardLook  = time.Second      // from one look to the next
	guardOver  = 10 * time.Second // over a limit at every look for so long: shadowing pauses
	guardCalm  = 60 * time.Second // over none at any look for so long: it goes on
	guardAlone = 30 * time.Second // over a limit so long after the last shadow ended: that is not the shadows' doing
	memoryBack = 2 * time.Minute  // the same for memory, which the runtime gives back slowly
)

// guard pauses shadowing while the primary or this process is over a limit: it looks once a second at what the client's
// path has counted, and at the process.
//
//	quiet ──over a limit for 10 s──► paused ──over none for 60 s──► quiet
//
// What is in flight, and what waits already, is left to finish.
type guard struct {
	proxy *Proxy
	pulse pulse
	usage func() usage     // of the process, now
	ticks <-chan time.Time // when to look; nil: each second

	pulses []beat  // at the last looks, the latest last
	usages []usage // likewise
	turns  chan Turn

	mu     sync.Mutex // guards what follows
	limits GuardConfig
	figure [watchedCount]figure
	over   [watchedCount]time.Time // since when it is over its limit at every look; zero: it is not
	caused [watchedCount]bool      // shadowing is paused for it
	pauses [watchedCount]int64     // since the process started
	since  time.Time               // of the pause; zero: there is none
	last   time.Time               // when any was over its limit
	quiet  time.Time               // since when no shadow is in flight; zero: one is
	alone  bool                    // over a limit without shadows
}

// Guard is the state of the guard.
type Guard struct {
	Paused bool       `json:"paused"`
	Since  *time.Time `json:"since"`  // of the pause; null: there is none
	Reason string     `json:"reason"` // why, for people; empty: it is not paused
	// Alone says that a limit was crossed still when no shadow had been in flight for 30 s: it is not the shadows' doing.
	Alone  bool         `json:"over_without_shadows"`
	Limits []GuardLimit `json:"limits"`
}

// GuardLimit is one limit that is set.
type GuardLimit struct {
	Name   string   `json:"limit"`  // its key below guard
	At     string   `json:"at"`     // the limit, as the configuration would have it
	Value  string   `json:"value"`  // as it is now; empty: too few requests to tell
	Used   *float64 `json:"used"`   // value as a share of the limit; null likewise
	Over   bool     `json:"over"`   // now
	Paused bool     `json:"paused"` // shadowing is paused for this one
	Pauses int64    `json:"pauses"` // since the process started
}

// Guard returns the guard's state, or nil where no limit is set.
func (p *Proxy) Guard() *Guard { return p.guard.read() }

func (g *guard) read() *Guard {
	limits := g.proxy.setup.Load().cfg.Guard
	g.mu.Lock()
	defer g.mu.Unlock()
	if !limits.Watches() {
		return nil
	}
	state := &Guard{Alone: g.alone, Limits: []GuardLimit{}}
	if !g.since.IsZero() {
		since := g.since.UTC()
		state.Paused, state.Since, state.Reason = true, &since, g.reason()
	}
	for w := range watchedCount {
		limit := limits.limit(w)
		if limit == 0 {
			continue
		}
		l := GuardLimit{Name: w.String(), At: w.text(limit), Over: g.figure[w].over, Paused: g.caused[w], Pauses: g.pauses[w]}
		if f := g.figure[w]; f.known {
			used := f.value / limit
			l.Value, l.Used = w.text(f.value), &used
		}
		state.Limits = append(state.Limits, l)
	}
	return state
}

// reason says why shadowing is paused. The caller holds mu.
func (g *guard) reason() string {
	var why []string
	for w, caused := range g.caused {
		if caused {
			why = append(why, g.told(watched(w)))
		}
	}
	text := strings.Join(why, ", ")
	if g.alone {
		text += "; still over the limit without shadows: it is not the shadows' doing"
	}
	return text
}

// told is one limit with its figure, in words. The caller holds mu.
func (g *guard) told(w watched) string {
	f, limit := g.figure[w], w.text(g.limits.limit(w))
	switch {
	case !f.known:
		return fmt.Sprintf("%s was over %s, and there are too few requests now to tell", w, limit)
	case f.over:
		return fmt.Sprintf("%s is %s, over %s", w, w.text(f.value), limit)
	}
	return fmt.Sprintf("%s was over %s and is %s", w, limit, w.text(f.value))
}

// run looks until ctx ends. What it decides is told from a goroutine of its own: whoever is told may wait for a disk.
func (g *guard) run(ctx context.Context) {
	var telling sync.WaitGroup
	telling.Go(func() {
		for turn := range g.turns {
			if told := g.proxy.deps.Turned; told != nil {
				told(turn)
			}
		}
	})
	ticks := g.ticks
	if ticks == nil {
		each := time.NewTicker(guardLook)
		defer each.Stop()
		ticks = each.C
	}
	var last time.Time
	for {
		select {
		case <-ctx.Done():
			close(g.turns)
			telling.Wait()
			return
		case now := <-ticks:
			g.look(now)
			if !last.IsZero() {
				g.proxy.climb(now.Sub(last), g.calm())
			}
			last = now
		}
	}
}

// turn tells of what was decided; where nobody has listened for very long, the log alone has it.
func (g *guard) turn(by, text string) {
	select {
	case g.turns <- Turn{Time: time.Now().UTC(), By: by, Text: text}:
	default:
	}
}

// Turn is something that the proxy has decided by itself.
type Turn struct {
	Time time.Time
	By   string // "guard" or "ramp"
	Text string // what, for people
}

// calm reports whether shadowing is not paused and nothing is over its limit.
func (g *guard) calm() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, f := range g.figure {
		if f.over {
			return false
		}
	}
	return g.since.IsZero()
}

// look reads the figures, and pauses shadowing or lets it go on.
func (g *guard) look(now time.Time) {
	setup, shadowing := g.proxy.setup.Load(), g.proxy.shadowing.Load()
	limits := setup.cfg.Guard
	figures := g.measure(limits)
	idle := g.proxy.counters.legs[Secondary].inFlight.Load()+g.proxy.counters.legs[Candidate].inFlight.Load() == 0
	g.mu.Lock()
	g.limits, g.figure = limits, figures
	g.note(now, shadowing.on(), idle)
	event := g.decide(now, limits)
	paused := !g.since.IsZero()
	g.mu.Unlock()
	g.proxy.setGuarded(paused)
	if event.text == "" {
		return
	}
	g.proxy.log.Log(context.Background(), event.level, event.message, event.attrs...)
	g.turn("guard", event.text)
	if event.began {
		g.proxy.stepBack()
	}
}

// note takes down since when what is the case. The caller holds mu.
func (g *guard) note(now time.Time, on, idle bool) {
	for w, f := range g.figure {
		if f.over {
			g.last = now
		}
		switch {
		case !f.over, !on && g.since.IsZero(): // without shadows there is nothing to pause
			g.over[w] = time.Time{}
		case g.over[w].IsZero():
			g.over[w] = now
		}
	}
	switch {
	case !idle:
		g.quiet = time.Time{}
	case g.quiet.IsZero():
		g.quiet = now
	}
}

// event is what a look has come to.
type event struct {
	began         bool // a pause
	level         slog.Level
	message, text string // for the log, and for people
	attrs         []any
}

// decide pauses, goes on, or finds that the shadows are not to blame. The caller holds mu.
func (g *guard) decide(now time.Time, limits GuardConfig) event {
	paused := !g.since.IsZero()
	for w := range watchedCount {
		if limits.limit(w) == 0 {
			g.caused[w] = false // the limit was taken away
		}
		if since := g.over[w]; !since.IsZero() && now.Sub(since) >= guardOver && !g.caused[w] {
			g.caused[w] = true
			g.pauses[w]++
			if g.since.IsZero() {
				g.since = now
			}
		}
	}
	switch {
	case !paused && !g.since.IsZero():
		g.alone = false
		return event{
			began: true, level: slog.LevelWarn, message: "guard pauses shadowing", text: "paused shadowing: " + g.reason(),
			attrs: []any{slog.String("reason", g.reason())},
		}
	case paused && (now.Sub(g.last) >= guardCalm || g.caused == [watchedCount]bool{}):
		took := now.Sub(g.since)
		g.since, g.alone, g.caused = time.Time{}, false, [watchedCount]bool{}
		return event{
			level: slog.LevelInfo, message: "guard lets shadowing go on", text: "let shadowing go on after " + shortDuration(took.Round(time.Second)),
			attrs: []any{slog.Duration("duration", took)},
		}
	case paused && !g.alone && g.blameless(now):
		g.alone = true
		return event{
			level: slog.LevelWarn, message: "still over the limit without shadows: it is not the shadows' doing", text: "shadowing is paused: " + g.reason(),
			attrs: []any{slog.String("reason", g.reason())},
		}
	}
	return event{}
}

// blameless reports whether what keeps shadowing paused is over its limit though no shadow can be the cause. The caller
// holds mu.
func (g *guard) blameless(now time.Time) bool {
	for w, caused := range g.caused {
		after := guardAlone
		if watched(w) == watchedMemory {
			after = memoryBack
		}
		if caused && g.figure[w].over && !g.quiet.IsZero() && min(now.Sub(g.quiet), now.Sub(g.since)) >= after {
			return true
		}
	}
	return false
}
