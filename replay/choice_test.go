package replay

import (
	"net/http"
	"strings"
	"testing"

	"shadowdiff/traffic"
)

// TestWhatIsAsked: of methods and routes one must fit, and of headers one; and the method must be allowed.
func TestWhatIsAsked(t *testing.T) {
	t.Parallel()
	req := func(method, host, target, tenant string) *traffic.Request {
		return &traffic.Request{Method: method, Host: host, Target: target, Header: http.Header{"X-Tenant": {tenant}}}
	}
	for _, c := range []struct {
		match string
		req   *traffic.Request
		want  string
	}{
		{"", req("GET", "a", "/", ""), ""},
		{"", req("POST", "a", "/", ""), LeftOutMethod},
		{"GET /users/{id}", req("GET", "a", "/users/7?x=/", ""), ""},
		{"GET /users/{id}", req("GET", "a", "/users/7/x", ""), LeftOutMatch},
		{"GET /users/{id}, /orders/*", req("HEAD", "a", "/orders/1/2", ""), ""},
		{"shop.example/*", req("GET", "shop.example:8080", "/x", ""), ""},
		{"shop.example/*", req("GET", "cdn.example", "/x", ""), LeftOutMatch},
		{"HEAD", req("GET", "a", "/", ""), LeftOutMatch},
		{"HEAD, GET /a", req("GET", "a", "/a", ""), ""},
		{"header.x-tenant=acme", req("GET", "a", "/", "acme"), ""},
		{"header.X-Tenant=acme", req("GET", "a", "/", "other"), LeftOutMatch},
		{"header.X-Tenant", req("GET", "a", "/", "other"), ""},
		{"header.X-None", req("GET", "a", "/", ""), LeftOutMatch},
		{"header.X-Tenant=acme, header.X-Tenant=other, GET /a", req("GET", "a", "/a", "other"), ""},
		{"header.X-Tenant=acme, GET /a", req("GET", "a", "/b", "acme"), LeftOutMatch},
	} {
		choice := Choice{Methods: []string{"GET", "HEAD"}}
		for one := range strings.SplitSeq(c.match, ", ") {
			if one == "" {
				continue
			}
			if err := choice.Match(one); err != nil {
				t.Fatal(err)
			}
		}
		if got := choice.leftOut(c.req); got != c.want {
			t.Errorf("%q of %s %s%s: %q, want %q", c.match, c.req.Method, c.req.Host, c.req.Target, got, c.want)
		}
	}
	for _, bad := range []string{"", "get", "header.", "header.A B=c", "GET users", "nothing here"} {
		if err := new(Choice).Match(bad); err == nil {
			t.Errorf("-match %q is taken", bad)
		}
	}
}

// TestWhatIsNoHeaderIsRefused, and not repeated: it may be a secret.
func TestWhatIsNoHeaderIsRefused(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"secret", "Author ization: secret", ": secret", "A: secret\x00"} {
		if err := new(Rewrite).Add(bad); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
