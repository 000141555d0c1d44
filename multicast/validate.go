package multicast

import (
	"fmt"
	"net"
	"net/netip"
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
	f.below("upstream.dial_timeout", c.Upstream.DialTimeout)
	f.negative("upstream.head_timeout", c.Upstream.HeadTimeout)
	f.below("upstream.idle_timeout", c.Upstream.IdleTimeout)
	f.tls("upstream.tls", c.Upstream.TLS)
	f.below("server.read_header_timeout", c.Server.ReadHeaderTimeout)
	f.below("server.idle_timeout", c.Server.IdleTimeout)
	f.negative("server.tunnel_timeout", c.Server.TunnelTimeout)
	if c.Server.MaxHeader < 4*KiB || c.Server.MaxHeader > GiB {
		f.add("server.max_header", "must be from 4KiB to 1GiB, is %s", c.Server.MaxHeader)
	}
	f.negative("server.drain", c.Server.Drain)
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
	if _, _, err := net.SplitHostPort(c.Listen); err != nil {
		f.add("listen", "must be an address such as :8880 or 127.0.0.1:8880, is %q", c.Listen)
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
	f.below("shadow.timeout", c.Timeout)
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
		f.below(key+".timeout", *c.Timeout)
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
		f.below(key+".timeout", *c.Timeout)
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
