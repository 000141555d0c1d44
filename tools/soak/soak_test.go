package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"shadowdiff/tools/rig"
)

// serve answers with a handler over HTTP/1 and HTTP/2, as the proxy does, and returns a client of it.
func serve(t *testing.T, h http.Handler) *client {
	s := httptest.NewUnstartedServer(h)
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetHTTP1(true)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.Start()
	t.Cleanup(s.Close)
	c := newClients(strings.TrimPrefix(s.URL, "http://"), newContent(), limits{request: 64 << 10, response: 256 << 10})
	w := &client{clients: c, random: rand.New(rand.NewPCG(1, 2)), h2: newH2()}
	t.Cleanup(w.hangUp)
	t.Cleanup(w.h2.CloseIdleConnections)
	return w
}

// Every kind of client is content with the primary itself: what it finds wrong behind a proxy is the proxy's doing.
func TestClientsOfThePrimaryItself(t *testing.T) {
	w := serve(t, newContent())
	for _, k := range kinds() {
		for range 2 {
			err := w.dial()
			if err == nil {
				err = k.do(w)
			}
			if err != nil {
				t.Errorf("%s: %v", k.name, err)
			}
			if err != nil || k.last {
				w.hangUp()
			}
		}
	}
	if sent, heads := w.sent.Load(), w.heads.Load(); heads == 0 || sent < heads {
		t.Errorf("%d sent, %d answered", sent, heads)
	}
}

// What a proxy might do to an answer or a request is noticed.
func TestClientsNotice(t *testing.T) {
	good := newContent()
	altered := func(change func([]byte) []byte) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			rec := httptest.NewRecorder()
			good.ServeHTTP(rec, r)
			for name, values := range rec.Header() {
				w.Header()[name] = values
			}
			w.Header().Del("Content-Length")
			w.WriteHeader(rec.Code)
			_, _ = w.Write(change(rec.Body.Bytes()))
		})
	}
	a := ask{seed: 7, size: 3000, code: 200}
	for name, h := range map[string]http.Handler{
		"another byte": altered(func(b []byte) []byte { b[len(b)/2]++; return b }),
		"a byte less":  altered(func(b []byte) []byte { return b[1:] }),
		"a byte more":  altered(func(b []byte) []byte { return append(b, ' ') }),
		"nothing":      altered(func([]byte) []byte { return nil }),
		"502":          http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(502) }),
		"hints": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(103)
			good.ServeHTTP(w, r)
		}),
		"an end in the middle": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			good.answer(w, r, ask{seed: 7, size: 3000, code: 200, cut: true})
		}),
	} {
		w := serve(t, h)
		if err := w.dial(); err != nil {
			t.Fatal(err)
		}
		if err := w.get(a); err == nil {
			t.Errorf("%s is not noticed", name)
		}
	}
	w := serve(t, altered(func(b []byte) []byte { return b[:len(b)/2] }))
	if err := w.dial(); err != nil {
		t.Fatal(err)
	}
	if err := w.cutOff(); err == nil {
		t.Error("a clean end of an answer that was cut off is not noticed")
	}
	w = serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.CopyN(io.Discard, r.Body, 10)
		r.Body = http.NoBody
		good.ServeHTTP(w, r)
	}))
	if err := w.dial(); err != nil {
		t.Fatal(err)
	}
	if err := w.post(1000, false, false); err == nil {
		t.Error("a request that came in part is not noticed")
	}
}

func TestAskTravels(t *testing.T) {
	want := ask{seed: 5, size: 10, code: 404, chunked: true, hints: true, cut: true}
	target, err := url.Parse(want.target("/a/b"))
	if err != nil || target.Path != "/a/b" {
		t.Fatalf("%v, %v", target, err)
	}
	if got := readAsk(target.Query()); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestBodies(t *testing.T) {
	c := newContent()
	for _, size := range []int{0, 1, 20, 21, 4000, 3 << 20} {
		body := c.body(ask{seed: 35, size: size})
		if len(body) != size {
			t.Errorf("asked for %d bytes, got %d", size, len(body))
		}
		chunks, err := io.ReadAll(readChunks(t, inChunks(body, 1000)))
		if err != nil || !bytes.Equal(chunks, body) {
			t.Errorf("%d bytes in chunks: %d, %v", size, len(chunks), err)
		}
	}
	if bytes.Equal(c.body(ask{seed: 1, size: 100}), c.body(ask{seed: 2, size: 100})) {
		t.Error("two answers are the same")
	}
}

func readChunks(t *testing.T, chunks []byte) io.Reader {
	head := "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
	req, err := http.ReadRequest(bufio.NewReader(strings.NewReader(head + string(chunks))))
	if err != nil {
		t.Fatal(err)
	}
	return req.Body
}

// In each cycle each mood is the candidate's alone, both's, and the secondary's alone; there are mild and harsh ones, also
// in a short soak.
func TestSchedule(t *testing.T) {
	for _, whole := range []time.Duration{20 * time.Minute, 30 * time.Second} {
		s := newSchedule(whole)
		for cycle := range time.Duration(2) {
			seen := make(map[[2]mood]bool)
			for at := time.Duration(0); at < s.cycle; at += s.cycle / 1000 {
				candidate, secondary, harsh := s.at(cycle*s.cycle + at)
				seen[[2]mood{candidate, secondary}] = true
				if harsh != (cycle == 1) {
					t.Fatalf("at %v of cycle %d of %v: harsh %v", at, cycle, whole, harsh)
				}
			}
			for _, m := range moods() {
				for _, pair := range [][2]mood{{m, healthy}, {m, m}, {healthy, m}} {
					if !seen[pair] {
						t.Errorf("%v never come in cycle %d of %v", pair, cycle, whole)
					}
				}
			}
			if want := 3*(len(moods())-1) + 1; len(seen) != want {
				t.Errorf("%d pairs, want %d", len(seen), want)
			}
		}
	}
}

// Each mood but those that answer is a fault to a client, and a shadow can be healthy again after each.
func TestMoods(t *testing.T) {
	s, err := newShadow(newContent(), 100*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	s.server.ErrorLog = log.New(io.Discard, "", 0)
	whole := func() bool {
		client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true}}
		res, err := client.Get("http://" + s.addr + ask{size: 500, code: 200}.target("/a"))
		if err != nil {
			return false
		}
		defer res.Body.Close()
		body, err := io.ReadAll(io.LimitReader(res.Body, 10<<20))
		return err == nil && sum(body) == res.Header.Get(sumHeader)
	}
	answers := []mood{healthy, slow}
	for _, m := range moods() {
		if err := s.set(m, true); err != nil {
			t.Fatal(err)
		}
		if ok := whole(); m != flapping && ok != slices.Contains(answers, m) {
			t.Errorf("%s: a whole answer: %v", m, ok)
		}
		if err := s.set(healthy, false); err != nil {
			t.Fatal(err)
		}
		if !whole() {
			t.Errorf("after %s it is not healthy", m)
		}
	}
}

// A mild mood spoils some: the proxy, which leaves a shadow alone after 20 failures running, never sees so many.
func TestMildMoods(t *testing.T) {
	s := &shadow{}
	for _, m := range moods() {
		s.mood = m
		spoilt, running := 0, 0
		for nth := range int64(1000) {
			if s.now(nth) == healthy {
				running = 0
				continue
			}
			spoilt++
			if running++; running > 1 && m != slow {
				t.Fatalf("%s spoils %d running", m, running)
			}
		}
		if (spoilt == 0) != (m == healthy) {
			t.Errorf("%s spoils %d of 1000", m, spoilt)
		}
	}
}

func TestGrowth(t *testing.T) {
	const minute = time.Minute
	memory := func(at func(time.Duration) int64) (list []resident) {
		for t := time.Duration(0); t < 20*minute; t += time.Second {
			list = append(list, resident{t, at(t)})
		}
		return list
	}
	for name, c := range map[string]struct {
		at   func(time.Duration) int64
		leak bool
	}{
		"flat":                {func(time.Duration) int64 { return 100 << 20 }, false},
		"it grows to warm up": {func(at time.Duration) int64 { return min(100<<20, int64(at.Seconds())<<20) }, false},
		"it breathes":         {func(at time.Duration) int64 { return 100<<20 + int64(at%minute/time.Second)<<20 }, false},
		"it leaks":            {func(at time.Duration) int64 { return 60<<20 + int64(at.Minutes()*5)<<20 }, true},
	} {
		early, late, fault := growth(memory(c.at), 20*minute)
		if (fault != "") != c.leak || early == 0 || late == 0 {
			t.Errorf("%s: from %s to %s: %q", name, mib(early), mib(late), fault)
		}
	}
}

func TestWhatIsLeft(t *testing.T) {
	before := reading{goroutines: 17, descriptors: 17}
	if faults := left(before, reading{goroutines: 17 + slack, descriptors: 16}); faults != nil {
		t.Errorf("nothing is left, and it says %q", faults)
	}
	faults := left(before, reading{goroutines: 18 + slack, descriptors: 19 + slack, counts: rig.Counts{Requests: 1, Captured: 5}})
	want := []string{
		"requests = skipped + dropped + exchanged: 1 and 0, +1", "captured bytes: 5 and 0, +5",
		"goroutines: 22, before the load 17", "descriptors: 23, before the load 17",
	}
	if !slices.Equal(faults, want) {
		t.Errorf("got %q, want %q", faults, want)
	}
}

func TestWhatIsKnown(t *testing.T) {
	counts := rig.Counts{Requests: 95, Compared: 40, Shadow: map[string]rig.Leg{"candidate": {Sent: 50}, "secondary": {Sent: 50}}}
	if faults := known(counts, 100, 90, 50, 49); faults != nil {
		t.Errorf("all is well, and it says %q", faults)
	}
	for _, c := range []struct {
		sent, heads, candidate, secondary int64
		want                              string
	}{
		{94, 90, 50, 50, "95 requests are counted, of 94 sent and 90 answered"},
		{100, 96, 50, 50, "95 requests are counted, of 100 sent and 96 answered"},
		{100, 90, 51, 50, "the candidate was asked 51 times, and only 50 were sent: some twice"},
	} {
		if got := known(counts, c.sent, c.heads, c.candidate, c.secondary); !slices.Equal(got, []string{c.want}) {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
	counts.Compared, counts.Unknown = 0, rig.Words{"panic": 2}
	if got := known(counts, 100, 90, 50, 50); !slices.Equal(got, []string{"2 panics", "nothing was compared"}) {
		t.Errorf("got %q", got)
	}
}

func TestClientsEndWithTheTime(t *testing.T) {
	w := serve(t, newContent())
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		w.run(ctx, 3, 1)
		close(done)
	}()
	for w.heads.Load() < 100 { // ends only if they work
		_, errs, first := w.seen()
		if errs.Sum() > 0 {
			t.Fatal(first)
		}
	}
	cancel()
	<-done
	if kinds, errs, first := w.seen(); errs.Sum() > 0 || kinds["get"] == 0 {
		t.Errorf("kinds %v, errors %q", kinds, first)
	}
}
