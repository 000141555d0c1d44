package multicast

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
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

// While the primary takes no more of an upload nobody reads it, nor sees that its client has left: but then the primary is cut
// off where it goes on, and takes no part for the whole.
func TestClientLeavesAStuckUpload(t *testing.T) {
	goOn, ended := make(chan struct{}), make(chan error, 1)
	primary := newHandlerServer(t, func(_ http.ResponseWriter, r *http.Request) {
		<-goOn
		_, err := io.Copy(io.Discard, r.Body)
		ended <- err
	})
	s := newRawStage(t, primary, "http://127.0.0.1:1", "http://127.0.0.1:1", posts)
	w := s.dial()
	const length = 64 << 20
	w.send(fmt.Sprintf("POST /u HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n", length))
	_ = w.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
	if n, err := w.Write(make([]byte, length)); err == nil {
		t.Fatalf("all %d bytes could be sent", n)
	}
	_ = w.Close()
	close(goOn)
	if err := await(t, "the end of the upload", ended); err == nil {
		t.Error("the primary has taken a part of the upload for the whole")
	}
	s.counts(Counts{Requests: 1, Skipped: map[Reason]int64{ReasonClientAborted: 1}})
}
