package multicast

import "strings"

// Selector tells requests apart as a route's match does: [METHOD] [host]/path.
type Selector struct{ pattern pattern }

// ParseSelector reads a pattern in the form of routes[].match.
func ParseSelector(text string) (Selector, error) {
	p, err := parsePattern(text)
	return Selector{p}, err
}

// Match reports whether a request with this target, a path and query as sent, fits.
func (s *Selector) Match(method, host, target string) bool {
	path, _, _ := strings.Cut(target, "?")
	return s.pattern.match(method, host, path)
}
