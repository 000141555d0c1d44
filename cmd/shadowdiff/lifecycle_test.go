package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"shadowdiff/multicast"
)

// readCode is what /readyz says, asked of the handler itself, whether anybody listens or not.
func readCode(svc *service) (int, string) {
	w := httptest.NewRecorder()
	svc.web.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://127.0.0.1/readyz", nil))
	return w.Code, w.Body.String()
}

// TestTheFirstRequestHasItsShadows: who connects as soon as the port is open is served when the shadows can be asked, and
// the process is ready from then until its end.
func TestTheFirstRequestHasItsShadows(t *testing.T) {
	t.Parallel()
	p := newPeer(t, "primary", nil)
	cfg := readText(t, addresses(p, p, p)+"listen: 127.0.0.1:0\nweb: {listen: \"127.0.0.1:0\"}\nstore: {path: "+filepath.Join(t.TempDir(), "x.db")+"}\n", nil)
	svc, err := newService(cfg, source{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if code, body := readCode(svc); code != http.StatusServiceUnavailable || !strings.Contains(body, `"status":"starting"`) {
		t.Errorf("before the start: %d %s", code, body)
	}
	conn, err := net.Dial("tcp", svc.traffic.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET /first HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	svc.patience = time.Hour
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	done := make(chan error, 1)
	go func() { done <- svc.Run(ctx) }()
	_ = conn.SetDeadline(time.Now().Add(90 * time.Second))
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%v, %v", res, err)
	}
	l := &live{t: t, svc: svc}
	l.eventually("readiness", func() bool { code, _ := readCode(svc); return code == http.StatusOK })
	if c := l.settled(); c.Compared != 1 || len(c.Skipped) > 0 {
		t.Errorf("%+v", c)
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if code, body := readCode(svc); code != http.StatusServiceUnavailable || !strings.Contains(body, `"status":"stopping"`) {
		t.Errorf("after the end: %d %s", code, body)
	}
}

// TestClientsAreServedWhileMuchIsRead: what was counted before holds up shadows and pages while it is read, and no client.
// The process is ready when it has been.
func TestClientsAreServedWhileMuchIsRead(t *testing.T) {
	t.Parallel()
	p := newPeer(t, "primary", nil)
	cfg := readText(t, addresses(p, p, p)+"listen: 127.0.0.1:0\nweb: {listen: \"127.0.0.1:0\"}\nstore: {path: "+filepath.Join(t.TempDir(), "x.db")+"}\n", nil)
	svc, err := newService(cfg, source{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	svc.patience = time.Millisecond
	svc.beginning.Lock() // reading takes until it is given back
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	done := make(chan error, 1)
	go func() { done <- svc.Run(ctx) }()
	l := &live{t: t, svc: svc}
	if got := l.connect().get("/early"); got != "200 primary" {
		t.Errorf("while the counts are read: %s", got)
	}
	if c := l.settled(); c.Requests != 1 || c.Skipped[multicast.ReasonDisabled] != 1 || p.asked.Load() != 1 {
		t.Errorf("%+v", c)
	}
	if status, body := l.ask(http.MethodGet, "/readyz", ""); status != http.StatusServiceUnavailable || !strings.Contains(body, `"status":"starting"`) {
		t.Errorf("readiness while the counts are read: %d %s", status, body)
	}
	if status := l.status("/healthz"); status != http.StatusOK {
		t.Errorf("liveness while the counts are read: %d", status)
	}
	page := make(chan int, 1)
	go func() { page <- l.status("/api/v1/equivalence") }()
	select {
	case status := <-page:
		t.Errorf("the counts before they were read: %d", status)
	default:
	}

	svc.beginning.Unlock()
	l.eventually("readiness", func() bool { return l.status("/readyz") == http.StatusOK })
	if status := <-page; status != http.StatusOK {
		t.Errorf("the page that was waited for: %d", status)
	}
	if got := l.connect().get("/late"); got != "200 primary" {
		t.Errorf("when the counts were read: %s", got)
	}
	if c := l.settled(); c.Compared != 1 {
		t.Errorf("%+v", c)
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestCountsThatCannotBeReadEndTheService: with the reason, once, and nothing left behind.
func TestCountsThatCannotBeReadEndTheService(t *testing.T) {
	t.Parallel()
	p := newPeer(t, "primary", nil)
	cfg := readText(t, addresses(p, p, p)+"listen: 127.0.0.1:0\nweb: {listen: \"127.0.0.1:0\"}\nstore: {path: "+filepath.Join(t.TempDir(), "x.db")+"}\n", nil)
	svc, err := newService(cfg, source{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := svc.db.Close(); err != nil {
		t.Fatal(err)
	}
	err = svc.Run(t.Context())
	if err == nil || strings.Count(err.Error(), "begin run: the store is closed") != 1 {
		t.Errorf("%v", err)
	}
	if conn, err := net.Dial("tcp", svc.traffic.Addr().String()); err == nil {
		conn.Close()
		t.Error("the port is still open")
	}
}

// TestAStreamUnderWayEndsWhole: at SIGTERM readiness ends at once, what is under way is served to its end, and its
// connection is closed then.
func TestAStreamUnderWayEndsWhole(t *testing.T) {
	t.Parallel()
	more, asked := make(chan string), make(chan string, 10)
	primary := newPeer(t, "primary", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Shadow-Request") != "" || r.URL.Path == "/idle" {
			return
		}
		asked <- r.URL.Path
		passOn(w, r, more)
	})
	file := writeConfig(t, addresses(primary, primary, primary)+"server: {drain: 10m}\n")
	s := serveProcess(t, "-config", file)
	dial := func(request string) (net.Conn, *bufio.Reader) {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.clients, "http://"))
		if err == nil {
			_ = conn.SetDeadline(time.Now().Add(5 * time.Minute))
			_, err = io.WriteString(conn, request)
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		return conn, bufio.NewReader(conn)
	}
	_, idle := dial("GET /idle HTTP/1.1\r\nHost: a\r\n\r\n")
	if res, err := http.ReadResponse(idle, nil); err != nil || res.Close {
		t.Fatalf("%v, %v", res, err)
	}
	_, streaming := dial("GET /stream HTTP/1.1\r\nHost: a\r\n\r\n")
	give(t, more, "one ")
	res, err := http.ReadResponse(streaming, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, late := dial("GET /late HTTP/1.1\r\nHost: a\r\n\r\n") // asked, and not answered yet
	for path := ""; path != "/late"; {
		select {
		case path = <-asked:
		case <-time.After(90 * time.Second):
			t.Fatal("the primary is not asked")
		}
	}

	s.signal(syscall.SIGTERM)
	s.eventually("the end of readiness", func() bool {
		res, err := http.Get(s.dashboard + "/readyz")
		if err != nil {
			return false
		}
		defer res.Body.Close()
		return res.StatusCode == http.StatusServiceUnavailable
	})
	if _, err := idle.ReadByte(); err != io.EOF {
		t.Errorf("the idle connection: %v", err)
	}
	give(t, more, "two ") // to either
	close(more)
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Errorf("the stream broke off: %v", err)
	}
	if _, err := streaming.ReadByte(); err != io.EOF {
		t.Errorf("after the stream: %v", err)
	}
	last, err := http.ReadResponse(late, nil)
	if err != nil || !last.Close {
		t.Fatalf("the late answer does not close its connection: %v, %v", last, err)
	}
	rest, err := io.ReadAll(last.Body)
	if got := string(body) + string(rest); err != nil || got != "one two " {
		t.Errorf("both got %q, %v", got, err)
	}
	if code := s.wait(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
}

// TestHangingShadowsEndWithTheGrace: they are cancelled after it, counted, written down, and the exit code is 0.
func TestHangingShadowsEndWithTheGrace(t *testing.T) {
	t.Parallel()
	primary := newPeer(t, "primary", nil)
	hanging := newPeer(t, "hanging", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	file := writeConfig(t, addresses(primary, hanging, hanging)+"shadow: {timeout: 1h}\nserver: {drain: 300ms}\n")
	db := filepath.Join(t.TempDir(), "grace.db")
	s := serveProcess(t, "-config", file, "-db", db)
	const mirrors = 20
	for range mirrors {
		if got := <-get(s.clients + "/a"); got != "primary" {
			t.Fatalf("got %q", got)
		}
	}
	s.eventually("all shadows under way", func() bool { return hanging.asked.Load() == 2*mirrors })
	s.signal(syscall.SIGTERM)
	if code := s.wait(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
	again := serveProcess(t, "-config", file, "-db", db)
	var e struct{ Compared, Unknown int64 }
	again.get("/api/v1/equivalence", &e)
	if e.Compared != 0 || e.Unknown != mirrors {
		t.Errorf("after the restart: %+v", e)
	}
}

// TestWhatCannotStartLeavesNothingBehind: no port taken, no database made, no goroutine left.
func TestWhatCannotStartLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	p := newPeer(t, "primary", nil)
	l := serveFile(t, addresses(p, p, p))
	held := l.svc.cfg.Load().Store.Path
	taken := l.svc.traffic.Addr().String()
	dir := t.TempDir()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free.Close()
	for _, c := range []struct{ listen, admin, db, want string }{
		{free.Addr().String(), "127.0.0.1:0", held, held + " is in use by process " + fmt.Sprint(os.Getpid())},
		{free.Addr().String(), taken, filepath.Join(dir, "new.db"), "listening for the dashboard: listen tcp " + taken},
		{taken, free.Addr().String(), filepath.Join(dir, "new.db"), "listening for clients: listen tcp " + taken},
		{free.Addr().String(), "127.0.0.1:0", filepath.Join(dir, "missing", "new.db"), "missing"},
	} {
		cfg := l.svc.cfg.Load()
		next := *cfg
		next.Listen, next.Web.Listen, next.Store.Path = c.listen, c.admin, c.db
		svc, err := newService(next, source{}, slog.New(slog.DiscardHandler))
		if err == nil {
			svc.close()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c, err)
		}
		again, err := net.Listen("tcp", free.Addr().String())
		if err != nil {
			t.Fatalf("%+v: the port is still taken: %v", c, err)
		}
		again.Close()
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if got := l.connect().get("/"); got != "200 primary" {
		t.Errorf("the one that runs answers %q", got)
	}
}

// TestTheRateIsChangedUnderTraffic: by the API, at full speed, on connections that are never opened again. Routes keep
// their own rate.
func TestTheRateIsChangedUnderTraffic(t *testing.T) {
	t.Parallel()
	p := newPeer(t, "primary", nil)
	l := serveFile(t, addresses(p, p, p)+"sample: 0%\nshadow: {queue: 10000}\nroutes: [{match: /never, sample: 0%}, {match: /always, sample: 100%}]\n")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	done := make(chan error, 3)
	for _, path := range []string{"/general", "/never", "/always"} {
		c := l.connect()
		go func() {
			for ctx.Err() == nil {
				if got, err := c.try("GET " + path + " HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil || got != "200 primary" {
					done <- fmt.Errorf("%s: %q, %w", path, got, err)
					return
				}
			}
			done <- nil
		}()
	}
	route := func(name string) (compared int64) {
		for _, r := range l.svc.db.Snapshot().Tallies.Routes {
			if r.Route == name {
				compared = r.Compared
			}
		}
		return compared
	}
	before := multicast.Counts{}
	for _, step := range []string{"50%", "100%", "0%"} {
		l.eventually("more traffic", func() bool { return l.svc.proxy.Counts().Requests > before.Requests+300 })
		if status, answer := l.ask(http.MethodPut, "/api/v1/shadowing", `{"sample": "`+step+`"}`); status != 200 {
			t.Fatalf("%d %s", status, answer)
		}
		now := l.svc.proxy.Counts()
		if now.Requests < before.Requests || now.Exchanged < before.Exchanged || now.Compared < before.Compared {
			t.Errorf("the counts fell from %+v to %+v", before, now)
		}
		before = now
		if step != "0%" {
			was := route("GET /general")
			l.eventually("the general rate holds", func() bool { return route("GET /general") > was+20 })
		}
	}
	l.eventually("what was under way is over", func() bool { return l.svc.proxy.Counts().Requests > before.Requests+100 })
	stop()
	for range 3 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	c := l.settled()
	addsUp(t, c)
	l.eventually("all is shown", func() bool { return l.svc.db.Snapshot().Tallies.Total.Compared == c.Compared })
	if route("/never") != 0 || route("/always") == 0 {
		t.Errorf("never: %d, always: %d", route("/never"), route("/always"))
	}
}

// TestATunnelIsClosedAtTheEnd: at SIGTERM both of its sides see the end, and the process does not wait for it.
func TestATunnelIsClosedAtTheEnd(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 1)
	primary := newPeer(t, "primary", func(w http.ResponseWriter, _ *http.Request) {
		conn, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		_, err = io.Copy(conn, buffered) // says what it hears
		ended <- err
	})
	file := writeConfig(t, addresses(primary, primary, primary)+"server: {drain: 10m}\n")
	s := serveProcess(t, "-config", file)
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.clients, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(5 * time.Minute)) // sooner than the drain ends
	if _, err := io.WriteString(conn, "GET /echo HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nhello"); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(conn)
	if res, err := http.ReadResponse(r, nil); err != nil || res.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("%v, %v", res, err)
	}
	echo := make([]byte, 5)
	if _, err := io.ReadFull(r, echo); err != nil || string(echo) != "hello" {
		t.Fatalf("the echo is %q, %v", echo, err)
	}
	s.signal(syscall.SIGTERM)
	if rest, err := io.ReadAll(r); len(rest) > 0 || os.IsTimeout(err) {
		t.Errorf("the client heard %q, %v", rest, err)
	}
	<-ended
	if code := s.wait(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
}
