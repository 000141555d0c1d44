package web

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"shadowdiff/diff"
)

// having is the address of a list of samples of GET /price.
func having(path string, pairs ...string) string {
	return listPath(path, append([]string{"route", "GET /price"}, pairs...)...)
}

// The list of those that have an attribute is what is counted of it, on the page and by the API.
func TestSamplesByAttribute(t *testing.T) {
	r := newRig(t, market(10.25), market(10), nil)
	r.comparer.Profile(r.db.Redactor)
	r.ask(1, "/price") // of those that agree the first are kept
	r.ask(1, "/price?currency=USD&page=1")
	for i := range 5 {
		r.ask(12, "/price?currency=EUR&page=1&token=s3cret")
		r.ask(20, fmt.Sprintf("/price?currency=USD&page=%d", i))
		r.ask(8, "/price")
	}
	field := []string{"field", "body.price", "at_field"}
	for _, c := range []struct {
		filter []string
		of     int64 // requests that the list's first line says were counted; -1: it does not
		meets  func(target string) bool
	}{
		{[]string{"attribute", "query.currency", "value", "EUR"}, 60, func(s string) bool { return strings.Contains(s, "currency=EUR") }},
		{append([]string{"attribute", "query.currency", "value", "EUR"}, append(field, "candidate_graver")...), 60, func(s string) bool { return strings.Contains(s, "EUR") }},
		{append([]string{"attribute", "query.currency", "is", "absent"}, append(field, "candidate_agrees")...), 41, func(s string) bool { return s == "/price" }},
		{[]string{"attribute", "query.currency"}, 161, func(s string) bool { return strings.Contains(s, "currency=") }},
		{[]string{"attribute", "query.currency", "is", "one_of", "value", `["EUR","USD"]`}, 161, func(s string) bool { return strings.Contains(s, "currency=") }},
		{[]string{"attribute", "query.page", "value", "1", "result", "agree"}, -1, func(s string) bool { return s == "/price?currency=USD&page=1" }},
		{[]string{"attribute", "status", "value", "200"}, 202, func(string) bool { return true }},
		{[]string{"attribute", "request size", "value", "empty"}, 202, func(string) bool { return true }},
		{[]string{"attribute", "query.currency", "value", "JPY"}, -1, nil},
	} {
		kept := into[list[sampleItem]](t, r.get(having("/api/v1/samples", append(c.filter, "limit", "500")...))).Items
		for _, item := range kept {
			if c.meets == nil || !c.meets(item.Target) {
				t.Errorf("%v lists %s", c.filter, item.Target)
			}
		}
		if len(kept) == 0 && c.meets != nil {
			t.Errorf("%v lists nothing", c.filter)
		}
		told := headNumbers(parsePage(t, r.get(having("/samples", append(c.filter, "limit", "500")...))))
		if told[0] != int64(len(kept)) || c.of >= 0 && (len(told) != 2 || told[1] != c.of) || c.of < 0 && len(told) != 1 {
			t.Errorf("%v: the API lists %d, the page says %v, %d were counted", c.filter, len(kept), told, c.of)
		}
	}

	// Page by page it is the same list.
	var whole, paged []int64
	filter := []string{"attribute", "query.currency", "value", "EUR"}
	for _, item := range into[list[sampleItem]](t, r.get(having("/api/v1/samples", append(filter, "limit", "500")...))).Items {
		whole = append(whole, item.ID)
	}
	for cursor := ""; ; {
		page := into[list[sampleItem]](t, r.get(having("/api/v1/samples", append(filter, "limit", "3", "cursor", cursor)...)))
		for _, item := range page.Items {
			paged = append(paged, item.ID)
		}
		if page.Next == nil {
			break
		}
		cursor = *page.Next
	}
	if fmt.Sprint(whole) != fmt.Sprint(paged) || len(whole) < 4 {
		t.Errorf("whole %v, by threes %v", whole, paged)
	}
}

// The form of the list keeps what the request is to have, which is one filter with one way out; without the route that it is of
// it means nothing, and goes with it.
func TestTheFormKeepsTheAttribute(t *testing.T) {
	r := newRig(t, market(10.25), market(10), nil)
	r.comparer.Profile(r.db.Redactor)
	r.ask(12, "/price?currency=EUR")
	r.ask(8, "/price")
	chosen := []string{"field", "body.price", "at_field", "candidate_only", "test", "value", "attribute", "query.currency", "is", "one_of", "value", `["EUR","USD"]`}
	sent := formOf(parsePage(t, r.get(having("/samples", chosen...))))
	for i := 0; i < len(chosen); i += 2 {
		if got := sent[chosen[i]]; len(got) != 1 || got[0] != chosen[i+1] {
			t.Errorf("the form sends %s=%q", chosen[i], got)
		}
	}
	page := r.get("/samples?" + sent.Encode())
	mustHold(t, "what the form asks for", page, `<span>requests</span> <b>with query.currency = EUR or USD</b>`)
	if out := having("/samples", "field", "body.price", "at_field", "candidate_only", "test", "value"); !slices.Contains(linksOn(parsePage(t, page)), out) {
		t.Errorf("no way out of the attribute alone, to %s", out)
	}

	r.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	sent.Set("route", "")
	if a := r.do(http.MethodGet, "/samples?"+sent.Encode(), ""); a.status != http.StatusSeeOther ||
		a.header.Get("Location") != listPath("/samples", "field", "body.price", "at_field", "candidate_only", "test", "value") {
		t.Errorf("without the route: %d %s", a.status, a.header.Get("Location"))
	}
	sent = formOf(parsePage(t, r.get(having("/samples", "field", "body.price", "value", "10", "role", "candidate"))))
	sent.Set("field", "")
	if a := r.do(http.MethodGet, "/samples?"+sent.Encode(), ""); a.header.Get("Location") != having("/samples") {
		t.Errorf("a value without its field: %d %s", a.status, a.header.Get("Location"))
	}
}

// formOf is what the form of filters of a page sends when it is submitted untouched.
func formOf(page *html.Node) url.Values {
	sent := url.Values{}
	for form := range page.Descendants() {
		if attr(form, "class") != "filters" {
			continue
		}
		for n := range form.Descendants() {
			switch n.Data {
			case "input":
				sent.Add(attr(n, "name"), attr(n, "value"))
			case "select":
				sent.Add(attr(n, "name"), chosenIn(n))
			}
		}
	}
	return sent
}

// chosenIn is the value of a select.
func chosenIn(list *html.Node) string {
	for n := range list.Descendants() {
		if slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == "selected" }) {
			return attr(n, "value")
		}
	}
	return ""
}

// What is redacted or withheld is found by no value, and what cannot be asked is refused with a reason.
func TestSamplesByAttributeKeepSecrets(t *testing.T) {
	r := newRig(t, market(10.25), market(10), nil)
	r.comparer.Profile(r.db.Redactor)
	for i := range 12 {
		r.ask(1, fmt.Sprintf("/price?currency=EUR&token=s3cret&session=s%d", i))
	}
	for _, c := range []struct {
		filter []string
		says   string
	}{
		{[]string{"attribute", "query.token", "value", "s3cret"}, "was seen with an attribute"},
		{[]string{"attribute", "query.token", "value", "[redacted]"}, "was seen with an attribute"},
		{[]string{"attribute", "query.session", "value", "s1"}, "are not told apart"},
		{[]string{"attribute", "query.nothing"}, "was seen with an attribute"},
		{[]string{"is", "absent"}, "give attribute, too"},
		{[]string{"attribute", "query.currency", "is", "absent", "value", "EUR"}, "takes no value"},
		{[]string{"attribute", "query.currency", "is", "one_of", "value", "EUR"}, "a JSON list"},
		{[]string{"attribute", "query.currency", "value", "EUR", "role", "primary"}, "role=primary"},
		{[]string{"attribute", "query.currency", "is", "maybe"}, "is="},
	} {
		for _, path := range []string{"/samples", "/api/v1/samples"} {
			a := r.do(http.MethodGet, having(path, c.filter...), "")
			if a.status != http.StatusBadRequest || path != "/samples" && !strings.Contains(a.body, c.says) {
				t.Errorf("%s %v: %d %.300s", path, c.filter, a.status, a.body)
			}
		}
	}
	if a := r.do(http.MethodGet, "/api/v1/samples?attribute=status&value=200", ""); a.status != http.StatusBadRequest || !strings.Contains(a.body, "give route, too") {
		t.Errorf("without a route: %d %s", a.status, a.body)
	}
	present := into[list[sampleItem]](t, r.get(having("/api/v1/samples", "attribute", "query.session", "is", "present")))
	if len(present.Items) == 0 || strings.Contains(fmt.Sprint(present), "s3cret") {
		t.Errorf("%+v", present)
	}
}

// The table on a field's page leads to the very requests.
func TestSeparatingRowsOpenTheirSamples(t *testing.T) {
	r := newRig(t, market(10.25), market(10), nil)
	r.comparer.Profile(r.db.Redactor)
	r.ask(30, "/price?currency=EUR")
	r.ask(30, "/price?currency=USD")
	for _, field := range []string{"body.price", diff.FieldSize} {
		found := false
		for _, link := range numbersOn(parsePage(t, r.get(fieldPath("GET /price", field)))) {
			target, err := url.Parse(link.href)
			if err != nil {
				t.Fatal(err)
			}
			if target.Query().Get("attribute") != "query.currency" {
				continue
			}
			found = true
			told := headNumbers(parsePage(t, r.get(link.href)))
			if link.text != "30 of 30" || len(told) != 2 || told[0] == 0 || told[1] != 30 {
				t.Errorf("%s says %q, and %s is of %v", field, link.text, link.href, told)
			}
		}
		if !found {
			t.Errorf("the table of %s leads nowhere", field)
		}
	}
}

// Where sizes differ, the values that are counted lead to the samples that have them.
func TestSizesOpenTheirSamples(t *testing.T) {
	r := newRig(t, market(10.25), market(10), nil)
	r.comparer.Profile(r.db.Redactor)
	r.ask(30, "/price?currency=EUR")
	body := `{"price":%s,"password":"s3cret"}` // of which samples have the password redacted
	sizes := map[string]string{"primary": fmt.Sprint(len(fmt.Sprintf(body, "10.25"))), "candidate": fmt.Sprint(len(fmt.Sprintf(body, "10")))}
	for _, link := range numbersOn(parsePage(t, r.get(fieldPath("GET /price", diff.FieldSize)))) {
		target, err := url.Parse(link.href)
		if err != nil {
			t.Fatal(err)
		}
		role := target.Query().Get("role")
		if role == "" {
			continue
		}
		if want, known := sizes[role]; known && target.Query().Get("value") == want {
			delete(sizes, role)
		}
		if told := headNumbers(parsePage(t, r.get(link.href))); link.counted != 30 || told[0] == 0 || told[0] > 30 {
			t.Errorf("%q leads to %s, of %v", link.text, link.href, told)
		}
		if kept := into[list[sampleItem]](t, r.get("/api/v1"+link.href)).Items; len(kept) == 0 || kept[0].Target != "/price?currency=EUR" {
			t.Errorf("%s: %+v", link.href, kept)
		}
	}
	if len(sizes) > 0 {
		t.Errorf("no links to the sizes %v", sizes)
	}
}
