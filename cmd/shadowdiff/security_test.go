package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"

	"shadowdiff/multicast"
)

// TestReadersTakeNothingFromClients has more readers than the pages take, each with a connection that it keeps. Clients are
// served all the same, and a reader who leaves makes room for the next.
func TestReadersTakeNothingFromClients(t *testing.T) {
	for files, want := range map[int64]int{0: 1024, 1 << 20: 1024, 1024: 128, 64: 16} {
		if got := readersMost(files); got != want {
			t.Errorf("of %d descriptors the pages have %d connections, want %d", files, got, want)
		}
	}
	p := newPeer(t, "primary", nil)
	l := serveFile(t, addresses(p, p, p))
	most := readersMost(multicast.OpenFiles())
	http.DefaultClient.CloseIdleConnections() // the rig's own
	var answered atomic.Int64
	var reading sync.WaitGroup
	conns := make([]net.Conn, most+50)
	for i := range conns {
		conn, err := net.Dial("tcp", l.svc.admin.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		conns[i] = conn
		if _, err := io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		reading.Go(func() {
			if res, err := http.ReadResponse(bufio.NewReader(conn), nil); err == nil && res.StatusCode == http.StatusOK {
				answered.Add(1)
			}
		})
	}
	l.eventually("all places are taken", func() bool { return answered.Load() >= int64(most) })
	c := l.connect()
	for range 20 {
		if got := c.get("/orders"); got != "200 primary" {
			t.Errorf("a client gets %q", got)
		}
	}
	if got := answered.Load(); got != int64(most) {
		t.Errorf("%d readers were answered at once, want %d", got, most)
	}
	for _, conn := range conns[:50] {
		_ = conn.Close()
	}
	l.eventually("those who waited are answered", func() bool { return answered.Load() == int64(len(conns)) })
	for _, conn := range conns {
		_ = conn.Close()
	}
	reading.Wait()
}

// What is secret in a configuration is in no message about it, whatever is wrong with it.
func TestNoFaultTellsASecret(t *testing.T) {
	t.Parallel()
	const secret = "s3cr3t"
	dir := t.TempDir()
	for name, text := range map[string]string{"blank": secret + " " + secret + "\n", "empty": "\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, part := range []string{
		"web: " + secret, "webhook: https://hooks.example/" + secret, "web: [" + secret + "]", "web: {token: [" + secret + "]}",
		"web: {token: '" + secret + " a'}", "web: {token: '${" + secret + "-x}'}", "web: {token: 'a${" + secret + "'}",
		"web: {token_file: blank}", "web: {token_file: empty}", "webhook: {secret_file: empty, url: 'http://a'}",
		"webhook: {url: 'ftp://" + secret + "'}", "webhook: {url: 'http://h/%zz" + secret + "'}", "webhook: {url: 'http://h/#" + secret + "'}",
		"webhook: {url: {" + secret + ": a}}", "web: {token: " + secret + ", token_file: blank}",
		`shadow: {set_headers: {Authorization: "Bearer ` + secret + `\n"}}`,
	} {
		file := filepath.Join(dir, "shadowdiff.yaml")
		if err := os.WriteFile(file, []byte("primary: http://127.0.0.1:1\n"+part+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, faults := readConfig(file, nil, testEnvironment)
		if len(faults) == 0 {
			t.Errorf("%s is taken", part)
		}
		for _, line := range lines(faults) {
			if strings.Contains(line, secret) {
				t.Errorf("%s: %s", part, line)
			}
		}
	}
}

// TestNothingThatIsReadHoldsASecret plants secrets in every part of requests and answers, and looks for them behind every
// address that the router has, in the log, the backup and what is posted.
func TestNothingThatIsReadHoldsASecret(t *testing.T) {
	t.Parallel()
	planted := []string{
		"h34der", "c00kie", "qu3ry", "b0dy", "s3t-cookie", "4nswer", "m4rkup", "f0rm", // traffic
		"t0ken-of-pages", "h00k-path", "h00k-secret", "s3t-header", // configuration
	}
	answer := func(price string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Add("Set-Cookie", "sid=s3t-cookie"+price)
			w.Header().Set("X-Api-Key", "4nswer"+price)
			switch r.URL.Path {
			case "/page":
				w.Header().Set("Content-Type", "text/html")
				fmt.Fprintf(w, `<p>%s</p><input name="password" value="m4rkup%s">`, price, price)
			default:
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprintf(w, `{"price":%s,"access_token":"4nswer%s","deep":[{"password":"4nswer%s"}]}`, price, price, price)
			}
		}
	}
	var mu sync.Mutex
	var posted strings.Builder
	hook := newPeer(t, "hook", func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		_, _ = io.Copy(&posted, r.Body)
	})
	primary, secondary, candidate := newPeer(t, "p", answer("1")), newPeer(t, "s", answer("1")), newPeer(t, "c", answer("2"))
	l := serveFile(t, addresses(primary, secondary, candidate)+"headers: {compare: [Set-Cookie]}\n"+
		"routes: [{match: POST /login, shadow: true}]\nshadow: {set_headers: {X-Internal-Key: s3t-header}}\n"+
		"store: {redact: [header.authorization, header.cookie, header.set-cookie, header.x-api-key, header.x-internal-key, query.token, body.**.password, body.**.access_token, 'body.**[\"@value\"]']}\n"+
		"webhook: {url: '"+hook.URL+"/h00k-path', secret: h00k-secret, on: [different, undecided, equivalent]}\n")
	c := l.connect()
	secrets := []string{"Authorization: Bearer h34der", "Cookie: sid=c00kie", "X-Api-Key: h34der"}
	for range 40 {
		c.get("/orders?token=qu3ry&page=1", secrets...)
		c.get("/page?token=qu3ry", secrets...)
	}
	for _, body := range []string{`application/json {"user":"u","password":"b0dy"}`, `application/x-www-form-urlencoded user=u&password=f0rm`} {
		label, text, _ := strings.Cut(body, " ")
		for range 10 {
			request := fmt.Sprintf("POST /login?token=qu3ry HTTP/1.1\r\nHost: shop.example\r\nContent-Type: %s\r\nContent-Length: %d\r\n%s\r\n%s",
				label, len(text), strings.Join(secrets, "\r\n")+"\r\n", text)
			if _, err := c.try(request); err != nil {
				t.Fatal(err)
			}
		}
	}
	l.settled()
	for range 8 {
		l.flush()
	}
	l.eventually("the webhook is told", func() bool { mu.Lock(); defer mu.Unlock(); return posted.Len() > 0 })

	shown := l.everything()
	mu.Lock()
	shown["the webhook"] = posted.String()
	mu.Unlock()
	shown["the log"] = l.log.String()
	for where, text := range shown {
		for _, secret := range planted {
			if strings.Contains(text, secret) {
				t.Errorf("%s holds %s: %s", where, secret, around(text, secret))
			}
		}
	}
}

// around is the text where a word stands.
func around(text, word string) string {
	at := strings.Index(text, word)
	return text[max(0, at-80):min(len(text), at+80)]
}

// everything is what each address answers, for each of the samples, fields and routes that there are.
func (l *live) everything() map[string]string {
	l.t.Helper()
	shown := map[string]string{}
	read := func(method, path string) {
		if _, seen := shown[method+" "+path]; !seen {
			_, shown[method+" "+path] = l.ask(method, path, "")
		}
	}
	var samples []string
	_, list := l.ask(http.MethodGet, "/api/v1/samples?limit=500", "")
	for _, m := range regexp.MustCompile(`"id":(\d+)`).FindAllStringSubmatch(list, -1) {
		samples = append(samples, m[1])
	}
	if len(samples) < 3 {
		l.t.Fatalf("%d samples were kept: %s", len(samples), list)
	}
	read("GET", "/") // before any POST begins another run
	for _, path := range pathsIn(shown["GET /"] + l.pagesBelow(shown["GET /"])) {
		read("GET", path)
	}
	err := chi.Walk(l.svc.web.Handler().(chi.Routes), func(method, pattern string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		switch {
		case strings.Contains(pattern, "/events"), strings.Contains(pattern, "*"), strings.HasSuffix(pattern, "/shrink"), pattern == "/api/v1/reload" && method == "POST":
		case strings.Contains(pattern, "/samples/{id}"):
			for _, id := range samples {
				read(method, strings.ReplaceAll(pattern, "{id}", id))
			}
		case strings.HasPrefix(pattern, "/api/") && strings.Contains(pattern, "{"):
			read(method, regexp.MustCompile(`\{[^}]*\}`).ReplaceAllString(pattern, "1"))
		default:
			read(method, pattern)
		}
		return nil
	})
	if err != nil {
		l.t.Fatal(err)
	}
	for _, more := range []string{
		"/api/v1/samples?format=har", "/api/v1/fields?format=csv", "/api/v1/report?format=json", "/api/v1/equivalence?limit=500",
		"/api/v1/profile?route=GET+%2Forders&field=body.access_token", "/api/v1/profile?route=GET+%2Forders&field=header.set-cookie",
		"/api/v1/profile?route=GET+%2Forders&field=body.deep%5B%5D.password", "/api/v1/attributes?route=GET+%2Forders&field=body.price",
		"/api/v1/series?route=GET+%2Forders", "/nowhere?token=qu-3ry",
	} {
		read("GET", more)
	}
	for _, must := range []string{"GET /api/v1/report", "POST /api/v1/backup", "GET /api/v1/samples/" + samples[0] + "/curl", "POST /api/v1/samples/" + samples[0] + "/ask"} {
		if shown[must] == "" {
			l.t.Errorf("%s was not read", must)
		}
	}
	return shown
}

// The token of the pages is where it is asked for, and nowhere else.
func TestTheTokenIsShownNowhere(t *testing.T) {
	t.Parallel()
	const token = "t0ken-of-pages"
	p := newPeer(t, "primary", nil)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "token"), []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	l := serveFile(t, addresses(p, p, p)+"web: {token_file: "+filepath.Join(dir, "token")+"}\n")
	c := l.connect()
	c.get("/orders")
	l.settled()
	l.flush()
	client := &http.Client{Timeout: 30 * time.Second}
	get := func(method, path string) string {
		req, err := http.NewRequestWithContext(t.Context(), method, l.svc.AdminURL()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.SetBasicAuth("anyone", token)
		res, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode >= 500 || res.StatusCode == http.StatusUnauthorized {
			t.Errorf("%s %s: %d, %v", method, path, res.StatusCode, err)
		}
		return string(text)
	}
	err := chi.Walk(l.svc.web.Handler().(chi.Routes), func(method, pattern string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		if !strings.Contains(pattern, "/events") && !strings.Contains(pattern, "{") {
			if text := get(method, strings.ReplaceAll(pattern, "*", "shadowdiff.css")); strings.Contains(text, token) {
				t.Errorf("%s %s holds the token: %s", method, pattern, around(text, token))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	l.write(addresses(p, p, p) + "web: {token: other-" + token + "}\n")
	if text := get(http.MethodPost, "/api/v1/reload") + get(http.MethodGet, "/"); strings.Contains(text, token) || !strings.Contains(text, "web.token: takes effect at a restart only") {
		t.Errorf("another token: %s", text)
	}
	if strings.Contains(l.log.String(), token) {
		t.Errorf("the log holds the token: %s", around(l.log.String(), token))
	}
	if command, err := os.ReadFile("/proc/self/cmdline"); err == nil && strings.Contains(string(command), token) {
		t.Error("the command line holds the token")
	}
}
