package multicast

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"math"
	"net"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// echoRaw answers each request, on a connection that stays open, and keeps the heads that it got.
func echoRaw(t *testing.T, heads chan<- string) string {
	return raw(t, func(conn net.Conn, r *bufio.Reader) {
		for {
			head, ok := readHead(r)
			if !ok {
				return
			}
			heads <- head
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		}
	})
}

func TestRequestTargetKeepsItsBytes(t *testing.T) {
	for _, target := range []string{
		"/", "/a?", "/a%2Fb%2fc%20d%7Ee", "/a|b\"c{d}\xc3\xa9^", "/q?x=1;y=2&z=%zz&&b", "//a//b/", "/a/../b/./c", "/a//b",
		"/a;p=1?b?c", "/a%00b", "/%", "/a%zzb", "*",
	} {
		heads := make(chan string, 3)
		backend := echoRaw(t, heads)
		s := newRawStage(t, backend, backend, backend, func(c *Config) { c.Methods = []string{"GET", "OPTIONS"} })
		method := "GET"
		if target == "*" {
			method = "OPTIONS"
		}
		w := s.dial()
		w.send(method + " " + target + " HTTP/1.1\r\nHost: Shop.Example:8080\r\n\r\n")
		res, _ := w.response(method)
		if target == "/%" || target == "/a%zzb" {
			if res.StatusCode != 400 { // net/http refuses what it cannot parse; it never reaches the proxy
				t.Errorf("%q: %s", target, res.Status)
			}
			continue
		}
		if ex := s.exchange(); ex.Request.Target != target {
			t.Errorf("%q: the exchange has %q", target, ex.Request.Target)
		}
		for range 3 {
			if head := <-heads; !strings.HasPrefix(head, method+" "+target+" HTTP/1.1\r\nHost: Shop.Example:8080\r\n") {
				t.Errorf("%q: an upstream got %q", target, head)
			}
		}
	}
}

// Only of a path that begins with two slashes are the bytes encoded that no URL may hold; the rest is left as it is.
func TestTargetsThatChange(t *testing.T) {
	for target, want := range map[string]string{
		"//a%2Fb\"c|d?e=\"": "//a%2Fb%22c%7Cd?e=\"", "http://shop.example/a%2Fb\"c?\"": "/a%2Fb\"c?\"", "http://shop.example": "/",
		"http://shop.example?a/b": "/?a/b", "http://shop.example//a": "//a",
	} {
		heads := make(chan string, 3)
		backend := echoRaw(t, heads)
		s := newRawStage(t, backend, backend, backend, nil)
		w := s.dial()
		w.send("GET " + target + " HTTP/1.1\r\nHost: shop.example\r\n\r\n")
		if res, body := w.response("GET"); res.StatusCode != 200 || body != "ok" {
			t.Errorf("%q: got %s %q", target, res.Status, body)
		}
		s.exchange()
		for range 3 {
			if head := <-heads; !strings.HasPrefix(head, "GET "+want+" HTTP/1.1\r\nHost: shop.example\r\n") {
				t.Errorf("%q: an upstream got %q", target, head)
			}
		}
	}
}

// What a client says of its connection hides neither who asked nor the mark, and frames nothing. What it does not say, or says
// oddly, stays so.
func TestRequestHeadsOnTheWire(t *testing.T) {
	who := "X-Forwarded-For: 127.0.0.1\r\nX-Forwarded-Host: a\r\nX-Forwarded-Proto: http\r\n"
	for sent, want := range map[string]string{
		"Connection: X-Forwarded-For, X-Forwarded-Proto, X-Shadow-Request, X-Hop\r\nX-Shadow-Request: 1\r\nX-Hop: 1\r\n": who + "X-Shadow-Request: 1\r\n",
		"Connection: Content-Length, Host\r\n": who,
		"Content-Length: 0\r\n":                who + "content-length: 0\r\n",
		"User-Agent:\r\n":                      who + "user-agent: \r\n",
		"User-Agent: a\r\nUser-Agent: b\r\n":   who + "user-agent: a\r\nuser-agent: b\r\n",
		"User-Agent: a\r\nTe: gzip\r\n":        "User-Agent: a\r\n" + who,
		"Te: gzip\r\nTe: x,  Trailers\r\n":     "Te: trailers\r\n" + who,
		"Upgrade: websocket\r\n":               who, // not asked of this connection
		"Accept:\r\n":                          "Accept: \r\n" + who,
	} {
		heads := make(chan string, 1)
		s := newRawStage(t, echoRaw(t, heads), "", "", nil)
		w := s.dial()
		w.send("GET /a HTTP/1.1\r\nHost: a\r\n" + sent + "\r\n")
		w.response("GET")
		if head := <-heads; head != "GET /a HTTP/1.1\r\nHost: a\r\n"+want+"\r\n" {
			t.Errorf("%q: the primary got %q", sent, head)
		}
	}
}

func TestAbsoluteFormAndBasePath(t *testing.T) {
	heads := make(chan string, 3)
	backend := echoRaw(t, heads)
	s := newRawStage(t, backend+"/base/", backend+"/base", backend+"/base", nil)
	w := s.dial()
	w.send("GET http://shop.example/a%2Fb?c HTTP/1.1\r\nHost: ignored\r\n\r\n")
	w.response("GET")
	if ex := s.exchange(); ex.Request.Target != "/a%2Fb?c" || ex.Request.Host != "shop.example" {
		t.Errorf("the exchange has %q at %q", ex.Request.Target, ex.Request.Host)
	}
	for range 3 {
		if head := <-heads; !strings.HasPrefix(head, "GET /base/a%2Fb?c HTTP/1.1\r\nHost: shop.example\r\n") {
			t.Errorf("an upstream got %q", head)
		}
	}
}

// The options of a server as a whole are asked for with its name alone, where there is a forward proxy on the way.
func TestOptionsOfAHost(t *testing.T) {
	heads := make(chan string, 3)
	backend := echoRaw(t, heads)
	s := newRawStage(t, backend+"/base", backend, backend, func(c *Config) { c.Methods = []string{"OPTIONS"} })
	w := s.dial()
	for target, want := range map[string]string{"http://shop.example": "*", "http://shop.example/": "/", "http://shop.example?a": "/?a", "*": "*"} {
		w.send("OPTIONS " + target + " HTTP/1.1\r\nHost: shop.example\r\n\r\n")
		w.response("OPTIONS")
		for range 3 {
			got, _, _ := strings.Cut(strings.Replace(<-heads, " /base/", " /", 1), "\r\n")
			if got != "OPTIONS "+want+" HTTP/1.1" {
				t.Errorf("%s: an upstream got %q", target, got)
			}
		}
	}
}

// All three get the same header, but for the marks.
func TestShadowsGetWhatThePrimaryGets(t *testing.T) {
	s := newStage(t, nil, nil)
	headers := []string{
		"Authorization: Bearer secret", "Cookie: sid=1; a=b", "Accept-Encoding: gzip", "X-D: one", "X-D: two", "x-lower: 1",
		"X-UPPER:  2 ", "If-None-Match: \"a\"", "Range: bytes=0-1", "Proxy: http://evil", "Proxy-Authorization: Basic x",
		"Keep-Alive: 5", "Te: trailers, gzip;q=0.5", "X-Hop: 1", "Traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
	}
	w := s.dial()
	w.send("GET /a HTTP/1.1\r\nHost: a\r\nConnection: X-Hop\r\n" + lines(headers) + "\r\n")
	w.response("GET")
	ex := s.exchange()
	primary := s.upstream[Primary].requests()[0].header
	if got := strings.Join(primary["X-D"], ","); got != "one,two" || primary.Get("X-Upper") != "2" || primary.Get("Te") != "trailers" {
		t.Errorf("the primary got %v", primary)
	}
	for _, gone := range []string{"Proxy", "Proxy-Authorization", "Keep-Alive", "X-Hop", "User-Agent", "X-Shadow-Request"} {
		if primary[gone] != nil {
			t.Errorf("the primary got %s: %q", gone, primary[gone])
		}
	}
	if !maps.EqualFunc(ex.Request.Header, primary, slices.Equal) {
		t.Errorf("the exchange has %v, the primary got %v", ex.Request.Header, primary)
	}
	want := primary.Clone()
	want.Set("X-Shadow-Request", "1")
	want.Set("X-Shadow-Id", ex.ID)
	want.Set("Traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00")
	for _, role := range []Role{Secondary, Candidate} {
		got := s.upstream[role].requests()[0].header
		if !maps.EqualFunc(got, want, slices.Equal) {
			t.Errorf("the %s got %v, wanted %v", role, got, want)
		}
	}
}

func TestHeaderRulesByRole(t *testing.T) {
	target, fixed := HostTarget, "fixed.example"
	s := newStage(t, nil, func(c *Config) {
		c.Shadow.SetHeaders = map[string]string{"x-env": "shadow", "X-Role": "both"}
		c.Shadow.RemoveHeaders = []string{"authorization"}
		c.Shadow.Candidate = RoleConfig{
			Host: &target, SetHeaders: map[string]string{"X-Role": "candidate"}, RemoveHeaders: []string{"Cookie"},
		}
		c.Shadow.Secondary.Host = &fixed
	})
	s.get("/a", "Authorization: x", "Cookie: y", "X-Env: real")
	s.exchange()
	primary, secondary, candidate := s.upstream[Primary].requests()[0], s.upstream[Secondary].requests()[0], s.upstream[Candidate].requests()[0]
	if primary.header.Get("Authorization") != "x" || primary.header.Get("X-Env") != "real" || primary.host != "shop.example" {
		t.Errorf("the primary got %v at %s", primary.header, primary.host)
	}
	if h := secondary.header; h["Authorization"] != nil || h.Get("X-Env") != "shadow" || h.Get("X-Role") != "both" ||
		h.Get("Cookie") != "y" || secondary.host != fixed {
		t.Errorf("the secondary got %v at %s", h, secondary.host)
	}
	if h := candidate.header; h["Authorization"] != nil || h.Get("X-Role") != "candidate" || h["Cookie"] != nil ||
		"http://"+candidate.host != s.upstream[Candidate].server.URL {
		t.Errorf("the candidate got %v at %s", h, candidate.host)
	}
	if !strings.Contains(s.log.String(), "no fair pair") {
		t.Error("nothing was said of the unfair pair")
	}
}

// What a shadow is not to get, it gets in no spelling that might be read so, however often it is said, and not behind the body.
func TestWithheldHowever(t *testing.T) {
	inEachCombination(t, func(t *testing.T, c combination) {
		type copied struct{ header, trailer http.Header }
		copies := make(chan copied, 2)
		shadow := c.upstream(t, func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			copies <- copied{r.Header, r.Trailer}
		})
		primary := c.upstream(t, func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
		s := newRawStage(t, primary, shadow, shadow, func(cfg *Config) {
			posts(cfg)
			cfg.Shadow.SetHeaders = map[string]string{"X-Env": "shadow"}
			cfg.Shadow.RemoveHeaders = []string{"User-Agent", "X-Secret"}
		})
		r := c.request(t, t.Context(), s, io.MultiReader(strings.NewReader("hello")))
		r.Header = http.Header{
			"User-Agent": {"a"}, "user-agent": {"b"}, "X_env": {"real"}, "X_secret": {"s"}, "X_shadow_request": {"0"}, "X_Shadow-Id": {"mine"}, "X_a": {"1"},
		}
		r.Trailer = http.Header{"X-Secret": {"s"}, "X_shadow-Request": {"0"}, "X-Shadow-Id": {"mine"}, "X_forwarded_for": {"evil"}, "X_b": {"2"}}
		c.do(t, r)
		s.exchange()
		for range 2 {
			got := await(t, "the copy", copies)
			for _, name := range [...]string{"X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "Accept-Encoding", "Trailer"} {
				delete(got.header, name)
			}
			id := got.header["X-Shadow-Id"]
			if want := (http.Header{"X-Env": {"shadow"}, "X_a": {"1"}, "X-Shadow-Request": {"1"}, "X-Shadow-Id": id}); !reflect.DeepEqual(got.header, want) {
				t.Errorf("a shadow got %v, want %v", got.header, want)
			}
			if want := (http.Header{"X_b": {"2"}}); len(id) != 1 || len(id[0]) != 32 || !reflect.DeepEqual(got.trailer, want) {
				t.Errorf("a shadow got the trailers %v, want %v", got.trailer, want)
			}
		}
	})
}

func TestForwardingHeaders(t *testing.T) {
	spoof := []string{
		"X-Forwarded-For: 1.2.3.4", "X-Forwarded-Host: evil", "X-Forwarded-Proto: gopher", "X-Forwarded-Port: 1",
		"Forwarded: for=9.9.9.9", "X-Real-IP: 6.6.6.6", "X_Forwarded_For: 6.6.6.6", "X-Forwarded_Proto: https", "X_REAL_IP: 6.6.6.6", "X_A: 1",
	}
	for _, c := range []struct {
		name    string
		trusted []string
		sent    []string
		want    map[string]string
	}{
		{"nothing sent", nil, nil, map[string]string{
			"X-Forwarded-For": "127.0.0.1", "X-Forwarded-Host": "shop.example", "X-Forwarded-Proto": "http", "Forwarded": "",
			"X-Real-Ip": "", "X-Forwarded-Port": "",
		}},
		{"untrusted peer", []string{"10.0.0.0/8"}, spoof, map[string]string{
			"X-Forwarded-For": "127.0.0.1", "X-Forwarded-Host": "shop.example", "X-Forwarded-Proto": "http",
			"Forwarded": `for=127.0.0.1;host="shop.example";proto=http`, "X-Real-Ip": "127.0.0.1", "X-Forwarded-Port": "",
			"X_forwarded_for": "", "X-Forwarded_proto": "", "X_real_ip": "", "X_a": "1",
		}},
		{"trusted peer", []string{"127.0.0.0/8"}, spoof, map[string]string{
			"X-Forwarded-For": "1.2.3.4, 127.0.0.1", "X-Forwarded-Host": "evil", "X-Forwarded-Proto": "gopher", "X-Forwarded-Port": "1",
			"Forwarded": `for=9.9.9.9, for=127.0.0.1;host="shop.example";proto=http`, "X-Real-Ip": "6.6.6.6",
		}},
	} {
		s := newStage(t, nil, func(cfg *Config) { cfg.TrustedProxies = c.trusted })
		s.get("/a", c.sent...)
		s.exchange()
		for role := range s.upstream {
			got := s.upstream[role].requests()[0].header
			for name, want := range c.want {
				if strings.Join(got[name], "|") != want {
					t.Errorf("%s: the %s got %s: %q, wanted %q", c.name, Role(role), name, got[name], want)
				}
			}
		}
	}
}

func TestClientIP(t *testing.T) {
	p, err := New(func() Config {
		c := DefaultConfig()
		c.Primary, c.TrustedProxies = "http://127.0.0.1:1", []string{"10.0.0.0/8", "::1"}
		return c
	}(), Deps{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ peer, chain, want string }{
		{"192.0.2.1:5", "1.1.1.1", "192.0.2.1"},
		{"10.0.0.1:5", "", "10.0.0.1"},
		{"10.0.0.1:5", "1.1.1.1", "1.1.1.1"},
		{"10.0.0.1:5", "6.6.6.6, 1.1.1.1, 10.2.2.2", "1.1.1.1"},
		{"10.0.0.1:5", "10.3.3.3, 10.2.2.2", "10.3.3.3"},
		{"[::1]:5", "1.1.1.1", "1.1.1.1"},
		{"10.0.0.1:5", "1.1.1.1:4711, 10.2.2.2:80", "1.1.1.1"},
		{"10.0.0.1:5", "[2001:DB8::1]:4711", "2001:db8::1"},
		{"10.0.0.1:5", "2001:DB8:0::1, [::1]", "2001:db8::1"},
		{"10.0.0.1:5", "::ffff:1.1.1.1", "1.1.1.1"},
		{"10.0.0.1:5", "unknown", "unknown"},
		{"[::ffff:10.0.0.1]:5", "1.1.1.1", "1.1.1.1"},
	} {
		r := &http.Request{RemoteAddr: c.peer, Header: http.Header{"X-Forwarded-For": {c.chain}}}
		if got := p.setup.Load().clientIP(r); got != c.want {
			t.Errorf("peer %s, chain %q: %s, wanted %s", c.peer, c.chain, got, c.want)
		}
	}
}

// What the primary did not say is not added; what it said twice is there twice.
func TestAnswerIsWhatThePrimarySent(t *testing.T) {
	for name, c := range map[string]struct{ method, sent, want string }{
		"bare":      {"GET", "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>", "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>"},
		"lines":     {"GET", "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nDate: then\r\nVary: a\r\nVary: b\r\n\r\n", "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nDate: then\r\nVary: a\r\nVary: b\r\n\r\n"},
		"head":      {"HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 123\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 123\r\n\r\n"},
		"no body":   {"GET", "HTTP/1.1 204 No Content\r\nX-A: 1\r\n\r\n", "HTTP/1.1 204 No Content\r\nX-A: 1\r\n\r\n"},
		"unchanged": {"GET", "HTTP/1.1 304 Not Modified\r\nEtag: \"a\"\r\n\r\n", "HTTP/1.1 304 Not Modified\r\nEtag: \"a\"\r\n\r\n"},
		"unchanged, of a length": {
			"GET", "HTTP/1.1 304 Not Modified\r\nContent-Type: a/b\r\nContent-Length: 50\r\nEtag: \"a\"\r\n\r\n",
			"HTTP/1.1 304 Not Modified\r\nContent-type: a/b\r\nContent-length: 50\r\nEtag: \"a\"\r\n\r\n",
		},
		"no body, of no length": {"GET", "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 204 No Content\r\nContent-length: 0\r\n\r\n"},
		"no body, of a length":  {"GET", "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", "HTTP/1.1 204 No Content\r\n\r\n"},
		"hops":                  {"GET", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: X-Hop\r\nX-Hop: 1\r\nKeep-Alive: 5\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"},
		"chunked":               {"GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"},
		"gzip": {
			"GET", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\nEtag: \"z\"\r\n\r\n\x1f\x8b\x00\x01",
			"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\nEtag: \"z\"\r\n\r\n\x1f\x8b\x00\x01",
		},
		"framing stays": {
			"GET", "HTTP/1.1 200 OK\r\nConnection: content-length, X-Hop\r\nX-Hop: 1\r\nContent-Length: 2\r\n\r\nok",
			"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
		},
		"short and chunked": {
			"GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-T, X-U\r\n\r\n2\r\nok\r\n0\r\nX-T: 1\r\nX-V: 2\r\n\r\n",
			"HTTP/1.1 200 OK\r\nTrailer: X-T, X-U\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-T: 1\r\nX-V: 2\r\n\r\n",
		},
		"informational": {
			"GET", "HTTP/1.1 103 Early Hints\r\nLink: </b>\r\nLink: </a>\r\nConnection: X-Hop\r\nX-Hop: 1\r\n\r\nHTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-A: 1\r\n\r\n<p",
			"HTTP/1.1 103 Early Hints\r\nLink: </b>\r\nLink: </a>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-A: 1\r\n\r\n<p",
		},
	} {
		t.Run(name, func(t *testing.T) {
			backend := raw(t, func(conn net.Conn, r *bufio.Reader) {
				for {
					if _, ok := readHead(r); !ok {
						return
					}
					_, _ = io.WriteString(conn, c.sent)
				}
			})
			s := newRawStage(t, backend, backend, backend, nil)
			w := s.dial()
			for range 2 { // the connection stays usable
				w.send(c.method + " /a HTTP/1.1\r\nHost: a\r\n\r\n")
				if got := w.read(len(c.want)); sortLines(got) != sortLines(c.want) {
					t.Errorf("got\n%q, wanted\n%q", got, c.want)
				}
				for role, res := range s.exchange().Responses {
					if res.Outcome != OutcomeOK {
						t.Errorf("%s: %+v", Role(role), res)
					}
				}
			}
		})
	}
}

// sortLines brings the heads into one order: net/http sorts names.
func sortLines(text string) string {
	parts := strings.Split(text, "\r\n\r\n")
	for i, part := range parts {
		head := strings.Split(part, "\r\n")
		if strings.HasPrefix(part, "HTTP/") {
			slices.SortStableFunc(head[1:], func(a, b string) int {
				return strings.Compare(strings.SplitN(a, ":", 2)[0], strings.SplitN(b, ":", 2)[0])
			})
		}
		parts[i] = strings.Join(head, "\r\n")
	}
	return strings.Join(parts, "\r\n\r\n")
}

func TestTrailersPass(t *testing.T) {
	s := newStage(t, map[Role]http.HandlerFunc{Primary: func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "X-Announced")
		_, _ = io.WriteString(w, "ok")
		w.Header().Set("X-Announced", "1")
		w.Header().Set(http.TrailerPrefix+"X-Late", "2")
	}}, func(c *Config) { c.Methods = []string{"POST"} })
	for _, announced := range []string{"Trailer: X-Req\r\n", ""} {
		w := s.dial()
		w.send("POST /a HTTP/1.1\r\nHost: a\r\nTe: trailers\r\nTransfer-Encoding: chunked\r\n" + announced + "\r\n3\r\nabc\r\n0\r\nX-Req: v\r\n\r\n")
		res, body := w.response("POST")
		if body != "ok" || res.Trailer.Get("X-Announced") != "1" || res.Trailer.Get("X-Late") != "2" {
			t.Errorf("the client got %q, trailer %v", body, res.Trailer)
		}
		ex := s.exchange()
		if ex.Request.Trailer.Get("X-Req") != "v" || ex.Response(Primary).Trailer.Get("X-Late") != "2" {
			t.Errorf("the exchange has trailers %v and %v", ex.Request.Trailer, ex.Response(Primary).Trailer)
		}
		for role := range s.upstream {
			all := s.upstream[role].requests()
			if got := all[len(all)-1]; got.trailer.Get("X-Req") != "v" || got.body != "abc" || fmt.Sprint(got.encoding) != "[chunked]" {
				t.Errorf("announced %q: the %s got %q, trailer %v, %v", announced, Role(role), got.body, got.trailer, got.encoding)
			}
		}
	}
}

// A trailer that would frame the message stays where it came from, announced or not: net/http refuses to send it, and the
// shadows would be blamed for that.
func TestTrailersThatFrameAreLeftOut(t *testing.T) {
	s := newStage(t, nil, func(c *Config) { c.Methods = []string{"POST"} })
	for _, announced := range []string{"Trailer: X-Req\r\n", ""} {
		w := s.dial()
		w.send("POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n" + announced +
			"\r\n3\r\nabc\r\n0\r\nX-Req: v\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\nTrailer: X-A\r\nHost: b\r\n" +
			"X-Forwarded-For: 6.6.6.6\r\nX-Real-Ip: 6.6.6.6\r\nX-Shadow-Request: 1\r\n\r\n")
		if res, body := w.response("POST"); res.StatusCode != 200 || body != "hello" {
			t.Errorf("the client got %d %q", res.StatusCode, body)
		}
		if ex := s.exchange(); ex.Unknown != "" || ex.Response(Candidate).Outcome != OutcomeOK {
			t.Errorf("announced %q: the exchange is %q, the candidate %s", announced, ex.Unknown, ex.Response(Candidate).Detail)
		}
		for role := range s.upstream {
			all := s.upstream[role].requests()
			if got := all[len(all)-1].trailer; len(got) != 1 || got.Get("X-Req") != "v" {
				t.Errorf("announced %q: the %s got trailer %v", announced, Role(role), got)
			}
		}
	}
}

// A client may list half a million names in Connection and send as many headers as it is allowed: what that costs does not
// grow with both. Looked up one in the other, they would cost some seconds.
func TestLongConnectionList(t *testing.T) {
	cfg := DefaultConfig()
	cfg.Primary = "http://127.0.0.1:1"
	p, err := New(cfg, Deps{})
	if err != nil {
		t.Fatal(err)
	}
	quickest := func(headers int) time.Duration {
		in := &http.Request{Method: "GET", ProtoMajor: 1, ProtoMinor: 1, RemoteAddr: "127.0.0.1:1", Header: http.Header{
			"Connection": {strings.Repeat("x-a,", 250_000) + "x-1"},
		}}
		for n := range headers {
			in.Header["X-"+strconv.Itoa(n)] = []string{"1"}
		}
		best := time.Duration(math.MaxInt64)
		for range 3 {
			start := time.Now()
			out := p.setup.Load().header(in)
			best = min(best, time.Since(start))
			if len(out) < headers || out["X-1"] != nil {
				t.Errorf("of %d headers there are %d", headers, len(out))
			}
		}
		return best
	}
	if few, many := quickest(2), quickest(480); many > 40*few {
		t.Errorf("2 headers take %s, 480 take %s", few, many)
	}
}
