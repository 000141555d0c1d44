package multicast

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// paced is a proxy whose shadows take their time, in a bubble's clock and without a socket.
type paced struct {
	t     *testing.T
	proxy *Proxy
	end   context.CancelFunc
	ended chan struct{}
	takes atomic.Int64 // of a leg; ns

	mu    sync.Mutex
	begun []beginning // of the candidate's legs
}

type beginning struct {
	name string
	at   time.Time
}

func newPaced(t *testing.T, places int, takes time.Duration) *paced {
	cfg := DefaultConfig()
	cfg.Primary, cfg.Secondary, cfg.Candidate = "http://127.0.0.1:1", "http://127.0.0.1:2", "http://127.0.0.1:3"
	cfg.Shadow.Concurrency, cfg.Shadow.Queue, cfg.Shadow.Timeout = places, 1000, time.Minute
	proxy, err := New(cfg, Deps{})
	if err != nil {
		t.Fatal(err)
	}
	p := &paced{t: t, proxy: proxy, ended: make(chan struct{})}
	p.takes.Store(int64(takes))
	setup := proxy.setup.Load()
	for _, role := range setup.roles {
		setup.shadows[role].way = &pacedWay{p, role}
	}
	ctx, cancel := context.WithCancel(t.Context())
	p.end = cancel
	go func() {
		_ = proxy.Run(ctx)
		close(p.ended)
	}()
	<-proxy.Running()
	return p
}

// offer brings a request whose primary has answered.
func (p *paced) offer(name string) *flight {
	setup := p.proxy.setup.Load()
	f := &flight{proxy: p.proxy, setup: setup, route: setup.rest, header: http.Header{}, url: &url.URL{}, path: "/", whole: true, answered: true}
	f.account.memory = &p.proxy.memory
	f.ex.ID, f.ex.Request = name, Request{Method: "GET", Target: "/"}
	f.ex.Responses[Primary].Outcome = OutcomeOK
	p.proxy.counters.open.Add(1)
	p.proxy.dispatcher.offer(f)
	return f
}

func (p *paced) offerMany(n int) {
	for i := range n {
		p.offer(strconv.Itoa(i))
	}
}

// beginnings are those until now.
func (p *paced) beginnings() []beginning {
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]beginning(nil), p.begun...)
}

// stop ends Run, and checks that nothing is left.
func (p *paced) stop() {
	p.t.Helper()
	p.end()
	<-p.ended
	if c := p.proxy.Counts(); c.Open != 0 || c.Queue != 0 || c.CapturedBytes != 0 || c.InFlight["candidate"] != 0 {
		p.t.Errorf("left is %+v", c)
	}
	if p.ticks() {
		p.t.Error("the timer has outlived Run")
	}
}

// ticks reports whether the pace's timer ran, and stops it.
func (p *paced) ticks() bool {
	p.proxy.dispatcher.mu.Lock()
	defer p.proxy.dispatcher.mu.Unlock()
	timer := p.proxy.dispatcher.pace.timer
	return timer != nil && timer.Stop()
}

// pacedWay answers after a time.
type pacedWay struct {
	of   *paced
	role Role
}

func (w *pacedWay) ask(f *flight, _ time.Time, on *progress) (*http.Response, error) {
	on.connected(false)
	if w.role == Candidate {
		w.of.mu.Lock()
		w.of.begun = append(w.of.begun, beginning{f.ex.ID, time.Now()})
		w.of.mu.Unlock()
	}
	ctx, cancel := f.recall.context(w.role)
	defer cancel()
	select {
	case <-time.After(time.Duration(w.of.takes.Load())):
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: http.NoBody}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (w *pacedWay) close()  {}
func (w *pacedWay) forget() {}

// Legs that began in one instant end in one instant: what waits for their places begins one by one, in order, all of it, and
// about as fast as the places allow.
func TestPaceDissolvesABurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const places, all, takes = 8, 108, 160 * time.Millisecond
		p := newPaced(t, places, takes)
		start := time.Now()
		p.offerMany(all)
		if n := len(p.beginnings()); n != places {
			t.Fatalf("%d have begun at once", n)
		}
		time.Sleep((all/places + 2) * takes)
		begun := p.beginnings()
		if len(begun) != all {
			t.Fatalf("%d have begun", len(begun))
		}
		for i, b := range begun[places:] {
			if before := begun[places+i-1]; b.name != strconv.Itoa(places+i) || b.at.Sub(before.at) < paceShortest {
				t.Errorf("%s begins %s after %s", b.name, b.at.Sub(before.at), before.name)
			}
		}
		if first := begun[places].at.Sub(start); first != takes {
			t.Errorf("the first place is empty until %s", first)
		}
		p.stop()
	})
}

// A gap that is not worth a timer is none: places are taken in the instant in which they are free.
func TestFastShadowsHaveNoPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const places, all, takes = 8, 800, time.Millisecond
		p := newPaced(t, places, takes)
		start := time.Now()
		p.offerMany(all)
		time.Sleep(all / places * takes)
		begun := p.beginnings()
		if len(begun) != all {
			t.Fatalf("%d have begun", len(begun))
		}
		if last := begun[all-1].at.Sub(start); last != (all/places-1)*takes {
			t.Errorf("the last begins after %s", last)
		}
		p.stop()
	})
}

// Shadows that have hung and are fast again are soon asked as fast as they answer, also where there is one place.
func TestPaceForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const slow, fast = 40, 900
		p := newPaced(t, 1, 10*time.Second)
		p.proxy.setup.Load().rest.timeout[Candidate] = time.Hour // the queue's patience
		p.offerMany(slow)
		time.Sleep(slow * 11 * time.Second)
		if n := len(p.beginnings()); n != slow {
			t.Fatalf("%d have begun", n)
		}
		p.takes.Store(int64(50 * time.Microsecond))
		p.offerMany(fast)
		time.Sleep(2 * time.Second)
		if n := len(p.beginnings()); n != slow+fast {
			t.Errorf("%d of %d have begun", n-slow, fast)
		}
		p.stop()
	})
}

// Who finds nobody waiting and a place free begins at once, whatever the pace is.
func TestPaceIsForThoseWhoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPaced(t, 2, time.Second)
		p.offerMany(5)
		time.Sleep(3 * time.Second) // the fifth has begun, and its place is free
		p.takes.Store(int64(time.Hour))
		p.proxy.dispatcher.mu.Lock()
		p.proxy.dispatcher.pace.next = time.Now().Add(time.Hour)
		p.proxy.dispatcher.mu.Unlock()
		p.offer("late")
		if begun := p.beginnings(); len(begun) != 6 || begun[5].name != "late" || !begun[5].at.Equal(time.Now()) {
			t.Errorf("begun is %v", begun)
		}
		p.proxy.dispatcher.turn(false)
		p.stop()
	})
}

// waitingForThePace is a proxy in which a place is free and two exchanges wait for the pace alone.
func waitingForThePace(t *testing.T) (p *paced, waiting []*flight) {
	p = newPaced(t, 2, time.Second)
	for i := range 5 {
		if f := p.offer(strconv.Itoa(i)); i > 2 {
			waiting = append(waiting, f)
		}
	}
	time.Sleep(time.Second)
	if n := len(p.beginnings()); n != 3 {
		t.Fatalf("%d have begun", n)
	}
	if c := p.proxy.Counts(); c.Queue != 2 || c.InFlight["candidate"] != 1 {
		t.Fatalf("counts are %+v", c)
	}
	return p, waiting
}

// Switched off, what waits for the pace is dropped, and no timer is left.
func TestSwitchEndsThePace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := waitingForThePace(t)
		p.proxy.dispatcher.turn(false)
		if p.ticks() {
			t.Error("the timer runs on")
		}
		time.Sleep(time.Minute)
		if c := p.proxy.Counts(); len(p.beginnings()) != 3 || c.Dropped[ReasonDisabled] != 2 || c.Unknown[ReasonCancelled] != 1 || c.Open != 0 {
			t.Errorf("counts are %+v", c)
		}
		p.stop()
	})
}

// Run's end drops what waits for the pace, as whatever waits; its timer is gone with it.
func TestPaceEndsWithRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := waitingForThePace(t)
		p.stop()
		if c := p.proxy.Counts(); len(p.beginnings()) != 3 || c.Dropped[ReasonDisabled] != 2 || c.Compared != 3 {
			t.Errorf("counts are %+v", c)
		}
	})
}

// The one for whom the timer was set may leave: the one behind it still begins.
func TestPaceOutlivesItsFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, waiting := waitingForThePace(t)
		waiting[0].fail(ReasonClientAborted)
		time.Sleep(paceLongest)
		if begun := p.beginnings(); len(begun) != 4 || begun[3].name != "4" {
			t.Errorf("begun is %v", begun)
		}
		time.Sleep(time.Minute)
		if c := p.proxy.Counts(); c.Compared != 4 || c.Skipped[ReasonClientAborted] != 1 || c.Open != 0 {
			t.Errorf("counts are %+v", c)
		}
		p.stop()
	})
}

// The same on real sockets: shadows that all answer in one instant, over and over, leave nothing waiting.
func TestPacedShadows(t *testing.T) {
	const places, rounds = 4, 5
	asked, release := make(chan struct{}, 100), make(chan struct{})
	s := newStage(t, map[Role]http.HandlerFunc{Secondary: hanging(release, asked), Candidate: hanging(release, asked)}, func(c *Config) {
		c.Shadow.Concurrency, c.Shadow.Queue, c.Shadow.Timeout = places, places*rounds, patience
	})
	s.proxy.dispatcher.mu.Lock()
	s.proxy.dispatcher.pace.took = [3]time.Duration{Secondary: patience, Candidate: patience} // as if they had been slow for long
	s.proxy.dispatcher.mu.Unlock()
	for range places * rounds {
		s.get("/a")
	}
	for range rounds {
		for range 2 * places {
			await(t, "a shadow is asked", asked)
		}
		if in := s.proxy.Counts().InFlight; in["candidate"] != places || in["secondary"] != places {
			t.Errorf("in flight are %v", in)
		}
		for range 2 * places {
			release <- struct{}{}
		}
	}
	s.counts(Counts{Requests: places * rounds, Exchanged: places * rounds, Compared: places * rounds})
	s.proxy.dispatcher.mu.Lock()
	defer s.proxy.dispatcher.mu.Unlock()
	if s.proxy.dispatcher.pace.timer == nil {
		t.Error("nothing has waited for the pace")
	}
}
