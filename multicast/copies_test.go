package multicast

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// byName is a head with its header lines in the order of their names; those of one name stay as they are.
func byName(head string) []string {
	all := strings.Split(strings.TrimSuffix(head, "\r\n\r\n"), "\r\n")
	slices.SortStableFunc(all[1:], func(a, b string) int {
		return strings.Compare(strings.SplitN(a, ":", 2)[0], strings.SplitN(b, ":", 2)[0])
	})
	return all
}

// recordHeads answers each request without a body, and keeps the head that came to this role.
func recordHeads(t *testing.T, into map[Role]chan string, role Role) string {
	heads := make(chan string, 10)
	into[role] = heads
	return raw(t, func(conn net.Conn, r *bufio.Reader) {
		for head, ok := readHead(r); ok; head, ok = readHead(r) {
			heads <- head
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		}
	})
}

// Of a request with thirty headers the three upstreams get the same bytes, but for the two marks; and the primary gets
// what the client wrote, but for the names of headers and who asked.
func TestThreeTimesTheSameBytes(t *testing.T) {
	sent := []string{
		"Accept: text/html, */*;q=0.1", "Accept: application/json", "Accept-Encoding: gzip, br", "Accept-Language: de,en;q=0.5",
		"Authorization: Bearer a.b-c_d=", "Cache-Control: no-cache", "Cookie: sid=1; theme=\"dark\"", "Cookie: cart=2",
		"Dnt: 1", "From: a@b", "If-Modified-Since: Sat, 29 Oct 1994 19:43:31 GMT", "If-None-Match: \"a\", W/\"b\"", "Origin: null",
		"Pragma: no-cache", "Range: bytes=0-1,5-", "Referer: http://a/?b=c;d", "User-Agent: curl/8", "Via: 1.1 edge", "X-A: ",
		"X-Bytes: \xc3\xa9\xff\x80", "X-D: two", "X-D: one", "X-D: two", "X-Folded: a\tb", "X-Long: " + strings.Repeat("l", 3000),
		"X-Quoted: \"a\\\"b\"", "X-Spaces: a  b", "X-Request-Id: 7", "X-Zero: 0", "Content-Type: text/plain; charset=\"utf-8\"",
		"Max-Forwards: 3", "Idempotency-Key: k",
	}
	forwarded := []string{"X-Forwarded-For: 127.0.0.1", "X-Forwarded-Host: Shop.Example:8080", "X-Forwarded-Proto: http"}
	for _, method := range []string{"GET", "HEAD", "POST", "PUT"} {
		heads := make(map[Role]chan string)
		s := newRawStage(t, recordHeads(t, heads, Primary), recordHeads(t, heads, Secondary), recordHeads(t, heads, Candidate), func(c *Config) { c.Methods = []string{"GET", "HEAD", "POST", "PUT"} })
		w := s.dial()
		framing := map[bool][]string{true: {"Content-Length: 0"}}[method == "POST" || method == "PUT"]
		w.send(method + " /a%2Fb?c=;d HTTP/1.1\r\nHost: Shop.Example:8080\r\n" + lines(slices.Concat(sent, framing)) + "\r\n")
		if head := w.head(); !strings.HasPrefix(head, "HTTP/1.1 200 OK\r\n") {
			t.Errorf("the client got %q", head)
		}
		got := make(map[Role][]string)
		for role, head := range heads {
			got[role] = byName(await(t, role.String()+" is asked", head))
		}
		want := byName(strings.Join(slices.Concat([]string{method + " /a%2Fb?c=;d HTTP/1.1", "Host: Shop.Example:8080"}, sent, framing, forwarded), "\r\n"))
		if !slices.Equal(got[Primary], want) {
			t.Errorf("%s: the primary got\n%q, not\n%q", method, got[Primary], want)
		}
		for _, role := range [...]Role{Secondary, Candidate} {
			marks := 0
			same := slices.DeleteFunc(got[role], func(line string) bool {
				mark := line == "X-Shadow-Request: 1" || strings.HasPrefix(line, "X-Shadow-Id: ") && len(line) == len("X-Shadow-Id: ")+32
				if mark {
					marks++
				}
				return mark
			})
			if marks != 2 || !slices.Equal(same, got[Primary]) {
				t.Errorf("%s: the %s got %d marks and\n%q, the primary\n%q", method, role, marks, same, got[Primary])
			}
		}
		s.counts(Counts{Requests: 1, Exchanged: 1, Compared: 1})
	}
}

// All lines of an answer come to the client, those of one name in their order, also where a refusal makes it one that
// nobody else is asked about; and so they stand in the exchange.
func TestLinesOfAnAnswer(t *testing.T) {
	const sent = "Content-Length: 2\r\nSet-Cookie: b=1; Path=/\r\nSet-Cookie: a=2\r\nVary: Origin\r\nVary: Accept\r\nX-D: two\r\nX-D: one\r\nX-D: two\r\n"
	for status, reason := range map[string]Reason{"200 OK": "", "503 Service Unavailable": ReasonPrimaryRefused, "429 Too Many Requests": ReasonPrimaryRefused} {
		head := "HTTP/1.1 " + status + "\r\n" + sent + map[bool]string{true: "Retry-After: 7\r\n"}[reason != ""] + "\r\n"
		asked := make(chan string, 100)
		shadow := echoRaw(t, asked)
		s := newRawStage(t, script(t, head+"ok", false), shadow, shadow, nil)
		w := s.dial()
		const requests = 20
		for range requests {
			w.send("GET /a HTTP/1.1\r\nHost: a\r\n\r\n")
			if got := w.read(len(head) + 2); !slices.Equal(byName(got[:len(head)]), byName(head)) || got[len(head):] != "ok" {
				t.Fatalf("the client got %q", got)
			}
		}
		if reason != "" {
			s.counts(Counts{Requests: requests, Skipped: map[Reason]int64{reason: requests}})
			if got := asks(asked); len(got) > 0 {
				t.Errorf("%s: the shadows got %d requests", status, len(got))
			}
			continue
		}
		for range requests {
			h := s.exchange().Response(Primary).Header
			if !slices.Equal(h["X-D"], []string{"two", "one", "two"}) || !slices.Equal(h["Set-Cookie"], []string{"b=1; Path=/", "a=2"}) {
				t.Errorf("the exchange has %q", h)
			}
		}
		s.counts(Counts{Requests: requests, Exchanged: requests, Compared: requests})
	}
}

// HEAD, 204 and 304 have no body for anybody, are asked as what they are, and leave each connection usable: it has the
// next request too.
func TestNoBodyForAnyRole(t *testing.T) {
	for name, c := range map[string]struct{ request, answer, want string }{
		"HEAD": {"HEAD /a HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 123\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 123\r\n\r\n"},
		"204":  {"GET /a HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.1 204 No Content\r\n\r\n"},
		"304": {
			"GET /a HTTP/1.1\r\nHost: a\r\nIf-None-Match: \"e\"\r\n\r\n", "HTTP/1.1 304 Not Modified\r\nEtag: \"e\"\r\nContent-Length: 50\r\n\r\n",
			"HTTP/1.1 304 Not Modified\r\nContent-length: 50\r\nEtag: \"e\"\r\n\r\n",
		},
	} {
		connections, heads := make(chan struct{}, 10), make(chan string, 10)
		upstream := raw(t, func(conn net.Conn, r *bufio.Reader) {
			connections <- struct{}{}
			for head, ok := readHead(r); ok; head, ok = readHead(r) {
				heads <- head
				_, _ = io.WriteString(conn, c.answer)
			}
		})
		s := newRawStage(t, upstream, upstream, upstream, nil)
		w := s.dial()
		for range 3 {
			w.send(c.request)
			if got := w.read(len(c.want)); got != c.want {
				t.Errorf("%s: the client got %q", name, got)
			}
			for role, res := range s.exchange().Responses {
				if res.Outcome != OutcomeOK || res.Size != 0 || len(res.Body) > 0 {
					t.Errorf("%s: the %s has %s, %d bytes", name, Role(role), res.Outcome, res.Size)
				}
			}
		}
		for _, head := range asks(heads) {
			if method, _, _ := strings.Cut(c.request, " "); !strings.HasPrefix(head, method+" /a HTTP/1.1\r\n") || name == "304" && headerOf(t, head, "If-None-Match") != `"e"` {
				t.Errorf("%s: an upstream got %q", name, head)
			}
		}
		if n := len(connections); n != 3 {
			t.Errorf("%s: nine requests took %d connections", name, n)
		}
		s.counts(Counts{Requests: 3, Exchanged: 3, Compared: 3})
	}
}

// Whatever Host a role is sent, the name in the handshake is that of its address.
func TestServerNameIsTheTargets(t *testing.T) {
	ours := newAuthority(t)
	type hello struct{ name, host string }
	came := make(map[Role]chan hello)
	address := make(map[Role]string)
	for _, role := range [...]Role{Primary, Secondary, Candidate} {
		asked := make(chan hello, 10)
		pair, _, _ := ours.issue(&x509.Certificate{SerialNumber: ours.cert.SerialNumber, DNSNames: []string{"localhost"}, NotAfter: time.Now().Add(time.Hour)})
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked <- hello{r.TLS.ServerName, r.Host}
			_, _ = io.WriteString(w, "hello")
		}))
		server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
		server.StartTLS()
		t.Cleanup(server.Close)
		came[role], address[role] = asked, strings.Replace(server.URL, "127.0.0.1", "localhost", 1)
	}
	fixed, keep, target := "Fixed.Example:99", HostKeep, HostTarget
	const client = "Shop.Example:8080"
	for _, c := range []struct{ all, candidate *string }{{&keep, nil}, {&target, nil}, {&fixed, nil}, {&keep, &target}, {&target, &fixed}, {&fixed, &keep}} {
		s := newRawStage(t, address[Primary], address[Secondary], address[Candidate], func(cfg *Config) {
			cfg.Upstream.TLS.CA, cfg.Shadow.Secondary.TLS.CA, cfg.Shadow.Candidate.TLS.CA = ours.file, ours.file, ours.file
			cfg.Shadow.Host, cfg.Shadow.Candidate.Host = *c.all, c.candidate
		})
		w := s.dial()
		w.send("GET /a HTTP/1.1\r\nHost: " + client + "\r\n\r\n")
		if res, body := w.response("GET"); res.StatusCode != 200 || body != "hello" {
			t.Errorf("the client got %d %q", res.StatusCode, body)
		}
		policy := map[Role]*string{Primary: &keep, Secondary: c.all, Candidate: c.all}
		if c.candidate != nil {
			policy[Candidate] = c.candidate
		}
		for _, role := range slices.Sorted(maps.Keys(policy)) {
			want := hello{"localhost", *policy[role]}
			switch want.host {
			case HostKeep:
				want.host = client
			case HostTarget:
				want.host = strings.TrimPrefix(address[role], "https://")
			}
			if got := await(t, fmt.Sprintf("the %s is asked", role), came[role]); got != want {
				t.Errorf("host %s: the %s was asked for %+v, not %+v", *policy[role], role, got, want)
			}
		}
		s.counts(Counts{Requests: 1, Exchanged: 1, Compared: 1})
	}
}
