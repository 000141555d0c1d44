package multicast

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// board is where a primary notes what it has seen, for who waits until it has.
type board struct {
	mu      sync.Mutex
	notes   map[string]int
	changed chan struct{} // closed with each note
}

func newBoard() *board { return &board{notes: make(map[string]int), changed: make(chan struct{})} }

func (b *board) note(what string, n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.notes[what] += n
	close(b.changed)
	b.changed = make(chan struct{})
}

// wait answers false if ctx ends before so much was noted.
func (b *board) wait(ctx context.Context, what string, n int) bool {
	for {
		b.mu.Lock()
		enough, changed := b.notes[what] >= n, b.changed
		b.mu.Unlock()
		if enough {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// ServeHTTP is a primary that does what a request asks for, and tells what it has seen.
func (b *board) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	control := http.NewResponseController(w)
	id := r.FormValue("id")
	switch r.URL.Path {
	case "/seen":
		n, _ := strconv.Atoi(r.FormValue("n"))
		if !b.wait(r.Context(), r.FormValue("what"), n) {
			w.WriteHeader(http.StatusGone)
		}
	case "/upload":
		var all bytes.Buffer
		part := make([]byte, 5)
		for {
			n, err := r.Body.Read(part)
			all.Write(part[:n])
			b.note(id, n)
			if err != nil {
				break
			}
		}
		_, _ = w.Write(all.Bytes())
	case "/duplex":
		_ = control.EnableFullDuplex()
		part := make([]byte, 5)
		for {
			n, err := io.ReadFull(r.Body, part)
			_, _ = w.Write(part[:n])
			_ = control.Flush()
			if err != nil {
				return
			}
		}
	case "/refuse":
		w.WriteHeader(http.StatusForbidden)
	case "/wait":
		if words := r.FormValue("words"); words != "" {
			_, _ = io.WriteString(w, words)
			_ = control.Flush()
		}
		b.note("asked-"+id, 1)
		<-r.Context().Done()
		b.note("left-"+id, 1)
	case "/cut":
		if length := r.FormValue("length"); length != "" {
			w.Header().Set("Content-Length", length)
		}
		_, _ = io.WriteString(w, "four")
		_ = control.Flush()
		panic(http.ErrAbortHandler)
	case "/events":
		b.note("next-"+id, 1)
		b.events(w, r, id)
	case "/next":
		b.note("next-"+id, 1)
	case "/together":
		n, _ := strconv.Atoi(r.FormValue("n"))
		b.note("together", 1)
		b.wait(r.Context(), "together", n)
		_, _ = io.WriteString(w, r.FormValue("i"))
	case "/upgrade":
		upgradeToEcho(w)
	case "/echo":
		body, _ := io.ReadAll(r.Body)
		_, _ = w.Write(body)
	case "/trailers":
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("X-Got", r.Trailer.Get("X-Checksum"))
		shop(w, r)
	default:
		shop(w, r)
	}
}

// events sends one event for each note of what is next.
func (b *board) events(w http.ResponseWriter, r *http.Request, id string) {
	next := make(chan string)
	ctx, cancel := context.WithCancel(r.Context())
	var notes sync.WaitGroup
	defer notes.Wait()
	defer cancel()
	notes.Go(func() {
		for i := 0; b.wait(ctx, "next-"+id, i+1); i++ {
			select {
			case next <- fmt.Sprint(i):
			case <-ctx.Done():
			}
		}
	})
	events(next)(w, r)
}

// upgradeToEcho speaks first, right behind the head, then echoes.
func upgradeToEcho(w http.ResponseWriter) {
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nwelcome")
	_, _ = io.Copy(conn, buffered)
}

// Node's clients: http with agents that keep connections, fetch and http2. Their stories are in testdata/client.mjs.
func TestNode(t *testing.T) {
	server := httptest.NewServer(newBoard())
	t.Cleanup(server.Close)
	shadow := newHandlerServer(t, answer(200, "from a shadow"))
	s := newRawStage(t, server.URL, shadow, shadow, posts)
	cmd := exec.CommandContext(patient(t), program(t, "node"), "testdata/client.mjs", "http://"+s.addr, server.URL)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil || stderr.Len() > 0 {
		t.Errorf("node: %v\n%s", err, stderr.Bytes())
	}
	var stories, told int
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		var line struct {
			Story, Error string
			Told         int
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatalf("%s: %v", lines.Bytes(), err)
		}
		if line.Story == "" {
			told = line.Told
			continue
		}
		stories++
		t.Run(line.Story, func(t *testing.T) {
			if line.Error != "" {
				t.Error(line.Error)
			}
		})
	}
	if stories == 0 || stories != told {
		t.Errorf("%d stories of %d were told", stories, told)
	}
	s.eventually("every request has its place", func() bool { return s.proxy.Counts().Open == 0 })
	c := s.proxy.Counts()
	if c.Compared == 0 || c.Skipped[ReasonUpgrade] != 1 || c.Skipped[ReasonStream] != 1 || c.Dropped[ReasonQueue] > 0 {
		t.Errorf("counts are %+v", c)
	}
	if strings.Contains(s.log.String(), "invalid concurrent") {
		t.Error(s.log)
	}
}
