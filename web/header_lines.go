package web

import (
	"net/http"
	"slices"
	"strings"

	"shadowdiff/diff"
	"shadowdiff/store"
)

// headerLines sets the three answers' headers side by side; those that are equal everywhere are folded. A cookie that is
// set has a line of its own.
func headerLines(sample *store.Sample) []line {
	var headers [3]http.Header
	for side, role := range storedRole {
		headers[side] = sample.Responses[role].Header
	}
	lines := fieldLines(sample, headers, "header.")
	slices.SortStableFunc(lines, func(a, b line) int { return one(a.Same) - one(b.Same) })
	return foldEqual(lines, 0)
}

// trailerLines are those of the trailers, which few answers have.
func trailerLines(sample *store.Sample) []line {
	var trailers [3]http.Header
	for side, role := range storedRole {
		trailers[side] = sample.Responses[role].Trailer
	}
	return fieldLines(sample, trailers, "trailer.")
}

// fieldLines makes a line of each name.
func fieldLines(sample *store.Sample, headers [3]http.Header, root string) []line {
	fields := [3]map[string]diff.Level{control: fieldLevels(sample.Control), candidate: fieldLevels(sample.Candidate)}
	var names []string
	var values [3]map[string]string
	for side := range headers {
		values[side] = namedValues(headers[side], root == "header.")
		for name := range values[side] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var lines []line
	for _, name := range slices.Compact(names) {
		l := line{Key: name, Mark: markOf(headerLevel(fields[candidate], root, name), headerLevel(fields[control], root, name))}
		var text [3]string
		var has [3]bool
		for side, role := range storedRole {
			text[side], has[side] = values[side][name]
			if !has[side] && sample.Responses[role].Status == 0 { // it has not answered: nothing is missing
				text[side], has[side] = values[primary][name]
			}
		}
		l.Same = text[primary] == text[control] && text[primary] == text[candidate] && has[primary] == has[control] &&
			has[primary] == has[candidate] && l.Mark == unmarked
		l.fill(text, has)
		if l.Mark == unmarked && !l.Same {
			l.Mark = markFree
		}
		lines = append(lines, l)
	}
	return lines
}

// cookieKey begins the line of a cookie.
const cookieKey = "Set-Cookie "

// namedValues are the values by name, several of one name in lines below each other.
func namedValues(h http.Header, cookies bool) map[string]string {
	values := map[string]string{}
	for name, all := range h {
		for _, value := range all {
			key := name
			if cookies && name == "Set-Cookie" {
				cookie, _, _ := strings.Cut(value, "=")
				key = cookieKey + strings.TrimSpace(cookie)
			}
			if before, more := values[key]; more {
				value = before + "\n" + value
			}
			values[key] = value
		}
	}
	return values
}

func fieldLevels(differences []diff.Difference) map[string]diff.Level {
	levels := map[string]diff.Level{}
	for _, d := range differences {
		levels[d.Field] = max(levels[d.Field], d.Kind.Level())
	}
	return levels
}

// headerLevel is how gravely a header differs, or the cookie that it sets.
func headerLevel(fields map[string]diff.Level, root, name string) (level diff.Level) {
	cookie, is := strings.CutPrefix(name, cookieKey)
	if !is {
		return fields[root+strings.ToLower(name)]
	}
	for field, l := range fields {
		if cookieOf(field) == cookie {
			level = max(level, l)
		}
	}
	return level
}

// cookieOf is the name of the cookie that a field tells of: cookie.sid.path is of sid.
func cookieOf(field string) string {
	rest, is := strings.CutPrefix(field, "cookie.")
	if !is {
		if rest, is = strings.CutPrefix(field, `cookie["`); !is {
			return ""
		}
		name, _, _ := strings.Cut(rest, `"]`)
		return name
	}
	name, _, _ := strings.Cut(rest, ".")
	name, _, _ = strings.Cut(name, "[")
	return name
}

// headerAnchor is where a page shows a field that is no part of the body.
func headerAnchor(field string) string {
	switch {
	case strings.HasPrefix(field, "header."), strings.HasPrefix(field, "header["), strings.HasPrefix(field, "cookie"):
		return "headers"
	case strings.HasPrefix(field, "trailer"):
		return "trailers"
	default:
		return "legs"
	}
}
