package multicast

import (
	"strings"
	"testing"
)

func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		pattern, request string // METHOD host path
		want             bool
	}{
		{"/", "GET h /", true},
		{"/", "GET h /a", false},
		{"/a", "GET h /a", true},
		{"/a", "GET h /a/", false},
		{"/a/", "GET h /a/", true},
		{"/a", "GET h //a", false},
		{"/a/*", "GET h /a/", true},
		{"/a/*", "GET h /a/b/c", true},
		{"/a/*", "GET h /a", false},
		{"/*", "GET h /", true},
		{"/*", "OPTIONS h *", false},
		{"/users/{id}", "GET h /users/7", true},
		{"/users/{id}", "GET h /users/", false},
		{"/users/{id}", "GET h /users/7/orders", false},
		{"/users/{id}/orders/{id}", "GET h /users/7/orders/9", true},
		{"/users/{id}/*", "GET h /users/7/orders", true},
		{"/{a}", "GET h /x%2Fy", true},
		{"/x/y", "GET h /x%2Fy", false},
		{"/caf\u00e9", "GET h /caf%C3%A9", true},
		{"/a%20b", "GET h /a%20b", true},
		{"GET /a", "GET h /a", true},
		{"GET /a", "HEAD h /a", false},
		{"shop.example/a", "GET Shop.Example /a", true},
		{"shop.example/a", "GET shop.example:8080 /a", true},
		{"shop.example:8080/a", "GET shop.example:8080 /a", true},
		{"shop.example:8080/a", "GET shop.example /a", false},
		{"shop.example/a", "GET other.example /a", false},
		{"shop.example/a", "GET shop.example. /a", true},
		{"shop.example/a", "GET shop.example: /a", true},
		{"shop.example/a", "GET shop.example.:80 /a", true},
		{"shop.example:8080/a", "GET shop.example.:8080 /a", true},
		{"shop.example./a", "GET shop.example /a", true},
		{"shop.example/a", "GET shop.example.. /a", false},
		{"[::1]/a", "GET [::1]: /a", true},
		{"POST shop.example/a/{b}/*", "POST shop.example /a/b/c", true},
	} {
		p, err := parsePattern(c.pattern)
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		r := strings.Fields(c.request)
		if got := p.match(r[0], r[1], r[2]); got != c.want {
			t.Errorf("%q matches %q: %v", c.pattern, c.request, got)
		}
	}
}

func TestPatternsRefused(t *testing.T) {
	for pattern, want := range map[string]string{
		"":            "must be [METHOD] [host]/path",
		"users":       "must be [METHOD] [host]/path",
		"get /a":      "must begin with a method in capitals",
		"GET POST /a": "must be [METHOD] [host]/path",
		"/a?b":        "must be [METHOD] [host]/path",
		"/a/*/b":      "must have * as its last segment only",
		"/a{b}":       "must name a whole segment in braces",
		"/{}":         "must name a whole segment in braces",
		"/{a":         "must name a whole segment in braces",
		"/{a}{b}":     "must name a whole segment in braces",
	} {
		if _, err := parsePattern(pattern); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v", pattern, err)
		}
	}
}

func FuzzPattern(f *testing.F) {
	f.Add("GET shop.example/users/{id}/*", "/users/7/orders")
	f.Add("/a%20b", "/a%2")
	f.Add("/", "")
	f.Fuzz(func(t *testing.T, text, path string) {
		p, err := parsePattern(text)
		if err != nil {
			return
		}
		p.match("GET", "shop.example", path)
		self := strings.TrimSpace(text) // as parsePattern takes it
		if p.method == "" && p.host == "" && !strings.ContainsAny(self, "{*%") && self[0] == '/' && !p.match("GET", "h", self) {
			t.Errorf("%q does not match itself", text)
		}
	})
}

func TestRoutesOnTheWire(t *testing.T) {
	yes, no := true, false
	s := newStage(t, nil, func(c *Config) {
		c.Routes = []RouteConfig{
			{Match: "/login", Shadow: &no},
			{Match: "POST /quote", Shadow: &yes, Name: "quotes"},
			{Match: "/only-head", Methods: []string{"HEAD"}},
			{Match: "/quote"},
		}
		c.RouteHeader = "Canonical-Resource"
	})
	s.get("/login")
	s.get("/only-head")
	w := s.dial()
	w.send("POST /quote HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nok")
	w.response("POST")
	if ex := s.exchange(); ex.Route != "quotes" || !ex.Configured || string(ex.Request.Body) != "ok" {
		t.Errorf("exchange of route %q with body %q", ex.Route, ex.Request.Body)
	}
	w.send("POST /login HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nok")
	w.response("POST")
	w.send("POST /other HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nok")
	w.response("POST")
	s.get("/quote")
	if ex := s.exchange(); ex.Route != "/quote" || !ex.Configured {
		t.Errorf("exchange of route %q, configured: %v", ex.Route, ex.Configured)
	}
	s.get("/u/1", "Canonical-Resource: /u/{id}")
	if ex := s.exchange(); ex.Route != "GET /u/{id}" || ex.Configured {
		t.Errorf("exchange of route %q, configured: %v", ex.Route, ex.Configured)
	}
	s.get("/plain")
	if ex := s.exchange(); ex.Route != "" {
		t.Errorf("exchange of route %q", ex.Route)
	}
	s.counts(Counts{
		Requests: 8, Exchanged: 4, Compared: 4, Skipped: map[Reason]int64{ReasonRoute: 2, ReasonMethod: 2},
	})
}

// What is never shadowed is not, however a client writes its request; what may be is matched as it was sent.
func TestAnExcludedRouteIsSoHoweverItIsWritten(t *testing.T) {
	no := false
	s := newStage(t, nil, func(c *Config) {
		c.Routes = []RouteConfig{{Match: "/login/help"}, {Match: "GET /login", Shadow: &no}, {Match: "/account/*", Shadow: &no}, {Match: "/search"}}
	})
	excluded := []string{
		"/login", "//login", "/login/", "/login;x", "/login;x=1/", "/%6Cogin", "/%6cogin%2F", "/./login", "/a/../login", "/a/%2e%2e/login",
		"/login/help/..", "/%5Clogin", "/login#x", "/account//7", "/account;v=1/7", "//account/7", "/account%2F7", "http://a//login", "a:/login",
	}
	heads := []string{
		"HEAD /login HTTP/1.1", "HEAD //login HTTP/1.1", "GET / HTTP/1.1\r\nX-Original-URL: /login?a", "GET /a HTTP/1.1\r\nX-Rewrite-URL: /account//7",
	}
	for _, target := range excluded {
		heads = append(heads, "GET "+target+" HTTP/1.1")
	}
	for _, head := range heads {
		w := s.dial()
		w.send(head + "\r\nHost: a\r\n\r\n")
		w.head()
	}
	for target, route := range map[string]string{
		"/login/help": "/login/help", "/logins": "", "/loginx;y": "", "/account": "", "/search": "/search", "//search": "",
		"/LOGIN": "", "/": "",
	} {
		w := s.dial()
		w.send("GET " + target + " HTTP/1.1\r\nHost: a\r\n\r\n")
		w.response("GET")
		if ex := s.exchange(); ex.Request.Target != target || ex.Route != route {
			t.Errorf("%s is of route %q, want %q", ex.Request.Target, ex.Route, route)
		}
	}
	s.counts(Counts{
		Requests: int64(len(heads)) + 8, Exchanged: 8, Compared: 8, Skipped: map[Reason]int64{ReasonRoute: int64(len(heads))},
	})
}

// A target without a path is one of the root, which is what the upstreams are asked for.
func TestATargetWithoutAPathIsTheRoot(t *testing.T) {
	s := newStage(t, nil, func(c *Config) { c.Routes = []RouteConfig{{Match: "/", Name: "root"}} })
	for _, target := range []string{"a:b", "http://a", "http://a?b"} {
		w := s.dial()
		w.send("GET " + target + " HTTP/1.1\r\nHost: a\r\n\r\n")
		w.response("GET")
		if ex := s.exchange(); ex.Route != "root" || !strings.HasPrefix(ex.Request.Target, "/") {
			t.Errorf("%s is of route %q, target %q", target, ex.Route, ex.Request.Target)
		}
	}
}
