package multicast

import (
	"bufio"
	"bytes"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// asking is a flight that is about to ask a shadow that is configured so.
func asking(t interface{ Fatal(...any) }, configure func(*Config)) (*flight, *shadow) {
	cfg := DefaultConfig()
	cfg.Primary, cfg.Candidate = "http://127.0.0.1:9001", "http://candidate.example:9003/base"
	if configure != nil {
		configure(&cfg)
	}
	proxy, err := New(cfg, Deps{})
	if err != nil {
		t.Fatal(err)
	}
	setup := proxy.setup.Load()
	f := &flight{proxy: proxy, setup: setup, route: setup.rest, header: http.Header{}, url: &url.URL{}, path: "/"}
	f.ex.ID, f.ex.Request = newID(), Request{Method: "GET", Target: "/", Host: "shop.example"}
	return f, setup.shadows[Candidate]
}

// Our rendering and net/http's are the same, but for where a chunk ends: so the shadows get what the primary gets.
func TestRenderingIsNetHTTPs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f, s := asking(t, func(c *Config) {
			c.Shadow.Host = rapid.SampledFrom([]string{"keep", "target", "other.example"}).Draw(t, "host policy")
			c.Shadow.SetHeaders = map[string]string{"x-set": "a", "User-Agent": "copy"}
			c.Shadow.RemoveHeaders = rapid.SampledFrom([][]string{nil, {"cookie", "X-B"}, {"User-Agent"}}).Draw(t, "removed")
			if rapid.Bool().Draw(t, "no agent set") {
				delete(c.Shadow.SetHeaders, "User-Agent")
			}
		})
		draw(t, f)
		var q question
		err := q.render(s, f)
		if err != nil {
			t.Fatal(err)
		}
		ours := bytes.Join([][]byte{q.head, q.body, q.tail}, nil)
		theirs := new(bytes.Buffer)
		if err := s.request(f).Write(theirs); err != nil {
			t.Fatal(err)
		}
		if a, b := headOf(ours), headOf(theirs.Bytes()); a != b {
			t.Fatalf("the head is\n%s, net/http's\n%s", a, b)
		}
		a, b := parse(t, ours), parse(t, theirs.Bytes())
		if a.body != b.body || a.body != string(f.ex.Request.Body) || !maps.EqualFunc(a.trailer, b.trailer, equalValues) {
			t.Fatalf("the body is %q with %v, net/http's %q with %v", a.body, a.trailer, b.body, b.trailer)
		}
	})
}

// draw makes up a request.
func draw(t *rapid.T, f *flight) {
	r := &f.ex.Request
	r.Method = rapid.SampledFrom([]string{"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "FOO", "SEARCH"}).Draw(t, "method")
	r.Host = rapid.SampledFrom([]string{"shop.example", "Shop.Example:8080", "[::1]:80", "b\u00fccher.example", "a b", "", "[fe80::1%25eth0]:80"}).Draw(t, "host")
	f.path = rapid.SampledFrom([]string{"/", "/a%2Fb", "/a|b\"\xc3\xa9", "//a//b/", "*"}).Draw(t, "path")
	f.url = &url.URL{Path: f.path, RawQuery: rapid.SampledFrom([]string{"", "x=1;y=2&z=%zz&&b"}).Draw(t, "query")}
	f.url.ForceQuery = rapid.Bool().Draw(t, "question mark")
	if f.path == "*" {
		f.url = &url.URL{Path: "*"}
	}
	names := []string{
		"Accept", "Cookie", "X-A", "X-B", "Expect", "Traceparent", "Content-Type", "User-Agent", "Content-Length", "Trailer",
		"Transfer-Encoding", "Te", "X-Set", "X-Shadow-Id",
	}
	for _, name := range rapid.SliceOfDistinct(rapid.SampledFrom(names), func(n string) string { return n }).Draw(t, "names") {
		f.header[name] = rapid.SliceOfN(rapid.SampledFrom([]string{"", "a", " b\t", "\u00fc\xff", "a, b"}), 1, 3).Draw(t, name)
	}
	if f.header["User-Agent"] == nil { // as the front does
		f.header["User-Agent"] = []string{""}
	}
	r.Body = []byte(strings.Repeat("x", rapid.SampledFrom([]int{0, 1, 15, 16, 5000}).Draw(t, "size")))
	f.length = int64(len(r.Body))
	if rapid.Bool().Draw(t, "chunked") {
		f.length = -1
		r.Trailer = rapid.SampledFrom([]http.Header{nil, {}, {"X-T": {"1", "2"}, "A": {"b"}}}).Draw(t, "trailer")
		f.trails = sortedNames(r.Trailer)
	}
}

func headOf(request []byte) string {
	head, _, _ := bytes.Cut(request, []byte("\r\n\r\n"))
	return string(head)
}

func parse(t interface{ Fatalf(string, ...any) }, request []byte) received {
	r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(request)))
	if err != nil {
		t.Fatalf("%v in %q", err, request)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatalf("%v in %q", err, request)
	}
	return received{body: string(body), trailer: r.Trailer}
}

func equalValues(a, b []string) bool { return strings.Join(a, "\n") == strings.Join(b, "\n") }

// What net/http would not send is not sent, whatever the way: no byte of a request smuggles another in.
func TestWhatCannotBeSent(t *testing.T) {
	for name, spoil := range map[string]func(f *flight){
		"a header of two lines":  func(f *flight) { f.header.Set("X-A", "a\r\nX-B: b") },
		"a header with a zero":   func(f *flight) { f.header.Set("X-A", "a\x00") },
		"a trailer of two lines": func(f *flight) { f.length, f.ex.Request.Trailer = -1, http.Header{"X-T": {"a\nb"}} },
		"a trailer with no name": func(f *flight) { f.length, f.ex.Request.Trailer = -1, http.Header{"X T": {"a"}} },
		"a query of two lines":   func(f *flight) { f.url.RawQuery = "a\r\nb" },
		"a path with a tab":      func(f *flight) { f.path = "/a\tb" },
	} {
		f, s := asking(t, nil)
		spoil(f)
		var q question
		err := q.render(s, f)
		if outcome, detail := outcome(false, new(progress), err, false); outcome != OutcomeProtocol || detail != "request cannot be sent" {
			t.Errorf("%s: %v is %s, %s", name, err, outcome, detail)
		}
	}
}

func TestUnsampled(t *testing.T) {
	const trace = "-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-"
	for sent, want := range map[string]string{
		"00" + trace + "01":      "00" + trace + "00",
		"00" + trace + "03":      "00" + trace + "02",
		"00" + trace + "00":      "00" + trace + "00",
		"00" + trace + "0g":      "00" + trace + "0g",
		"01" + trace + "01-more": "01" + trace + "00-more", // of a version to come
		"00" + trace + "011":     "00" + trace + "011",
		"nonsense":               "nonsense",
		"":                       "",
	} {
		if got := unsampled("Traceparent", []string{sent, "x"}); got[0] != want || got[1] != "x" {
			t.Errorf("%s became %s", sent, got)
		}
	}
}

// Whatever tells of a trace: a copy belongs to it, and is not recorded.
func TestCopiesAreNotTraced(t *testing.T) {
	s := newStage(t, nil, nil)
	sent := map[string]string{
		"B3": "80f198ee56343ba8-e457b5a2e4d86bd1-1-05e3ac9a4f6e3b90", "X-B3-Sampled": "1", "X-B3-Flags": "1", "X-B3-Traceid": "80f198ee56343ba8",
		"Uber-Trace-Id": "80f198ee56343ba8:e457b5a2e4d86bd1:0:3", "X-Amzn-Trace-Id": "Root=1-5759e988-bd862e3f;Sampled=1;Parent=5",
		"X-Cloud-Trace-Context": "105445aa7843bc8b/1;o=1", "X-Datadog-Sampling-Priority": "2", "Sentry-Trace": "80f198ee56343ba8-e457b5a2e4d86bd1-1",
		"Elastic-Apm-Traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "Tracestate": "a=1",
	}
	want := map[string]string{
		"B3": "80f198ee56343ba8-e457b5a2e4d86bd1-0-05e3ac9a4f6e3b90", "X-B3-Sampled": "0", "X-B3-Flags": "0", "X-B3-Traceid": "80f198ee56343ba8",
		"Uber-Trace-Id": "80f198ee56343ba8:e457b5a2e4d86bd1:0:0", "X-Amzn-Trace-Id": "Root=1-5759e988-bd862e3f;Sampled=0;Parent=5",
		"X-Cloud-Trace-Context": "105445aa7843bc8b/1;o=0", "X-Datadog-Sampling-Priority": "0", "Sentry-Trace": "80f198ee56343ba8-e457b5a2e4d86bd1-0",
		"Elastic-Apm-Traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00", "Tracestate": "a=1",
	}
	var head strings.Builder
	for name, value := range sent {
		head.WriteString(name + ": " + value + "\r\n")
	}
	w := s.dial()
	w.send("GET /a HTTP/1.1\r\nHost: a\r\n" + head.String() + "\r\n")
	w.response("GET")
	s.exchange()
	for role, u := range s.upstream {
		got := u.requests()[0].header
		for name := range sent {
			expected := want[name]
			if Role(role) == Primary {
				expected = sent[name]
			}
			if got.Get(name) != expected {
				t.Errorf("the %s got %s: %s", Role(role), name, got.Get(name))
			}
		}
	}
	for sent, want := range map[string]string{"1": "0", "d": "0", "0": "0", "a-b": "a-b", "a-b-d": "a-b-0", "": ""} {
		if got := unsampled("B3", []string{sent})[0]; got != want {
			t.Errorf("%q became %q", sent, got)
		}
	}
}
