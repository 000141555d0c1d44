package web

import (
	"net/http"
	"strings"
	"testing"

	"shadowdiff/multicast"
)

func shareOfAll(t *testing.T) multicast.Share {
	t.Helper()
	s, err := parseShare("100%")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestTokenIsAskedForEverywhereButHealth(t *testing.T) {
	r := newRig(t, shop("1"), shop("2"), func(c *Config) { c.Token = "correct-horse" })
	for _, at := range []string{"/", "/api/v1/equivalence", "/api/v1/events", "/metrics", "/static/shadowdiff.css", "/routes/x"} {
		a := r.do(http.MethodGet, at, "")
		if a.status != http.StatusUnauthorized || !strings.Contains(strings.Join(a.header.Values("WWW-Authenticate"), " "), "Basic") {
			t.Errorf("%s without a token: %d", at, a.status)
		}
		if a = r.do(http.MethodGet, at, "", "Authorization: Bearer correct-hors"); a.status != http.StatusUnauthorized {
			t.Errorf("%s with a wrong token: %d", at, a.status)
		}
	}
	for _, with := range []string{"Bearer correct-horse", "bearer correct-horse", "Basic YW55Ym9keTpjb3JyZWN0LWhvcnNl"} {
		if a := r.do(http.MethodGet, "/api/v1/equivalence", "", "Authorization: "+with); a.status != http.StatusOK {
			t.Errorf("%s: %d", with, a.status)
		}
	}
	if a := r.do(http.MethodPut, "/api/v1/shadowing", `{"enabled":false}`); a.status != http.StatusUnauthorized || !r.proxy.Shadowing().Enabled {
		t.Errorf("a write without a token: %d", a.status)
	}
	if a := r.do(http.MethodGet, "/nowhere", ""); a.status != http.StatusNotFound && a.status != http.StatusUnauthorized {
		t.Errorf("what is not there: %d", a.status)
	}
}

func TestOtherSitesMayNotWrite(t *testing.T) {
	r := newRig(t, shop("1"), shop("2"), func(c *Config) { c.BaseURL = "https://ops.example.com" })
	for _, headers := range [][]string{
		{"Origin: https://evil.example"},
		{"Sec-Fetch-Site: cross-site"},
		{"Sec-Fetch-Site: same-site", "Origin: https://other.example.com"},
	} {
		for _, to := range [][3]string{{"PUT", "/api/v1/shadowing", `{"enabled":false}`}, {"POST", "/shadowing", "enabled=false"}} {
			a := r.do(to[0], to[1], to[2], append(headers, "Content-Type: application/x-www-form-urlencoded")...)
			if a.status != http.StatusForbidden || !r.proxy.Shadowing().Enabled {
				t.Errorf("%v %v: %d", to, headers, a.status)
			}
		}
	}
	for _, headers := range [][]string{
		{"Sec-Fetch-Site: same-origin"}, {"Origin: https://ops.example.com", "Sec-Fetch-Site: cross-site"}, nil,
	} {
		if a := r.do("PUT", "/api/v1/shadowing", `{"enabled":true}`, headers...); a.status != http.StatusOK {
			t.Errorf("%v: %d %s", headers, a.status, a.body)
		}
	}
}

func TestForeignHostsAreRefusedOnLoopback(t *testing.T) {
	r := newRig(t, shop("1"), shop("2"), nil)
	for host, status := range map[string]int{
		"evil.example:8881": http.StatusMisdirectedRequest, "evil.example": http.StatusMisdirectedRequest,
		"127.0.0.1.evil.example": http.StatusMisdirectedRequest,
		"localhost:8881":         http.StatusOK, "127.0.0.1": http.StatusOK, "[::1]:8881": http.StatusOK, "shadow.localhost": http.StatusOK,
	} {
		if a := r.do(http.MethodGet, "/api/v1/shadowing", "", "Host: "+host); a.status != status {
			t.Errorf("host %s: %d, want %d", host, a.status, status)
		}
	}
}

func TestReadOnly(t *testing.T) {
	r := newRig(t, shop("1"), shop("2"), func(c *Config) { c.ReadOnly = true })
	for _, to := range [][3]string{{"PUT", "/api/v1/shadowing", `{"enabled":false}`}, {"POST", "/shadowing", "enabled=false"}} {
		if a := r.do(to[0], to[1], to[2], "Content-Type: application/x-www-form-urlencoded"); a.status != http.StatusForbidden || !strings.Contains(a.body, "web.read_only") {
			t.Errorf("%v: %d %s", to, a.status, a.body)
		}
	}
	if !r.proxy.Shadowing().Enabled {
		t.Error("it was changed all the same")
	}
	mustHold(t, "the page", r.get("/"), `disabled title="web.read_only is set"`)
}

func TestConfigNamesEveryFault(t *testing.T) {
	for _, c := range []struct {
		cfg  Config
		want []string
	}{
		{DefaultConfig(), nil},
		{Config{Listen: "[::1]:8881"}, nil},
		{Config{Listen: "localhost:8881", BaseURL: "https://ops.example.com/shadowdiff/"}, nil},
		{Config{Listen: "0.0.0.0:8881", Token: "t"}, nil},
		{Config{Listen: ":8881"}, []string{"web.token: required because :8881 is reachable from other machines"}},
		{Config{Listen: "10.0.0.7:8881"}, []string{"web.token: required"}},
		{Config{Listen: "shadow.example.com:8881"}, []string{"web.token: required"}},
		{Config{Listen: "8881", Token: "a b", BaseURL: "ops.example.com"}, []string{"web.listen: ", "web.token: ", "web.base_url: "}},
		{Config{Listen: "127.0.0.1:1", BaseURL: "https://u:p@h/?q#f"}, []string{"web.base_url: "}},
	} {
		faults := c.cfg.Validate()
		if len(faults) != len(c.want) {
			t.Errorf("%+v: %v, want %v", c.cfg, faults, c.want)
			continue
		}
		for i, want := range c.want {
			if !strings.HasPrefix(faults[i].Error(), want) {
				t.Errorf("%+v: %v, want %v", c.cfg, faults[i], want)
			}
		}
	}
}
