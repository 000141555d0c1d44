package multicast

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// header is what the upstreams get of the client's header: without what concerns one connection only, and with who asked.
// The values are the client's own.
func (s *setup) header(in *http.Request) http.Header {
	out := make(http.Header, len(in.Header)+4)
	for name, values := range in.Header {
		if !hopByHop(name) {
			out[name] = values
		}
	}
	removeListed(out, in.Header["Connection"], endToEnd)
	if names(in.Header["Te"], "trailers") {
		out["Te"] = []string{"trailers"}
	}
	if protocols := s.upgrade(in); protocols != "" {
		out["Connection"], out["Upgrade"] = []string{"Upgrade"}, []string{protocols}
		spellWebSocket(out)
	}
	if !in.ProtoAtLeast(1, 1) {
		delete(out, "Expect") // it knows no 100
	}
	if in.ContentLength == 0 && in.Header["Content-Length"] != nil {
		delete(out, "Content-Length")
		if !saysNoBody(in.Method) {
			out["content-length"] = []string{"0"}
		}
	}
	s.forward(in, out)
	if agent := out["User-Agent"]; len(agent) != 1 || agent[0] == "" { // else net/http writes its own, or one of several
		out["User-Agent"] = []string{""}
		if agent != nil {
			out["user-agent"] = agent
		}
	}
	return out
}

// saysNoBody reports whether net/http writes Content-Length: 0 after this method by itself. Said twice, it is a request that
// some servers refuse.
func saysNoBody(method string) bool {
	return method == http.MethodPost || method == http.MethodPut || method == http.MethodPatch
}

// removeHopByHop removes what concerns one connection only (RFC 9110, section 7.6.1). What frames a message stays, whatever
// Connection lists.
func removeHopByHop(h http.Header) {
	removeListed(h, h["Connection"], func(name string) bool { return name == "Content-Length" })
	for _, name := range [...]string{
		"Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Te", "Trailer",
		"Transfer-Encoding", "Upgrade",
	} {
		delete(h, name)
	}
}

// removeListed removes what Connection lists, but for what is kept. The list may have half a million names: each is looked at
// once.
func removeListed(h http.Header, connection []string, kept func(name string) bool) {
	for _, line := range connection {
		for name := range strings.SplitSeq(line, ",") {
			if name = http.CanonicalHeaderKey(strings.TrimSpace(name)); !kept(name) {
				delete(h, name)
			}
		}
	}
}

// hopByHop reports whether a header concerns one connection only, or misleads those who take it for their environment.
func hopByHop(name string) bool {
	switch name {
	case "Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Te", "Trailer",
		"Transfer-Encoding", "Upgrade", "Proxy":
		return true
	}
	return false
}

// endToEnd reports whether a header stays though the client lists it as one of the connection: it would hide who asked, or
// end the guard against loops.
func endToEnd(name string) bool {
	return tellsWho(name) || name == "Forwarded" || name == "X-Shadow-Request" || name == "X-Shadow-Id"
}

func tellsWho(name string) bool {
	return strings.HasPrefix(name, "X-Forwarded-") || name == "X-Real-Ip"
}

// dashed is a header's name as it is read where dashes and underscores are the same, as in CGI and WSGI.
func dashed(name string) string {
	return http.CanonicalHeaderKey(strings.ReplaceAll(name, "_", "-"))
}

// names reports whether a list has this element.
func names(lines []string, element string) bool {
	for _, line := range lines {
		for part := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(strings.TrimSpace(part), element) {
				return true
			}
		}
	}
	return false
}

// frames reports whether a header frames or routes a message: it is never a trailer.
func frames(name string) bool { return hopByHop(name) || name == "Content-Length" || name == "Host" }

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
		if host := kept(in.Header["X-Forwarded-Host"], in.Host); host[0] != "" {
			out["X-Forwarded-Host"] = host
		}
		out["X-Forwarded-Proto"] = kept(in.Header["X-Forwarded-Proto"], proto)
		if prior := in.Header["Forwarded"]; prior != nil {
			out["Forwarded"] = []string{strings.Join(append(slices.Clone(prior), forwarded(peer, in.Host, proto)), ", ")}
		}
		return
	}
	for name := range out {
		if strings.HasPrefix(name, "X-Forwarded-") || strings.Contains(name, "_") && tellsWho(dashed(name)) {
			delete(out, name)
		}
	}
	who := []string{peer, in.Host, proto}
	out["X-Forwarded-For"], out["X-Forwarded-Proto"] = who[0:1:1], who[2:3:3]
	if in.Host != "" {
		out["X-Forwarded-Host"] = who[1:2:2]
	}
	if in.Header["Forwarded"] != nil {
		out["Forwarded"] = []string{forwarded(peer, in.Host, proto)}
	}
	if in.Header["X-Real-Ip"] != nil {
		out["X-Real-Ip"] = who[0:1:1]
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
		if hop = bareAddress(strings.TrimSpace(hop)); hop == "" {
			break
		}
		client = hop
		if !s.trusts(hop) {
			break
		}
	}
	return client
}

// bareAddress is an address in the one spelling that stands for it. Some proxies write the port behind it, which is another for
// each connection.
func bareAddress(hop string) string {
	if both, err := netip.ParseAddrPort(hop); err == nil {
		return both.Addr().Unmap().String()
	}
	if addr, err := netip.ParseAddr(strings.Trim(hop, "[]")); err == nil {
		return addr.Unmap().String()
	}
	return hop
}
