package multicast

import (
	"io"
	"net/http"
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
