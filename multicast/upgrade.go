package multicast

import (
	"bufio"
	"crypto/tls"
	"errors"
	"io"
	"maps"
	"math"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// upgrade returns the protocols to which the primary may switch, or none. HTTP/2 has no such thing.
func (s *setup) upgrade(in *http.Request) string {
	if s.primary.h2c {
		return ""
	}
	return strings.Join(protocols(in), ", ")
}

// upgrades reports whether the client asks for another protocol on this connection.
func upgrades(r *http.Request) bool { return len(protocols(r)) > 0 }

// protocols are those to which the client wants to switch. HTTP/1.0 knows no such thing (RFC 9110, section 7.8).
func protocols(r *http.Request) []string {
	if r.Header["Upgrade"] == nil || !r.ProtoAtLeast(1, 1) || !names(r.Header["Connection"], "upgrade") {
		return nil
	}
	return carried(r.Header["Upgrade"])
}

// carried are those protocols of Upgrade that a tunnel is for. HTTP/2 and TLS are left out, which some clients offer with every
// request (Java's the one, Apache's the other): what the primary speaks is the proxy's to choose, and in a tunnel nobody would
// see the requests (golang.org/issue/80416).
func carried(lines []string) (all []string) {
	for _, line := range lines {
		for protocol := range strings.SplitSeq(line, ",") {
			protocol = strings.TrimSpace(protocol)
			switch name, _, _ := strings.Cut(protocol, "/"); strings.ToLower(name) {
			case "", "h2c", "h2", "http", "tls":
			default:
				all = append(all, protocol)
			}
		}
	}
	return all
}

// spellWebSocket gives the headers of a WebSocket's handshake the spelling of RFC 6455: there are servers and clients that know
// them in no other, and net/http's is another (golang.org/issue/18495).
func spellWebSocket(h http.Header) {
	for _, rest := range [...]string{"Accept", "Extensions", "Key", "Protocol", "Version"} {
		if values, found := h["Sec-Websocket-"+rest]; found {
			delete(h, "Sec-Websocket-"+rest)
			h["Sec-WebSocket-"+rest] = values
		}
	}
}

// switchProtocols makes a tunnel of the two connections, now that the primary has agreed to.
func (v *visit) switchProtocols(res *http.Response) {
	primary, ok := res.Body.(io.ReadWriteCloser)
	asked := []string{v.setup.upgrade(v.in)}
	if !ok || !names(asked, res.Header.Get("Upgrade")) || v.upload != nil && !v.upload.whole() {
		_ = res.Body.Close()
		v.failed(errSwitched)
		return
	}
	client, buffered, err := http.NewResponseController(v.client).Hijack()
	if err != nil {
		_ = primary.Close()
		v.failed(err)
		return
	}
	v.status = res.StatusCode
	t := &tunnel{client: client, sent: buffered.Reader, primary: primary, link: v.link, buffers: v.proxy.buffers}
	defer t.close()
	if writeSwitch(buffered.Writer, res) != nil || !v.proxy.tunnels.add(t) {
		return
	}
	defer v.proxy.tunnels.remove(t)
	t.run(v.setup.cfg.Server.TunnelTimeout)
}

// writeSwitch writes the head that ends HTTP on the client's connection: the primary's own, without what concerned the
// primary's connection (golang.org/issue/80875).
func writeSwitch(w *bufio.Writer, res *http.Response) error {
	protocol := res.Header["Upgrade"]
	removeHopByHop(res.Header)
	delete(res.Header, "Content-Length")
	res.Header["Connection"], res.Header["Upgrade"] = []string{"Upgrade"}, protocol
	spellWebSocket(res.Header)
	_, _ = w.WriteString("HTTP/1.1 101 Switching Protocols\r\n")
	_ = res.Header.Write(w)
	_, _ = w.WriteString("\r\n")
	return w.Flush()
}

// tunnel passes bytes both ways between a client and the primary, until both sides have ended, one of them is lost, or
// neither has sent anything for a time.
type tunnel struct {
	client  net.Conn
	sent    io.Reader // by the client; some of it may have come before the tunnel was there
	primary io.ReadWriteCloser
	link    *link // below primary
	buffers *buffers
	idle    time.Duration
	watch   *time.Timer  // nil without a limit
	moved   atomic.Int64 // when bytes last did; Unix time in ns
}

// run returns when the tunnel is closed. Idle 0 sets no limit.
func (t *tunnel) run(idle time.Duration) {
	t.move()
	if t.idle = idle; idle > 0 {
		t.watch = time.AfterFunc(math.MaxInt64, t.look)
		t.watch.Reset(idle)
		defer t.watch.Stop()
	}
	var back sync.WaitGroup
	back.Go(func() { t.pass(t.client, t.primary) })
	t.pass(t.primary, t.sent)
	back.Wait()
}

// look closes a tunnel in which nothing moves.
func (t *tunnel) look() {
	if left := t.idle - time.Since(time.Unix(0, t.moved.Load())); left > 0 {
		t.watch.Reset(left)
	} else {
		t.close()
	}
}

func (t *tunnel) move() { t.moved.Store(time.Now().UnixNano()) }

// pass passes on one side's bytes, and then its end: the other side may go on. Where a side is lost, the other is to learn
// that, and not to take what it has for the whole.
func (t *tunnel) pass(to io.Writer, from io.Reader) {
	err := t.pump(to, from)
	if err != nil && !errors.Is(err, net.ErrClosed) {
		t.reset()
	}
	half, ok := to.(interface{ CloseWrite() error })
	if err != nil || !ok || half.CloseWrite() != nil {
		t.close()
	}
}

// reset has both connections end with a reset in place of an end.
func (t *tunnel) reset() {
	if t.link != nil {
		unlinger(t.link.Conn)
	}
	unlinger(t.client)
}

func unlinger(conn net.Conn) {
	if over, ok := conn.(*tls.Conn); ok {
		conn = over.NetConn()
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
}

// pump copies until there is no more. A tunnel is quiet for most of its life, and makes do with little room then.
func (t *tunnel) pump(to io.Writer, from io.Reader) error {
	little := make([]byte, 2<<10)
	var much []byte
	defer func() {
		if much != nil {
			t.buffers.Put(much)
		}
	}()
	for buf := little; ; {
		n, err := from.Read(buf)
		if n > 0 {
			t.move()
			if _, err := to.Write(buf[:n]); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case n == len(little) && much == nil:
			much = t.buffers.Get()
			buf = much
		case n < len(little) && much != nil:
			t.buffers.Put(much)
			buf, much = little, nil
		}
	}
}

// close ends both connections, whatever is under way.
func (t *tunnel) close() {
	_ = t.client.Close()
	_ = t.primary.Close()
}

// tunnels are those that are open. net/http knows nothing of them: they are closed when Run ends.
type tunnels struct {
	mu    sync.Mutex // guards what follows
	open  map[*tunnel]struct{}
	ended bool
	all   sync.WaitGroup
}

// add answers false when no tunnel may be opened any more.
func (ts *tunnels) add(t *tunnel) bool {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if ts.ended {
		return false
	}
	if ts.open == nil {
		ts.open = make(map[*tunnel]struct{})
	}
	ts.open[t] = struct{}{}
	ts.all.Add(1)
	return true
}

func (ts *tunnels) remove(t *tunnel) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	delete(ts.open, t)
	ts.all.Done()
}

// close closes all tunnels, and returns when they are gone.
func (ts *tunnels) close() {
	ts.mu.Lock()
	ts.ended = true
	open := slices.Collect(maps.Keys(ts.open))
	ts.mu.Unlock()
	for _, t := range open { // with TLS, a peer that does not read may take some seconds
		ts.all.Go(t.close)
	}
	ts.all.Wait()
}
