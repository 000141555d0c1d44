package normalize

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

// cookies reads the Set-Cookie lines. A cookie's value is not compared unless asked for, and neither is the instant of
// Expires, which comes from a clock: only whether it lies before 2000 ("past": the cookie is deleted) or not ("set").
// Max-Age is a length of time and compared as it is.
func (n *Normalizer) cookies(from http.Header, p *plan) []Cookie {
	lines := from.Values("Set-Cookie")
	if len(lines) == 0 || n.header.ignored["set-cookie"] || p.drops("header", "set-cookie") {
		return nil
	}
	out := make([]Cookie, 0, len(lines))
	for _, line := range lines {
		c, value := parseCookie(line)
		name := textOf(c.Name)
		if p.drops("cookie", name) {
			continue
		}
		if n.header.cookieValues {
			c.set("value", value)
		}
		c.Attributes = slices.DeleteFunc(c.Attributes, func(a Attribute) bool { return p.drops("cookie", name, textOf(a.Name)) })
		out = append(out, c)
	}
	slices.SortStableFunc(out, compareCookies)
	return out
}

// compareCookies orders cookies by name, and those of one name by their attributes, so that the order of lines does not
// matter.
func compareCookies(a, b Cookie) int {
	if c := strings.Compare(a.Name, b.Name); c != 0 {
		return c
	}
	return slices.CompareFunc(a.Attributes, b.Attributes, func(a, b Attribute) int {
		if c := strings.Compare(a.Name, b.Name); c != 0 {
			return c
		}
		return strings.Compare(a.Value, b.Value)
	})
}

// parseCookie reads one Set-Cookie line as RFC 6265, section 5.2, tells browsers to.
func parseCookie(line string) (Cookie, string) {
	pair, attributes, _ := strings.Cut(line, ";")
	name, value, ok := strings.Cut(pair, "=")
	if !ok {
		name, value = "", pair
	}
	c := Cookie{Name: trimSpace(name)}
	for attributes != "" {
		var part string
		part, attributes, _ = strings.Cut(attributes, ";")
		name, value, _ := strings.Cut(part, "=")
		if name = strings.ToLower(trimSpace(name)); name != "" {
			c.set(name, attributeValue(name, trimSpace(value)))
		}
	}
	slices.SortFunc(c.Attributes, func(a, b Attribute) int { return strings.Compare(a.Name, b.Name) })
	return c, trimSpace(value)
}

// set adds an attribute; the last of one name counts.
func (c *Cookie) set(name, value string) {
	for i := range c.Attributes {
		if c.Attributes[i].Name == name {
			c.Attributes[i].Value = value
			return
		}
	}
	c.Attributes = append(c.Attributes, Attribute{Name: name, Value: value})
}

// attributeValue is the comparable form of an attribute's value.
func attributeValue(name, value string) string {
	switch name {
	case "domain":
		return strings.ToLower(strings.TrimPrefix(value, "."))
	case "samesite", "priority":
		return strings.ToLower(value)
	case "expires":
		return expires(value)
	case "secure", "httponly", "partitioned":
		return "" // present or not
	}
	return value
}

// expires classes an Expires date without a clock; what is no date stays as it is.
func expires(value string) string {
	layouts := []string{
		http.TimeFormat, "Mon, 02-Jan-2006 15:04:05 GMT", "Mon, 02-Jan-06 15:04:05 GMT", time.RFC1123Z, time.RFC850, time.ANSIC,
		"Monday, 02-Jan-2006 15:04:05 GMT",
	}
	for _, layout := range layouts {
		if t, err := time.Parse(layout, value); err == nil {
			if t.Year() < 2000 {
				return "past"
			}
			return "set"
		}
	}
	return value
}
