package multicast

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// sink is a shadow that takes all it is sent and never answers.
func sink(t *testing.T) string {
	return raw(t, func(_ net.Conn, r *bufio.Reader) { _, _ = io.Copy(io.Discard, r) })
}

// repeat asks the same over and over on one connection, and expects the primary's "hello".
func (w *wire) repeat(request, method string, times int) error {
	for i := range times {
		if _, err := io.WriteString(w.Conn, request); err != nil {
			return fmt.Errorf("request %d: %w", i, err)
		}
		res, err := http.ReadResponse(w.r, &http.Request{Method: method})
		if err != nil {
			return fmt.Errorf("answer %d: %w", i, err)
		}
		if body, err := io.ReadAll(res.Body); err != nil || res.StatusCode != 200 || string(body) != "hello" {
			return fmt.Errorf("answer %d is %s %q, %w", i, res.Status, body, err)
		}
	}
	return nil
}

// crowd is so many clients at once, each of which asks the same so many times.
func (s *stage) crowd(clients, each int, request, method string) {
	s.t.Helper()
	failures := make(chan error, clients)
	for range clients {
		w := s.dial()
		go func() {
			failures <- w.repeat(request, method, each)
			_ = w.Close()
		}()
	}
	for range clients {
		if err := await(s.t, "a client is served", failures); err != nil {
			s.t.Error(err)
		}
	}
}

// watch calls look again and again until it is stopped.
func watch(look func()) (stop func()) {
	over, done, tick := make(chan struct{}), make(chan struct{}), time.NewTicker(200*time.Microsecond)
	go func() {
		defer close(done)
		defer tick.Stop()
		for {
			select {
			case <-over:
				return
			case <-tick.C:
				look()
			}
		}
	}()
	return sync.OnceFunc(func() {
		close(over)
		<-done
	})
}

// Hundreds of uploads beside shadows that hang: what is captured never exceeds the budget, for no moment, the rest is
// dropped for want of memory, and each client is served.
func TestBudgetHoldsUnderACrowd(t *testing.T) {
	const budget, clients, each = 4 << 20, 10, 15
	primary := newHandlerServer(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, "hello")
	})
	s := newRawStage(t, primary, sink(t), sink(t), func(c *Config) {
		posts(c)
		c.Shadow.Memory, c.Shadow.Concurrency, c.Shadow.Queue, c.Shadow.Timeout = budget, 1000, 1000, patience
	})
	var most atomic.Int64
	stop := watch(func() {
		for range 500 {
			most.Store(max(most.Load(), s.proxy.memory.used.Load()))
		}
	})
	defer stop()
	body := strings.Repeat("x", 60<<10)
	s.crowd(clients, each, post(body, false), "POST")
	stop()
	s.eventually("the rest is dropped", func() bool { c := s.proxy.Counts(); return c.Open+c.Dropped[ReasonMemory] == clients*each })
	c := s.proxy.Counts()
	if c.Open < budget/(64<<10)/2 || c.CapturedBytes < c.Open*int64(len(body)) {
		t.Errorf("under load: %+v", c)
	}
	if n := most.Load(); n > budget {
		t.Errorf("%d bytes were held of %d", n, budget)
	}
	off := false
	s.proxy.SetShadowing(&off, nil)
	s.counts(Counts{
		Requests: clients * each, Exchanged: c.Open, Unknown: map[Reason]int64{ReasonCancelled: c.Open},
		Dropped: map[Reason]int64{ReasonMemory: clients*each - c.Open},
	})
}

// A hundred requests at once and room for two: two are asked, the others dropped at once, and each client is answered while
// the shadows still think.
func TestCapacityUnderACrowd(t *testing.T) {
	release, asked := make(chan struct{}), make(chan struct{}, 1000)
	s := newStage(t, map[Role]http.HandlerFunc{Secondary: hanging(release, asked), Candidate: hanging(release, asked)}, func(c *Config) {
		c.Shadow.Concurrency, c.Shadow.Queue, c.Shadow.Timeout = 2, 0, patience
	})
	const clients = 100
	s.crowd(clients, 1, "GET /a HTTP/1.1\r\nHost: a\r\n\r\n", "GET")
	s.eventually("the rest is dropped", func() bool { return s.proxy.Counts().Dropped[ReasonQueue] == clients-2 })
	if c := s.proxy.Counts(); c.Open != 2 || c.Queue != 0 || c.InFlight["candidate"] != 2 || c.InFlight["secondary"] != 2 {
		t.Errorf("counts are %+v", c)
	}
	for range 4 {
		await(t, "a shadow is asked", asked)
	}
	close(release)
	s.counts(Counts{Requests: clients, Exchanged: 2, Compared: 2, Dropped: map[Reason]int64{ReasonQueue: clients - 2}})
	if a, b := len(s.upstream[Secondary].requests()), len(s.upstream[Candidate].requests()); a != 2 || b != 2 {
		t.Errorf("asked %d and %d times", a, b)
	}
}
