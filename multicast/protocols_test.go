package multicast

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestWebSocketPasses(t *testing.T) {
	primary := raw(t, func(conn net.Conn, r *bufio.Reader) {
		if _, ok := readHead(r); !ok {
			return
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
		_, _ = io.Copy(conn, r)
	})
	s := newRawStage(t, primary, "http://127.0.0.1:1", "http://127.0.0.1:1", nil)
	w := s.dial()
	w.send("GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	if head := w.head(); !strings.HasPrefix(head, "HTTP/1.1 101 ") {
		t.Fatalf("got %q", head)
	}
	for i := range 3 {
		frame := fmt.Sprintf("frame %d", i)
		w.send(frame)
		if got := w.read(len(frame)); got != frame {
			t.Errorf("got %q", got)
		}
	}
	_ = w.Close()
	s.counts(Counts{Requests: 1, Skipped: map[Reason]int64{ReasonUpgrade: 1}})
}

// HTTP/2 with prior knowledge from the client, and to each upstream that wants it.
func TestHTTP2(t *testing.T) {
	echo := func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = fmt.Fprintf(w, "%s %s %s", r.Method, r.RequestURI, body)
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	backend := httptest.NewUnstartedServer(http.HandlerFunc(echo))
	backend.Config.Protocols = protocols
	backend.Start()
	t.Cleanup(backend.Close)
	h2c := strings.Replace(backend.URL, "http:", "h2c:", 1)
	only := new(http.Protocols)
	only.SetUnencryptedHTTP2(true)
	client := &http.Transport{Protocols: only}
	t.Cleanup(client.CloseIdleConnections)
	for _, address := range []string{backend.URL, h2c} {
		s := newRawStage(t, address, address, address, posts)
		for _, body := range []string{"", "abc"} {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			req, err := http.NewRequestWithContext(ctx, map[bool]string{true: "GET", false: "POST"}[body == ""], "http://"+s.addr+"/a%2Fb?c", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			res, err := client.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			got, _ := io.ReadAll(res.Body)
			cancel()
			if want := fmt.Sprintf("%s /a%%2Fb?c %s", req.Method, body); string(got) != want || res.ProtoMajor != 2 {
				t.Errorf("got %q over %s", got, res.Proto)
			}
			ex := s.exchange()
			for role, answer := range ex.Responses {
				if string(answer.Body) != string(got) || answer.Outcome != OutcomeOK {
					t.Errorf("%s: the %s answered %s %q", address, Role(role), answer.Outcome, answer.Body)
				}
			}
		}
		s.counts(Counts{Requests: 2, Exchanged: 2, Compared: 2})
	}
}

// Events arrive as they are sent, and so does an answer of known length that drips.
func TestAnswersStream(t *testing.T) {
	next := make(chan struct{})
	for name, head := range map[string]string{
		"events": "Content-Type: text/event-stream\r\n\r\n", "length": "Content-Length: 12\r\n\r\n",
	} {
		primary := raw(t, func(conn net.Conn, r *bufio.Reader) {
			if _, ok := readHead(r); !ok {
				return
			}
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n"+head)
			for range 3 {
				<-next
				_, _ = io.WriteString(conn, "drop")
			}
		})
		s := newRawStage(t, primary, "http://127.0.0.1:1", "http://127.0.0.1:1", nil)
		w := s.dial()
		w.send("GET /a HTTP/1.1\r\nHost: a\r\n\r\n")
		w.head() // before the first byte of the body
		for range 3 {
			next <- struct{}{}
			if name == "events" {
				w.read(len("4\r\n"))
			}
			if got := w.read(4); got != "drop" {
				t.Errorf("%s: got %q", name, got)
			}
			if name == "events" {
				w.read(2)
			}
		}
		_ = w.Close()
		s.eventually("placed", func() bool { return s.proxy.Counts().Open == 0 })
		s.stop()
	}
}

// A head over the limit is refused by the server.
func TestServerLimits(t *testing.T) {
	s := newStage(t, nil, func(c *Config) {
		c.Server.MaxHeader = 4 * KiB
		c.Server.ReadHeaderTimeout = 100 * time.Millisecond
	})
	w := s.dial()
	w.send("GET /a HTTP/1.1\r\nHost: a\r\nX-A: " + strings.Repeat("a", 16<<10) + "\r\n\r\n")
	if res, _ := w.response("GET"); res.StatusCode != 431 {
		t.Errorf("got %s", res.Status)
	}
	w = s.dial()
	w.send("GET /a HTTP/1.1\r\n")
	w.rest() // ends, since the rest of the head never came
	w = s.dial()
	w.send("POST /a HTTP/1.1\r\nHost: a\r\nExpect: miracles\r\nContent-Length: 1\r\n\r\n")
	if res, _ := w.response("POST"); res.StatusCode != 417 {
		t.Errorf("got %s", res.Status)
	}
}

// A stream that an HTTP/2 primary resets before it answers is no answer, whatever the client speaks.
func TestResetStreamIsNoAnswer(t *testing.T) {
	inEachCombination(t, func(t *testing.T, c combination) {
		address := c.upstream(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
		s := newRawStage(t, address, "http://127.0.0.1:1", "http://127.0.0.1:1", posts)
		res := c.do(t, c.request(t, t.Context(), s, http.NoBody))
		if body := text(t, res); res.StatusCode != http.StatusBadGateway || body != "bad gateway\n" {
			t.Errorf("got %d %q", res.StatusCode, body)
		}
		s.counts(Counts{Requests: 1, Skipped: map[Reason]int64{ReasonPrimaryFailed: 1}})
	})
}
