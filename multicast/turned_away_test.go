package multicast

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// turnsAway is a primary in HTTP/2 that has not looked at the first request, and says so once that has come as far as until
// tells: an end of the connection that leaves the request out, as a server says that restarts or has had enough of a
// connection, or a reset of the stream. The requests after it are answered with their bodies.
func turnsAway(t *testing.T, away func(framer *http2.Framer, stream uint32) error, until func(http2.Frame) bool) string {
	var done atomic.Bool
	address := raw(t, func(conn net.Conn, r *bufio.Reader) {
		if _, err := io.ReadFull(r, make([]byte, len(http2.ClientPreface))); err != nil {
			return
		}
		framer := http2.NewFramer(conn, r)
		_ = framer.WriteSettings()
		bodies := make(map[uint32]string)
		for {
			frame, err := framer.ReadFrame()
			if err != nil {
				return
			}
			id := frame.Header().StreamID
			if data, ok := frame.(*http2.DataFrame); ok {
				bodies[id] += string(data.Data())
			}
			switch {
			case id == 0:
			case until(frame) && !done.Swap(true):
				if away(framer, id) != nil {
					return
				}
			case frame.Header().Flags.Has(http2.FlagDataEndStream):
				var head bytes.Buffer
				_ = hpack.NewEncoder(&head).WriteField(hpack.HeaderField{Name: ":status", Value: "200"})
				_ = framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: head.Bytes(), EndHeaders: true})
				_ = framer.WriteData(id, true, []byte(bodies[id]))
			}
		}
	})
	return strings.Replace(address, "http:", "h2c:", 1)
}

func goAway(framer *http2.Framer, _ uint32) error { return framer.WriteGoAway(0, http2.ErrCodeNo, nil) }

func refuseStream(framer *http2.Framer, stream uint32) error {
	return framer.WriteRSTStream(stream, http2.ErrCodeRefusedStream)
}

// An upload that the primary says it has not looked at goes to it again, as a request without a body does: a client learns
// nothing of a primary that takes its leave, and the primary has each request once.
func TestUploadThatIsTurnedAwayGoesAgain(t *testing.T) {
	for name, away := range map[string]func(*http2.Framer, uint32) error{"the connection ends": goAway, "the stream is refused": refuseStream} {
		for how, request := range map[string]string{
			"a length": "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc",
			"chunks":   "POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n2\r\nbc\r\n0\r\n\r\n",
		} {
			t.Run(name+", "+how, func(t *testing.T) {
				whole := func(frame http2.Frame) bool { return frame.Header().Flags.Has(http2.FlagDataEndStream) }
				s := newRawStage(t, turnsAway(t, away, whole), newHandlerServer(t, digest), newHandlerServer(t, digest), posts)
				w := s.dial()
				w.send(request)
				if head, body := w.head(), w.read(len("3\r\nabc")); !strings.HasPrefix(head, "HTTP/1.1 200 ") || body != "3\r\nabc" {
					t.Fatalf("the client got %q, %q", head, body)
				}
				if ex := s.exchange(); string(ex.Request.Body) != "abc" || ex.Unknown != "" {
					t.Errorf("the exchange is %q with %q", ex.Unknown, ex.Request.Body)
				}
			})
		}
	}
}

// Not so one of which only a part is there: the client would have to send it again.
func TestHalfAnUploadThatIsTurnedAway(t *testing.T) {
	begun := func(frame http2.Frame) bool { return frame.Header().Type == http2.FrameData }
	s := newRawStage(t, turnsAway(t, goAway, begun), "http://127.0.0.1:1", "http://127.0.0.1:1", posts)
	w := s.dial()
	w.send("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nabc")
	if head := w.head(); !strings.HasPrefix(head, "HTTP/1.1 502 ") {
		t.Errorf("the client got %q", head)
	}
	s.counts(Counts{Requests: 1, Skipped: map[Reason]int64{ReasonPrimaryFailed: 1}})
}

// A shadow is asked again, too, where it has not looked at the request: it has not failed.
func TestShadowTurnsARequestAway(t *testing.T) {
	whole := func(frame http2.Frame) bool { return frame.Header().Flags.Has(http2.FlagDataEndStream) }
	for name, away := range map[string]func(*http2.Framer, uint32) error{"the connection ends": goAway, "the stream is refused": refuseStream} {
		for _, request := range []string{post("abc", false), post("abc", true), "GET /a HTTP/1.1\r\nHost: a\r\n\r\n"} {
			s := newRawStage(t, newHandlerServer(t, digest), newHandlerServer(t, digest), turnsAway(t, away, whole), posts)
			s.dial().send(request)
			if res := s.exchange().Response(Candidate); res.Outcome != OutcomeOK || res.Status != 200 {
				t.Errorf("%s, %.9q: the candidate's leg is %s (%s)", name, request, res.Outcome, res.Detail)
			}
		}
	}
}
