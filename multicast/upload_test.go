package multicast

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
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
	s.eventually("placed", func() bool { return s.proxy.Counts().Open == 0 })
	if c := s.proxy.Counts(); c.Exchanged != 0 {
		t.Errorf("counts %+v", c)
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

// A primary that goes away in the middle of an upload is the primary's failure. The client learns it when it has sent the rest:
// until then net/http's transport waits for its reading goroutine.
func TestPrimaryGoesMidUpload(t *testing.T) {
	gone := make(chan struct{})
	primary := raw(t, func(conn net.Conn, r *bufio.Reader) {
		if _, ok := readHead(r); ok {
			_, _ = io.ReadFull(r, make([]byte, 3))
			_ = conn.Close()
			close(gone)
		}
	})
	s := newRawStage(t, primary, "http://127.0.0.1:1", "http://127.0.0.1:1", posts)
	w := s.dial()
	w.send("POST /u HTTP/1.1\r\nHost: a\r\nContent-Length: 12\r\n\r\nabc")
	<-gone
	w.send("defghijkl")
	if res, body := w.response("POST"); res.StatusCode != 502 || body != "bad gateway\n" {
		t.Errorf("got %s %q", res.Status, body)
	}
	_ = w.Close()
	s.counts(Counts{Requests: 1, Skipped: map[Reason]int64{ReasonPrimaryFailed: 1}})
}
