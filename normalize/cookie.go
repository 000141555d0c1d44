package normalize

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// cookies reads the Set-Cookie lines. A cookie's value is not compared unless asked for, and of Expires, which comes from a
// clock, only how long after the answer's own Date that is. Max-Age is a length of time and compared as it is.
func (n *Normalizer) cookies(from http.Header, p *plan) []Cookie {
	lines := setCookies(from)
	if len(lines) == 0 || n.header.ignored["set-cookie"] || p.drops("header", "set-cookie") {
		return nil
	}
	if p.others != nil {
		var ok bool
		if lines, ok = p.lines(lines, "header", "set-cookie"); !ok {
			return nil
		}
	}
	date := answerDate{from: from}
	out := make([]Cookie, 0, len(lines))
	for _, line := range lines {
		c, value := parseCookie(line, &date)
		if n.header.cookieValues {
			c.set(Attribute{Name: "value", Value: value})
		}
		if p.others != nil && !p.changeCookie(&c) {
			continue
		}
		out = append(out, c)
	}
	slices.SortStableFunc(out, Cookie.Compare)
	return out
}

// setCookies are the lines of Set-Cookie, under however its name was spelt.
func setCookies(from http.Header) []string {
	const name = "Set-Cookie"
	var others []string
	for key := range from {
		if len(key) == len(name) && key != name && strings.EqualFold(key, name) {
			others = slices.Sorted(maps.Keys(from))
			break
		}
	}
	lines := from[name]
	for _, key := range others {
		if key != name && strings.EqualFold(key, name) {
			lines = slices.Concat(lines, from[key])
		}
	}
	return lines
}

// answerDate is when an answer says that it was made, read when somebody asks.
type answerDate struct {
	from http.Header
	read bool
	at   time.Time // zero: it does not say
}

func (d *answerDate) time() time.Time {
	if !d.read {
		d.read = true
		if lines := d.from["Date"]; len(lines) > 0 {
			d.at, _ = parseDate(lines[0])
		}
	}
	return d.at
}

// Compare orders cookies by what tells them apart for a browser: name, domain and path. Two lines for the same cookie stay
// in their order, since the last one counts; of all others the order does not matter.
func (c Cookie) Compare(o Cookie) int {
	return cmp.Or(
		strings.Compare(c.Name, o.Name),
		strings.Compare(c.attribute("domain"), o.attribute("domain")),
		strings.Compare(c.attribute("path"), o.attribute("path")),
	)
}

func (c Cookie) attribute(name string) string {
	for i := range c.Attributes {
		if c.Attributes[i].Name == name {
			return c.Attributes[i].Value
		}
	}
	return ""
}

// parseCookie reads one Set-Cookie line as RFC 6265, section 5.2, tells browsers to. An answer that was made at a time says
// by its Expires how long a cookie lives.
func parseCookie(line string, date *answerDate) (Cookie, string) {
	pair, attributes, _ := strings.Cut(line, ";")
	name, value, ok := strings.Cut(pair, "=")
	if !ok {
		name, value = "", pair
	}
	c := Cookie{Name: trimSpace(name)}
	if attributes != "" {
		c.Attributes = make([]Attribute, 0, 1+strings.Count(attributes, ";"))
	}
	for attributes != "" {
		var part string
		part, attributes, _ = strings.Cut(attributes, ";")
		name, value, _ := strings.Cut(part, "=")
		if name = lowerWord(trimSpace(name)); name != "" {
			c.set(attributeOf(name, trimSpace(value), date))
		}
	}
	slices.SortFunc(c.Attributes, func(a, b Attribute) int { return strings.Compare(a.Name, b.Name) })
	return c, trimSpace(value)
}

// lowerWord is strings.ToLower, which makes a new string, spared the words of which nearly all cookies are made.
func lowerWord(word string) string {
	switch word {
	case "Path":
		return "path"
	case "Domain":
		return "domain"
	case "Expires":
		return "expires"
	case "Max-Age":
		return "max-age"
	case "Secure":
		return "secure"
	case "HttpOnly":
		return "httponly"
	case "SameSite":
		return "samesite"
	case "Lax":
		return "lax"
	case "Strict":
		return "strict"
	case "None":
		return "none"
	}
	return strings.ToLower(word)
}

// set adds an attribute; the last of one name counts.
func (c *Cookie) set(a Attribute) {
	for i := range c.Attributes {
		if c.Attributes[i].Name == a.Name {
			c.Attributes[i] = a
			return
		}
	}
	c.Attributes = append(c.Attributes, a)
}

// attributeOf is the comparable form of an attribute; its name is in lower case.
func attributeOf(name, value string, date *answerDate) Attribute {
	switch name {
	case "domain":
		value = strings.ToLower(strings.TrimPrefix(value, "."))
	case "samesite", "priority":
		value = lowerWord(value)
	case "secure", "httponly", "partitioned":
		value = "" // present or not
	case "expires":
		return expires(value, date.time())
	}
	return Attribute{Name: name, Value: value}
}

// expires turns the instant of Expires into what it comes to: "past" is a cookie that is deleted, "in 24h0m0s" one that
// lives as long, "set" one of an answer without a Date. What is no date stays as it is.
func expires(value string, sent time.Time) Attribute {
	a := Attribute{Name: "expires", Value: value}
	at, ok := parseDate(value)
	switch {
	case !ok:
	case !sent.IsZero() && !at.After(sent) || at.Year() < 2000:
		a.Value = "past"
	case sent.IsZero():
		a.Value = "set"
	default:
		a.Lasts = at.Sub(sent)
		a.Value = "in " + a.Lasts.String()
	}
	return a
}

// Alike tells whether two attributes of one name say the same. A cookie's life in one answer may be longer than in the other
// by a minute or a hundredth, whichever is more: both ends of it come from clocks, and from caches. Where one side has no Date
// nothing is known of that, but that the cookie lives.
func (a Attribute) Alike(b Attribute) bool {
	const set = "set"
	switch {
	case a.Value == b.Value:
		return true
	case a.Lasts > 0 && b.Lasts > 0:
		return (a.Lasts - b.Lasts).Abs() <= max(time.Minute, max(a.Lasts, b.Lasts)/100)
	}
	return a.Name == "expires" && (a.Lasts > 0 && b.Value == set || b.Lasts > 0 && a.Value == set)
}
