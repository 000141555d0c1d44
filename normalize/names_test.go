package normalize

import (
	"strings"
	"testing"
)

func TestRouteNames(t *testing.T) {
	var names Names
	for _, tc := range []struct{ method, target, want string }{
		{"GET", "/users/8f14e45f-ceea-467f-9575-1c2a5d1e3b0a/orders/17", "GET /users/{id}/orders/{id}"},
		{"GET", "/", "GET /"},
		{"GET", "", "GET /"},
		{"GET", "/search?q=/users/17", "GET /search"},
		{"GET", "http://example.com/users/17?x", "GET /users/{id}"},
		{"GET", "http://example.com", "GET /"},
		{"OPTIONS", "*", "OPTIONS *"},
		{"POST", "/v1/users/", "POST /v1/users/"},
		{"GET", "/a//b", "GET /a//b"},
		{"GET", "/commits/d41d8cd98f00b204", "GET /commits/{id}"},
		{"GET", "/commits/D41D8CD98F00B204E9800998ECF8427E", "GET /commits/{id}"},
		{"GET", "/facade/decade", "GET /facade/decade"},
		{"GET", "/runs/01ARZ3NDEKTSV4RRFFQ69G5FAV", "GET /runs/{id}"},
		{"GET", "/k/0ujtsYcgvSTl8PAuAdqWYSMnLOv", "GET /k/{id}"},
		{"GET", "/customers/cus_NffrFeUfNV2Hib", "GET /customers/{id}"},
		{"GET", "/n/V1StGXR8_Z5jdHi6B-myT", "GET /n/{id}"},
		{"GET", "/days/2026-11-30", "GET /days/{id}"},
		{"GET", "/at/2026-11-30T10:41:07Z", "GET /at/{id}"},
		{"GET", "/mail/ada@example.com", "GET /mail/{id}"},
		{"GET", "/mail/ada%40example.com", "GET /mail/{id}"},
		{"GET", "/items/1,2,30", "GET /items/{id}"},
		{"GET", "/items/-5", "GET /items/{id}"},
		{"GET", "/hosts/10.0.0.1", "GET /hosts/{id}"},
		{"GET", "/hosts/::1", "GET /hosts/{id}"},
		{"GET", "/blobs/sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "GET /blobs/{id}"},
		{"GET", "/files/17.json", "GET /files/{id}.json"},
		{"GET", "/static/app.8f14e45f.js", "GET /static/app.{id}.js"},
		{"GET", "/api/1.2/things", "GET /api/1.2/things"},
		{"GET", "/releases/v2.3.1", "GET /releases/v2.3.1"},
		{"GET", "/rpc/getUserByIdWithTwoFactors", "GET /rpc/getUserByIdWithTwoFactors"},
		{"GET", "/oauth2/OAuth2Callback", "GET /oauth2/OAuth2Callback"},
		{"GET", "/blog/what-we-learnt-in-2026-about-shadows", "GET /blog/what-we-learnt-in-2026-about-shadows"},
		{"GET", "/cart;jsessionid=17/lines", "GET /cart/lines"},
		{"GET", "/users/{id}", "GET /users/%7Bid%7D"},
		{"GET", "/users/%7bid%7d", "GET /users/%7Bid%7D"},
		{"GET", "/a%2Fb", "GET /a%2Fb"},
		{"GET", "/a%zz", "GET /a%25zz"},
		{"GET", "/caf\xc3\xa9", "GET /caf%C3%A9"},
		{"GET", "/\xff\x00\n", "GET /%FF%00%0A"},
		{"GET", "/" + strings.Repeat("x", 65), "GET /{id}"},
		{"GET", strings.Repeat("/a", 30), "GET " + strings.Repeat("/a", 24) + "/*"},
		{"GET", strings.Repeat("/"+strings.Repeat("w", 50), 9), "GET " + strings.Repeat("/"+strings.Repeat("w", 50), 4) + "/*"},
		{"PROPFIND", "/dav", "PROPFIND /dav"},
		{"G E T", "/", "(other) /"},
		{strings.Repeat("A", 21), "/", "(other) /"},
	} {
		if got, _ := names.Route(tc.method, tc.target, 200); got != tc.want {
			t.Errorf("%s %q: %q, want %q", tc.method, tc.target, got, tc.want)
		}
	}
}

func FuzzNames(f *testing.F) {
	for _, seed := range []string{"/users/17", "*", "http://x/y", "/%", "/a.b.c", "/\xff", "//", "/;", "/{id}", "/0.0.0.0"} {
		f.Add("GET", seed, 200)
		f.Add("GET", seed, 404)
	}
	var names Names
	f.Fuzz(func(t *testing.T, method, target string, status int) {
		name, shape := names.Route(method, target, status)
		if len(name) > 350 {
			t.Errorf("%d bytes", len(name))
		}
		for _, r := range name {
			if r < ' ' || r > '~' {
				t.Fatalf("%q has %q", name, r)
			}
		}
		if again, same := names.Route(method, target, 0); again != names.Current(name) || same != shape {
			t.Errorf("%q was named %q of shape %q, is %q of shape %q", target, name, shape, again, same)
		}
		if name == OtherRoute {
			return
		}
		verb, path, _ := strings.Cut(name, " ")
		if verb == "" || path != "*" && !strings.HasPrefix(path, "/") {
			t.Errorf("%q", name)
		}
	})
}
