package multicast

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// guarded is a proxy whose guard looks in a bubble's clock. The primary is not asked: the test says how it answered.
type guarded struct {
	t     *testing.T
	proxy *Proxy
	log   *logBuffer
	use   atomic.Pointer[usage]
	mu    sync.Mutex // guards turns
	turns []Turn
	end   func()
}

func newGuarded(t *testing.T, configure func(*Config)) *guarded {
	g := &guarded{t: t, log: &logBuffer{}}
	cfg := DefaultConfig()
	cfg.Primary, cfg.Secondary, cfg.Candidate = "http://127.0.0.1:1", "http://127.0.0.1:2", "http://127.0.0.1:3"
	configure(&cfg)
	var err error
	g.proxy, err = New(cfg, Deps{
		Log: slog.New(slog.NewTextHandler(g.log, nil)),
		Turned: func(turn Turn) {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.turns = append(g.turns, turn)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	g.use.Store(&usage{memory: 1, cpu: 1, processors: 1})
	g.proxy.guard.usage = func() usage {
		now := *g.use.Load()
		now.at = time.Now()
		return now
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		_ = g.proxy.Run(ctx)
		close(ended)
	}()
	<-g.proxy.Running()
	g.end = func() {
		cancel()
		<-ended
	}
	return g
}

// answers has the primary answer so many requests a second for so long, each in such a time, failed or not.
func (g *guarded) answers(seconds, rate int, took time.Duration, failed bool) {
	for range seconds {
		for range rate {
			g.proxy.guard.pulse.answered(took, failed)
		}
		time.Sleep(time.Second) // of the bubble
		synctest.Wait()
	}
}

func (g *guarded) paused(want bool, when string) {
	g.t.Helper()
	state := g.proxy.Guard()
	if got := g.proxy.shadowing.Load().guarded; got != want || state.Paused != want || (state.Since != nil) != want || (state.Reason != "") != want {
		g.t.Errorf("%s: paused %t, state %+v", when, got, state)
	}
}

// told are the texts of what was decided until now.
func (g *guarded) told() (texts []string) {
	synctest.Wait()
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, turn := range g.turns {
		texts = append(texts, turn.By+" "+turn.Text)
	}
	return texts
}

func p99Of(limit time.Duration) func(*Config) {
	return func(cfg *Config) { cfg.Guard.PrimaryP99 = limit }
}

// A primary that is slow for 10 s pauses shadowing, and 60 s of calm end that. Each is told once.
func TestGuardPausesAndComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuarded(t, p99Of(300*time.Millisecond))
		defer g.end()
		g.answers(30, 50, 20*time.Millisecond, false)
		g.paused(false, "while all is well")
		g.answers(9, 50, 400*time.Millisecond, false)
		g.paused(false, "after 9 s")
		g.answers(3, 50, 400*time.Millisecond, false)
		g.paused(true, "after 12 s")
		if r := g.proxy.Guard().Reason; r != "primary_p99 is 398ms, over 300ms" {
			t.Errorf("reason %q", r)
		}
		g.answers(59, 50, 20*time.Millisecond, false)
		g.paused(true, "before 60 s of calm")
		g.answers(10, 50, 20*time.Millisecond, false)
		g.paused(false, "after 60 s of calm")
		told := g.told()
		if len(told) != 2 || !strings.HasPrefix(told[0], "guard paused shadowing: primary_p99 is ") || !strings.HasPrefix(told[1], "guard let shadowing go on after 1m") {
			t.Errorf("told %q", told)
		}
		if log := g.log.String(); strings.Count(log, "guard pauses shadowing") != 1 || strings.Count(log, "guard lets shadowing go on") != 1 {
			t.Errorf("the log:\n%s", log)
		}
		if l := g.proxy.Guard().Limits; len(l) != 1 || l[0].Name != "primary_p99" || l[0].At != "300ms" || l[0].Pauses != 1 || l[0].Paused || l[0].Over {
			t.Errorf("limits %+v", l)
		}
	})
}

// What is short, rare or of too few requests pauses nothing.
func TestGuardIsPatient(t *testing.T) {
	const fast, slow = 20 * time.Millisecond, 400 * time.Millisecond
	for name, traffic := range map[string]func(*guarded){
		"no requests":    func(g *guarded) { g.answers(60, 0, 0, false) },
		"a burst of 5 s": func(g *guarded) { g.answers(5, 50, slow, true); g.answers(30, 50, fast, false) },
		"bursts": func(g *guarded) {
			for range 10 {
				g.answers(3, 50, slow, true)
				g.answers(7, 50, fast, false)
			}
		},
		"1 of 2 fails": func(g *guarded) {
			for range 30 {
				g.answers(1, 1, fast, false)
				g.answers(9, 0, 0, false)
				g.answers(1, 1, slow, true)
			}
		},
		"2 of 200 are bad": func(g *guarded) {
			for range 20 {
				g.answers(2, 1, slow, true)
				g.answers(3, 66, fast, false)
			}
		},
		"then nobody asks": func(g *guarded) { g.answers(4, 50, slow, true); g.answers(60, 0, 0, false) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGuarded(t, func(cfg *Config) { cfg.Guard.PrimaryP99, cfg.Guard.PrimaryErrors = 300*time.Millisecond, 1000 })
				defer g.end()
				traffic(g)
				if told := g.told(); len(told) > 0 {
					t.Errorf("told %q", told)
				}
			})
		})
	}
}

// An error share just over the limit is found, on little traffic too, and the figures are told.
func TestGuardOnErrors(t *testing.T) {
	for name, rate := range map[string]int{"50 a second": 50, "3 a second": 3} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGuarded(t, func(cfg *Config) { cfg.Guard.PrimaryErrors = 5000 }) // 5 %
				defer g.end()
				g.answers(30, rate, time.Millisecond, false)
				for range 40 {
					g.answers(1, rate-1, time.Millisecond, false)
					g.proxy.guard.pulse.answered(time.Millisecond, true)
					g.proxy.guard.pulse.answered(time.Millisecond, true)
					g.proxy.guard.pulse.answered(time.Millisecond, true)
				}
				g.paused(true, "after 40 s")
				if r := g.proxy.Guard().Reason; !strings.Contains(r, "primary_errors is ") || !strings.Contains(r, "%, over 5%") {
					t.Errorf("reason %q", r)
				}
			})
		})
	}
}

// Memory and processors are held to their limits likewise; what stays over it without shadows is not laid at their door.
func TestGuardOnTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuarded(t, func(cfg *Config) { cfg.Guard.Memory, cfg.Guard.CPU = 512*MiB, 80_000 })
		defer g.end()
		spend := func(seconds int, memory Size, share float64) {
			for range seconds {
				now := *g.use.Load()
				now.memory, now.processors = int64(memory), 4
				now.cpu += time.Duration(share * 4 * float64(time.Second))
				g.use.Store(&now)
				time.Sleep(time.Second)
				synctest.Wait()
			}
		}
		spend(20, 100*MiB, 0.5)
		g.paused(false, "at rest")
		spend(20, 100*MiB, 0.9)
		g.paused(true, "over the processors' limit")
		if r := g.proxy.Guard().Reason; r != "cpu is 90%, over 80%" {
			t.Errorf("reason %q", r)
		}
		spend(20, 600*MiB, 0.1)
		if r := g.proxy.Guard().Reason; r != "memory is 600MiB, over 512MiB, cpu was over 80% and is 10%" {
			t.Errorf("reason %q", r)
		}
		spend(130, 600*MiB, 0.1)
		if state := g.proxy.Guard(); !state.Paused || !state.Alone || !strings.HasSuffix(state.Reason, "it is not the shadows' doing") {
			t.Errorf("state %+v", state)
		}
		spend(70, 100*MiB, 0.1)
		g.paused(false, "at the end")
		if told := g.told(); len(told) != 3 || !strings.Contains(told[1], "not the shadows' doing") {
			t.Errorf("told %q", told)
		}
		if strings.Count(g.log.String(), "not the shadows' doing") != 2 { // the message and its reason, once
			t.Errorf("the log:\n%s", g.log)
		}
	})
}

// Without shadows there is nothing to pause, and a reload moves the limits.
func TestGuardFollowsTheSwitchAndTheConfiguration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuarded(t, p99Of(300*time.Millisecond))
		defer g.end()
		off, on := false, true
		g.proxy.SetShadowing(&off, nil)
		g.answers(30, 50, 400*time.Millisecond, false)
		g.paused(false, "switched off")
		g.proxy.SetShadowing(&on, nil)
		g.answers(12, 50, 400*time.Millisecond, false)
		g.paused(true, "switched on")
		cfg := g.proxy.setup.Load().cfg
		cfg.Guard.PrimaryP99 = 500 * time.Millisecond
		if err := g.proxy.Reconfigure(cfg, nil); err != nil {
			t.Fatal(err)
		}
		g.answers(62, 50, 400*time.Millisecond, false)
		g.paused(false, "under a wider limit")
		cfg.Guard.PrimaryP99 = 300 * time.Millisecond
		if err := g.proxy.Reconfigure(cfg, nil); err != nil {
			t.Fatal(err)
		}
		g.answers(12, 50, 400*time.Millisecond, false)
		g.paused(true, "under the narrow one again")
		cfg.Guard = GuardConfig{}
		if err := g.proxy.Reconfigure(cfg, nil); err != nil {
			t.Fatal(err)
		}
		g.answers(2, 50, 400*time.Millisecond, false)
		if g.proxy.Guard() != nil || g.proxy.shadowing.Load().guarded {
			t.Errorf("without a limit: %+v", g.proxy.Guard())
		}
	})
}

// On real sockets: the primary becomes slow, so shadowing pauses, which no client notices; when the primary has been quick
// for a minute it goes on.
func TestAGuardedPrimary(t *testing.T) {
	var slow, fails atomic.Bool
	ticks := make(chan time.Time)
	s := &stage{t: t, prepare: func(p *Proxy) { p.guard.ticks = ticks }}
	good := newHandlerServer(t, answer(200, "hello"))
	primary := newHandlerServer(t, func(w http.ResponseWriter, r *http.Request) {
		if slow.Load() {
			<-time.After(350 * time.Millisecond)
		}
		if fails.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_, _ = w.Write([]byte("hello"))
	})
	cfg := DefaultConfig()
	cfg.Primary, cfg.Secondary, cfg.Candidate = primary, good, good
	s.start(cfg, func(c *Config) { c.Guard.PrimaryP99, c.Guard.PrimaryErrors = 300*time.Millisecond, Whole/2 })
	now, asked := time.Now(), int64(0)
	second := func(requests int, want int) {
		var clients sync.WaitGroup
		for range requests {
			clients.Go(func() {
				if res, body := s.get("/a"); res.StatusCode != want || body != "hello" {
					t.Errorf("a client got %d %q", res.StatusCode, body)
				}
			})
		}
		clients.Wait()
		asked += int64(requests)
		s.eventually("all are counted", func() bool { b := s.proxy.guard.pulse.read(); return b.requests() == asked })
		now = now.Add(time.Second)
		ticks <- now
	}
	until := func(what string, most, requests, status int, holds func(Guard) bool) {
		t.Helper()
		for range most {
			if second(requests, status); holds(*s.proxy.Guard()) {
				return
			}
		}
		t.Fatalf("%s: not so after %d s: %+v", what, most, s.proxy.Guard())
	}
	for range 3 {
		second(30, 200)
	}
	if s.proxy.Counts().Exchanged == 0 {
		t.Fatal("no shadow was asked")
	}
	slow.Store(true)
	until("slow", 20, 10, 200, func(g Guard) bool { return g.Paused })
	s.eventually("what was in flight has ended", func() bool { return s.proxy.Counts().Open == 0 })
	before := s.proxy.Counts()
	second(5, 200)
	after := s.proxy.Counts()
	if after.Skipped[ReasonGuard] != before.Skipped[ReasonGuard]+5 || after.Exchanged != before.Exchanged {
		t.Errorf("counts %+v", after)
	}
	if n := after.Unknown[ReasonCancelled]; n > 0 {
		t.Errorf("%d in flight were cancelled", n)
	}
	until("still slow", 60, 2, 200, func(g Guard) bool { return g.Alone })
	slow.Store(false)
	until("quick again", 300, 2, 200, func(g Guard) bool { return !g.Paused })
	second(1, 200)
	before = s.proxy.Counts()
	if second(3, 200); s.proxy.Counts().Exchanged != before.Exchanged+3 {
		t.Errorf("no shadow was asked after the pause: %+v", s.proxy.Counts())
	}
	fails.Store(true)
	until("failing", 30, 30, 503, func(g Guard) bool {
		return slices.ContainsFunc(g.Limits, func(l GuardLimit) bool { return l.Paused && l.Name == "primary_errors" })
	})
}

// What a slow client does is not laid at the primary's door, what a failing primary does is.
func TestWhatTheGuardCounts(t *testing.T) {
	gone := newHandlerServer(t, func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) })
	for name, c := range map[string]struct {
		primary  string
		requests int64
		failed   uint32
	}{
		"an answer":                {newHandlerServer(t, answer(200, "hello")), 1, 0},
		"404 is no failure":        {newHandlerServer(t, answer(404, "hello")), 1, 0},
		"500":                      {newHandlerServer(t, answer(500, "hello")), 1, 1},
		"no answer":                {gone, 1, 1},
		"nobody is there":          {"http://127.0.0.1:1", 1, 1},
		"an answer that broke off": {script(t, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n0123456789", true), 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := newRawStage(t, c.primary, c.primary, c.primary, func(cfg *Config) { cfg.Guard.PrimaryErrors = 1000 })
			w := s.dial()
			w.send("GET /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
			w.rest()
			s.eventually("it is counted", func() bool { b := s.proxy.guard.pulse.read(); return b.requests() == c.requests })
			if b := s.proxy.guard.pulse.read(); b.failed != c.failed {
				t.Errorf("%d failed", b.failed)
			}
		})
	}
}

// A client that leaves within an answer, or while it still sends, has not seen the primary fail.
func TestTheGuardDoesNotBlameThePrimaryForClientsThatLeave(t *testing.T) {
	primary := newHandlerServer(t, func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		_ = control.EnableFullDuplex()
		_ = control.Flush()
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	})
	for _, asked := range []string{"GET /a HTTP/1.1\r\nHost: a\r\n\r\n", "POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"} {
		s := newRawStage(t, primary, primary, primary, func(cfg *Config) { cfg.Guard.PrimaryErrors = 1000 })
		w := s.dial()
		w.send(asked)
		w.head()
		_ = w.Conn.(*net.TCPConn).SetLinger(0)
		_ = w.Close()
		s.eventually("it is counted", func() bool { b := s.proxy.guard.pulse.read(); return b.requests() == 1 })
		if b := s.proxy.guard.pulse.read(); b.failed != 0 {
			t.Errorf("%.4s: %d failed", asked, b.failed)
		}
	}
}

// The buckets hold every time within 2 %.
func TestPulseKeepsTimes(t *testing.T) {
	for d := 70 * time.Microsecond; d < 60*time.Second; d += d / 7 {
		var p pulse
		for range 200 {
			p.answered(d, false)
		}
		b := p.read()
		if p99, slower := b.p99(d / 2); p99 < d*98/100 || p99 > d*102/100 || slower != 200 {
			t.Errorf("%s is kept as %s, %d slower", d, p99, slower)
		}
	}
	var p pulse
	p.answered(-1, false)
	p.answered(time.Hour, true)
	b := p.read()
	if b.took[0] != 1 || b.took[pulseBuckets-1] != 1 || b.failed != 1 {
		t.Error("what is beyond the buckets is not in the first and the last")
	}
	var even pulse
	for i := range 1000 {
		even.answered(time.Duration(i+1)*time.Millisecond, false)
	}
	b = even.read()
	if p99, slower := b.p99(900 * time.Millisecond); p99 < 970*time.Millisecond || p99 > 1010*time.Millisecond || slower < 80 || slower > 120 {
		t.Errorf("p99 of 1 to 1,000 ms is %s, %d slower than 900 ms", p99, slower)
	}
}

// The process itself can be read on the machine that runs the test.
func TestUsageIsKnown(t *testing.T) {
	u := readUsage()
	if u.memory < int64(MiB) || u.memory > int64(TiB) || u.processors < 1 {
		t.Errorf("usage %+v", u)
	}
	for deadline := time.Now().Add(patience); readUsage().cpu <= u.cpu; {
		if time.Now().After(deadline) {
			t.Fatalf("the processors' time stands still at %s", u.cpu)
		}
	}
	if m := runtimeMemory(); m < int64(MiB) {
		t.Errorf("the runtime holds %d bytes", m)
	}
}

// BenchmarkPulse is what the guard adds to each request where it watches the primary: the clock and the counting.
func BenchmarkPulse(b *testing.B) {
	var p pulse
	b.RunParallel(func(pb *testing.PB) {
		start := time.Now()
		for pb.Next() {
			p.answered(time.Since(start), false)
		}
	})
}
