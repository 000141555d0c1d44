package multicast

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// newPriorHTTP2 is an upstream that speaks HTTP/2 without TLS; it returns its address.
func newPriorHTTP2(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	t.Cleanup(server.Close)
	return strings.Replace(server.URL, "http:", "h2c:", 1)
}

// One connection to an HTTP/2 primary serves all clients. One of them that does not read its informational answers keeps
// no other from being answered; when it reads again it has its answer.
func TestClientThatDoesNotReadNoticesDelaysNobody(t *testing.T) {
	told := make(chan struct{})
	primary := newPriorHTTP2(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hints" {
			for range 900 {
				w.Header().Set("Link", "</"+strings.Repeat("a", 20_000)+">; rel=preload")
				w.WriteHeader(http.StatusEarlyHints)
			}
			w.Header().Del("Link")
			close(told)
		}
		_, _ = io.WriteString(w, "of "+r.URL.Path)
	})
	s := newRawStage(t, primary, "", "", nil)
	deaf := s.dial()
	deaf.send("GET /hints HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
	<-told // more than any buffer on the way holds: the primary is not kept waiting either
	_ = deaf.SetDeadline(time.Now().Add(patience))
	if _, body := s.get("/other"); body != "of /other" {
		t.Errorf("another client got %q", body)
	}
	hints := 0
	for {
		res, err := http.ReadResponse(deaf.r, &http.Request{Method: "GET"})
		if err != nil {
			t.Fatal(err)
		}
		if res.StatusCode != http.StatusEarlyHints {
			body, err := io.ReadAll(res.Body)
			if string(body) != "of /hints" || err != nil || res.Header["Link"] != nil {
				t.Errorf("in the end it got %q, %v, %v", body, res.Header, err)
			}
			break
		}
		hints++
	}
	if hints == 0 || hints > 900 {
		t.Errorf("%d hints came", hints)
	}
}

// Hints over HTTP/2 come before the answer, in order and all of them, where the client reads.
func TestNoticesOverHTTP2(t *testing.T) {
	primary := newPriorHTTP2(t, func(w http.ResponseWriter, _ *http.Request) {
		for _, link := range []string{"</a>", "</b>", "</c>"} {
			w.Header().Set("Link", link)
			w.WriteHeader(http.StatusEarlyHints)
		}
		w.Header().Del("Link")
		_, _ = io.WriteString(w, "done")
	})
	s := newRawStage(t, primary, "", "", nil)
	w := s.dial()
	for range 100 {
		w.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
		for _, link := range []string{"</a>", "</b>", "</c>"} {
			if head := w.head(); !strings.HasPrefix(head, "HTTP/1.1 103 ") || !strings.Contains(head, "Link: "+link+"\r\n") {
				t.Fatalf("before the answer came %q, not %s", head, link)
			}
		}
		if res, body := w.response("GET"); res.StatusCode != 200 || body != "done" {
			t.Fatalf("got %s, %q", res.Status, body)
		}
	}
}
