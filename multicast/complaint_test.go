package multicast

import (
	"bufio"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// However often a role fails, and whether the circuit opens or not, the log has one line a second for each role at most,
// and none that names an address or says what was sent.
func TestFailuresDoNotFloodTheLog(t *testing.T) {
	flaky := func() string {
		var mu sync.Mutex
		n := 0
		return raw(t, func(conn net.Conn, r *bufio.Reader) {
			if _, ok := readHead(r); !ok {
				return
			}
			mu.Lock()
			n++
			good := n%5 == 0 // the circuit stays closed
			mu.Unlock()
			if good {
				_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
			}
		})
	}
	good := newHandlerServer(t, answer(200, "hello"))
	const requests = 200
	s := newRawStage(t, good, flaky(), flaky(), nil)
	begin := time.Now()
	for range requests {
		if res, body := s.get("/a", "Authorization: secret"); res.StatusCode != 200 || body != "hello" {
			t.Fatalf("the client got %d %q", res.StatusCode, body)
		}
		s.exchange()
	}
	most := 1 + int(time.Since(begin)/time.Second)
	failed := map[string]int64{}
	for role, legs := range s.proxy.Counts().Shadow {
		failed[role] = legs.Sent - legs.Outcome[OutcomeOK]
		told := 0
		for line := range strings.Lines(s.log.String()) {
			if strings.Contains(line, "shadow failed") && strings.Contains(line, "role="+role) {
				told++
			}
		}
		if failed[role] < requests/2 || told < 1 || told > most {
			t.Errorf("%d failures of the %s made %d lines in the log, not %d at most", failed[role], role, told, most)
		}
	}
	if log := s.log.String(); strings.Contains(log, "secret") || strings.Contains(log, "hello") {
		t.Errorf("logged:\n%s", log)
	}

	s = newRawStage(t, "http://127.0.0.1:1", good, good, nil)
	begin = time.Now()
	for range requests {
		if res, _ := s.get("/a"); res.StatusCode != 502 {
			t.Fatalf("the client got %d", res.StatusCode)
		}
	}
	most = 1 + int(time.Since(begin)/time.Second)
	if told := strings.Count(s.log.String(), "primary failed"); told < 1 || told > most {
		t.Errorf("%d failures of the primary made %d lines in the log, not %d at most", requests, told, most)
	}
	s.counts(Counts{Requests: requests, Skipped: map[Reason]int64{ReasonPrimaryFailed: requests}})
}

// What is not HTTP is told of in the log, and not cited: it may be anybody's cookie, or a piece of a body.
func TestFailuresCiteNothing(t *testing.T) {
	for _, said := range []string{
		"secret is no HTTP\r\n\r\n",
		"HTTP/1.1 200 OK\r\nSet-Cookie sid=secret\r\n\r\n",
		"HTTP/1.1 200 OK\r\nX: secret \"and\" secret\x01\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: secret\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: secret\r\n\r\n",
		"HTTP/1.1 secret OK\r\n\r\n",
		"HTTP/secret 200 OK\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nsecret\r\n",
	} {
		says := func(conn net.Conn, r *bufio.Reader) {
			if _, ok := readHead(r); ok {
				_, _ = io.WriteString(conn, said)
			}
		}
		good := newHandlerServer(t, answer(200, "hello"))
		s := newRawStage(t, good, raw(t, says), raw(t, says), nil)
		s.get("/a")
		s.exchange()
		s.eventually("the shadows' failures are told", func() bool { return strings.Count(s.log.String(), "shadow failed") == 2 })
		p := newRawStage(t, raw(t, says), good, good, func(c *Config) { c.Sample = 0 })
		w := p.dial()
		w.send("GET /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
		w.rest()
		for _, log := range []string{s.log.String(), p.log.String()} {
			if strings.Contains(log, "secret") {
				t.Errorf("of %q was logged:\n%s", said, log)
			}
		}
	}
}
