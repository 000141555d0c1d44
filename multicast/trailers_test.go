package multicast

import (
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// HTTP/2 has trailers beside a length, HTTP/1.1 behind chunks only: the trailers matter more than the length.
func TestTrailersBesideALength(t *testing.T) {
	inEachCombination(t, func(t *testing.T, c combination) {
		got := make(chan http.Header, 3)
		address := c.upstream(t, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			got <- r.Trailer.Clone()
			if r.ProtoMajor == 2 {
				w.Header().Set("Content-Length", "5")
			}
			w.Header().Set("Trailer", "X-Sum")
			_, _ = w.Write(body)
			w.Header().Set("X-Sum", "5d41")
		})
		s := newRawStage(t, address, address, address, posts)
		r := c.request(t, t.Context(), s, strings.NewReader("hello"))
		r.Trailer = http.Header{"X-Checksum": {"5d41"}}
		if r.ContentLength = 5; c.major == 1 { // else net/http leaves the trailers out
			r.ContentLength = -1
		}
		res := c.do(t, r)
		if body := text(t, res); body != "hello" || res.Trailer.Get("X-Sum") != "5d41" {
			t.Errorf("got %q with trailers %v", body, res.Trailer)
		}
		for range 3 {
			if trailer := await(t, "an upstream is asked", got); trailer.Get("X-Checksum") != "5d41" {
				t.Errorf("an upstream got the trailers %v", trailer)
			}
		}
		s.exchange()
	})
}

// An answer that has no body keeps its length, whatever trailers are announced.
func TestTrailersOfNoBody(t *testing.T) {
	address := newH2C(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "5")
		w.Header().Set("Trailer", "X-Sum")
	})
	s := newRawStage(t, address, "http://127.0.0.1:1", "http://127.0.0.1:1", nil)
	w := s.dial()
	for range 2 { // on one connection
		w.send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n")
		if head := w.head(); !strings.Contains(head, "Content-Length: 5\r\n") || strings.Contains(head, "chunked") {
			t.Errorf("got %q", head)
		}
	}
}

// showLateTrailers has an HTTP/2 primary send trailers that it has not announced, beside a length.
func showLateTrailers(t *testing.T) {
	address := newH2C(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "5")
		_, _ = io.WriteString(w, "hello")
		w.Header().Set(http.TrailerPrefix+"X-Late", "1")
	})
	s := newRawStage(t, address, "http://127.0.0.1:1", "http://127.0.0.1:1", nil)
	w := s.dial()
	for asks, want := range map[string]struct{ length, late string }{"": {"5", ""}, "TE: trailers\r\nConnection: TE\r\n": {"", "1"}} {
		w.send("GET / HTTP/1.1\r\nHost: a\r\n" + asks + "\r\n")
		res, body := w.response("GET")
		if length, late := res.Header.Get("Content-Length"), res.Trailer.Get("X-Late"); body != "hello" || length != want.length || late != want.late {
			t.Errorf("%q: got %q, length %q, trailers %v", asks, body, length, res.Trailer)
		}
	}
}

// The trailers that are announced to the primary, and no others, are announced to the shadows.
func TestTrailersAreAnnouncedAlike(t *testing.T) {
	for announcement, want := range map[string]string{"": "", "Trailer: X-A, X-C\r\n": "X-A X-C"} {
		got := make(chan string, 3)
		address := newHandlerServer(t, func(_ http.ResponseWriter, r *http.Request) {
			got <- strings.Join(slices.Sorted(maps.Keys(r.Trailer)), " ")
			_, _ = io.Copy(io.Discard, r.Body)
		})
		s := newRawStage(t, address, address, address, posts)
		w := s.dial()
		w.send("POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n" + announcement + "\r\n3\r\nabc\r\n0\r\nX-A: 1\r\nX-B: 2\r\n\r\n")
		for range 3 {
			if announced := await(t, "an upstream is asked", got); announced != want {
				t.Errorf("%q: announced is %q", announcement, announced)
			}
		}
		s.exchange()
	}
}

// net/http reads no more than 4 KiB of trailers behind chunks. What is longer is never taken for a whole message.
func TestLongTrailers(t *testing.T) {
	const nobody, chunked = "http://127.0.0.1:1", "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n"
	long := "X-A: " + strings.Repeat("a", 4<<10-len("X-A: ")) // and no more: what is left unread resets the connection
	s := newRawStage(t, silent(t), nobody, nobody, posts)
	w := s.dial()
	w.send("POST /a HTTP/1.1\r\nHost: a\r\n" + chunked + long)
	if res, _ := w.response("POST"); res.StatusCode != 400 || !res.Close {
		t.Errorf("the client got %s", res.Status)
	}
	s.eventually("it is counted", func() bool { return s.proxy.Counts().Open == 0 })
	if c := s.proxy.Counts(); c.Skipped[ReasonRequestIncomplete] != 1 {
		t.Errorf("counts %+v", c)
	}
	s = newRawStage(t, script(t, "HTTP/1.1 200 OK\r\n"+chunked+long+"a\r\n\r\n", true), nobody, nobody, nil)
	w = s.dial()
	w.send("GET /a HTTP/1.1\r\nHost: a\r\n\r\n")
	if got := w.rest(); got != "HTTP/1.1 200 OK\r\n"+strings.TrimSuffix(chunked, "0\r\n") {
		t.Errorf("the client got %q", got)
	}
	s.eventually("it is counted", func() bool { return s.proxy.Counts().Open == 0 })
	if c := s.proxy.Counts(); c.Unknown[ReasonPrimaryIncomplete] != 1 {
		t.Errorf("counts %+v", c)
	}
}
