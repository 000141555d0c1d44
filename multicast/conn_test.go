package multicast

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// What a shadow answers is understood as by any client, and its connection is used again where that is safe.
func TestAnswersOfAShadow(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\n"
	for name, c := range map[string]struct {
		method, answer string
		closes         bool
		status         int
		body           string
		trailer        string // X-T
		connections    int64  // for three requests
	}{
		"length":            {"GET", ok + "Content-Length: 5\r\n\r\nhello", false, 200, "hello", "", 1},
		"no body":           {"GET", ok + "Content-Length: 0\r\n\r\n", false, 200, "", "", 1},
		"chunks":            {"GET", ok + "Transfer-Encoding: chunked\r\n\r\n2;a=b\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n", false, 200, "hello", "", 1},
		"trailer":           {"GET", ok + "Transfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n5\r\nhello\r\n0\r\nX-T: v\r\n\r\n", false, 200, "hello", "v", 1},
		"surprise trailer":  {"GET", ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX-T: v\r\n\r\n", false, 200, "hello", "v", 1},
		"to the end":        {"GET", ok + "\r\nhello", true, 200, "hello", "", 3},
		"closes":            {"GET", ok + "Connection: close\r\nContent-Length: 5\r\n\r\nhello", true, 200, "hello", "", 3},
		"says so only":      {"GET", ok + "Connection: close\r\nContent-Length: 5\r\n\r\nhello", false, 200, "hello", "", 3},
		"closes silently":   {"GET", ok + "Content-Length: 5\r\n\r\nhello", true, 200, "hello", "", 3},
		"HTTP/1.0":          {"GET", "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello", true, 200, "hello", "", 3},
		"HTTP/1.0, kept":    {"GET", "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\nhello", false, 200, "hello", "", 1},
		"HTTP/1.0, endless": {"GET", "HTTP/1.0 200 OK\r\n\r\nhello", true, 200, "hello", "", 3},
		"to HEAD":           {"HEAD", ok + "Content-Length: 123\r\n\r\n", false, 200, "", "", 1},
		"chunks to HEAD":    {"HEAD", ok + "Transfer-Encoding: chunked\r\n\r\n", false, 200, "", "", 1},
		"204":               {"GET", "HTTP/1.1 204 No Content\r\n\r\n", false, 204, "", "", 1},
		"304":               {"GET", "HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\nContent-Length: 50\r\n\r\n", false, 304, "", "", 1},
		"more than said":    {"GET", ok + "Content-Length: 5\r\n\r\nhelloHTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n", false, 200, "hello", "", 3},
		"a body to HEAD":    {"HEAD", ok + "Content-Length: 5\r\n\r\nhello", false, 200, "", "", 3},
		"a body with 204":   {"GET", "HTTP/1.1 204 No Content\r\n\r\nhello", false, 204, "", "", 3},
		"100 first":         {"GET", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n" + ok + "Content-Length: 5\r\n\r\nhello", false, 200, "hello", "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			var connections atomic.Int64
			candidate := raw(t, func(conn net.Conn, r *bufio.Reader) {
				connections.Add(1)
				for {
					if _, more := readHead(r); !more {
						return
					}
					if _, _ = io.WriteString(conn, c.answer); c.closes {
						return
					}
				}
			})
			good := newHandlerServer(t, answer(200, "hello"))
			s := newRawStage(t, good, good, candidate, nil)
			w := s.dial()
			for range 3 {
				w.send(c.method + " /a HTTP/1.1\r\nHost: a\r\n\r\n")
				w.response(c.method)
				ex := s.exchange()
				res := ex.Response(Candidate)
				if res.Outcome == OutcomeStale && c.closes {
					continue // the end of the connection came only after it was used again
				}
				if res.Outcome != OutcomeOK || res.Status != c.status || string(res.Body) != c.body || res.Trailer.Get("X-T") != c.trailer {
					t.Errorf("the candidate has %s %q, %d %q, trailer %v", res.Outcome, res.Detail, res.Status, res.Body, res.Trailer)
				}
				if res.Header["Link"] != nil {
					t.Errorf("the answer has %v", res.Header)
				}
			}
			if n := connections.Load(); n != c.connections && !(c.closes && n < c.connections) {
				t.Errorf("%d connections", n)
			}
		})
	}
}

// What comes on a kept connection before anybody asked is no answer.
func TestUnaskedAnswerIsNoAnswer(t *testing.T) {
	unasked := make(chan struct{})
	var first atomic.Bool
	candidate := raw(t, func(conn net.Conn, r *bufio.Reader) {
		if _, more := readHead(r); !more {
			return
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
		if first.CompareAndSwap(false, true) {
			<-unasked
			_, _ = io.WriteString(conn, "HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n")
			unasked <- struct{}{}
		}
		readHead(r)
	})
	good := newHandlerServer(t, answer(200, "hello"))
	s := newRawStage(t, good, good, candidate, nil)
	s.get("/a")
	s.exchange()
	unasked <- struct{}{}
	<-unasked
	s.get("/a")
	if res := s.exchange().Response(Candidate); res.Outcome != OutcomeOK || res.Status != 200 {
		t.Errorf("the candidate has %s, %d", res.Outcome, res.Status)
	}
}

// A shadow that answers before it has read a long body is heard, and what it does not read holds up nobody.
func TestShadowAnswersBeforeItReads(t *testing.T) {
	body := strings.Repeat("x", 8<<20)
	candidate := raw(t, func(conn net.Conn, r *bufio.Reader) {
		if _, more := readHead(r); more {
			_, _ = io.WriteString(conn, "HTTP/1.1 413 No\r\nContent-Length: 5\r\n\r\nhello")
			_, _ = io.Copy(io.Discard, hold(conn)) // reads nothing until the other side is gone
		}
	})
	good := newHandlerServer(t, digest)
	s := newRawStage(t, good, good, candidate, func(c *Config) {
		posts(c)
		c.Shadow.MaxRequestBody, c.Shadow.Timeout = 16*MiB, patience
	})
	for _, chunked := range []bool{false, true} {
		w := s.dial()
		w.send(post(body, chunked))
		w.response("POST")
		ex := s.exchange()
		if res := ex.Response(Candidate); res.Outcome != OutcomeOK || res.Status != 413 || string(res.Body) != "hello" {
			t.Errorf("the candidate has %s %q, %d %q", res.Outcome, res.Detail, res.Status, res.Body)
		}
		if res := ex.Response(Secondary); res.Outcome != OutcomeOK || res.Status != 200 {
			t.Errorf("the secondary has %s %q", res.Outcome, res.Detail)
		}
	}
}

// hold is a connection that is read only after it has ended for writing.
func hold(conn net.Conn) io.Reader {
	for {
		if _, err := io.WriteString(conn, " "); err != nil {
			return conn
		}
	}
}

// A shadow that never reads is given up at its deadline; the upload is not slowed.
func TestShadowThatDoesNotRead(t *testing.T) {
	release := make(chan struct{})
	candidate := raw(t, func(net.Conn, *bufio.Reader) { <-release })
	t.Cleanup(func() { close(release) })
	good := newHandlerServer(t, digest)
	s := newRawStage(t, good, good, candidate, func(c *Config) {
		posts(c)
		short := 200 * time.Millisecond
		c.Shadow.MaxRequestBody, c.Shadow.Timeout, c.Shadow.Candidate.Timeout = 16*MiB, patience, &short
	})
	for _, size := range []int{60 << 10, 8 << 20} {
		w := s.dial()
		w.send(post(strings.Repeat("x", size), false))
		if res, _ := w.response("POST"); res.StatusCode != 200 {
			t.Errorf("the client got %d", res.StatusCode)
		}
		ex := s.exchange()
		if res := ex.Response(Candidate); res.Outcome != OutcomeTimeout || ex.Response(Secondary).Outcome != OutcomeOK {
			t.Errorf("%d bytes: %s %q, %s", size, res.Outcome, res.Detail, ex.Response(Secondary).Outcome)
		}
	}
}

// Connections that nobody uses are closed by the clock alone, and at once where another configuration takes over.
func TestUnusedConnectionsAreClosed(t *testing.T) {
	closed := make(chan struct{}, 10)
	shadow := raw(t, func(conn net.Conn, r *bufio.Reader) {
		for {
			if _, more := readHead(r); !more {
				closed <- struct{}{}
				return
			}
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
		}
	})
	good := newHandlerServer(t, answer(200, "hello"))
	s := newRawStage(t, good, shadow, shadow, nil)
	s.get("/a")
	s.exchange()
	begin := time.Now()
	<-closed
	<-closed
	if took := time.Since(begin); took < shadowIdle/2 {
		t.Errorf("closed after %s", took)
	}
	s.get("/a")
	s.exchange()
	s.proxy.setup.Load().shadows[Candidate].close()
	<-closed
	s.get("/a") // comes back to a way that is closed
	s.exchange()
	<-closed
}

// A shadow gets its request in one piece.
func TestCopiesComeInOnePiece(t *testing.T) {
	pieces := make(chan string, 10)
	candidate := raw(t, func(conn net.Conn, _ *bufio.Reader) {
		buf := make([]byte, 64<<10)
		for {
			n, err := conn.Read(buf)
			if err != nil {
				return
			}
			pieces <- string(buf[:n])
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
		}
	})
	s := newRawStage(t, newHandlerServer(t, digest), "", candidate, posts)
	w := s.dial()
	w.send("POST /u?a=b HTTP/1.1\r\nHost: a\r\nX-B: 2\r\nX-A: 1\r\nX-A: 3\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n")
	w.head()
	w.send("3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")
	w.response("POST")
	id := s.exchange().ID
	want := "POST /u?a=b HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nX-A: 1\r\nX-A: 3\r\nX-B: 2\r\n" +
		"X-Forwarded-For: 127.0.0.1\r\nX-Forwarded-Host: a\r\nX-Forwarded-Proto: http\r\n" +
		"X-Shadow-Id: " + id + "\r\nX-Shadow-Request: 1\r\n\r\n5\r\nabcde\r\n0\r\n\r\n"
	if got := <-pieces; got != want {
		t.Errorf("the candidate got %q", got)
	}
}

// However many legs there are, each has one connection, and those of a host that accepts nobody are as few.
func TestNeverMoreConnectionsThanLegs(t *testing.T) {
	var open, most atomic.Int64
	candidate := httptest.NewUnstartedServer(answer(200, "hello"))
	candidate.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			if n := open.Add(1); n > most.Load() {
				most.Store(n)
			}
		case http.StateClosed:
			open.Add(-1)
		}
	}
	candidate.Start()
	t.Cleanup(candidate.Close)
	good := newHandlerServer(t, answer(200, "hello"))
	s := newRawStage(t, good, good, candidate.URL, func(c *Config) { c.Shadow.Concurrency = 3 })
	for i := range 60 {
		s.get(fmt.Sprintf("/%d", i))
	}
	s.eventually("every request has its place", func() bool { return s.proxy.Counts().Open == 0 })
	if n := most.Load(); n > 3 || n == 0 {
		t.Errorf("%d connections at once", n)
	}
}
