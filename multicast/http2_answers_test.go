package multicast

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// script2 is an upstream in HTTP/2 that has the same frames for each request, once that is whole.
func script2(t *testing.T, say func(framer *http2.Framer, stream uint32)) string {
	t.Helper()
	address := raw(t, func(conn net.Conn, r *bufio.Reader) { serve2(conn, r, say) })
	return strings.Replace(address, "http:", "h2c:", 1)
}

// serve2 reads a client's frames, and calls say for each request that is whole.
func serve2(conn net.Conn, r *bufio.Reader, say func(framer *http2.Framer, stream uint32)) {
	if _, err := io.ReadFull(r, make([]byte, len(http2.ClientPreface))); err != nil {
		return
	}
	framer := http2.NewFramer(conn, r)
	_ = framer.WriteSettings()
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			return
		}
		switch head := frame.Header(); head.Type {
		case http2.FrameHeaders, http2.FrameData:
			if head.Flags.Has(http2.FlagDataEndStream) {
				say(framer, head.StreamID)
			}
		}
	}
}

// head2 writes a head or trailers: names and values in turn.
func head2(framer *http2.Framer, stream uint32, end bool, fields ...string) {
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for i := 0; i < len(fields); i += 2 {
		_ = encoder.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	_ = framer.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: block.Bytes(), EndHeaders: true, EndStream: end})
}

// What 304 says of the length of the answer that it stands for is no length of its own: it is whole for the client, and for the
// shadows, also where its end comes apart from its head.
func TestNotModifiedWithALengthOverHTTP2(t *testing.T) {
	for name, say := range map[string]func(*http2.Framer, uint32){
		"at once": func(framer *http2.Framer, stream uint32) {
			head2(framer, stream, true, ":status", "304", "etag", `"e"`, "content-length", "50")
		},
		"apart": func(framer *http2.Framer, stream uint32) {
			head2(framer, stream, false, ":status", "304", "etag", `"e"`, "content-length", "50")
			_ = framer.WriteData(stream, true, nil)
		},
	} {
		for _, major := range []int{1, 2} {
			address := script2(t, say)
			s := newRawStage(t, address, address, address, nil)
			res, err := newGoClient(t, major).Get("http://" + s.addr + "/a")
			if err != nil {
				t.Fatal(err)
			}
			if body := text(t, res); body != "" || res.StatusCode != http.StatusNotModified || res.Header.Get("Etag") != `"e"` {
				t.Errorf("%s, HTTP/%d: got %d %q with %v", name, major, res.StatusCode, body, res.Header)
			}
			for role, res := range s.exchange().Responses {
				if res.Outcome != OutcomeOK || res.Size != 0 {
					t.Errorf("%s: the %s has %s (%s), %d bytes", name, Role(role), res.Outcome, res.Detail, res.Size)
				}
			}
			s.counts(Counts{Requests: 1, Exchanged: 1, Compared: 1})
		}
	}
}

// A body beside 204, which can have none, is the primary's fault and not the client's, who is cut off.
func TestBodyWhereThereCanBeNoneOverHTTP2(t *testing.T) {
	s := newRawStage(t, script2(t, func(framer *http2.Framer, stream uint32) {
		head2(framer, stream, false, ":status", "204")
		_ = framer.WriteData(stream, true, []byte("abc"))
	}), "http://127.0.0.1:1", "http://127.0.0.1:1", posts)
	for _, major := range []int{1, 2} {
		if res, err := newGoClient(t, major).Get("http://" + s.addr + "/a"); err == nil {
			_, _ = io.ReadAll(res.Body)
			_ = res.Body.Close()
		}
	}
	s.counts(Counts{Requests: 2, Exchanged: 2, Unknown: map[Reason]int64{ReasonPrimaryIncomplete: 2}})
}

// What HTTP/2 has no room for in place of an answer is none: a switch of protocols, which HTTP/1.1 has, and a status that has not
// three digits. The client is told so, and a shadow that says such a thing does not speak HTTP.
func TestNoAnswerOverHTTP2(t *testing.T) {
	switches := script2(t, func(framer *http2.Framer, stream uint32) {
		head2(framer, stream, false, ":status", "101", "upgrade", "websocket")
		head2(framer, stream, true, ":status", "200")
	})
	long := script2(t, func(framer *http2.Framer, stream uint32) { head2(framer, stream, true, ":status", "2000") })
	for name, primary := range map[string]string{"a switch": switches, "a long status": long} {
		s := newRawStage(t, primary, "http://127.0.0.1:1", "http://127.0.0.1:1", nil)
		for _, major := range []int{1, 2} {
			res, err := newGoClient(t, major).Get("http://" + s.addr + "/a")
			if err != nil {
				t.Fatalf("%s, HTTP/%d: %v", name, major, err)
			}
			if body := text(t, res); res.StatusCode != http.StatusBadGateway || body != "bad gateway\n" {
				t.Errorf("%s, HTTP/%d: got %d %q", name, major, res.StatusCode, body)
			}
		}
		s.counts(Counts{Requests: 2, Skipped: map[Reason]int64{ReasonPrimaryFailed: 2}})
	}
	odd := script2(t, func(framer *http2.Framer, stream uint32) {
		head2(framer, stream, true, ":status", "200", "X-Upper", "1")
	})
	for name, candidate := range map[string]string{"a switch": switches, "a header in capitals": odd} {
		primary := newHandlerServer(t, digest)
		s := newRawStage(t, primary, primary, candidate, nil)
		s.get("/a")
		if res := s.exchange().Response(Candidate); res.Outcome != OutcomeProtocol {
			t.Errorf("%s: the candidate's leg is %s (%s)", name, res.Outcome, res.Detail)
		}
	}
}

// Towards HTTP/2 an answer without a body has no length: Go's own client would wait for it.
func TestNoLengthWithoutABodyTowardsHTTP2(t *testing.T) {
	for answer, status := range map[string]int{
		"HTTP/1.1 304 Not Modified\r\nContent-Length: 50\r\n\r\n": 304, "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n": 204,
	} {
		s := newRawStage(t, script(t, answer, false), "http://127.0.0.1:1", "http://127.0.0.1:1", nil)
		res, err := newGoClient(t, 2).Get("http://" + s.addr + "/a")
		if err != nil {
			t.Fatal(err)
		}
		if body := text(t, res); res.StatusCode != status || body != "" || res.Header["Content-Length"] != nil {
			t.Errorf("got %d %q with %v", res.StatusCode, body, res.Header)
		}
	}
}

// A copy without a body has none from the first one on, when nobody knows yet which protocol the handshake will agree on.
func TestFirstCopyOverTLSHasNoBody(t *testing.T) {
	lengths := make(chan int64, 1)
	candidate := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { lengths <- r.ContentLength }))
	candidate.EnableHTTP2 = true
	candidate.StartTLS()
	t.Cleanup(candidate.Close)
	good := newHandlerServer(t, digest)
	s := newRawStage(t, good, good, candidate.URL, func(c *Config) { c.Shadow.Candidate.TLS.InsecureSkipVerify = true })
	for range 2 {
		s.get("/a")
		if length := await(t, "the candidate is asked", lengths); length != 0 {
			t.Errorf("the body of the copy has a length of %d", length)
		}
		s.exchange()
	}
}

// A head that says that no body follows, and yet does not end the answer, leads the upload for which the primary waits.
func TestHeadWithoutABodyLeadsTheUpload(t *testing.T) {
	inEachCombination(t, func(t *testing.T, c combination) {
		if c.scheme != "h2c:" {
			return // HTTP/1 has no such answer
		}
		s := c.alone(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "0")
			_ = http.NewResponseController(w).Flush()
			_, _ = io.Copy(io.Discard, r.Body)
		})
		body, upload := c.pipe(t)
		res := c.do(t, c.request(t, t.Context(), s, body))
		_ = upload.Close()
		if got := text(t, res); got != "" {
			t.Errorf("got %q", got)
		}
		s.counts(Counts{Requests: 1, Skipped: map[Reason]int64{ReasonRequestIncomplete: 1}})
	})
}

// showTrailersOfHead has a primary whose answer to HEAD ends with trailers.
func showTrailersOfHead(t *testing.T, _ deviation) {
	address := script2(t, func(framer *http2.Framer, stream uint32) {
		head2(framer, stream, false, ":status", "200", "content-length", "5", "trailer", "x-sum")
		head2(framer, stream, true, "x-sum", "1")
	})
	s := newRawStage(t, address, address, address, nil)
	w := s.stream()
	w.ask(true, "HEAD", "/a", "a")
	for {
		frame, err := w.framer.ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		if head, ok := frame.(*http2.MetaHeadersFrame); ok {
			if head.PseudoValue("status") != "200" || !head.StreamEnded() {
				t.Errorf("the client got %v, which ends the answer: %t", head.Fields, head.StreamEnded())
			}
			break
		}
	}
	s.exchange()
	s.counts(Counts{Requests: 1, Exchanged: 1, Compared: 1})
}

// Answers of an HTTP/2 primary that a client leaves where they are take little room, and nobody else waits for them.
func TestAnswersThatNobodyTakes(t *testing.T) {
	const streams = 20
	var sent atomic.Int64
	address := newH2C(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/short" {
			_, _ = io.WriteString(w, "short")
			return
		}
		for part := make([]byte, 64<<10); ; {
			n, err := w.Write(part)
			if sent.Add(int64(n)); err != nil {
				return
			}
		}
	})
	s := newRawStage(t, address, "http://127.0.0.1:1", "http://127.0.0.1:1", nil)
	w := s.stream()
	if err := w.framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0}); err != nil {
		t.Fatal(err)
	}
	for i := range uint32(streams) {
		head2(w.framer, 1+2*i, true, ":method", "GET", ":scheme", "http", ":path", "/long", ":authority", "a")
	}
	if ahead := s.steady("the primary is held back", &sent); ahead > streams*(aheadOfClient+128<<10) {
		t.Errorf("%d bytes wait for a client that takes none", ahead)
	}
	if _, body := s.get("/short"); body != "short" {
		t.Errorf("another client got %q", body)
	}
	_ = w.Close()
	s.eventually("they are given up", func() bool { return s.proxy.Counts().Open == 0 })
}
