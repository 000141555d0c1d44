package web

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	"golang.org/x/net/html"

	"shadowdiff/store"
)

// door is one address of the admin listener with one of its methods, as the router has it.
type door struct{ method, pattern, path string }

func (d door) writes() bool { return d.method != http.MethodGet }

func (d door) String() string { return d.method + " " + d.pattern }

// doors are all that the router has, so that what is added to it is tested without a word here.
func (r *rig) doors() (list []door) {
	r.t.Helper()
	holes := regexp.MustCompile(`\{[^}]*\}`)
	err := chi.Walk(r.server.handler.(chi.Routes), func(method, pattern string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		path := strings.ReplaceAll(holes.ReplaceAllString(pattern, "1"), "/*", "/shadowdiff.css")
		switch pattern {
		case "/routes/{id}":
			path = routePath("GET /products/{id}")
		case "/fields/{id}":
			path = fieldPath("GET /products/{id}", "body.price")
		}
		list = append(list, door{method, pattern, path})
		return nil
	})
	if err != nil || len(list) < 40 {
		r.t.Fatalf("the router has %d addresses: %v", len(list), err)
	}
	return list
}

// knock sends a request without waiting for the end of its answer, which for events never comes. It returns what came of
// the body at once.
func (r *rig) knock(method, path string, body io.Reader, headers ...string) answer {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 60*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, r.admin.URL+path, body)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if name == "Host" {
			req.Host = value
		}
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		r.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer resp.Body.Close()
	if resp.Header.Get("Content-Type") == "text/event-stream" {
		return answer{resp.StatusCode, resp.Header, ""}
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatalf("%s %s: %v", method, path, err)
	}
	return answer{resp.StatusCode, resp.Header, string(text)}
}

// elsewhere are addresses that no router lists.
func elsewhere() []door {
	return []door{
		{"GET", "", "/nowhere"},
		{"DELETE", "", "/"},
		{"GET", "", "/api/v1/nowhere"},
		{"POST", "", "/metrics"},
		{"DELETE", "", "/api/v1/runs"},
		{"GET", "", "/static/"},
		{"GET", "", "/static/..%2f..%2fgo.mod"},
		{"PUT", "", "/api/v1"},
	}
}

// openDoors need no token: load balancers have none.
func openDoors() []string { return []string{"GET /healthz", "GET /readyz"} }

func TestEveryAddressAsksForTheToken(t *testing.T) {
	const token = "correct-horse-battery"
	r := newRig(t, shop("1"), shop("2"), func(c *Config) { c.Token = token })
	r.ask(30, "/products/1")
	r.become(func(now *Instance) { now.Failed = []string{"a-part-that-failed"} })
	for _, d := range append(r.doors(), elsewhere()...) {
		for _, with := range []string{"", "Bearer", "Bearer ", "Bearer correct-hors", "Bearer " + token + "x", "Basic Og==", "Basic Y29ycmVjdC1ob3JzZTp4", token} {
			r.server.guesses.forgive()
			a := r.knock(d.method, d.path, http.NoBody, "Accept: text/html", "Authorization: "+with)
			for _, told := range []string{token, "v2.3.1", "a-part-that-failed", "/products"} {
				if strings.Contains(a.body, told) {
					t.Errorf("%s tells a stranger %q", d, told)
				}
			}
			if slices.Contains(openDoors(), d.String()) {
				continue
			}
			if a.status != http.StatusUnauthorized || len(a.header.Values("WWW-Authenticate")) != 2 {
				t.Errorf("%s %s with %q: %d", d, d.path, with, a.status)
			}
		}
		if d.writes() {
			continue
		}
		if a := r.knock(d.method, d.path, http.NoBody, "Authorization: Bearer "+token); a.status == http.StatusUnauthorized || strings.Contains(a.body, token) {
			t.Errorf("%s with the token: %d", d, a.status)
		}
	}
	if a := r.knock("GET", "/readyz", http.NoBody, "Authorization: Bearer "+token); !strings.Contains(a.body, "a-part-that-failed") {
		t.Errorf("readyz tells those who may know: %s", a.body)
	}
}

func TestNoAddressAnswersAForeignHost(t *testing.T) {
	r := newRig(t, shop("1"), shop("2"), nil)
	for _, d := range append(r.doors(), elsewhere()...) {
		for _, host := range []string{"evil.example:8881", "127.0.0.1.evil.example", "localhost.evil.example", "evil.example#.localhost"} {
			if a := r.knock(d.method, d.path, http.NoBody, "Host: "+host); a.status != http.StatusMisdirectedRequest && a.status != http.StatusBadRequest {
				t.Errorf("%s %s as %s: %d", d, d.path, host, a.status)
			}
		}
	}
}

func TestEveryAnswerHasItsHeaders(t *testing.T) {
	r := newRig(t, shop("1"), shop("2"), nil)
	r.reload = func(string) Reload { return Reload{} }
	r.ask(30, "/products/1")
	for _, d := range append(r.doors(), elsewhere()...) {
		for _, accept := range []string{"text/html", "application/json"} {
			a := r.knock(d.method, d.path, http.NoBody, "Accept: "+accept)
			for name, want := range map[string]string{
				"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "same-origin",
				"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
			} {
				if got := a.header.Get(name); got != want {
					t.Errorf("%s: %s: %q", d, name, got)
				}
			}
			policy := a.header.Get("Content-Security-Policy")
			for _, must := range []string{"default-src '", "base-uri 'none'", "frame-ancestors 'none'"} {
				if !strings.Contains(policy, must) {
					t.Errorf("%s: the policy lacks %s: %s", d, must, policy)
				}
			}
			if strings.Contains(policy, "unsafe") || a.header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s lets in too much: %v", d, a.header)
			}
			if a.status == http.StatusOK && a.header.Get("ETag") == "" && a.header.Get("Cache-Control") == "" && d.pattern != "/metrics" {
				t.Errorf("%s may be kept by caches", d)
			}
		}
	}
}

func TestNoOtherSiteMayWriteAnything(t *testing.T) {
	r := newRig(t, shop("1"), shop("2"), nil)
	r.reload = func(string) Reload { t.Error("another site has reloaded"); return Reload{} }
	r.ask(3, "/products/1")
	before := r.get("/api/v1/activity")
	for _, d := range r.doors() {
		if !d.writes() {
			continue
		}
		for _, headers := range [][]string{
			{"Origin: https://evil.example"},
			{"Origin: null"},
			{"Sec-Fetch-Site: cross-site"},
			{"Sec-Fetch-Site: same-site"},
			{"Origin: http://127.0.0.1:1"},
			{"Origin: https://evil.example", "Sec-Fetch-Site: cross-site"},
		} {
			for _, label := range []string{"text/plain", "application/json", "application/x-www-form-urlencoded"} {
				a := r.knock(d.method, d.path, strings.NewReader(`{"enabled":false}`), append(headers, "Content-Type: "+label)...)
				if a.status != http.StatusForbidden || !strings.Contains(a.body, "another site") {
					t.Errorf("%s with %v: %d %s", d, headers, a.status, a.body)
				}
			}
		}
	}
	if after := r.get("/api/v1/activity"); after != before || !r.proxy.Shadowing().Enabled {
		t.Errorf("something was changed: %s", after)
	}
}

func TestReadOnlyTakesNoWrite(t *testing.T) {
	r := newRig(t, shop("1"), shop("2"), func(c *Config) { c.ReadOnly = true })
	harmless := []string{"POST /theme", "POST /api/v1/gate", "POST /api/v1/rules/preview"}
	for _, d := range r.doors() {
		if !d.writes() || slices.Contains(harmless, d.String()) {
			continue
		}
		if a := r.knock(d.method, d.path, strings.NewReader("{}")); a.status != http.StatusForbidden || !strings.Contains(a.body, "web.read_only") {
			t.Errorf("%s: %d %s", d, a.status, a.body)
		}
	}
}

// endless is a body without an end, and counts what is read of it.
type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	if e.read == 0 {
		copy(p, `{"name":"`)
	}
	e.read += len(p)
	return len(p), nil
}

func (e *endless) Close() error { return nil }

func TestNoBodyIsReadWithoutEnd(t *testing.T) {
	r := newRig(t, shop("1"), shop("2"), nil)
	r.reload = func(string) Reload { return Reload{} }
	r.ask(3, "/products/1")
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write(bytes.Repeat([]byte(" "), 64<<20))
	_ = z.Close()
	for _, d := range r.doors() {
		body := &endless{}
		label := "application/json"
		if !strings.HasPrefix(d.pattern, "/api/") {
			label = "application/x-www-form-urlencoded"
		}
		if !d.writes() {
			continue // net/http reads none for those who do not
		}
		req := httptest.NewRequest(d.method, "http://127.0.0.1"+d.path, nil)
		req.Body, req.ContentLength = body, -1
		req.Header.Set("Content-Type", label)
		w := httptest.NewRecorder()
		r.server.handler.ServeHTTP(w, req)
		if body.read > 4<<20 {
			t.Errorf("%s has read %d bytes", d, body.read)
		}
		if body.read > 0 && w.Code != http.StatusRequestEntityTooLarge {
			t.Errorf("%s: %d after %d bytes: %s", d, w.Code, body.read, w.Body)
		}
		if body.read == 0 || label != "application/json" {
			continue
		}
		a := r.knock(d.method, d.path, bytes.NewReader(packed.Bytes()), "Content-Encoding: gzip", "Content-Type: application/json")
		if a.status != http.StatusUnsupportedMediaType {
			t.Errorf("%s takes a packed body: %d %s", d, a.status, a.body)
		}
	}
}

// A body that does not come, or not whole, is the caller's fault and none of ours: nothing of it stands in the log.
func TestAHalfBodyIsNotWaitedFor(t *testing.T) {
	r := newRig(t, shop("1"), shop("2"), nil)
	slow := httptest.NewUnstartedServer(nil)
	slow.Config = r.server.HTTP()
	slow.Config.ReadTimeout = 200 * time.Millisecond // instead of half a minute
	slow.Start()
	defer slow.Close()
	for _, stays := range []bool{true, false} {
		conn, err := net.Dial("tcp", slow.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "PUT /api/v1/shadowing HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{")
		want := " 408 "
		if !stays {
			_ = conn.(*net.TCPConn).CloseWrite()
			want = " 400 "
		}
		_ = conn.SetReadDeadline(time.Now().Add(60 * time.Second))
		answer, err := io.ReadAll(conn)
		if head, _, _ := strings.Cut(string(answer), "\r\n"); err != nil || !strings.Contains(head, want) {
			t.Errorf("half a body of one who stays (%t): %q, %v", stays, head, err)
		}
	}
}

// What is slow is not waited for without end, and what is long in the head is not read.
func TestSlowReadersAreTimedOut(t *testing.T) {
	r := newRig(t, shop("1"), shop("2"), nil)
	s := r.server.HTTP()
	for name, d := range map[string]time.Duration{
		"ReadHeaderTimeout": s.ReadHeaderTimeout, "ReadTimeout": s.ReadTimeout, "WriteTimeout": s.WriteTimeout, "IdleTimeout": s.IdleTimeout,
	} {
		if d <= 0 || d > 2*time.Minute {
			t.Errorf("%s is %s", name, d)
		}
	}
	a := r.knock("GET", "/", http.NoBody, "X-Long: "+strings.Repeat("x", 100<<10))
	if a.status != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("a head of 100 KiB: %d", a.status)
	}
}

// Whatever names come from traffic or from those who write, no page has anything in it that could run.
func TestNothingRunsOnAnyPage(t *testing.T) {
	const bad = `'"><script>alert(1)</script><img src=x onerror=alert(2)>{{.}}` + "`${1}"
	hostile := func(value string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("X-App-Version", bad)
			fmt.Fprintf(w, `{%q:%q,"javascript:alert(1)":%q}`, bad, bad+value, value)
		}
	}
	r := newRig(t, hostile("a"), hostile("b"), nil)
	r.ask(40, "/"+strings.ReplaceAll(bad, " ", "%20")+"?q=%3Cscript%3E")
	name, notes := bad, bad
	if _, err := r.db.ChangeRun(t.Context(), r.run.Load(), store.RunChange{Name: &name, Notes: &notes}); err != nil {
		t.Fatal(err)
	}
	r.become(func(now *Instance) {
		now.Warnings = []string{bad}
		now.File = bad
		now.Reload = &Reload{Faults: []Fault{{File: bad, Message: bad}}}
	})
	paths := []string{"/nowhere/" + bad[2:10], "/samples/999", "/api/v1/report"}
	for _, d := range r.doors() {
		if !d.writes() && strings.Count(d.pattern, "{") == 0 {
			paths = append(paths, d.path)
		}
	}
	for _, at := range []string{"/", "/api/v1/samples"} {
		for _, m := range regexp.MustCompile(`(?:href=|"page":)"(/(?:routes|fields|samples)/[^"]+)"`).FindAllStringSubmatch(r.get(at), -1) {
			paths = append(paths, html.UnescapeString(m[1]))
		}
	}
	seen := 0
	for _, at := range paths {
		a := r.knock("GET", at, http.NoBody, "Accept: text/html")
		if label := a.header.Get("Content-Type"); !strings.HasPrefix(label, "text/html") {
			if strings.Contains(label, "xml") || strings.Contains(label, "svg") {
				t.Errorf("%s is sent as %s", at, label)
			}
			continue
		}
		seen++
		for _, wrong := range runnable(t, a.body) {
			t.Errorf("%s holds %s", at, wrong)
		}
	}
	if seen < 8 {
		t.Errorf("only %d pages were seen: %v", seen, paths)
	}
}

// runnable lists what a browser would run, or load from elsewhere, in a page.
func runnable(t *testing.T, page string) (list []string) {
	t.Helper()
	for in := html.NewTokenizer(strings.NewReader(page)); ; {
		if in.Next() == html.ErrorToken {
			return list
		}
		token := in.Token()
		if token.Type != html.StartTagToken && token.Type != html.SelfClosingTagToken {
			continue
		}
		attr := map[string]string{}
		for _, a := range token.Attr {
			attr[a.Key] = a.Val
			scheme := regexp.MustCompile(`(?i)^\s*(javascript|data|vbscript):`).MatchString(a.Val)
			if strings.HasPrefix(a.Key, "on") || a.Key == "style" || a.Key == "srcdoc" || scheme || strings.HasPrefix(a.Key, "hx-on") {
				list = append(list, token.String())
			}
		}
		if token.Data == "script" && !strings.HasPrefix(attr["src"], "/static/") || slices.Contains([]string{"iframe", "object", "embed", "base"}, token.Data) ||
			token.Data == "img" && attr["src"] == "x" {
			list = append(list, token.String())
		}
	}
}

// A name that stands for another machine's address, or for all of them, is found out when the port is taken.
func TestANameIsNoProofOfLoopback(t *testing.T) {
	for at, good := range map[string]bool{"127.0.0.1": true, "127.9.9.9": true, "::1": true, "::ffff:127.0.0.1": true, "10.0.0.7": false, "0.0.0.0": false, "::": false} {
		cfg := Config{Listen: "admin.localhost:8881"}
		if faults := cfg.Validate(); len(faults) > 0 {
			t.Fatal(faults)
		}
		err := cfg.Reached(&net.TCPAddr{IP: net.ParseIP(at), Port: 8881})
		if (err == nil) != good {
			t.Errorf("%s: %v", at, err)
		}
		cfg.Token = "t"
		if err := cfg.Reached(&net.TCPAddr{IP: net.ParseIP(at)}); err != nil {
			t.Errorf("with a token: %v", err)
		}
	}
	if (Config{}).Reached(&net.UnixAddr{Name: "x"}) == nil {
		t.Error("what is no address of IP is not known to be loopback")
	}
}
