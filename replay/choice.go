package replay

import (
	"fmt"
	"slices"
	"strings"

	"shadowdiff/multicast"
	"shadowdiff/traffic"
)

// Choice is which of the requests are asked.
type Choice struct {
	Methods []string // in capitals
	routes  []multicast.Selector
	methods []string // of the matches that name a method alone
	headers []headerMatch
}

// headerMatch is a header that a request must have.
type headerMatch struct {
	name, value string
	any         bool // whatever its value is
}

// Match adds a condition: a method, as POST; a route as in the configuration, [METHOD] [host]/path; or a header, as
// header.X-Tenant=acme, or header.X-Tenant alone. Of methods and routes one must fit, and of headers one.
func (c *Choice) Match(text string) error {
	text = strings.TrimSpace(text)
	switch name, found := strings.CutPrefix(text, "header."); {
	case found:
		name, value, valued := strings.Cut(name, "=")
		if name == "" || strings.ContainsAny(name, " :/") {
			return fmt.Errorf("%q is no header; write header.NAME=VALUE or header.NAME", text)
		}
		c.headers = append(c.headers, headerMatch{name, value, !valued})
	case text != "" && !strings.Contains(text, "/") && text == strings.ToUpper(text) && !strings.ContainsAny(text, " .=:"):
		c.methods = append(c.methods, text)
	default:
		route, err := multicast.ParseSelector(text)
		if err != nil {
			return fmt.Errorf("%w; or a method, or header.NAME=VALUE", err)
		}
		c.routes = append(c.routes, route)
	}
	return nil
}

// leftOut says why a request is not chosen, if it is not.
func (c *Choice) leftOut(r *traffic.Request) string {
	switch {
	case !c.fits(r):
		return LeftOutMatch
	case !slices.Contains(c.Methods, r.Method):
		return LeftOutMethod
	}
	return ""
}

func (c *Choice) fits(r *traffic.Request) bool {
	if len(c.routes)+len(c.methods) > 0 && !slices.Contains(c.methods, r.Method) &&
		!slices.ContainsFunc(c.routes, func(s multicast.Selector) bool { return s.Match(r.Method, r.Host, r.Target) }) {
		return false
	}
	return len(c.headers) == 0 || slices.ContainsFunc(c.headers, func(m headerMatch) bool {
		values := r.Header.Values(m.name)
		return len(values) > 0 && (m.any || slices.Contains(values, m.value))
	})
}
