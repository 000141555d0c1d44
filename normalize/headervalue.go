package normalize

import (
	"mime"
	"slices"
	"strings"
)

// headerForm says what a header's lines mean, and so when they say the same.
type headerForm uint8

const (
	formSent       headerForm = iota // lines in order, less the white space around each
	formMediaType                    // a media type with parameters
	formNames                        // a set of names without case
	formMethods                      // a set of methods, which have case
	formList                         // a list in order, on however many lines
	formDirectives                   // Cache-Control: directives in any order, without case
	formCookies                      // Set-Cookie: read as cookies
)

// headerForms are the headers whose meaning is more than their bytes, by lower-case name.
//
// Sources: RFC 9110 (Allow 10.2.1, Vary 12.5.5, Content-Type 8.3, lists 5.6.1), RFC 9111, section 5.2, RFC 8288, section 3,
// and the Fetch standard for the lists of CORS.
func headerForms() map[string]headerForm {
	return map[string]headerForm{
		"content-type": formMediaType,
		"vary":         formNames, "access-control-allow-headers": formNames, "access-control-expose-headers": formNames,
		"allow": formMethods, "access-control-allow-methods": formMethods,
		"link": formList, "content-language": formList, "accept-ranges": formList,
		"cache-control": formDirectives,
		"set-cookie":    formCookies,
	}
}

// values is the comparable form of one header's lines: these very lines where that is what they are.
func (f headerForm) values(lines []string) []string {
	switch f {
	case formMediaType:
		return each(lines, canonicalMediaType)
	case formNames:
		return headerSet(lines, strings.ToLower)
	case formMethods:
		return headerSet(lines, func(member string) string { return member })
	case formList:
		return members(lines)
	case formDirectives:
		return directives(lines)
	}
	return each(lines, trimSpace)
}

// each is the lines as change leaves them, the very ones where it changes none.
func each(lines []string, change func(string) string) []string {
	for i, line := range lines {
		if changed := change(line); changed != line {
			out := slices.Clone(lines)
			out[i] = changed
			for j := i + 1; j < len(out); j++ {
				out[j] = change(out[j])
			}
			return out
		}
	}
	return lines
}

// trimSpace takes off what HTTP calls optional white space.
func trimSpace(s string) string {
	if n := len(s); n > 0 && s[0] != ' ' && s[0] != '\t' && s[n-1] != ' ' && s[n-1] != '\t' {
		return s // as nearly always
	}
	return strings.Trim(s, " \t")
}

// members are those of a comma-separated list over all lines, in order. Commas in quotes, and between the angle brackets of
// a link, separate nothing; empty members are none.
func members(lines []string) []string {
	if len(lines) == 1 && strings.IndexByte(lines[0], ',') < 0 && trimSpace(lines[0]) != "" {
		return each(lines, trimSpace)
	}
	out := make([]string, 0, 8)
	for _, line := range lines {
		for rest := (listReader{text: line}); rest.text != ""; {
			if member := trimSpace(rest.next()); member != "" {
				out = append(out, member)
			}
		}
	}
	return out
}

// listReader reads the members of a list one by one. A quote or a bracket that is never closed is like any character, and
// so are those behind it.
type listReader struct {
	text              string
	noQuote, noClosed bool
}

func (r *listReader) next() string {
	s := r.text
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == ',':
			r.text = s[i+1:]
			return s[:i]
		case s[i] == '"' && !r.noQuote:
			n := quotedEnd(s[i:])
			i, r.noQuote = i+n, n == 0
		case s[i] == '<' && !r.noClosed:
			n := strings.IndexByte(s[i:], '>')
			i, r.noClosed = i+max(n, 0), n < 0
		}
	}
	r.text = ""
	return s
}

// quotedEnd is the distance from a quote to the one that closes it, 0 when none does.
func quotedEnd(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return 0
}

// headerSet is the members of a list, sorted, each once.
func headerSet(lines []string, change func(string) string) []string {
	out := members(lines)
	if len(out) == 1 {
		return each(out, change)
	}
	for i := range out {
		out[i] = change(out[i])
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// directives are those of Cache-Control, sorted by name, which has no case; of one name in the order sent, since caches may
// go by the first. A quoted argument says the same as one without quotes.
func directives(lines []string) []string {
	out := each(members(lines), directive)
	if len(out) < 2 {
		return out
	}
	slices.SortStableFunc(out, func(a, b string) int {
		a, _, _ = strings.Cut(a, "=")
		b, _, _ = strings.Cut(b, "=")
		return strings.Compare(a, b)
	})
	return slices.Compact(out)
}

func directive(member string) string {
	name, argument, ok := strings.Cut(member, "=")
	name = strings.ToLower(trimSpace(name))
	if !ok {
		return name
	}
	argument = trimSpace(argument)
	if n := len(argument); n > 2 && argument[0] == '"' && argument[n-1] == '"' && isToken(argument[1:n-1]) {
		argument = argument[1 : n-1]
	}
	if len(name)+1+len(argument) == len(member) && member[:len(name)] == name && member[len(name)+1:] == argument {
		return member // as it was sent
	}
	return name + "=" + argument
}

// canonicalMediaType writes a Content-Type with its type and parameter names in lower case, parameters sorted, and the
// charset, which has no case, in lower case too. Of a multipart's boundary only that there is one: it is drawn anew for each
// answer and says where the parts end, not what they are. What is no media type stays as it is.
func canonicalMediaType(value string) string {
	value = trimSpace(value)
	switch value {
	case "application/json", "application/json; charset=utf-8", "text/html; charset=utf-8", "text/plain; charset=utf-8":
		// What is usual is canonical already.
		return value
	}
	media, params, err := mime.ParseMediaType(value)
	if err != nil {
		return value
	}
	if charset, ok := params["charset"]; ok {
		params["charset"] = strings.ToLower(charset)
	}
	if params["boundary"] != "" && strings.HasPrefix(media, "multipart/") {
		params["boundary"] = "*"
	}
	if canonical := mime.FormatMediaType(media, params); canonical != "" {
		return canonical
	}
	return value
}

// TextOf is the text of a header's bytes, in the form of Value.Text: no two different values share one.
func TextOf(raw string) string { return textOf(raw) }
