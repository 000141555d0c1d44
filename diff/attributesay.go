package diff

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"
)

// say puts the best of it in one sentence.
func (s *Separation) say(r *RouteAttributes) string {
	if !s.Separates() {
		return fmt.Sprintf("No attribute separates the %s that differ from the %s others; %s.",
			humanize.Comma(s.Differing), humanize.Comma(s.Others), r.lookedAtWords())
	}
	best := &s.Best[0]
	var b strings.Builder
	if best.Differing == best.Of {
		fmt.Fprintf(&b, "All %s ", humanize.Comma(best.Of))
	} else {
		fmt.Fprintf(&b, "%s of %s ", humanize.Comma(best.Differing), humanize.Comma(best.Of))
	}
	b.WriteString(best.words() + "; ")
	switch {
	case best.Others == 0:
		fmt.Fprintf(&b, "none of the %s others.", humanize.Comma(best.OfOthers))
	case best.AtMost:
		fmt.Fprintf(&b, "so do at most %s of the %s others.", humanize.Comma(best.Others), humanize.Comma(best.OfOthers))
	default:
		fmt.Fprintf(&b, "so do %s of the %s others.", humanize.Comma(best.Others), humanize.Comma(best.OfOthers))
	}
	return b.String()
}

// lookedAtWords names the attributes in which the requests of a route are not all alike.
func (r *RouteAttributes) lookedAtWords() string {
	var names []string
	more := 0
	for i := range r.list {
		a := &r.list[i]
		present := a.present()
		if present == 0 || a.counts[markAbsent] == 0 && slices.Max(a.counts[:]) == present && !a.Many {
			continue
		}
		if len(names) == separateLooked {
			more++
			continue
		}
		names = append(names, a.words(r))
	}
	if len(names) == 0 {
		return "they are alike in all that is looked at"
	}
	text := "looked at were " + strings.Join(names, ", ")
	if more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// words names an attribute, with how many of its values are told apart where not all are.
func (a *Attribute) words(r *RouteAttributes) string {
	name := a.Kind.String()
	switch a.Kind {
	case AttributePath:
		name = code(r.part(a))
	case AttributeQuery:
		name = code(a.Name)
	case AttributeHeader:
		name = "the header " + code(a.Name)
	default:
		name = "the " + name
	}
	switch {
	case a.Many:
		return name + " (whether it is there)"
	case a.counts[markOther] > 0:
		return fmt.Sprintf("%s (%d of its values)", name, len(a.Values))
	}
	return name
}

// code is a text within backticks, so that they, and what cannot be seen, are to be seen in it.
func code(text string) string {
	plain := text != "" && strings.TrimSpace(text) == text && !strings.ContainsFunc(text, func(r rune) bool { return r == '`' || !strconv.IsGraphic(r) })
	if !plain {
		text = strings.ReplaceAll(strconv.QuoteToGraphic(text), "`", `\x60`)
	}
	return "`" + text + "`"
}

// words is what requests have, after their number.
func (s *Separating) words() string {
	name, between := s.Attribute, "="
	if plain, ok := strings.CutPrefix(name, "query."); ok {
		name = plain
	} else if plain, ok := strings.CutPrefix(name, "header."); ok {
		name, between = plain, ": "
	} else if name = s.Part; name == "" {
		between = ""
	}
	which := ""
	if name == "" || strings.HasPrefix(s.Attribute, "header.") {
		which = "the " + strings.TrimSuffix(s.Attribute, "."+name) + " "
	}
	switch {
	case s.Absent && name == "":
		return "have no " + s.Attribute
	case s.Absent:
		return "have no " + strings.TrimPrefix(which, "the ") + code(name)
	case s.Other && name == "":
		return "have a rarer " + s.Attribute
	case s.Other && s.Many:
		return "have " + which + code(name)
	case s.Other:
		return "have a rarer value of " + which + code(name)
	case s.Values != nil && name == "":
		return "have " + which + oneOf(s.Values) + s.holds()
	case s.Values != nil:
		return "have " + which + code(name) + " = " + oneOf(s.Values) + s.holds()
	}
	return "have " + which + code(name+between+s.Value)
}

// holds says what the values have in common, where the other ones that are told apart have it not.
func (s *Separating) holds() string {
	if s.Spaced {
		return " (each holds a space)"
	}
	return ""
}

// oneOf lists values: `3`, `9` or `12`.
func oneOf(values []string) string {
	var b strings.Builder
	for i, value := range values {
		switch {
		case i == separateNamed && len(values) > separateNamed+1:
			fmt.Fprintf(&b, " or one of %d more", len(values)-separateNamed)
			return b.String()
		case i == 0:
		case i == len(values)-1:
			b.WriteString(" or ")
		default:
			b.WriteString(", ")
		}
		b.WriteString(code(value))
	}
	return b.String()
}

// plural is a number with the verb that goes with it.
func plural(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return humanize.Comma(n) + " " + many
}
