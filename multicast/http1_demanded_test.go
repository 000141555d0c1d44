package multicast

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/net/http2"
)

// reluctant is an upstream that agrees on HTTP/2, and then has everything be asked in HTTP/1.1, where it tells what it got.
func reluctant(t *testing.T) string {
	certificate, err := tls.LoadX509KeyPair(pemFiles(t))
	if err != nil {
		t.Fatal(err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{certificate}, NextProtos: []string{"h2", "http/1.1"}}
	return strings.Replace(raw(t, func(conn net.Conn, _ *bufio.Reader) {
		secured := tls.Server(conn, config)
		if secured.Handshake() != nil {
			return
		}
		r := bufio.NewReader(secured)
		if secured.ConnectionState().NegotiatedProtocol == "h2" {
			serve2(secured, r, func(framer *http2.Framer, stream uint32) {
				_ = framer.WriteRSTStream(stream, http2.ErrCodeHTTP11Required)
			})
			return
		}
		for {
			req, err := http.ReadRequest(r)
			if err != nil {
				return
			}
			body, _ := io.ReadAll(req.Body)
			told := fmt.Sprintf("%s %s %s", req.Method, req.Proto, body)
			fmt.Fprintf(secured, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(told), told)
		}
	}), "http:", "https:", 1)
}

// Who has HTTP/2 and wants HTTP/1.1 is asked in that, as a browser would.
func TestUpstreamsThatDemandHTTP1(t *testing.T) {
	s := newRawStage(t, reluctant(t), reluctant(t), reluctant(t), func(c *Config) {
		c.Methods = []string{"GET", "POST"}
		for _, way := range []*TLSConfig{&c.Upstream.TLS, &c.Shadow.Secondary.TLS, &c.Shadow.Candidate.TLS} {
			way.InsecureSkipVerify = true
		}
	})
	w := s.dial()
	for asked, want := range map[string]string{
		"GET /a HTTP/1.1\r\nHost: a\r\n\r\n":                                                     "GET HTTP/1.1 ",
		"POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc":                            "POST HTTP/1.1 abc",
		"POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n": "POST HTTP/1.1 abc",
	} {
		w.send(asked)
		if res, body := w.response("GET"); res.StatusCode != 200 || body != want {
			t.Errorf("%q: got %s %q", asked, res.Status, body)
		}
		for role, res := range s.exchange().Responses {
			if res.Outcome != OutcomeOK || string(res.Body) != want {
				t.Errorf("%q: the %s has %s (%s) %q", asked, Role(role), res.Outcome, res.Detail, res.Body)
			}
		}
	}
	s.counts(Counts{Requests: 3, Exchanged: 3, Compared: 3})
}

// These words over HTTP/1 are no demand: who says them was asked, and is not asked twice.
func TestNobodyDemandsHTTP1InIt(t *testing.T) {
	certificate, err := tls.LoadX509KeyPair(pemFiles(t))
	if err != nil {
		t.Fatal(err)
	}
	var asked [3]atomic.Int64
	var upstreams [3]string
	for role := range upstreams {
		upstreams[role] = strings.Replace(raw(t, func(conn net.Conn, _ *bufio.Reader) {
			secured := tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{certificate}})
			if _, ok := readHead(bufio.NewReader(secured)); ok {
				asked[role].Add(1)
				_, _ = io.WriteString(secured, "HTTP/1.1 HTTP_1_1_REQUIRED\r\n\r\n")
			}
			_ = secured.Close()
		}), "http:", "https:", 1)
	}
	s := newRawStage(t, upstreams[Primary], upstreams[Secondary], upstreams[Candidate], func(c *Config) {
		c.Dispatch = DispatchStart
		for _, way := range []*TLSConfig{&c.Upstream.TLS, &c.Shadow.Secondary.TLS, &c.Shadow.Candidate.TLS} {
			way.InsecureSkipVerify = true
		}
	})
	w := s.dial()
	w.send("GET /a HTTP/1.1\r\nHost: a\r\n\r\n")
	if res, _ := w.response("GET"); res.StatusCode != 502 {
		t.Errorf("got %s", res.Status)
	}
	s.eventually("it has its place", func() bool { return s.proxy.Counts().Open == 0 })
	if n := asked[Primary].Load(); n != 1 {
		t.Errorf("the primary was asked %d times", n)
	}
	for _, role := range [...]Role{Secondary, Candidate} {
		if n, sent := asked[role].Load(), s.proxy.Counts().Shadow[role.String()].Sent; n > sent { // it may be called back
			t.Errorf("the %s was asked %d times, of %d", role, n, sent)
		}
	}
}
