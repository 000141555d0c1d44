package multicast

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// newSinkStage is a stage to which another proxy mirrors.
func newSinkStage(t *testing.T, handlers map[Role]http.HandlerFunc, configure func(*Config)) *stage {
	t.Helper()
	s := newStage(t, handlers, configure)
	server := s.proxy.Server()
	server.Handler = s.proxy.Sink()
	s.addr = serve(t, server)
	return s
}

// A mirror has its answer while the primary still thinks; then all three are asked the same, and it is compared.
func TestMirrorIsAnsweredAtOnce(t *testing.T) {
	release := make(chan struct{})
	s := newSinkStage(t, map[Role]http.HandlerFunc{Primary: func(w http.ResponseWriter, _ *http.Request) {
		<-release
		_, _ = io.WriteString(w, "hello")
	}}, func(c *Config) { c.Methods = []string{"GET", "POST"} })
	w := s.dial()
	w.send("POST /a%2Fb?q=1&q=%20 HTTP/1.1\r\nHost: shop.example-shadow:8080\r\nContent-Length: 5\r\nX-Real: yes\r\n\r\nbody!")
	if head := w.head(); !strings.HasPrefix(head, "HTTP/1.1 202 ") {
		t.Errorf("the mirror is answered %q", head)
	}
	close(release)
	ex := s.exchange()
	if ex.Unknown != "" || ex.Request.Host != "shop.example:8080" || string(ex.Request.Body) != "body!" || string(ex.Responses[Primary].Body) != "hello" {
		t.Errorf("compared is %+v", ex)
	}
	for role := range s.upstream {
		asked := s.upstream[role].requests()
		if len(asked) != 1 {
			t.Fatalf("%s was asked %d times", Role(role), len(asked))
		}
		r := asked[0]
		if r.method != "POST" || r.target != "/a%2Fb?q=1&q=%20" || r.host != "shop.example:8080" || r.body != "body!" || r.header.Get("X-Real") != "yes" {
			t.Errorf("%s was asked %+v", Role(role), r)
		}
	}
	s.stop()
	s.counts(Counts{Requests: 1, Exchanged: 1, Compared: 1})
}

// What is not to be shadowed is not asked of the primary either: a POST that was mirrored would be done twice.
func TestMirroredSideEffectsAreNotRepeated(t *testing.T) {
	s := newSinkStage(t, nil, func(c *Config) { c.Shadow.MaxRequestBody = 4 })
	for _, request := range []string{
		"POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi",
		"GET /a HTTP/1.1\r\nHost: a\r\nX-Shadow-Request: candidate\r\n\r\n",
		"GET /a HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello",
		"GET /a HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
	} {
		w := s.dial()
		w.send(request)
		if head := w.head(); !strings.HasPrefix(head, "HTTP/1.1 202 ") {
			t.Errorf("%.20q is answered %q", request, head)
		}
	}
	s.stop()
	for role := range s.upstream {
		if n := len(s.upstream[role].requests()); n != 0 {
			t.Errorf("%s was asked %d times", Role(role), n)
		}
	}
	s.counts(Counts{Requests: 4, Skipped: map[Reason]int64{ReasonMethod: 1, ReasonLoop: 1, ReasonBodyTooLarge: 1, ReasonUpgrade: 1}})
}

// Where a mirror cannot leave URI and host, it says them in headers, which nobody is shown.
func TestMirrorSaysWhatWasAsked(t *testing.T) {
	s := newSinkStage(t, nil, nil)
	w := s.dial()
	w.send("GET /mirror HTTP/1.1\r\nHost: sink\r\nX-Original-URI: /a?b=%2f\r\nX-Original-Host: shop.example\r\n\r\n")
	w.head()
	if ex := s.exchange(); ex.Request.Target != "/a?b=%2f" || ex.Request.Host != "shop.example" {
		t.Errorf("asked is %+v", ex.Request)
	}
	for name := range s.upstream[Candidate].requests()[0].header {
		if strings.HasPrefix(name, "X-Original") {
			t.Errorf("the candidate is shown %s", name)
		}
	}
	for _, none := range []string{"X-Original-URI: http://evil/", "X-Original-Host: a b/c"} {
		w := s.dial()
		w.send("GET /mirror HTTP/1.1\r\nHost: sink\r\n" + none + "\r\n\r\n")
		if head := w.head(); !strings.HasPrefix(head, "HTTP/1.1 400 ") {
			t.Errorf("%s is answered %q", none, head)
		}
	}
	s.stop()
	s.counts(Counts{Requests: 1, Exchanged: 1, Compared: 1})
}

// Where the primary is asked by way of the mirror, or the mirror listens beside it, no copy is copied again.
func TestMirrorInFrontOfThePrimary(t *testing.T) {
	var s *stage
	mirror := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := s.dial()
		c.send(fmt.Sprintf("GET %s HTTP/1.1\r\nHost: shop\r\n", r.RequestURI))
		for name, values := range r.Header {
			c.send(name + ": " + values[0] + "\r\n")
		}
		c.send("\r\n")
		c.head()
		_, _ = io.WriteString(w, "hello")
	}))
	defer mirror.Close()
	s = newSinkStage(t, nil, func(c *Config) { c.Primary = mirror.URL })
	w := s.dial()
	w.send("GET /a HTTP/1.1\r\nHost: shop\r\n\r\n")
	w.head()
	if ex := s.exchange(); string(ex.Responses[Primary].Body) != "hello" || ex.Request.Header["X-Shadow-Request"] != nil {
		t.Errorf("compared is %+v", ex)
	}
	s.stop()
	s.counts(Counts{Requests: 2, Skipped: map[Reason]int64{ReasonLoop: 1}, Exchanged: 1, Compared: 1})
}

func TestUnshadowed(t *testing.T) {
	for host, want := range map[string]string{
		"shop.example-shadow": "shop.example", "shop-shadow:8080": "shop:8080", "shop": "shop", "-shadow": "-shadow",
		"[::1]": "[::1]", "[::1]:80": "[::1]:80", "[::1]-shadow": "[::1]", "[::1]-shadow:80": "[::1]:80", "[::1]:80-shadow": "[::1]:80", "shop-shadow.example": "shop-shadow.example", "": "",
	} {
		if got := unshadowed(host); got != want {
			t.Errorf("%q is %q, want %q", host, got, want)
		}
	}
}

// A primary that hangs holds so many as may be under way, and no mirror: those beyond are dropped and counted.
func TestMirrorsNeverWait(t *testing.T) {
	release := make(chan struct{})
	s := newSinkStage(t, map[Role]http.HandlerFunc{Primary: func(http.ResponseWriter, *http.Request) { <-release }},
		func(c *Config) { c.Shadow.Concurrency, c.Shadow.Queue = 2, 3 })
	w := s.dial()
	for i := range 9 {
		w.send(fmt.Sprintf("GET /%d HTTP/1.1\r\nHost: a\r\n\r\n", i))
		if head := w.head(); !strings.HasPrefix(head, "HTTP/1.1 202 ") {
			t.Errorf("the mirror is answered %q", head)
		}
	}
	s.eventually("two are asked", func() bool { return len(s.upstream[Primary].requests()) == 2 })
	if c := s.proxy.Counts(); c.Dropped[ReasonQueue] != 4 || c.Open != 5 {
		t.Errorf("%d are dropped, and %d not placed yet", c.Dropped[ReasonQueue], c.Open)
	}
	close(release)
	for range 5 {
		s.exchange()
	}
	s.stop()
	s.counts(Counts{Requests: 9, Exchanged: 5, Compared: 5, Dropped: map[Reason]int64{ReasonQueue: 4}})
}

// A primary that is gone is no matter for a mirror, and neither is an end in the midst of it.
func TestMirrorAndABrokenPrimary(t *testing.T) {
	s := newSinkStage(t, nil, nil)
	s.upstream[Primary].server.Close()
	w := s.dial()
	w.send("GET /a HTTP/1.1\r\nHost: a\r\n\r\n")
	if head := w.head(); !strings.HasPrefix(head, "HTTP/1.1 202 ") {
		t.Errorf("the mirror is answered %q", head)
	}
	s.eventually("it is counted", func() bool { return s.proxy.Counts().Skipped[ReasonPrimaryFailed] == 1 })
	s.stop()
	s.counts(Counts{Requests: 1, Skipped: map[Reason]int64{ReasonPrimaryFailed: 1}})
}

// A process that ends does not wait for a primary that hangs.
func TestMirrorEndsWithTheProcess(t *testing.T) {
	asked, release := make(chan struct{}, 1), make(chan struct{})
	defer close(release)
	s := newSinkStage(t, map[Role]http.HandlerFunc{Primary: func(http.ResponseWriter, *http.Request) {
		asked <- struct{}{}
		<-release
	}}, nil)
	w := s.dial()
	w.send("GET /a HTTP/1.1\r\nHost: a\r\n\r\n")
	w.head()
	<-asked
	s.stop()
	if c := s.proxy.Counts(); c.Requests != 1 || c.Exchanged != 0 || c.CapturedBytes != 0 {
		t.Errorf("counts are %+v", c)
	}
}

// Those that wait are held within the memory of the shadows, with their headers.
func TestMirrorsThatWaitAreBounded(t *testing.T) {
	release := make(chan struct{})
	s := newSinkStage(t, map[Role]http.HandlerFunc{Primary: func(http.ResponseWriter, *http.Request) { <-release }},
		func(c *Config) { c.Shadow.Concurrency, c.Shadow.Memory = 1, MiB })
	w := s.dial()
	for range 3 {
		w.send("GET /a HTTP/1.1\r\nHost: a\r\nX-Long: " + strings.Repeat("x", 400<<10) + "\r\n\r\n")
		w.head()
	}
	if c := s.proxy.Counts(); c.Dropped[ReasonMemory] != 1 || c.CapturedBytes < 800<<10 {
		t.Errorf("counts are %+v", c)
	}
	close(release)
	s.stop()
	if c := s.proxy.Counts(); c.Open != 0 || c.CapturedBytes != 0 {
		t.Errorf("counts are %+v", c)
	}
}

// What is no request has no part in what the primary is asked and how it does, as in front of it.
func TestMirrorSendsWhatIsNoRequest(t *testing.T) {
	s := newSinkStage(t, nil, posts)
	w := s.dial()
	w.send("POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nzz\r\n")
	if head := w.head(); !strings.HasPrefix(head, "HTTP/1.1 400 ") {
		t.Errorf("the mirror is answered %q", head)
	}
	http2 := s.stream()
	http2.ask(true, "GET", "/a", "a b/c")
	if status := http2.status(); status != "400" {
		t.Errorf("the mirror is answered %q", status)
	}
	s.stop()
	if asked := s.upstream[Primary].requests(); len(asked) > 0 || strings.Contains(s.log.String(), "primary failed") {
		t.Errorf("the primary is asked %+v; logged: %s", asked, s.log)
	}
	s.counts(Counts{Requests: 2, Skipped: map[Reason]int64{ReasonRequestIncomplete: 2}})
}
