package normalize

import (
	"fmt"
	"strings"
)

// routePattern says on which routes a rule holds. The zero routePattern takes all.
type routePattern struct {
	text     string // canonical; empty: all
	method   string // empty: any
	host     string
	segments []string
	rest     bool // the path ends in /*: at least one more segment, whatever it is
}

// parseRoutePattern reads "[METHOD] [host]/path". A single word without a slash is a route's given name, taken as it is.
func parseRoutePattern(text string) (routePattern, error) {
	text = strings.TrimSpace(text)
	p := routePattern{text: text}
	if text == "" || text == "*" {
		return routePattern{}, nil
	}
	place := text
	if method, rest, ok := strings.Cut(text, " "); ok {
		if method == "" || strings.ToUpper(method) != method || strings.Contains(method, "/") {
			return p, fmt.Errorf("%q is no method: write it in capitals, as in \"GET /users/{id}\"", method)
		}
		p.method, place = method, strings.TrimSpace(rest)
	}
	slash := strings.IndexByte(place, '/')
	switch {
	case slash < 0 && p.method == "":
		return p, nil
	case slash < 0:
		return p, fmt.Errorf("%q is no path: a path begins with /", place)
	case strings.ContainsAny(place, " ?#"):
		return p, fmt.Errorf("%q: a path has no spaces, query or fragment", place)
	}
	p.host = strings.ToLower(place[:slash])
	p.segments = strings.Split(place[slash+1:], "/")
	if last := len(p.segments) - 1; p.segments[last] == "*" {
		p.rest, p.segments = true, p.segments[:last]
	}
	for _, s := range p.segments {
		if strings.Contains(s, "*") {
			return p, fmt.Errorf("%q: a * stands only last and alone, as in /users/*; {x} is one segment", place)
		}
		if strings.ContainsAny(s, "{}") && !isParameter(s) {
			return p, fmt.Errorf("%q: {x} stands for a whole segment", place)
		}
	}
	return p, nil
}

// isParameter tells whether a segment of a pattern, or of a route's name, stands for any.
func isParameter(s string) bool {
	return len(s) > 1 && s[0] == '{' && s[len(s)-1] == '}' && !strings.ContainsAny(s[1:len(s)-1], "{}")
}

// matches tells whether the pattern takes a route of this name.
func (p *routePattern) matches(route string) bool {
	if p.text == "" || p.text == route {
		return true
	}
	method, place, ok := strings.Cut(route, " ")
	if !ok {
		method, place = "", route
	}
	slash := strings.IndexByte(place, '/')
	if p.segments == nil && !p.rest || slash < 0 || p.method != "" && p.method != method || p.host != "" && !strings.EqualFold(p.host, place[:slash]) {
		return false
	}
	path := place[slash+1:]
	for i, s := range p.segments {
		segment, rest, more := strings.Cut(path, "/")
		if s != segment && (!isParameter(s) || segment == "") {
			return false
		}
		if last := i == len(p.segments)-1; !more {
			return last && !p.rest
		} else if last && !p.rest {
			return false
		}
		path = rest
	}
	return p.rest
}
