package multicast

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"fmt"
	"hash"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// piece is of what long bodies are made.
var piece = bytes.Repeat([]byte("0123456789abcdef"), 4096)

// pieces answers each request with a body of this size, of a known length or in chunks; sent is told of what has left.
func pieces(t *testing.T, size int64, chunked bool, sent *atomic.Int64) string {
	return raw(t, func(conn net.Conn, r *bufio.Reader) {
		for {
			if _, ok := readHead(r); !ok {
				return
			}
			head, begin, end, last := fmt.Sprintf("Content-Length: %d\r\n\r\n", size), "", "", ""
			if chunked {
				head, begin, end, last = "Transfer-Encoding: chunked\r\n\r\n", fmt.Sprintf("%x\r\n", len(piece)), "\r\n", "0\r\n\r\n"
			}
			_, err := io.WriteString(conn, "HTTP/1.1 200 OK\r\n"+head)
			whole := slicesOf(begin, piece, end)
			for n := int64(0); n < size && err == nil; n += int64(len(piece)) {
				_, err = conn.Write(whole)
				sent.Add(int64(len(piece)))
			}
			if _, err2 := io.WriteString(conn, last); err != nil || err2 != nil {
				return
			}
		}
	})
}

func slicesOf(begin string, middle []byte, end string) []byte {
	return append(append([]byte(begin), middle...), end...)
}

// sumOf is the hash of a body that pieces sends.
func sumOf(size int64) (sum [sha256.Size]byte) {
	h := sha256.New()
	for n := int64(0); n < size; n += int64(len(piece)) {
		h.Write(piece)
	}
	h.Sum(sum[:0])
	return sum
}

// heap is what is allocated, garbage included.
func heap() int64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// swept is heap without garbage.
func swept() int64 {
	runtime.GC()
	return heap()
}

// A download far over every cap comes through as it was sent and is held nowhere. It is compared by length and hash where
// it is within 64 caps; else the shadows are cut off and nothing is judged.
func TestDownloadIsHeldNowhere(t *testing.T) {
	for name, c := range map[string]struct {
		size    int64
		chunked bool
		cap     Size
		unknown Reason
	}{
		"compared":  {16 << 20, false, MiB, ""},
		"in chunks": {16 << 20, true, MiB, ""},
		"oversize":  {128 << 20, false, 64 * KiB, ReasonOversize},
	} {
		t.Run(name, func(t *testing.T) {
			var sent [3]atomic.Int64
			s := newRawStage(t, pieces(t, c.size, c.chunked, &sent[Primary]), pieces(t, c.size, c.chunked, &sent[Secondary]),
				pieces(t, c.size, c.chunked, &sent[Candidate]), func(cfg *Config) {
					cfg.Shadow.MaxResponseBody, cfg.Shadow.Timeout = c.cap, patience
				})
			w := s.dial()
			before := swept()
			w.send("GET /a HTTP/1.1\r\nHost: a\r\n\r\n")
			res, err := http.ReadResponse(w.r, nil)
			if err != nil {
				t.Fatal(err)
			}
			got, most, n := sha256.New(), int64(0), int64(0)
			for err == nil {
				var m int64
				m, err = io.CopyN(got, res.Body, 4<<20)
				n, most = n+m, max(most, heap()-before)
			}
			if want := sumOf(c.size); err != io.EOF || n != c.size || !bytes.Equal(got.Sum(nil), want[:]) {
				t.Errorf("%d bytes came, or others: %v", n, err)
			}
			if most > 20<<20 {
				t.Errorf("the heap has grown by %d bytes", most)
			}
			ex := s.exchange()
			if ex.Unknown != c.unknown {
				t.Errorf("the exchange is %q", ex.Unknown)
			}
			for role, res := range ex.Responses {
				if c.unknown == "" && (!res.Over || res.Body != nil || res.Size != c.size || res.Hash != sumOf(c.size)) {
					t.Errorf("the %s has %s, %d bytes", Role(role), res.Outcome, res.Size)
				}
				if Role(role) != Primary && c.unknown != "" && (res.Outcome != OutcomeOversize || res.Size > 64*int64(c.cap)+(64<<10)) {
					t.Errorf("the %s has %s, %d bytes", Role(role), res.Outcome, res.Size)
				}
			}
		})
	}
}

// steady waits until this count moves no more, and returns it.
func (s *stage) steady(what string, count *atomic.Int64) (last int64) {
	s.t.Helper()
	still := 0
	s.eventually(what, func() bool {
		now := count.Load()
		if still++; now != last {
			still, last = 0, now
		}
		return still > 200 && now > 0
	})
	return last
}

// A client that pauses in a long answer holds its primary back, and the proxy holds next to nothing for it meanwhile. The
// exchange is compared when the client goes on in time; else it is given up, and the client gets all the same bytes.
func TestPausingReader(t *testing.T) {
	const size, cap = 48 << 20, 1 << 20
	for name, c := range map[string]struct {
		timeout time.Duration
		unknown Reason
	}{"in time": {patience, ""}, "too late": {300 * time.Millisecond, ReasonPrimaryIncomplete}} {
		t.Run(name, func(t *testing.T) {
			var sent, shadowed atomic.Int64
			shadow := script(t, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", false)
			if c.unknown == "" {
				shadow = pieces(t, size, false, &shadowed)
			}
			s := newRawStage(t, pieces(t, size, false, &sent), shadow, shadow, func(cfg *Config) {
				cfg.Shadow.Timeout, cfg.Shadow.MaxResponseBody = c.timeout, cap
			})
			w := s.dial()
			_ = w.Conn.(*net.TCPConn).SetReadBuffer(64 << 10)
			before := swept()
			w.send("GET /a HTTP/1.1\r\nHost: a\r\n\r\n")
			head := w.head()
			if blocked := s.steady("the primary is held back", &sent); blocked >= size {
				t.Errorf("%d bytes are on their way to a client that reads nothing", blocked)
			}
			s.eventually("the shadows are done", func() bool { c := s.proxy.Counts(); return c.InFlight["candidate"]+c.InFlight["secondary"] == 0 })
			if c.unknown != "" {
				if ex := s.exchange(); ex.Unknown != c.unknown {
					t.Errorf("the exchange is %q", ex.Unknown)
				}
				s.eventually("nothing is held", func() bool { c := s.proxy.Counts(); return c.Open == 0 && c.CapturedBytes == 0 })
			}
			if held := s.proxy.Counts().CapturedBytes; held > 64<<10 { // heads: the bodies are over the cap
				t.Errorf("%d bytes are captured", held)
			}
			if grown := swept() - before; grown > 5<<20 {
				t.Errorf("the heap has grown by %d bytes", grown)
			}
			got := sha256.New()
			if n, err := io.CopyN(got, w.r, size); err != nil {
				t.Errorf("after %q came %d bytes, %v", head, n, err)
			}
			if want := sumOf(size); !bytes.Equal(got.Sum(nil), want[:]) {
				t.Error("the client got other bytes")
			}
			if c.unknown != "" {
				s.counts(Counts{Requests: 1, Exchanged: 1, Unknown: map[Reason]int64{c.unknown: 1}})
				return
			}
			for role, res := range s.exchange().Responses {
				if res.Size != size || !res.Over || res.Hash != sumOf(size) {
					t.Errorf("the %s has %s, %d bytes", Role(role), res.Outcome, res.Size)
				}
			}
			s.counts(Counts{Requests: 1, Exchanged: 1, Compared: 1})
		})
	}
}

// What a client has sent of an upload over the cap is with the primary before it sends more, and nothing of it is held.
func TestPausingUpload(t *testing.T) {
	var read atomic.Int64
	var mu sync.Mutex
	var sum hash.Hash = sha256.New()
	primary := newHandlerServer(t, func(w http.ResponseWriter, r *http.Request) {
		buf := make([]byte, 64<<10)
		for {
			n, err := r.Body.Read(buf)
			mu.Lock()
			sum.Write(buf[:n])
			mu.Unlock()
			if read.Add(int64(n)); err != nil {
				_, _ = io.WriteString(w, "hello")
				return
			}
		}
	})
	s := newRawStage(t, primary, "http://127.0.0.1:1", "http://127.0.0.1:1", posts)
	w := s.dial()
	part := strings.Repeat("0123456789abcdef", 256<<10/16)
	w.send("POST /u HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
	for i := range int64(4) {
		w.send(fmt.Sprintf("%x\r\n%s\r\n", len(part), part))
		s.eventually("the primary has all of it", func() bool { return read.Load() == (i+1)*int64(len(part)) })
		if held := s.proxy.Counts().CapturedBytes; held > 0 {
			t.Errorf("%d bytes are held after %d", held, read.Load())
		}
	}
	w.send("0\r\n\r\n")
	if res, body := w.response("POST"); res.StatusCode != 200 || body != "hello" {
		t.Errorf("the client got %d %q", res.StatusCode, body)
	}
	if want := sha256.Sum256([]byte(strings.Repeat(part, 4))); !bytes.Equal(sum.Sum(nil), want[:]) {
		t.Error("the primary got other bytes")
	}
	s.counts(Counts{Requests: 1, Skipped: map[Reason]int64{ReasonBodyTooLarge: 1}})
}

// Fifty answers of a hundred megabytes each, as fast as they come, cost no more than so many caps as there are legs.
func TestGiantAnswersCostTheirCaps(t *testing.T) {
	const legs, requests, cap = 4, 50, 1 << 20
	var sent atomic.Int64
	good := newHandlerServer(t, answer(200, "hello"))
	s := newRawStage(t, good, good, pieces(t, 100<<20, true, &sent), func(c *Config) {
		c.Shadow.Concurrency, c.Shadow.MaxResponseBody, c.Shadow.Queue, c.Shadow.Timeout = legs, cap, requests, patience
	})
	var mu sync.Mutex
	before, most := swept(), int64(0)
	captured := int64(0)
	stop := watch(func() {
		mu.Lock()
		most, captured = max(most, heap()-before), max(captured, s.proxy.Counts().CapturedBytes)
		mu.Unlock()
	})
	defer stop()
	s.crowd(requests, 1, "GET /a HTTP/1.1\r\nHost: a\r\n\r\n", "GET")
	for range requests {
		ex := s.exchange()
		if res := ex.Response(Candidate); ex.Unknown != "" || res.Outcome != OutcomeOversize || res.Size > cap+5+(64<<10) {
			t.Errorf("the exchange is %q, the candidate %s, %d of it read", ex.Unknown, res.Outcome, res.Size)
		}
	}
	stop()
	if most > legs*cap+32<<20 || captured > (legs+1)*cap+requests*4096 {
		t.Errorf("the heap grew by %d, %d bytes were captured", most, captured)
	}
	s.counts(Counts{Requests: requests, Exchanged: requests, Compared: requests})
}
