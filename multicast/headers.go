package multicast

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// forward sets what tells the upstreams who asked. From a trusted peer the incoming headers are kept and added to; from
// anyone else they are replaced, for all three upstreams alike.
func (s *setup) forward(in *http.Request, out http.Header) {
	peer := peerOf(in)
	proto := "http"
	if in.TLS != nil {
		proto = "https"
	}
	if s.trusts(peer) {
		chain := append(slices.Clone(in.Header["X-Forwarded-For"]), peer)
		out["X-Forwarded-For"] = []string{strings.Join(chain, ", ")}
		out["X-Forwarded-Host"] = kept(in.Header["X-Forwarded-Host"], in.Host)
		out["X-Forwarded-Proto"] = kept(in.Header["X-Forwarded-Proto"], proto)
		if prior := in.Header["Forwarded"]; prior != nil {
			out["Forwarded"] = []string{strings.Join(append(slices.Clone(prior), forwarded(peer, in.Host, proto)), ", ")}
		}
		return
	}
	for name := range out {
		if strings.HasPrefix(name, "X-Forwarded-") {
			delete(out, name)
		}
	}
	out["X-Forwarded-For"] = []string{peer}
	out["X-Forwarded-Host"] = []string{in.Host}
	out["X-Forwarded-Proto"] = []string{proto}
	if in.Header["Forwarded"] != nil {
		out["Forwarded"] = []string{forwarded(peer, in.Host, proto)}
	}
	if in.Header["X-Real-Ip"] != nil {
		out["X-Real-Ip"] = []string{peer}
	}
}

func kept(prior []string, value string) []string {
	if len(prior) > 0 {
		return prior
	}
	return []string{value}
}

// forwarded is one element of the Forwarded header (RFC 7239).
func forwarded(peer, host, proto string) string {
	if strings.Contains(peer, ":") {
		peer = `"[` + peer + `]"`
	}
	element := "for=" + peer
	if host != "" {
		element += `;host="` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(host) + `"`
	}
	return element + ";proto=" + proto
}

// peerOf is the address at the other end of the connection, without the port.
func peerOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

func (s *setup) trusts(peer string) bool {
	if len(s.trusted) == 0 {
		return false
	}
	addr, err := netip.ParseAddr(peer)
	if err != nil {
		return false
	}
	addr = addr.Unmap().WithZone("")
	return slices.ContainsFunc(s.trusted, func(network netip.Prefix) bool { return network.Contains(addr) })
}

// clientIP is the peer, or behind trusted proxies the last address that none of them vouches for.
func (s *setup) clientIP(r *http.Request) string {
	client := peerOf(r)
	if !s.trusts(client) {
		return client
	}
	chain := strings.Split(strings.Join(r.Header["X-Forwarded-For"], ","), ",")
	for _, hop := range slices.Backward(chain) {
		if hop = strings.TrimSpace(hop); hop == "" {
			break
		}
		client = hop
		if !s.trusts(hop) {
			break
		}
	}
	return client
}
