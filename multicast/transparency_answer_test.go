package multicast

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// FuzzAnswer lets the primary say the fuzzer's bytes.
func FuzzAnswer(f *testing.F) {
	heads, rests := answerParts()
	n := 0
	add := func(text string) {
		f.Add([]byte(text), uint64(n%3), uint8(n))
		n++
	}
	for _, head := range heads {
		add(head + "\r\n" + rests[0])
		add(head + "\r\n\r\nok")
	}
	for _, rest := range rests {
		add(heads[0] + "\r\n" + rest)
		add(heads[1] + "\r\n" + rest)
	}
	before := heads[len(heads)-1]
	for _, text := range []string{"", "H", "HTTP/1.1", "HTTP/1.1 200 OK\r\nX", "\x00\xff not http", strings.Repeat(before, 40), before} {
		add(text)
	}
	s := newStageOfBytes(f)
	f.Fuzz(func(t *testing.T, text []byte, cuts uint64, how uint8) { s.tryHow(t, string(text), cuts, how) })
}

// FuzzComposedAnswer lets the primary say what is built of parts.
func FuzzComposedAnswer(f *testing.F) {
	for n := range 40 {
		f.Add([]byte{byte(n), byte(n * 7), byte(n * 3), byte(n * 11)}, uint64(n%3), uint8(n))
	}
	s := newStageOfBytes(f)
	f.Fuzz(func(t *testing.T, picks []byte, cuts uint64, how uint8) { s.tryHow(t, composeAnswer(picks), cuts, how) })
}

func (s *stageOfBytes) tryHow(t *testing.T, text string, cuts uint64, how uint8) {
	methods := [...]string{"GET", "HEAD", "POST", "OPTIONS"}
	s.try(t, scripted{speech{text, cuts}, how&4 != 0, how&8 != 0}, methods[how&3])
}

// scripted is what an upstream says to whoever asks for /a: bytes, after which it closes the connection or, if they are a
// whole answer, keeps it.
type scripted struct {
	speech
	keep  bool // the connection
	reset bool // instead of closing it properly
}

// stageOfBytes is a proxy before an upstream that speaks bytes, in all three roles.
type stageOfBytes struct {
	scene
	upstream  string
	script    atomic.Pointer[scripted]
	exchanges chan *Exchange
}

func newStageOfBytes(t testing.TB) *stageOfBytes {
	s := &stageOfBytes{exchanges: make(chan *Exchange, 100)}
	s.upstream = rawUpstream(t, s.speak)
	cfg := DefaultConfig()
	cfg.Listen = "127.0.0.1:0"
	cfg.Server.Drain = 100 * time.Millisecond
	cfg.Methods = []string{"GET", "HEAD", "POST", "OPTIONS"}
	for _, address := range []*string{&cfg.Primary, &cfg.Secondary, &cfg.Candidate} {
		*address = "http://" + s.upstream
	}
	var err error
	s.proxy, err = New(cfg, Deps{
		Log:     slog.New(slog.NewTextHandler(&s.scene, nil)),
		Deliver: func() Deliver { return func(ex *Exchange) { s.exchanges <- keep(ex) } },
	})
	if err != nil {
		t.Fatal(err)
	}
	s.run(t)
	return s
}

// rawUpstream listens until the test ends; each connection is spoken to in a goroutine of its own.
func rawUpstream(t testing.TB, speak func(conn *net.TCPConn)) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
			go func() {
				speak(conn.(*net.TCPConn))
				_ = conn.Close()
				stop()
			}()
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		cancel()
		<-done
	})
	return listener.Addr().String()
}

func (s *stageOfBytes) speak(conn *net.TCPConn) {
	r := bufio.NewReader(conn)
	for {
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, req.Body)
		if req.URL.Path != "/a" {
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nnext")
			continue
		}
		script := s.script.Load()
		script.say(conn)
		if script.reset {
			_ = conn.SetLinger(0)
		}
		if !script.keep {
			return
		}
	}
}

// conclude is what a client makes of the bytes of an answer: net/http's view, since the proxy reads with it.
func conclude(r *bufio.Reader, method string) (heard, error) {
	var t heard
	for {
		res, err := http.ReadResponse(r, &http.Request{Method: method})
		if err != nil {
			return t, err
		}
		if res.StatusCode >= 100 && res.StatusCode < 200 && res.StatusCode != 101 {
			t.interim = append(t.interim, interim{res.StatusCode, res.Header})
			continue
		}
		t.version, t.status, t.header = fmt.Sprintf("%d.%d", res.ProtoMajor, res.ProtoMinor), res.StatusCode, res.Header
		announced := slices.Collect(maps.Keys(res.Trailer))
		body, err := io.ReadAll(res.Body)
		t.body, t.cut, t.trailer = string(body), err != nil, res.Trailer
		for _, name := range announced {
			if t.trailer[name] == nil {
				delete(t.trailer, name)
			}
		}
		switch {
		case method == "HEAD" || t.status < 200 || t.status == 204 || t.status == 304:
			t.framing = "none"
		case slices.Contains(res.TransferEncoding, "chunked"):
			t.framing, t.names = "chunked", sortedList(announced)
		case res.ContentLength >= 0:
			t.framing = "length"
		default:
			t.framing = "close"
		}
		return t, nil
	}
}

// try has the upstream say this, and reports what the client of the proxy concludes that one of the upstream would not.
func (s *stageOfBytes) try(t *testing.T, words scripted, method string) (direct, through heard, met []string) {
	whole := bufio.NewReader(strings.NewReader(words.bytes))
	direct, broken := conclude(whole, method)
	words.keep = words.keep && broken == nil && !direct.cut && direct.framing != "close"
	if whole.Buffered() > 0 { // what came much later than the answer could be taken for that to the next question
		words.cuts, words.keep = 0, words.keep && len(words.bytes) < 4<<10
	}
	words.reset = words.reset && (broken != nil || direct.cut) && !words.keep
	s.script.Store(&words)
	conn, err := call(s.addr, net.IPv4(127, 0, 0, 1))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, method+" /a HTTP/1.1\r\nHost: a\r\n\r\n")
	r := reader{bufio.NewReader(conn)}
	through, err = r.answer(method)
	if err != nil {
		through.garbage = err.Error()
	}
	c := answerComparison{script: words, method: method, direct: direct, broken: broken, want: clone(direct), got: through}
	met = c.allow()
	differHeard(func(format string, args ...any) { t.Errorf(format, args...) }, 0, c.want, c.got)
	for _, inner := range []string{s.upstream, "127.0.0.1"} {
		if broken != nil && strings.Contains(fmt.Sprint(through), inner) {
			t.Errorf("the client learns the address %s", inner)
		}
	}
	s.next(t, conn, r, through)
	s.rolesAgree(t, direct, broken)
	if s.panicked.Swap(false) {
		t.Error("a panic was logged")
	}
	(&stage{t: t, proxy: s.proxy, log: &logBuffer{}}).identity()
	if t.Failed() {
		t.Logf("%s: said %q, cuts %d, keep %v, reset %v\nmet: %v\ndirect:  %+v, %v\nthrough: %+v\nwanted:  %+v", method, words.bytes, words.cuts, words.keep, words.reset, met, direct, broken, through, c.want)
	}
	return direct, through, met
}

// next asks once more, for what is none of the script, on the same connection if it is kept.
func (s *stageOfBytes) next(t *testing.T, conn *net.TCPConn, r reader, before heard) {
	if before.closes || before.cut || before.garbage != "" || before.status == 101 {
		var err error
		_ = conn.Close()
		if conn, err = call(s.addr, net.IPv4(127, 0, 0, 1)); err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		r = reader{bufio.NewReader(conn)}
	}
	_, _ = io.WriteString(conn, "GET /next HTTP/1.1\r\nHost: a\r\n\r\n")
	if after, err := r.answer("GET"); err != nil || after.status != 200 || after.body != "next" || after.cut {
		t.Errorf("the next request is answered with %+v, %v", after, err)
	}
}

// rolesAgree checks that the shadows, who got the same bytes, concluded the same.
func (s *stageOfBytes) rolesAgree(t *testing.T, direct heard, broken error) {
	deadline := time.Now().Add(hung)
	tick := time.NewTicker(50 * time.Microsecond)
	defer tick.Stop()
	for counts := s.proxy.Counts(); counts.Open != 0 || counts.CapturedBytes != 0; counts = s.proxy.Counts() {
		if <-tick.C; time.Now().After(deadline) {
			t.Fatalf("not over after %s: %+v", hung, s.proxy.Counts())
		}
	}
	for {
		select {
		case ex := <-s.exchanges:
			primary := ex.Response(Primary)
			for _, role := range [...]Role{Secondary, Candidate} {
				shadow := ex.Response(role)
				if len(direct.interim) > maxInformational || ex.Unknown != "" {
					continue
				}
				if primary.Outcome != OutcomeOK || shadow.Outcome != OutcomeOK || primary.Status != shadow.Status ||
					!maps.EqualFunc(primary.Header, shadow.Header, slices.Equal) || !bytes.Equal(primary.Body, shadow.Body) ||
					!maps.EqualFunc(primary.Trailer, shadow.Trailer, slices.Equal) {
					t.Errorf("of the same bytes the primary made\n%+v, the %s\n%+v", *primary, role, *shadow)
				}
			}
		default:
			return
		}
	}
}

type answerComparison struct {
	script scripted
	method string
	direct heard
	broken error // why a client cannot make out the head
	want   heard
	got    heard
}

func clone(t heard) heard { return talk{heard: []heard{t}}.clone().heard[0] }

// headers are all that are wanted.
func (c *answerComparison) headers() []http.Header {
	all := []http.Header{c.want.header, c.want.trailer}
	for _, before := range c.want.interim {
		all = append(all, before.header)
	}
	return all
}

func (c *answerComparison) allow() (met []string) {
	for _, d := range deviations() {
		if d.answer == nil {
			continue
		}
		before := fmt.Sprint(c.want)
		if d.answer(c); fmt.Sprint(c.want) != before {
			met = append(met, d.name)
		}
	}
	return met
}
