package multicast

import (
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"testing"
)

// A client that resets its connection while it uploads has left, however early or late: that is no failure of the primary,
// which is up and reading.
func TestClientResetsWhileUploading(t *testing.T) {
	primary := newHandlerServer(t, func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
	s := newRawStage(t, primary, "http://127.0.0.1:1", "http://127.0.0.1:1", posts)
	for range 1500 {
		w := s.dial()
		w.send("POST /u HTTP/1.1\r\nHost: a\r\nContent-Length: 50000\r\n\r\n")
		w.send(strings.Repeat("x", rand.IntN(50000)))
		_ = w.Conn.(*net.TCPConn).SetLinger(0)
		_ = w.Close()
	}
	s.stop()
	c := s.proxy.Counts() // some are reset before anybody has read their head
	if c.Requests < 100 || c.Skipped[ReasonClientAborted] != c.Requests || strings.Contains(s.log.String(), "primary failed") {
		t.Errorf("counts are %+v; %.600s", c, s.log)
	}
}
