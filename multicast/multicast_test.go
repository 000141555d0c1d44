package multicast

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// TestMain waits for every goroutine to end: net/http's server lingers half a second on some connections.
func TestMain(m *testing.M) {
	code := m.Run()
	deadline := time.Now().Add(patience)
	for leak := goleak.Find(); leak != nil; leak = goleak.Find() {
		if time.Now().After(deadline) {
			fmt.Fprintln(os.Stderr, leak)
			os.Exit(1)
		}
	}
	os.Exit(code)
}

// patience is how long a test waits for what must come; nothing waits so long unless it is broken.
const patience = 20 * time.Second

// stage is a proxy between a client and three upstreams, all on real sockets.
type stage struct {
	t         *testing.T
	proxy     *Proxy
	addr      string
	upstream  [3]*upstream // by Role
	exchanges chan *Exchange
	log       *logBuffer
	prepare   func(*Proxy) // before it runs; may be nil
	turns     chan Turn
	cancel    context.CancelFunc // ends Run
	stop      func()
}

// upstream is one role's server; it remembers what it was asked.
type upstream struct {
	server *httptest.Server
	mu     sync.Mutex
	asked  []*received
}

type received struct {
	method, target, host string
	header, trailer      http.Header
	body                 string
	length               int64
	encoding             []string
}

func newUpstream(handler http.HandlerFunc) *upstream {
	if handler == nil {
		handler = answer(200, "hello")
	}
	u := &upstream{}
	u.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		u.mu.Lock()
		u.asked = append(u.asked, &received{
			r.Method, r.RequestURI, r.Host, r.Header.Clone(), r.Trailer.Clone(), string(body), r.ContentLength, r.TransferEncoding,
		})
		u.mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
		handler(w, r)
	}))
	u.server.Config.DisableGeneralOptionsHandler = true
	u.server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	u.server.Start()
	return u
}

func (u *upstream) requests() []*received {
	u.mu.Lock()
	defer u.mu.Unlock()
	return append([]*received(nil), u.asked...)
}

func answer(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// newStage starts three upstreams with these handlers (nil answers "hello"; a missing handler is nil) and a proxy in
// front of them, which is configured by the last argument.
func newStage(t *testing.T, handlers map[Role]http.HandlerFunc, configure func(*Config)) *stage {
	t.Helper()
	s := &stage{t: t}
	cfg := DefaultConfig()
	for role, address := range map[Role]*string{Primary: &cfg.Primary, Secondary: &cfg.Secondary, Candidate: &cfg.Candidate} {
		s.upstream[role] = newUpstream(handlers[role])
		*address = s.upstream[role].server.URL
		t.Cleanup(s.upstream[role].server.Close)
	}
	s.start(cfg, configure)
	return s
}

// newRawStage is newStage with addresses instead of handlers.
func newRawStage(t *testing.T, primary, secondary, candidate string, configure func(*Config)) *stage {
	t.Helper()
	s := &stage{t: t}
	cfg := DefaultConfig()
	cfg.Primary, cfg.Secondary, cfg.Candidate = primary, secondary, candidate
	s.start(cfg, configure)
	return s
}

func (s *stage) start(cfg Config, configure func(*Config)) {
	t := s.t
	t.Helper()
	cfg.Listen = "127.0.0.1:0"
	cfg.Server.Drain = 100 * time.Millisecond
	if configure != nil {
		configure(&cfg)
	}
	s.exchanges, s.turns, s.log = make(chan *Exchange, 10000), make(chan Turn, 100), &logBuffer{}
	proxy, err := New(cfg, Deps{
		Log:     slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Deliver: func() Deliver { return func(ex *Exchange) { s.exchanges <- keep(ex) } },
		Turned:  func(turn Turn) { s.turns <- turn },
	})
	if err != nil {
		t.Fatal(err)
	}
	if s.proxy = proxy; s.prepare != nil {
		s.prepare(proxy)
	}
	listener, err := net.Listen("tcp", cfg.Listen)
	if err != nil {
		t.Fatal(err)
	}
	s.addr = listener.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	server, done := proxy.Server(), make(chan struct{}, 2)
	go func() {
		_ = server.Serve(listener)
		done <- struct{}{}
	}()
	go func() {
		_ = proxy.Run(ctx)
		done <- struct{}{}
	}()
	s.eventually("the proxy runs", func() bool { return proxy.shadowing.Load().running })
	s.stop = sync.OnceFunc(func() {
		_ = server.Close()
		cancel()
		<-done
		<-done
		s.eventually("every request has its place", func() bool { return proxy.Counts().Open == 0 })
		s.identity()
	})
	t.Cleanup(s.stop)
}

// keep copies what may not be kept.
func keep(ex *Exchange) *Exchange {
	kept := *ex
	kept.Request.Body = bytes.Clone(ex.Request.Body)
	for i := range kept.Responses {
		kept.Responses[i].Body = bytes.Clone(ex.Responses[i].Body)
	}
	return &kept
}

// identity checks that every request ended in exactly one place, and that nothing is held.
func (s *stage) identity() {
	s.t.Helper()
	c := s.proxy.Counts()
	if placed := sum(c.Skipped) + sum(c.Dropped) + c.Exchanged; c.Requests != placed {
		s.t.Errorf("requests %d ≠ placed %d: %+v", c.Requests, placed, c)
	}
	if known := c.Compared + sum(c.Unknown); c.Exchanged != known {
		s.t.Errorf("exchanged %d ≠ compared + unknown %d: %+v", c.Exchanged, known, c)
	}
	for role, legs := range c.Shadow {
		if legs.Sent != sum(legs.Outcome) || s.proxy.setup.Load().cfg.Secondary != "" && legs.Sent != c.Exchanged {
			s.t.Errorf("%s: sent %d, outcomes %v, exchanged %d", role, legs.Sent, legs.Outcome, c.Exchanged)
		}
		if c.InFlight[role] != 0 {
			s.t.Errorf("%s: %d in flight", role, c.InFlight[role])
		}
	}
	if c.CapturedBytes != 0 || c.Queue != 0 || c.Open != 0 {
		s.t.Errorf("held: %d bytes, %d queued, %d open", c.CapturedBytes, c.Queue, c.Open)
	}
	if strings.Contains(s.log.String(), "panic") && c.Unknown[ReasonPanic] == 0 {
		s.t.Errorf("a panic was logged:\n%s", s.log)
	}
}

func sum[K comparable](counts map[K]int64) (total int64) {
	for _, n := range counts {
		total += n
	}
	return total
}

// counts waits until every request has its place, and compares.
func (s *stage) counts(want Counts) {
	s.t.Helper()
	s.eventually("every request has its place", func() bool { return s.proxy.Counts().Open == 0 })
	got := s.proxy.Counts()
	if want.Requests != got.Requests || want.Exchanged != got.Exchanged || want.Compared != got.Compared ||
		!maps.Equal(want.Skipped, got.Skipped) || !maps.Equal(want.Dropped, got.Dropped) || !maps.Equal(want.Unknown, got.Unknown) {
		s.t.Errorf("counts are %+v", got)
	}
}

func (s *stage) outcomes(role Role, want map[Outcome]int64) {
	s.t.Helper()
	if got := s.proxy.Counts().Shadow[role.String()].Outcome; !maps.Equal(want, got) {
		s.t.Errorf("outcomes of the %s are %v, want %v", role, got, want)
	}
}

// eventually waits for what is bound to come, without knowing when.
func (s *stage) eventually(what string, holds func() bool) {
	s.t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			s.t.Fatalf("%s: not so after %s; counts %+v", what, patience, s.proxy.Counts())
		}
	}
}

// exchange waits for the next one.
func (s *stage) exchange() *Exchange {
	s.t.Helper()
	select {
	case ex := <-s.exchanges:
		return ex
	case <-time.After(patience):
		s.t.Fatalf("no exchange after %s; counts %+v", patience, s.proxy.Counts())
		return nil
	}
}

// wire is one client connection.
type wire struct {
	net.Conn
	t *testing.T
	r *bufio.Reader
}

func (s *stage) dial() *wire {
	s.t.Helper()
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		s.t.Fatal(err)
	}
	_ = conn.SetDeadline(time.Now().Add(patience))
	s.t.Cleanup(func() { _ = conn.Close() })
	return &wire{conn, s.t, bufio.NewReader(conn)}
}

func (w *wire) send(text string) {
	w.t.Helper()
	if _, err := io.WriteString(w, text); err != nil {
		w.t.Fatal(err)
	}
}

// head reads up to the empty line.
func (w *wire) head() string {
	w.t.Helper()
	var head strings.Builder
	for {
		line, err := w.r.ReadString('\n')
		head.WriteString(line)
		if err != nil {
			w.t.Fatalf("read head: %v after %q", err, head.String())
		}
		if line == "\r\n" {
			return head.String()
		}
	}
}

func (w *wire) read(n int) string {
	w.t.Helper()
	buf := make([]byte, n)
	if n, err := io.ReadFull(w.r, buf); err != nil {
		w.t.Fatalf("read: %v after %q", err, buf[:n])
	}
	return string(buf)
}

// rest reads until the proxy closes.
func (w *wire) rest() string {
	w.t.Helper()
	rest, err := io.ReadAll(w.r)
	if err != nil && !errors.Is(err, net.ErrClosed) && !strings.Contains(err.Error(), "reset") {
		w.t.Fatalf("read to the end: %v after %q", err, rest)
	}
	return string(rest)
}

// response reads one answer.
func (w *wire) response(method string) (*http.Response, string) {
	w.t.Helper()
	res, err := http.ReadResponse(w.r, &http.Request{Method: method})
	if err != nil {
		w.t.Fatalf("read response: %v", err)
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Fatalf("read body: %v", err)
	}
	return res, string(body)
}

// get asks once on a connection of its own.
func (s *stage) get(target string, headers ...string) (*http.Response, string) {
	s.t.Helper()
	w := s.dial()
	w.send("GET " + target + " HTTP/1.1\r\nHost: shop.example\r\nConnection: close\r\n" + lines(headers) + "\r\n")
	return w.response("GET")
}

func lines(headers []string) string {
	var b strings.Builder
	for _, h := range headers {
		b.WriteString(h + "\r\n")
	}
	return b.String()
}

// silent is a shadow that takes connections and never answers.
func silent(t *testing.T) string {
	return raw(t, func(conn net.Conn, r *bufio.Reader) {
		for {
			if _, err := r.ReadByte(); err != nil {
				return
			}
		}
	})
}

// raw is an upstream that speaks bytes: script is called for each connection.
func raw(t *testing.T, script func(conn net.Conn, r *bufio.Reader)) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	conns := make(map[net.Conn]bool)
	all.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns[conn] = true
			mu.Unlock()
			all.Go(func() {
				defer conn.Close()
				script(conn, bufio.NewReader(conn))
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		mu.Lock()
		for conn := range conns {
			_ = conn.Close()
		}
		mu.Unlock()
		all.Wait()
	})
	return "http://" + listener.Addr().String()
}

// readHead reads a request's head; it answers false when there is none.
func readHead(r *bufio.Reader) (string, bool) {
	var head strings.Builder
	for {
		line, err := r.ReadString('\n')
		head.WriteString(line)
		if err != nil {
			return "", false
		}
		if line == "\r\n" {
			return head.String(), true
		}
	}
}

// logBuffer is a log that may be read meanwhile.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// newHandlerServer is an upstream whose handler reads the body itself.
func newHandlerServer(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}
