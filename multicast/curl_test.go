package multicast

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// program finds a program that make test installs.
func program(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatalf("%s is missing; tools/need.sh %s installs it", name, name)
	}
	return path
}

// curlCommand is curl without anybody's settings.
func curlCommand(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(patient(t), program(t, "curl"), append([]string{"-q", "-sS", "--globoff", "--path-as-is", "--max-time", "20"}, args...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
	return cmd
}

// curl runs it and returns what it wrote and its exit status.
func curl(t *testing.T, args ...string) (out string, exit int) {
	t.Helper()
	cmd := curlCommand(t, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	var failed *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &failed) {
		t.Fatalf("curl: %v", err)
	}
	t.Logf("curl %q: exit %d %s", args, cmd.ProcessState.ExitCode(), stderr.Bytes())
	return stdout.String(), cmd.ProcessState.ExitCode()
}

// shop is an upstream that says everything that HTTP has words for, and HTTP/2 without TLS too.
func shop(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	h := w.Header()
	h["Date"] = []string{"Mon, 02 Nov 2026 10:00:00 GMT"}
	switch r.URL.Path {
	case "/json":
		h.Set("Content-Type", "application/json")
		h["Set-Cookie"] = []string{"sid=1; Path=/; HttpOnly", "seen=yes"}
		h["Vary"] = []string{"Accept", "Accept-Encoding"}
		h["X-D"] = []string{"2", "1", "2"}
		_, _ = io.WriteString(w, `{"price":10}`)
	case "/silent":
		h["Date"], h["Content-Type"] = nil, nil
		_, _ = io.WriteString(w, "<html>")
	case "/empty":
		w.WriteHeader(http.StatusNoContent)
	case "/same":
		h.Set("ETag", `"v1"`)
		w.WriteHeader(http.StatusNotModified)
	case "/moved":
		h.Set("Location", "../elsewhere?a=b")
		w.WriteHeader(http.StatusFound)
	case "/broken":
		http.Error(w, "out of tea", http.StatusInternalServerError)
	case "/hints":
		date := h["Date"]
		delete(h, "Date")
		h["Link"] = []string{"</a.css>; rel=preload", "</b.js>; rel=preload"}
		w.WriteHeader(http.StatusEarlyHints)
		delete(h, "Link")
		h["Date"] = date
		h.Set("X-A", "1")
		_, _ = io.WriteString(w, "after hints")
	case "/trailers":
		h.Set("Trailer", "X-Sum")
		_ = http.NewResponseController(w).Flush() // so that no version tells a length
		_, _ = io.WriteString(w, "body")
		h.Set("X-Sum", "4")
		h.Set(http.TrailerPrefix+"X-Late", "unannounced")
	case "/chunks":
		for i := range 3 {
			_, _ = fmt.Fprintf(w, "chunk %d\n", i)
			_ = http.NewResponseController(w).Flush()
		}
	case "/packed":
		if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			h.Set("Content-Length", "4000")
			_, _ = io.WriteString(w, strings.Repeat("tea ", 1000))
			return
		}
		h.Set("Content-Encoding", "gzip")
		h.Set("Content-Type", "text/plain")
		h.Set("ETag", `"packed"`)
		_, _ = w.Write(packed())
	case "/part":
		h.Set("Content-Range", "bytes 0-3/12")
		h.Set("Content-Type", "application/octet-stream")
		w.WriteHeader(http.StatusPartialContent)
		_, _ = io.WriteString(w, "part")
	default:
		h.Set("X-Length", strconv.FormatInt(r.ContentLength, 10))
		_, _ = fmt.Fprintf(w, "%s %s %x", r.Method, r.RequestURI, sha256.Sum256(body))
	}
}

func packed() []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = io.WriteString(z, strings.Repeat("tea ", 1000))
	_ = z.Close()
	return b.Bytes()
}

// newShop starts the shop; each request's version, line and header are told.
func newShop(t *testing.T, told chan<- received) string {
	return newH2C(t, func(w http.ResponseWriter, r *http.Request) {
		told <- received{method: r.Method, target: r.RequestURI, host: r.Host, header: r.Header.Clone(), length: r.ContentLength, encoding: r.TransferEncoding}
		shop(w, r)
	})
}

// What curl shows is what it would have shown without the proxy, whichever version it and the primary speak; and the
// primary gets what it would have got, with X-Forwarded-* beside it.
func TestCurlSeesThePrimary(t *testing.T) {
	upload := filepath.Join(t.TempDir(), "upload")
	if err := os.WriteFile(upload, bytes.Repeat([]byte("upload\n"), 20_000), 0o600); err != nil {
		t.Fatal(err)
	}
	requests := [][]string{
		{"/json"},
		{"/silent"},
		{"/empty"},
		{"/same", "-H", `If-None-Match: "v1"`},
		{"/moved"},
		{"/broken"},
		{"/trailers", "-H", "TE: trailers", "-H", "Connection: TE"},
		{"/chunks"},
		{"/packed", "--compressed"},
		{"/packed"},
		{"/part", "-r", "0-3"},
		{"/json", "-I"},
		{"/chunks", "-I"},
		{"/a%2Fb/../c;d=1?x=1;y=2&z=%zz", "-H", "X-Empty;", "-H", "User-Agent:", "-H", "Accept:", "-u", "me:secret", "-b", "a=1; b=2", "-H", "Host: Shop.Example:8080"},
		{"/post", "-d", "a=1&b=2"},
		{"/post", "--data-binary", "@" + upload, "-H", "Expect:"},
		{"/put", "-T", upload, "-H", "Expect:"},
		{"/put", "-X", "PATCH", "-H", "Content-Length: 0"},
		{"/delete", "-X", "DELETE"},
		{"/any", "-X", "OPTIONS"},
		{"/any", "-X", "BREW"},
		{"/hints"}, // last, since a client of HTTP/1.0 knows none
	}
	told := make(chan received, 64)
	h2c := newShop(t, told)
	h1 := strings.Replace(h2c, "h2c:", "http:", 1)
	for _, test := range []struct{ version, primary string }{
		{"--http1.0", h1}, {"--http1.1", h1}, {"--http1.1", h2c}, {"--http2-prior-knowledge", h1}, {"--http2-prior-knowledge", h2c},
	} {
		t.Run(test.version+" "+test.primary[:4], func(t *testing.T) {
			asked := requests
			if test.version == "--http1.0" {
				asked = asked[:len(asked)-1]
			}
			s := newRawStage(t, test.primary, "", "", nil)
			want, direct := curlUntilSent(t, test.version, strings.TrimPrefix(h1, "http://"), asked, told)
			got, through := curlUntilSent(t, test.version, s.addr, asked, told)
			for i, request := range asked {
				if want[i] != got[i] {
					t.Errorf("%q: directly\n%.1000s\nthrough the proxy\n%.1000s", request, want[i], got[i])
				}
				differsOnlyByForwarding(t, request, direct[i], through[i])
			}
		})
	}
}

// curlUntilSent is curlEach, and what the primary was told. On a busy machine some versions of curl give up an upload over
// HTTP/2 by themselves ("failed sending data"), to whatever server; then all is asked again.
func curlUntilSent(t *testing.T, version, addr string, requests [][]string, told <-chan received) (answers []string, asked []received) {
	t.Helper()
	for range 5 {
		if answers = curlEach(t, version, addr, requests); !slices.ContainsFunc(answers, func(a string) bool { return strings.HasPrefix(a, "exit 55\n") }) {
			return answers, takeTold(told, len(requests))
		}
		for len(told) > 0 {
			<-told
		}
	}
	t.Fatal("curl sends no upload")
	return nil, nil
}

// curlEach sends all requests to one address, each with a host of its own and so on a connection of its own, and returns
// what each was answered, with its exit status.
func curlEach(t *testing.T, version, addr string, requests [][]string) []string {
	t.Helper()
	dir := t.TempDir()
	var args []string
	for i, request := range requests {
		args = append(args, "-sS", "--globoff", "--path-as-is", "-i", version, "--connect-to", "::"+addr, "-w", "%{exitcode}\n",
			"-o", filepath.Join(dir, strconv.Itoa(i)))
		args = append(append(args, request[1:]...), fmt.Sprintf("http://shop%d.test%s", i, request[0]), "--next")
	}
	out, _ := curl(t, args[:len(args)-1]...)
	exits := strings.Fields(out)
	if len(exits) != len(requests) {
		t.Fatalf("the exits are %q", exits)
	}
	answers := make([]string, len(requests))
	for i := range answers {
		answer, err := os.ReadFile(filepath.Join(dir, strconv.Itoa(i)))
		if err != nil && exits[i] != "55" {
			t.Fatal(err)
		}
		answers[i] = "exit " + exits[i] + "\n" + sortHead(string(answer))
	}
	return answers
}

func takeTold(told <-chan received, n int) (all []received) {
	for range n {
		all = append(all, <-told)
	}
	return all
}

// sortHead sorts the lines of each head, which HTTP/2 gives in any order, and forgets the version.
func sortHead(out string) string {
	head, body, _ := strings.Cut(out, "\r\n\r\n")
	lines := strings.Split(head, "\r\n")
	slices.Sort(lines[1:])
	if strings.HasPrefix(body, "HTTP/") {
		body = sortHead(body)
	}
	return strings.Join(lines, "\n") + "\n\n" + body
}

func differsOnlyByForwarding(t *testing.T, request []string, want, got received) {
	t.Helper()
	if want.header["X-Forwarded-For"] != nil || got.header.Get("X-Forwarded-For") != "127.0.0.1" ||
		got.header.Get("X-Forwarded-Host") != got.host || got.header.Get("X-Forwarded-Proto") != "http" {
		t.Errorf("%q: the primary got %v", request, got.header)
	}
	for _, name := range [...]string{"X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
		delete(got.header, name)
	}
	delete(want.header, "Connection")
	if want.method != got.method || want.target != got.target || want.host != got.host || want.length != got.length ||
		!maps.EqualFunc(want.header, got.header, equalLines) {
		t.Errorf("%q: directly the primary got\n%+v\nthrough the proxy\n%+v", request, want, got)
	}
}

// One connection serves one request after another, whatever the answers are. What curl makes of it is the same as without
// the proxy: with HTTP/2 not all versions of curl manage it.
func TestCurlReusesItsConnection(t *testing.T) {
	told := make(chan received, 64)
	address := strings.Replace(newShop(t, told), "h2c:", "http:", 1)
	s := newRawStage(t, address, "", "", nil)
	visit := func(version, address string, headers ...string) (out string, exit int) {
		var args []string
		for _, request := range [][]string{
			{"/json"}, {"/json", "-I"}, {"/empty"}, {"/same"}, {"/broken"}, {"/chunks"}, {"/trailers"}, {"/hints"}, {"/post", "-d", "a=1"}, {"/moved"}, {"/json"},
		} {
			args = append(args, version, "-sS", "-o", os.DevNull, "-w", "%{num_connects} %{http_code}\n")
			args = append(append(append(args, headers...), request[1:]...), address+request[0], "--next")
		}
		return curl(t, args[:len(args)-1]...)
	}
	out, exit := visit("--http1.1", "http://"+s.addr)
	if want := "1 200\n0 200\n0 204\n0 304\n0 500\n0 200\n0 200\n0 200\n0 200\n0 302\n0 200\n"; out != want || exit != 0 {
		t.Errorf("connections made and answers are %q, exit %d", out, exit)
	}
	for _, version := range [][]string{{"--http1.0"}, {"--http1.0", "-H", "Connection: keep-alive"}, {"--http2-prior-knowledge"}} {
		out, exit = visit(version[0], "http://"+s.addr, version[1:]...)
		if direct, exitDirect := visit(version[0], address, version[1:]...); out != direct || exit != exitDirect {
			t.Errorf("%s: connections made and answers are %q, exit %d; directly %q, exit %d", version, out, exit, direct, exitDirect)
		}
	}
}

// A hundred streams at once on one connection, each held until all have come to the primary; each is shadowed. It is over
// TLS, since not all versions of curl use a connection with prior knowledge twice.
func TestCurlHundredStreams(t *testing.T) {
	const streams = 100
	var all sync.WaitGroup
	all.Add(streams)
	primary := newH2C(t, func(w http.ResponseWriter, r *http.Request) {
		all.Done()
		all.Wait()
		_, _ = io.WriteString(w, r.RequestURI)
	})
	shadow := newHandlerServer(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.RequestURI) })
	cert, key := pemFiles(t)
	s := newRawStage(t, primary, shadow, shadow, func(c *Config) { c.TLS = ListenerTLS{cert, key} })
	dir := t.TempDir()
	out, exit := curl(t, "--http2", "--insecure", "--parallel", "--parallel-max", strconv.Itoa(streams), "--no-globoff",
		"-o", filepath.Join(dir, "#1"), "-w", "%{num_connects} %{http_version} %{http_code}\n", fmt.Sprintf("https://%s/n/[1-%d]", s.overTLS(), streams))
	if exit != 0 || strings.Count(out, " 2 200\n") != streams || strings.Count(out, "0 2 200\n") != streams-1 {
		t.Errorf("connections made, versions and answers are %q, exit %d", out, exit)
	}
	for i := 1; i <= streams; i++ {
		if body, err := os.ReadFile(filepath.Join(dir, strconv.Itoa(i))); err != nil || string(body) != fmt.Sprint("/n/", i) {
			t.Errorf("stream %d got %q, %v", i, body, err)
		}
	}
	s.counts(Counts{Requests: streams, Exchanged: streams, Compared: streams})
}

// overTLS is where the proxy listens for TLS, beside its other listener.
func (s *stage) overTLS() string {
	s.t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	server, done := s.proxy.Server(), make(chan struct{})
	go func() {
		defer close(done)
		_ = server.ServeTLS(listener, "", "")
	}()
	s.t.Cleanup(func() {
		_ = server.Close()
		<-done
	})
	return listener.Addr().String()
}

// What is larger than any cap goes through as it is: an answer is compared by its hash, an upload is not shadowed.
func TestCurlLarge(t *testing.T) {
	content := bytes.Repeat([]byte("0123456789abcdef"), 8<<20/16)
	sum := fmt.Sprintf("%x", sha256.Sum256(content))
	address := newHandlerServer(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			_, _ = w.Write(content)
			return
		}
		hash := sha256.New()
		_, _ = io.Copy(hash, r.Body)
		_, _ = fmt.Fprintf(w, "%x", hash.Sum(nil))
	})
	s := newRawStage(t, address, address, address, func(c *Config) { c.Methods = []string{"GET", "PUT"} })
	file := filepath.Join(t.TempDir(), "file")
	for _, version := range []string{"--http1.1", "--http2-prior-knowledge"} {
		if out, exit := curl(t, version, "-o", file, "http://"+s.addr+"/"); exit != 0 {
			t.Errorf("%s download: %q, exit %d", version, out, exit)
		}
		if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, content) {
			t.Errorf("%s download: %d bytes, %v", version, len(got), err)
		}
		if out, exit := curl(t, version, "-T", file, "http://"+s.addr+"/"); exit != 0 || out != sum {
			t.Errorf("%s upload: %q, exit %d", version, out, exit)
		}
	}
	s.counts(Counts{Requests: 4, Exchanged: 2, Compared: 2, Skipped: map[Reason]int64{ReasonBodyTooLarge: 2}})
	for range 2 {
		for role, res := range s.exchange().Responses {
			if !res.Over || res.Size != int64(len(content)) || fmt.Sprintf("%x", res.Hash) != sum {
				t.Errorf("the %s's answer is %d bytes, hash %x", Role(role), res.Size, res.Hash)
			}
		}
	}
}

// What curl waits for before it uploads is the primary's word, and the shadows are not asked for theirs.
func TestCurlExpects(t *testing.T) {
	upload := filepath.Join(t.TempDir(), "upload")
	content := bytes.Repeat([]byte("0123456789abcdef"), 4096)
	if err := os.WriteFile(upload, content, 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"-H", "Expect: 100-continue", "--expect100-timeout", "20", "-T", upload, "-X", "POST", "-i", "-w", "\n%{size_upload}"}

	t.Run("accepted", func(t *testing.T) {
		told := make(chan received, 64)
		address := strings.Replace(newShop(t, told), "h2c:", "http:", 1)
		s := newRawStage(t, address, address, address, posts)
		out, exit := curl(t, append(args, "http://"+s.addr+"/upload")...)
		sum := fmt.Sprintf("%x", sha256.Sum256(content))
		if exit != 0 || strings.Count(out, "100 Continue") != 1 || !strings.Contains(out, "HTTP/1.1 200 OK") ||
			!strings.Contains(out, sum) || !strings.HasSuffix(out, fmt.Sprint("\n", len(content))) {
			t.Errorf("exit %d: %q", exit, out)
		}
		for role, res := range s.exchange().Responses {
			if res.Status != 200 || !strings.Contains(string(res.Body), sum) {
				t.Errorf("the %s answered %d %q", Role(role), res.Status, res.Body)
			}
		}
		var expecting int
		for range 3 {
			if r := <-told; r.header.Get("Expect") != "" {
				expecting++
				if r.header["X-Shadow-Request"] != nil {
					t.Errorf("a shadow got %v", r.header)
				}
			}
		}
		if expecting != 1 {
			t.Errorf("%d of the three got Expect", expecting)
		}
	})

	for name, head := range map[string]string{
		"refused":            "HTTP/1.1 401 Unauthorized\r\n",
		"refused and closed": "HTTP/1.1 401 Unauthorized\r\nConnection: close\r\n",
		"unknown":            "HTTP/1.1 417 Expectation Failed\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			primary := raw(t, func(conn net.Conn, r *bufio.Reader) {
				if _, ok := readHead(r); ok {
					_, _ = io.WriteString(conn, head+"Content-Length: 2\r\n\r\nno")
					_, _ = io.Copy(io.Discard, r)
				}
			})
			s := newRawStage(t, primary, "http://127.0.0.1:1", "http://127.0.0.1:1", posts)
			out, exit := curl(t, append(args, "http://"+s.addr+"/upload")...)
			if exit != 0 || strings.Contains(out, "100 Continue") || !strings.HasPrefix(out, head[:13]) || !strings.HasSuffix(out, "\r\n\r\nno\n0") {
				t.Errorf("exit %d: %q", exit, out)
			}
			s.eventually("placed", func() bool { return s.proxy.Counts().Open == 0 })
			if c := s.proxy.Counts(); c.Exchanged != 0 {
				t.Errorf("counts are %+v", c)
			}
		})
	}
}

// Cookies come from the primary alone, and go to all three as the client sends them.
func TestCurlCookies(t *testing.T) {
	bad := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Add("Set-Cookie", "sid=bad; Path=/")
		w.Header().Add("Set-Cookie", "own=bad; Path=/")
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(http.StatusFound)
	}
	s := newStage(t, map[Role]http.HandlerFunc{
		Primary: func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/login" {
				w.Header().Add("Set-Cookie", "sid=good; Path=/")
			}
			answer(200, "hello")(w, r)
		},
		Secondary: bad, Candidate: bad,
	}, nil)
	jar := filepath.Join(t.TempDir(), "jar")
	cookies := func() (names []string) {
		text, err := os.ReadFile(jar)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if field := strings.Split(strings.TrimSpace(line), "\t"); len(field) == 7 {
				names = append(names, field[5]+"="+field[6])
			}
		}
		return names
	}
	for _, path := range []string{"/first", "/second", "/login", "/third"} {
		out, exit := curl(t, "-L", "-b", jar, "-c", jar, "-w", " %{num_redirects}", "http://"+s.addr+path)
		if exit != 0 || out != "hello 0" {
			t.Errorf("%s: %d %q", path, exit, out)
		}
		got, want := cookies(), []string(nil)
		if path == "/login" || path == "/third" {
			want = []string{"sid=good"}
		}
		if !slices.Equal(got, want) {
			t.Errorf("after %s the jar holds %q", path, got)
		}
	}
	s.counts(Counts{Requests: 4, Exchanged: 4, Compared: 4})
	for role, u := range s.upstream {
		for _, r := range u.requests() {
			want := ""
			if r.target == "/third" {
				want = "sid=good"
			}
			if got := r.header.Get("Cookie"); got != want {
				t.Errorf("%s: the %s got cookie %q", r.target, Role(role), got)
			}
		}
		if n := len(u.requests()); n != 4 {
			t.Errorf("the %s was asked %d times", Role(role), n)
		}
	}
}

// Who asks for no coding gets none, and who asks gets the bytes that the primary packed; the shadows are asked alike.
func TestCurlCompressed(t *testing.T) {
	told := make(chan received, 64)
	address := strings.Replace(newShop(t, told), "h2c:", "http:", 1)
	s := newRawStage(t, address, address, address, nil)
	plain := strings.Repeat("tea ", 1000)
	for _, test := range []struct {
		args     []string
		accepted string // a pattern
		body     string
	}{
		{nil, "^$", plain},
		{[]string{"--compressed"}, "gzip", plain},
		{[]string{"-H", "Accept-Encoding: gzip"}, "^gzip$", string(packed())},
	} {
		out, exit := curl(t, append(test.args, "-D", filepath.Join(t.TempDir(), "head"), "http://"+s.addr+"/packed")...)
		if exit != 0 || out != test.body {
			t.Errorf("%q: exit %d, %d bytes", test.args, exit, len(out))
		}
		for range 3 {
			r := <-told
			if got := strings.Join(r.header["Accept-Encoding"], "|"); !regexp.MustCompile(test.accepted).MatchString(got) {
				t.Errorf("%q: an upstream got %q", test.args, got)
			}
		}
		for role, res := range s.exchange().Responses {
			if test.accepted != "^$" && (res.Header.Get("Content-Encoding") != "gzip" || !bytes.Equal(res.Body, packed()) || res.Header.Get("Etag") != `"packed"`) {
				t.Errorf("%q: the %s's answer has %q and %d bytes", test.args, Role(role), res.Header, len(res.Body))
			}
		}
	}
}

// An answer that breaks off is an error for the client too.
func TestCurlSeesTruncation(t *testing.T) {
	for name, answer := range map[string]string{
		"length":  "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nfour",
		"chunked": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nfour\r\n",
	} {
		primary := raw(t, func(conn net.Conn, r *bufio.Reader) {
			if _, ok := readHead(r); ok {
				_, _ = io.WriteString(conn, answer)
			}
		})
		s := newRawStage(t, primary, "", "", nil)
		for version, failure := range map[string][]int{
			"--http1.1": {18, 56}, "--http1.0": {18, 56}, "--http2-prior-knowledge": {18, 92}, // partial file, failure in receiving, stream error
		} {
			if name == "chunked" && version == "--http1.0" {
				continue // has no word for it but the connection's reset
			}
			out, exit := curl(t, version, "http://"+s.addr+"/")
			whole := out == "four" || version == "--http2-prior-knowledge" && out == "" // then curl may throw away what it has
			if !whole || !slices.Contains(failure, exit) {
				t.Errorf("%s %s: %q, exit %d", name, version, out, exit)
			}
		}
	}
}

// Each event is there before the next is sent.
func TestCurlReadsEvents(t *testing.T) {
	for _, version := range []string{"--http1.1", "--http2-prior-knowledge"} {
		next := make(chan string)
		s := newStage(t, map[Role]http.HandlerFunc{Primary: events(next)}, nil)
		ctx, cancel := context.WithCancel(patient(t))
		cmd := curlCommand(t, "-N", version, "-H", "Accept: text/event-stream", "http://"+s.addr+"/events")
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		r := bufio.NewReader(out)
		for i := range 5 {
			select {
			case next <- strconv.Itoa(i):
			case <-ctx.Done():
				t.Fatal("the primary was not asked")
			}
			for _, want := range []string{fmt.Sprintf("id: %d\n", i), fmt.Sprintf("data: event %d\n", i), "\n"} {
				if line, err := r.ReadString('\n'); err != nil || line != want {
					t.Fatalf("%s: got %q, %v", version, line, err)
				}
			}
		}
		close(next)
		if rest, err := io.ReadAll(r); err != nil || len(rest) > 0 {
			t.Errorf("%s: the end is %q, %v", version, rest, err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v", version, err)
		}
		cancel()
		s.counts(Counts{Requests: 1, Skipped: map[Reason]int64{ReasonStream: 1}})
	}
}

// curl that takes it for a forward proxy: what it may ask it that way is asked of the primary, and tunnels are refused.
func TestCurlTakesItForAForwardProxy(t *testing.T) {
	s := newStage(t, nil, nil)
	out, exit := curl(t, "-x", "http://"+s.addr, "http://shop.example/a%2Fb?c")
	if exit != 0 || out != "hello" {
		t.Errorf("got %q, exit %d", out, exit)
	}
	s.counts(Counts{Requests: 1, Exchanged: 1, Compared: 1})
	for role, u := range s.upstream {
		if r := u.requests()[0]; r.target != "/a%2Fb?c" || r.host != "shop.example" || r.header["Proxy-Connection"] != nil {
			t.Errorf("the %s got %+v", Role(role), r)
		}
	}
	out, exit = curl(t, "-p", "-x", "http://"+s.addr, "-w", "%{http_connect}", "http://shop.example/")
	if exit == 0 || out != "405" && out != "501" {
		t.Errorf("CONNECT got %q, exit %d", out, exit)
	}
	s.counts(Counts{Requests: 2, Exchanged: 1, Compared: 1, Skipped: map[Reason]int64{ReasonConnect: 1}})
	if n := len(s.upstream[Primary].requests()); n != 1 {
		t.Errorf("the primary was asked %d times", n)
	}
}

// curl that offers to go on with HTTP/2 is answered with HTTP/1.1, as by any server that does not care.
func TestCurlOffersUpgrade(t *testing.T) {
	s := newStage(t, nil, nil)
	out, exit := curl(t, "--http2", "-w", " %{http_version} %{http_code}", "http://"+s.addr+"/a")
	if exit != 0 || out != "hello 1.1 200" {
		t.Errorf("got %q, exit %d", out, exit)
	}
	s.eventually("placed", func() bool { return s.proxy.Counts().Open == 0 })
	r := s.upstream[Primary].requests()[0]
	for _, name := range [...]string{"Upgrade", "Http2-Settings", "Connection"} {
		if r.header[name] != nil {
			t.Errorf("the primary got %s: %q", name, r.header[name])
		}
	}
}
