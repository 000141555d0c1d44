package multicast

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A primary closes a kept connection just when the next request comes. Nothing of that was sent, so it goes out on another
// connection, also where net/http would not send it again: a client of its own would have made a new one.
func TestKeptConnectionIsClosedMeanwhile(t *testing.T) {
	for name, request := range map[string]string{
		"upload":    "POST /u HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello",
		"chunks":    "PUT /u HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
		"expecting": "POST /u HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\nhello",
		"bare":      "POST /u HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
		"get":       "GET /u HTTP/1.1\r\nHost: a\r\n\r\n",
		"surplus":   "DELETE /u HTTP/1.1\r\nHost: a\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			over, closed, bodies := make(chan struct{}), make(chan struct{}), make(chan string, 1000)
			surplus := ""
			if name == "surplus" {
				surplus = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfalse"
			}
			primary := raw(t, func(conn net.Conn, r *bufio.Reader) {
				req, err := http.ReadRequest(r)
				if err != nil {
					return
				}
				if req.Header.Get("Expect") != "" {
					_, _ = io.WriteString(conn, "HTTP/1.1 100 Continue\r\n\r\n")
				}
				body, _ := io.ReadAll(req.Body)
				bodies <- string(body)
				_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ntrue")
				if _, more := <-over; !more {
					return
				}
				_, _ = io.WriteString(conn, surplus)
				_ = conn.Close()
				closed <- struct{}{}
			})
			s := newRawStage(t, primary, "http://127.0.0.1:1", "http://127.0.0.1:1", func(c *Config) { c.Sample = 0 })
			t.Cleanup(func() { close(over) })
			w := s.dial()
			const times = 200
			for i := range times {
				w.send(request)
				head := w.head()
				if strings.HasPrefix(head, "HTTP/1.1 100 ") {
					head = w.head()
				}
				if !strings.HasPrefix(head, "HTTP/1.1 200 ") || w.read(4) != "true" {
					t.Fatalf("answer %d is %q; %s", i, head, s.log)
				}
				over <- struct{}{}
				<-closed
			}
			for range times {
				if body := <-bodies; body != "" && body != "hello" || body == "" && strings.Contains(request, "hello") {
					t.Errorf("the primary got %q", body)
				}
			}
			if len(bodies) > 0 {
				t.Errorf("the primary was asked %d times too often", len(bodies))
			}
		})
	}
}

// A primary that takes connections and closes them at once is not asked over and over.
func TestNewConnectionIsClosed(t *testing.T) {
	taken := make(chan struct{}, 1000)
	primary := raw(t, func(net.Conn, *bufio.Reader) { taken <- struct{}{} })
	s := newRawStage(t, primary, "http://127.0.0.1:1", "http://127.0.0.1:1", nil)
	for range 50 {
		w := s.dial()
		w.send("POST /u HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello")
		if res, _ := w.response("POST"); res.StatusCode != 502 {
			t.Errorf("got %d", res.StatusCode)
		}
	}
	if len(taken) > 50 {
		t.Errorf("the primary was asked %d times", len(taken))
	}
}

// deadEnd is a connection on which nothing can be written, and whose reading is the test's to end.
type deadEnd struct {
	net.Conn
	ended chan struct{}
}

func (c *deadEnd) SetWriteDeadline(time.Time) error { return nil }

func (c *deadEnd) Write([]byte) (int, error) { return 0, net.ErrClosed }

func (c *deadEnd) Read([]byte) (int, error) {
	<-c.ended
	return 0, io.EOF
}

func newDeadEnd(t *testing.T, plain bool) (*link, *deadEnd) {
	end := &deadEnd{ended: make(chan struct{})}
	dial := linked(func(context.Context, string, string) (net.Conn, error) { return end, nil }, plain)
	conn, err := dial(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	return conn.(*link), end
}

// A failed write waits for what the primary has said before, and for no reader that is itself held up.
func TestFailedWriteWaits(t *testing.T) {
	for _, plain := range []bool{true, false} {
		for _, streaming := range []bool{true, false} {
			t.Run(fmt.Sprint(plain, streaming), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					l, end := newDeadEnd(t, plain)
					if streaming { // to a client that is slow to take it
						v := new(visit)
						l.holder.Store(v)
						l.stream(v)
					}
					failed := make(chan time.Duration, 1)
					go func() {
						start := time.Now()
						_, _ = l.Write([]byte("x"))
						failed <- time.Since(start)
					}()
					time.AfterFunc(time.Minute, func() {
						close(end.ended)
						l.streaming.Store(nil)
						_, _ = l.Read(nil)
					})
					want := slack
					if plain && streaming {
						want = time.Minute
					}
					if took := <-failed; took != want {
						t.Errorf("it took %s, want %s", took, want)
					}
					synctest.Wait()
				})
			})
		}
	}
}

// A primary with TLS that closes a kept connection says so first, and the answer to that may find nobody. Whoever is about to
// use the connection does not wait for it.
func TestGoodbyeDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, end := newDeadEnd(t, false)
		defer close(end.ended)
		start := time.Now()
		_ = l.SetWriteDeadline(start.Add(5 * time.Second)) // as crypto/tls does
		if _, err := l.Write([]byte("bye")); err == nil || time.Since(start) > 0 {
			t.Errorf("%v after %s", err, time.Since(start))
		}
	})
}

// Whoever takes a kept connection waits for its reader, but not for ever.
func TestTakeDoesNotHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _ := newDeadEnd(t, false)
		in, _ := http.NewRequest("POST", "/", nil)
		start := time.Now()
		l.take(&visit{in: in}, true)
		if took := time.Since(start); took != slack {
			t.Errorf("it took %s", took)
		}
		time.AfterFunc(slack/2, func() { l.turned(func() { l.reading = true }) })
		start = time.Now()
		l.take(&visit{in: in}, true)
		if took := time.Since(start); took != slack/2 {
			t.Errorf("it took %s", took)
		}
		l.turned(func() { l.reading = false })
		start = time.Now()
		l.take(&visit{in: in}, false)
		if took := time.Since(start); took != 0 {
			t.Errorf("a new one took %s", took)
		}
	})
}

// A primary with TLS that refuses and closes while a client uploads, or whose records go bad then: the client learns it.
func TestUploadToTLSPrimaryIsCutOff(t *testing.T) {
	certificate, err := tls.LoadX509KeyPair(pemFiles(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, last := range []string{"refuses", "goes bad"} {
		t.Run(last, func(t *testing.T) {
			primary := raw(t, func(conn net.Conn, _ *bufio.Reader) {
				secured := tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{certificate}})
				if _, ok := readHead(bufio.NewReader(secured)); !ok {
					return
				}
				if last == "refuses" {
					_, _ = io.WriteString(secured, "HTTP/1.1 413 Content Too Large\r\nContent-Length: 2\r\n\r\nno")
				} else {
					_, _ = io.WriteString(conn, "\x17\x03\x03\x00\x20 no record that anybody can read")
				}
			})
			s := newRawStage(t, strings.Replace(primary, "http:", "https:", 1), "http://127.0.0.1:1", "http://127.0.0.1:1", func(c *Config) {
				posts(c)
				c.Upstream.TLS.InsecureSkipVerify = true
			})
			w := s.dial()
			w.send("POST /u HTTP/1.1\r\nHost: a\r\nContent-Length: 50000000\r\n\r\n")
			go func() { _, _ = io.CopyN(w.Conn, zeros{}, 50000000) }()
			want := "HTTP/1.1 413 "
			if last == "goes bad" {
				want = "HTTP/1.1 502 "
			}
			if head := w.head(); !strings.HasPrefix(head, want) {
				t.Errorf("got %q", head)
			}
			_ = w.Close()
		})
	}
}

// zeros is a body without an end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// What may have an effect is asked once, and no more, whatever it says of itself: net/http would send it again.
func TestWhatHasAnEffectIsAskedOnce(t *testing.T) {
	asked := make(chan string, 9)
	primary := raw(t, func(conn net.Conn, r *bufio.Reader) {
		for {
			head, ok := readHead(r)
			if !ok {
				return
			}
			if strings.HasPrefix(head, "POST ") {
				asked <- head
				return
			}
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		}
	})
	s := newRawStage(t, primary, "http://127.0.0.1:1", "http://127.0.0.1:1", nil)
	for _, key := range []string{"Idempotency-Key", "X-Idempotency-Key"} {
		s.get("/a") // leaves a connection
		w := s.dial()
		w.send("POST /a HTTP/1.1\r\nHost: a\r\n" + key + ": k\r\nContent-Length: 0\r\n\r\n")
		if head := w.head(); !strings.HasPrefix(head, "HTTP/1.1 502 ") {
			t.Errorf("%s: the client got %q", key, head)
		}
		if head := <-asked; len(asked) > 0 || !strings.Contains(head, "\r\n"+key+": k\r\n") {
			t.Errorf("%s: the primary was asked %d times more, after %q", key, len(asked), head)
		}
	}
}
