package multicast

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// Requests whose end two readers may see in different places, each followed by one that shall not be slipped in with it.
func TestSmuggledRequests(t *testing.T) {
	const (
		post     = "POST /u HTTP/1.1\r\nHost: a\r\n"
		next     = "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"
		ended    = "0\r\n\r\n"
		abc      = "3\r\nabc\r\n0\r\n\r\n"
		chunked  = "Transfer-Encoding: chunked\r\n"
		refused  = 400
		notKnown = 501
	)
	for _, c := range []struct {
		name, sent string
		status     int // of the only answer; 0: both requests are well formed, and answered with 200
		asks       string
	}{
		// Taken as one reader alone would: by the chunks.
		{"length and chunked", post + "Content-Length: 4\r\n" + chunked + "\r\n" + ended, 0, "POST /u \"\" GET /smuggled \"\""},
		{"length over what follows and chunked", post + "Content-Length: 44\r\n" + chunked + "\r\n" + ended, 0, "POST /u \"\" GET /smuggled \"\""},
		{"chunked and length", post + chunked + "Content-Length: 13\r\n\r\n" + abc, 0, "POST /u \"abc\" GET /smuggled \"\""},
		{"length twice the same", post + "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc", 0, "POST /u \"abc\" GET /smuggled \"\""},
		{"folded line", post + "X-A: 1\r\n " + chunked + "Content-Length: 0\r\n\r\n", 0, "POST /u \"\" GET /smuggled \"\""},
		{"chunk extension", post + chunked + "\r\n3;a=\"b\"\r\nabc\r\n0;c\r\n\r\n", 0, "POST /u \"abc\" GET /smuggled \"\""},
		{"length with zeros", post + "Content-Length: 003\r\n\r\nabc", 0, "POST /u \"abc\" GET /smuggled \"\""},
		{"connection hides the length", post + "Connection: content-length\r\nContent-Length: 3\r\n\r\nabc", 0, "POST /u \"abc\" GET /smuggled \"\""},
		{"connection hides the chunks", post + "Connection: transfer-encoding\r\n" + chunked + "\r\n" + abc, 0, "POST /u \"abc\" GET /smuggled \"\""},
		{"length of a GET", "GET /u HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc", 0, "GET /u \"abc\" GET /smuggled \"\""},
		// Refused by the head, before anybody is asked.
		{"two lengths", post + "Content-Length: 3\r\nContent-Length: 44\r\n\r\nabc", refused, ""},
		{"list of lengths", post + "Content-Length: 3, 44\r\n\r\nabc", refused, ""},
		{"signed length", post + "Content-Length: +3\r\n\r\nabc", refused, ""},
		{"negative length", post + "Content-Length: -3\r\n\r\nabc", refused, ""},
		{"length in hex", post + "Content-Length: 0x3\r\n\r\nabc", refused, ""},
		{"giant length", post + "Content-Length: 18446744073709551619\r\n\r\nabc", refused, ""},
		{"gzip, chunked", post + "Transfer-Encoding: gzip, chunked\r\n\r\n" + abc, notKnown, ""},
		{"chunked, gzip", post + "Transfer-Encoding: chunked, gzip\r\n\r\n" + abc, notKnown, ""},
		{"chunked twice", post + chunked + chunked + "\r\n" + abc, notKnown, ""},
		{"xchunked", post + "Transfer-Encoding: xchunked\r\n\r\n" + abc, notKnown, ""},
		{"identity", post + "Transfer-Encoding: identity\r\n\r\n" + abc, notKnown, ""},
		{"chunked in quotes", post + "Transfer-Encoding: \"chunked\"\r\n\r\n" + abc, notKnown, ""},
		{"chunked, then identity", post + chunked + "Transfer-Encoding: identity\r\n\r\n" + abc, notKnown, ""},
		{"space before the colon", post + "Transfer-Encoding : chunked\r\n\r\n" + abc, refused, ""},
		{"vertical tab", post + "Transfer-Encoding:\x0bchunked\r\n\r\n" + abc, refused, ""},
		{"space in the name", post + "Transfer Encoding: chunked\r\n\r\n" + abc, refused, ""},
		{"space before the first name", "POST /u HTTP/1.1\r\n Host: a\r\n" + chunked + "\r\n" + abc, refused, ""},
		{"NUL in a value", post + "X-A: \x00\r\nContent-Length: 0\r\n\r\n", refused, ""},
		{"NUL in a name", post + "X\x00A: 1\r\nContent-Length: 0\r\n\r\n", refused, ""},
		{"carriage return in a value", post + "X-A: 1\r" + chunked + "\r\n" + abc, refused, ""},
		{"two hosts", post + "Host: b\r\nContent-Length: 0\r\n\r\n", refused, ""},
		{"no host", "POST /u HTTP/1.1\r\nContent-Length: 0\r\n\r\n", refused, ""},
		{"line without a colon", post + "X-A\r\nContent-Length: 0\r\n\r\n", refused, ""},
		// Refused by the body. The primary may have seen its beginning.
		{"chunk line with bare line feed", post + chunked + "\r\n3\nabc\n0\n\n", refused, "part"},
		{"chunk longer than its size", post + chunked + "\r\n3\r\nabcd\r\n0\r\n\r\n", refused, "part"},
		{"chunk size beyond 64 bits", post + chunked + "\r\n10000000000000003\r\nabc\r\n0\r\n\r\n", refused, "part"},
		{"signed chunk size", post + chunked + "\r\n+3\r\nabc\r\n0\r\n\r\n", refused, "part"},
		{"chunk size in 0x", post + chunked + "\r\n0x3\r\nabc\r\n0\r\n\r\n", refused, "part"},
		{"length that is none of chunks", post + chunked + "\r\nabc", refused, "part"},
	} {
		t.Run(c.name, func(t *testing.T) {
			asked := make(chan string, 10)
			s := newRawStage(t, readAll(t, asked), readAll(t, nil), readAll(t, nil), posts)
			w := s.dial()
			w.send(c.sent + next)
			if c.status == 0 {
				for range 2 {
					if res, _ := w.response("POST"); res.StatusCode != 200 {
						t.Errorf("got %s", res.Status)
					}
				}
				if got := <-asked + " " + <-asked; got != c.asks {
					t.Errorf("the primary was asked %s, not %s", got, c.asks)
				}
				return
			}
			res, _ := w.response("POST")
			if res.StatusCode != c.status || !res.Close {
				t.Errorf("got %s, closing %t", res.Status, res.Close)
			}
			if rest := w.rest(); rest != "" {
				t.Errorf("and then %q", rest)
			}
			s.eventually("placed", func() bool { return s.proxy.Counts().Open == 0 })
			if got := s.proxy.Counts(); got.Exchanged != 0 || (got.Requests != 0) != (c.asks == "part") {
				t.Errorf("counts are %+v", got)
			}
			s.stop()
			close(asked)
			for got := range asked {
				if c.asks != "part" || strings.Contains(got, "smuggled") {
					t.Errorf("the primary was asked %s", got)
				}
			}
		})
	}
}

// readAll is an upstream that reads requests one after the other, as their framing says, and tells of each that is whole.
// One that is framed twice is a fault.
func readAll(t *testing.T, asked chan<- string) string {
	return raw(t, func(conn net.Conn, r *bufio.Reader) {
		for {
			head, ok := readHead(r)
			if !ok {
				return
			}
			if strings.Contains(head, "\nContent-Length:") && strings.Contains(head, "\nTransfer-Encoding:") {
				t.Errorf("framed twice: %q", head)
			}
			req, err := http.ReadRequest(bufio.NewReader(io.MultiReader(strings.NewReader(head), r)))
			if err != nil {
				t.Errorf("%q: %v", head, err)
				return
			}
			body, err := io.ReadAll(req.Body)
			if err != nil {
				return
			}
			if asked != nil {
				asked <- req.Method + " " + req.URL.Path + " \"" + string(body) + "\""
			}
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		}
	})
}
