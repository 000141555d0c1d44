//go:build linux

package multicast

import (
	"fmt"
	"net"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// resources are what load must give back.
type resources struct {
	goroutines, descriptors int
	captured                int64
}

func (s *stage) resources() resources {
	s.t.Helper()
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		s.t.Fatal(err)
	}
	return resources{runtime.NumGoroutine(), len(open), s.proxy.Counts().CapturedBytes}
}

func (r resources) within(base resources) bool {
	return r.goroutines <= base.goroutines && r.descriptors <= base.descriptors && r.captured <= base.captured
}

// Under hundreds of shadows that hang, clients are served as ever; a deadline later, or at once when the switch goes off,
// every goroutine, descriptor and byte is back.
func TestHangingShadowsGiveEverythingBack(t *testing.T) {
	const legs = 400
	for name, c := range map[string]struct {
		timeout time.Duration
		end     func(s *stage)
	}{
		"at the deadline": {2 * time.Second, func(*stage) {}},
		"at the switch": {patience, func(s *stage) {
			off := false
			s.proxy.SetShadowing(&off, nil)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			good := newHandlerServer(t, answer(200, "hello"))
			s := newRawStage(t, good, silent(t), silent(t), func(cfg *Config) {
				posts(cfg)
				cfg.Shadow.Concurrency, cfg.Shadow.Queue, cfg.Shadow.Timeout = legs, 100, c.timeout
			})
			w := s.dial()
			ask := func() {
				t.Helper()
				w.send(post(strings.Repeat("x", 1000), false))
				if res, body := w.response("POST"); res.StatusCode != 200 || body != "hello" {
					t.Fatalf("the client got %d %q", res.StatusCode, body)
				}
			}
			no, yes := false, true
			s.proxy.SetShadowing(&no, nil)
			ask()
			idle := s.resources()
			s.proxy.SetShadowing(&yes, nil)
			begin := time.Now()
			for range legs + 200 {
				ask()
			}
			loaded, sent := s.resources(), time.Now()
			if held := int64(legs * 1000); sent.Sub(begin) < c.timeout && (loaded.captured < held || loaded.captured > 64<<20 || loaded.descriptors < idle.descriptors+4*legs) {
				t.Errorf("under load there are %+v, idle %+v", loaded, idle)
			}
			c.end(s)
			s.eventually("all is given back", func() bool { return s.resources().within(idle) })
			if took := time.Since(sent); name == "at the switch" && took > patience/2 {
				t.Errorf("it took %s", took)
			} else {
				t.Logf("%+v under load, idle %+v; given back after %s", loaded, idle, took)
			}
			counts := s.proxy.Counts()
			for _, role := range [...]string{"candidate", "secondary"} {
				if legs := counts.Shadow[role]; counts.InFlight[role] != 0 || legs.Sent != sum(legs.Outcome) {
					t.Errorf("the %s has %+v, %d in flight", role, legs, counts.InFlight[role])
				}
			}
		})
	}
}

// blackHole is an address that drops whoever comes: a listener whose backlog is full.
func blackHole(t *testing.T) (address string) {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	address = fmt.Sprintf("127.0.0.1:%d", name.(*syscall.SockaddrInet4).Port)
	for range 10 {
		conn, err := net.DialTimeout("tcp", address, 200*time.Millisecond)
		if err != nil {
			return address
		}
		t.Cleanup(func() { _ = conn.Close() })
	}
	t.Fatal("the backlog does not fill")
	return ""
}

// calling counts the connections to this address that wait for an answer to their first packet.
func calling(t *testing.T, address string) (n int) {
	t.Helper()
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(address)
	number, _ := net.LookupPort("tcp", port)
	suffix := fmt.Sprintf(":%04X", number)
	for line := range strings.Lines(string(table)) {
		if fields := strings.Fields(line); len(fields) > 3 && strings.HasSuffix(fields[2], suffix) && fields[3] == "02" {
			n++
		}
	}
	return n
}

// A candidate that nobody reaches costs as many half-open connections as it may have legs, and each no longer than its
// deadline.
func TestBlackHole(t *testing.T) {
	const legs = 4
	for _, scheme := range []string{"http://", "https://", "h2c://"} {
		t.Run(scheme, func(t *testing.T) { fallInto(t, scheme, legs) })
	}
}

func fallInto(t *testing.T, scheme string, legs int) {
	hole := blackHole(t)
	good := newHandlerServer(t, answer(200, "hello"))
	s := newRawStage(t, good, good, scheme+hole, func(c *Config) {
		c.Shadow.Concurrency, c.Shadow.Queue, c.Shadow.Timeout = legs, 0, time.Second
	})
	before := calling(t, hole)
	for range 3 {
		for range 2 * legs {
			if _, body := s.get("/a"); body != "hello" {
				t.Fatalf("the client got %q", body)
			}
		}
		if n := calling(t, hole) - before; n > legs {
			t.Fatalf("%d connections are being opened", n)
		}
	}
	ex := s.exchange()
	if res := ex.Response(Candidate); ex.Unknown != "" || res.Outcome != OutcomeTimeout || res.Detail != "no connection in time" {
		t.Errorf("the exchange is %q, the candidate %s %q", ex.Unknown, res.Outcome, res.Detail)
	}
	s.eventually("every request has its place", func() bool { return s.proxy.Counts().Open == 0 })
	s.eventually("nobody calls any more", func() bool { return calling(t, hole) <= before })
}
