package multicast

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// FuzzTunnel upgrades a connection to the primary itself, and one through the proxy, and has the same happen in both: each
// side says, ends and is lost as the fuzzer picks. Each must hear the same from the other, to the last byte, and be told of
// its end in the same way.
func FuzzTunnel(f *testing.F) {
	for n := range 24 {
		f.Add([]byte{byte(n), byte(n * 7), byte(n * 31), byte(n * 13), byte(255 - n)}, byte(n*5), byte(n*3))
	}
	f.Add([]byte{hearLarge, hearLarge | 1, hearEnd, hearLarge | 1, hearEnd | 1}, byte(0), byte(0))
	for _, lost := range []byte{hearLost, hearLost | 1} {
		f.Add([]byte{hearLarge, hearLarge | 1, lost}, byte(9), byte(9))
		f.Add([]byte{hearEnd | 1 ^ lost&1, lost}, byte(0), byte(1))
	}
	primaries := make(chan *side)
	address := rawUpstream(f, func(conn *net.TCPConn) {
		s := newSide(conn)
		if _, ok := readHead(s.r); !ok {
			return
		}
		primaries <- s
		<-s.over
	})
	cfg := DefaultConfig()
	cfg.Primary, cfg.Listen = "http://"+address, "127.0.0.1:0"
	cfg.Server.Drain = 100 * time.Millisecond
	s := new(scene)
	s.start(f, cfg)
	f.Fuzz(func(t *testing.T, steps []byte, early, welcome byte) {
		steps = steps[:min(len(steps), 24)]
		direct := playTunnel(t, address, primaries, steps, early, welcome)
		through := playTunnel(t, s.addr, primaries, steps, early, welcome)
		if direct != through {
			t.Errorf("steps %v, early %d and %d: directly\n%.500s\nthrough the proxy\n%.500s", steps, early, welcome, direct, through)
		}
		(&stage{t: t, proxy: s.proxy, log: &logBuffer{}}).eventually("the tunnel is gone", func() bool {
			s.proxy.tunnels.mu.Lock()
			defer s.proxy.tunnels.mu.Unlock()
			return len(s.proxy.tunnels.open) == 0
		})
	})
}

// What happens in a step: the lowest bit is whose it is, the next three are what, the rest how much.
const (
	hearSmall = iota << 1
	hearMore
	hearLarge
	hearMost
	hearNothing
	hearAgain
	hearEnd
	hearLost
)

// side is one end of a tunnel. What comes is heard all the time.
type side struct {
	conn *net.TCPConn
	r    *bufio.Reader
	over chan struct{} // closed when the connection is not wanted any more
	said int
	done bool // it says no more

	mu    sync.Mutex // guards what follows
	heard strings.Builder
	end   string // how the other side ended; empty: it has not
	turn  sync.Cond
}

func newSide(conn *net.TCPConn) *side {
	s := &side{conn: conn, r: bufio.NewReader(conn), over: make(chan struct{})}
	s.turn.L = &s.mu
	_ = conn.SetDeadline(time.Now().Add(hung))
	return s
}

// listen hears until there is no more.
func (s *side) listen() {
	buf := make([]byte, 64<<10)
	for {
		n, err := s.r.Read(buf)
		s.mu.Lock()
		s.heard.Write(buf[:n])
		switch {
		case err == io.EOF:
			s.end = "end"
		case errors.Is(err, syscall.ECONNRESET):
			s.end = "reset"
		case errors.Is(err, net.ErrClosed):
			s.end = "none"
		case err != nil:
			s.end = "hangs"
		}
		s.turn.Broadcast()
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// await waits until so much was heard, or an end.
func (s *side) await(so func(heard int, ended bool) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for !so(s.heard.Len(), s.end != "") {
		s.turn.Wait()
	}
}

// say says so much more, and waits until the other side has heard it.
func (s *side) say(n int, other *side) {
	if s.done {
		return
	}
	text := strings.Repeat(fmt.Sprintf("%07d ", s.said), n/8+1)[:n]
	s.said += n
	_, _ = io.WriteString(s.conn, text)
	other.await(func(heard int, ended bool) bool { return heard >= s.said || ended })
}

// finish ends what this side says.
func (s *side) finish(other *side) {
	if !s.done {
		s.done = true
		_ = s.conn.CloseWrite()
		other.await(func(_ int, ended bool) bool { return ended })
	}
}

// tell is what was heard, in short.
func (s *side) tell() string {
	heard := s.heard.String()
	return fmt.Sprintf("%d bytes, %x, %.20q, %s", len(heard), sha256.Sum256([]byte(heard)), heard, s.end)
}

// playTunnel has all steps happen in a tunnel that leads to the primary, and tells what both sides heard.
func playTunnel(t *testing.T, address string, primaries <-chan *side, steps []byte, early, welcome byte) string {
	conn, err := call(address, net.IPv4(127, 0, 0, 1))
	if err != nil {
		t.Fatal(err)
	}
	client := newSide(conn)
	client.said = int(early)
	_, _ = io.WriteString(conn, "GET /t HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"+strings.Repeat("e", client.said))
	primary := <-primaries
	primary.said = int(welcome)
	_, _ = io.WriteString(primary.conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"+strings.Repeat("w", primary.said))
	if head, ok := readHead(client.r); !ok || !strings.HasPrefix(head, "HTTP/1.1 101 ") {
		t.Fatalf("the client got %q", head)
	}
	var hearing sync.WaitGroup
	hearing.Go(client.listen)
	hearing.Go(primary.listen)
	sides := [2]*side{client, primary}
	primary.await(func(heard int, ended bool) bool { return heard >= client.said || ended })
	client.await(func(heard int, ended bool) bool { return heard >= primary.said || ended })
	lost := false
	for _, step := range steps {
		if lost = takeStep(sides[step&1], sides[1-step&1], step); lost {
			break
		}
	}
	if !lost {
		client.finish(primary)
		primary.finish(client)
	}
	_ = client.conn.Close()
	_ = primary.conn.Close()
	hearing.Wait()
	close(primary.over)
	return "primary: " + primary.tell() + "\nclient: " + client.tell()
}

// takeStep answers true when one side has lost the connection.
func takeStep(one, other *side, step byte) (lost bool) {
	amount := 1 + int(step>>4)
	switch step & 0xe {
	case hearSmall, hearAgain:
		one.say(amount, other)
	case hearMore:
		one.say(100*amount, other)
	case hearLarge:
		one.say(5000*amount, other)
	case hearMost:
		one.say(40_000*amount, other)
	case hearEnd:
		one.finish(other)
	case hearLost:
		if one.done || amount > 4 { // seldom, or nothing comes after; and who has ended cannot be heard to be lost
			return false
		}
		_ = one.conn.SetLinger(0)
		_ = one.conn.Close()
		other.await(func(_ int, ended bool) bool { return ended })
		return true
	}
	return false
}
