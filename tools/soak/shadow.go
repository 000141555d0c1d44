package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// shadow is a server whose mood changes while it serves.
type shadow struct {
	content  content
	patience time.Duration // how long it hangs at most
	bomb     []byte
	addr     string
	server   *http.Server
	idlers   pool
	asked    atomic.Int64 // requests that came
	accepted atomic.Int64 // connections that came

	mu       sync.Mutex // guards what follows
	mood     mood
	harsh    bool         // the mood spoils everything
	listener net.Listener // nil while it refuses
	serving  sync.WaitGroup
}

func newShadow(c content, patience time.Duration) (*shadow, error) {
	s := &shadow{content: c, patience: patience, bomb: newBomb(), mood: healthy}
	s.server = &http.Server{Handler: s}
	s.idlers.watch(s.server)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s.addr = l.Addr().String()
	s.serve(l)
	return s, nil
}

// newBomb packs zeros: members of a gzip file follow each other, and are one content.
func newBomb() []byte {
	var member bytes.Buffer
	w, _ := gzip.NewWriterLevel(&member, gzip.BestSpeed)
	_, _ = w.Write(make([]byte, 8<<20))
	_ = w.Close()
	return bytes.Repeat(member.Bytes(), 128)
}

// serve takes a listener; the caller holds mu, or is alone.
func (s *shadow) serve(l net.Listener) {
	s.listener = l
	s.serving.Go(func() { _ = s.server.Serve(&moody{l, s}) })
}

// set changes the mood. Connections that are idle are closed, as those of a server that restarts are.
func (s *shadow) set(m mood, harsh bool) error {
	if m == refusing && !harsh {
		m = flapping // one cannot refuse some
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if m == s.mood && harsh == s.harsh {
		return nil
	}
	s.mood, s.harsh = m, harsh
	s.idlers.close()
	if m == refusing {
		err := s.listener.Close()
		s.listener = nil
		return err
	}
	if s.listener != nil {
		return nil
	}
	l, err := net.Listen("tcp", s.addr)
	if err != nil {
		return fmt.Errorf("a shadow listens again: %w", err)
	}
	s.serve(l)
	return nil
}

// now tells how something is treated that comes as the nth of its kind.
func (s *shadow) now(nth int64) mood {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.harsh && nth%s.mood.every() != 0 {
		return healthy
	}
	return s.mood
}

func (s *shadow) close() {
	_ = s.server.Close()
	s.serving.Wait()
}

// moody is the listener of a shadow: some moods show before anything is read.
type moody struct {
	net.Listener
	shadow *shadow
}

// Accept returns the next connection that is to be served.
func (l *moody) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		tcp, _ := conn.(*net.TCPConn)
		switch m := l.shadow.now(l.shadow.accepted.Add(1)); {
		case m == deaf:
			_ = tcp.SetReadBuffer(4096)
			time.AfterFunc(l.shadow.patience, func() { _ = tcp.Close() })
		case m == flapping && down():
			_ = tcp.SetLinger(0)
			_ = tcp.Close()
		default:
			return conn, nil
		}
	}
}

// down tells whether what flaps is down: five times a second.
func down() bool { return time.Now().UnixMilli()/100%2 == 0 }

// ServeHTTP answers as the mood is.
func (s *shadow) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m := s.now(s.asked.Add(1))
	if m == flapping && down() {
		m = reset
	}
	wait := func(d time.Duration) {
		select {
		case <-time.After(d):
		case <-r.Context().Done():
		}
	}
	switch m {
	case healthy, flapping, deaf, refusing:
		s.content.ServeHTTP(w, r)
	case slow:
		wait(200 * time.Millisecond)
		s.content.ServeHTTP(w, r)
	case hanging:
		wait(s.patience)
		panic(http.ErrAbortHandler)
	default:
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(s.patience))
		s.harm(conn, m)
	}
}

// harm answers as no server should, until the other side has enough of it.
func (s *shadow) harm(conn net.Conn, m mood) {
	const ok = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	head := func(text string) { _, _ = io.WriteString(conn, text) }
	switch m {
	case reset:
		if tcp, is := conn.(*net.TCPConn); is {
			_ = tcp.SetLinger(0)
		}
	case cut:
		head(ok + "Content-Length: 100\r\n\r\n0123456789")
	case garbage:
		head("\x00\xff not http\r\n\r\n")
	case hinting:
		pour(conn, []byte("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"), 1<<30)
	case dripping:
		head(ok + "Content-Length: 1000000\r\n\r\n")
		for {
			if _, err := conn.Write([]byte{'x'}); err != nil {
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
	case endless:
		head(ok + "Transfer-Encoding: chunked\r\n\r\n")
		pour(conn, fmt.Appendf(nil, "%x\r\n%s\r\n", 4096, strings.Repeat("z", 4096)), 1<<62)
	case huge:
		head(ok + "Content-Length: 100000000\r\n\r\n")
		pour(conn, make([]byte, 64<<10), 100_000_000)
	case bomb:
		head(ok + fmt.Sprintf("Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n", len(s.bomb)))
		_, _ = conn.Write(s.bomb)
	case heads:
		head("HTTP/1.1 200 OK\r\n")
		pour(conn, []byte("X-Much: "+strings.Repeat("h", 1000)+"\r\n"), 4<<20)
		head("Content-Length: 0\r\n\r\n")
	}
}

// pour writes the same until n bytes are written or the other side takes no more.
func pour(w io.Writer, bytes []byte, n int64) {
	for n > 0 {
		if n < int64(len(bytes)) {
			bytes = bytes[:n]
		}
		if _, err := w.Write(bytes); err != nil {
			return
		}
		n -= int64(len(bytes))
	}
}
