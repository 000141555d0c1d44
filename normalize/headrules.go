package normalize

import (
	"maps"
	"net/http"
	"slices"
	"strings"
)

// headTally is what the rules for headers, trailers and cookies do in one document.
type headTally struct {
	tallies []tally     // by rule in plan.others
	numbers []numbering // likewise
}

// forDocument is the plan for one document: where there are rules for its head, with what they do in it.
func (p *plan) forDocument() *plan {
	if p.others == nil {
		return p
	}
	own := *p
	own.head = &headTally{tallies: make([]tally, len(p.others)), numbers: make([]numbering, len(p.others))}
	return &own
}

// settle counts what the rules for the head have done in the plan's document.
func (p *plan) settle() {
	if p.head == nil {
		return
	}
	for i, r := range p.others {
		r.counts.add(p.head.tallies[i])
	}
}

// count notes that a rule for the head was for something, and whether it took effect, which it answers.
func (p *plan) count(i int, effect bool) bool {
	if p.head != nil {
		p.head.tallies[i].values++
		if effect {
			p.head.tallies[i].changed++
		}
	}
	return effect
}

func (p *plan) numbering(i int) *numbering {
	if p.head == nil {
		return new(numbering)
	}
	return &p.head.numbers[i]
}

// drops tells whether a header, cookie or trailer of this name, or one attribute of a cookie, is dropped. A rule on the
// whole takes the attributes with it.
func (p *plan) drops(root string, path ...string) bool {
	for i, r := range p.others {
		if r.verb == verbDrop && r.pattern.root == root && r.pattern.covers(path...) {
			return p.count(i, true)
		}
	}
	return false
}

// lines does to the lines of a header what rules say, or to the one value of a cookie's attribute, before anything else is
// made of them: parse rules first. It answers false when they count as missing.
func (p *plan) lines(lines []string, root string, path ...string) ([]string, bool) {
	for i, r := range p.others {
		if r.verb == verbParse && r.pattern.root == root && r.pattern.covers(path...) {
			lines = p.changed(i, lines)
		}
	}
	for i, r := range p.others {
		if r.pattern.root != root || !r.pattern.covers(path...) {
			continue
		}
		switch {
		case r.verb == verbParse:
		case r.verb == verbAbsent:
			gone := !slices.ContainsFunc(lines, func(line string) bool {
				v := stringValue(textOf(line))
				return !r.isAbsent(&v)
			})
			if p.count(i, gone) {
				return nil, false
			}
		case r.verb == verbPresent && (len(path) < 2 || !r.pattern.covers(path[:1]...)):
			p.count(i, true)
			return []string{presentText}, true
		case r.text != nil || r.value != nil:
			lines = p.changed(i, lines)
		}
	}
	return lines, true
}

// changed is each line as a rule for values leaves it.
func (p *plan) changed(i int, lines []string) []string {
	r, numbers := p.others[i], p.numbering(i)
	return each(lines, func(line string) string {
		to := r.line(line, numbers)
		p.count(i, to != line)
		return to
	})
}

// line is one line of a header as a rule for values leaves it. There all is text: what reads as a number is one.
func (r *rule) line(line string, numbers *numbering) string {
	if r.text != nil {
		return bytesOf(r.text(textOf(line), numbers))
	}
	v := Value{Type: String, Text: textOf(line)}
	if number, end, ok := scanNumber(line, 0); r.verb == verbRound && ok && end == len(line) {
		v = Value{Type: Number, Text: number} // 1.50 is 1.5 even if there is nothing to round
		r.value(&v)
		return bytesOf(v.Text)
	}
	if !r.isFor(&v) || !r.value(&v) {
		return line
	}
	return bytesOf(v.Text)
}

// rename is the name that a rule gives to a header, trailer or cookie, the first one if there are several.
func (p *plan) rename(root, name string) string {
	for i, r := range p.others {
		if r.verb == verbRename && r.pattern.root == root && r.pattern.covers(textOf(name)) && p.count(i, r.to != name) {
			return r.to
		}
	}
	return name
}

// inOrder tells whether it matters to some rule in which order headers or trailers are looked at.
func (p *plan) inOrder(root string) bool {
	return slices.ContainsFunc(p.others, func(r *rule) bool { return (r.verb == verbRename || r.numbered) && r.pattern.root == root })
}

// headersInOrder is headers, one after the other by name, where some may have a new name. Those that come to one name have
// their lines one behind the other, in the order of the names they had.
func (n *Normalizer) headersInOrder(root string, from http.Header, p *plan) []Header {
	from = joinNames(from)
	var out []Header
	for _, key := range slices.Sorted(maps.Keys(from)) {
		if h, ok := n.oneHeader(root, key, from[key], p); ok {
			out = append(out, h)
		}
	}
	slices.SortStableFunc(out, func(a, b Header) int { return strings.Compare(a.Name, b.Name) })
	joined := out[:0]
	for _, h := range out {
		if last := len(joined) - 1; last >= 0 && joined[last].Name == h.Name {
			joined[last].Values = n.header.names.of(h.Name).form.values(slices.Concat(joined[last].Values, h.Values))
			continue
		}
		joined = append(joined, h)
	}
	return joined
}

// changeCookie does to a cookie and its attributes what rules say. It answers false when the cookie is dropped.
func (p *plan) changeCookie(c *Cookie) bool {
	name := textOf(c.Name)
	if p.drops("cookie", name) {
		return false
	}
	for i, r := range p.others {
		if r.verb == verbPresent && r.pattern.root == "cookie" && r.pattern.covers(name) {
			p.count(i, true)
			c.Attributes = nil
		}
	}
	c.Attributes = slices.DeleteFunc(c.Attributes, func(a Attribute) bool { return p.drops("cookie", name, textOf(a.Name)) })
	kept := c.Attributes[:0]
	for _, a := range c.Attributes {
		if isFlag(a.Name) {
			kept = append(kept, a) // it has no value: it is there or not
			continue
		}
		changed, ok := p.lines([]string{a.Value}, "cookie", name, textOf(a.Name))
		if !ok {
			continue
		}
		if changed[0] != a.Value {
			a.Value, a.Lasts = changed[0], 0
		}
		kept = append(kept, a)
	}
	c.Attributes = kept
	c.Name = p.rename("cookie", c.Name)
	return true
}

// isFlag tells whether a cookie's attribute is one that has no value.
func isFlag(name string) bool { return name == "secure" || name == "httponly" || name == "partitioned" }

// bytesOf are the raw bytes of a text that textOf has made of bytes.
func bytesOf(text string) string {
	if strings.IndexByte(text, badByte) < 0 {
		return text
	}
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		if text[i] == badByte && i+1 < len(text) {
			i++
		}
		out = append(out, text[i])
	}
	return string(out)
}

// textOfURL writes a URL in a header in one way, textOfQuery a query: there what a string contains has no fields of its own.
func textOfURL(text string, _ *numbering) string { return textOf(canonicalURL(bytesOf(text))) }

func textOfQuery(text string, _ *numbering) string { return textOf(canonicalQuery(bytesOf(text))) }
