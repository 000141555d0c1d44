package multicast

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// A primary that answers before it has the body: the client learns it at once, and the connection ends.
func TestEarlyAnswer(t *testing.T) {
	for _, length := range []string{"Content-Length: 50000000", "Content-Length: 12", "Transfer-Encoding: chunked"} {
		for name, sent := range map[string]string{
			"empty": "HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
			"short": "HTTP/1.1 413 Content Too Large\r\nContent-Length: 2\r\n\r\nno",
		} {
			primary := raw(t, func(conn net.Conn, r *bufio.Reader) {
				if _, ok := readHead(r); ok {
					_, _ = io.WriteString(conn, sent)
					_, _ = io.Copy(io.Discard, r)
				}
			})
			s := newRawStage(t, primary, "http://127.0.0.1:1", "http://127.0.0.1:1", posts)
			w := s.dial()
			w.send("POST /u HTTP/1.1\r\nHost: a\r\n" + length + "\r\n\r\n")
			if length == "Transfer-Encoding: chunked" {
				w.send("3\r\nabc\r\n")
			} else {
				w.send("abc")
			}
			if head := w.head(); !strings.HasPrefix(head, "HTTP/1.1 413 ") || !strings.Contains(head, "Connection: close\r\n") {
				t.Errorf("%s, %s: got %q", length, name, head)
			}
			_ = w.Conn.(*net.TCPConn).CloseWrite()
			w.rest()
			s.counts(Counts{Requests: 1, Skipped: map[Reason]int64{ReasonRequestIncomplete: 1}})
			s.stop()
			if strings.Contains(s.log.String(), "invalid concurrent") {
				t.Errorf("%s, %s: %s", length, name, s.log)
			}
		}
	}
}

// A primary that answers each chunk as it comes.
func TestFullDuplex(t *testing.T) {
	primary := newHandlerServer(t, func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).EnableFullDuplex()
		buf := make([]byte, 3)
		for {
			n, err := r.Body.Read(buf)
			_, _ = w.Write(buf[:n])
			_ = http.NewResponseController(w).Flush()
			if err != nil {
				return
			}
		}
	})
	s := newRawStage(t, primary, "http://127.0.0.1:1", "http://127.0.0.1:1", posts)
	w := s.dial()
	w.send("POST /u HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nab0\r\n")
	w.head()
	for i := range 4 {
		if got := w.read(8); got != fmt.Sprintf("3\r\nab%d\r\n", i) {
			t.Errorf("echo %d is %q", i, got)
		}
		if i < 3 {
			w.send(fmt.Sprintf("3\r\nab%d\r\n", i+1))
		}
	}
	w.send("0\r\n\r\n")
	if got := w.rest(); got != "0\r\n\r\n" {
		t.Errorf("the end is %q", got)
	}
	s.counts(Counts{Requests: 1, Skipped: map[Reason]int64{ReasonRequestIncomplete: 1}})
}

func TestExpectAccepted(t *testing.T) {
	backend := newHandlerServer(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Shadow-Request") != "" && r.Header["Expect"] != nil {
			w.WriteHeader(http.StatusExpectationFailed)
			return
		}
		_, _ = io.Copy(w, r.Body) // reading is what makes net/http say 100
	})
	s := newRawStage(t, backend, backend, backend, posts)
	w := s.dial()
	w.send("POST /u HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n")
	if head := w.head(); head != "HTTP/1.1 100 Continue\r\n\r\n" {
		t.Fatalf("got %q", head)
	}
	w.send("hello")
	if res, body := w.response("POST"); res.StatusCode != 200 || body != "hello" {
		t.Errorf("got %d %q", res.StatusCode, body)
	}
	for role, res := range s.exchange().Responses {
		if res.Status != 200 || string(res.Body) != "hello" {
			t.Errorf("the %s answered %d %q", Role(role), res.Status, res.Body)
		}
	}
}

// However often the primary says 100, and whenever: a client that waits for one gets one.
func TestExpectGetsOneContinue(t *testing.T) {
	primary := raw(t, func(conn net.Conn, r *bufio.Reader) {
		if _, ok := readHead(r); ok {
			_, _ = io.WriteString(conn, "HTTP/1.1 100 Continue\r\n\r\n")
			_, _ = io.CopyN(io.Discard, r, 5)
			_, _ = io.WriteString(conn, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		}
	})
	s := newRawStage(t, primary, "http://127.0.0.1:1", "http://127.0.0.1:1", nil)
	w := s.dial()
	w.send("POST /u HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n")
	if head := w.head(); head != "HTTP/1.1 100 Continue\r\n\r\n" {
		t.Fatalf("got %q", head)
	}
	w.send("hello")
	if head := w.head(); !strings.HasPrefix(head, "HTTP/1.1 200 ") || w.read(2) != "ok" {
		t.Errorf("got %q", head)
	}
}

// An expectation that the primary does not hear of, or does not understand, is met by the proxy: nobody waits.
func TestExpectNobodyElseMeets(t *testing.T) {
	for _, scheme := range []string{"http:", "h2c:"} {
		for _, head := range []string{"Expect: 100-continue\r\nConnection: Expect\r\n", "Expect: 100-continue x\r\n"} {
			primary := strings.Replace(newH2C(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }), "h2c:", scheme, 1)
			s := newRawStage(t, primary, "http://127.0.0.1:1", "http://127.0.0.1:1", nil)
			w := s.dial()
			w.send("POST /u HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n" + head + "\r\n")
			if got := w.head(); got != "HTTP/1.1 100 Continue\r\n\r\n" {
				t.Fatalf("%s %q: got %q", scheme, head, got)
			}
			w.send("hello")
			if res, body := w.response("POST"); res.StatusCode != 200 || body != "hello" {
				t.Errorf("%s %q: got %s %q", scheme, head, res.Status, body)
			}
		}
	}
}

func TestExpectRefused(t *testing.T) {
	for _, closing := range []string{"Connection: close\r\n", ""} {
		primary := raw(t, func(conn net.Conn, r *bufio.Reader) {
			if _, ok := readHead(r); ok {
				_, _ = io.WriteString(conn, "HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n"+closing+"\r\nno")
				_, _ = io.Copy(io.Discard, r)
			}
		})
		s := newRawStage(t, primary, "http://127.0.0.1:1", "http://127.0.0.1:1", posts)
		w := s.dial()
		w.send("POST /u HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n")
		if head := w.head(); !strings.HasPrefix(head, "HTTP/1.1 401 ") || w.read(2) != "no" {
			t.Errorf("%q: got %q", closing, head)
		}
		_ = w.Close()
		s.eventually("placed", func() bool { return s.proxy.Counts().Open == 0 })
		s.stop()
		if c := s.proxy.Counts(); c.Exchanged != 0 {
			t.Errorf("%q: counts %+v", closing, c)
		}
	}
}

// What is no body is the client's fault, and says so.
func TestBrokenUpload(t *testing.T) {
	s := newStage(t, nil, posts)
	w := s.dial()
	w.send("POST /u HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nzzz\r\n")
	if res, _ := w.response("POST"); res.StatusCode != 400 || !res.Close {
		t.Errorf("got %s", res.Status)
	}
	s.counts(Counts{Requests: 1, Skipped: map[Reason]int64{ReasonRequestIncomplete: 1}})
	if strings.Contains(s.log.String(), "primary failed") {
		t.Errorf("logged: %s", s.log)
	}
}

// Two lengths in one request go on as one: chunked.
func TestSmuggling(t *testing.T) {
	for name, request := range map[string]string{
		"length and chunked": "POST /u HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"two lengths":        "POST /u HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\n",
		"signed length":      "POST /u HTTP/1.1\r\nHost: a\r\nContent-Length: +3\r\n\r\n",
		"gzip, chunked":      "POST /u HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
		"xchunked":           "POST /u HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n",
		"space before colon": "POST /u HTTP/1.1\r\nHost: a\r\nTransfer-Encoding : chunked\r\n\r\n",
		"two encodings":      "POST /u HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n",
		"NUL":                "POST /u HTTP/1.1\r\nHost: a\r\nX-A: \x00\r\nContent-Length: 0\r\n\r\n",
	} {
		s := newStage(t, nil, posts)
		w := s.dial()
		w.send(request)
		res, _ := w.response("POST")
		_ = w.Close()
		asked := s.upstream[Primary].requests()
		switch {
		case name == "length and chunked":
			s.exchange()
			if len(asked) != 1 || asked[0].length != -1 || asked[0].body != "" || asked[0].header["Content-Length"] != nil {
				t.Errorf("%s: the primary got %+v", name, asked)
			}
		case res.StatusCode < 400 || len(asked) > 0:
			t.Errorf("%s: %s, the primary got %d", name, res.Status, len(asked))
		}
	}
}

// A primary that goes away in the middle of an upload is the primary's failure. The client learns it at once, though it has
// not sent the rest.
func TestPrimaryGoesMidUpload(t *testing.T) {
	for _, length := range []string{"Content-Length: 12\r\n\r\nabc", "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"} {
		primary := raw(t, func(conn net.Conn, r *bufio.Reader) {
			if _, ok := readHead(r); ok {
				_, _ = io.ReadFull(r, make([]byte, 3))
			}
		})
		s := newRawStage(t, primary, "http://127.0.0.1:1", "http://127.0.0.1:1", posts)
		w := s.dial()
		w.send("POST /u HTTP/1.1\r\nHost: a\r\n" + length)
		if res, body := w.response("POST"); res.StatusCode != 502 || body != "bad gateway\n" || !res.Close {
			t.Errorf("got %s %q", res.Status, body)
		}
		_ = w.Close()
		s.counts(Counts{Requests: 1, Skipped: map[Reason]int64{ReasonPrimaryFailed: 1}})
	}
}

// A primary that refuses an upload and closes, while the upload goes on, is heard (golang.org/issue/11745).
func TestRefusedWhileSending(t *testing.T) {
	primary := raw(t, func(conn net.Conn, r *bufio.Reader) {
		if _, ok := readHead(r); ok {
			_, _ = io.WriteString(conn, "HTTP/1.1 413 Content Too Large\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno")
		}
	})
	s := newRawStage(t, primary, "http://127.0.0.1:1", "http://127.0.0.1:1", posts)
	for range 20 {
		w := s.dial()
		w.send("POST /u HTTP/1.1\r\nHost: a\r\nContent-Length: 200000\r\n\r\n")
		go func() { _, _ = io.WriteString(w.Conn, strings.Repeat("x", 200000)) }()
		if res, body := w.response("POST"); res.StatusCode != 413 || body != "no" {
			t.Fatalf("got %s %q", res.Status, body)
		}
		_ = w.Close()
	}
}

// A body of known length reaches the primary as it drips, and no shadow hears of it before it is whole.
func TestSlowUpload(t *testing.T) {
	got := make(chan byte)
	whole := make(chan struct{})
	primary := raw(t, func(conn net.Conn, r *bufio.Reader) {
		if _, ok := readHead(r); !ok {
			return
		}
		for range 10 {
			c, _ := r.ReadByte()
			got <- c
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
	})
	early := make(chan string, 2)
	shadow := newHandlerServer(t, func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-whole:
		default:
			early <- r.RequestURI
		}
		_, _ = io.Copy(w, r.Body)
	})
	s := newRawStage(t, primary, shadow, shadow, posts)
	w := s.dial()
	w.send("POST /u HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n")
	for _, c := range []byte("0123456789") {
		if c == '9' {
			close(whole)
		}
		w.send(string(c))
		if arrived := <-got; arrived != c {
			t.Errorf("the primary got %q for %q", arrived, c)
		}
	}
	if _, body := w.response("POST"); body != "ok" {
		t.Errorf("got %q", body)
	}
	ex := s.exchange()
	if res := ex.Response(Candidate); string(res.Body) != "0123456789" || res.Outcome != OutcomeOK || len(early) > 0 {
		t.Errorf("the candidate got %q, %d too early", res.Body, len(early))
	}
}

// A primary that answers without a 100, and breaks off, leaves nothing hanging: the client is cut off at once.
func TestExpectAnsweredAndBrokenOff(t *testing.T) {
	for _, closing := range []string{"Connection: close\r\n", ""} {
		const answer = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n"
		primary := script(t, answer+closing+"\r\nabcd", true)
		s := newRawStage(t, primary, "http://127.0.0.1:1", "http://127.0.0.1:1", posts)
		w := s.dial()
		begin := time.Now()
		w.send("POST /u HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n")
		if head := w.head(); !strings.HasPrefix(head, "HTTP/1.1 200 ") || w.rest() != "abcd" {
			t.Errorf("got %q", head)
		}
		if took := time.Since(begin); took > patience/2 {
			t.Errorf("it took %s", took)
		}
		s.counts(Counts{Requests: 1, Skipped: map[Reason]int64{ReasonRequestIncomplete: 1}})
	}
}

// A refused client that has sent nothing is not waited for: the connection ends with the answer.
func TestExpectRefusedEnds(t *testing.T) {
	primary := script(t, "HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\nno", false)
	s := newRawStage(t, primary, "http://127.0.0.1:1", "http://127.0.0.1:1", posts)
	w := s.dial()
	w.send("POST /u HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n")
	if head := w.head(); !strings.HasPrefix(head, "HTTP/1.1 401 ") || !strings.Contains(head, "Connection: close\r\n") || w.rest() != "no" {
		t.Errorf("got %q", head)
	}
}

// HTTP/1.0 knows no 100: the body comes anyway, and nothing is said of it to anyone.
func TestExpectFromHTTP10(t *testing.T) {
	heads := make(chan string, 1)
	primary := raw(t, func(conn net.Conn, r *bufio.Reader) {
		head, ok := readHead(r)
		if !ok {
			return
		}
		heads <- head
		_, _ = io.ReadFull(r, make([]byte, 5))
		_, _ = io.WriteString(conn, "HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
	})
	s := newRawStage(t, primary, "http://127.0.0.1:1", "http://127.0.0.1:1", nil)
	w := s.dial()
	w.send("POST /u HTTP/1.0\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\nhello")
	if head := w.head(); !strings.HasPrefix(head, "HTTP/1.0 200 ") || w.rest() != "ok" {
		t.Errorf("got %q", head)
	}
	if head := <-heads; strings.Contains(head, "Expect") {
		t.Errorf("the primary got %q", head)
	}
}

// What follows a request of doubtful framing is never taken for a request of its own.
func TestSmuggledRequestIsNone(t *testing.T) {
	for name, request := range map[string]string{
		"length and chunked": "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"bare LF in a chunk": "Transfer-Encoding: chunked\r\n\r\n3\nabc\r\n0\r\n\r\n",
		"chunk extension":    "Transfer-Encoding: chunked\r\n\r\n3;a=\nabc\r\n0\r\n\r\n",
		"two lengths":        "Content-Length: 0\r\nContent-Length: 5\r\n\r\n",
		"gzip":               "Transfer-Encoding: gzip, chunked\r\n\r\n",
		"folded":             "Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n",
	} {
		s := newStage(t, nil, posts)
		w := s.dial()
		w.send("POST /u HTTP/1.1\r\nHost: a\r\n" + request + "GET /smuggled HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
		answers := strings.Count(w.rest(), "HTTP/1.1 ")
		asked := s.upstream[Primary].requests()
		legal := name == "length and chunked" || name == "folded" // what follows is a request by all rules
		if !legal && (answers != 1 || len(asked) > 1) || legal && len(asked) != 2 {
			t.Errorf("%s: %d answers, the primary got %d", name, answers, len(asked))
		}
		for _, got := range asked {
			if got.target == "/smuggled" && !legal || got.header["Transfer-Encoding"] != nil || got.length >= 0 && len(got.encoding) > 0 {
				t.Errorf("%s: the primary got %+v", name, got)
			}
		}
	}
}
