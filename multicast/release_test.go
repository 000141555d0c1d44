//go:build linux

package multicast

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// another is what a second connection to the primary holds, of which both ends are here: the first may not be back among those
// that are kept when the next request looks for one.
var another = resources{goroutines: 4, descriptors: 2}

// givenBack waits until no more is held than base.
func (s *stage) givenBack(base resources) {
	s.t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); !s.resources().within(base); <-tick.C {
		if now := s.resources(); time.Now().After(end) {
			all := make([]byte, 1<<20)
			s.t.Fatalf("%+v are held after %s, and %+v before; counts %+v\n%s", now, patience, base, s.proxy.Counts(), all[:runtime.Stack(all, true)])
		}
	}
}

// A hundred exchanges whose shadows would hang for a minute: the switch cancels each leg, all that they held is back, and
// switched on again the next request is shadowed as any other.
func TestSwitchReleasesWhatIsInFlight(t *testing.T) {
	const legs = 100
	hangs := make(chan struct{}, 10*legs)
	shadow := raw(t, func(conn net.Conn, r *bufio.Reader) {
		for head, ok := readHead(r); ok; head, ok = readHead(r) {
			if strings.HasPrefix(head, "GET /hang ") {
				hangs <- struct{}{}
				continue
			}
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
		}
	})
	good := newHandlerServer(t, answer(200, "hello"))
	s := newRawStage(t, good, shadow, shadow, func(c *Config) {
		c.Shadow.Concurrency, c.Shadow.Queue, c.Shadow.Timeout = legs, 0, time.Minute
	})
	set := func(on bool) { s.proxy.SetShadowing(&on, nil) }
	w := s.dial()
	ask := func(path string, times int) {
		t.Helper()
		if err := w.repeat("GET "+path+" HTTP/1.1\r\nHost: a\r\n\r\n", "GET", times); err != nil {
			t.Fatal(err)
		}
	}
	set(false)
	ask("/a", 1)
	idle := s.resources()
	set(true)
	ask("/hang", legs)
	for range 2 * legs {
		await(t, "a shadow hangs", hangs)
	}
	if loaded := s.resources(); loaded.goroutines < idle.goroutines+2*legs || loaded.descriptors < idle.descriptors+4*legs {
		t.Errorf("under load there are %+v, idle %+v", loaded, idle)
	}
	begin := time.Now()
	set(false)
	s.counts(Counts{
		Requests: 1 + legs, Exchanged: legs, Unknown: map[Reason]int64{ReasonCancelled: legs}, Skipped: map[Reason]int64{ReasonDisabled: 1},
	})
	took := time.Since(begin)
	s.outcomes(Candidate, map[Outcome]int64{OutcomeCancelled: legs})
	s.outcomes(Secondary, map[Outcome]int64{OutcomeCancelled: legs})
	s.givenBack(resources{idle.goroutines + another.goroutines, idle.descriptors + another.descriptors, 0})
	if t.Logf("cancelled after %s", took); took > 10*time.Second { // of the minute; alone on a machine it takes milliseconds
		t.Errorf("cancelled after %s", took)
	}
	ask("/hang", 10)
	for range legs {
		if ex := s.exchange(); ex.Unknown != ReasonCancelled {
			t.Errorf("the exchange is %q", ex.Unknown)
		}
	}
	set(true)
	ask("/a", 1)
	if ex := s.exchange(); ex.Unknown != "" || ex.Response(Candidate).Outcome != OutcomeOK {
		t.Errorf("the exchange is %q, the candidate %s", ex.Unknown, ex.Response(Candidate).Outcome)
	}
	s.counts(Counts{
		Requests: 12 + legs, Exchanged: legs + 1, Compared: 1, Unknown: map[Reason]int64{ReasonCancelled: legs},
		Skipped: map[Reason]int64{ReasonDisabled: 11},
	})
}

// absent is a shadow that listens and never accepts: the kernel takes connections, and what is sent, for it.
func absent(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return "http://" + listener.Addr().String()
}

// Thousands of shadows that hang, or as many as the machine allows: clients are served, also those for whom no
// shadow is left; what is held stays within the budget, and all is given back.
func TestThousandsOfHangingShadows(t *testing.T) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	legs := min(crowded, int(min(limit.Cur, 1<<20))/8) // both roles together have a quarter of the descriptors
	good := newHandlerServer(t, answer(200, "hello"))
	s := newRawStage(t, good, absent(t), absent(t), func(c *Config) {
		c.Shadow.Concurrency, c.Shadow.Queue, c.Shadow.Timeout = legs, 0, time.Minute
	})
	off, on := false, true
	s.proxy.SetShadowing(&off, nil)
	const clients, beyond = 10, 300
	request := fmt.Sprintf("GET /a HTTP/1.1\r\nHost: a\r\nX-A: %s\r\n\r\n", strings.Repeat("a", 1000))
	s.crowd(clients, 10, request, "GET")
	idle := s.resources()
	s.proxy.SetShadowing(&on, nil)
	begin := time.Now()
	each := (legs + beyond) / clients
	s.crowd(clients, each, request, "GET")
	t.Logf("%d requests were answered in %s", clients*each, time.Since(begin))
	s.eventually("as many hang as may", func() bool {
		c := s.proxy.Counts()
		return c.InFlight["candidate"] == int64(legs) && c.InFlight["secondary"] == int64(legs) && c.Dropped[ReasonQueue] == int64(clients*each-legs)
	})
	if held := s.proxy.Counts().CapturedBytes; held < int64(1000*legs) || held > int64(DefaultConfig().Shadow.Memory) {
		t.Errorf("%d bytes are held", held)
	}
	begin = time.Now()
	s.proxy.SetShadowing(&off, nil)
	// The clients' connections, and the primary's for them, come and go by themselves.
	base := resources{idle.goroutines + 10*clients, idle.descriptors + 10*clients, 0}
	s.eventually("all is given back", func() bool { return s.proxy.Counts().Open == 0 && s.resources().within(base) })
	t.Logf("all was given back in %s", time.Since(begin))
	s.outcomes(Candidate, map[Outcome]int64{OutcomeCancelled: int64(legs)})
	s.outcomes(Secondary, map[Outcome]int64{OutcomeCancelled: int64(legs)})
}

// Refused uploads leave nothing behind, on either side, though their clients never send the rest.
func TestRefusedUploadsLeaveNothing(t *testing.T) {
	primary := raw(t, func(conn net.Conn, r *bufio.Reader) {
		if _, ok := readHead(r); ok {
			_, _ = io.WriteString(conn, "HTTP/1.1 413 Content Too Large\r\nContent-Length: 2\r\n\r\nno")
			_, _ = io.Copy(io.Discard, r)
		}
	})
	s := newRawStage(t, primary, "http://127.0.0.1:1", "http://127.0.0.1:1", posts)
	refused := func(times int) {
		t.Helper()
		for range times {
			w := s.dial()
			w.send("POST /u HTTP/1.1\r\nHost: a\r\nContent-Length: 50000000\r\n\r\nabc")
			if head := w.head(); !strings.HasPrefix(head, "HTTP/1.1 413 ") || !strings.Contains(head, "\r\nConnection: close\r\n") || w.read(2) != "no" {
				t.Errorf("got %q", head)
			}
			_ = w.Close()
		}
		s.eventually("every request has its place", func() bool { return s.proxy.Counts().Open == 0 })
	}
	refused(1) // what one leaves for a time is no more after fifteen
	idle := s.resources()
	const uploads = 15
	refused(uploads)
	s.givenBack(idle)
	s.counts(Counts{Requests: 1 + uploads, Skipped: map[Reason]int64{ReasonRequestIncomplete: 1 + uploads}})
}
