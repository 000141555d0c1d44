package multicast

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
)

// A client that leaves within a long answer ends its primary's work and that of its shadows, which hang: each is hung up on,
// nothing is judged and nothing is held.
func TestClientLeavesWithinAnAnswer(t *testing.T) {
	for name, leave := range map[string]func(*net.TCPConn){
		"reset":   func(c *net.TCPConn) { _ = c.SetLinger(0); _ = c.Close() },
		"closed":  func(c *net.TCPConn) { _ = c.Close() },
		"half of": func(c *net.TCPConn) { _ = c.CloseWrite() },
	} {
		t.Run(name, func(t *testing.T) {
			ended := make(chan error, 1)
			primary := raw(t, func(conn net.Conn, r *bufio.Reader) {
				if _, ok := readHead(r); !ok {
					return
				}
				_, _ = fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", 10<<20, strings.Repeat("x", 1<<20))
				_, err := r.ReadByte() // the proxy hangs up
				ended <- err
			})
			asked, called := make(chan struct{}, 2), make(chan error, 2)
			shadow := raw(t, func(_ net.Conn, r *bufio.Reader) {
				if _, ok := readHead(r); ok {
					asked <- struct{}{}
					_, err := r.ReadByte()
					called <- err
				}
			})
			s := newRawStage(t, primary, shadow, shadow, func(c *Config) { c.Shadow.Timeout = patience })
			w := s.dial()
			w.send("GET /a HTTP/1.1\r\nHost: a\r\n\r\n")
			w.head()
			if n, err := io.CopyN(io.Discard, w.r, 1<<20); err != nil {
				t.Fatalf("%d bytes came, %v", n, err)
			}
			await(t, "a shadow is asked", asked)
			await(t, "a shadow is asked", asked)
			leave(w.Conn.(*net.TCPConn))
			for _, hungUp := range []chan error{ended, called, called} {
				if err := await(t, "an upstream is hung up on", hungUp); err == nil {
					t.Error("an upstream got something more")
				}
			}
			if ex := s.exchange(); ex.Unknown != ReasonClientAborted {
				t.Errorf("the exchange is %q", ex.Unknown)
			}
			s.counts(Counts{Requests: 1, Exchanged: 1, Unknown: map[Reason]int64{ReasonClientAborted: 1}})
			s.outcomes(Candidate, map[Outcome]int64{OutcomeCancelled: 1})
			s.outcomes(Secondary, map[Outcome]int64{OutcomeCancelled: 1})
			if strings.Contains(s.log.String(), "failed") {
				t.Errorf("logged:\n%s", s.log)
			}
		})
	}
}

// A tunnel of which one side has ended goes on with the other, until the proxy ends: then both sides are closed.
func TestShutdownClosesAHalfClosedTunnel(t *testing.T) {
	address, conns, _ := switching(t, switched)
	s := newRawStage(t, address, "http://127.0.0.1:1", "http://127.0.0.1:1", nil)
	client := s.upgrade("")
	client.head()
	primary := <-conns
	closeWrite(t, client)
	primary.gone()
	primary.send("still there")
	if got := client.read(len("still there")); got != "still there" {
		t.Errorf("the client got %q", got)
	}
	s.cancel()
	client.gone()
	s.eventually("the tunnel is gone", func() bool { return s.tunnels() == 0 })
	_ = primary.Close()
	s.stop()
	s.counts(Counts{Requests: 1, Skipped: map[Reason]int64{ReasonUpgrade: 1}})
}

// What a proxy that shadows nothing does not do: it copies no byte of what passes, and no goroutine of the shadow side is
// there while requests are. With the switch on both are seen.
func TestNothingIsCopiedWhenOff(t *testing.T) {
	const size = 50 << 10
	for _, on := range []bool{false, true} {
		read, more := make(chan struct{}), make(chan struct{})
		primary := raw(t, func(conn net.Conn, r *bufio.Reader) {
			if _, ok := readHead(r); !ok {
				return
			}
			_, _ = io.CopyN(io.Discard, r, size)
			read <- struct{}{}
			<-more
			_, _ = io.CopyN(io.Discard, r, size)
			_, _ = fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", 2*size, strings.Repeat("y", size))
			<-more
			_, _ = io.WriteString(conn, strings.Repeat("y", size))
		})
		asked := make(chan struct{}, 2)
		shadow := newHandlerServer(t, func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			asked <- struct{}{}
			<-r.Context().Done()
		})
		s := newRawStage(t, primary, shadow, shadow, func(c *Config) {
			posts(c)
			c.Shadow.MaxRequestBody, c.Shadow.Timeout = MiB, patience
		})
		s.proxy.SetShadowing(&on, nil)
		w := s.dial()
		w.send(fmt.Sprintf("POST /u HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s", 2*size, strings.Repeat("x", size)))
		await(t, "the primary has read half", read)
		held := func(least int64) {
			t.Helper()
			if c := s.proxy.Counts(); on && c.CapturedBytes < least || !on && c.CapturedBytes+c.Open > 0 {
				t.Errorf("on %v: counts are %+v", on, c)
			}
		}
		held(size)
		more <- struct{}{}
		w.send(strings.Repeat("x", size))
		w.head()
		w.read(size)
		if on {
			await(t, "a shadow is asked", asked)
			await(t, "a shadow is asked", asked)
		}
		held(3 * size)
		if legs := strings.Count(stacks(), "(*flight).leg("); legs != map[bool]int{true: 2}[on] {
			t.Errorf("on %v: %d legs are under way", on, legs)
		}
		more <- struct{}{}
		w.read(size)
		off := false
		s.proxy.SetShadowing(&off, nil)
		want := Counts{Requests: 1, Skipped: map[Reason]int64{ReasonDisabled: 1}}
		if on {
			want = Counts{Requests: 1, Exchanged: 1, Unknown: map[Reason]int64{ReasonCancelled: 1}}
		}
		s.counts(want)
		s.stop()
	}
}

// stacks are those of all goroutines.
func stacks() string {
	buf := make([]byte, 4<<20)
	return string(buf[:runtime.Stack(buf, true)])
}
