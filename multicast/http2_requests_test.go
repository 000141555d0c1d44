package multicast

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// stream is the first one of a client that writes HTTP/2 by hand, and so may say what no library lets it.
type stream struct {
	*wire
	framer *http2.Framer
}

func (s *stage) stream() *stream {
	w := s.dial()
	w.send(http2.ClientPreface)
	framer := http2.NewFramer(w, w.r)
	framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	if err := framer.WriteSettings(); err != nil {
		s.t.Fatal(err)
	}
	return &stream{w, framer}
}

// headers are names and values in turn.
func (w *stream) headers(end bool, fields ...string) {
	w.t.Helper()
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for i := 0; i < len(fields); i += 2 {
		_ = encoder.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	err := w.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block.Bytes(), EndHeaders: true, EndStream: end})
	if err != nil {
		w.t.Fatal(err)
	}
}

// ask begins a request; end says that it is the whole of it.
func (w *stream) ask(end bool, method, target, authority string, more ...string) {
	w.t.Helper()
	w.headers(end, append([]string{":method", method, ":scheme", "http", ":path", target, ":authority", authority}, more...)...)
}

// status waits for the answer.
func (w *stream) status() string {
	w.t.Helper()
	for {
		frame, err := w.framer.ReadFrame()
		if err != nil {
			w.t.Fatal(err)
		}
		if head, ok := frame.(*http2.MetaHeadersFrame); ok {
			return head.PseudoValue("status")
		}
	}
}

// showSpaces has a target that would end early in the request line of HTTP/1, and begin another one.
func showSpaces(t *testing.T, _ deviation) {
	s := newStage(t, nil, nil)
	w := s.stream()
	w.ask(true, "GET", "/a b?c HTTP/1.0", "a")
	if status := w.status(); status != "200" {
		t.Errorf("the client got %s", status)
	}
	s.exchange()
	for role, u := range s.upstream {
		if asked := u.requests(); len(asked) != 1 || asked[0].target != "/a%20b?c%20HTTP/1.0" {
			t.Errorf("the %s got %+v", Role(role), asked)
		}
	}
}

// showRefused has a request that cannot be sent on. That is not the primary's failure.
func showRefused(t *testing.T, method, target, authority string) {
	s := newStage(t, nil, nil)
	w := s.stream()
	w.ask(true, method, target, authority)
	if status := w.status(); status != "400" {
		t.Errorf("%s %s of %s: the client got %s", method, target, authority, status)
	}
	if asked := s.upstream[Primary].requests(); len(asked) > 0 || strings.Contains(s.log.String(), "primary failed") {
		t.Errorf("%s %s of %s: the primary got %+v; logged: %s", method, target, authority, asked, s.log)
	}
	s.eventually("it is counted", func() bool { return s.proxy.Counts().Open == 0 })
	if c := s.proxy.Counts(); c.Skipped[ReasonMethod]+c.Skipped[ReasonRequestIncomplete] != 1 {
		t.Errorf("%s %s of %s: counts %+v", method, target, authority, c)
	}
}

// showTrailersOverHTTP2 has trailers behind a body: where they were announced they go on.
func showTrailersOverHTTP2(t *testing.T, _ deviation) {
	s := newStage(t, nil, posts)
	for _, announced := range []string{"x-a", "x-b"} {
		w := s.stream()
		w.ask(false, "POST", "/a", "a", "trailer", announced)
		_ = w.framer.WriteData(1, false, []byte("abc"))
		w.headers(true, "x-a", "1")
		if status := w.status(); status != "200" {
			t.Errorf("the client got %s", status)
		}
		s.exchange()
		for role, u := range s.upstream {
			all := u.requests()
			if got := all[len(all)-1].trailer.Get("X-A") == "1"; got != (announced == "x-a") {
				t.Errorf("%s was announced: the %s got %+v", announced, Role(role), all)
			}
		}
	}
}

// showExpectOverHTTP2 has a client that waits for 100, which the primary does not say.
func showExpectOverHTTP2(t *testing.T, _ deviation) {
	heads, told := make(chan string, 1), make(chan struct{})
	primary := raw(t, func(conn net.Conn, r *bufio.Reader) {
		head, _ := readHead(r)
		heads <- head
		<-told
		_, _ = io.WriteString(conn, "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n")
		_, _ = r.ReadByte()
	})
	s := newRawStage(t, primary, "http://127.0.0.1:1", "http://127.0.0.1:1", nil)
	w := s.stream()
	w.ask(false, "POST", "/a", "a", "expect", "100-continue", "content-length", "3")
	if status := w.status(); status != "100" {
		t.Errorf("the client got %s", status)
	}
	close(told)
	if status := w.status(); status != "401" {
		t.Errorf("the client got %s in the end", status)
	}
	if head := <-heads; strings.Contains(head, "Expect") {
		t.Errorf("the primary got %q", head)
	}
	w = s.stream()
	w.ask(true, "GET", "/a", "a", "expect", "the-best")
	if status := w.status(); status != "401" {
		t.Errorf("the client got %s with another expectation", status)
	}
	if head := <-heads; !strings.Contains(head, "\r\nExpect: the-best\r\n") {
		t.Errorf("with another expectation the primary got %q", head)
	}
}

// showPragma has what net/http adds to both sides' messages as it reads them.
func showPragma(t *testing.T, d deviation) {
	showBytes("GET /a HTTP/1.1\r\nHost: a\r\nPragma: no-cache\r\n\r\n", "GET /a HTTP/1.1\r\nHost: a\r\nCache-Control: no-cache\r\nPragma: no-cache\r\n\r\n")(t, d)
	s := newRawStage(t, script(t, "HTTP/1.1 200 OK\r\nPragma: no-cache\r\nContent-Length: 2\r\n\r\nok", false), "http://127.0.0.1:1", "http://127.0.0.1:1", nil)
	w := s.dial()
	w.send("GET /a HTTP/1.1\r\nHost: a\r\n\r\n")
	if head := w.head(); head != "HTTP/1.1 200 OK\r\nCache-Control: no-cache\r\nContent-Length: 2\r\nPragma: no-cache\r\n\r\n" {
		t.Errorf("the client got %q", head)
	}
}

// A client of HTTP/2 whose connection ends while it sends has left, as one of HTTP/1 has: the primary has not failed. Which of
// two ways net/http tells of it is a matter of chance, so there are some.
func TestClientOfHTTP2EndsWhileUploading(t *testing.T) {
	const clients = 40
	asked := make(chan struct{}, clients)
	primary := newHandlerServer(t, func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		_, _ = r.Body.Read(make([]byte, 10))
	})
	s := newRawStage(t, primary, "http://127.0.0.1:1", "http://127.0.0.1:1", posts)
	for range clients {
		w := s.stream()
		w.ask(false, "POST", "/a", "a")
		await(t, "the primary is asked", asked)
		_ = w.Close()
	}
	s.counts(Counts{Requests: clients, Skipped: map[Reason]int64{ReasonClientAborted: clients}})
	if strings.Contains(s.log.String(), "primary failed") {
		t.Errorf("logged: %s", s.log)
	}
}

// An answer in HTTP/2 that has no length gets none on its way to a client that needs none, also where it is empty.
func TestAnswerOverHTTP2WithoutALength(t *testing.T) {
	address := newH2C(t, func(w http.ResponseWriter, _ *http.Request) { w.Header()["Content-Length"] = nil })
	s := newRawStage(t, address, "http://127.0.0.1:1", "http://127.0.0.1:1", nil)
	only := new(http.Protocols)
	only.SetUnencryptedHTTP2(true)
	client := &http.Transport{Protocols: only}
	t.Cleanup(client.CloseIdleConnections)
	r, _ := http.NewRequestWithContext(t.Context(), "GET", "http://"+s.addr+"/a", http.NoBody)
	res, err := client.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if length := res.Header["Content-Length"]; length != nil {
		t.Errorf("the client got Content-Length %q", length)
	}
}

// A client of HTTP/2 may be another proxy, with the requests of many on one connection: some uploads that the primary does not
// take must leave room for the others.
func TestStalledUploadsLeaveRoomForOthers(t *testing.T) {
	s := newStage(t, nil, nil)
	w := s.stream()
	one, all := uint32(0), uint32(65535)
	for one == 0 || all == 65535 {
		frame, err := w.framer.ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		switch frame := frame.(type) {
		case *http2.SettingsFrame:
			if v, said := frame.Value(http2.SettingInitialWindowSize); said {
				one = v
			}
		case *http2.WindowUpdateFrame:
			all += frame.Increment
		}
	}
	if all < 8*one {
		t.Errorf("a request may send %d bytes ahead, and all of a connection together %d", one, all)
	}
}

// showResetCode has a primary that resets its answer with a code of its own.
func showResetCode(t *testing.T, _ deviation) {
	always := func(http2.Frame) bool { return true }
	s := newRawStage(t, turnsAway(t, func(framer *http2.Framer, stream uint32) error {
		if err := framer.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: []byte{0x88}, EndHeaders: true}); err != nil { // :status: 200
			return err
		}
		return framer.WriteRSTStream(stream, http2.ErrCodeCancel)
	}, always), "http://127.0.0.1:1", "http://127.0.0.1:1", nil)
	w := s.stream()
	w.ask(true, "GET", "/a", "a")
	for {
		frame, err := w.framer.ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		if reset, ok := frame.(*http2.RSTStreamFrame); ok {
			if reset.ErrCode != http2.ErrCodeInternal {
				t.Errorf("the client got %s", reset.ErrCode)
			}
			return
		}
	}
}
