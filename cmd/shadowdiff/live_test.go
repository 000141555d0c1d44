package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"shadowdiff/multicast"
	"shadowdiff/web"
)

// live is the whole service in this process, with its configuration in a file that a test rewrites.
type live struct {
	t    *testing.T
	svc  *service
	file string
	log  *journal
	stop func()
}

// serveFile starts a service with this file. Listeners and store are the test's own; a line of text that names one of
// them, or web, wins.
func serveFile(t *testing.T, text string) *live {
	t.Helper()
	return serveWith(t, text, nil)
}

// serveWith is serveFile with flags more, by what they stand for.
func serveWith(t *testing.T, text string, more flagValues) *live {
	t.Helper()
	l := &live{t: t, file: filepath.Join(t.TempDir(), "shadowdiff.yaml"), log: &journal{}}
	l.write(text)
	flags := flagValues{
		"listen": {"-listen", "127.0.0.1:0"}, "web.listen": {"-admin", "127.0.0.1:0"},
		"store.path": {"-db", filepath.Join(t.TempDir(), "live.db")},
	}
	maps.Copy(flags, more)
	from := source{l.file, flags, testEnvironment}
	cfg, d := from.read()
	if len(d.faults) > 0 {
		t.Fatal(strings.Join(lines(d.sorted()), "\n"))
	}
	svc, err := newService(cfg, from, slog.New(slog.NewTextHandler(l.log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	if err != nil {
		t.Fatal(err)
	}
	l.svc = svc
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- svc.Run(ctx) }()
	l.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the service: %v", err)
		}
		c := svc.proxy.Counts()
		addsUp(t, c)
		if c.Open != 0 || c.CapturedBytes != 0 {
			t.Errorf("held after the end: %+v", c)
		}
	})
	t.Cleanup(func() {
		l.stop()
		if t.Failed() {
			t.Logf("the log:\n%s", l.log)
		}
	})
	l.eventually("readiness", func() bool { return l.status("/readyz") == http.StatusOK })
	return l
}

// journal is a log that may be read meanwhile.
type journal struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.String()
}

func (l *live) write(text string) {
	l.t.Helper()
	if err := os.WriteFile(l.file, []byte(text), 0o600); err != nil {
		l.t.Fatal(err)
	}
}

// replace puts another file in the place of this one, for those who may be reading it.
func (l *live) replace(text string) {
	l.t.Helper()
	next := l.file + ".next"
	if err := os.WriteFile(next, []byte(text), 0o600); err != nil {
		l.t.Fatal(err)
	}
	if err := os.Rename(next, l.file); err != nil {
		l.t.Fatal(err)
	}
}

func (l *live) eventually(what string, holds func() bool) {
	l.t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for timeout := time.After(90 * time.Second); !holds(); {
		select {
		case <-tick.C:
		case <-timeout:
			l.t.Fatalf("%s: not so after 90 s; %+v", what, l.svc.proxy.Counts())
		}
	}
}

// settled waits until every exchange has its place.
func (l *live) settled() multicast.Counts {
	l.t.Helper()
	l.eventually("every exchange has its place", func() bool { return l.svc.proxy.Counts().Open == 0 })
	return l.svc.proxy.Counts()
}

// ask sends a request to the admin listener.
func (l *live) ask(method, path, body string) (int, string) {
	l.t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), method, l.svc.AdminURL()+path, strings.NewReader(body))
	if err != nil {
		l.t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		l.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		l.t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

func (l *live) status(path string) int {
	l.t.Helper()
	status, _ := l.ask(http.MethodGet, path, "")
	return status
}

// page is what a GET of the admin listener shows.
func (l *live) page(path string) string {
	l.t.Helper()
	status, text := l.ask(http.MethodGet, path, "")
	if status != http.StatusOK {
		l.t.Fatalf("GET %s: %d %s", path, status, text)
	}
	return text
}

// reload rewrites the file and asks for it by the API; it must be taken.
func (l *live) reload(text string) (done web.Reload) {
	l.t.Helper()
	l.write(text)
	status, answer := l.ask(http.MethodPost, "/api/v1/reload", "")
	if err := json.Unmarshal([]byte(answer), &done); err != nil || status != http.StatusOK || !done.Good {
		l.t.Fatalf("reload: %d %s", status, answer)
	}
	return done
}

// refused rewrites the file and asks for it by the API; it must not be taken. It returns the problem's faults as check
// prints them, without the file's name.
func (l *live) refused(text string) (faults []string) {
	l.t.Helper()
	l.write(text)
	status, answer := l.ask(http.MethodPost, "/api/v1/reload", "")
	var problem struct {
		Status int
		Detail string
		Errors []web.Fault
	}
	if err := json.Unmarshal([]byte(answer), &problem); err != nil || status != http.StatusUnprocessableEntity || problem.Status != status {
		l.t.Fatalf("reload: %d %s", status, answer)
	}
	for _, f := range problem.Errors {
		if !strings.Contains(problem.Detail, f.String()) {
			l.t.Errorf("the detail does not tell %q: %s", f, problem.Detail)
		}
		faults = append(faults, strings.TrimPrefix(f.String(), l.file+":"))
	}
	return faults
}

// client is one connection of a client, which asks one thing after another and never reconnects.
type client struct {
	t    *testing.T
	conn net.Conn
	r    *bufio.Reader
}

func (l *live) connect() *client {
	l.t.Helper()
	return l.connectTLS(nil)
}

func (l *live) connectTLS(cfg *tls.Config) *client {
	l.t.Helper()
	conn, err := net.Dial("tcp", l.svc.traffic.Addr().String())
	if err == nil && cfg != nil {
		secure := tls.Client(conn, cfg)
		conn, err = secure, secure.Handshake()
	}
	if err != nil {
		l.t.Fatal(err)
	}
	_ = conn.SetDeadline(time.Now().Add(120 * time.Second))
	l.t.Cleanup(func() { conn.Close() })
	return &client{l.t, conn, bufio.NewReader(conn)}
}

// get asks, and returns the status with the body.
func (c *client) get(target string, headers ...string) string {
	c.t.Helper()
	text, err := c.try("GET " + target + " HTTP/1.1\r\nHost: shop.example\r\n" + strings.Join(append(headers, "\r\n"), "\r\n"))
	if err != nil {
		c.t.Fatalf("GET %s: %v", target, err)
	}
	return text
}

// try sends these bytes and reads one answer; that the connection is to be closed after it is an error.
func (c *client) try(request string) (string, error) {
	if _, err := io.WriteString(c.conn, request); err != nil {
		return "", err
	}
	method, _, _ := strings.Cut(request, " ")
	res, err := http.ReadResponse(c.r, &http.Request{Method: method})
	if err != nil {
		return "", err
	}
	body, err := io.ReadAll(res.Body)
	if err == nil && res.Close {
		err = fmt.Errorf("the connection is closed after %s", res.Status)
	}
	return fmt.Sprintf("%d %s", res.StatusCode, body), err
}

// peer is an upstream that answers with its name, and remembers what it was asked.
type peer struct {
	*httptest.Server
	name  string
	asked atomic.Int64
	mu    sync.Mutex
	last  *http.Request
}

// newPeer starts an upstream; handler nil answers with the name.
func newPeer(t *testing.T, name string, handler http.HandlerFunc) *peer {
	t.Helper()
	p := &peer{name: name}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.asked.Add(1)
		p.mu.Lock()
		p.last = r.Clone(context.Background())
		p.mu.Unlock()
		if handler != nil {
			handler(w, r)
			return
		}
		_, _ = io.WriteString(w, p.name)
	}))
	t.Cleanup(p.Close)
	return p
}

// seen is the last request.
func (p *peer) seen() *http.Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last
}

// passOn sends what comes over the channel, each text at once, until it is closed or the client has gone.
func passOn(w http.ResponseWriter, r *http.Request, more <-chan string) {
	for {
		select {
		case text, ok := <-more:
			if !ok {
				return
			}
			_, _ = io.WriteString(w, text)
			_ = http.NewResponseController(w).Flush()
		case <-r.Context().Done():
			return
		}
	}
}

// give sends a text to a handler that passes it on.
func give(t *testing.T, more chan<- string, text string) {
	t.Helper()
	select {
	case more <- text:
	case <-time.After(90 * time.Second):
		t.Fatalf("nobody takes %q", text)
	}
}

// addresses begins a configuration file.
func addresses(primary, secondary, candidate *peer) string {
	return fmt.Sprintf("primary: %s\nsecondary: %s\ncandidate: %s\n", primary.URL, secondary.URL, candidate.URL)
}
