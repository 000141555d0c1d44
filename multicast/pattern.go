package multicast

import (
	"errors"
	"fmt"
	"net/url"
	pathpkg "path"
	"strings"
)

// pattern is what a route's match stands for: [METHOD] [host]/path.
type pattern struct {
	method   string   // empty: any
	host     string   // empty: any; with a port only if the pattern has one
	segments []string // what stands between the slashes; wild for {x}
	rest     bool     // a last /*: any further segments, none too
}

// wild stands for a whole segment of any text but the empty one.
const wild = "{}"

func parsePattern(text string) (pattern, error) {
	var p pattern
	rest := strings.TrimSpace(text)
	if method, after, found := strings.Cut(rest, " "); found {
		if !token(method) || method != strings.ToUpper(method) {
			return p, fmt.Errorf("must begin with a method in capitals or a path, is %q", text)
		}
		p.method, rest = method, strings.TrimSpace(after)
	}
	slash := strings.IndexByte(rest, '/')
	if slash < 0 || strings.ContainsAny(rest, " \t?#") {
		return p, fmt.Errorf("must be [METHOD] [host]/path, such as GET /users/{id} or shop.example/api/*, is %q", text)
	}
	p.host = bareHost(strings.ToLower(rest[:slash]))
	segments := strings.Split(rest[slash+1:], "/")
	if last := len(segments) - 1; segments[last] == "*" {
		p.rest, segments = true, segments[:last]
	}
	for i, segment := range segments {
		named := strings.HasPrefix(segment, "{") && strings.HasSuffix(segment, "}")
		switch {
		case named && len(segment) > 2 && !strings.ContainsAny(segment[1:len(segment)-1], "{}*"):
			segments[i] = wild
		case strings.ContainsAny(segment, "{}"):
			return p, fmt.Errorf("must name a whole segment in braces, as in /users/{id}, has %q", segment)
		case segment == "*":
			return p, errors.New("must have * as its last segment only; {x} is one segment")
		}
	}
	p.segments = segments
	return p, nil
}

// match reports whether the pattern fits. The path is the one the client sent: %2F is no slash, and a segment is
// unescaped before it is compared.
func (p *pattern) match(method, host, path string) bool {
	if p.method != "" && p.method != method {
		return false
	}
	if p.host != "" && !p.matchHost(host) {
		return false
	}
	path, found := strings.CutPrefix(path, "/")
	if !found {
		return false
	}
	for i, want := range p.segments {
		segment, after, more := strings.Cut(path, "/")
		if !matchSegment(want, segment) {
			return false
		}
		if last := i == len(p.segments)-1; last && !p.rest {
			return !more
		}
		if !more {
			return false
		}
		path = after
	}
	return p.rest
}

// readings are what servers may take a path for that is not written plainly: percent-encodings are undone, %2F too, doubled
// slashes are one, dots are followed, parameters (/a;v=1) and what stands behind # are left out, and a backslash is a slash. A
// last slash is there in one reading and not in the other. A path that is written plainly has none.
func readings(path string) []string {
	if path == "/" || !strings.HasSuffix(path, "/") && !strings.ContainsAny(path, "%;\\#") && !strings.Contains(path, "//") && !strings.Contains(path, "/.") {
		return nil
	}
	if plain, err := url.PathUnescape(path); err == nil {
		path = plain
	}
	path, _, _ = strings.Cut(path, "#")
	segments := strings.Split(strings.ReplaceAll(path, "\\", "/"), "/")
	for i := range segments {
		segments[i], _, _ = strings.Cut(segments[i], ";")
	}
	clean := pathpkg.Clean("/" + strings.Join(segments, "/"))
	if segments[len(segments)-1] == "" && clean != "/" {
		return []string{clean, clean + "/"}
	}
	return []string{clean}
}

// bareHost is a host without what says nothing: a dot at the end of the name (RFC 1034, section 3.1), or a colon that no port
// follows (RFC 3986, section 3.2.3).
func bareHost(host string) string {
	name, port, found := cutPort(strings.TrimSuffix(host, ":"))
	if name = strings.TrimSuffix(name, "."); found {
		return name + ":" + port
	}
	return name
}

func (p *pattern) matchHost(host string) bool {
	host = bareHost(host)
	if strings.EqualFold(p.host, host) {
		return true
	}
	name, _, found := cutPort(host)
	return found && strings.EqualFold(p.host, name)
}

// cutPort parts a host from its port; found is false where there is none.
func cutPort(host string) (name, port string, found bool) {
	colon := strings.LastIndexByte(host, ':')
	if colon < 0 || strings.HasSuffix(host, "]") || !digits(host[colon+1:]) {
		return host, "", false
	}
	return host[:colon], host[colon+1:], true
}

func matchSegment(want, segment string) bool {
	if want == wild {
		return segment != ""
	}
	if want == segment {
		return true
	}
	if !strings.Contains(segment, "%") {
		return false
	}
	plain, err := url.PathUnescape(segment)
	return err == nil && plain == want
}
