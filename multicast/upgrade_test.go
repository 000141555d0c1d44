package multicast

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

const switched = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo/2\r\nConnection: Upgrade\r\n\r\n"

// switching is a primary that agrees to every upgrade, and hands each tunnel over; head is what it answers, with whatever
// follows.
func switching(t *testing.T, head string) (string, chan *wire, chan string) {
	conns, heads := make(chan *wire, 16), make(chan string, 16)
	return raw(t, func(conn net.Conn, r *bufio.Reader) {
		asked, ok := readHead(r)
		if !ok {
			return
		}
		heads <- asked
		_, _ = io.WriteString(conn, head)
		over := make(chan struct{})
		conns <- &wire{&told{conn, over}, t, r}
		<-over
	}), conns, heads
}

// told is a connection that tells of its end.
type told struct {
	net.Conn
	over chan struct{}
}

func (c *told) Close() error {
	close(c.over)
	return c.Conn.Close()
}

func (s *stage) upgrade(after string) *wire {
	w := s.dial()
	w.send("GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo/2\r\n\r\n" + after)
	return w
}

func closeWrite(t *testing.T, w *wire) {
	t.Helper()
	conn := w.Conn
	if c, ok := conn.(*told); ok {
		conn = c.Conn
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
}

// gone checks that nothing more comes.
func (w *wire) gone() {
	w.t.Helper()
	_ = w.SetReadDeadline(time.Now().Add(patience))
	if rest := w.rest(); rest != "" {
		w.t.Errorf("there came %q", rest)
	}
}

// What either side sends right behind its head is not lost, and each end is passed on while the other side goes on.
func TestTunnelKeepsEarlyBytesAndHalfCloses(t *testing.T) {
	for _, first := range []string{"client", "primary"} {
		address, conns, _ := switching(t, switched+"welcome")
		s := newRawStage(t, address, "http://127.0.0.1:1", "http://127.0.0.1:1", nil)
		client := s.upgrade("early")
		if head := client.head(); !strings.HasPrefix(head, "HTTP/1.1 101 ") || client.read(7) != "welcome" {
			t.Fatalf("got %q", head)
		}
		primary := <-conns
		if got := primary.read(5); got != "early" {
			t.Errorf("the primary got %q", got)
		}
		one, other := client, primary
		if first == "primary" {
			one, other = primary, client
		}
		one.send("bye")
		closeWrite(t, one)
		if got := other.rest(); got != "bye" {
			t.Errorf("%s first: the other got %q", first, got)
		}
		other.send("not yet")
		if got := one.read(7); got != "not yet" {
			t.Errorf("%s first: got %q", first, got)
		}
		closeWrite(t, other)
		one.gone()
		_ = primary.Close()
		s.counts(Counts{Requests: 1, Skipped: map[Reason]int64{ReasonUpgrade: 1}})
	}
}

// Both heads are what the other side wrote, but for what concerned one connection only.
func TestTunnelHeads(t *testing.T) {
	address, conns, heads := switching(t, "HTTP/1.1 101 Go Ahead\r\nUpgrade: echo/2\r\nConnection: upgrade, X-Hop\r\nX-Hop: 1\r\nKeep-Alive: 5\r\n"+
		"Content-Length: 3\r\nSec-WebSocket-Accept: x\r\nSet-Cookie: a\r\nSet-Cookie: b\r\n\r\n")
	s := newRawStage(t, address, "http://127.0.0.1:1", "http://127.0.0.1:1", nil)
	w := s.dial()
	w.send("GET /ws?a HTTP/1.1\r\nHost: a\r\nConnection: X-Hop, upgrade\r\nX-Hop: 1\r\nUpgrade: echo/2, h2c, other\r\nHTTP2-Settings: x\r\nsec-websocket-key: k\r\nSec-WebSocket-Protocol: p\r\nSec-WebSocket-Protocol: q\r\n\r\n")
	want := "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: x\r\nSet-Cookie: a\r\nSet-Cookie: b\r\nUpgrade: echo/2\r\n\r\n"
	if head := w.head(); head != want {
		t.Errorf("the client got %q", head)
	}
	want = "GET /ws?a HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nHttp2-Settings: x\r\nSec-WebSocket-Key: k\r\nSec-WebSocket-Protocol: p\r\nSec-WebSocket-Protocol: q\r\nUpgrade: echo/2, other\r\n" +
		"X-Forwarded-For: 127.0.0.1\r\nX-Forwarded-Host: a\r\nX-Forwarded-Proto: http\r\n\r\n"
	if head := <-heads; head != want {
		t.Errorf("the primary got %q", head)
	}
	_ = w.Close()
	primary := <-conns
	primary.gone()
	_ = primary.Close()
}

// HTTP/2 is not offered on, and a primary that does not switch answers as to any request: the connection goes on.
func TestUpgradeThatIsNone(t *testing.T) {
	heads := make(chan string, 3)
	s := newRawStage(t, echoRaw(t, heads), "http://127.0.0.1:1", "http://127.0.0.1:1", nil)
	w := s.dial()
	for _, protocol := range []string{"h2c", "HTTP/2.0", "TLS/1.2", "tls/1.0, HTTP/1.1", "websocket"} {
		w.send("GET /a HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: " + protocol + "\r\nHTTP2-Settings: x\r\n\r\n")
		if res, body := w.response("GET"); res.StatusCode != 200 || body != "ok" {
			t.Errorf("%s: got %s %q", protocol, res.Status, body)
		}
		head := <-heads
		if offered := strings.Contains(head, "\r\nUpgrade: "); offered != (protocol == "websocket") || strings.Contains(head, "ettings") {
			t.Errorf("%s: the primary got %q", protocol, head)
		}
	}
}

// What a client has to switch to, it is told, unless no tunnel could carry it or there can be none.
func TestUpgradeThatIsRequired(t *testing.T) {
	for required, c := range map[string]struct{ asks, want string }{
		"websocket":           {"\r\n", "Connection: Upgrade\r\nContent-Length: 0\r\nSec-WebSocket-Version: 13\r\nUpgrade: websocket\r\n"},
		"h2c, TLS/1.2, a, b ": {"\r\n", "Connection: Upgrade\r\nContent-Length: 0\r\nSec-WebSocket-Version: 13\r\nUpgrade: a, b\r\n"},
		"TLS/1.2, HTTP/1.1":   {"\r\n", "Content-Length: 0\r\nSec-Websocket-Version: 13\r\n"},
		"echo/2":              {"Connection: close\r\n\r\n", "Content-Length: 0\r\nSec-Websocket-Version: 13\r\nConnection: close\r\n"},
	} {
		primary := script(t, "HTTP/1.1 426 Upgrade Required\r\nConnection: upgrade\r\nUpgrade: "+required+"\r\nSec-WebSocket-Version: 13\r\nContent-Length: 0\r\n\r\n", false)
		s := newRawStage(t, primary, "http://127.0.0.1:1", "http://127.0.0.1:1", nil)
		w := s.dial()
		w.send("GET /a HTTP/1.1\r\nHost: a\r\n" + c.asks)
		if got := w.head(); got != "HTTP/1.1 426 Upgrade Required\r\n"+c.want+"\r\n" {
			t.Errorf("%s: got %q", required, got)
		}
	}
}

// A primary that switches to what nobody asked for is not followed.
func TestSwitchedUnasked(t *testing.T) {
	for _, asked := range []string{"", "Connection: Upgrade\r\nUpgrade: websocket\r\n", "Connection: Upgrade\r\nUpgrade: h2c\r\n"} {
		s := newRawStage(t, script(t, switched+"GET / HTTP/1.1\r\n\r\n", false), "http://127.0.0.1:1", "http://127.0.0.1:1", nil)
		w := s.dial()
		w.send("GET /a HTTP/1.1\r\nHost: a\r\n" + asked + "\r\n")
		if res, body := w.response("GET"); res.StatusCode != 502 || body != "bad gateway\n" {
			t.Errorf("%q: got %s %q", asked, res.Status, body)
		}
	}
}

// An upgrade may have a body; it goes ahead of the tunnel. A primary that switches without waiting for it is not followed.
func TestUpgradeWithABody(t *testing.T) {
	got := make(chan string, 1)
	address := raw(t, func(conn net.Conn, r *bufio.Reader) {
		head, ok := readHead(r)
		if !ok {
			return
		}
		if strings.HasPrefix(head, "POST /whole ") {
			body := make([]byte, 4)
			_, _ = io.ReadFull(r, body)
			got <- string(body)
		}
		_, _ = io.WriteString(conn, switched)
		_, _ = io.Copy(conn, r)
	})
	s := newRawStage(t, address, "http://127.0.0.1:1", "http://127.0.0.1:1", nil)
	upgrade := " HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo/2\r\nContent-Length: 4\r\n\r\n"
	w := s.dial()
	w.send("POST /whole" + upgrade + "bodyecho")
	if head := w.head(); !strings.HasPrefix(head, "HTTP/1.1 101 ") || w.read(4) != "echo" || <-got != "body" {
		t.Errorf("got %q", head)
	}
	_ = w.Close()
	w = s.dial()
	w.send("POST /half" + upgrade + "bo")
	if res, _ := w.response("POST"); res.StatusCode != 502 || !res.Close {
		t.Errorf("got %s", res.Status)
	}
}

// A tunnel in which nothing moves has an end.
func TestTunnelIdles(t *testing.T) {
	address, conns, _ := switching(t, switched)
	s := newRawStage(t, address, "http://127.0.0.1:1", "http://127.0.0.1:1", func(c *Config) { c.Server.TunnelTimeout = 50 * time.Millisecond })
	client := s.upgrade("")
	client.head()
	primary := <-conns
	client.gone()
	primary.gone()
	_ = primary.Close()
}

// One in which something moves, either way, goes on.
func TestTunnelThatMovesGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, ours := net.Pipe()
		primary, theirs := net.Pipe()
		ended := make(chan time.Time)
		go func() {
			(&tunnel{client: ours, sent: ours, primary: theirs, buffers: newBuffers()}).run(time.Minute)
			ended <- time.Now()
		}()
		var last time.Time
		for i := range 10 {
			<-time.After(50 * time.Second)
			last = time.Now()
			one, other := client, primary
			if i%3 == 1 {
				one, other = primary, client
			}
			go func() { _, _ = io.WriteString(one, "tick") }()
			got := make([]byte, 4)
			if _, err := io.ReadFull(other, got); err != nil || string(got) != "tick" {
				t.Fatalf("tick %d: got %q, %v", i, got, err)
			}
		}
		if end := <-ended; end.Sub(last) != time.Minute {
			t.Errorf("it ended %s after the last bytes", end.Sub(last))
		}
	})
}

// A side that is lost takes the other with it, which is told by the same reset, and not by an end as if all had been said.
func TestTunnelLosesASide(t *testing.T) {
	for _, lost := range []string{"client", "primary"} {
		for _, ended := range []bool{false, true} { // the other side, before
			address, conns, _ := switching(t, switched)
			s := newRawStage(t, address, "http://127.0.0.1:1", "http://127.0.0.1:1", nil)
			client := s.upgrade("")
			client.head()
			primary := <-conns
			one, other := client, primary
			if lost == "primary" {
				one, other = primary, client
			}
			if ended {
				closeWrite(t, other)
				one.gone()
			}
			one.send("so far")
			if got := other.read(6); got != "so far" {
				t.Errorf("the other side of the %s got %q", lost, got)
			}
			one.reset()
			if _, err := other.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("the other side of the %s is told %v", lost, err)
			}
			s.eventually("the tunnel is gone", func() bool { return s.tunnels() == 0 })
			_ = other.Close()
		}
	}
}

// reset ends a connection with a reset.
func (w *wire) reset() {
	conn := w.Conn
	if c, ok := conn.(*told); ok {
		conn = c.Conn
	}
	_ = conn.(*net.TCPConn).SetLinger(0)
	_ = w.Close()
}

func (s *stage) tunnels() int {
	s.proxy.tunnels.mu.Lock()
	defer s.proxy.tunnels.mu.Unlock()
	return len(s.proxy.tunnels.open)
}

// More than any buffer holds, both ways at once, to sides that read late.
func TestTunnelCarriesMuch(t *testing.T) {
	address, conns, _ := switching(t, switched)
	s := newRawStage(t, address, "http://127.0.0.1:1", "http://127.0.0.1:1", nil)
	client := s.upgrade("")
	client.head()
	primary := <-conns
	const size = 8 << 20
	done := make(chan string, 2)
	for from, to := range map[*wire]*wire{client: primary, primary: client} {
		go func() {
			_, _ = io.WriteString(from, strings.Repeat("0123456789abcdef", size/16))
			closeWrite(t, from)
		}()
		go func() {
			all, _ := io.ReadAll(to.r)
			done <- string(all)
		}()
	}
	for range 2 {
		if got := <-done; got != strings.Repeat("0123456789abcdef", size/16) {
			t.Errorf("%d bytes came, or others", len(got))
		}
	}
	_ = primary.Close()
}

// The end of the proxy is the end of its tunnels, which net/http knows nothing of; none is opened after.
func TestShutdownClosesTunnels(t *testing.T) {
	address, conns, _ := switching(t, switched)
	s := newRawStage(t, address, "http://127.0.0.1:1", "http://127.0.0.1:1", nil)
	client := s.upgrade("")
	client.head()
	primary := <-conns
	s.cancel()
	client.gone()
	primary.gone()
	_ = primary.Close()
	s.eventually("the tunnel is gone", func() bool { return s.tunnels() == 0 })
	client = s.upgrade("")
	client.head()
	client.gone()
	_ = (<-conns).Close()
}

// A tunnel is observed when it ends, as what it became.
func TestTunnelIsObserved(t *testing.T) {
	address, conns, _ := switching(t, switched)
	s := newRawStage(t, address, "http://127.0.0.1:1", "http://127.0.0.1:1", nil)
	observed := make(chan int, 1)
	s.proxy.deps.Observe = func(status int, _ time.Duration) { observed <- status }
	client := s.upgrade("")
	client.head()
	_ = client.Close()
	primary := <-conns
	primary.gone()
	_ = primary.Close()
	if status := <-observed; status != 101 {
		t.Errorf("observed %d", status)
	}
}

// CONNECT is nobody's, over HTTP/2 neither.
func TestConnectIsRefused(t *testing.T) {
	s := newStage(t, nil, nil)
	w := s.dial()
	w.send("CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n")
	if res, _ := w.response("CONNECT"); res.StatusCode != 405 {
		t.Errorf("got %s", res.Status)
	}
	only := new(http.Protocols)
	only.SetUnencryptedHTTP2(true)
	client := &http.Transport{Protocols: only}
	t.Cleanup(client.CloseIdleConnections)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodConnect, "http://"+s.addr, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := client.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != 405 || len(s.upstream[Primary].requests()) > 0 {
		t.Errorf("got %s, the primary %v", res.Status, s.upstream[Primary].requests())
	}
	s.counts(Counts{Requests: 2, Skipped: map[Reason]int64{ReasonConnect: 2}})
}

// A primary with TLS switches too, though it could speak HTTP/2, and what it sends is there at once.
func TestTunnelToTLS(t *testing.T) {
	certificate, err := tls.LoadX509KeyPair(pemFiles(t))
	if err != nil {
		t.Fatal(err)
	}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{certificate}, NextProtos: []string{"h2", "http/1.1"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	next := make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer conn.Close()
				r := bufio.NewReader(conn)
				if head, ok := readHead(r); !ok || !strings.Contains(head, "\r\nUpgrade: echo/2\r\n") {
					return
				}
				_, _ = io.WriteString(conn, switched)
				<-next
				_, _ = io.WriteString(conn, "welcome")
				_, _ = io.Copy(conn, r)
			})
		}
	})
	t.Cleanup(all.Wait)
	t.Cleanup(func() { _ = listener.Close() })
	s := newRawStage(t, "https://"+listener.Addr().String(), "", "", func(c *Config) { c.Upstream.TLS.InsecureSkipVerify = true })
	w := s.upgrade("")
	w.head()
	close(next)
	if got := w.read(7); got != "welcome" {
		t.Errorf("got %q", got)
	}
	w.send("bye")
	closeWrite(t, w)
	if got := w.rest(); got != "bye" {
		t.Errorf("got %q", got)
	}
}
