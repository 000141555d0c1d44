package multicast

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func TestShareOfDescriptors(t *testing.T) {
	for _, c := range []struct {
		limit       int64
		rooms, want [3]int
	}{
		{0, [3]int{0, 64, 64}, [3]int{0, 64, 64}},
		{512, [3]int{0, 64, 64}, [3]int{0, 64, 64}},
		{256, [3]int{0, 64, 64}, [3]int{0, 32, 32}},
		{256, [3]int{0, 0, 64}, [3]int{0, 0, 64}},
		{255, [3]int{0, 0, 64}, [3]int{0, 0, 63}},
		{256, [3]int{0, 30, 90}, [3]int{0, 16, 48}},
		{256, [3]int{0, 1, 65_536}, [3]int{0, 1, 63}},
		{8, [3]int{0, 64, 64}, [3]int{0, 1, 1}},
	} {
		var d descriptors
		d.limit.Store(c.limit)
		if got := d.share(c.rooms); got != c.want {
			t.Errorf("of %d, %v become %v, want %v", c.limit, c.rooms, got, c.want)
		}
	}
}

// A client comes when half of the descriptors are in use: the shadows in flight give theirs back, and none is asked.
func TestShadowsYieldDescriptorsToClients(t *testing.T) {
	release, asked := make(chan struct{}), make(chan struct{}, 10)
	s := newStage(t, map[Role]http.HandlerFunc{Secondary: hanging(release, asked), Candidate: hanging(release, asked)}, func(c *Config) {
		c.Shadow.Timeout = patience
	})
	defer close(release)
	s.get("/a")
	<-asked
	<-asked
	s.proxy.descriptors.limit.Store(2 * lowest()) // the next socket is above half
	if res, body := s.get("/b"); res.StatusCode != 200 || body != "hello" {
		t.Errorf("the client got %s %q", res.Status, body)
	}
	s.counts(Counts{
		Requests: 2, Exchanged: 1, Unknown: map[Reason]int64{ReasonQueue: 1}, Dropped: map[Reason]int64{ReasonQueue: 1},
	})
	s.outcomes(Candidate, map[Outcome]int64{OutcomeCancelled: 1})
	if log := s.log.String(); strings.Count(log, "shadows held back") != 1 {
		t.Errorf("the log is %s", log)
	}
}

// No connection to a shadow is begun when half of the descriptors are in use, and that is no fault of the shadow.
func TestNoDescriptorForAShadow(t *testing.T) {
	for _, scheme := range []string{"http", "h2c", "https"} {
		t.Run(scheme, func(t *testing.T) {
			s := newStage(t, nil, func(c *Config) {
				for _, address := range []*string{&c.Secondary, &c.Candidate} {
					*address = strings.Replace(*address, "http", scheme, 1)
				}
			})
			w := s.dial()
			const ask = "GET /a HTTP/1.1\r\nHost: shop.example\r\n\r\n"
			w.send("HEAD /a HTTP/1.1\r\nHost: shop.example\r\nX-Shadow-Request: 1\r\n\r\n") // so that both connections are there
			w.response("HEAD")
			s.proxy.descriptors.limit.Store(2 * lowest())
			for range 2 {
				w.send(ask)
				if res, body := w.response("GET"); res.StatusCode != 200 || body != "hello" {
					t.Errorf("the client got %s %q", res.Status, body)
				}
				s.eventually("it has its place", func() bool { return s.proxy.Counts().Open == 0 })
			}
			s.counts(Counts{
				Requests: 3, Skipped: map[Reason]int64{ReasonLoop: 1}, Exchanged: 1,
				Unknown: map[Reason]int64{ReasonQueue: 1}, Dropped: map[Reason]int64{ReasonQueue: 1},
			})
			for _, role := range [...]Role{Secondary, Candidate} {
				s.outcomes(role, map[Outcome]int64{OutcomeCancelled: 1})
				if n := len(s.upstream[role].requests()); n != 0 {
					t.Errorf("the %s was asked %d times", role, n)
				}
			}
		})
	}
}

// A listener that takes no client for want of descriptors is closed all the same, though none becomes free.
func TestListenerIsClosedWhileItWaits(t *testing.T) {
	s := newStage(t, nil, nil)
	own, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.proxy.descriptors.limit.Store(1)
	l := &listener{Listener: own, proxy: s.proxy, high: true, closed: make(chan struct{})}
	done := make(chan error)
	go func() {
		_, err := l.Accept()
		done <- err
	}()
	s.eventually("it waits", func() bool { return strings.Contains(s.log.String(), "clients wait to be taken") })
	_ = l.Close()
	if err := <-done; !errors.Is(err, net.ErrClosed) {
		t.Errorf("it took a client, or %v", err)
	}
}

// After a burst as many connections to the primary are kept as clients came at once. When a client would have to wait for a
// descriptor, these are closed, and it is taken.
func TestClientsAreGivenTheDescriptorsOfIdleConnections(t *testing.T) {
	s := newStage(t, nil, nil)
	off := false
	s.proxy.SetShadowing(&off, nil) // no shadow's connection is in the way
	own, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	client, err := net.Dial("tcp", own.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	s.get("/a") // over a connection that is kept
	for range 64 {
		file, err := os.Open(os.DevNull)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
	}
	s.proxy.descriptors.limit.Store(lowest()) // of which clients may not have the last eighth
	l := &listener{Listener: own, proxy: s.proxy, high: true, closed: make(chan struct{})}
	defer l.Close()
	taken := make(chan struct{})
	go func() {
		defer close(taken)
		if conn, err := l.Accept(); err != nil {
			t.Errorf("%v", err)
		} else {
			_ = conn.Close()
		}
	}()
	await(t, "the client is taken", taken)
	s.proxy.descriptors.limit.Store(0)
	s.get("/b")
	if log := s.log.String(); !strings.Contains(log, "clients wait to be taken") {
		t.Errorf("the log is %s", log)
	}
}

// Where the limit is met all the same, the error says so.
func TestScarce(t *testing.T) {
	for err, want := range map[error]bool{
		&net.OpError{Op: "dial", Err: os.NewSyscallError("socket", syscall.EMFILE)}:                true,
		&net.OpError{Op: "dial", Err: os.NewSyscallError("socket", syscall.ENFILE)}:                true,
		&net.OpError{Op: "dial", Err: &net.DNSError{Err: "socket: too many open files"}}:           true,
		&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}:         false,
		fmt.Errorf("malformed HTTP response %q", "too many open files"):                            false,
		&net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "shop.too.many.x"}}: false,
	} {
		if got := scarce(err); got != want {
			t.Errorf("%v: %t", err, got)
		}
	}
}

// The server says only to its log that it cannot accept.
func TestHoldBackWhenNoClientCanBeAccepted(t *testing.T) {
	s := newStage(t, nil, nil)
	server := s.proxy.Server()
	server.ErrorLog.Print("http: TLS handshake error from 127.0.0.1:1: too many open files")
	s.get("/a")
	s.counts(Counts{Requests: 1, Exchanged: 1, Compared: 1})
	server.ErrorLog.Print("http: Accept error: accept tcp 127.0.0.1:1: accept4: too many open files; retrying in 5ms")
	s.get("/b")
	s.counts(Counts{Requests: 2, Exchanged: 1, Compared: 1, Dropped: map[Reason]int64{ReasonQueue: 1}})
}

// errFull is what a dialler says when no descriptor is left.
var errFull = &net.OpError{Op: "dial", Err: os.NewSyscallError("socket", syscall.EMFILE)}

// The primary is dialled until a descriptor is free, and the shadows are told to give theirs back; but not for ever.
func TestDiallingInsists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries, told := 0, 0
		dial := func(until int) dialing {
			tries, told = 0, 0
			return insist(func(context.Context, string, string) (net.Conn, error) {
				if tries++; tries < until {
					return nil, errFull
				}
				return nil, nil
			}, time.Second, func() { told++ })
		}
		if _, err := dial(5)(t.Context(), "", ""); err != nil || tries != 5 || told != 4 {
			t.Errorf("%d tries, told %d times, %v", tries, told, err)
		}
		begin := time.Now()
		if _, err := dial(1000)(t.Context(), "", ""); !errors.Is(err, syscall.EMFILE) || time.Since(begin) > time.Second || time.Since(begin) < 800*time.Millisecond {
			t.Errorf("%d tries in %s, %v", tries, time.Since(begin), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		begin = time.Now()
		if _, err := dial(1000)(ctx, "", ""); err == nil || time.Since(begin) != 100*time.Millisecond {
			t.Errorf("%s after nobody wanted it, %v", time.Since(begin), err)
		}
	})
}

// Requests that come at once to a proxy without descriptors are all answered, those with a body too.
func TestBurstWithoutDescriptors(t *testing.T) {
	s := newStage(t, nil, posts)
	var mu sync.Mutex
	open := 0
	upstream := s.proxy.setup.Load().upstream
	upstream.DialContext = linked(insist(func(ctx context.Context, network, address string) (net.Conn, error) {
		mu.Lock()
		defer mu.Unlock()
		if open == 2 { // and no more than these
			return nil, errFull
		}
		open++
		return new(net.Dialer).DialContext(ctx, network, address)
	}, patience, s.proxy.holdBack), true)
	const clients = 20
	done := make(chan string, clients)
	for i := range clients {
		w := s.dial()
		go func() {
			request := "GET /a HTTP/1.1\r\nHost: a\r\n\r\n"
			if i%2 == 0 {
				request = post("abc", i%4 == 0)
			}
			done <- fmt.Sprint(w.repeat(request, "GET", 5))
		}()
	}
	for range clients {
		if got := <-done; got != "<nil>" {
			t.Error(got)
		}
	}
	s.eventually("every request has its place", func() bool { return s.proxy.Counts().Open == 0 })
	if n := len(s.upstream[Primary].requests()); n != 5*clients {
		t.Errorf("the primary was asked %d times", n)
	}
}
