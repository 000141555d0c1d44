package multicast

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"slices"
	"strings"
	"testing"
)

// FuzzHTTP2Client asks the primary itself and the proxy over HTTP/2, whatever the proxy speaks to its primary. Both answers
// must be the same to the client: informational ones, status, header, body, its end, and trailers.
func FuzzHTTP2Client(f *testing.F) {
	for n := range 4 * manners {
		f.Add([]byte{byte(n / manners), byte(n), byte(n * 7), byte(n * 11)}, uint8(n), n%2 == 0)
	}
	plain, h2c := newScene(f, false), newScene(f, true)
	only := new(http.Protocols)
	only.SetUnencryptedHTTP2(true)
	client := &http.Transport{Protocols: only, DisableCompression: true}
	f.Cleanup(client.CloseIdleConnections)
	f.Fuzz(func(t *testing.T, picks []byte, manner uint8, overHTTP2 bool) {
		s := plain.choose(h2c, overHTTP2)
		s.direct.manner.Store(int32(manner % manners))
		s.upstream[Primary].manner.Store(int32(manner % manners))
		direct, through := hearHTTP2(t, client, s.direct.addr, picks), hearHTTP2(t, client, s.addr, picks)
		if direct != through {
			t.Errorf("picks %v, manner %d, primary over %s: directly\n%.1000s\nthrough the proxy\n%.1000s", picks, manner%manners, s.version, direct, through)
		}
		if s.panicked.Swap(false) {
			t.Error("a panic was logged")
		}
		(&stage{t: t, proxy: s.proxy, log: &logBuffer{}}).eventually("it is over", s.quiet)
		for _, r := range append(slices.Clone(s.upstream[:]), s.direct) {
			r.take()
		}
	})
}

// hearHTTP2 asks what the picks say, and tells the answer.
func hearHTTP2(t *testing.T, client *http.Transport, addr string, picks []byte) string {
	ctx, cancel := context.WithTimeout(t.Context(), hung)
	defer cancel()
	var told strings.Builder
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{Got1xxResponse: func(code int, header textproto.MIMEHeader) error {
		_, _ = fmt.Fprintf(&told, "%d %v\n", code, header)
		return nil
	}})
	r := composeHTTP2(ctx, addr, picks)
	res, err := client.RoundTrip(r)
	if err != nil {
		return told.String() + "no answer"
	}
	defer res.Body.Close()
	if r.Method == http.MethodHead { // HTTP/1 announces trailers behind chunks only, and there are none
		res.Trailer = nil
	}
	announced := fmt.Sprint(res.Trailer)
	body, err := io.ReadAll(res.Body)
	_, _ = fmt.Fprintf(&told, "%s %d %v %s\n%q broken off: %v\n%v", res.Proto, res.StatusCode, res.Header, announced, body, err != nil, res.Trailer)
	return told.String()
}

// composeHTTP2 makes a request of a fuzzer's bytes, each of which picks a part.
func composeHTTP2(ctx context.Context, addr string, picks []byte) *http.Request {
	pick := func(n int) int {
		if len(picks) == 0 {
			return 0
		}
		first := int(picks[0])
		picks = picks[1:]
		return first % n
	}
	methods := []string{"GET", "POST", "HEAD", "PUT", "OPTIONS", "DELETE", "FOO", "PATCH"}
	targets := []string{"/a", "/", "/a%2Fb%2fc%20d%7Ee", "/q?x=1;y=2&z=%zz&&b", "//a//b/", "/a/../b/./c", "/a?"}
	bodies := []string{"", "abc", strings.Repeat("z", 1024), strings.Repeat("y", 100_000)}
	method, target, body := methods[pick(len(methods))], targets[pick(len(targets))], bodies[pick(len(bodies))]
	r, _ := http.NewRequestWithContext(ctx, method, "http://"+addr+"/", strings.NewReader(body))
	r.URL.Opaque = "//" + addr + target
	if how := pick(4); body == "" {
		r.Body, r.ContentLength = http.NoBody, 0
	} else if how > 1 {
		r.ContentLength = -1
		if how == 3 {
			r.Trailer = http.Header{"X-Req": {"v"}}
		}
	}
	_, _, _, headers, _ := parts()
	for range pick(5) {
		name, value, _ := strings.Cut(headers[pick(len(headers))], ": ")
		name = http.CanonicalHeaderKey(name)
		if token(name) && !frames(name) && name != "Expect" && sendable([]string{value}) {
			r.Header.Add(name, value)
		}
	}
	return r
}
