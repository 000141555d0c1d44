package multicast

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func posts(c *Config) {
	c.Methods = []string{"GET", "HEAD", "POST"}
	c.Shadow.MaxRequestBody = 64 * KiB
}

func post(body string, chunked bool) string {
	if !chunked {
		return fmt.Sprintf("POST /u HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	}
	return fmt.Sprintf("POST /u HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(body), body)
}

// digest answers with the hash of the request's body.
func digest(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	_, _ = fmt.Fprintf(w, "%x", sha256.Sum256(body))
}

func TestRequestBodyAtTheCap(t *testing.T) {
	s := newStage(t, map[Role]http.HandlerFunc{Primary: digest, Secondary: digest, Candidate: digest}, posts)
	const limit = 64 << 10
	for _, chunked := range []bool{false, true} {
		for _, size := range []int{1, limit - 1, limit, limit + 1} {
			body := strings.Repeat("x", size)
			w := s.dial()
			w.send(post(body, chunked))
			want := fmt.Sprintf("%x", sha256.Sum256([]byte(body)))
			if _, got := w.response("POST"); got != want {
				t.Errorf("%d bytes: the primary got something else", size)
			}
			if size > limit {
				continue
			}
			ex := s.exchange()
			if string(ex.Request.Body) != body {
				t.Errorf("%d bytes, chunked %v: %d captured", size, chunked, len(ex.Request.Body))
			}
			for role, res := range ex.Responses {
				if string(res.Body) != want {
					t.Errorf("%d bytes, chunked %v: the %s got something else", size, chunked, Role(role))
				}
			}
		}
	}
	s.counts(Counts{Requests: 8, Exchanged: 6, Compared: 6, Skipped: map[Reason]int64{ReasonBodyTooLarge: 2}})
	if n := len(s.upstream[Candidate].requests()); n != 6 {
		t.Errorf("the candidate was asked %d times", n)
	}
}

func TestNoRequestBodiesAtCapZero(t *testing.T) {
	s := newStage(t, nil, func(c *Config) {
		posts(c)
		c.Shadow.MaxRequestBody = 0
	})
	w := s.dial()
	w.send(post("", false))
	w.response("POST")
	s.exchange()
	w.send(post("x", false))
	w.response("POST")
	w.send(post("x", true))
	w.response("POST")
	s.counts(Counts{Requests: 3, Exchanged: 1, Compared: 1, Skipped: map[Reason]int64{ReasonBodyTooLarge: 2}})
}

// A chunked upload reaches the primary as it is sent, and the shadows when it is whole.
func TestUploadStreams(t *testing.T) {
	first := make(chan string, 3)
	stream := func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }
	s := newStage(t, map[Role]http.HandlerFunc{Secondary: stream, Candidate: stream}, func(c *Config) {
		posts(c)
	})
	primary := newStreamingUpstream(t, first)
	s2 := newRawStage(t, primary, s.upstream[Secondary].server.URL, s.upstream[Candidate].server.URL, posts)
	w := s2.dial()
	w.send("POST /u HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")
	if got := <-first; got != "abc" {
		t.Errorf("the primary got %q first", got)
	}
	w.send("2\r\nde\r\n0\r\n\r\n")
	if _, body := w.response("POST"); body != "abcde" {
		t.Errorf("the primary got %q", body)
	}
	ex := s2.exchange()
	for role, res := range ex.Responses {
		if string(res.Body) != "abcde" || res.Outcome != OutcomeOK {
			t.Errorf("%s: %+v", Role(role), res)
		}
	}
}

// newStreamingUpstream tells of the first bytes it gets at once, and answers with all of them.
func newStreamingUpstream(t *testing.T, first chan<- string) string {
	u := newHandlerServer(t, func(w http.ResponseWriter, r *http.Request) {
		buf := make([]byte, 3)
		_, _ = io.ReadFull(r.Body, buf)
		first <- string(buf)
		rest, _ := io.ReadAll(r.Body)
		_, _ = w.Write(append(buf, rest...))
	})
	return u
}

func TestAnswerAtTheCap(t *testing.T) {
	const limit = 32 << 10
	for _, size := range []int{0, 1, limit - 1, limit, limit + 1, 3 * limit} {
		body := strings.Repeat("y", size)
		s := newStage(t, map[Role]http.HandlerFunc{
			Primary: answer(200, body), Secondary: answer(200, body), Candidate: answer(200, body+"z"),
		}, func(c *Config) { c.Shadow.MaxResponseBody = limit })
		if _, got := s.get("/a"); got != body {
			t.Fatalf("%d bytes: the client got %d", size, len(got))
		}
		ex := s.exchange()
		for role, res := range ex.Responses {
			want := body
			if Role(role) == Candidate {
				want += "z"
			}
			over := len(want) > limit
			if res.Size != int64(len(want)) || res.Over != over || !over && string(res.Body) != want ||
				over && (res.Body != nil || res.Hash != sha256.Sum256([]byte(want))) {
				t.Errorf("%d bytes: the %s has size %d, over %v, %d kept", len(want), Role(role), res.Size, res.Over, len(res.Body))
			}
		}
	}
}

// A shadow that sends without end is cut off: where it has sent a cap more than the whole primary's, else at 64 caps.
func TestOversize(t *testing.T) {
	endless := func(w http.ResponseWriter, _ *http.Request) {
		for {
			if _, err := io.WriteString(w, strings.Repeat("z", 4096)); err != nil {
				return
			}
		}
	}
	s := newStage(t, map[Role]http.HandlerFunc{Candidate: endless}, func(c *Config) { c.Shadow.MaxResponseBody = 4 * KiB })
	s.get("/a")
	res := s.exchange().Response(Candidate)
	if res.Outcome != OutcomeOversize || !res.Over || res.Size <= 5+4096 || res.Size > 5+4096+(32<<10) {
		t.Errorf("the candidate has %s, size %d", res.Outcome, res.Size)
	}
	s.counts(Counts{Requests: 1, Exchanged: 1, Compared: 1}) // longer than the primary's: a difference

	long := strings.Repeat("z", 100*4096)
	s = newStage(t, map[Role]http.HandlerFunc{Primary: answer(200, long), Secondary: answer(200, long), Candidate: endless},
		func(c *Config) { c.Shadow.MaxResponseBody = 4 * KiB })
	if _, body := s.get("/a"); body != long {
		t.Errorf("the client got %d bytes", len(body))
	}
	ex := s.exchange()
	if res := ex.Response(Candidate); ex.Unknown != ReasonOversize || res.Size <= 64*4096 || res.Size > 64*4096+(32<<10) {
		t.Errorf("the exchange is %q, the candidate's size %d", ex.Unknown, res.Size)
	}
	s.counts(Counts{Requests: 1, Exchanged: 1, Unknown: map[Reason]int64{ReasonOversize: 1}})
}

// With the budget spent, exchanges are dropped and the clients notice nothing.
func TestMemoryBudget(t *testing.T) {
	release := make(chan struct{})
	hang := func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}
	s := newStage(t, map[Role]http.HandlerFunc{Primary: digest, Secondary: hang, Candidate: hang}, func(c *Config) {
		posts(c)
		c.Shadow.Memory = 1 * MiB
	})
	body := strings.Repeat("x", 60<<10)
	want := fmt.Sprintf("%x", sha256.Sum256([]byte(body)))
	for range 40 {
		w := s.dial()
		w.send(post(body, true))
		if _, got := w.response("POST"); got != want {
			t.Fatal("the primary got something else")
		}
		if held := s.proxy.Counts().CapturedBytes; held > 1<<20 {
			t.Fatalf("%d bytes are held", held)
		}
	}
	s.eventually("some are dropped", func() bool { return s.proxy.Counts().Dropped[ReasonMemory] > 0 })
	close(release)
	s.eventually("every request has its place", func() bool { return s.proxy.Counts().Open == 0 })
	c := s.proxy.Counts()
	if c.Exchanged < 10 || c.Compared+c.Unknown[ReasonMemory]+c.Dropped[ReasonMemory] != 40 {
		t.Errorf("counts are %+v", c)
	}
}

// When the budget ends with the answers, the exchange is unknown.
func TestMemoryEndsWithTheAnswers(t *testing.T) {
	long := strings.Repeat("z", 900<<10)
	s := newStage(t, map[Role]http.HandlerFunc{Primary: answer(200, long), Secondary: answer(200, long), Candidate: answer(200, long)},
		func(c *Config) { c.Shadow.Memory = 1 * MiB })
	if _, body := s.get("/a"); body != long {
		t.Errorf("the client got %d bytes", len(body))
	}
	if ex := s.exchange(); ex.Unknown != ReasonMemory {
		t.Errorf("the exchange is %q", ex.Unknown)
	}
	s.counts(Counts{Requests: 1, Exchanged: 1, Unknown: map[Reason]int64{ReasonMemory: 1}})
}

func TestReserveUsesTheSameBudget(t *testing.T) {
	granted := make(chan [2]bool, 1)
	s := newStage(t, nil, func(c *Config) { c.Shadow.Memory = 1 * MiB })
	s.proxy.deps.Deliver = func() Deliver {
		return func(ex *Exchange) { granted <- [2]bool{ex.Reserve(900 << 10), ex.Reserve(900 << 10)} }
	}
	s.get("/a")
	if got := <-granted; got != [2]bool{true, false} {
		t.Errorf("granted %v", got)
	}
	s.eventually("all is given back", func() bool { return s.proxy.Counts().CapturedBytes == 0 })
}

func TestCaptureAgainstAPlainOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.Int64Range(0, 20_000).Draw(t, "limit")
		budget := new(memory)
		budget.limit.Store(rapid.Int64Range(0, 40_000).Draw(t, "budget"))
		a := &account{memory: budget}
		c := capture{account: a, limit: limit, digest: true}
		c.expect(rapid.Int64Range(-1, 50_000).Draw(t, "expected"), rapid.SampledFrom([]int64{firstRoom, answerRoom}).Draw(t, "ahead"))
		var all []byte
		for _, n := range rapid.SliceOfN(rapid.IntRange(0, 9000), 0, 8).Draw(t, "writes") {
			p := bytes.Repeat([]byte{byte(n)}, n)
			all = append(all, p...)
			c.write(p)
			if budget.used.Load() > budget.limit.Load() || budget.used.Load() < 0 || budget.used.Load() != a.held.Load() {
				t.Fatalf("%d of %d used, %d held", budget.used.Load(), budget.limit.Load(), a.held.Load())
			}
		}
		var res Response
		held := int64(cap(c.body))
		c.into(&res)
		switch {
		case res.Size != int64(len(all)):
			t.Fatalf("size %d of %d", res.Size, len(all))
		case c.lost:
			if res.Body != nil {
				t.Fatal("something was kept without a budget")
			}
		case int64(len(all)) > limit:
			if !res.Over || res.Body != nil || res.Hash != sha256.Sum256(all) {
				t.Fatalf("over %v, kept %d", res.Over, len(res.Body))
			}
		case res.Over || !bytes.Equal(res.Body, all) || held > fit(max(limit, int64(len(all)))):
			t.Fatalf("over %v, kept %d of %d in %d", res.Over, len(res.Body), len(all), held)
		}
		if a.close(); budget.used.Load() != 0 {
			t.Fatalf("%d left", budget.used.Load())
		}
	})
}

// A large upload costs no more than the cap, and a client that pauses holds nothing back.
func TestOverTheCapStreams(t *testing.T) {
	first := make(chan string, 1)
	s := newRawStage(t, newStreamingUpstream(t, first), "http://127.0.0.1:1", "http://127.0.0.1:1", posts)
	w := s.dial()
	big := strings.Repeat("x", 256<<10)
	w.send(fmt.Sprintf("POST /u HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", len(big), big))
	if got := <-first; got != "xxx" {
		t.Errorf("the primary got %q first", got)
	}
	s.eventually("the capture is given up", func() bool { return s.proxy.Counts().CapturedBytes == 0 })
	w.send("1\r\ny\r\n0\r\n\r\n")
	if _, body := w.response("POST"); body != big+"y" {
		t.Errorf("the primary got %d bytes", len(body))
	}
	s.counts(Counts{Requests: 1, Skipped: map[Reason]int64{ReasonBodyTooLarge: 1}})
}

// A client may announce much, and send little for hours: of the budget it has about what has come, and what came whole
// is asked of the shadows whole.
func TestATricklingUploadHoldsLittle(t *testing.T) {
	const size = 60 << 10
	first := make(chan string, 1)
	s := newRawStage(t, newStreamingUpstream(t, first), newHandlerServer(t, digest), newHandlerServer(t, digest), posts)
	w := s.dial()
	w.send(fmt.Sprintf("POST /u HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\nxxx", size))
	if got := <-first; got != "xxx" {
		t.Errorf("the primary got %q first", got)
	}
	if held := s.proxy.Counts().CapturedBytes; held != firstRoom {
		t.Errorf("3 bytes hold %d", held)
	}
	body := strings.Repeat("x", size)
	w.send(body[3:])
	if _, got := w.response("POST"); got != body {
		t.Errorf("the primary got %d bytes", len(got))
	}
	want := fmt.Sprintf("%x", sha256.Sum256([]byte(body)))
	if ex := s.exchange(); string(ex.Request.Body) != body || string(ex.Response(Candidate).Body) != want {
		t.Errorf("kept %d bytes; the candidate saw others: %q", len(ex.Request.Body), ex.Response(Candidate).Body)
	}
}
