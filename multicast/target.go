package multicast

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// target is where one role listens: scheme, host and base path.
type target struct {
	scheme string // http or https
	host   string // with the port, if it was given
	base   string // without the last slash
	h2c    bool   // HTTP/2 without TLS and without asking first
	http1  bool   // HTTP/1 only, whatever else could be agreed on
}

// parseTarget reads a role's address. The scheme h2c stands for HTTP/2 with prior knowledge over plain TCP.
func parseTarget(address string) (target, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Hostname() == "" {
		return target{}, fmt.Errorf("must be a URL such as http://127.0.0.1:9001, is %q", address)
	}
	t := target{scheme: strings.ToLower(u.Scheme), host: u.Host, base: strings.TrimSuffix(u.EscapedPath(), "/")}
	switch {
	case t.scheme == "h2c":
		t.scheme, t.h2c = "http", true
	case t.scheme != "http" && t.scheme != "https":
		return target{}, fmt.Errorf("must begin with http://, https:// or h2c://, is %q", address)
	}
	if port := u.Port(); port != "" && !validPort(port) {
		return target{}, fmt.Errorf("must have a port from 1 to 65535, is %q", address)
	}
	if u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return target{}, fmt.Errorf("must have no user, query or fragment: scheme, host, port and a base path only")
	}
	return t, nil
}

func validPort(text string) bool {
	port, err := strconv.ParseUint(text, 10, 16)
	return err == nil && port > 0
}

// name is the host without the port, and without the brackets of an IPv6 address.
func (t target) name() string { return (&url.URL{Host: t.host}).Hostname() }

func (t target) port() string {
	if port := (&url.URL{Host: t.host}).Port(); port != "" {
		return port
	}
	if t.scheme == "https" {
		return "443"
	}
	return "80"
}

// url is where the role gets what the client asks for: path is the raw one, and in gives the query, byte for byte. Of a
// path that begins with two slashes, net/url would take the first part for a host; so the few bytes that no URL may hold
// are percent-encoded there. A space is so everywhere: HTTP/2 lets a client send one, and in a request line it would end
// the target.
func (t target) url(path string, in *url.URL) *url.URL {
	path = encodeSpaces(path)
	u := &url.URL{Scheme: t.scheme, Host: t.host, RawQuery: encodeSpaces(in.RawQuery), ForceQuery: in.ForceQuery}
	if path != "*" && t.base != "" {
		path = t.base + path
	}
	if strings.HasPrefix(path, "//") {
		u.Path, u.RawPath = in.Path, encodeInvalid(path)
	} else {
		u.Opaque = path
	}
	return u
}

// appendURI appends what stands for url in a request line.
func (t target) appendURI(to []byte, path string, in *url.URL) []byte {
	if path == "" || strings.HasPrefix(path, "//") || strings.HasPrefix(t.base, "//") {
		return append(to, t.url(path, in).RequestURI()...)
	}
	if path != "*" {
		to = append(to, t.base...)
	}
	to = append(to, path...)
	if in.ForceQuery || in.RawQuery != "" {
		to = append(append(to, '?'), in.RawQuery...)
	}
	return to
}

func encodeSpaces(s string) string { return strings.ReplaceAll(s, " ", "%20") }

// encodeInvalid percent-encodes the bytes that may not stand in the path of a URL (RFC 3986, section 3.3).
func encodeInvalid(path string) string {
	const valid = "-._~!$&'()*+,;=:@/%[]"
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for _, c := range []byte(path) {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte(valid, c) >= 0 {
			b.WriteByte(c)
		} else {
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		}
	}
	return b.String()
}

// rawPath is the path as the client sent it.
func rawPath(in *http.Request) string {
	path, _, _ := strings.Cut(in.RequestURI, "?")
	if strings.HasPrefix(path, "/") || path == "*" {
		return path
	}
	if _, rest, ok := strings.Cut(path, "://"); ok { // the absolute form, http://host/path
		if slash := strings.IndexByte(rest, '/'); slash >= 0 {
			return rest[slash:]
		}
		if in.Method == http.MethodOptions && !strings.Contains(in.RequestURI, "?") {
			return "*" // of the server as a whole (RFC 9112, section 3.2.4)
		}
		return "/"
	}
	return cmp.Or(in.URL.EscapedPath(), "/") // a:b, say
}

// rawTarget is the path and query as the client sent them.
func rawTarget(in *http.Request) string {
	if strings.HasPrefix(in.RequestURI, "/") || in.RequestURI == "*" {
		return in.RequestURI
	}
	if in.URL.RawQuery != "" || in.URL.ForceQuery {
		return rawPath(in) + "?" + in.URL.RawQuery
	}
	return rawPath(in)
}
