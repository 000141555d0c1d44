package multicast

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// reconfigured is the configuration in force with a change.
func (s *stage) reconfigured(change func(*Config)) Config {
	cfg := s.proxy.setup.Load().cfg
	change(&cfg)
	return cfg
}

// At full speed every exchange goes where its own configuration says: what the one candidate answered is never counted
// with what the other one did.
func TestAnExchangeBelongsToItsOwnConfiguration(t *testing.T) {
	s := newStage(t, map[Role]http.HandlerFunc{Candidate: answer(200, "one")}, func(c *Config) { c.Shadow.Queue = 10 })
	other := newUpstream(answer(200, "two"))
	t.Cleanup(other.server.Close)
	one := s.reconfigured(func(*Config) {})
	two := s.reconfigured(func(c *Config) { c.Candidate, c.Shadow.Concurrency = other.server.URL, 7 })
	var delivered [2]atomic.Int64
	into := func(i int, want string) func() (Deliver, error) {
		return func() (Deliver, error) {
			return func(ex *Exchange) {
				delivered[i].Add(1)
				if got := ex.Response(Candidate); got.Outcome == OutcomeOK && string(got.Body) != want {
					t.Errorf("what goes to %q came from %q", want, got.Body)
				}
			}, nil
		}
	}
	if err := s.proxy.Reconfigure(one, into(0, "one")); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var clients sync.WaitGroup
	for range 4 {
		w := s.dial()
		clients.Go(func() {
			for ctx.Err() == nil {
				if _, err := io.WriteString(w, "GET /a HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
					t.Errorf("the connection broke: %v", err)
					return
				}
				if res, err := http.ReadResponse(w.r, nil); err != nil || res.StatusCode != 200 || res.Close {
					t.Errorf("the answer was %v, %v", res, err)
					return
				} else if _, err := io.Copy(io.Discard, res.Body); err != nil {
					t.Errorf("the answer broke off: %v", err)
					return
				}
			}
		})
	}
	for range 25 {
		for i, cfg := range []Config{two, one} {
			if err := s.proxy.Reconfigure(cfg, into(1-i, [...]string{"two", "one"}[i])); err != nil {
				t.Fatal(err)
			}
			was := s.proxy.Counts().Requests
			s.eventually("more requests", func() bool { return s.proxy.Counts().Requests > was+2 })
		}
	}
	stop()
	clients.Wait()
	s.eventually("every request has its place", func() bool { return s.proxy.Counts().Open == 0 })
	if c := s.proxy.Counts(); delivered[0].Load() == 0 || delivered[1].Load() == 0 || delivered[0].Load()+delivered[1].Load() != c.Exchanged {
		t.Errorf("delivered %d and %d of %d", delivered[0].Load(), delivered[1].Load(), c.Exchanged)
	}
}

// What waits for its shadows when the candidate is taken out of the configuration still has them asked.
func TestAReloadWithoutACandidateStrandsNothing(t *testing.T) {
	held := make(chan struct{})
	release := sync.OnceFunc(func() { close(held) })
	defer release()
	hold := func(w http.ResponseWriter, _ *http.Request) { <-held }
	s := newStage(t, map[Role]http.HandlerFunc{Secondary: hold, Candidate: hold}, func(c *Config) { c.Shadow.Concurrency = 1 })
	for range 4 {
		s.get("/a")
	}
	s.eventually("one is asked and the others wait", func() bool {
		return s.proxy.Counts().Queue == 3 && len(s.upstream[Candidate].requests()) == 1
	})
	if err := s.proxy.Reconfigure(s.reconfigured(func(c *Config) { c.Candidate = "" }), nil); err != nil {
		t.Fatal(err)
	}
	release()
	s.eventually("all were asked", func() bool { return s.proxy.Counts().Compared == 4 })
	s.get("/a")
	s.counts(Counts{Requests: 5, Skipped: map[Reason]int64{ReasonDisabled: 1}, Exchanged: 4, Compared: 4})
}

// A configuration with a fault, and one for which no run can begin, change nothing.
func TestReconfigureChangesAllOrNothing(t *testing.T) {
	s := newStage(t, nil, func(c *Config) { c.Sample = Whole / 2 })
	before := s.proxy.setup.Load()
	asked := false
	for want, try := range map[string]func() error{
		"shadow.queue: ": func() error {
			return s.proxy.Reconfigure(s.reconfigured(func(c *Config) { c.Sample, c.Shadow.Queue = Whole, -1 }),
				func() (Deliver, error) { asked = true; return nil, nil })
		},
		"no run": func() error {
			return s.proxy.Reconfigure(s.reconfigured(func(c *Config) { c.Sample = Whole }),
				func() (Deliver, error) { return nil, errors.New("no run") })
		},
	} {
		if err := try(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %s, got %v", want, err)
		}
	}
	if asked {
		t.Error("a run was begun for a configuration that cannot be")
	}
	if s.proxy.setup.Load() != before || s.proxy.Shadowing().Sample != Whole/2 {
		t.Error("something has changed")
	}
}

// The count of samples goes on over a change that does not touch the share: of any ten requests in a row, one is taken.
func TestSamplingGoesOnOverAReload(t *testing.T) {
	s := newStage(t, nil, func(c *Config) {
		share := Whole / 10
		c.Sample, c.Routes = share, []RouteConfig{{Match: "/r", Sample: &share}}
	})
	w := s.dial()
	for i := range 100 {
		for _, path := range []string{"/a", "/r"} {
			w.send("GET " + path + " HTTP/1.1\r\nHost: a\r\n\r\n")
			w.response("GET")
		}
		change := func(c *Config) { c.RouteHeader = [...]string{"A", "B"}[i%2] }
		if i%3 == 0 {
			if err := s.proxy.Reconfigure(s.reconfigured(change), nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	s.counts(Counts{Requests: 200, Exchanged: 20, Compared: 20, Skipped: map[Reason]int64{ReasonNotSampled: 180}})
}

// What does not change keeps its connections: the primary's, and those of shadows that are asked as before.
func TestReconfigureKeepsConnections(t *testing.T) {
	peers := map[Role]map[string]bool{Primary: {}, Secondary: {}, Candidate: {}}
	var mu sync.Mutex
	handlers := map[Role]http.HandlerFunc{}
	for role, seen := range peers {
		handlers[role] = func(_ http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			seen[r.RemoteAddr] = true
		}
	}
	s := newStage(t, handlers, nil)
	ask := func(times int) {
		t.Helper()
		for range times {
			s.get("/a")
			s.exchange()
		}
	}
	expect := func(primary, shadows int) {
		t.Helper()
		mu.Lock()
		defer mu.Unlock()
		if len(peers[Primary]) != primary || len(peers[Secondary]) != shadows || len(peers[Candidate]) != shadows {
			t.Errorf("%d, %d and %d connections; want %d and %d", len(peers[Primary]), len(peers[Secondary]), len(peers[Candidate]), primary, shadows)
		}
	}
	ask(3)
	expect(1, 1)
	for _, change := range []func(*Config){
		func(c *Config) { c.Methods = []string{"GET", "POST"} },
		func(c *Config) { c.RouteHeader, c.Dispatch = "X-Route", DispatchStart },
	} {
		if err := s.proxy.Reconfigure(s.reconfigured(change), nil); err != nil {
			t.Fatal(err)
		}
		ask(1)
	}
	expect(1, 1)
	if err := s.proxy.Reconfigure(s.reconfigured(func(c *Config) { c.Shadow.SetHeaders = map[string]string{"X-A": "b"} }), nil); err != nil {
		t.Fatal(err)
	}
	ask(1)
	expect(1, 2)
	if err := s.proxy.Reconfigure(s.reconfigured(func(c *Config) { c.Upstream.HeadTimeout = patience }), nil); err != nil {
		t.Fatal(err)
	}
	ask(1)
	expect(2, 2)
}

// Fewer places take effect while more are in use, and more at once.
func TestReconfigureResizes(t *testing.T) {
	release, asked := make(chan struct{}), make(chan struct{}, 100)
	s := newStage(t, map[Role]http.HandlerFunc{Secondary: hanging(release, asked), Candidate: hanging(release, asked)}, func(c *Config) {
		c.Shadow.Concurrency, c.Shadow.Queue, c.Shadow.Timeout = 4, 0, patience
	})
	resize := func(concurrency, queue int) {
		t.Helper()
		cfg := s.reconfigured(func(c *Config) { c.Shadow.Concurrency, c.Shadow.Queue = concurrency, queue })
		if err := s.proxy.Reconfigure(cfg, nil); err != nil {
			t.Fatal(err)
		}
	}
	ask := func(times int) {
		t.Helper()
		for range times {
			s.get("/a")
		}
	}
	ask(4)
	resize(2, 0)
	ask(3) // no room
	resize(6, 1)
	ask(4) // two of them asked, one waits, one is dropped
	for range 12 {
		<-asked
	}
	s.eventually("one waits", func() bool { return s.proxy.Counts().Queue == 1 })
	close(release)
	s.counts(Counts{Requests: 11, Exchanged: 7, Compared: 7, Dropped: map[Reason]int64{ReasonQueue: 4}})
}
