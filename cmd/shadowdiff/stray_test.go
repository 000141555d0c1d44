package main

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// A primary that sends more than its answer: the log says so, once, as JSON, and without what was sent.
func TestUnaskedBytesAreNotLogged(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
				_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nX: \"secret\r\n\r\n\"secret\nsecret")
			}
		}
	}()
	s := serveProcess(t, "-primary", "http://"+listener.Addr().String())
	for range 20 {
		if got := <-get(s.clients + "/a"); !strings.HasSuffix(got, "ok") {
			t.Errorf("got %q", got)
		}
	}
	s.eventually("it is logged", func() bool { return strings.Contains(s.written(), "Unsolicited response") })
	log := s.written()
	if strings.Contains(log, "secret") || strings.Count(log, "Unsolicited") > 10 {
		t.Errorf("the log is %s", log)
	}
	for line := range strings.Lines(log) {
		if !strings.HasPrefix(line, "{") {
			t.Errorf("a line is %q", line)
		}
	}
}
