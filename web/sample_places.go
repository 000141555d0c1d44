package web

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"shadowdiff/diff"
	"shadowdiff/store"
)

const (
	placesShown = 6  // differences that are listed at once
	placesMost  = 66 // and that a page has behind these
)

// placeRow is one difference in the list of a sample's page.
type placeRow struct {
	placeView
	Link  string // to the line that shows it
	Page  string // of its field
	Why   string // why it is noise, for people; empty where it is none
	Draft string // the page where a rule for it may be tried
}

// placeRows are the differences with what leads on from each.
func (s *Server) placeRows(sample *store.Sample, snap *store.Snapshot, laid *layout, rows []line, at linesAt) []placeRow {
	lines := laid.stops()
	rules, confirmed := s.suggested(s.current(snap, sample.Route)), confirmedFields(snap)
	var out []placeRow
	for _, p := range placesViewOf(sample) {
		row := placeRow{placeView: p, Page: s.prefix + fieldPath(sample.Route, p.Field), Link: "#" + headerAnchor(p.Field)}
		if strings.HasPrefix(p.Field, "body") {
			row.Link = stopLink(laid.stopOf(&p), lines, rows, at)
		}
		if p.Mark != markCandidate {
			row.Why = noiseWords(&p, fieldOf(snap, sample.Route, p.Field), routeOf(snap, sample.Route))
			rule := rules[p.Field]
			if rule == "" {
				rule = "- drop: " + yamlWord(p.Field) + "\n"
			}
			if !confirmed[[2]string{s.current(snap, sample.Route), p.Field}] {
				row.Draft = s.prefix + listPath("/rules", "draft", rule)
			}
		}
		out = append(out, row)
	}
	return out
}

// suggested are the rules that were suggested for a route's fields, as YAML.
func (s *Server) suggested(route string) map[string]string {
	rules := map[string]string{}
	if s.deps.Suggestions == nil {
		return rules
	}
	for _, one := range s.deps.Suggestions() {
		if one.Route != route {
			continue
		}
		if text, err := one.Rule.YAML(); err == nil {
			rules[one.Field] = text
		}
	}
	return rules
}

// yamlWord is a text as a scalar of YAML, which reads JSON's strings as well.
func yamlWord(text string) string {
	if strings.ContainsAny(text, `"'{}[]#&*!|>%@: `) {
		return quoted(text)
	}
	return text
}

// stops are the lines at which the differences stand.
func (l *layout) stops() map[int]int {
	at := make(map[int]int, l.Stops)
	for i := range l.Lines {
		if l.Lines[i].Stop > 0 {
			at[l.Lines[i].Stop] = l.Lines[i].N
		}
	}
	return at
}

// stopOf is the stop at which a place is shown, 0 if it is at none.
func (l *layout) stopOf(p *placeView) int {
	if !l.Parsed {
		return min(l.Stops, 1) // the body differs as a whole, and its first difference stands for it
	}
	for _, anchor := range p.at {
		if stop := l.anchors[anchor]; stop > 0 {
			return stop
		}
	}
	return 0
}

// stopLink leads to a stop, on another part of the body if it is not among these rows.
func stopLink(stop int, lines map[int]int, rows []line, at linesAt) string {
	n, known := lines[stop]
	if !known {
		return "#body"
	}
	for i := range rows {
		if rows[i].Stop == stop {
			return "#d" + strconv.Itoa(stop)
		}
	}
	q := url.Values{}
	for name, values := range at.query {
		q[name] = values
	}
	if after := n - 1 - textAround; after > 0 {
		q.Set("after", strconv.Itoa(after))
	}
	q.Del("view")
	return at.path + "?" + q.Encode() + "#d" + strconv.Itoa(stop)
}

// noiseWords say why a difference does not count against the candidate, and how it is over many requests.
func noiseWords(p *placeView, f *diff.FieldTally, route *diff.RouteTally) string {
	words := "The control runs the primary’s own code, and it differs from the primary here as well: so this is no sign of the new code."
	if p.levels[candidate] == 0 {
		words = "The candidate has what the primary has. Only the control differs, which runs the primary’s own code: so this is chance."
	} else if p.Mark == markControl {
		words = "The control, which runs the primary’s own code, differs from the primary here more gravely than the candidate does."
	}
	if f == nil || route == nil || route.Judged() == 0 {
		return words
	}
	c := f.Tests[diff.TestValue].Counts
	return words + fmt.Sprintf(" Of %s of this route, the control differs here in %s, the candidate in %s.",
		things(route.Judged(), "request"), count(c.ControlOnly+c.Both), count(c.CandidateOnly+c.Both))
}

// list puts as many rows on the page as it has room for.
func (page *samplePage) list(rows []placeRow, all bool, at linesAt) {
	page.Split = splitWords(rows)
	if most := placesShown + placesMost; !all && len(rows) > most {
		page.PlacesMore = int64(len(rows) - most)
		q := url.Values{"places": {"all"}}
		for name, values := range at.query {
			q[name] = values
		}
		page.PlacesAll = at.path + "?" + q.Encode() + "#differences"
		rows = rows[:most]
	}
	page.Places = rows[:min(len(rows), placesShown)]
	page.PlacesRest = rows[len(page.Places):]
}

// splitWords say whose doing the differences are.
func splitWords(rows []placeRow) string {
	alone := 0
	for i := range rows {
		alone += one(rows[i].Mark == markCandidate)
	}
	switch noise := len(rows) - alone; {
	case noise == 0:
		return count(int64(alone)) + ", of the candidate alone"
	case alone == 0:
		return count(int64(noise)) + ", all of it noise"
	default:
		return fmt.Sprintf("%s of the candidate alone, %s noise", count(int64(alone)), count(int64(noise)))
	}
}
