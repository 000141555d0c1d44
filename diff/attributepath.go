package diff

import (
	"net/url"
	"strconv"
	"strings"

	"shadowdiff/normalize"
)

const (
	pathAttributes = 4  // of one route: its first variable segments
	pathText       = 64 // bytes of a segment; what is longer is no id, and is not told apart
)

// pathAttributesOf are the segments of a route's path that vary, as {id} and what stands for /* do: path.2 is the second
// one. Of a route whose name is no path it is the first segments, whatever they hold.
func (t *Attributes) pathAttributesOf(route string) (list []Attribute) {
	segments, ok := patternOf(route)
	for place := 1; len(list) < pathAttributes; place++ {
		if ok && place > len(segments) || !ok && place > pathAttributes {
			break
		}
		if ok && !variable(segments[place-1]) {
			continue
		}
		a := pathAttribute(place)
		a.Many = secretPath(segments, place, t.covered)
		list = append(list, a)
	}
	return list
}

func pathAttribute(place int) Attribute {
	return Attribute{Kind: AttributePath, Name: strconv.Itoa(place), place: place}
}

// patternOf are the segments of a route's path; false where its name is no path.
func patternOf(route string) (segments []string, ok bool) {
	if _, after, spaced := strings.Cut(route, " "); spaced {
		route = after
	}
	_, path, ok := strings.Cut(route, "/")
	if !ok {
		return nil, false
	}
	return strings.Split(path, "/"), true
}

// variable tells a segment of a pattern that stands for many.
func variable(segment string) bool { return segment == "*" || strings.Contains(segment, "{") }

// secretPath tells whether a segment may hold what is to be kept from people: by its own name in the pattern and by the
// segment before it, which are taken as the name of a parameter would be.
func secretPath(segments []string, place int, covered func(normalize.Field) bool) bool {
	for _, at := range [...]int{place - 2, place - 1} {
		if at < 0 || at >= len(segments) {
			continue
		}
		name := strings.Trim(segments[at], "{}")
		if name != "" && (secretName(name) || covered(normalize.Field("query").Key(name))) {
			return true
		}
	}
	return false
}

// segmentOf is a segment of the request's path, as it was meant: without percent-encoding, and without the parameters
// behind a semicolon.
func segmentOf(target string, place int) (value string, ok bool) {
	if end := strings.IndexAny(target, "?#"); end >= 0 {
		target = target[:end]
	}
	if !strings.HasPrefix(target, "/") {
		_, rest, absolute := strings.Cut(target, "://")
		if !absolute {
			return "", false
		}
		_, target, _ = strings.Cut(rest, "/")
	}
	target = strings.TrimPrefix(target, "/")
	for ; place > 1; place-- {
		if _, target, ok = strings.Cut(target, "/"); !ok {
			return "", false
		}
	}
	value, _, _ = strings.Cut(target, "/")
	value, _, _ = strings.Cut(value, ";")
	return plainText(value, url.PathUnescape), value != ""
}

// plainText undoes percent-encoding, where there is some that can be undone.
func plainText(text string, unescape func(string) (string, error)) string {
	if !strings.ContainsAny(text, "%+") {
		return text
	}
	if plain, err := unescape(text); err == nil {
		return plain
	}
	return text
}

// part names an attribute of the path as the route does: `{id}`, or `orders/{id}` where there are several of that name.
func (r *RouteAttributes) part(a *Attribute) string {
	segments, ok := patternOf(r.Route)
	if !ok || a.place > len(segments) {
		return "segment " + a.Name + " of the path"
	}
	name := segments[a.place-1]
	for i := range segments {
		if i != a.place-1 && segments[i] == name && a.place > 1 {
			return segments[a.place-2] + "/" + name
		}
	}
	return name
}

// settle has a route that is to become part of another, more general one say what all its requests have in a segment that
// varies there.
func (t *Attributes) settle(part, whole *RouteAttributes) {
	segments, ok := patternOf(part.Route)
	for i := range whole.list {
		a := &whole.list[i]
		if a.Kind != AttributePath || !ok || a.place > len(segments) || part.find(a) >= 0 || len(part.list) >= attributesKept {
			continue
		}
		value := plainText(segments[a.place-1], url.PathUnescape)
		if variable(value) {
			continue
		}
		at := t.extend(part, AttributePath, "", a.Name)
		one := &part.list[at]
		one.place, one.Many = a.place, a.Many
		mark := one.mark(value, t.admit)
		one.counts[mark] = part.Compared
		part.total(at, mark)
	}
}
