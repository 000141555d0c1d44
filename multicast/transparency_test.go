package multicast

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// The proxy is transparent when a client that speaks to it, byte for byte the same, leads to the same request at the
// primary and the same answer as one that speaks to the primary itself. This is tried here with whatever bytes a fuzzer
// comes up with. What is allowed to differ stands in deviations, and nowhere else.

// FuzzRequest says the fuzzer's bytes to both.
func FuzzRequest(f *testing.F) {
	methods, targets, versions, headers, bodies := parts()
	n := 0
	add := func(text string) {
		f.Add([]byte(text), uint64(n%3), uint8(n/3), n%4 == 3)
		n++
	}
	for _, method := range methods {
		add(method + " /a HTTP/1.1\r\nHost: a\r\n\r\n")
	}
	for _, target := range targets {
		add("GET " + target + " HTTP/1.1\r\nHost: a\r\n\r\n")
	}
	for _, version := range versions {
		add("GET /a " + version + "\r\nHost: a\r\n\r\n")
		add("GET /a " + version + "\r\nConnection: keep-alive\r\n\r\n")
	}
	for _, header := range headers {
		add("GET /a HTTP/1.1\r\nHost: a\r\n" + header + "\r\n\r\nGET /b HTTP/1.1\r\nHost: a\r\n\r\n")
		add("POST /a HTTP/1.1\r\n" + header + "\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-Req: v\r\n\r\nGET /b HTTP/1.1\r\nHost: a\r\n\r\n")
	}
	for _, body := range bodies {
		add("POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + body + "GET /b HTTP/1.1\r\nHost: a\r\n\r\n")
		add("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n" + body)
	}
	f.Add([]byte("TRACE /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTE: trailers\r\n\r\n-1\r\nabc"), uint64(0), uint8(mannerWhole), true)
	f.Add([]byte("POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n X: v\r\n\r\nGET /b HTTP/1.1\r\nHost: a\r\n\r\n"), uint64(0), uint8(mannerEcho), true)
	f.Add([]byte("OPTIONS http://b:80 HTTP/1.1\r\nHost: a\r\n\r\n"), uint64(0), uint8(mannerWhole), false)
	f.Add([]byte("GET /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n folded\r\n\r\n"), uint64(0), uint8(mannerCloses), false)
	plain, h2c := newScene(f, false), newScene(f, true)
	f.Fuzz(func(t *testing.T, text []byte, cuts uint64, manner uint8, overHTTP2 bool) {
		plain.choose(h2c, overHTTP2).try(t, speech{string(text), cuts}, int32(manner%manners))
	})
}

// FuzzComposedRequest says requests that are built of parts to both, and so comes deeper than bytes at random.
func FuzzComposedRequest(f *testing.F) {
	for n := range 60 {
		f.Add([]byte{byte(n), byte(n * 7), 0, 0, 3, byte(n * 11), byte(n * 13), byte(n * 17), byte(n * 5)}, uint64(n%3), uint8(n), n%4 == 3)
	}
	plain, h2c := newScene(f, false), newScene(f, true)
	f.Fuzz(func(t *testing.T, picks []byte, cuts uint64, manner uint8, overHTTP2 bool) {
		plain.choose(h2c, overHTTP2).try(t, speech{compose(picks), cuts}, int32(manner%manners))
	})
}

// scene is a primary that is spoken to directly, and the same behind a proxy with two shadows.
type scene struct {
	direct   *recorder
	upstream [3]*recorder // by Role
	proxy    *Proxy
	addr     string
	panicked atomic.Bool
	calls    atomic.Uint32
	version  string // in which the upstreams are spoken to: 1.1 or 2.0
}

// newScene starts everything; h2c makes the proxy speak HTTP/2 to all three upstreams.
func newScene(t testing.TB, h2c bool) *scene {
	s := &scene{direct: newRecorder(t), version: "1.1"}
	cfg := DefaultConfig()
	cfg.Listen = "127.0.0.1:0"
	cfg.Server.Drain = 100 * time.Millisecond
	cfg.Methods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "FOO"}
	scheme := "http://"
	if h2c {
		scheme, s.version = "h2c://", "2.0"
	}
	for role, address := range map[Role]*string{Primary: &cfg.Primary, Secondary: &cfg.Secondary, Candidate: &cfg.Candidate} {
		s.upstream[role] = newRecorder(t)
		*address = scheme + s.upstream[role].addr
	}
	s.start(t, cfg)
	return s
}

func (s *scene) start(t testing.TB, cfg Config) {
	var err error
	if s.proxy, err = New(cfg, Deps{Log: slog.New(slog.NewTextHandler(s, nil))}); err != nil {
		t.Fatal(err)
	}
	s.run(t)
}

// run serves until the test ends.
func (s *scene) run(t testing.TB) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.proxy.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	s.addr = serve(t, s.proxy.Server())
}

func (s *scene) choose(other *scene, choice bool) *scene {
	if choice {
		return other
	}
	return s
}

// Write takes the proxy's log, of which only panics matter.
func (s *scene) Write(line []byte) (int, error) {
	if strings.Contains(string(line), "panic") {
		s.panicked.Store(true)
	}
	return len(line), nil
}

// talk is a whole connection: what the primary saw of it and what the client was heard.
type talk struct {
	seen  []seen
	heard []heard
}

// methods are those of the requests that were seen, in order.
func (t talk) methods() (methods []string) {
	for _, s := range t.seen {
		methods = append(methods, s.method)
	}
	return methods
}

// answersDue says how many answers come before the client closes its side: those to requests that are whole. What the
// server itself refuses it may refuse only when it knows that no more comes.
func (t talk) answersDue() int {
	if n := len(t.seen); n > 0 && (t.seen[n-1].cut == uploadGone || t.seen[n-1].endless) {
		return n - 1
	}
	return min(len(t.seen), len(t.heard))
}

// ask speaks to the primary itself. Its handler does not know that the client closes its side at once.
func (s *scene) ask(t *testing.T, words speech, manner int32) talk {
	s.direct.manner.Store(manner)
	conn, err := call(s.direct.addr, net.IPv4(127, 0, 0, 1))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	words.say(conn)
	_ = conn.CloseWrite()
	var all strings.Builder
	_, err = bufio.NewReader(conn).WriteTo(&all)
	if isTimeout(err) {
		t.Fatalf("the primary itself says no more after %q", all.String())
	}
	result := talk{seen: s.direct.take()}
	if !speaksHTTP2(words.bytes) {
		result.heard, _ = reader{bufio.NewReader(strings.NewReader(all.String()))}.answers(result.methods(), math.MaxInt)
	}
	return result
}

// speaksHTTP2 reports whether these bytes begin a connection with prior knowledge, whose answers are frames.
func speaksHTTP2(bytes string) bool {
	return strings.HasPrefix(bytes, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
}

// askProxy speaks to the proxy, and closes its side only when it has the answers that are to come.
func (s *scene) askProxy(t *testing.T, words speech, manner int32, direct talk) (result talk, from string) {
	s.upstream[Primary].manner.Store(manner)
	n := s.calls.Add(1)
	ip := net.IPv4(127, byte(1+n>>16&63), byte(n>>8), byte(n))
	conn, err := call(s.addr, ip)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	words.say(conn)
	r := reader{bufio.NewReader(conn)}
	if !speaksHTTP2(words.bytes) {
		if result.heard, err = r.answers(direct.methods(), direct.answersDue()); isTimeout(err) {
			t.Errorf("the proxy hangs after %d answers", len(result.heard)-1)
			return result, ip.String()
		}
	}
	_ = conn.CloseWrite()
	if speaksHTTP2(words.bytes) {
		_, _ = r.WriteTo(discard{})
		return result, ip.String()
	}
	more, err := r.answers(nil, math.MaxInt)
	if isTimeout(err) {
		t.Error("the proxy keeps the connection of a client that has left")
	}
	result.heard = append(result.heard, more...)
	return result, ip.String()
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

// settle waits until all that this input has led to is over, and tells what each upstream saw of it.
func (s *scene) settle(t *testing.T, from string) (all [3][]seen) {
	tick := time.NewTicker(50 * time.Microsecond)
	defer tick.Stop()
	deadline := time.Now().Add(hung)
	for !s.quiet() {
		if <-tick.C; time.Now().After(deadline) {
			t.Errorf("not over after %s: %+v", hung, s.proxy.Counts())
			break
		}
	}
	for role, u := range s.upstream {
		for _, seen := range u.take() {
			if slices.Equal(seen.header["X-Forwarded-For"], []string{from}) {
				all[role] = append(all[role], seen)
			}
		}
	}
	return all
}

func (s *scene) quiet() bool {
	if counts := s.proxy.Counts(); counts.Open != 0 || counts.CapturedBytes != 0 {
		return false
	}
	return !slices.ContainsFunc(s.upstream[:], func(u *recorder) bool { return u.busy.Load() > 0 })
}

// try lets the same bytes be said to both, and reports all that differs and is not allowed to. It returns both talks
// and the names of the deviations that were met.
func (s *scene) try(t *testing.T, words speech, manner int32) (direct, through talk, met []string) {
	before := s.proxy.Counts()
	direct = s.ask(t, words, manner)
	through, from := s.askProxy(t, words, manner, direct)
	all := s.settle(t, from)
	through.seen = all[Primary]
	c := comparison{manner: manner, from: from, primary: s.upstream[Primary].addr, version: s.version, want: direct.clone(), got: through}
	met = c.allow()
	for _, difference := range c.differences() {
		t.Error(difference)
	}
	s.shadowsAgree(t, all, before)
	if s.panicked.Swap(false) {
		t.Error("a panic was logged")
	}
	(&stage{t: t, proxy: s.proxy, log: &logBuffer{}}).identity()
	if t.Failed() {
		t.Logf("said: %q, cuts %d, manner %d\nmet: %v\ndirect:  %+v\nthrough: %+v\nwanted:  %+v", words.bytes, words.cuts, manner, met, direct, through, c.want)
	}
	return direct, through, met
}

// shadowsAgree checks that what was mirrored is what the primary got, but for the marks. Shadows that were cancelled may
// have got nothing.
func (s *scene) shadowsAgree(t *testing.T, all [3][]seen, before Counts) {
	after := s.proxy.Counts()
	exchanged := after.Exchanged - before.Exchanged
	var copies [3][]string
	for role := range all {
		for _, seen := range all[role] {
			if role == int(Primary) || seen.cut == 0 { // else it was cancelled while it was sent
				copies[role] = append(copies[role], s.fingerprint(seen, Role(role)))
			}
		}
		slices.Sort(copies[role])
	}
	whole := true
	for _, role := range [...]Role{Secondary, Candidate} {
		ok := after.Shadow[role.String()].Outcome[OutcomeOK] - before.Shadow[role.String()].Outcome[OutcomeOK]
		whole = whole && ok == exchanged
		if n := int64(len(all[role])); n > exchanged || n < ok {
			t.Errorf("the %s saw %d of %d requests, of which %d went well", role, n, exchanged, ok)
		}
	}
	if whole && !slices.Equal(copies[Secondary], copies[Candidate]) {
		t.Errorf("the secondary saw\n%s, the candidate\n%s", strings.Join(copies[Secondary], "\n"), strings.Join(copies[Candidate], "\n"))
	}
	for _, text := range slices.Concat(copies[Secondary], copies[Candidate]) {
		if !slices.Contains(copies[Primary], text) {
			t.Errorf("a shadow saw\n%s, the primary\n%s", text, strings.Join(copies[Primary], "\n"))
		}
	}
}

// fingerprint is a request without what is meant to differ between the primary and a shadow.
func (s *scene) fingerprint(r seen, role Role) string {
	h := maps.Clone(r.header)
	switch {
	case role == Primary && h["X-Shadow-Request"] != nil:
		return "a loop"
	case role == Primary:
		delete(h, "Expect")
		for name, values := range h {
			h[name] = unsampled(name, values)
		}
	case !slices.Equal(h["X-Shadow-Request"], []string{"1"}) || len(h["X-Shadow-Id"]) != 1 || len(h["X-Shadow-Id"][0]) != 32:
		return fmt.Sprintf("without the marks: %+v", r)
	}
	delete(h, "X-Shadow-Request")
	delete(h, "X-Shadow-Id")
	framing, body := r.framing, fmt.Sprintf("%q, %v", r.body, r.trailer)
	if s.upstream[Primary].manner.Load() == mannerEarly { // the primary has read none
		body = "unread"
	}
	return fmt.Sprintf("%s %s at %s, HTTP/%s, %v, %s %s, %v", r.method, r.target, r.host, r.proto, h, framing, body, r.cut)
}

func (t talk) clone() talk {
	seen, heard := slices.Clone(t.seen), slices.Clone(t.heard)
	for i := range seen {
		seen[i].header, seen[i].trailer = seen[i].header.Clone(), seen[i].trailer.Clone()
	}
	for i := range heard {
		heard[i].header, heard[i].trailer = heard[i].header.Clone(), heard[i].trailer.Clone()
	}
	return talk{seen, heard}
}

// comparison is one input's talks; deviations change what is wanted to what is allowed.
type comparison struct {
	manner    int32
	from      string // the client's address
	primary   string // its
	version   string // in which the primary is spoken to
	want, got talk
}

// allow applies every deviation, and names those that were met.
func (c *comparison) allow() (met []string) {
	for _, d := range deviations() {
		if d.request == nil {
			continue
		}
		before := fmt.Sprint(c.want, c.got)
		if d.request(c); fmt.Sprint(c.want, c.got) != before {
			met = append(met, d.name)
		}
	}
	return met
}

func (c *comparison) differences() (all []string) {
	differ := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	if len(c.want.seen) != len(c.got.seen) {
		differ("the primary saw %d requests, not %d", len(c.got.seen), len(c.want.seen))
	}
	for i := range min(len(c.want.seen), len(c.got.seen)) {
		want, got := c.want.seen[i], c.got.seen[i]
		for _, part := range []struct{ what, want, got string }{
			{"method", want.method, got.method},
			{"target", want.target, got.target},
			{"host", want.host, got.host},
			{"version", want.proto, got.proto},
			{"framing", want.framing, got.framing},
			{"body", want.body, got.body},
			{"end", fmt.Sprint(want.cut), fmt.Sprint(got.cut)},
		} {
			if part.want != part.got {
				differ("request %d: the %s is %q, not %q", i, part.what, part.got, part.want)
			}
		}
		differHeader(differ, fmt.Sprintf("request %d", i), want.header, got.header)
		differHeader(differ, fmt.Sprintf("trailer of request %d", i), want.trailer, got.trailer)
	}
	if len(c.want.heard) != len(c.got.heard) {
		differ("the client got %d answers, not %d", len(c.got.heard), len(c.want.heard))
	}
	for i := range min(len(c.want.heard), len(c.got.heard)) {
		differHeard(differ, i, c.want.heard[i], c.got.heard[i])
	}
	return all
}

func differHeard(differ func(string, ...any), i int, want, got heard) {
	for _, part := range []struct {
		what      string
		want, got any
	}{
		{"version", want.version, got.version},
		{"status", want.status, got.status},
		{"framing", want.framing, got.framing},
		{"body", want.body, got.body},
		{"end", want.cut, got.cut},
		{"closing", want.closes, got.closes},
		{"garbage", want.garbage, got.garbage},
		{"number of informational answers", len(want.interim), len(got.interim)},
	} {
		if part.want != part.got {
			differ("answer %d: the %s is %#v, not %#v", i, part.what, part.got, part.want)
		}
	}
	differHeader(differ, fmt.Sprintf("answer %d", i), want.header, got.header)
	differHeader(differ, fmt.Sprintf("trailer of answer %d", i), want.trailer, got.trailer)
	for j := range min(len(want.interim), len(got.interim)) {
		if want.interim[j].status != got.interim[j].status {
			differ("answer %d: before it comes %d, not %d", i, got.interim[j].status, want.interim[j].status)
		}
		differHeader(differ, fmt.Sprintf("before answer %d", i), want.interim[j].header, got.interim[j].header)
	}
}

// differHeader compares names, and the values of each name in their order.
func differHeader(differ func(string, ...any), what string, want, got http.Header) {
	names := make(http.Header)
	maps.Copy(names, want)
	maps.Copy(names, got)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		_, wanted := want[name]
		_, have := got[name]
		if wanted != have || !slices.Equal(want[name], got[name]) {
			differ("%s: %s is %q, not %q", what, name, got[name], want[name])
		}
	}
}
