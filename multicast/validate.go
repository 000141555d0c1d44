package multicast

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// Validate returns every fault at once, in the order of the keys. Each message begins with the key, as in
// "shadow.timeout: must be above 0, is -1s" or "routes[2].match: …".
func (c *Config) Validate() []error {
	var f faults
	c.validateAddresses(&f)
	if _, err := c.TLS.load(); err != nil {
		f = append(f, err)
	}
	c.validateSampling(&f)
	f.positive("upstream.dial_timeout", c.Upstream.DialTimeout)
	f.notNegative("upstream.head_timeout", c.Upstream.HeadTimeout)
	f.positive("upstream.idle_timeout", c.Upstream.IdleTimeout)
	f.tls("upstream.tls", c.Upstream.TLS)
	f.positive("server.read_header_timeout", c.Server.ReadHeaderTimeout)
	f.positive("server.idle_timeout", c.Server.IdleTimeout)
	f.notNegative("server.tunnel_timeout", c.Server.TunnelTimeout)
	if c.Server.MaxHeader < 4*KiB || c.Server.MaxHeader > GiB {
		f.add("server.max_header", "must be from 4KiB to 1GiB, is %s", c.Server.MaxHeader)
	}
	f.notNegative("server.drain", c.Server.Drain)
	for i, peer := range c.TrustedProxies {
		if _, err := parseNetwork(peer); err != nil {
			f.add(fmt.Sprintf("trusted_proxies[%d]", i), "must be an address or a network such as 10.0.0.0/8, is %q", peer)
		}
	}
	if c.RouteHeader != "" && !token(c.RouteHeader) {
		f.add("route_header", "must be the name of a header, is %q", c.RouteHeader)
	}
	for i, name := range c.Lineage {
		if !token(name) {
			f.add(fmt.Sprintf("lineage[%d]", i), "must be the name of a response header, is %q", name)
		}
	}
	c.Shadow.validate(&f)
	for i := range c.Routes {
		c.Routes[i].validate(&f, fmt.Sprintf("routes[%d]", i))
	}
	c.Guard.validate(&f)
	c.Ramp.validate(&f)
	c.Record.validate(&f)
	return f
}

func (c *Config) validateAddresses(f *faults) {
	if err := CheckListen(c.Listen); err != nil {
		f.add("listen", "%v", err)
	}
	if c.Primary == "" {
		f.add("primary", "is required, such as http://127.0.0.1:9001")
	}
	for _, role := range []struct{ key, address string }{
		{"primary", c.Primary}, {"secondary", c.Secondary}, {"candidate", c.Candidate},
	} {
		if role.address == "" {
			continue
		}
		if _, err := parseTarget(role.address); err != nil {
			f.add(role.key, "%v", err)
		}
	}
	if t, err := parseTarget(c.Primary); err == nil && ownAddress(c.Listen, t, localhost) {
		f.add("primary", ownPrimary, c.Listen)
	}
}

// CheckListen says why an address cannot be listened on, whatever the machine, with what could be. Whether a host's name is one of
// this machine's, the start tells.
func CheckListen(address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("must be an address such as :8880 or 127.0.0.1:8880, is %q", address)
	}
	if digits(port) {
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return fmt.Errorf("must have a port up to 65535, such as :8880, is %q", address)
		}
	} else if _, err := net.LookupPort("tcp", port); err != nil {
		return fmt.Errorf("must have a port that is a number, such as :8880, is %q", address)
	}
	if !canBeHost(host) {
		return fmt.Errorf("must have no host, an address or a name before the port, such as :8880, 127.0.0.1:8880 or [::1]:8880, is %q", address)
	}
	return nil
}

// canBeHost reports whether a machine may be called so: nothing, an IP address with its zone or without, or a name (RFC 1123,
// section 2.1; an underscore is borne). A name of digits and dots alone is an address that went wrong.
func canBeHost(host string) bool {
	if _, err := netip.ParseAddr(host); err == nil || host == "" {
		return true
	}
	host = strings.TrimSuffix(host, ".")
	if len(host) > 253 || strings.Trim(host, "0123456789.") == "" {
		return false
	}
	for label := range strings.SplitSeq(host, ".") {
		odd := func(c rune) bool {
			return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' && c < 0x80
		}
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' || strings.ContainsFunc(label, odd) {
			return false
		}
	}
	return true
}

func (c *Config) validateSampling(f *faults) {
	if c.Sample > Whole {
		f.add("sample", "must be at most 100%%, is %s", c.Sample)
	}
	if _, err := parseSampleKey(c.SampleBy); err != nil {
		f.add("sample_by", "%v", err)
	}
	f.methods("methods", c.Methods)
	if c.Dispatch != DispatchHead && c.Dispatch != DispatchStart {
		f.add("dispatch", "must be head or start, is %q", c.Dispatch)
	}
}

func (c *ShadowConfig) validate(f *faults) {
	f.positive("shadow.timeout", c.Timeout)
	f.concurrency("shadow.concurrency", c.Concurrency)
	if c.Queue < 0 || c.Queue > 1_000_000 {
		f.add("shadow.queue", "must be from 0 to 1000000, is %d", c.Queue)
	}
	if c.MaxRequestBody < 0 {
		f.add("shadow.max_request_body", "must be 0 or more, is %s", c.MaxRequestBody)
	}
	if c.MaxResponseBody < 1 || c.MaxResponseBody > GiB {
		f.add("shadow.max_response_body", "must be from 1B to 1GiB, is %s", c.MaxResponseBody)
	}
	if c.Memory < 1*MiB {
		f.add("shadow.memory", "must be 1MiB or more, is %s", c.Memory)
	}
	f.host("shadow.host", c.Host)
	f.headers("shadow", c.SetHeaders, c.RemoveHeaders)
	c.Candidate.validate(f, "shadow.candidate")
	c.Secondary.validate(f, "shadow.secondary")
}

func (c *RoleConfig) validate(f *faults, key string) {
	if c.Timeout != nil {
		f.positive(key+".timeout", *c.Timeout)
	}
	if c.Concurrency != nil {
		f.concurrency(key+".concurrency", *c.Concurrency)
	}
	if c.Host != nil {
		f.host(key+".host", *c.Host)
	}
	f.headers(key, c.SetHeaders, c.RemoveHeaders)
	f.tls(key+".tls", c.TLS)
}

func (c *RouteConfig) validate(f *faults, key string) {
	if _, err := parsePattern(c.Match); err != nil {
		f.add(key+".match", "%v", err)
	}
	if c.Sample != nil && *c.Sample > Whole {
		f.add(key+".sample", "must be at most 100%%, is %s", *c.Sample)
	}
	if c.Methods != nil {
		f.methods(key+".methods", c.Methods)
	}
	if c.Timeout != nil {
		f.positive(key+".timeout", *c.Timeout)
	}
	if c.MaxRequestBody != nil && *c.MaxRequestBody < 0 {
		f.add(key+".max_request_body", "must be 0 or more, is %s", *c.MaxRequestBody)
	}
	if c.MaxResponseBody != nil && (*c.MaxResponseBody < 1 || *c.MaxResponseBody > GiB) {
		f.add(key+".max_response_body", "must be from 1B to 1GiB, is %s", *c.MaxResponseBody)
	}
}

func parseNetwork(text string) (netip.Prefix, error) {
	if strings.Contains(text, "/") {
		prefix, err := netip.ParsePrefix(text)
		return prefix.Masked(), err
	}
	addr, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Prefix{}, err
	}
	return netip.PrefixFrom(addr.Unmap(), addr.Unmap().BitLen()), nil
}
