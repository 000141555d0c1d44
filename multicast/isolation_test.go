package multicast

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

const notHTTP = "\x00\xff not http\r\n\r\n"

// script answers each request on a connection with these bytes and then, if it says so, closes.
func script(t *testing.T, bytes string, closes bool) string {
	return raw(t, func(conn net.Conn, r *bufio.Reader) {
		for {
			if _, ok := readHead(r); !ok {
				return
			}
			if _, _ = io.WriteString(conn, bytes); closes {
				return
			}
		}
	})
}

// Whatever the candidate does, the client gets the primary's answer, and the outcome has its name.
func TestOutcomes(t *testing.T) {
	refused := func(t *testing.T) string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		return "http://" + l.Addr().String()
	}
	scripted := func(bytes string, closes bool) func(*testing.T) string {
		return func(t *testing.T) string { return script(t, bytes, closes) }
	}
	for name, c := range map[string]struct {
		candidate func(*testing.T) string
		outcome   Outcome
		detail    string
		status    int
	}{
		"refused":      {refused, OutcomeDial, "connection refused", 0},
		"no such name": {func(*testing.T) string { return "http://no-such-host.invalid" }, OutcomeDial, "", 0},
		"no TLS": {func(t *testing.T) string {
			return strings.Replace(raw(t, func(conn net.Conn, _ *bufio.Reader) { _, _ = io.WriteString(conn, notHTTP) }), "http:", "https:", 1)
		}, OutcomeDial, "", 0},
		"silent":         {scripted("", false), OutcomeTimeout, "no answer in time", 0},
		"head then hang": {scripted("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n0123456789", false), OutcomeTimeout, "body not whole in time", 200},
		"closes at once": {scripted("", true), OutcomeReset, "connection ended without an answer", 0},
		"cut off":        {scripted("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n0123456789", true), OutcomeReset, "connection ended before the body was whole", 200},
		"cut chunk":      {scripted("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", true), OutcomeReset, "connection ended before the body was whole", 200},
		"garbage":        {scripted(notHTTP, true), OutcomeProtocol, "malformed HTTP", 0},
		"bad chunk":      {scripted("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", true), OutcomeProtocol, "invalid byte in chunk length", 200},
		"great head":     {scripted("HTTP/1.1 200 OK\r\nX-A: "+strings.Repeat("a", 2<<20)+"\r\n\r\n", true), OutcomeProtocol, "server response headers exceeded", 0},
		"ever informing": {scripted(strings.Repeat("HTTP/1.1 102 Processing\r\n\r\n", maxInformational+1), false), OutcomeProtocol, "too many informational answers", 0},
		"some informing": {scripted(strings.Repeat("HTTP/1.1 102 Processing\r\n\r\n", maxInformational)+"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", false), OutcomeOK, "", 200},
		"long informing": {scripted(strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: "+strings.Repeat("a", 400<<10)+"\r\n\r\n", 4)+"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", false), OutcomeOK, "", 200},
		"switches":       {scripted("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", false), OutcomeProtocol, "switched protocols without being asked", 101},
		"redirects":      {scripted("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n", false), OutcomeOK, "", 302},
	} {
		t.Run(name, func(t *testing.T) {
			good := newHandlerServer(t, answer(200, "hello"))
			s := newRawStage(t, good, good, c.candidate(t), func(cfg *Config) {
				cfg.Shadow.Timeout = patience
				if c.outcome == OutcomeTimeout {
					short := 300 * time.Millisecond
					cfg.Shadow.Candidate.Timeout = &short
				}
			})
			if res, body := s.get("/a"); res.StatusCode != 200 || body != "hello" {
				t.Fatalf("the client got %d %q", res.StatusCode, body)
			}
			ex := s.exchange()
			got := ex.Response(Candidate)
			if c.detail == "" {
				c.detail = got.Detail
			}
			if strings.Contains(got.Detail, "127.0.0.1") {
				t.Errorf("an address in %q", got.Detail)
			}
			if got.Outcome != c.outcome || got.Detail != c.detail || got.Status != c.status || ex.Unknown != "" {
				t.Errorf("got %s %q, status %d; the exchange is %q", got.Outcome, got.Detail, got.Status, ex.Unknown)
			}
			s.outcomes(Candidate, map[Outcome]int64{c.outcome: 1})
		})
	}
}

func TestBothShadowsFailed(t *testing.T) {
	good := newHandlerServer(t, answer(200, "hello"))
	s := newRawStage(t, good, "http://127.0.0.1:1", "http://127.0.0.1:1", nil)
	for range 50 {
		if _, body := s.get("/a"); body != "hello" {
			t.Fatalf("the client got %q", body)
		}
	}
	if ex := s.exchange(); ex.Unknown != ReasonShadowsFailed {
		t.Errorf("the exchange is %q", ex.Unknown)
	}
	s.eventually("every request has its place", func() bool { return s.proxy.Counts().Open == 0 })
	c := s.proxy.Counts()
	if n := c.Exchanged; n < circuitFailures || c.Unknown[ReasonShadowsFailed] != n || c.Dropped[ReasonCircuit] != 50-n {
		t.Errorf("counts are %+v", c)
	}
	if lines := strings.Count(s.log.String(), "shadow failed"); lines > 10 {
		t.Errorf("%d lines in the log", lines)
	}
}

// A kept connection that the shadow closes tells nothing of its code, and nothing is sent twice.
func TestStaleConnectionIsNeverUsedTwice(t *testing.T) {
	for scheme, secured := range map[string]bool{"http:": false, "https:": true} {
		t.Run(scheme, func(t *testing.T) { staleConnection(t, scheme, secured) })
	}
}

func staleConnection(t *testing.T, scheme string, secured bool) {
	pair, _, _ := newAuthority(t).issue(&x509.Certificate{SerialNumber: big.NewInt(2), NotAfter: time.Now().Add(time.Hour)})
	var asked atomic.Int64
	candidate := raw(t, func(conn net.Conn, r *bufio.Reader) {
		if secured {
			conn = tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{pair}})
			r = bufio.NewReader(conn)
		}
		if _, ok := readHead(r); !ok {
			return
		}
		asked.Add(1)
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
		if _, ok := readHead(r); ok { // and dies at the second
			asked.Add(1)
		}
	})
	good := newHandlerServer(t, answer(200, "hello"))
	s := newRawStage(t, good, good, strings.Replace(candidate, "http:", scheme, 1), func(c *Config) {
		c.Methods = []string{"GET", "POST"}
		c.Shadow.Candidate.TLS.InsecureSkipVerify = true
	})
	for i, request := range []string{
		"GET /a HTTP/1.1\r\nHost: a\r\n\r\n", "GET /a HTTP/1.1\r\nHost: a\r\n\r\n", "GET /a HTTP/1.1\r\nHost: a\r\n\r\n",
		"POST /a HTTP/1.1\r\nHost: a\r\nIdempotency-Key: 1\r\nContent-Length: 0\r\n\r\n",
	} {
		w := s.dial()
		w.send(request)
		w.response(request[:4])
		ex := s.exchange()
		if got := ex.Response(Candidate).Outcome; i%2 == 0 && got != OutcomeOK || i%2 == 1 && (got != OutcomeStale || ex.Unknown != ReasonStale) {
			t.Errorf("request %d: %s, the exchange is %q", i, got, ex.Unknown)
		}
		if n := asked.Load(); n != int64(i+1) {
			t.Errorf("request %d: the candidate was asked %d times", i, n)
		}
	}
}

// A connection is used again, for a body that was read to its end.
func TestShadowConnectionsAreKept(t *testing.T) {
	var connections atomic.Int64
	candidate := raw(t, func(conn net.Conn, r *bufio.Reader) {
		connections.Add(1)
		for {
			if _, ok := readHead(r); !ok {
				return
			}
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n")
		}
	})
	good := newHandlerServer(t, answer(200, "hello"))
	s := newRawStage(t, good, good, candidate, nil)
	for range 10 {
		s.get("/a")
		s.exchange()
	}
	if n := connections.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

// hanging is a shadow that answers when it is told to.
func hanging(release <-chan struct{}, asked chan<- struct{}) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		select {
		case <-release:
			_, _ = io.WriteString(w, "hello")
		case <-r.Context().Done():
		}
	}
}

// Shadows that hang hold up no client; beyond concurrency and queue exchanges are dropped, in pairs.
func TestHangingShadows(t *testing.T) {
	release, asked := make(chan struct{}), make(chan struct{}, 100)
	s := newStage(t, map[Role]http.HandlerFunc{Secondary: hanging(release, asked), Candidate: hanging(release, asked)}, func(c *Config) {
		c.Shadow.Concurrency, c.Shadow.Queue, c.Shadow.Timeout = 4, 3, patience
		two := 2
		c.Shadow.Secondary.Concurrency = &two
	})
	w := s.dial()
	for i := range 20 { // one connection
		w.send(fmt.Sprintf("GET /%d HTTP/1.1\r\nHost: a\r\n\r\n", i))
		if res, body := w.response("GET"); res.StatusCode != 200 || body != "hello" {
			t.Fatalf("the client got %d %q", res.StatusCode, body)
		}
	}
	for range 4 {
		<-asked
	}
	s.eventually("the queue is full", func() bool { return s.proxy.Counts().Dropped[ReasonQueue] == 15 })
	if c := s.proxy.Counts(); c.Queue != 3 || c.InFlight["candidate"] != 2 || c.InFlight["secondary"] != 2 || c.Open != 5 {
		t.Errorf("counts %+v", c)
	}
	close(release)
	s.counts(Counts{Requests: 20, Exchanged: 5, Compared: 5, Dropped: map[Reason]int64{ReasonQueue: 15}})
	if a, b := len(s.upstream[Secondary].requests()), len(s.upstream[Candidate].requests()); a != 5 || b != 5 {
		t.Errorf("asked %d and %d times", a, b)
	}
}

func TestNoneWaitsWithoutAQueue(t *testing.T) {
	release, asked := make(chan struct{}), make(chan struct{}, 100)
	s := newStage(t, map[Role]http.HandlerFunc{Secondary: hanging(release, asked), Candidate: hanging(release, asked)}, func(c *Config) {
		c.Shadow.Concurrency, c.Shadow.Queue, c.Shadow.Timeout = 2, 0, patience
	})
	for range 10 {
		s.get("/a")
	}
	s.eventually("the rest is dropped", func() bool { return s.proxy.Counts().Dropped[ReasonQueue] == 8 })
	close(release)
	s.counts(Counts{Requests: 10, Exchanged: 2, Compared: 2, Dropped: map[Reason]int64{ReasonQueue: 8}})
}

// What waits longer than its shadows would be given is dropped.
func TestWaitingHasAnEnd(t *testing.T) {
	asked := make(chan struct{}, 100)
	s := newStage(t, map[Role]http.HandlerFunc{Secondary: hanging(nil, asked), Candidate: hanging(nil, asked)}, func(c *Config) {
		c.Shadow.Concurrency, c.Shadow.Timeout = 1, 100*time.Millisecond
		long := time.Second
		c.Routes = []RouteConfig{{Match: "/long", Timeout: &long}}
	})
	s.get("/long")
	<-asked
	for range 3 {
		s.get("/a")
	}
	s.counts(Counts{
		Requests: 4, Exchanged: 1, Unknown: map[Reason]int64{ReasonShadowsFailed: 1}, Dropped: map[Reason]int64{ReasonQueue: 3},
	})
}

func TestPanicInComparingLosesOneExchange(t *testing.T) {
	s := newStage(t, nil, nil)
	inner := s.proxy.deps.Deliver
	s.proxy.deps.Deliver = func() Deliver {
		return func(ex *Exchange) {
			if ex.Request.Target == "/panic" {
				panic("by a test")
			}
			inner()(ex)
		}
	}
	s.get("/panic")
	s.get("/b")
	if ex := s.exchange(); ex.Request.Target != "/b" {
		t.Errorf("got %s", ex.Request.Target)
	}
	s.counts(Counts{Requests: 2, Exchanged: 2, Compared: 1, Unknown: map[Reason]int64{ReasonPanic: 1}})
}

// When comparing lags, new exchanges wait in the queue and are then dropped; no client waits.
func TestSlowComparing(t *testing.T) {
	s := newStage(t, nil, func(c *Config) { c.Shadow.Concurrency, c.Shadow.Queue = 2, 2 })
	release := make(chan struct{})
	s.proxy.deps.Deliver = func() Deliver { return func(*Exchange) { <-release } }
	for range 30 {
		s.get("/a")
	}
	s.eventually("some are dropped", func() bool { return s.proxy.Counts().Dropped[ReasonQueue] > 0 })
	close(release)
	s.eventually("every request has its place", func() bool { return s.proxy.Counts().Open == 0 })
	if c := s.proxy.Counts(); c.Compared < 4 || c.Compared > 10 || c.Compared+c.Dropped[ReasonQueue] != 30 {
		t.Errorf("counts %+v", c)
	}
}

// An exchange goes to what was in force when its request came, and may turn out to be unknown in comparing.
func TestDeliverIsFetchedOnArrival(t *testing.T) {
	release := make(chan struct{})
	s := newStage(t, map[Role]http.HandlerFunc{Primary: func(http.ResponseWriter, *http.Request) { <-release }}, nil)
	var run atomic.Int64
	got := make(chan int64, 2)
	s.proxy.deps.Deliver = func() Deliver {
		mine := run.Load()
		return func(ex *Exchange) {
			got <- mine
			ex.Unknown = "lineage"
		}
	}
	w := s.dial()
	w.send("GET /a HTTP/1.1\r\nHost: a\r\n\r\n")
	s.eventually("the primary is asked", func() bool { return len(s.upstream[Primary].requests()) == 1 })
	run.Store(1)
	close(release)
	w.response("GET")
	if mine := <-got; mine != 0 {
		t.Errorf("delivered to run %d", mine)
	}
	s.counts(Counts{Requests: 1, Exchanged: 1, Unknown: map[Reason]int64{"lineage": 1}})
}

// The candidate's cookies stay with it.
func TestNoCookieIsKept(t *testing.T) {
	s := newStage(t, map[Role]http.HandlerFunc{Candidate: func(w http.ResponseWriter, _ *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "sid", Value: "bad"})
	}}, nil)
	for range 2 {
		if res, _ := s.get("/a"); len(res.Cookies()) > 0 {
			t.Errorf("the client got %v", res.Cookies())
		}
		s.exchange()
	}
	for _, r := range s.upstream[Candidate].requests() {
		if r.header["Cookie"] != nil {
			t.Errorf("the candidate got %v", r.header)
		}
	}
}

// A candidate that is the proxy itself ends where the mark is seen.
func TestLoopEnds(t *testing.T) {
	good := newHandlerServer(t, answer(200, "hello"))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := newRawStage(t, good, good, "http://"+listener.Addr().String(), nil)
	server := s.proxy.Server()
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	s.get("/a")
	s.exchange()
	s.counts(Counts{Requests: 2, Exchanged: 1, Compared: 1, Skipped: map[Reason]int64{ReasonLoop: 1}})
}
