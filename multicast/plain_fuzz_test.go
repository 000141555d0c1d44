package multicast

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// FuzzShadowAnswer has the plain way and net/http's read the same bytes of a shadow, which then hangs up: they must come to
// the same outcome and, where that is an answer, to the same one.
func FuzzShadowAnswer(f *testing.F) {
	for _, answer := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n3;a=b\r\nabc\r\n0\r\nX: y\r\n\r\n",
		"HTTP/1.0 200 OK\r\n\r\nhello", "HTTP/1.1 204 No\r\n\r\n", "HTTP/1.1 101 Up\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
		"HTTP/1.1 103 Hints\r\nLink: a\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello",
		"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\nzz\r\n", "HTTP/1.1 099 Odd\r\n\r\n", "\x00\xff not http\r\n\r\n", "",
		"HTTP/1.1 200 OK\nA: b\n c\n\nx", "HTTP/1.1 200\r\nX : y\r\n\r\n", "HTTP/2.0 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nConnection: X-A\r\nX-A: 1\r\n\r\n",
		strings.Repeat("HTTP/1.1 102 Processing\r\n\r\n", 17),
	} {
		f.Add(answer, false)
		f.Add(answer, true)
	}
	answers := make(chan string)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = listener.Close() })
	go func() {
		for answer := range answers {
			if conn, err := listener.Accept(); err == nil {
				readHead(bufio.NewReader(conn))
				_, _ = io.WriteString(conn, answer)
				_ = conn.Close()
			}
		}
	}()
	f.Cleanup(func() { close(answers) })
	f.Fuzz(func(t *testing.T, answer string, head bool) {
		answer = answer[:min(len(answer), 64<<10)] // what sockets hold
		var told [2]string
		for i := range told {
			flight, shadow := asking(t, func(c *Config) { c.Candidate = "http://" + listener.Addr().String() })
			if head {
				flight.ex.Request.Method = "HEAD"
			}
			flight.account.memory = &flight.proxy.memory
			if i == 1 {
				if shadow.way, err = newNetHTTP(shadow, TLSConfig{}, patience, 1); err != nil {
					t.Fatal(err)
				}
			}
			answers <- answer
			var res Response
			shadow.do(flight, time.Now().Add(patience), &res)
			shadow.close()
			told[i] = fmt.Sprintf("%s %q\n%d %v\n%q %v", res.Outcome, res.Detail, res.Status, res.Header, res.Body, res.Trailer)
			if res.Outcome != OutcomeOK {
				told[i] = string(res.Outcome)
			}
		}
		if told[0] != told[1] {
			t.Errorf("the plain way has\n%s\nnet/http\n%s", told[0], told[1])
		}
	})
}
