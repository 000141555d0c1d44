package multicast

import (
	"bufio"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// tapped is a listener whose connections count what is written to them.
type tapped struct {
	net.Listener
	writes atomic.Int64
}

type tappedConn struct {
	net.Conn
	writes *atomic.Int64
}

func (l *tapped) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &tappedConn{conn, &l.writes}, nil
}

func (c *tappedConn) Write(p []byte) (int, error) {
	c.writes.Add(1)
	return c.Conn.Write(p)
}

// An answer that comes in one piece leaves in one piece, whatever its framing.
func TestAnswersLeaveInOnePiece(t *testing.T) {
	for name, sent := range map[string]string{
		"length":  "HTTP/1.1 200 OK\r\nContent-Length: 1800\r\n\r\n" + strings.Repeat("x", 1800),
		"chunked": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n708\r\n" + strings.Repeat("x", 1800) + "\r\n0\r\n\r\n",
		"empty":   "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
		"none":    "HTTP/1.1 204 No Content\r\n\r\n",
	} {
		s := newRawStage(t, script(t, sent, false), "", "", nil)
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		counting := &tapped{Listener: listener}
		server := s.proxy.Server()
		var serving sync.WaitGroup
		serving.Go(func() { _ = server.Serve(counting) })
		s.addr = listener.Addr().String()
		w := s.dial()
		for range 50 {
			w.send("GET /a HTTP/1.1\r\nHost: a\r\n\r\n")
			if res, body := w.response("GET"); len(body) != 1800 && (name == "length" || name == "chunked") {
				t.Fatalf("%s: got %s with %d bytes", name, res.Status, len(body))
			}
		}
		if got := counting.writes.Load(); got != 50 {
			t.Errorf("%s: 50 answers took %d writes", name, got)
		}
		_ = server.Close()
		serving.Wait()
	}
}

// What comes leaves, though more is to come: each piece is there before the next is sent.
func TestAnswersNeverWait(t *testing.T) {
	for name, c := range map[string]struct{ head, piece, want string }{
		"length":  {"Content-Length: 12\r\n\r\n", "drop", "drop"},
		"chunked": {"Transfer-Encoding: chunked\r\n\r\n", "4\r\ndrop\r\n", "4\r\ndrop\r\n"},
		"close":   {"\r\n", "drop", "4\r\ndrop\r\n"},
	} {
		next := make(chan struct{})
		primary := raw(t, func(conn net.Conn, r *bufio.Reader) {
			if _, ok := readHead(r); !ok {
				return
			}
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n"+c.head)
			for range 3 {
				<-next
				_, _ = io.WriteString(conn, c.piece)
			}
			if name == "chunked" {
				_, _ = io.WriteString(conn, "0\r\n\r\n")
			}
		})
		s := newRawStage(t, primary, "", "", nil)
		w := s.dial()
		w.send("GET /a HTTP/1.1\r\nHost: a\r\n\r\n")
		w.head()
		for range 3 {
			next <- struct{}{}
			if got := w.read(len(c.want)); got != c.want {
				t.Errorf("%s: got %q", name, got)
			}
		}
		if name != "length" && w.read(5) != "0\r\n\r\n" {
			t.Errorf("%s: no end", name)
		}
	}
}

// What a primary sends beyond its answer is never taken for the next one, however soon that is asked for.
func TestSurplusIsNoAnswer(t *testing.T) {
	log.SetOutput(io.Discard) // net/http tells it of every surplus
	t.Cleanup(func() { log.SetOutput(os.Stderr) })
	const evil = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"
	for name, sent := range map[string]string{
		"length":  "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok" + evil,
		"chunked": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n" + evil,
		"none":    "HTTP/1.1 204 No Content\r\n\r\n" + evil,
	} {
		s := newRawStage(t, script(t, sent, false), "", "", nil)
		var clients sync.WaitGroup
		for range 4 {
			w := s.dial()
			clients.Go(func() {
				for range 100 {
					if _, err := io.WriteString(w, "GET /a HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
						t.Error(err)
						return
					}
					res, err := http.ReadResponse(w.r, nil)
					if err != nil {
						t.Error(err)
						return
					}
					body, _ := io.ReadAll(res.Body)
					if want := map[bool]string{true: "", false: "ok"}[name == "none"]; string(body) != want || res.StatusCode >= 300 {
						t.Errorf("%s: got %s %q", name, res.Status, body)
						return
					}
				}
			})
		}
		clients.Wait()
	}
}

// An answer that is none, or never begins, is the primary's failure; the client learns no more than that.
func TestAnswersThatAreNone(t *testing.T) {
	for name, sent := range map[string]string{
		"garbage":          "\x00\xff not http\r\n\r\n",
		"nothing":          "",
		"half a head":      "HTTP/1.1 200 OK\r\nContent-",
		"long head":        "HTTP/1.1 200 OK\r\nX-A: " + strings.Repeat("a", 2<<20) + "\r\n\r\n",
		"many headers":     "HTTP/1.1 200 OK\r\n" + strings.Repeat("X-A: a\r\n", 200_000) + "\r\n",
		"negative length":  "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
		"two lengths":      "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
		"unknown encoding": "HTTP/1.1 200 OK\r\nTransfer-Encoding: zip\r\n\r\nab",
		"low status":       "HTTP/1.1 099 Low\r\nContent-Length: 2\r\n\r\nab",
		"endless hints":    strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n", maxInformational+1),
	} {
		good := newHandlerServer(t, answer(200, "hello"))
		s := newRawStage(t, script(t, sent, true), good, good, nil)
		w := s.dial()
		w.send("GET /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
		head := w.head()
		for strings.HasPrefix(head, "HTTP/1.1 103 ") {
			head = w.head()
		}
		if body := w.rest(); !strings.HasPrefix(head, "HTTP/1.1 502 ") || body != "bad gateway\n" {
			t.Errorf("%s: got %q %q", name, head, body)
		}
		s.counts(Counts{Requests: 1, Skipped: map[Reason]int64{ReasonPrimaryFailed: 1}})
	}
}

// A client that reads nothing holds the primary back; when it reads, it gets all.
func TestSlowReader(t *testing.T) {
	const size = 256 << 20
	var sent atomic.Int64
	primary := raw(t, func(conn net.Conn, r *bufio.Reader) {
		if _, ok := readHead(r); !ok {
			return
		}
		_, _ = fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", size)
		piece := []byte(strings.Repeat("x", 64<<10))
		for range size / len(piece) {
			n, err := conn.Write(piece)
			if sent.Add(int64(n)); err != nil {
				return
			}
		}
	})
	s := newRawStage(t, primary, "", "", nil)
	w := s.dial()
	w.send("GET /a HTTP/1.1\r\nHost: a\r\n\r\n")
	w.head()
	still, last := 0, int64(-1)
	s.eventually("the primary is held back", func() bool {
		now := sent.Load()
		if still++; now != last {
			still, last = 0, now
		}
		return still > 200
	})
	if last >= size/2 {
		t.Errorf("%d bytes are on their way to a client that reads nothing", last)
	}
	_ = w.SetDeadline(time.Now().Add(3 * patience))
	if n, err := io.CopyN(io.Discard, w.r, size); n != size || err != nil {
		t.Errorf("%d bytes came, %v", n, err)
	}
}

// A client that closes its side has left, as net/http sees it: nobody is told of a failure.
func TestClientHalfCloses(t *testing.T) {
	asked, over := make(chan struct{}), make(chan struct{})
	primary := raw(t, func(_ net.Conn, r *bufio.Reader) {
		if _, ok := readHead(r); ok {
			close(asked)
			_, _ = r.ReadByte() // the proxy hangs up
			close(over)
		}
	})
	s := newRawStage(t, primary, primary, primary, nil)
	w := s.dial()
	w.send("GET /a HTTP/1.1\r\nHost: a\r\n\r\n")
	<-asked
	_ = w.Conn.(*net.TCPConn).CloseWrite()
	<-over
	w.rest()
	s.counts(Counts{Requests: 1, Skipped: map[Reason]int64{ReasonClientAborted: 1}})
	if strings.Contains(s.log.String(), "primary failed") {
		t.Errorf("logged: %s", s.log)
	}
}

// HTTP/1.0, with and without Host and keep-alive.
func TestHTTP10(t *testing.T) {
	heads := make(chan string, 8)
	s := newRawStage(t, echoRaw(t, heads), "", "", nil)
	w := s.dial()
	for range 2 {
		w.send("GET /a HTTP/1.0\r\nHost: a\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n\r\n") // of which it knows nothing
		if res, body := w.response("GET"); res.Proto != "HTTP/1.0" || body != "ok" || res.Header.Get("Connection") != "keep-alive" {
			t.Errorf("got %s %q %q", res.Proto, res.Header, body)
		}
		if head := <-heads; !strings.HasPrefix(head, "GET /a HTTP/1.1\r\nHost: a\r\n") || strings.Contains(head, "Connection") || strings.Contains(head, "Upgrade") {
			t.Errorf("the primary got %q", head)
		}
	}
	if c := s.proxy.Counts(); c.Skipped[ReasonUpgrade] > 0 {
		t.Errorf("counts %+v", c)
	}
	w = s.dial()
	w.send("GET /a HTTP/1.0\r\n\r\n")
	if got := w.rest(); !strings.HasPrefix(got, "HTTP/1.0 200 OK\r\n") || !strings.HasSuffix(got, "\r\n\r\nok") {
		t.Errorf("got %q", got)
	}
	primary := s.proxy.setup.Load().primary.host
	if head := <-heads; !strings.HasPrefix(head, "GET /a HTTP/1.1\r\nHost: "+primary+"\r\n") || strings.Contains(head, "X-Forwarded-Host") {
		t.Errorf("the primary got %q", head)
	}
}

// Methods that nobody knows reach the primary.
func TestOtherMethods(t *testing.T) {
	heads := make(chan string, 3)
	s := newRawStage(t, echoRaw(t, heads), "", "", nil)
	w := s.dial()
	for _, line := range []string{"TRACE /a", "FOO /a", "OPTIONS *", "OPTIONS /a"} {
		w.send(line + " HTTP/1.1\r\nHost: a\r\n\r\n")
		if res, body := w.response("GET"); res.StatusCode != 200 || body != "ok" {
			t.Errorf("%s: got %s %q", line, res.Status, body)
		}
		if head := <-heads; !strings.HasPrefix(head, line+" HTTP/1.1\r\n") {
			t.Errorf("%s: the primary got %q", line, head)
		}
	}
}
