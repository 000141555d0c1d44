package multicast

import (
	"fmt"
	"math"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"
)

func TestDefaultConfigNeedsOnlyAddresses(t *testing.T) {
	cfg := DefaultConfig()
	if faults := cfg.Validate(); len(faults) != 1 || !strings.HasPrefix(faults[0].Error(), "primary: is required") {
		t.Errorf("faults %v", faults)
	}
	cfg.Primary = "http://127.0.0.1:9001"
	if faults := cfg.Validate(); len(faults) > 0 {
		t.Errorf("faults %v", faults)
	}
}

func TestConfigFromYAML(t *testing.T) {
	cfg := DefaultConfig()
	err := yaml.Load([]byte(`
primary: http://127.0.0.1:9001/base/
candidate: https://candidate.example
sample: 0.5%
upstream: {head_timeout: 30s, tls: {server_name: shop.example}}
server: {max_header: 64KiB}
trusted_proxies: [10.0.0.0/8, "::1"]
shadow:
  timeout: 2s
  memory: 8MiB
  set_headers: {X-Env: shadow}
  remove_headers: [Authorization, Cookie]
  candidate: {timeout: 1s, host: target, tls: {insecure_skip_verify: true}}
routes:
  - match: GET /api/search
    sample: 5%
    max_request_body: 0
  - {match: POST /api/quote, shadow: true, timeout: 10s}
`), &cfg, yaml.WithKnownFields())
	if err != nil {
		t.Fatal(err)
	}
	if faults := cfg.Validate(); len(faults) > 0 {
		t.Errorf("faults %v", faults)
	}
	if cfg.Sample != 500 || cfg.Shadow.Timeout != 2*time.Second || *cfg.Routes[0].Sample != 5000 || !*cfg.Routes[1].Shadow ||
		*cfg.Routes[0].MaxRequestBody != 0 || *cfg.Shadow.Candidate.Timeout != time.Second || cfg.Shadow.Queue != 256 {
		t.Errorf("%+v", cfg)
	}
}

func TestEveryFaultAtOnceWithItsKey(t *testing.T) {
	negative, zero, tooMuch, empty, size := -time.Second, 0, Share(100_001), "", Size(0)
	cfg := Config{
		Listen:         "nowhere",
		Primary:        "ftp://x",
		Secondary:      "http://",
		Candidate:      "http://user@host/?q",
		Sample:         tooMuch,
		SampleBy:       "moon",
		Methods:        []string{"get"},
		Dispatch:       "later",
		TrustedProxies: []string{"10.0.0.0/8", "me"},
		RouteHeader:    "a b",
		Upstream:       UpstreamConfig{HeadTimeout: -1, TLS: TLSConfig{Cert: "cert.pem"}},
		Shadow: ShadowConfig{
			Timeout: -time.Second, Queue: -1, MaxRequestBody: -1, SetHeaders: map[string]string{"Host": "x", "X-A": "a\nb", "Te": ""},
			RemoveHeaders: []string{"X-Shadow-Id"},
			Candidate:     RoleConfig{Timeout: &negative, Concurrency: &zero, Host: &empty, TLS: TLSConfig{CA: "missing.pem"}},
		},
		Server: ServerConfig{TunnelTimeout: -1},
		Routes: []RouteConfig{{Match: "/a"}, {
			Match: "a", Sample: &tooMuch, Methods: []string{"CONNECT"}, Timeout: &negative, MaxResponseBody: &size,
		}},
	}
	want := []string{
		"listen: must be an address", "primary: must begin with http://", "secondary: must be a URL",
		"candidate: must have no user, query", "sample: must be at most 100%, is 100.001%", "sample_by: must be header.NAME",
		`methods[0]: must be a method in capitals`, "dispatch: must be head or start",
		"upstream.dial_timeout: must be above 0, is 0s", "upstream.head_timeout: must be 0 or more", "upstream.idle_timeout: ",
		"upstream.tls.key: is required", "server.read_header_timeout: ", "server.idle_timeout: ", "server.tunnel_timeout: must be 0 or more", "server.max_header: must be from 4KiB",
		"trusted_proxies[1]: must be an address", "route_header: must be the name",
		"shadow.timeout: must be above 0, is -1s", "shadow.concurrency: must be from 1 to 65536", "shadow.queue: must be from 0 to 1000000",
		"shadow.max_request_body: must be 0 or more", "shadow.max_response_body: must be from 1B", "shadow.memory: must be 1MiB",
		"shadow.host: must be keep", "shadow.set_headers.Host: is set with shadow.host", "shadow.set_headers.Te: cannot be set",
		"shadow.set_headers.X-A: must be one line", "shadow.remove_headers[0]: ",
		"shadow.candidate.timeout: must be above 0, is -1s", "shadow.candidate.concurrency: ", "shadow.candidate.host: ",
		"shadow.candidate.tls: read ca: ",
		"routes[1].match: must be", "routes[1].sample: ", "routes[1].methods[0]: CONNECT", "routes[1].timeout: ",
		"routes[1].max_response_body: ",
		"record.memory: must be 1MiB", "record.rotate_size: must be 64KiB", "record.rotate_age: must be 1s", "record.max_age: must be 1m",
	}
	faults := cfg.Validate()
	for i, fault := range faults {
		if i >= len(want) || !strings.HasPrefix(fault.Error(), want[i]) {
			t.Errorf("fault %d: %v", i, fault)
		}
	}
	if len(faults) != len(want) {
		t.Errorf("%d faults, wanted %d", len(faults), len(want))
	}
}

func TestPrimaryAtOwnAddressIsRefused(t *testing.T) {
	for _, c := range []struct {
		listen, primary string
		own             bool
	}{
		{":8880", "http://127.0.0.1:8880", true},
		{":8880", "http://localhost:8880/base", true},
		{":8880", "http://[::1]:8880", true},
		{"0.0.0.0:8880", "http://0.0.0.0:8880", true},
		{"127.0.0.1:8880", "http://localhost:8880", true},
		{"localhost:8880", "http://127.0.0.1:8880", true},
		{"shop.example:80", "http://shop.example", true},
		{":8880", "http://127.0.0.1:8881", false},
		{":443", "http://127.0.0.1", false},
		{":80", "http://127.0.0.1", true},
		{"127.0.0.1:8880", "http://127.0.0.2:8880", false},
		{":8880", "http://192.0.2.1:8880", false},
		{":8880", "http://shop.example:8880", false},
		{"127.0.0.1:0", "http://127.0.0.1:9001", false},
		{"127.0.0.1:8880", "http://[::ffff:127.0.0.1]:8880", true},
		{"[::1]:8880", "http://localhost.:8880", true},
		{":http", "http://127.0.0.1:080", true},
		{":80", "http://127.0.0.1:", true},
		{"127.0.0.1:8880", "http://0.0.0.0:8880", true},
		{"192.0.2.1:8880", "http://0.0.0.0:8880", false},
	} {
		cfg := DefaultConfig()
		cfg.Listen, cfg.Primary = c.listen, c.primary
		faults := cfg.Validate()
		if own := len(faults) == 1 && strings.HasPrefix(faults[0].Error(), "primary: must not be the address listened on"); own != c.own {
			t.Errorf("listen %s, primary %s: %v", c.listen, c.primary, faults)
		}
	}
	if _, err := New(Config{}, Deps{}); err == nil || !strings.Contains(err.Error(), "shadow.timeout") {
		t.Errorf("a proxy was made of nothing: %v", err)
	}
}

// One request to a proxy that is its own primary would take every file descriptor, so that names are looked up as well.
func TestPrimaryAtOwnNameIsRefused(t *testing.T) {
	names := map[string][]netip.Addr{
		"here": {netip.MustParseAddr("192.0.2.9"), netip.MustParseAddr("127.0.0.1")}, "there": {netip.MustParseAddr("192.0.2.1")},
	}
	look := func(name string) []netip.Addr { return names[name] }
	for _, c := range []struct {
		listen, primary string
		own             bool
	}{
		{":8880", "http://here:8880", true},
		{"127.0.0.1:8880", "http://here:8880", true},
		{"here:8880", "http://127.0.0.1:8880", true},
		{"here:8880", "http://here:8880", true},
		{":8880", "http://here:8881", false},
		{":8880", "http://there:8880", false},
		{"here:8880", "http://there:8880", false},
		{":8880", "http://nowhere:8880", false},
	} {
		primary, err := parseTarget(c.primary)
		if err != nil {
			t.Fatal(err)
		}
		if own := ownAddress(c.listen, primary, look); own != c.own {
			t.Errorf("listen %s, primary %s: own is %t", c.listen, c.primary, own)
		}
	}

	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	known := lookUp(name)
	own := slices.ContainsFunc(known, func(addr netip.Addr) bool { return arrives(addr, netip.IPv6Unspecified()) })
	cfg := DefaultConfig()
	cfg.Primary = "http://" + name + ":8880"
	_, err = New(cfg, Deps{})
	if refused := err != nil && strings.Contains(err.Error(), "must not be the address listened on"); refused != own {
		t.Errorf("%s is %v; New: %v", name, known, err)
	}
}

func TestWhatNoMachineHasIsRefused(t *testing.T) {
	cfg := DefaultConfig()
	cfg.Primary, cfg.Candidate = "http://127.0.0.1:9001", "http://127.0.0.1:65536"
	cfg.Shadow.Concurrency, cfg.Shadow.Queue = math.MaxInt, math.MaxInt
	faults := fmt.Sprint(cfg.Validate())
	for _, key := range []string{"candidate: must have a port", "shadow.concurrency: ", "shadow.queue: "} {
		if !strings.Contains(faults, key) {
			t.Errorf("no fault of %s in %s", key, faults)
		}
	}
}

// What no machine can listen on is a fault of the file; whether the name or the address is this machine's is not.
func TestWhereClientsMayCome(t *testing.T) {
	for address, want := range map[string]string{
		":8880": "", ":0": "", ":": "", "127.0.0.1:65535": "", "[::1]:80": "", "[fe80::1%eth0]:80": "", "shop_1.example.:8880": "", "localhost:http": "",
		"b\u00fccher.example:80": "", "0.0.0.0:8880": "",
		"8880": "must be an address", "::1:80": "must be an address", "": "must be an address",
		":99999": "must have a port up to 65535", ":65536": "must have a port up to 65535", ":-1": "must have a port that is a number",
		":web page": "must have a port that is a number", "999.0.0.1:80": "must have no host, an address or a name", "127.0.0.0.1:80": "must have no host",
		"a b:80": "must have no host", "-a:80": "must have no host", "a..b:80": "must have no host", "http//a:80": "must have no host",
		"*:80": "must have no host", strings.Repeat("a", 64) + ":80": "must have no host",
	} {
		cfg := DefaultConfig()
		cfg.Primary, cfg.Listen = "http://primary.example", address
		faults := cfg.Validate()
		if want == "" && len(faults) > 0 || want != "" && (len(faults) != 1 || !strings.HasPrefix(faults[0].Error(), "listen: "+want)) {
			t.Errorf("%q: %v, want %q", address, faults, want)
		}
	}
}
