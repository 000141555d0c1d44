package multicast

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// combination is a Go client of one version of HTTP, and the version that is spoken to the upstreams.
type combination struct {
	client *http.Client
	major  int    // the client's
	scheme string // the upstreams'
	dials  *atomic.Int64
}

// inEachCombination tells a story four times: HTTP/1.1 and HTTP/2 on either side.
func inEachCombination(t *testing.T, story func(t *testing.T, c combination)) {
	for _, major := range []int{1, 2} {
		for _, scheme := range []string{"http:", "h2c:"} {
			t.Run(fmt.Sprintf("%d to %s", major, scheme), func(t *testing.T) {
				story(t, combination{newGoClient(t, major), major, scheme, new(atomic.Int64)}.counting())
			})
		}
	}
}

func newGoClient(t *testing.T, major int) *http.Client {
	transport := &http.Transport{Protocols: new(http.Protocols), MaxConnsPerHost: 8, MaxIdleConnsPerHost: 8, ExpectContinueTimeout: patience}
	transport.Protocols.SetHTTP1(major == 1)
	transport.Protocols.SetUnencryptedHTTP2(major == 2)
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: patience}
}

// counting counts the connections that the client makes.
func (c combination) counting() combination {
	c.client.Transport.(*http.Transport).DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c.dials.Add(1)
		return new(net.Dialer).DialContext(ctx, network, addr)
	}
	return c
}

func (c combination) upstream(t *testing.T, handler http.HandlerFunc) string {
	return strings.Replace(newH2C(t, handler), "h2c:", c.scheme, 1)
}

// alone is a proxy whose shadows are not there.
func (c combination) alone(t *testing.T, primary http.HandlerFunc) *stage {
	return newRawStage(t, c.upstream(t, primary), "http://127.0.0.1:1", "http://127.0.0.1:1", posts)
}

// pipe is a body that is written as it goes. It breaks off rather than let a client wait for ever.
func (c combination) pipe(t *testing.T) (body io.Reader, upload *io.PipeWriter) {
	r, w := io.Pipe()
	context.AfterFunc(patient(t), func() { _ = w.CloseWithError(io.ErrUnexpectedEOF) })
	return r, w
}

func (c combination) request(t *testing.T, ctx context.Context, s *stage, body io.Reader) *http.Request {
	t.Helper()
	method := "POST"
	if body == nil {
		method = "GET"
	}
	r, err := http.NewRequestWithContext(ctx, method, "http://"+s.addr+"/a", body)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (c combination) do(t *testing.T, r *http.Request) *http.Response {
	t.Helper()
	res, err := c.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	if res.ProtoMajor != c.major {
		t.Errorf("the answer came over %s", res.Proto)
	}
	return res
}

// text reads an answer to its end.
func text(t *testing.T, res *http.Response) string {
	t.Helper()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatalf("read body: %v after %d bytes", err, len(body))
	}
	return string(body)
}

// await takes what is bound to come.
func await[T any](t *testing.T, what string, from <-chan T) T {
	t.Helper()
	select {
	case value := <-from:
		return value
	case <-time.After(patience):
		t.Fatalf("%s: not so after %s", what, patience)
		panic("unreachable")
	}
}

// One connection serves many requests in turn; eight serve more at once.
func TestGoClientKeepsConnections(t *testing.T) {
	inEachCombination(t, func(t *testing.T, c combination) {
		var mu sync.Mutex
		peers := make(map[string]bool)
		address := c.upstream(t, func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			peers[r.RemoteAddr] = true
			mu.Unlock()
			_, _ = io.Copy(w, r.Body)
		})
		shadow := c.upstream(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
		s := newRawStage(t, address, shadow, shadow, posts)
		once := func(i int) error {
			body := strings.Repeat(fmt.Sprint(i), i%50)
			res, err := c.client.Do(c.request(t, t.Context(), s, strings.NewReader(body)))
			if err != nil {
				return err
			}
			defer res.Body.Close()
			if got, err := io.ReadAll(res.Body); err != nil || string(got) != body {
				return fmt.Errorf("request %d got %q, %v", i, got, err)
			}
			return nil
		}
		const inTurn, workers, each = 12, 16, 3
		for i := range inTurn {
			if err := once(i); err != nil {
				t.Fatal(err)
			}
		}
		if n := c.dials.Load(); n != 1 {
			t.Errorf("the client made %d connections in turn", n)
		}
		if len(peers) != 1 {
			t.Errorf("the primary was asked on %d connections in turn", len(peers))
		}
		failures := make(chan error, workers)
		for range workers {
			go func() {
				var err error
				for i := range each {
					err = errors.Join(err, once(i))
				}
				failures <- err
			}()
		}
		for range workers {
			if err := <-failures; err != nil {
				t.Error(err)
			}
		}
		if n := c.dials.Load(); n > 8 {
			t.Errorf("the client made %d connections", n)
		}
		if n := len(peers); n > 1+workers {
			t.Errorf("the primary was asked on %d connections", n)
		}
		const all = inTurn + workers*each
		s.counts(Counts{Requests: all, Exchanged: all, Compared: all})
	})
}

// A hundred streams at once on one connection, each held until all have come to the primary; each is shadowed.
func TestHundredStreams(t *testing.T) {
	const streams = 100
	for _, scheme := range []string{"http:", "h2c:"} {
		t.Run(scheme, func(t *testing.T) {
			c := combination{newGoClient(t, 2), 2, scheme, new(atomic.Int64)}
			var all sync.WaitGroup
			all.Add(streams)
			var mu sync.Mutex
			asked := make(map[string]int)
			primary := c.upstream(t, func(w http.ResponseWriter, r *http.Request) {
				all.Done()
				all.Wait()
				_, _ = io.WriteString(w, r.RequestURI)
			})
			shadow := c.upstream(t, func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				asked[r.RequestURI]++
				mu.Unlock()
				_, _ = io.WriteString(w, r.RequestURI)
			})
			s := newRawStage(t, primary, shadow, shadow, nil)
			// The client's pool would now and then make another connection.
			conn, err := c.client.Transport.(*http.Transport).NewClientConn(patient(t), "http", s.addr)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			ctx, failures := patient(t), make(chan error, streams)
			for i := range streams {
				go func() { failures <- getStream(ctx, conn, fmt.Sprintf("http://%s/n/%d", s.addr, i)) }()
			}
			for range streams {
				if err := <-failures; err != nil {
					t.Error(err)
				}
			}
			s.counts(Counts{Requests: streams, Exchanged: streams, Compared: streams})
			mu.Lock()
			defer mu.Unlock()
			for i := range streams {
				if n := asked[fmt.Sprint("/n/", i)]; n != 2 {
					t.Errorf("stream %d came to the shadows %d times", i, n)
				}
			}
		})
	}
}

// getStream expects to be answered with the path.
func getStream(ctx context.Context, conn *http.ClientConn, address string) error {
	r, err := http.NewRequestWithContext(ctx, "GET", address, nil)
	if err != nil {
		return err
	}
	res, err := conn.RoundTrip(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if got, err := io.ReadAll(res.Body); err != nil || string(got) != r.URL.Path || res.ProtoMajor != 2 {
		return fmt.Errorf("%s got %q over %s, %v", r.URL.Path, got, res.Proto, err)
	}
	return nil
}

// Each part of an upload is with the primary before the next is sent; the shadows get it whole.
func TestGoClientStreamsItsUpload(t *testing.T) {
	inEachCombination(t, func(t *testing.T, c combination) {
		read := make(chan string)
		primary := c.upstream(t, func(w http.ResponseWriter, r *http.Request) {
			part := make([]byte, 5)
			for {
				if _, err := io.ReadFull(r.Body, part); err != nil {
					break
				}
				read <- string(part)
			}
			_, _ = io.WriteString(w, "part0part1part2part3")
		})
		shadow := c.upstream(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
		s := newRawStage(t, primary, shadow, shadow, posts)
		body, upload := c.pipe(t)
		go func() {
			for i := range 4 {
				part := fmt.Sprint("part", i)
				_, _ = io.WriteString(upload, part)
				if got := <-read; got != part {
					t.Errorf("the primary read %q, want %q", got, part)
				}
			}
			_ = upload.Close()
		}()
		res := c.do(t, c.request(t, t.Context(), s, body))
		if got := text(t, res); got != "part0part1part2part3" {
			t.Errorf("got %q", got)
		}
		for role, res := range s.exchange().Responses {
			if string(res.Body) != "part0part1part2part3" {
				t.Errorf("the %s answered %q", Role(role), res.Body)
			}
		}
	})
}

// A primary that answers each part as it comes is heard at once, and to the end.
func TestGoClientDuplex(t *testing.T) {
	inEachCombination(t, func(t *testing.T, c combination) {
		s := c.alone(t, func(w http.ResponseWriter, r *http.Request) {
			control := http.NewResponseController(w)
			_ = control.EnableFullDuplex() // with HTTP/2 it is so anyway
			part := make([]byte, 5)
			for {
				n, err := io.ReadFull(r.Body, part)
				_, _ = w.Write(part[:n])
				_ = control.Flush()
				if err != nil {
					return
				}
			}
		})
		body, upload := c.pipe(t)
		go func() { _, _ = io.WriteString(upload, "part0") }()
		res := c.do(t, c.request(t, t.Context(), s, body))
		for i := range 4 {
			got := make([]byte, 5)
			if _, err := io.ReadFull(res.Body, got); err != nil || string(got) != fmt.Sprint("part", i) {
				t.Fatalf("echo %d is %q, %v", i, got, err)
			}
			if i < 3 {
				_, _ = fmt.Fprint(upload, "part", i+1)
			}
		}
		_ = upload.Close()
		if got := text(t, res); got != "" {
			t.Errorf("the end is %q", got)
		}
		s.counts(Counts{Requests: 1, Skipped: map[Reason]int64{ReasonRequestIncomplete: 1}})
	})
}

// A refusal comes while the upload has hardly begun.
func TestGoClientRefusedEarly(t *testing.T) {
	inEachCombination(t, func(t *testing.T, c combination) {
		s := c.alone(t, func(w http.ResponseWriter, _ *http.Request) {
			_ = http.NewResponseController(w).EnableFullDuplex() // or net/http waits for the upload's end
			w.Header().Set("Connection", "close")
			http.Error(w, "too much", http.StatusRequestEntityTooLarge)
		})
		body, upload := c.pipe(t)
		go func() { _, _ = io.WriteString(upload, "abc") }()
		res := c.do(t, c.request(t, t.Context(), s, body))
		if got := text(t, res); res.StatusCode != http.StatusRequestEntityTooLarge || got != "too much\n" {
			t.Errorf("got %s %q", res.Status, got)
		}
		_ = upload.Close()
		s.counts(Counts{Requests: 1, Skipped: map[Reason]int64{ReasonRequestIncomplete: 1}})
	})
}

// Trailers both ways, announced and, in answers, unannounced; the shadows get them and theirs are kept.
func TestTrailersInEachCombination(t *testing.T) {
	inEachCombination(t, func(t *testing.T, c combination) {
		got := make(chan http.Header, 3)
		address := c.upstream(t, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			got <- r.Trailer.Clone()
			w.Header().Set("Trailer", "X-Sum, X-Never")
			_ = http.NewResponseController(w).Flush()
			_, _ = w.Write(body)
			w.Header()["X-Sum"] = []string{"1", "2"}
			w.Header().Set(http.TrailerPrefix+"X-Late", "unannounced")
		})
		s := newRawStage(t, address, address, address, posts)
		r := c.request(t, t.Context(), s, io.MultiReader(strings.NewReader("hello"))) // of unknown length
		r.Trailer = http.Header{"X-Checksum": {"5d41"}, "X-Signed-By": {"me"}}
		r.Header.Set("TE", "trailers")
		res := c.do(t, r)
		if res.Trailer == nil || len(res.Trailer["X-Sum"]) > 0 {
			t.Errorf("announced are %v", res.Trailer)
		}
		if body := text(t, res); body != "hello" {
			t.Errorf("got %q", body)
		}
		if sums := res.Trailer["X-Sum"]; strings.Join(sums, ",") != "1,2" || res.Trailer.Get("X-Late") != "unannounced" || res.Header.Get("X-Sum") != "" {
			t.Errorf("the trailers are %v, the header %v", res.Trailer, res.Header)
		}
		for range 3 {
			if trailer := await(t, "an upstream is asked", got); trailer.Get("X-Checksum") != "5d41" || trailer.Get("X-Signed-By") != "me" {
				t.Errorf("an upstream got the trailers %v", trailer)
			}
		}
		for role, res := range s.exchange().Responses {
			if strings.Join(res.Trailer["X-Sum"], ",") != "1,2" || res.Trailer.Get("X-Late") != "unannounced" || string(res.Body) != "hello" {
				t.Errorf("the %s answered %q with trailers %v", Role(role), res.Body, res.Trailer)
			}
		}
	})
}

// A client that waits for 100 sends its body when the primary has said so, and never when it refuses. With HTTP/2 net/http's
// server keeps Expect to itself, so that the proxy invites the body as soon as the primary is asked.
func TestGoClientExpects(t *testing.T) {
	inEachCombination(t, func(t *testing.T, c combination) {
		for _, accept := range []bool{true, false} {
			var sent atomic.Int64
			s := c.alone(t, func(w http.ResponseWriter, r *http.Request) {
				if !accept {
					w.WriteHeader(http.StatusForbidden)
					return
				}
				if n := sent.Load(); n > 0 && c.major == 1 {
					t.Errorf("%d bytes were sent before the primary asked for them", n)
				}
				_, _ = io.Copy(w, r.Body)
			})
			r := c.request(t, t.Context(), s, counted{strings.NewReader("hello"), &sent})
			r.ContentLength = 5
			r.Header.Set("Expect", "100-continue")
			res := c.do(t, r)
			if body := text(t, res); accept && (res.StatusCode != 200 || body != "hello") {
				t.Errorf("accepted: got %s %q", res.Status, body)
			}
			if n := sent.Load(); !accept && (res.StatusCode != http.StatusForbidden || n > 0 && c.major == 1) {
				t.Errorf("refused: got %s after %d bytes", res.Status, n)
			}
			s.stop()
		}
	})
}

type counted struct {
	io.Reader
	n *atomic.Int64
}

func (c counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// A client that goes ends its request at the primary too, before the answer or in it, and is told of as one that went.
func TestGoClientGoes(t *testing.T) {
	inEachCombination(t, func(t *testing.T, c combination) {
		asked, ended := make(chan bool, 1), make(chan error, 1)
		var answers atomic.Bool
		s := c.alone(t, func(w http.ResponseWriter, r *http.Request) {
			if answers.Load() {
				_, _ = io.WriteString(w, "first words")
				_ = http.NewResponseController(w).Flush()
			}
			asked <- true
			<-r.Context().Done()
			ended <- r.Context().Err()
		})
		ctx, leave := context.WithCancel(t.Context())
		failure := make(chan error, 1)
		r := c.request(t, ctx, s, nil)
		go func() {
			res, err := c.client.Do(r)
			if err == nil {
				_ = res.Body.Close()
			}
			failure <- err
		}()
		await(t, "the primary is asked", asked)
		leave()
		if err := await(t, "the client is gone", failure); !errors.Is(err, context.Canceled) {
			t.Errorf("the client got %v", err)
		}
		await(t, "the primary hears of it", ended)
		s.counts(Counts{Requests: 1, Skipped: map[Reason]int64{ReasonClientAborted: 1}})

		answers.Store(true)
		ctx, leave = context.WithCancel(t.Context())
		defer leave()
		res := c.do(t, c.request(t, ctx, s, nil))
		words := make([]byte, len("first words"))
		if _, err := io.ReadFull(res.Body, words); err != nil || string(words) != "first words" {
			t.Errorf("got %q, %v", words, err)
		}
		await(t, "the primary is asked", asked)
		leave()
		await(t, "the primary hears of it", ended)
		s.eventually("placed", func() bool { return s.proxy.Counts().Open == 0 })
		if got := s.proxy.Counts(); got.Unknown[ReasonClientAborted] != 1 || got.Compared != 0 {
			t.Errorf("counts are %+v", got)
		}
		if log := s.log.String(); strings.Contains(log, "primary failed") {
			t.Errorf("the primary is blamed:\n%s", log)
		}
	})
}

// An answer that breaks off is an error, never an end.
func TestGoClientSeesTruncation(t *testing.T) {
	inEachCombination(t, func(t *testing.T, c combination) {
		for _, length := range []string{"", "10"} {
			s := c.alone(t, func(w http.ResponseWriter, _ *http.Request) {
				if length != "" {
					w.Header().Set("Content-Length", length)
				}
				_, _ = io.WriteString(w, "four")
				_ = http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			})
			res := c.do(t, c.request(t, t.Context(), s, nil))
			if body, err := io.ReadAll(res.Body); err == nil || string(body) != "four" {
				t.Errorf("length %q: got %q, %v", length, body, err)
			}
			s.eventually("placed", func() bool { return s.proxy.Counts().Open == 0 })
			if got := s.proxy.Counts(); got.Compared != 0 {
				t.Errorf("length %q: counts are %+v", length, got)
			}
			s.stop()
		}
	})
}

// Informational answers come before the answer, in order and with their own headers only.
func TestGoClientIsInformed(t *testing.T) {
	inEachCombination(t, func(t *testing.T, c combination) {
		s := c.alone(t, func(w http.ResponseWriter, r *http.Request) {
			h := w.Header()
			h["Link"] = []string{"</a.css>; rel=preload", "</b.js>; rel=preload"}
			w.WriteHeader(http.StatusEarlyHints)
			delete(h, "Link")
			w.WriteHeader(http.StatusProcessing)
			h.Set("X-A", "1")
			_, _ = io.WriteString(w, "done")
		})
		var informed []string
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got1xxResponse: func(code int, header textproto.MIMEHeader) error {
			informed = append(informed, fmt.Sprint(code, header["Link"], len(header)))
			return nil
		}})
		res := c.do(t, c.request(t, ctx, s, nil))
		if body := text(t, res); body != "done" || res.Header.Get("X-A") != "1" || res.Header["Link"] != nil {
			t.Errorf("got %v %q", res.Header, body)
		}
		if got, want := strings.Join(informed, ", "), "103 [</a.css>; rel=preload </b.js>; rel=preload] 1, 102 [] 0"; got != want {
			t.Errorf("the client was informed of %q", got)
		}
	})
}

// A reader of server-sent events has each before the next is sent, and when it leaves the primary hears of it.
func TestEventsReader(t *testing.T) {
	inEachCombination(t, func(t *testing.T, c combination) {
		next, left := make(chan string), make(chan string, 1)
		send := events(next)
		s := c.alone(t, func(w http.ResponseWriter, r *http.Request) {
			send(w, r)
			left <- r.Header.Get("Last-Event-Id")
		})
		ctx, leave := context.WithCancel(t.Context())
		defer leave()
		r := c.request(t, ctx, s, nil)
		r.Header.Set("Accept", "text/event-stream")
		r.Header.Set("Last-Event-ID", "41")
		res := c.do(t, r) // before the first event
		if res.Header.Get("Content-Type") != "text/event-stream" || res.Header.Get("Cache-Control") != "no-store" || res.ContentLength != -1 {
			t.Errorf("got %v", res.Header)
		}
		lines := bufio.NewReader(res.Body)
		for i := 42; i < 52; i++ {
			select {
			case next <- fmt.Sprint(i):
			case <-time.After(patience):
				t.Fatal("the primary listens no more")
			}
			for _, want := range []string{fmt.Sprintf("id: %d\n", i), fmt.Sprintf("data: event %d\n", i), "\n"} {
				if line, err := lines.ReadString('\n'); err != nil || line != want {
					t.Fatalf("got %q, %v; want %q", line, err, want)
				}
			}
		}
		leave()
		if id := await(t, "the primary hears that the reader left", left); id != "41" {
			t.Errorf("the primary got Last-Event-ID %q", id)
		}
		s.counts(Counts{Requests: 1, Skipped: map[Reason]int64{ReasonStream: 1}})
	})
}

// Where its route says so a stream is shadowed too. One that ends is compared; one that goes on while the shadows' time is
// over is not judged, and the client reads on.
func TestEventsShadowed(t *testing.T) {
	next, reader := make(chan string), make(chan bool)
	endless := events(next)
	stream := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/endless" {
			ids := make(chan string, 2)
			ids <- "1"
			ids <- "2"
			close(ids)
			events(ids)(w, r)
			return
		}
		if r.Header["X-Shadow-Request"] == nil {
			endless(w, r)
			return
		}
		events(nil)(w, r)
		reader <- true
	}
	address := newHandlerServer(t, stream)
	s := newRawStage(t, address, address, address, func(c *Config) {
		c.Shadow.Timeout = 50 * time.Millisecond
		timeout := patience
		c.Routes = []RouteConfig{{Match: "/events", Streams: true, Timeout: &timeout}, {Match: "/*", Streams: true}}
	})
	const two = "id: 1\ndata: event 1\n\nid: 2\ndata: event 2\n\n"
	if res, body := s.get("/events"); res.StatusCode != 200 || body != two {
		t.Errorf("got %s %q", res.Status, body)
	}
	for role, res := range s.exchange().Responses {
		if res.Outcome != OutcomeOK || string(res.Body) != two {
			t.Errorf("the %s answered %s %q", Role(role), res.Outcome, res.Body)
		}
	}
	w := s.dial()
	w.send("GET /endless HTTP/1.1\r\nHost: a\r\n\r\n")
	w.head()
	for range 2 {
		await(t, "a shadow's time is over", reader)
	}
	if ex := s.exchange(); ex.Unknown != ReasonPrimaryIncomplete || ex.Responses[Candidate].Outcome != OutcomeTimeout {
		t.Errorf("the exchange is %q, the candidate's answer %q", ex.Unknown, ex.Responses[Candidate].Outcome)
	}
	next <- "3"
	if want := "15\r\nid: 3\ndata: event 3\n\n\r\n"; w.read(len(want)) != want {
		t.Errorf("the client does not read on")
	}
	_ = w.Close()
	s.counts(Counts{Requests: 2, Exchanged: 2, Compared: 1, Unknown: map[Reason]int64{ReasonPrimaryIncomplete: 1}})
}

// events sends one server-sent event for each id, and ends when there are no more or nobody listens.
func events(ids <-chan string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Cache-Control", "no-store")
		_ = http.NewResponseController(w).Flush()
		for {
			select {
			case id, more := <-ids:
				if !more {
					return
				}
				_, _ = fmt.Fprintf(w, "id: %s\ndata: event %s\n\n", id, id)
				_ = http.NewResponseController(w).Flush()
			case <-r.Context().Done():
				return
			}
		}
	}
}
