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

// A shadow that sends a little now and then, for ever, has its deadline; its connection is closed.
func TestShadowThatNeverFinishes(t *testing.T) {
	closed := make(chan struct{})
	candidate := raw(t, func(conn net.Conn, r *bufio.Reader) {
		defer close(closed)
		if _, more := readHead(r); !more {
			return
		}
		_, err := io.WriteString(conn, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
		for tick := time.NewTicker(10 * time.Millisecond); err == nil; <-tick.C {
			_, err = io.WriteString(conn, "400\r\n"+strings.Repeat("x", 1024)+"\r\n")
		}
	})
	good := newHandlerServer(t, answer(200, "hello"))
	s := newRawStage(t, good, good, candidate, func(c *Config) {
		short := 300 * time.Millisecond
		c.Shadow.Timeout, c.Shadow.Candidate.Timeout, c.Shadow.MaxResponseBody = patience, &short, 4*KiB
	})
	if _, body := s.get("/a"); body != "hello" {
		t.Errorf("the client got %q", body)
	}
	s.eventually("the candidate is asked", func() bool { return s.proxy.Counts().InFlight["candidate"] == 1 || s.proxy.Counts().Open == 0 })
	if held := s.proxy.Counts().CapturedBytes; held > 64<<10 {
		t.Errorf("%d bytes are held", held)
	}
	if res := s.exchange().Response(Candidate); res.Outcome != OutcomeTimeout && res.Outcome != OutcomeOversize {
		t.Errorf("the candidate has %s %q", res.Outcome, res.Detail)
	}
	<-closed
}

// The connection of a shadow that says nothing is closed at the deadline, not left to it.
func TestSilentShadowIsHungUpOn(t *testing.T) {
	closed := make(chan error, 1)
	candidate := raw(t, func(_ net.Conn, r *bufio.Reader) {
		readHead(r)
		_, err := r.ReadByte()
		closed <- err
	})
	good := newHandlerServer(t, answer(200, "hello"))
	s := newRawStage(t, good, good, candidate, func(c *Config) {
		short := 200 * time.Millisecond
		c.Shadow.Timeout, c.Shadow.Candidate.Timeout = patience, &short
	})
	s.get("/a")
	if res := s.exchange().Response(Candidate); res.Outcome != OutcomeTimeout || res.Duration < 200*time.Millisecond {
		t.Errorf("the candidate has %s after %s", res.Outcome, res.Duration)
	}
	if err := <-closed; err == nil {
		t.Error("the candidate was sent something more")
	}
}

// Of a giant answer no more is read than tells that it is one: a cap beyond the primary's.
func TestGiantAnswersAreNotRead(t *testing.T) {
	const giant = 100 << 20
	var sent atomic.Int64
	block := strings.Repeat("z", 64<<10)
	for name, head := range map[string]string{
		"length": fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", giant),
		"closes": "HTTP/1.1 200 OK\r\n\r\n",
	} {
		sent.Store(0)
		candidate := raw(t, func(conn net.Conn, r *bufio.Reader) {
			if _, more := readHead(r); !more {
				return
			}
			_, err := io.WriteString(conn, head)
			for n := 0; err == nil && n < giant; n += len(block) {
				sent.Add(int64(len(block)))
				_, err = io.WriteString(conn, block)
			}
		})
		good := newHandlerServer(t, answer(200, "hello"))
		s := newRawStage(t, good, good, candidate, func(c *Config) {
			c.Shadow.Concurrency, c.Shadow.Timeout, c.Shadow.MaxResponseBody = 4, patience, 64*KiB
		})
		const requests = 20
		var clients sync.WaitGroup
		for range requests {
			clients.Go(func() {
				if _, body := s.get("/a"); body != "hello" {
					t.Errorf("the client got %q", body)
				}
			})
		}
		clients.Wait()
		for range requests {
			ex := s.exchange()
			res := ex.Response(Candidate)
			if ex.Unknown != "" || res.Outcome != OutcomeOversize || res.Body != nil || res.Size > 5+(64<<10)+(32<<10) {
				t.Errorf("%s: the exchange is %q, the candidate %s, %d of it read", name, ex.Unknown, res.Outcome, res.Size)
			}
		}
		// What sockets hold was sent as well, and never read.
		if n := sent.Load() / requests; n > giant/5 {
			t.Errorf("%s: the candidate could send %d bytes for each request", name, n)
		}
		s.counts(Counts{Requests: requests, Exchanged: requests, Compared: requests})
	}
}

// An answer longer than the primary's is read to its end while it may still turn out to be as long.
func TestLongAnswersAreReadToTheirEnd(t *testing.T) {
	long := strings.Repeat("z", 300<<10)
	more, asked := make(chan struct{}), make(chan struct{}, 10)
	primary := newHandlerServer(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, long[:10])
		_ = http.NewResponseController(w).Flush()
		<-more
		_, _ = io.WriteString(w, long[10:])
	})
	shadow := newHandlerServer(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, long)
		asked <- struct{}{}
	})
	s := newRawStage(t, primary, shadow, shadow, func(c *Config) { c.Shadow.MaxResponseBody, c.Shadow.Timeout = 16*KiB, patience })
	w := s.dial()
	w.send("GET /a HTTP/1.1\r\nHost: a\r\n\r\n")
	<-asked
	<-asked
	s.eventually("the shadows have answered", func() bool { return s.proxy.Counts().InFlight["candidate"] == 0 })
	close(more)
	w.response("GET")
	ex := s.exchange()
	for role := range ex.Responses {
		if res := ex.Response(Role(role)); res.Outcome != OutcomeOK || res.Size != int64(len(long)) || res.Hash != ex.Responses[Primary].Hash {
			t.Errorf("the %s has %s, %d bytes", Role(role), res.Outcome, res.Size)
		}
	}
}

// Headers count as captured while they come in, so that many long ones cannot outgrow the budget.
func TestLongHeadersAreCharged(t *testing.T) {
	sending, more := make(chan struct{}, 100), make(chan struct{})
	const long = 900 << 10
	candidate := raw(t, func(conn net.Conn, r *bufio.Reader) {
		if _, ok := readHead(r); !ok {
			return
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nX-A: "+strings.Repeat("a", long))
		sending <- struct{}{}
		<-more
		_, _ = io.WriteString(conn, "\r\nContent-Length: 0\r\n\r\n")
	})
	good := newHandlerServer(t, answer(200, "hello"))
	s := newRawStage(t, good, good, candidate, func(c *Config) { c.Shadow.Memory, c.Shadow.Timeout = 4*MiB, patience })
	s.get("/a")
	<-sending
	s.eventually("the header is charged", func() bool { return s.proxy.Counts().CapturedBytes > long-freeHead-8192 })
	for range 9 {
		s.get("/a")
	}
	s.eventually("the budget is spent", func() bool { c := s.proxy.Counts(); return c.Unknown[ReasonMemory]+c.Dropped[ReasonMemory] >= 5 })
	if held := s.proxy.Counts().CapturedBytes; held > 4<<20 {
		t.Errorf("%d bytes are held", held)
	}
	close(more)
	s.eventually("every request has its place", func() bool { return s.proxy.Counts().Open == 0 })
	if c := s.proxy.Counts(); c.Compared == 0 || c.Compared+c.Unknown[ReasonMemory]+c.Dropped[ReasonMemory] != 10 {
		t.Errorf("counts are %+v", c)
	}
}

// A redirect is an answer as any other: nobody goes where it points.
func TestRedirectIsNotFollowed(t *testing.T) {
	visited := make(chan struct{}, 1)
	evil := raw(t, func(net.Conn, *bufio.Reader) { visited <- struct{}{} })
	s := newStage(t, map[Role]http.HandlerFunc{Candidate: func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, evil+"/", http.StatusFound)
	}}, nil)
	res, body := s.get("/a")
	if res.StatusCode != 200 || body != "hello" || res.Header["Location"] != nil {
		t.Errorf("the client got %d %q, %v", res.StatusCode, body, res.Header)
	}
	if res := s.exchange().Response(Candidate); res.Status != 302 || res.Header.Get("Location") != evil+"/" {
		t.Errorf("the candidate has %d, %v", res.Status, res.Header)
	}
	s.stop()
	if len(visited) > 0 {
		t.Error("the redirect was followed")
	}
}

// What a shadow answers shows nowhere but in the exchange: not at the client, not in what is observed of its request.
func TestShadowStatusStaysInside(t *testing.T) {
	s := newStage(t, map[Role]http.HandlerFunc{Candidate: answer(500, "sorry"), Secondary: answer(404, "none")}, nil)
	statuses := make(chan int, 1)
	s.proxy.deps.Observe = func(status int, _ time.Duration) { statuses <- status }
	if res, body := s.get("/a"); res.StatusCode != 200 || body != "hello" {
		t.Errorf("the client got %d %q", res.StatusCode, body)
	}
	if status := <-statuses; status != 200 {
		t.Errorf("observed %d", status)
	}
	ex := s.exchange()
	if ex.Unknown != "" || ex.Response(Candidate).Status != 500 || ex.Response(Secondary).Status != 404 {
		t.Errorf("the exchange is %q: %d and %d", ex.Unknown, ex.Response(Candidate).Status, ex.Response(Secondary).Status)
	}
}

// By default reading methods are shadowed and nothing else, so that no copy changes anything.
func TestMethodsShadowedByDefault(t *testing.T) {
	s := newStage(t, nil, nil)
	methods := []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "FOO"}
	for _, method := range methods {
		w := s.dial()
		w.send(method + " /a HTTP/1.1\r\nHost: a\r\n\r\n")
		if res, _ := w.response(method); res.StatusCode != 200 {
			t.Errorf("%s: the client got %d", method, res.StatusCode)
		}
	}
	s.counts(Counts{Requests: 9, Exchanged: 2, Compared: 2, Skipped: map[Reason]int64{ReasonMethod: 7}})
	if n := len(s.upstream[Primary].requests()); n != len(methods) {
		t.Errorf("the primary was asked %d times", n)
	}
	for _, role := range [...]Role{Secondary, Candidate} {
		for _, r := range s.upstream[role].requests() {
			if r.method != "GET" && r.method != "HEAD" {
				t.Errorf("the %s was asked to %s", role, r.method)
			}
		}
	}
}

// A secondary that has no room keeps the candidate from being asked as well.
func TestBothOrNone(t *testing.T) {
	release, asked := make(chan struct{}), make(chan struct{}, 10)
	s := newStage(t, map[Role]http.HandlerFunc{Secondary: hanging(release, asked)}, func(c *Config) {
		one := 1
		c.Shadow.Secondary.Concurrency, c.Shadow.Queue, c.Shadow.Timeout = &one, 0, patience
	})
	for range 10 {
		s.get("/a")
	}
	<-asked
	s.eventually("the rest is dropped", func() bool { return s.proxy.Counts().Dropped[ReasonQueue] == 9 })
	close(release)
	s.counts(Counts{Requests: 10, Exchanged: 1, Compared: 1, Dropped: map[Reason]int64{ReasonQueue: 9}})
	if n := len(s.upstream[Candidate].requests()); n != 1 {
		t.Errorf("the candidate was asked %d times", n)
	}
}
