package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Whatever is under way when the process is asked to end, with a primary that never answers: server.drain bounds it.
func TestDrainBoundsWhatNeverEnds(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	asked := make(chan string, 16)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				r := bufio.NewReader(conn)
				req, err := http.ReadRequest(r)
				if err != nil {
					return
				}
				_, _ = io.WriteString(conn, map[string]string{
					"/head": "HTTP/1.1 200 OK\r\nX-", "/body": "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf",
					"/tunnel": "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n",
				}[req.URL.Path])
				asked <- req.URL.Path
				_, _ = io.Copy(io.Discard, r)
			}()
		}
	}()
	file := filepath.Join(t.TempDir(), "config.yaml")
	text := fmt.Sprintf("primary: http://%s\nserver: {drain: 300ms}\nstore: {path: %s.db}\n", listener.Addr(), file)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serveProcess(t, "-config", file)
	requests := []string{
		"GET /silent HTTP/1.1\r\nHost: a\r\n\r\n", "GET /head HTTP/1.1\r\nHost: a\r\n\r\n", "GET /body HTTP/1.1\r\nHost: a\r\n\r\n",
		"POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 500\r\n\r\nabc",
		"POST /expect HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n",
		"GET /tunnel HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n",
	}
	var clients []net.Conn
	for _, request := range requests {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.clients, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		_, _ = io.WriteString(conn, request)
		clients = append(clients, conn)
	}
	for range requests {
		<-asked
	}
	s.signal(syscall.SIGTERM)
	if code := s.wait(); code != 0 {
		t.Errorf("it ended with %d", code)
	}
	for _, conn := range clients {
		_, _ = io.Copy(io.Discard, conn) // ends, since the process has
	}
}
