package multicast

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestOneExchange(t *testing.T) {
	s := newStage(t, nil, nil)
	res, body := s.get("/a?b=c")
	if res.StatusCode != 200 || body != "hello" {
		t.Fatalf("got %d %q", res.StatusCode, body)
	}
	ex := s.exchange()
	if ex.Request.Target != "/a?b=c" || ex.Unknown != "" || len(ex.ID) != 32 {
		t.Errorf("exchange %+v", ex)
	}
	for role := range ex.Responses {
		if r := ex.Response(Role(role)); r.Outcome != OutcomeOK || string(r.Body) != "hello" || r.Status != 200 || r.Duration <= 0 {
			t.Errorf("%s: %+v", Role(role), r)
		}
		if n := len(s.upstream[role].requests()); n != 1 {
			t.Errorf("%s was asked %d times", Role(role), n)
		}
	}
	s.counts(Counts{Requests: 1, Exchanged: 1, Compared: 1})
}

func TestReasonsForSkipping(t *testing.T) {
	plain := "HTTP/1.1\r\nHost: a\r\n"
	for name, c := range map[string]struct {
		request string
		reason  Reason
		status  int
		reaches bool
	}{
		"connect":             {"CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n", ReasonConnect, 405, false},
		"upgrade":             {"GET /ws " + plain + "Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n\r\n", ReasonUpgrade, 200, true},
		"h2c is no upgrade":   {"GET /ws " + plain + "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AA\r\n\r\n", "", 200, true},
		"TLS is no upgrade":   {"GET /ws " + plain + "Connection: Upgrade\r\nUpgrade: TLS/1.2\r\n\r\n", "", 200, true},
		"among upgrades":      {"GET /ws " + plain + "Connection: Upgrade\r\nUpgrade: h2c, websocket\r\n\r\n", ReasonUpgrade, 200, true},
		"signs in":            {"GET /a " + plain + "Authorization: NTLM TlRM\r\n\r\n", ReasonSignedIn, 200, true},
		"says who it is":      {"GET /a " + plain + "Authorization: Basic bmVnbzp4\r\n\r\n", "", 200, true},
		"loop":                {"GET /a " + plain + "X-Shadow-Request: 1\r\n\r\n", ReasonLoop, 200, true},
		"post":                {"POST /a " + plain + "Content-Length: 0\r\n\r\n", ReasonMethod, 200, true},
		"unknown method":      {"FOO /a " + plain + "\r\n", ReasonMethod, 200, true},
		"options *":           {"OPTIONS * " + plain + "\r\n", ReasonMethod, 200, true},
		"override":            {"GET /a " + plain + "X-HTTP-Method-Override: delete\r\n\r\n", ReasonMethod, 200, true},
		"override's kin":      {"GET /a " + plain + "X-Method-Override: PUT\r\n\r\n", ReasonMethod, 200, true},
		"underscored one":     {"GET /a " + plain + "X_HTTP_Method-Override: delete\r\n\r\n", ReasonMethod, 200, true},
		"harmless override":   {"GET /a " + plain + "X-HTTP-Method-Override: HEAD\r\n\r\n", "", 200, true},
		"upgrade before loop": {"POST /a " + plain + "Connection: Upgrade\r\nUpgrade: x\r\nX-Shadow-Request: 1\r\n\r\n", ReasonUpgrade, 200, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, nil, nil)
			w := s.dial()
			w.send(c.request)
			if res, _ := w.response("GET"); res.StatusCode != c.status {
				t.Errorf("got %s", res.Status)
			}
			want := Counts{Requests: 1, Skipped: map[Reason]int64{c.reason: 1}}
			if c.reason == "" {
				want = Counts{Requests: 1, Exchanged: 1, Compared: 1}
			}
			s.counts(want)
			asked := s.upstream[Primary].requests()
			if reached := len(asked) == 1; reached != c.reaches {
				t.Errorf("reached the primary: %v", reached)
			}
			if strings.HasSuffix(name, "is no upgrade") && (asked[0].header["Upgrade"] != nil || asked[0].header["Connection"] != nil) {
				t.Errorf("the primary got %v", asked[0].header)
			}
			if c.reason != "" && len(s.upstream[Candidate].requests())+len(s.upstream[Secondary].requests()) > 0 {
				t.Error("a shadow was asked")
			}
		})
	}
}

func TestAnswersThatAreNotShadowed(t *testing.T) {
	typed := func(contentType string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Type", contentType) }
	}
	for name, c := range map[string]struct {
		primary http.HandlerFunc
		reason  Reason
	}{
		"429":      {answer(429, "slow down"), ReasonPrimaryRefused},
		"503":      {answer(503, "later"), ReasonPrimaryRefused},
		"events":   {typed("text/event-stream; charset=utf-8"), ReasonStream},
		"pictures": {typed("multipart/x-mixed-replace;boundary=x"), ReasonStream},
		"gRPC":     {typed("application/grpc+proto"), ReasonStream},
		"500":      {answer(500, "sorry"), ""},
	} {
		for _, dispatch := range []string{DispatchHead, DispatchStart} {
			s := newStage(t, map[Role]http.HandlerFunc{Primary: c.primary}, func(cfg *Config) { cfg.Dispatch = dispatch })
			s.get("/a")
			want := Counts{Requests: 1, Exchanged: 1, Compared: 1}
			switch {
			case c.reason != "" && dispatch == DispatchHead:
				want = Counts{Requests: 1, Skipped: map[Reason]int64{c.reason: 1}}
			case c.reason != "":
				want = Counts{Requests: 1, Exchanged: 1, Unknown: map[Reason]int64{c.reason: 1}}
				if ex := s.exchange(); ex.Unknown != c.reason {
					t.Errorf("%s: the exchange is %q", name, ex.Unknown)
				}
			}
			s.counts(want)
		}
	}
}

func TestPrimaryFails(t *testing.T) {
	for name, c := range map[string]struct {
		primary func(*testing.T) string
		status  int
	}{
		"refused": {func(*testing.T) string { return "http://127.0.0.1:1" }, 502},
		"garbage": {func(t *testing.T) string { return script(t, notHTTP, true) }, 502},
		"silent":  {func(t *testing.T) string { return script(t, "", false) }, 504},
	} {
		good := newHandlerServer(t, answer(200, "hello"))
		s := newRawStage(t, c.primary(t), good, good, func(cfg *Config) { cfg.Upstream.HeadTimeout = 200 * time.Millisecond })
		res, body := s.get("/a")
		if res.StatusCode != c.status || body != strings.ToLower(http.StatusText(c.status))+"\n" || strings.Contains(body, "127.0.0.1") {
			t.Errorf("%s: the client got %d %q", name, res.StatusCode, body)
		}
		s.counts(Counts{Requests: 1, Skipped: map[Reason]int64{ReasonPrimaryFailed: 1}})
	}
}

// A truncated answer is truncated for the client, and is no judgement.
func TestPrimaryCutOff(t *testing.T) {
	for name, sent := range map[string]string{
		"length":  "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabcd",
		"chunked": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nabcd\r\n",
	} {
		good := newHandlerServer(t, answer(200, "hello"))
		s := newRawStage(t, script(t, sent, true), good, good, nil)
		w := s.dial()
		w.send("GET /a HTTP/1.1\r\nHost: a\r\n\r\n")
		if got := w.rest(); got != sent {
			t.Errorf("%s: the client got %q", name, got)
		}
		if ex := s.exchange(); ex.Unknown != ReasonPrimaryIncomplete || string(ex.Response(Primary).Body) != "abcd" ||
			ex.Response(Primary).Outcome != OutcomeReset {
			t.Errorf("%s: the exchange is %q, the primary's %+v", name, ex.Unknown, ex.Response(Primary))
		}
		s.counts(Counts{Requests: 1, Exchanged: 1, Unknown: map[Reason]int64{ReasonPrimaryIncomplete: 1}})
	}
}

func TestClientAborts(t *testing.T) {
	primaryGone := make(chan struct{}, 2)
	for _, begun := range []bool{false, true} {
		s := newStage(t, map[Role]http.HandlerFunc{Primary: func(w http.ResponseWriter, r *http.Request) {
			if begun {
				_, _ = io.WriteString(w, "abcd")
				_ = http.NewResponseController(w).Flush()
			}
			<-r.Context().Done()
			primaryGone <- struct{}{}
		}}, nil)
		w := s.dial()
		w.send("GET /a HTTP/1.1\r\nHost: a\r\n\r\n")
		if begun {
			w.head()
		} else {
			s.eventually("the primary is asked", func() bool { return len(s.upstream[Primary].requests()) == 1 })
		}
		_ = w.Conn.(*net.TCPConn).SetLinger(0)
		_ = w.Close()
		<-primaryGone
		want := Counts{Requests: 1, Skipped: map[Reason]int64{ReasonClientAborted: 1}}
		if begun {
			want = Counts{Requests: 1, Exchanged: 1, Unknown: map[Reason]int64{ReasonClientAborted: 1}}
		}
		s.counts(want)
		if strings.Contains(s.log.String(), "primary failed") {
			t.Errorf("logged: %s", s.log)
		}
	}
}

// A primary that is not whole a timeout after the shadows ended is not waited for; the client is served on.
func TestSlowPrimary(t *testing.T) {
	more := make(chan struct{})
	primary := raw(t, func(conn net.Conn, r *bufio.Reader) {
		if _, ok := readHead(r); ok {
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nabcd")
			<-more
			_, _ = io.WriteString(conn, "efgh")
		}
	})
	good := newHandlerServer(t, answer(200, "hello"))
	s := newRawStage(t, primary, good, good, func(c *Config) { c.Shadow.Timeout = 100 * time.Millisecond })
	w := s.dial()
	w.send("GET /a HTTP/1.1\r\nHost: a\r\n\r\n")
	if ex := s.exchange(); ex.Unknown != ReasonPrimaryIncomplete && ex.Unknown != ReasonShadowsFailed {
		t.Errorf("the exchange is %q", ex.Unknown)
	}
	s.eventually("nothing is held", func() bool { c := s.proxy.Counts(); return c.Open == 0 && c.CapturedBytes == 0 })
	close(more)
	if _, body := w.response("GET"); body != "abcdefgh" {
		t.Errorf("the client got %q", body)
	}
}

// A candidate that lets its answers hang is seen before they time out; shadows that both do are not held against it.
func TestACandidateThatIsWaitedFor(t *testing.T) {
	more := make(chan struct{})
	hang := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/quick" {
			<-more
		}
	}
	s := newStage(t, map[Role]http.HandlerFunc{Candidate: hang, Secondary: func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/both" {
			<-more
		}
	}}, func(c *Config) { c.Shadow.Timeout = time.Minute })
	for _, path := range []string{"/both", "/a", "/quick", "/b"} {
		s.get(path)
	}
	s.eventually("two are waited for", func() bool { return s.proxy.Counts().Awaited == 2 })
	close(more)
	s.eventually("none is", func() bool { c := s.proxy.Counts(); return c.Awaited == 0 && c.Compared == 4 })
}

func TestPlainProxyWithoutACandidate(t *testing.T) {
	good := newHandlerServer(t, answer(200, "hello"))
	s := newRawStage(t, good, good, "", nil)
	if _, body := s.get("/a"); body != "hello" {
		t.Errorf("the client got %q", body)
	}
	s.counts(Counts{Requests: 1, Skipped: map[Reason]int64{ReasonDisabled: 1}})
}

func TestCandidateAlone(t *testing.T) {
	good := newHandlerServer(t, answer(200, "hello"))
	s := newRawStage(t, good, "", "http://127.0.0.1:1", nil)
	s.get("/a")
	if ex := s.exchange(); ex.Unknown != "" || ex.Response(Secondary).Outcome != "" || ex.Response(Candidate).Outcome != OutcomeDial {
		t.Errorf("the exchange is %q: %+v", ex.Unknown, ex.Responses)
	}
	s.counts(Counts{Requests: 1, Exchanged: 1, Compared: 1})
}

// With dispatch at the start the shadows are asked while the primary thinks.
func TestDispatchAtTheStart(t *testing.T) {
	release := make(chan struct{})
	s := newStage(t, map[Role]http.HandlerFunc{Primary: func(http.ResponseWriter, *http.Request) { <-release }}, func(c *Config) {
		posts(c)
		c.Dispatch = DispatchStart
	})
	for i, request := range []string{"GET /a HTTP/1.1\r\nHost: a\r\n\r\n", post("abc", true), post("abc", false)} {
		w := s.dial()
		w.send(request)
		s.eventually("the shadows answer", func() bool {
			c := s.proxy.Counts()
			return c.Shadow["candidate"].Outcome[OutcomeOK] == int64(i+1) && c.Shadow["secondary"].Outcome[OutcomeOK] == int64(i+1)
		})
	}
	close(release)
	s.counts(Counts{Requests: 3, Exchanged: 3, Compared: 3})
}

func TestPipelining(t *testing.T) {
	s := newStage(t, map[Role]http.HandlerFunc{Primary: func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprint(w, r.RequestURI)
	}}, nil)
	w := s.dial()
	w.send("GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n")
	for _, want := range []string{"/1", "/2"} {
		if _, body := w.response("GET"); body != want {
			t.Errorf("got %q, wanted %q", body, want)
		}
	}
	s.counts(Counts{Requests: 2, Exchanged: 2, Compared: 2})
}

func TestObserved(t *testing.T) {
	s := newStage(t, map[Role]http.HandlerFunc{Primary: answer(418, "tea")}, nil)
	statuses, legs := make(chan int, 1), make(chan string, 2)
	s.proxy.deps.Observe = func(status int, _ time.Duration) { statuses <- status }
	s.proxy.deps.ObserveShadow = func(role Role, outcome Outcome, _ time.Duration) { legs <- role.String() + " " + string(outcome) }
	s.get("/a")
	if status := <-statuses; status != 418 {
		t.Errorf("observed %d", status)
	}
	for range 2 {
		if leg := <-legs; leg != "candidate ok" && leg != "secondary ok" {
			t.Errorf("observed %s", leg)
		}
	}
}

// A client may leave in the very moment in which its exchange comes up in the queue: it is then not asked about, or
// cancelled, but never waited for.
func TestReasonIsNotLostWhenShadowsAreAskedMeanwhile(t *testing.T) {
	cfg := DefaultConfig()
	cfg.Primary = "http://127.0.0.1:9001"
	proxy, err := New(cfg, Deps{})
	if err != nil {
		t.Fatal(err)
	}
	for range 20_000 {
		f := &flight{proxy: proxy, phase: queued}
		f.account.memory = &proxy.memory
		done := make(chan struct{})
		go func() {
			defer close(done)
			f.begin(1)
		}()
		f.fail(ReasonClientAborted)
		<-done
		if f.phase == asked && (f.reason != ReasonClientAborted || !f.recall.has()) {
			t.Fatalf("asked for nobody: reason %q, recalled %v", f.reason, f.recall.has())
		}
	}
}
