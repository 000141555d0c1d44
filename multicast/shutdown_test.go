package multicast

import (
	"net/http"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// The switch cancels what is in flight, drops what waits, and lets nothing more be asked until it is on again.
func TestSwitch(t *testing.T) {
	asked := make(chan struct{}, 100)
	s := newStage(t, map[Role]http.HandlerFunc{Secondary: hanging(nil, asked), Candidate: hanging(nil, asked)}, func(c *Config) {
		c.Shadow.Concurrency, c.Shadow.Queue, c.Shadow.Timeout = 5, 3, patience
	})
	for range 8 {
		s.get("/a")
	}
	for range 10 {
		<-asked
	}
	s.eventually("the queue is full", func() bool { return s.proxy.Counts().Queue == 3 })
	off, on := false, true
	begin := time.Now()
	if now := s.proxy.SetShadowing(&off, nil); now.Enabled || s.proxy.Shadowing().Enabled {
		t.Error("the switch is on")
	}
	s.counts(Counts{
		Requests: 8, Exchanged: 5, Unknown: map[Reason]int64{ReasonCancelled: 5}, Dropped: map[Reason]int64{ReasonDisabled: 3},
	})
	if took := time.Since(begin); took > patience/2 {
		t.Errorf("it took %s", took)
	}
	s.outcomes(Candidate, map[Outcome]int64{OutcomeCancelled: 5})
	s.outcomes(Secondary, map[Outcome]int64{OutcomeCancelled: 5})
	s.get("/a")
	s.proxy.SetShadowing(&on, nil)
	s.get("/a")
	<-asked
	<-asked
	s.proxy.SetShadowing(&off, nil)
	s.counts(Counts{
		Requests: 10, Exchanged: 6, Unknown: map[Reason]int64{ReasonCancelled: 6},
		Dropped: map[Reason]int64{ReasonDisabled: 3}, Skipped: map[Reason]int64{ReasonDisabled: 1},
	})
}

// A request that was sampled before the switch went off and reaches the dispatcher after it is dropped.
func TestSwitchedOffMeanwhile(t *testing.T) {
	release := make(chan struct{})
	s := newStage(t, map[Role]http.HandlerFunc{Primary: func(http.ResponseWriter, *http.Request) { <-release }}, nil)
	w := s.dial()
	w.send("GET /a HTTP/1.1\r\nHost: a\r\n\r\n")
	s.eventually("the primary is asked", func() bool { return len(s.upstream[Primary].requests()) == 1 })
	off := false
	s.proxy.SetShadowing(&off, nil)
	close(release)
	w.response("GET")
	s.counts(Counts{Requests: 1, Dropped: map[Reason]int64{ReasonDisabled: 1}})
}

// At the end what is in flight is given a grace.
func TestShutdownLetsShadowsEnd(t *testing.T) {
	release, asked := make(chan struct{}), make(chan struct{}, 10)
	s := newStage(t, map[Role]http.HandlerFunc{Secondary: hanging(release, asked), Candidate: hanging(release, asked)}, func(c *Config) {
		c.Shadow.Timeout, c.Server.Drain = patience, patience
	})
	s.get("/a")
	<-asked
	<-asked
	go s.stop()
	s.eventually("the end has begun", func() bool { return !s.proxy.shadowing.Load().running })
	close(release)
	if ex := s.exchange(); ex.Unknown != "" || ex.Response(Candidate).Outcome != OutcomeOK {
		t.Errorf("the exchange is %q", ex.Unknown)
	}
	s.stop()
}

// And is then cancelled, also where the shadows are done and the primary goes on for ever.
func TestShutdownCancels(t *testing.T) {
	asked := make(chan struct{}, 10)
	s := newStage(t, map[Role]http.HandlerFunc{
		Primary: func(w http.ResponseWriter, r *http.Request) {
			if _ = http.NewResponseController(w).Flush(); r.RequestURI == "/endless" {
				<-r.Context().Done()
			}
		},
		Candidate: func(w http.ResponseWriter, r *http.Request) {
			if r.RequestURI != "/endless" {
				hanging(nil, asked)(w, r)
			}
		},
	}, func(c *Config) {
		c.Shadow.Timeout = patience
		c.Server.Drain = 50 * time.Millisecond
	})
	s.get("/a")
	<-asked
	w := s.dial()
	w.send("GET /endless HTTP/1.1\r\nHost: a\r\n\r\n")
	w.head()
	s.eventually("the shadows are done", func() bool { return s.proxy.Counts().Shadow["candidate"].Outcome[OutcomeOK] == 1 })
	s.cancel()
	for range 2 {
		if ex := s.exchange(); ex.Unknown != ReasonShutdown {
			t.Errorf("the exchange is %q", ex.Unknown)
		}
	}
	s.stop()
	s.counts(Counts{Requests: 2, Exchanged: 2, Unknown: map[Reason]int64{ReasonShutdown: 2}})
}

// What still waits to be compared when the grace is over is not compared any more.
func TestShutdownEndsComparing(t *testing.T) {
	s := newStage(t, nil, func(c *Config) { c.Server.Drain = 50 * time.Millisecond })
	busy, release := make(chan struct{}, 10), make(chan struct{})
	var comparing, given atomic.Int64
	s.proxy.deps.Deliver = func() Deliver {
		return func(ex *Exchange) {
			if ex.Unknown == ReasonShutdown {
				given.Add(1)
				return
			}
			comparing.Add(1)
			busy <- struct{}{}
			<-release
		}
	}
	for range 6 {
		s.get("/a")
	}
	<-busy
	s.eventually("the rest waits", func() bool { return s.proxy.comparers.load.Load() == 6 })
	s.cancel()
	s.eventually("the grace is over", s.proxy.comparers.hurry.Load)
	close(release)
	s.stop()
	c := s.proxy.Counts()
	if n := comparing.Load(); c.Compared != n || given.Load() != 6-n || c.Unknown[ReasonShutdown] != 6-n || n > int64(runtime.GOMAXPROCS(0)) {
		t.Errorf("%d were compared, %d given as unknown; counts are %+v", n, given.Load(), c)
	}
}

// Without Run clients are served and nobody else is asked.
func TestServesWithoutRun(t *testing.T) {
	s := newStage(t, nil, nil)
	s.cancel()
	s.eventually("the end has begun", func() bool { return !s.proxy.shadowing.Load().running })
	if _, body := s.get("/a"); body != "hello" {
		t.Errorf("the client got %q", body)
	}
	s.counts(Counts{Requests: 1, Skipped: map[Reason]int64{ReasonDisabled: 1}})
}
