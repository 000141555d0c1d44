package web

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"shadowdiff/multicast"
	"shadowdiff/store"
)

// arrived is a request as a server saw it.
type arrived struct {
	method, target, host, body string
	header                     http.Header
}

// recorder is a server that keeps the last request.
func recorder(t *testing.T) (*httptest.Server, *arrived) {
	t.Helper()
	last := &arrived{}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		*last = arrived{r.Method, r.RequestURI, r.Host, string(body), r.Header}
	}))
	t.Cleanup(server.Close)
	return server, last
}

// shell runs a command as a person who pastes it does, in an empty folder that must stay empty.
func shell(t *testing.T, command string) {
	t.Helper()
	cmd := exec.Command("sh") // which reads it as it reads what is typed
	cmd.Stdin = strings.NewReader(command)
	cmd.Dir = t.TempDir()
	cmd.Env = append(cmd.Environ(), "HOME="+cmd.Dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %.300s\nof\n%.600s", err, out, command)
	}
	if left, err := os.ReadDir(cmd.Dir); err != nil || len(left) > 0 {
		t.Errorf("%v %v are left by\n%.600s", left, err, command)
	}
}

// Whatever a request holds, the command sends the very same, and runs nothing of it.
func TestTheCurlCommandSendsTheSameBytes(t *testing.T) {
	server, last := recorder(t)
	hostile := []string{
		"plain", `it's "quoted"`, "$(touch pwned) `touch pwned` ${HOME} $HOME", "@/etc/passwd", "@-", "<file", "a\\nb\\", "-d x", "%s %d %%",
		"; touch pwned #", "&& touch pwned", "| touch pwned", "!history", "~root", "*?[a-z]{1,2}", "üñí 日本 \u202e", "''", "'\\''",
	}
	all := http.Header{}
	var body strings.Builder
	for i, text := range hostile {
		all.Set(fmt.Sprint("X-Value-", i), text)
		body.WriteString(text + "\n\t")
	}
	requests := []multicast.Request{
		{Method: "POST", Target: "/p", Host: "shop.example", Header: all, Body: []byte(body.String())},
		{Method: "PUT", Target: "/p", Host: "h", Body: []byte("@/etc/passwd\n" + body.String())},
		{Method: "GET", Target: "/p", Host: "h", Body: []byte("\x00\x01" + body.String() + "\xff\r\n")},
		{Method: "PATCH", Target: "/p", Host: "h", Body: []byte("-d@x")},
	}
	for _, target := range []string{
		"/", "/a/../b/./c", "/{id}/[1-3]?x={a,b}&y=[1-9]", "/it's?q=$(id)&r=`id`&s=\"x\"", "//double", "/%5Bredacted%5D?token=%5Bredacted%5D", "/a?b=c?d&&e==", "/a;b=c,d@e:f",
	} {
		requests = append(requests, multicast.Request{Method: "GET", Target: target, Host: "h"})
	}
	requests = append(requests,
		multicast.Request{Method: "HEAD", Target: "/p", Host: "h"},
		multicast.Request{Method: "POST", Target: "/empty", Host: "h"},
		multicast.Request{Method: "M-SEARCH", Target: "/p", Host: "h", Header: http.Header{"X-Empty": {""}, "X-Two": {"a", "b"}, "User-Agent": {"me/1"}, "Accept": {"*/*"}}},
		multicast.Request{Method: "POST", Target: "/p", Host: "h", Header: http.Header{"Content-Type": {"text/plain"}, "Content-Length": {"7"}, "Expect": {"100-continue"}}, Body: []byte("@/etc/hosts")},
		multicast.Request{Method: "POST", Target: "/p", Host: "h", Header: http.Header{"Accept-Encoding": {"gzip"}}, Body: []byte(strings.Repeat("it's long\n", 50_000))},
		multicast.Request{Method: "POST", Target: "/p", Host: "h", Body: []byte(strings.Repeat("\x80", 1<<20))},
	)
	for _, req := range requests {
		command := string(curlOf(&store.Sample{ID: 7, Request: req}, multicast.Primary, server.URL))
		shell(t, command)
		header := req.Header.Clone()
		header.Del("Content-Length")
		header.Del("Expect")
		last.header.Del("Content-Length")
		if last.method != req.Method || last.target != req.Target || last.host != req.Host || last.body != string(req.Body) || !sameHeader(last.header, header) {
			t.Errorf("sent %.300q\n by %.600s\narrived %.300q", req, command, *last)
		}
	}
}

func sameHeader(a, b http.Header) bool {
	if len(a) != len(b) {
		return false
	}
	for name, values := range a {
		if !slices.Equal(values, b[name]) {
			return false
		}
	}
	return true
}

// The command of a kept sample asks the role that is wanted, and says what was taken out of it.
func TestTheCurlCommandOfASample(t *testing.T) {
	r := newRig(t, shop("1"), shop("2"), nil)
	r.ask(1, "/products/1?token=hidden&x='y'")
	targets := r.now().Targets
	for path, base := range map[string]string{
		"/api/v1/samples/1/curl": targets.Primary, "/api/v1/samples/1/curl?role=candidate": targets.Candidate,
		"/api/v1/samples/1/curl?role=secondary": targets.Secondary,
	} {
		a := r.do(http.MethodGet, path, "")
		mustHold(t, path, a.body, `--url '`+base+`/products/1?token=%5Bredacted%5D&x='\''y'\'''`, "put your own in the place")
		if a.header.Get("Content-Type") != "text/plain; charset=utf-8" || strings.Contains(a.body, "hidden") {
			t.Errorf("%s: %s %s", path, a.header.Get("Content-Type"), a.body)
		}
		shell(t, a.body)
	}
	server, last := recorder(t)
	r.become(func(i *Instance) { i.Targets.Primary = server.URL + "/base/"; i.Targets.Secondary = "" })
	shell(t, r.get("/api/v1/samples/1/curl"))
	if last.target != "/base/products/1?token=%5Bredacted%5D&x='y'" || !strings.HasPrefix(r.front.URL, "http://"+last.host) {
		t.Errorf("asked %+v", *last)
	}
	for path, c := range map[string]struct {
		status int
		says   string
	}{
		"/api/v1/samples/1/curl?role=secondary": {409, "there is no secondary to ask"},
		"/api/v1/samples/1/curl?role=tertiary":  {400, "give primary, secondary or candidate"},
		"/api/v1/samples/1/curl?rol=primary":    {400, `did you mean "role"?`},
		"/api/v1/samples/9/curl":                {404, "sample 9 is not kept"},
	} {
		if a := r.do(http.MethodGet, path, ""); a.status != c.status || !strings.Contains(a.body, strings.ReplaceAll(c.says, `"`, `\"`)) {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
}

// A body that is longer than an argument may be is handed over by a pipe.
func TestTheCurlCommandOfALongBody(t *testing.T) {
	r := newRig(t, shop("1"), shop("2"), nil)
	req, err := http.NewRequest(http.MethodGet, r.front.URL+"/products/1", strings.NewReader(strings.Repeat("x", 200<<10)))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	<-r.delivered
	if err := r.db.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	server, last := recorder(t)
	r.become(func(i *Instance) { i.Targets.Primary = server.URL })
	shell(t, r.get("/api/v1/samples/1/curl"))
	if last.body != strings.Repeat("x", 200<<10) {
		t.Errorf("%d bytes arrived", len(last.body))
	}
}

// FuzzShellWord lets a shell read what was written for it.
func FuzzShellWord(f *testing.F) {
	for _, seed := range []string{"", "'", "a'b'c", "$(x)`y`", "\\'", "\n", "--", "\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.ContainsRune(text, 0) || len(text) > curlLongest {
			return
		}
		out, err := exec.Command("sh", "-c", "printf %s "+shellWord(text)).Output()
		if err != nil || string(out) != text {
			t.Errorf("%q is read as %q, %v", text, out, err)
		}
	})
}
