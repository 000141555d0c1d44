package multicast

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Requests in turn on one connection, beside shadows that say nothing: each is answered on it, what is asked ends by the
// clock, and what finds no room is dropped.
func TestHangingShadowsEndByTheClock(t *testing.T) {
	const requests, legs, timeout = 20, 4, 300 * time.Millisecond
	good := newHandlerServer(t, answer(200, "hello"))
	s := newRawStage(t, good, sink(t), sink(t), func(c *Config) {
		c.Shadow.Concurrency, c.Shadow.Queue, c.Shadow.Timeout = legs, 0, timeout
	})
	w := s.dial()
	if err := w.repeat("GET /n HTTP/1.1\r\nHost: a\r\n\r\n", "GET", requests); err != nil {
		t.Error(err)
	}
	s.eventually("every request has its place", func() bool { return s.proxy.Counts().Open == 0 })
	sent := s.proxy.Counts().Exchanged
	if sent < legs {
		t.Errorf("only %d were asked", sent)
	}
	want := Counts{Requests: requests, Exchanged: sent, Unknown: map[Reason]int64{ReasonShadowsFailed: sent}}
	if sent < requests {
		want.Dropped = map[Reason]int64{ReasonQueue: requests - sent}
	}
	s.counts(want)
	for _, role := range [...]Role{Secondary, Candidate} {
		s.outcomes(role, map[Outcome]int64{OutcomeTimeout: sent})
	}
	for range sent {
		for role, res := range s.exchange().Responses {
			if Role(role) != Primary && res.Duration < timeout {
				t.Errorf("the %s was given up after %s", Role(role), res.Duration)
			}
		}
	}
}

// A shadow that drips, and so stays below every cap, is given up at its deadline all the same: the deadline spans the body.
func TestDrippingShadowHasADeadline(t *testing.T) {
	const cap = 64 << 10
	for name, head := range map[string]string{"length": "Content-Length: 50000\r\n\r\n", "chunked": "Transfer-Encoding: chunked\r\n\r\n"} {
		closed := make(chan struct{}, 1)
		candidate := raw(t, func(conn net.Conn, r *bufio.Reader) {
			if _, ok := readHead(r); !ok {
				return
			}
			drop := map[string]string{"length": "x", "chunked": "1\r\nx\r\n"}[name]
			_, err := io.WriteString(conn, "HTTP/1.1 200 OK\r\n"+head)
			for tick := time.NewTicker(5 * time.Millisecond); err == nil; <-tick.C {
				_, err = io.WriteString(conn, drop)
			}
			closed <- struct{}{}
		})
		good := newHandlerServer(t, answer(200, "hello"))
		const timeout = 300 * time.Millisecond
		s := newRawStage(t, good, good, candidate, func(c *Config) {
			short := timeout
			c.Shadow.Timeout, c.Shadow.Candidate.Timeout, c.Shadow.MaxResponseBody = patience, &short, cap
		})
		if _, body := s.get("/a"); body != "hello" {
			t.Errorf("%s: the client got %q", name, body)
		}
		ex := s.exchange()
		if res := ex.Response(Candidate); ex.Unknown != "" || res.Outcome != OutcomeTimeout || res.Status != 200 || res.Duration < timeout || len(res.Body) > cap {
			t.Errorf("%s: the exchange is %q, the candidate %s %q after %s", name, ex.Unknown, res.Outcome, res.Detail, res.Duration)
		}
		await(t, "the connection is closed", closed)
		s.counts(Counts{Requests: 1, Exchanged: 1, Compared: 1})
		s.outcomes(Candidate, map[Outcome]int64{OutcomeTimeout: 1})
	}
}

// The shadows' time begins when they are asked: an upload that takes longer than that is shadowed as any other.
func TestDeadlineBeginsWithTheCopy(t *testing.T) {
	begun := make(chan struct{})
	primary := raw(t, func(conn net.Conn, r *bufio.Reader) {
		head, ok := readHead(r)
		if ok && strings.HasPrefix(head, "POST ") {
			begun <- struct{}{}
			_, _ = io.ReadFull(r, make([]byte, 10))
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
	})
	shadow := newHandlerServer(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == "GET" {
			<-r.Context().Done()
			return
		}
		_, _ = io.Copy(w, r.Body)
	})
	s := newRawStage(t, primary, shadow, shadow, func(c *Config) {
		posts(c)
		c.Shadow.Timeout = time.Second
	})
	w := s.dial()
	w.send("POST /u HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n01234")
	await(t, "the primary is asked", begun)
	s.get("/hangs") // a whole timeout passes
	if ex := s.exchange(); ex.Unknown != ReasonShadowsFailed || ex.Response(Candidate).Outcome != OutcomeTimeout {
		t.Errorf("the exchange is %q, the candidate %s", ex.Unknown, ex.Response(Candidate).Outcome)
	}
	w.send("56789")
	if _, body := w.response("POST"); body != "ok" {
		t.Errorf("the client got %q", body)
	}
	ex := s.exchange()
	for _, role := range [...]Role{Secondary, Candidate} {
		if res := ex.Response(role); res.Outcome != OutcomeOK || string(res.Body) != "0123456789" {
			t.Errorf("the %s has %s %q", role, res.Outcome, res.Body)
		}
	}
	s.counts(Counts{Requests: 2, Exchanged: 2, Compared: 1, Unknown: map[Reason]int64{ReasonShadowsFailed: 1}})
}

// Shadows that were asked at the start are called back when the primary fails: nobody waits for them, and nothing is
// judged or held.
func TestPrimaryFailsWhileShadowsAreAsked(t *testing.T) {
	for name, c := range map[string]struct {
		fail   func(conn net.Conn, r *bufio.Reader)
		status int
	}{
		"garbage": {func(conn net.Conn, _ *bufio.Reader) { _, _ = io.WriteString(conn, notHTTP) }, 502},
		"closes":  {func(net.Conn, *bufio.Reader) {}, 502},
		"silent":  {func(_ net.Conn, r *bufio.Reader) { _, _ = r.ReadByte() }, 504},
	} {
		asked := make(chan struct{}, 10)
		primary := raw(t, func(conn net.Conn, r *bufio.Reader) {
			if _, ok := readHead(r); ok {
				if name != "silent" {
					<-asked
					<-asked
				}
				c.fail(conn, r)
			}
		})
		called := make(chan struct{}, 10)
		shadow := raw(t, func(_ net.Conn, r *bufio.Reader) {
			if _, ok := readHead(r); ok {
				asked <- struct{}{}
				_, _ = r.ReadByte() // until the proxy hangs up
				called <- struct{}{}
			}
		})
		s := newRawStage(t, primary, shadow, shadow, func(cfg *Config) {
			cfg.Dispatch, cfg.Shadow.Timeout, cfg.Upstream.HeadTimeout = DispatchStart, patience, patience
			if name == "silent" {
				cfg.Upstream.HeadTimeout = 300 * time.Millisecond
			}
		})
		res, body := s.get("/a")
		if res.StatusCode != c.status || body != strings.ToLower(http.StatusText(c.status))+"\n" {
			t.Errorf("%s: the client got %d %q", name, res.StatusCode, body)
		}
		if ex := s.exchange(); ex.Unknown != ReasonPrimaryFailed {
			t.Errorf("%s: the exchange is %q", name, ex.Unknown)
		}
		if name != "silent" { // there the shadows' connections may have been given up before they were accepted
			await(t, "a shadow is called back", called)
			await(t, "a shadow is called back", called)
		}
		s.counts(Counts{Requests: 1, Exchanged: 1, Unknown: map[Reason]int64{ReasonPrimaryFailed: 1}})
		s.outcomes(Candidate, map[Outcome]int64{OutcomeCancelled: 1})
		s.outcomes(Secondary, map[Outcome]int64{OutcomeCancelled: 1})
	}
}

// A candidate that takes no byte of an upload holds up neither the client nor the secondary, whether sockets swallow the
// whole copy or not.
func TestUploadBesideAShadowThatDoesNotRead(t *testing.T) {
	release := make(chan struct{})
	candidate := raw(t, func(net.Conn, *bufio.Reader) { <-release })
	t.Cleanup(func() { close(release) })
	good := newHandlerServer(t, digest)
	s := newRawStage(t, good, good, candidate, func(c *Config) {
		posts(c)
		c.Shadow.MaxRequestBody, c.Shadow.Timeout = 8*MiB, patience
	})
	w := s.dial()
	for i, size := range []int{60 << 10, 6 << 20, 1} { // on one connection, the one behind the other
		w.send(post(strings.Repeat("x", size), i%2 == 1))
		if res, _ := w.response("POST"); res.StatusCode != 200 {
			t.Errorf("%d bytes: the client got %d", size, res.StatusCode)
		}
		n := int64(i + 1)
		s.eventually("the secondary has answered", func() bool { return s.proxy.Counts().Shadow["secondary"].Outcome[OutcomeOK] == n })
		if c := s.proxy.Counts(); c.InFlight["candidate"] != n || c.Open != n {
			t.Errorf("%d bytes: counts are %+v", size, c)
		}
	}
	off := false
	s.proxy.SetShadowing(&off, nil)
	s.counts(Counts{Requests: 3, Exchanged: 3, Unknown: map[Reason]int64{ReasonCancelled: 3}})
	s.outcomes(Candidate, map[Outcome]int64{OutcomeCancelled: 3})
}
