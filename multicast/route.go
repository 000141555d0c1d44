package multicast

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
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
	p.host = strings.ToLower(rest[:slash])
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

func (p *pattern) matchHost(host string) bool {
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

// route is what holds for the requests that match one pattern, or for those that match none.
type route struct {
	pattern pattern
	name    string // empty: to be named from the path
	shadow  bool
	methods []string
	sample  *Share // nil: the default rate
	sampler *sampler
	limits
}

// limits are a route's own timeout and caps.
type limits struct {
	timeout         [3]time.Duration // by role; the primary's is not used
	maxRequestBody  int64
	maxResponseBody int64
}

// allows reports whether the request's method, and the one it may be meant to be, are among those shadowed.
func (rt *route) allows(r *http.Request) bool {
	if !slices.Contains(rt.methods, r.Method) {
		return false
	}
	for _, name := range [...]string{"X-Http-Method-Override", "X-Http-Method", "X-Method-Override"} {
		for _, override := range r.Header[name] {
			if !slices.Contains(rt.methods, strings.ToUpper(strings.TrimSpace(override))) {
				return false
			}
		}
	}
	return true
}

// longest is the most that any shadow is given.
func (l *limits) longest() time.Duration { return max(l.timeout[Secondary], l.timeout[Candidate]) }

// compileRoutes readies what the configuration, valid by now, says of routes.
func (p *Proxy) compileRoutes() {
	shadow := &p.cfg.Shadow
	p.rest = &route{shadow: true, methods: p.cfg.Methods, sampler: newSampler(), limits: limits{
		timeout:         [3]time.Duration{Secondary: shadow.timeout(Secondary), Candidate: shadow.timeout(Candidate)},
		maxRequestBody:  int64(shadow.MaxRequestBody),
		maxResponseBody: int64(shadow.MaxResponseBody),
	}}
	for i := range p.cfg.Routes {
		p.routes = append(p.routes, p.compileRoute(&p.cfg.Routes[i]))
	}
}

func (p *Proxy) compileRoute(cfg *RouteConfig) *route {
	rt := *p.rest
	rt.pattern, _ = parsePattern(cfg.Match)
	rt.name = cmp.Or(cfg.Name, cfg.Match)
	rt.sample, rt.sampler = cfg.Sample, newSampler()
	if cfg.Methods != nil {
		rt.methods = cfg.Methods
	}
	if cfg.Shadow != nil {
		rt.shadow = *cfg.Shadow
		if rt.shadow && rt.pattern.method != "" {
			rt.methods = append(slices.Clone(rt.methods), rt.pattern.method)
		}
	}
	if cfg.Timeout != nil {
		rt.timeout = [3]time.Duration{Secondary: *cfg.Timeout, Candidate: *cfg.Timeout}
	}
	if cfg.MaxRequestBody != nil {
		rt.maxRequestBody = int64(*cfg.MaxRequestBody)
	}
	if cfg.MaxResponseBody != nil {
		rt.maxResponseBody = int64(*cfg.MaxResponseBody)
	}
	return &rt
}

// maxRouteName bounds a route's name that a client gives.
const maxRouteName = 200

// routeName names what the request counts towards: its configured route, or what route_header says, or nothing: then
// the name is made from the path, later.
func (p *Proxy) routeName(r *http.Request, rt *route) string {
	if rt.name != "" || p.cfg.RouteHeader == "" {
		return rt.name
	}
	name := strings.TrimSpace(r.Header.Get(p.cfg.RouteHeader))
	if name == "" || len(name) > maxRouteName {
		return ""
	}
	if strings.HasPrefix(name, "/") {
		return r.Method + " " + name
	}
	return name
}
