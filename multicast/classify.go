package multicast

import (
	"net/http"
	"slices"
	"strings"
)

// classify decides whether a request is shadowed, and how; otherwise it says why not. The reasons are looked for in the
// order of the contract, so that each request has exactly one.
func (p *Proxy) classify(r *http.Request, s *setup) (*route, Reason) {
	now := p.shadowing.Load()
	switch {
	case !now.on():
		return nil, ReasonDisabled
	case r.Method == http.MethodConnect:
		return nil, ReasonConnect
	case upgrades(r):
		return nil, ReasonUpgrade
	case p.private.signedIn(r):
		return nil, ReasonSignedIn
	case r.Header["X-Shadow-Request"] != nil:
		return nil, ReasonLoop
	}
	rt := s.route(r)
	switch {
	case !rt.shadow:
		return nil, ReasonRoute
	case !rt.allows(r):
		return nil, ReasonMethod
	case !s.sampled(r, rt, now):
		return nil, ReasonNotSampled
	case now.guarded:
		return nil, ReasonGuard
	}
	return rt, ""
}

// route returns the first route that matches. One that is never shadowed matches however the request for it is written, since
// the copy would reach what an operator has excluded.
func (s *setup) route(r *http.Request) *route {
	if len(s.routes) == 0 {
		return s.rest
	}
	path := rawPath(r)
	var others []string
	if s.excludes {
		others = otherPaths(r, path)
	}
	for _, rt := range s.routes {
		if rt.pattern.match(r.Method, r.Host, path) || !rt.shadow && rt.reaches(r, others) {
			return rt
		}
	}
	return s.rest
}

// otherPaths are those that a server may take for the path of a request: what it may make of the path, which comes first, and
// what some frameworks put in its place.
func otherPaths(r *http.Request, path string) []string {
	all := append([]string{path}, readings(path)...)
	for _, name := range [...]string{"X-Original-Url", "X-Rewrite-Url"} {
		for _, instead := range r.Header[name] {
			instead, _, _ = strings.Cut(instead, "?")
			all = append(append(all, instead), readings(instead)...)
		}
	}
	return all
}

// reaches reports whether one of these paths is of the route. Most servers answer HEAD with what answers GET.
func (rt *route) reaches(r *http.Request, paths []string) bool {
	return slices.ContainsFunc(paths, func(path string) bool {
		return rt.pattern.match(r.Method, r.Host, path) || r.Method == http.MethodHead && rt.pattern.match(http.MethodGet, r.Host, path)
	})
}

// sampled decides by the key where the request has one, else by count.
func (s *setup) sampled(r *http.Request, rt *route, now *shadowing) bool {
	share := now.Sample
	if rt.sample != nil {
		share = *rt.sample
	}
	if s.sampleBy != (sampleKey{}) {
		if key := s.key(r); key != "" {
			return keeps(key, share)
		}
	}
	return rt.sampler.next(share)
}

func (s *setup) key(r *http.Request) string {
	switch by := s.sampleBy; {
	case by.header != "":
		return firstLine(r, by.header)
	case by.cookie != "":
		if c, err := r.Cookie(by.cookie); err == nil {
			return c.Value
		}
		return ""
	}
	return s.clientIP(r)
}

// firstLine is the first line of a header, or nothing. net/http keeps Host apart.
func firstLine(r *http.Request, name string) string {
	if strings.EqualFold(name, "Host") {
		return r.Host
	}
	return r.Header.Get(name)
}
