package main

import (
	"context"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"shadowdiff/store"
)

// sent is what a form without a script gets for an answer.
type sent struct {
	status   int
	location string
	page     string
}

// send posts a form as a browser without scripts does, and does not follow where it leads.
func (l *live) send(path string, form url.Values) sent {
	l.t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, l.svc.AdminURL()+path, strings.NewReader(form.Encode()))
	if err != nil {
		l.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	stay := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := stay.Do(req)
	if err != nil {
		l.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		l.t.Fatal(err)
	}
	return sent{res.StatusCode, res.Header.Get("Location"), string(text)}
}

// says fails for each text that a page does not show. Spaces are as they are shown.
func says(t *testing.T, where, page string, texts ...string) {
	t.Helper()
	shown := shownText(page)
	for _, text := range texts {
		if !strings.Contains(shown, text) {
			t.Errorf("%s does not say %q:\n%s", where, text, shown)
		}
	}
}

var (
	tags   = regexp.MustCompile(`<[^>]*>`)
	spaces = regexp.MustCompile(`[\s\x{202f}]+`)
)

// shownText is the main part of a page as a person reads it.
func shownText(page string) string {
	if _, after, found := strings.Cut(page, "<main"); found {
		page, _, _ = strings.Cut(after, "</main>")
	}
	return spaces.ReplaceAllString(html.UnescapeString(tags.ReplaceAllString(page, "")), " ")
}

// linkAfter is the address of the first link with a word that stands behind a text.
func linkAfter(t *testing.T, page, text, word string) string {
	t.Helper()
	_, after, _ := strings.Cut(page, text)
	m := regexp.MustCompile(`<a[^>]* href="([^"]*)"[^>]*>` + word + `</a>`).FindStringSubmatch(after)
	if m == nil {
		t.Fatalf("no link %q behind %q:\n%s", word, text, page)
	}
	path, _, _ := strings.Cut(html.UnescapeString(m[1]), "#")
	return path
}

// hidden are the values that the form with an action would send without anybody typing.
func hidden(t *testing.T, page, action string) url.Values {
	t.Helper()
	_, form, found := strings.Cut(page, `method="post" action="`+action+`"`)
	if !found {
		t.Fatalf("no form leads to %s:\n%s", action, shownText(page))
	}
	form, _, _ = strings.Cut(form, "</form>")
	values := url.Values{}
	for _, m := range regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)">`).FindAllStringSubmatch(form, -1) {
		values.Set(m[1], html.UnescapeString(m[2]))
	}
	return values
}

// A suggestion is looked at before it is taken; then it is changed, and taken away again. All of it works without a script.
func TestARuleIsTakenOnThePages(t *testing.T) {
	t.Parallel()
	l := serveFile(t, addresses(clockShop(t, "p", "5"), clockShop(t, "s", "5"), clockShop(t, "c", "5")))
	l.answered(12)
	page := l.page("/rules")
	says(t, "without rules", page, "there are no rules", "Rules in force 0", "Suggestions 1", "12 of 12 between primary and secondary")

	tried := l.page(linkAfter(t, page, `id="suggestions"`, "Preview"))
	says(t, "the preview", tried, "What adding it would change", "come out differently", "A new run begins", "Run 1 ends; all it has counted is kept", "Add this rule")
	if l.svc.db.Snapshot().Run.ID != 1 || len(l.rules()) != 0 {
		t.Fatal("looking has changed something")
	}
	got := l.send("/rules", hidden(t, tried, "/rules"))
	if got.status != http.StatusSeeOther || got.location != "/rules#rule-1" {
		t.Fatalf("%+v", got)
	}
	if all := l.rules(); len(all) != 1 || all[0].Actor != "page" || !strings.Contains(all[0].Rule, "body.at") || l.svc.db.Snapshot().Run.ID != 2 {
		t.Errorf("in run %d: %+v", l.svc.db.Snapshot().Run.ID, all)
	}
	l.answered(7)
	listed := l.page("/rules")
	says(t, "the list", listed, "1 rule is in force.", "in 21 of 21 answers", "The last change", "Rule 1 was added.")

	edit := l.page(linkAfter(t, listed, `id="rule-1"`, "Edit"))
	says(t, "the editor", edit, "Edit a rule", "body.at")
	faulty := url.Values{"draft": {"drop: body.at\r\nrute: GET /a"}, "remove": {"1"}}
	for where, bad := range map[string]sent{"the preview": {page: l.refusedPage("/rules?try=true&" + faulty.Encode())}, "the form": l.send("/rules", faulty)} {
		says(t, where+" of a bad rule", bad.page, "Line 2, column 1:", `did you mean "route"?`, "Nothing was changed.")
		if strings.Contains(bad.page, "Put it in the other’s place</button>") {
			t.Errorf("%s offers to take a bad rule", where)
		}
	}
	other := l.page("/rules?" + url.Values{"draft": {"drop: body.at"}, "remove": {"1"}, "try": {"true"}}.Encode())
	says(t, "the preview of another", other, "What putting it in the other’s place would change", "Put it in the other’s place")
	if got := l.send("/rules", hidden(t, other, "/rules")); got.location != "/rules#rule-2" || l.ruleLines() != "2 drop: body.at" {
		t.Errorf("%+v, rules %s", got, l.ruleLines())
	}
	leaving := l.page(linkAfter(t, l.page("/rules"), `id="rule-2"`, "Remove"))
	says(t, "the preview of its removal", leaving, "what would change without it", "fewer agree in everything", "Remove this rule")
	if got := l.send("/rules", hidden(t, leaving, "/rules")); got.status != http.StatusSeeOther || got.location != "/rules" || l.ruleLines() != "" {
		t.Errorf("%+v, rules %s", got, l.ruleLines())
	}
	if got := l.send("/rules", url.Values{"remove": {"2"}}); got.status != http.StatusNotFound {
		t.Errorf("removed twice: %d %s", got.status, shownText(got.page))
	}
	if got := l.send("/rules", url.Values{"draft": {" \r\n"}}); got.status != http.StatusUnprocessableEntity {
		t.Errorf("nothing is a rule: %d", got.status)
	}
	var said struct{ Items []store.Activity }
	l.call("GET", "/api/v1/activity?action=rules&actor=page", "", http.StatusOK, &said)
	if len(said.Items) != 3 || said.Items[0].Detail != "removed 2: drop: body.at" {
		t.Errorf("%+v", said.Items)
	}
	var run runOf
	l.call("GET", "/api/v1/runs/2", "", http.StatusOK, &run)
	if run.BegunBy != "page" {
		t.Errorf("begun by %q", run.BegunBy)
	}
}

// refusedPage is a page whose status says that what was asked for is not possible.
func (l *live) refusedPage(path string) string {
	l.t.Helper()
	status, text := l.ask(http.MethodGet, path, "")
	if status < 400 || status > 499 {
		l.t.Fatalf("GET %s: %d %s", path, status, text)
	}
	return text
}

// Who would hide what is confirmed is told so first, with the numbers that the API has.
func TestARuleThatHidesTheFaultIsWarnedOf(t *testing.T) {
	t.Parallel()
	l := serveFile(t, addresses(clockShop(t, "p", "5"), clockShop(t, "s", "5"), clockShop(t, "c", "6"))+"rules: [{lower: body.name}, {drop: body.nam}]\n")
	l.answered(40)
	l.eventually("it is confirmed", func() bool { return l.svc.db.Snapshot().Verdict.Word == "different" })
	page := l.page("/rules?try=true&draft=" + url.QueryEscape("drop: body.price"))
	says(t, "the preview", page, "It would hide what is confirmed.", "body.price of GET /products/{id}", "I have looked at it")
	if !strings.Contains(page, `name="sure" value="true" required`) {
		t.Error("it can be taken without a second look")
	}
	var p previewOf
	l.call("POST", "/api/v1/rules/preview", `{"rules": "drop: body.price"}`, http.StatusOK, &p)
	f := p.Fields[0]
	says(t, "the preview", page, fmt.Sprintf("%d of %d samples come out differently", p.Changed, p.Samples),
		fmt.Sprintf("candidate only%d%d", p.Before["candidate_only"], p.After["candidate_only"]), fmt.Sprintf("%d → %d", f.Candidate["before"], f.Candidate["after"]),
		fmt.Sprintf("hides %d", f.Hides), fmt.Sprintf("sample %d", f.Samples[0]))
	if !p.Begins || !f.Confirmed {
		t.Errorf("%+v", p)
	}

	says(t, "what is a rule already", l.page("/rules?try=true&draft=lower:+body.name"), "The rules come to the same")
	listed := l.page("/rules")
	for _, r := range l.rules() {
		says(t, "the list", listed, oneLine(r.Rule), fmt.Sprintf("in %d of ", r.Matched))
	}
	says(t, "the search", l.page("/rules?q=LOWER"), "1 of 2", "lower: body.name")
	says(t, "a search for nothing", l.page("/rules?q=xyz"), "None has “xyz” in it.")
	for _, bad := range []string{"/rules?sort=colour", "/rules?serch=x", "/rules?remove=77&try=true", "/rules?try=maybe"} {
		if status := l.status(bad); status != http.StatusBadRequest && status != http.StatusNotFound {
			t.Errorf("%s: %d", bad, status)
		}
	}
}

// Rules of the file are told of and tried, and stay; and a listener that may change nothing changes nothing.
func TestRulesThatAreNotChangedHere(t *testing.T) {
	t.Parallel()
	p := newPeer(t, "same", nil)
	l := serveFile(t, addresses(p, p, p)+"web: {read_only: true}\nrules: [{drop: body.at}]\nheaders: {ignore: [X-Lane], compare: [Date]}\n")
	page := l.page("/rules")
	says(t, "the list", page, "web.read_only is set", "the filerules[0]", l.file, "x-lane (headers.ignore)", "Compared, since headers.compare names them: date")
	if strings.Contains(page, ">Edit</a>") {
		t.Error("a rule of the file can be edited")
	}
	says(t, "the effect of one of the file", l.page("/rules?remove=file:0&try=true"), "It stands in "+l.file+" as rules[0]")
	says(t, "what is tried", l.page("/rules?try=true&draft=drop:+body.b"), "Add this rule", "nothing can be changed here")
	for _, form := range []url.Values{{"draft": {"drop: body.b"}}, {"remove": {"file:0"}}} {
		if got := l.send("/rules", form); got.status != http.StatusForbidden || len(l.rules()) != 1 {
			t.Errorf("%v: %d, rules %s", form, got.status, l.ruleLines())
		}
	}

	open := serveFile(t, addresses(p, p, p)+"rules: [{drop: body.at}]\n")
	got := open.send("/rules", url.Values{"remove": {"file:0"}})
	if says(t, "the refusal", got.page, "stands in "+open.file, "take it out there and reload"); got.status != http.StatusConflict {
		t.Errorf("%d", got.status)
	}
}

// What is exported on the page loads again as it was, whatever is in it; and nothing of a rule becomes part of the page.
func TestRulesAreExportedAsTheyAre(t *testing.T) {
	t.Parallel()
	p := newPeer(t, "same", nil)
	begin := addresses(p, p, p)
	l := serveFile(t, begin)
	nasty := "- mask: body.id\n  pattern: '</textarea></pre><script>alert(1)</script>[0-9]+'\n  with: $${n} \"&amp;\"\n- drop: 'body[\"<img src=x onerror=alert(1)>\"]'\n"
	if got := l.send("/rules", url.Values{"draft": {strings.ReplaceAll(nasty, "\n", "\r\n")}}); got.status != http.StatusSeeOther {
		t.Fatalf("%d %s", got.status, shownText(got.page))
	}
	all, page := l.rules(), l.page("/rules")
	for _, path := range []string{"/rules", "/rules?try=true&draft=" + url.QueryEscape(nasty), "/rules?q=" + url.QueryEscape(`"><script>alert(1)</script>`), "/rules?remove=1&try=true"} {
		if text := l.page(path); strings.Contains(text, "<script>alert") || strings.Contains(text, "<img src=x") {
			t.Errorf("%s: what is in a rule is part of the page", path)
		}
	}
	m := regexp.MustCompile(`(?s)<details class="export".*?<pre[^>]*>(.*?)</pre>`).FindStringSubmatch(page)
	if m == nil {
		t.Fatal(page)
	}
	exported := html.UnescapeString(m[1])
	if want := l.page("/api/v1/rules?format=yaml"); exported != want {
		t.Errorf("the page exports\n%s\nthe API\n%s", exported, want)
	}
	l.reload(begin + "rules:\n" + exported)
	again := l.rules()
	if len(again) != 2*len(all) || again[0].Rule != all[0].Rule || again[1].Rule != all[1].Rule || again[0].Source != "file" {
		t.Errorf("exported as\n%s, read as %+v", exported, again)
	}
}

// coinShop has two fields that change: coin by the side of it that a request falls on, lean mostly on the candidate's.
func coinShop(t *testing.T, name string) *peer {
	var n atomic.Int64
	return newPeer(t, name, func(w http.ResponseWriter, _ *http.Request) {
		n := n.Add(1)
		coin := name == "s" && n%2 == 0 || name == "c" && n%2 == 1
		lean := name == "s" && n == 10 || name == "c" && n%8 == 3
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"coin":%t,"lean":%t}`, coin, lean)
	})
}

// Noise falls on the candidate alone as often as on the control alone, and a rule may hide that; what leans to the candidate
// is warned of though it is not confirmed.
func TestAPreviewWarnsOfMoreThanNoise(t *testing.T) {
	t.Parallel()
	l := serveFile(t, addresses(coinShop(t, "p"), coinShop(t, "s"), coinShop(t, "c")))
	l.answered(40)
	for field, warned := range map[string]bool{"body.coin": false, "body.lean": true} {
		var p previewOf
		l.eventually("samples of "+field, func() bool {
			p = previewOf{}
			l.call("POST", "/api/v1/rules/preview", `{"rules": "present: `+field+`"}`, http.StatusOK, &p)
			return len(p.Fields) == 1 && p.Fields[0].Hides > 0
		})
		if p.Fields[0].Confirmed {
			t.Fatalf("%s is confirmed", field)
		}
		warning := fmt.Sprintf("would hide that the candidate alone differs at %s of GET /products/{id}, in %d of %d samples", field, p.Fields[0].Hides, p.Samples)
		if got := strings.Contains(strings.Join(p.Warnings, "\n"), warning); got != warned {
			t.Errorf("%s: warned %v, want %v: %q", field, got, warned, p.Warnings)
		}
		page := l.page("/rules?try=true&draft=" + url.QueryEscape("present: "+field))
		if got := strings.Contains(page, "Would hide that the candidate alone differs"); got != warned {
			t.Errorf("%s: the page warns %v, want %v", field, got, warned)
		}
	}
}
