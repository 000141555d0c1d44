package diff

import (
	"errors"
	"net/url"
	"slices"
	"strings"

	"shadowdiff/multicast"
	"shadowdiff/normalize"
)

// Asked is a request with the primary's answer to it, as far as attributes look at them. No body is needed.
type Asked struct {
	Request *multicast.Request
	Size    int64 // bytes of the request's body
	Primary *multicast.Response
}

// of is what a request has of an attribute, and whether it has it at all.
func (a *Attribute) of(x *Asked) (value string, has bool) {
	switch a.Kind {
	case AttributeMethod:
		return x.Request.Method, true
	case AttributeHost:
		return x.Request.Host, true
	case AttributeStatus:
		return statusText(x.Primary.Status), true
	case AttributeType:
		line, has := header(x.Primary.Header, "Content-Type")
		return mediaType(line), has
	case AttributeRequestSize:
		return sizeClass(x.Size), true
	case AttributeResponseSize:
		return sizeClass(x.Primary.Size), true
	case AttributeClient:
		agent, has := header(x.Request.Header, "User-Agent")
		return clientKind(agent[:min(len(agent), agentText)]), has
	case AttributeHeader:
		return header(x.Request.Header, a.raw)
	case AttributePath:
		return segmentOf(x.Request.Target, a.place)
	}
	for name, value := range parameters(x.Request.Target) {
		if name == a.raw {
			return plainText(value, url.QueryUnescape), true
		}
	}
	return "", false
}

// Having says what requests have of one attribute: one of some values, any value, or that they are without it.
type Having struct {
	Attribute string   // query.currency
	Values    []string // as they are listed, cut ones too; none: see Absent
	Absent    bool     // the requests are without it; else, without Values, they have it, whatever it is
}

// ErrNoAttribute tells that no request of the route had such an attribute, as far as was counted.
var ErrNoAttribute = errors.New("no such attribute")

// ErrNotToldApart tells that values are asked for of an attribute of which none is: there are too many, or they may be
// secret.
var ErrNotToldApart = errors.New("its values are not told apart")

// Chosen are the requests of a route that have something of an attribute. It finds kept ones as they were counted.
type Chosen struct {
	route      *RouteAttributes
	having     Having
	attributes []int // in the route's list: of a parameter more than one, where its name is written in several ways
}

// Choose looks up what requests are to have. What is redacted is neither found by its value nor told from what was put
// in its place.
func (r *RouteAttributes) Choose(h Having) (*Chosen, error) {
	c := &Chosen{route: r, having: h}
	for i := range r.list {
		if a := &r.list[i]; a.String() == h.Attribute {
			c.attributes = append(c.attributes, i)
		}
	}
	if len(c.attributes) == 0 {
		return nil, ErrNoAttribute
	}
	if len(h.Values) > 0 && r.list[c.attributes[0]].Many {
		return nil, ErrNotToldApart
	}
	return c, nil
}

// Name is what the attribute is called: as the route has it, where it is a segment of its path.
func (c *Chosen) Name() string {
	if a := &c.route.list[c.attributes[0]]; a.Kind == AttributePath {
		return c.route.part(a)
	}
	return c.having.Attribute
}

// Meets tells whether a request has what is asked for.
func (c *Chosen) Meets(x *Asked) bool {
	for _, i := range c.attributes {
		a := &c.route.list[i]
		value, has := a.of(x)
		switch {
		case !has:
		case c.having.Values == nil:
			return !c.having.Absent
		case slices.ContainsFunc(c.having.Values, func(wanted string) bool { return a.means(wanted, value) }):
			return true
		}
	}
	return c.having.Absent
}

// means tells whether a value of a request is the one that is listed so. One that is not told apart is taken as it is,
// unless such ones may be secret.
func (a *Attribute) means(listed, value string) bool {
	if a.Many || strings.Contains(value, normalize.Redacted) {
		return false
	}
	known := false
	for i := range a.Values {
		if a.shown(i) == listed {
			if a.is(i, value) {
				return true
			}
			known = true
		}
	}
	return !known && !a.closed && strings.ToValidUTF8(value, "\uFFFD") == listed
}

// ChosenCount is how many of the chosen requests were counted, and what the candidate did at a field in them.
type ChosenCount struct {
	Requests  int64
	Differing int64 // the candidate differs, more gravely than the secondary
	Both      int64 // it differs, but not more gravely
}

// Others are those in which the candidate does not differ.
func (n ChosenCount) Others() int64 { return n.Requests - n.Differing - n.Both }

// Count counts the chosen requests by a field; with an empty one none of them differs. It is not exact where some of
// them came before they could be counted so: before the attribute was known, the value told apart, or the field
// followed.
func (c *Chosen) Count(field string) (n ChosenCount, exact bool) {
	exact = len(c.attributes) == 1
	f := c.route.field(field)
	if f == nil && field != "" && c.route.refused || f != nil && f.base != nil {
		exact = false
	}
	for _, i := range c.attributes {
		a := &c.route.list[i]
		for m, requests := range a.counts {
			if !c.counts(a, m) {
				continue
			}
			n.Requests += requests
			exact = exact && a.earlyOf(m) == 0
			if f != nil {
				n.Differing += f.alone[i][m]
				n.Both += f.both[i][m]
			}
		}
		exact = exact && a.From == 0 && c.told(a)
	}
	return n, exact
}

// counts tells whether requests that are counted under a mark are among the chosen.
func (c *Chosen) counts(a *Attribute, m int) bool {
	switch {
	case c.having.Values == nil:
		return c.having.Absent == (m == markAbsent)
	case m == markAbsent || m > len(a.Values):
		return false
	}
	return slices.Contains(c.having.Values, a.shown(m-1))
}

// told tells whether all values that are asked for are told apart, so that all their requests are counted for them.
func (c *Chosen) told(a *Attribute) bool {
	for _, value := range c.having.Values {
		found := 0
		for i := range a.Values {
			found += int(one(a.shown(i) == value))
		}
		if found != 1 {
			return false
		}
	}
	return true
}
