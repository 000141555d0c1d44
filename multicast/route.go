package multicast

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"
)

// route is what holds for the requests that match one pattern, or for those that match none.
type route struct {
	pattern pattern
	name    string // empty: to be named from the path
	shadow  bool
	methods []string
	sample  *Share // nil: the default rate
	sampler *sampler
	streams bool // answers that may have no end are compared too
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
	for name, values := range r.Header {
		if !overridesMethod(dashed(name)) {
			continue
		}
		for _, override := range values {
			if !slices.Contains(rt.methods, strings.ToUpper(strings.TrimSpace(override))) {
				return false
			}
		}
	}
	return true
}

// overridesMethod reports whether some frameworks take the method from this header.
func overridesMethod(name string) bool {
	return name == "X-Http-Method-Override" || name == "X-Http-Method" || name == "X-Method-Override"
}

// longest is the most that any shadow is given.
func (l *limits) longest() time.Duration { return max(l.timeout[Secondary], l.timeout[Candidate]) }

// compileRoutes readies what the configuration, valid by now, says of routes.
func (s *setup) compileRoutes() {
	shadow := &s.cfg.Shadow
	s.rest = &route{shadow: true, methods: s.cfg.Methods, sampler: newSampler(), limits: limits{
		timeout:         [3]time.Duration{Secondary: shadow.timeout(Secondary), Candidate: shadow.timeout(Candidate)},
		maxRequestBody:  int64(shadow.MaxRequestBody),
		maxResponseBody: int64(shadow.MaxResponseBody),
	}}
	for i := range s.cfg.Routes {
		rt := s.compileRoute(&s.cfg.Routes[i])
		s.routes = append(s.routes, rt)
		s.excludes = s.excludes || !rt.shadow
	}
}

func (s *setup) compileRoute(cfg *RouteConfig) *route {
	rt := *s.rest
	rt.pattern, _ = parsePattern(cfg.Match)
	rt.name = cmp.Or(cfg.Name, cfg.Match)
	rt.sample, rt.sampler = cfg.Sample, newSampler()
	rt.streams = cfg.Streams
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
func (s *setup) routeName(r *http.Request, rt *route) string {
	if rt.name != "" || s.cfg.RouteHeader == "" {
		return rt.name
	}
	name := strings.TrimSpace(firstLine(r, s.cfg.RouteHeader))
	if name == "" || len(name) > maxRouteName {
		return ""
	}
	if strings.HasPrefix(name, "/") {
		return r.Method + " " + name
	}
	return name
}
