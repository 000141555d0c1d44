package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// numberLink is a number on a page, and where it leads.
type numberLink struct {
	text    string // "312 requests", "20 kept of 312"
	counted int64  // requests, or fields
	kept    int64  // of them; -1: it does not say
	href    string
}

var (
	bareNumber = regexp.MustCompile(`^[\d,]+$`)
	// The forms in which pages say numbers.
	numberAlone    = regexp.MustCompile(`^([\d,]+)(?: of [\d,]+)?(?: [\p{L}-]+)*$`)
	numberKept     = regexp.MustCompile(`^([\d,]+) kept(?: of ([\d,]+)| to look at)?$`)
	numberInforms  = regexp.MustCompile(`^([\d,]+)(?: confirmed)?,(?: and)? ([\d,]+) (?:that )?informs?$`)
	beginsAsNumber = regexp.MustCompile(`^\d`)
)

// readNumber reads what a link says, if it says a number.
func readNumber(text, href string) (link numberLink, is bool) {
	link = numberLink{text: text, kept: -1, counted: -1, href: href}
	if m := numberKept.FindStringSubmatch(text); m != nil {
		link.kept = numberOf(m[1])
		if m[2] != "" {
			link.counted = numberOf(m[2])
		}
	} else if m := numberInforms.FindStringSubmatch(text); m != nil {
		link.counted = numberOf(m[1]) + numberOf(m[2])
	} else if m := numberAlone.FindStringSubmatch(text); m != nil {
		link.counted = numberOf(m[1])
	} else {
		return link, false
	}
	return link, true
}

func numberOf(text string) int64 {
	n, _ := strconv.ParseInt(strings.ReplaceAll(text, ",", ""), 10, 64)
	return n
}

// attr is the value of an attribute, or nothing.
func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// shownText is what an element shows, without what is there for those who ask after a word.
func shownText(n *html.Node) string {
	if n.Type == html.TextNode {
		return n.Data
	}
	if strings.Contains(" "+attr(n, "class")+" ", " meaning ") || n.Data == "title" {
		return ""
	}
	var all strings.Builder
	for c := range n.ChildNodes() {
		all.WriteString(shownText(c))
	}
	return all.String()
}

func parsePage(t *testing.T, page string) *html.Node {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// mainOf is the page's own matter.
func mainOf(root *html.Node) *html.Node {
	for n := range root.Descendants() {
		if n.Data == "main" {
			return n
		}
	}
	return root
}

// numbersOn are the numbers of a page that lead somewhere.
func numbersOn(root *html.Node) (found []numberLink) {
	for n := range mainOf(root).Descendants() {
		if n.Type != html.ElementNode || n.Data != "a" {
			continue
		}
		text := strings.Join(strings.Fields(shownText(n)), " ")
		if link, is := readNumber(text, attr(n, "href")); is {
			found = append(found, link)
		} else if beginsAsNumber.MatchString(text) && !strings.HasSuffix(text, "%") { // a share's list is headed with the count
			found = append(found, numberLink{text: text, counted: -1, kept: -1, href: attr(n, "href")})
		}
	}
	return found
}

// headNumbers are those that stand out in a list's first line: how many are kept, or listed, and of how many.
func headNumbers(root *html.Node) (numbers []int64) {
	for h := range root.Descendants() {
		if h.Type != html.ElementNode || h.Data != "h1" {
			continue
		}
		for n := range h.Descendants() {
			if text := strings.TrimSuffix(shownText(n), "+"); n.Data == "b" && bareNumber.MatchString(text) {
				numbers = append(numbers, numberOf(text))
			}
		}
	}
	return numbers
}

// numberPages are the pages whose numbers are followed.
func (s *toyShop) numberPages() (paths []string) {
	paths = []string{"/"}
	snap := s.db.Snapshot()
	for _, r := range snap.Tallies.Routes {
		paths = append(paths, routePath(r.Route))
	}
	for _, f := range snap.Tallies.Fields {
		if f.Route != "" {
			paths = append(paths, fieldPath(f.Route, f.Field))
		}
	}
	return paths
}

// Every number that opens a list is the number in that list's first line, and what the API counts.
func TestNumbersOpenWhatTheyCount(t *testing.T) {
	s := openShop(t, nil)
	s.crowd(1500)
	s.pay(80)
	followed, having, lists := 0, 0, map[string][]int64{}
	for _, at := range s.numberPages() {
		for _, link := range numbersOn(parsePage(t, s.get(at))) {
			target, err := url.Parse(link.href)
			if err != nil {
				t.Fatal(err)
			}
			if target.Path != "/samples" && target.Path != "/fields" {
				continue
			}
			told, known := lists[link.href]
			if !known {
				told = headNumbers(parsePage(t, s.get(link.href)))
				lists[link.href] = told
			}
			switch {
			case link.counted < 0 && link.kept < 0:
				t.Errorf("%s says %q: this test cannot read that", at, link.text)
			case len(told) == 0 || len(told) > 2 || len(told) == 2 && told[0] > told[1]:
				t.Errorf("%s says %v in its first line", link.href, told)
			case target.Query().Get("attribute") != "": // of which it may not be known how many there were
				if len(told) == 2 && told[1] != link.counted {
					t.Errorf("%s says %q, and %s is of %v", at, link.text, link.href, told)
				}
				having++
			case target.Query().Get("value") != "": // what was counted are places, and not all of their requests are kept
				if told[0] > link.counted {
					t.Errorf("%s says %q, and %s has %d", at, link.text, link.href, told[0])
				}
			case target.Path == "/fields" && told[0] != link.counted, target.Path == "/samples" &&
				(link.kept >= 0 && told[0] != link.kept || link.counted >= 0 && told[len(told)-1] != link.counted):
				t.Errorf("%s says %q, and %s is of %v", at, link.text, link.href, told)
			}
			followed++
		}
	}
	if followed < 50 || len(lists) < 30 || having < 4 {
		t.Errorf("only %d numbers were followed, %d of requests by their attributes, to %d lists", followed, having, len(lists))
	}
	for at, told := range lists {
		if target, _ := url.Parse(at); target.Path == "/samples" && len(told) > 0 {
			s.sameByAPI(at, told, target.Query())
		}
	}
}

// sameByAPI compares a list of samples with what the API says of the same filters: how many are kept, and how many were
// counted.
func (s *toyShop) sameByAPI(at string, told []int64, q url.Values) {
	s.t.Helper()
	q.Set("limit", "500")
	var kept list[sampleItem]
	s.decode(s.get("/api/v1/samples?"+q.Encode()), &kept)
	if kept.Next == nil && told[0] != int64(len(kept.Items)) {
		s.t.Errorf("%s: %d are kept, the API lists %d", at, told[0], len(kept.Items))
	}
	if len(told) < 2 {
		return
	}
	if counted, known := s.countedByAPI(q); known && counted != told[1] {
		s.t.Errorf("%s: of %d, the API counts %d", at, told[1], counted)
	}
}

// countedByAPI is how many requests the API counts that meet the filters of a list of samples.
func (s *toyShop) countedByAPI(q url.Values) (n int64, known bool) {
	s.t.Helper()
	route, field := q.Get("route"), q.Get("field")
	if q.Get("attribute") != "" {
		return s.countedHaving(q)
	}
	var c struct {
		Compared      int64 `json:"compared"`
		CandidateOnly int64 `json:"candidate_only"`
		ControlOnly   int64 `json:"control_only"`
		Both          int64 `json:"both"`
	}
	side := q.Get("result")
	if field == "" {
		s.decode(s.get("/api/v1/equivalence?limit=1&"+url.Values{"route": q["route"]}.Encode()), &c)
	} else {
		test := q.Get("test")
		if test == "" {
			test = "value"
		}
		var fields list[json.RawMessage]
		s.decode(s.get("/api/v1/fields?limit=10&"+url.Values{"route": {route}, "field": {field}, "test": {test}}.Encode()), &fields)
		if len(fields.Items) != 1 {
			return 0, false // of all routes together, or none
		}
		s.decode(string(fields.Items[0]), &c)
		if side = q.Get("at_field"); q.Get("result") != "" {
			return 0, false // of the whole request as well: not counted together
		}
	}
	all := c.Compared
	if field != "" {
		all = c.CandidateOnly + c.ControlOnly + c.Both
	}
	switch side {
	case "":
		return all, true
	case "candidate":
		return c.CandidateOnly + c.Both, true
	case "control":
		return c.ControlOnly + c.Both, true
	case "candidate_only":
		return c.CandidateOnly, true
	case "control_only":
		return c.ControlOnly, true
	case "both":
		return c.Both, true
	case "agree":
		return all - c.CandidateOnly - c.ControlOnly - c.Both, field == ""
	}
	s.t.Fatalf("result %q", side)
	return 0, false
}

// countedHaving is how many requests with an attribute the API counts that did so at a field.
func (s *toyShop) countedHaving(q url.Values) (n int64, known bool) {
	s.t.Helper()
	wanted := []string{q.Get("value")}
	if q.Get("is") == "one_of" {
		s.decode(q.Get("value"), &wanted)
	}
	var all attributesAnswer
	s.decode(s.get("/api/v1/attributes?"+url.Values{"route": q["route"], "field": q["field"]}.Encode()), &all)
	var counts []attributeCount
	for _, a := range all.Attributes {
		if a.Attribute != q.Get("attribute") {
			continue
		}
		if q.Get("is") == "absent" {
			counts = append(counts, a.Absent)
		} else if q.Get("is") == "present" {
			counts = append(counts, a.Other)
		}
		for _, v := range a.Values {
			if q.Get("is") == "present" || q.Get("is") != "absent" && slices.Contains(wanted, *v.Value) {
				counts = append(counts, v)
			}
		}
	}
	for _, c := range counts {
		switch q.Get("at_field") {
		case "candidate_graver":
			n += c.Differing
		case "candidate":
			n += c.Differing + c.Both
		case "candidate_agrees":
			n += c.Requests - c.Differing - c.Both
		default:
			s.t.Fatalf("at_field %q", q.Get("at_field"))
		}
	}
	return n, len(counts) > 0
}

// No link leads nowhere: neither to a page that is not there, nor to a place that its page has not.
func TestNoLinkLeadsNowhere(t *testing.T) {
	s := openShop(t, nil)
	s.crowd(1000)
	s.pay(40)
	pages := map[string]*html.Node{}
	var read func(path, from string, further int)
	read = func(path, from string, further int) {
		if _, known := pages[path]; known {
			return
		}
		pages[path] = nil
		a := s.do(http.MethodGet, path, "", "Accept: text/html")
		if a.status != http.StatusOK {
			t.Errorf("%s leads to %s: %d %.200s", from, path, a.status, a.body)
			return
		}
		if !strings.HasPrefix(a.header.Get("Content-Type"), "text/html") {
			return
		}
		pages[path] = parsePage(t, a.body)
		if further == 0 || len(pages) > 1500 {
			return
		}
		for _, next := range linksOn(pages[path]) {
			if target, _, _ := strings.Cut(next, "#"); strings.HasPrefix(target, "/") {
				read(target, path, further-1)
			}
		}
	}
	read("/", "the address", 3)
	if len(pages) < 40 {
		t.Errorf("only %d addresses were found", len(pages))
	}
	for path, page := range pages {
		if page == nil {
			continue
		}
		for _, next := range linksOn(page) {
			target, place, fragment := strings.Cut(next, "#")
			if target == "" {
				target = path
			}
			if there := pages[target]; fragment && there != nil && !hasID(there, place) {
				t.Errorf("%s leads to %s, where no %q is", path, next, place)
			}
		}
	}
}

// linksOn are where a page's links lead.
func linksOn(page *html.Node) (list []string) {
	for n := range page.Descendants() {
		if n.Type == html.ElementNode && n.Data == "a" && attr(n, "href") != "" {
			list = append(list, attr(n, "href"))
		}
	}
	return list
}

func hasID(page *html.Node, id string) bool {
	for n := range page.Descendants() {
		if n.Type == html.ElementNode && attr(n, "id") == id {
			return true
		}
	}
	return false
}

// countIn finds the counts in a text: numbers that are no part of a word, a share, a duration, a size or a ratio.
var countIn = regexp.MustCompile(`(?:^|[\s(·>])(\d[\d,]*)(?:[\s),;:.·]|$)`)

// noCounts are the forms of numbers that count nothing that can be listed, each with the reason.
var noCounts = map[string]*regexp.Regexp{
	"a moment of the run is told by how much was compared by then, which later is no list of its own": regexp.MustCompile(`after [\d,]+ requests?`),
	"a forecast counts requests that have not come":                                                   regexp.MustCompile(`about [\d,]+ more needed`),
	"odds and chances are ratios":                                                                     regexp.MustCompile(`[\d,]+ to 1\b|million to 1\b|once in [\d,]+|ln E = -?[\d.]+|p\d\d|\d times`),
	"shares, their intervals, durations, sizes and ratios are no counts":                              regexp.MustCompile(`[\d,.]+(?: … [\d,.]+)?[ \x{202f}](?:%|×|µs|ms|s|min|h|B|KiB|MiB)`),
	"the rest of a list cannot be told by a filter":                                                   regexp.MustCompile(`And [\d,]+ more`),
}

// excuses are the classes of what holds numbers that open nothing, each with the reason.
var excuses = map[string]string{
	"tally":         "it says how long the list is that it stands above",
	"pager":         "it says which part of the list stands above it",
	"sentence":      "a sentence puts into words what the figures below it count and open",
	"term":          "likewise",
	"reasons":       "likewise",
	"lead-in":       "likewise",
	"who":           "likewise, and leads to these figures as a whole",
	"none":          "it says how much of a list is not shown",
	"leaning":       "a leaning is a sum over all requests, and which way one leaned is not kept with its sample",
	"untold":        "any value beside those that are told apart: which ones these are is not kept",
	"distributions": "a bar of a drawing, the figures of which stand below it",
	"quantiles":     "a quantile lies between values, and is none of them",
	"statuses":      "what one sample was answered, which leads to that sample as a whole",
	"state":         "what is under way now, and over before a list of it could be read",
	"scale":         "a tick of an axis",
	"loose":         "values that come once each",
	"lost":          "requests that were not compared: nothing is kept of them, and the count leads to what its reason means",
	"meaning":       "what a word means",
}

// Numbers that people are to be able to check lead somewhere, on the pages that count.
func TestNumbersAreLinks(t *testing.T) {
	s := openShop(t, nil)
	s.crowd(600)
	s.pay(40)
	for _, at := range []string{
		"/", "/fields", routePath("GET /products/{id}"), fieldPath("GET /products/{id}", "body.score"), fieldPath("GET /users/{id}", "body.last_seen"),
		fieldPath("GET /checkout", "body.total"), fieldPath("GET /quotes/{id}", "status"),
	} {
		var bare []string
		for n := range mainOf(parsePage(t, s.get(at))).Descendants() {
			if n.Type != html.TextNode || excused(n) {
				continue
			}
			text := strings.Join(strings.Fields(n.Data), " ")
			for _, form := range noCounts {
				text = form.ReplaceAllString(text, "")
			}
			if m := countIn.FindStringSubmatch(text); m != nil && numberOf(m[1]) > 0 {
				bare = append(bare, fmt.Sprintf("%q in <%s class=%q>", text, n.Parent.Data, attr(n.Parent, "class")))
			}
		}
		if len(bare) > 0 {
			t.Errorf("%s: numbers that open nothing:\n  %s", at, strings.Join(bare, "\n  "))
		}
	}
}

// excused says that a number is in a link, or is no count of what can be listed: a tick, a value that was seen, a figure of
// time, or a value whose samples cannot be told; or has an excuse.
func excused(n *html.Node) bool {
	for p := n.Parent; p != nil; p = p.Parent {
		if p.Data == "td" && valueUntold(p) {
			return true
		}
		if p.Data == "a" || p.Data == "svg" || p.Data == "code" || p.Data == "summary" || p.Data == "time" || p.Data == "option" ||
			attr(p, "data-role") != "" || attr(p, "id") == "chart" || attr(p, "id") == "latency" {
			return true
		}
		for _, class := range strings.Fields(attr(p, "class")) {
			if excuses[class] != "" {
				return true
			}
		}
	}
	return false
}

// valueUntold says that a cell counts a shape, or a value that is not kept whole: the row's head has it in other than code.
func valueUntold(cell *html.Node) bool {
	row := cell.Parent
	table := row.Parent.Parent
	if !slices.Contains(strings.Fields(attr(table, "class")), "counted-values") {
		return false
	}
	for n := range row.FirstChild.Descendants() {
		if n.Data == "i" {
			return true
		}
	}
	return false
}
