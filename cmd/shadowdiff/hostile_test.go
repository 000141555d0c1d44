package main

import (
	"fmt"
	"html"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestWhatClientsMakeUpMakesNoSeries sends 20,000 requests, each with a path, a host, a query and often a method of its
// own: once the names are learnt, /metrics has no line more, and the store stays small.
func TestWhatClientsMakeUpMakesNoSeries(t *testing.T) {
	t.Parallel()
	p := newPeer(t, "primary", nil)
	l := serveFile(t, addresses(p, p, p)+"route_header: X-Route\nshadow: {queue: 100000}\n")
	const clients, each = 4, 5000
	send := func(from, to int) {
		t.Helper()
		var crowd sync.WaitGroup
		for i := range clients {
			c := l.connect()
			crowd.Go(func() { c.makeUp(i, from, to) })
		}
		crowd.Wait()
		l.settled()
	}
	send(0, 500)
	l.flush()
	early := l.series()
	if status, answer := l.ask(http.MethodPut, "/api/v1/shadowing", `{"sample": "2%"}`); status != 200 {
		t.Fatalf("%d %s", status, answer)
	}
	send(500, each)
	l.flush()
	late := l.series()
	counts := l.settled()
	addsUp(t, counts)
	if counts.Requests != clients*each {
		t.Errorf("%d requests", counts.Requests)
	}
	routes := len(l.svc.db.Snapshot().Tallies.Routes)
	t.Logf("%d series of %d routes after %d requests, %d of %d at the end; %d bytes", len(early), routes, 2000, len(late), counts.Requests, l.svc.db.Health().SizeBytes)
	if routes > 1001 {
		t.Errorf("%d routes", routes)
	}
	for name := range late {
		if !early[name] && !strings.Contains(name, "shadowdiff_compared_total") && !strings.Contains(name, "not_sampled") {
			t.Errorf("a series more: %s", name)
		}
	}
	if len(late) > 4*1001+500 {
		t.Errorf("%d series", len(late))
	}
	if size := l.svc.db.Health().SizeBytes; size > 64<<20 {
		t.Errorf("the database has %d bytes", size)
	}
}

// makeUp sends requests that are all different, a hundred at a time.
func (c *client) makeUp(who, from, to int) {
	const together = 100
	for n := from; n < to; n += together {
		var batch strings.Builder
		_ = c.conn.SetDeadline(time.Now().Add(90 * time.Second))
		for i := n; i < n+together; i++ {
			method, path := "GET", fmt.Sprintf("/%c/word%dx%d/%x", 'a'+i%7, who, i, i*i)
			switch i % 5 {
			case 0:
				method = fmt.Sprintf("M%dX%d", who, i)
			case 1:
				path = fmt.Sprintf("/w%dy%d", who, i)
			}
			header := ""
			if i%3 == 0 {
				header = fmt.Sprintf("X-Route: /%d/%d\r\n", who, i)
			}
			fmt.Fprintf(&batch, "%s %s?q=%d HTTP/1.1\r\nHost: h%d-%d.example\r\n%s\r\n", method, path, i, who, i, header)
		}
		if _, err := io.WriteString(c.conn, batch.String()); err != nil {
			c.t.Errorf("write: %v", err)
			return
		}
		for range together {
			res, err := http.ReadResponse(c.r, nil)
			if err == nil {
				_, err = io.Copy(io.Discard, res.Body)
			}
			if err != nil || res.StatusCode != http.StatusOK {
				c.t.Errorf("answer: %v, %v", res, err)
				return
			}
		}
	}
}

// flush has everything shown that was counted.
func (l *live) flush() {
	l.t.Helper()
	if err := l.svc.db.Flush(l.t.Context()); err != nil {
		l.t.Fatal(err)
	}
}

// series are the names of the product's own time series, with their labels.
func (l *live) series() map[string]bool {
	l.t.Helper()
	names := make(map[string]bool)
	for _, m := range regexp.MustCompile(`(?m)^(shadowdiff_\S+(?:\{.*\})?) \S+$`).FindAllStringSubmatch(l.page("/metrics"), -1) {
		names[m[1]] = true
	}
	return names
}

// TestSecretsGoNoFurther: what a client shows the primary, the shadows get as well, unless the configuration takes it from
// them; and nothing else of the service holds it.
func TestSecretsGoNoFurther(t *testing.T) {
	t.Parallel()
	const secret, cookie, token, password, session = "Basic-s3cr3t", "sid=c00kie", "t0k3n-in-query", "p4ssw0rd", "s3ssion"
	answer := func(price string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Set-Cookie", "sid="+session+price)
			fmt.Fprintf(w, `{"price":%s,"user":{"password":"%s%s"}}`, price, password, price)
		}
	}
	primary, secondary, candidate := newPeer(t, "p", answer("1")), newPeer(t, "s", answer("1")), newPeer(t, "c", answer("2"))
	text := addresses(primary, secondary, candidate) + "headers: {compare: [Set-Cookie]}\n"
	l := serveFile(t, text)
	c := l.connect()
	ask := func() {
		t.Helper()
		for range 30 {
			c.get("/orders?token="+token+"&page=1", "Authorization: "+secret, "Cookie: "+cookie)
		}
		l.settled()
		for range 5 {
			l.flush()
		}
	}
	ask()
	for _, peer := range []*peer{primary, secondary, candidate} {
		if r := peer.seen(); r.Header.Get("Authorization") != secret || r.Header.Get("Cookie") != cookie || r.URL.Query().Get("token") != token {
			t.Errorf("%s was shown %v of %s", peer.name, r.Header, r.URL)
		}
	}
	l.reload(text + "shadow: {remove_headers: [Authorization, Cookie]}\n")
	ask()
	for _, peer := range []*peer{secondary, candidate} {
		if r := peer.seen(); r.Header.Get("Authorization") != "" || r.Header.Get("Cookie") != "" {
			t.Errorf("%s was shown %v", peer.name, r.Header)
		}
	}

	shown := map[string]string{"the log": l.log.String()}
	for _, path := range []string{"/", "/metrics", "/api/v1/samples", "/api/v1/equivalence", "/api/v1/fields", "/api/v1/routes", "/api/v1/reload"} {
		shown[path] = l.page(path)
	}
	for _, path := range pathsIn(shown["/"] + l.pagesBelow(shown["/"])) {
		shown[path] = l.page(path)
	}
	samples := 0
	for _, m := range regexp.MustCompile(`"id":(\d+)`).FindAllStringSubmatch(shown["/api/v1/samples"], -1) {
		shown["sample "+m[1]] = l.page("/api/v1/samples/" + m[1])
		samples++
	}
	if samples == 0 || !strings.Contains(shown["/api/v1/samples"], "price") {
		t.Errorf("nothing was kept that differs: %s", shown["/api/v1/samples"])
	}
	files, err := filepath.Glob(l.svc.cfg.Load().Store.Path + "*")
	if err != nil || len(files) == 0 {
		t.Fatalf("files of the database: %v, %v", files, err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		shown[file] = string(content)
	}
	for where, text := range shown {
		for _, secret := range []string{secret, "c00kie", token, password, session} {
			if strings.Contains(text, secret) {
				t.Errorf("%s holds %s", where, secret)
			}
		}
	}
	if c := l.settled(); c.Compared != 60 || sum(c.Unknown) > 0 {
		t.Errorf("%+v", c)
	}
}

// pagesBelow are the pages of routes, fields and samples that this one leads to.
func (l *live) pagesBelow(page string) (all string) {
	l.t.Helper()
	for _, path := range pathsIn(page) {
		all += l.page(path)
	}
	return all
}

// pathsIn are the pages of routes, fields and samples that a page links to, each once.
func pathsIn(page string) (paths []string) {
	for _, m := range regexp.MustCompile(`href="(/(?:routes|fields|samples)/[^"#]+)`).FindAllStringSubmatch(page, -1) {
		paths = append(paths, html.UnescapeString(m[1]))
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}
