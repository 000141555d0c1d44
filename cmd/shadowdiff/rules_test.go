package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"

	"shadowdiff/diff"
	"shadowdiff/fixtures"
	"shadowdiff/multicast"
	"shadowdiff/normalize"
	"shadowdiff/store"
	"shadowdiff/web"
)

// ruleOf is what the API says of a rule.
type ruleOf struct {
	ID      string
	Index   *int
	Source  string
	Rule    string
	Created *time.Time
	Actor   string
	Aside   string `json:"set_aside"`
	Matched int64
	Last    *time.Time `json:"last_match"`
}

// ruleChanged is what POST and DELETE answer.
type ruleChanged struct {
	Items []ruleOf
	Run   store.Run
	Begun bool
}

func (l *live) rules() []ruleOf {
	l.t.Helper()
	var all struct{ Items []ruleOf }
	l.call("GET", "/api/v1/rules", "", http.StatusOK, &all)
	return all.Items
}

// ruleLines are the rules as they are listed, one a line.
func (l *live) ruleLines() string {
	l.t.Helper()
	var lines []string
	for _, r := range l.rules() {
		line := r.ID + " " + oneLine(r.Rule)
		if r.Aside != "" {
			line += " aside"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "; ")
}

// clockShop answers with a number that no other answer has, and a price.
func clockShop(t *testing.T, name, price string) *peer {
	var n atomic.Int64
	return newPeer(t, name, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"at":"%s-%d","price":%s,"name":"lamp"}`, name, n.Add(1), price)
	})
}

// answered asks so often, and waits until all of it is compared and shown.
func (l *live) answered(times int) {
	l.t.Helper()
	c := l.connect()
	before := l.svc.db.Snapshot().Tallies.Total.Compared
	for range times {
		c.get("/products/17")
	}
	l.settled()
	l.eventually("all are shown", func() bool { return l.svc.db.Snapshot().Tallies.Total.Compared == before+int64(times) })
}

// restarted is the same service after a restart.
func (l *live) restarted() *live {
	l.t.Helper()
	l.stop()
	text, err := os.ReadFile(l.file)
	if err != nil {
		l.t.Fatal(err)
	}
	return serveWith(l.t, string(text), flagValues{"store.path": {"-db", l.svc.cfg.Load().Store.Path}})
}

// A rule that is added quiets the noise for the requests that come from now on, in a run of its own; it is kept over
// restarts and reloads until it is deleted.
func TestARuleIsAddedAndRemovedByAPI(t *testing.T) {
	t.Parallel()
	begin := addresses(clockShop(t, "p", "5"), clockShop(t, "s", "5"), clockShop(t, "c", "5")) + "rules:\n  - drop: header.x-lane\n"
	l := serveFile(t, begin)
	l.answered(10)
	if got := l.svc.db.Snapshot().Tallies.Total; got.Raw != 10 || got.Noise != 10 {
		t.Fatalf("without a rule: %+v", got)
	}
	var added ruleChanged
	l.call("POST", "/api/v1/rules", "drop: body.at\n", http.StatusCreated, &added)
	if !added.Begun || added.Run.ID != 2 || len(added.Items) != 1 {
		t.Fatalf("%+v", added)
	}
	r := added.Items[0]
	if r.ID != "1" || *r.Index != 1 || r.Source != "api" || r.Actor != "api" || r.Rule != "- drop: body.at\n" || time.Since(*r.Created) > time.Hour {
		t.Errorf("%+v", r)
	}
	l.answered(5)
	if got := l.svc.db.Snapshot().Tallies.Total; got.Compared != 5 || got.Raw != 0 || got.Noise != 0 {
		t.Errorf("with the rule: %+v", got)
	}
	if all := l.rules(); len(all) != 2 || all[0].Source != "file" || all[0].ID != "file:0" || all[1].Matched != 15 ||
		all[0].Last != nil || all[1].Last == nil || time.Since(*all[1].Last) > time.Hour {
		t.Errorf("%+v", all)
	}
	l.reload(begin + "  - lower: body.name\n")
	if got := l.ruleLines(); got != "file:0 drop: header.x-lane; file:1 lower: body.name; 1 drop: body.at" || l.svc.db.Snapshot().Run.ID != 3 {
		t.Errorf("after a reload, in run %d: %s", l.svc.db.Snapshot().Run.ID, got)
	}

	l = l.restarted()
	if got := l.ruleLines(); got != "file:0 drop: header.x-lane; file:1 lower: body.name; 1 drop: body.at" || l.svc.db.Snapshot().Run.ID != 3 {
		t.Errorf("after a restart, in run %d: %s", l.svc.db.Snapshot().Run.ID, got)
	}
	l.answered(3)
	if got := l.svc.db.Snapshot().Tallies.Total; got.Compared != 3 || got.Noise != 0 {
		t.Errorf("after the restart: %+v", got)
	}
	if got := l.refusal("DELETE", "/api/v1/rules/file:1", "", http.StatusConflict); got != "the rule file:1 stands in "+l.file+", as rules[1]: take it out there and reload" {
		t.Error(got)
	}
	for _, id := range []string{"file:2", "file:-1", "2", "x"} {
		if got := l.refusal("DELETE", "/api/v1/rules/"+id, "", http.StatusNotFound); !strings.Contains(got, "there is no rule") {
			t.Error(got)
		}
	}
	var removed ruleChanged
	l.call("DELETE", "/api/v1/rules/1", "", http.StatusOK, &removed)
	if !removed.Begun || removed.Run.ID != 4 || len(removed.Items) != 1 || removed.Items[0].Rule != "- drop: body.at\n" {
		t.Errorf("%+v", removed)
	}
	l.answered(2)
	if got := l.svc.db.Snapshot().Tallies.Total; got.Compared != 2 || got.Noise != 2 {
		t.Errorf("after it was deleted: %+v", got)
	}
	var said struct{ Items []store.Activity }
	l.call("GET", "/api/v1/activity?action=rules", "", http.StatusOK, &said)
	if len(said.Items) != 2 || said.Items[0].Detail != "removed 1: drop: body.at" || said.Items[1].Detail != "added 1: drop: body.at" || said.Items[1].Actor != "api" {
		t.Errorf("%+v", said.Items)
	}
	l.call("POST", "/api/v1/rules", `{"drop": "body.at"}`, http.StatusCreated, &added)
	if added.Items[0].ID != "2" {
		t.Errorf("the id of a rule that was removed is given again: %+v", added)
	}
}

// A change that leaves the rules, compiled, as they are goes on in the run; what the file has as well can be removed.
func TestTheSameRulesBeginNoRun(t *testing.T) {
	t.Parallel()
	p := newPeer(t, "same", nil)
	begin := addresses(p, p, p)
	l := serveFile(t, begin)
	var done ruleChanged
	l.call("POST", "/api/v1/rules", `[{"drop": "body.at"}, {"mask": "body.id", "pattern": "[0-9]+", "with": "${n}"}]`, http.StatusUnprocessableEntity, new(any))
	l.call("POST", "/api/v1/rules", `[{"drop": "body.at"}, {"mask": "body.id", "pattern": "[0-9]+", "with": "$${n}"}]`, http.StatusCreated, &done)
	if !done.Begun || len(done.Items) != 2 {
		t.Fatalf("%+v", done)
	}
	exported := l.page("/api/v1/rules?format=yaml")
	l.reload(begin + "rules:\n" + exported) // as a person would copy it
	if run := l.svc.db.Snapshot().Run.ID; run != 2 {
		t.Errorf("run %d", run)
	}
	all := l.rules()
	if len(all) != 4 || all[0].Rule != all[2].Rule || all[1].Rule != all[3].Rule {
		t.Fatalf("exported as\n%s, read as %+v", exported, all)
	}
	l.call("DELETE", "/api/v1/rules/2", "", http.StatusOK, &done)
	l.call("DELETE", "/api/v1/rules/1", "", http.StatusOK, &done)
	if got := l.ruleLines(); got != `file:0 drop: body.at; file:1 mask: body.id, pattern: '[0-9]+', with: ${n}` {
		t.Error(got)
	}
	var once ruleChanged
	l.call("POST", "/api/v1/rules", "drop: body.at", http.StatusCreated, &once)
	if once.Begun || once.Run.ID != done.Run.ID {
		t.Errorf("a rule that the file has as well: %+v", once)
	}
}

// A bad rule is refused with its place and what was probably meant, and nothing of the body is taken.
func TestABadRuleIsToldOfAtItsPlace(t *testing.T) {
	t.Parallel()
	p := newPeer(t, "same", nil)
	l := serveFile(t, addresses(p, p, p))
	for _, test := range []struct{ body, want string }{
		{"- drop: body.at\n- dropp: body.b\n", `body:2:3: rules[1].dropp: unknown key; did you mean "drop"?`},
		{"drop: boddy.at", `body:1:1: rules[0].drop: column 1: a field does not begin with "boddy"; did you mean "body"?`},
		{`[{"drop": "body.at"}, {"round": "body.p"}]`, "body:1:23: rules[1]"},
		{"drop: body.at\n\tx: y", "body:2:1: not YAML: a tab cannot indent YAML; use spaces"},
		{"- drop: &a body.at\n- drop: *a\n", "body:2:9: an alias is not taken here; write out what it stands for"},
		{"drop: body.${HOME}", "body:1:7: rules[0].drop: ${HOME} is replaced in a configuration file only; write $${HOME} for the characters themselves"},
		{"hello", `body:1:1: a rule or a list of rules is expected here, not "hello"`},
		{"[]", `body:1:1: there is no rule; write one such as "drop: body.generated_at", or a list of them`},
		{"# none\n", "body:1:1: there is no rule"},
		{"rules: [{drop: body.at}]\nheaders: {ignore: [x]}", `body:2:1: unknown key "headers"`},
		{"drop: body.at\n---\ndrop: body.b", "a second document begins here"},
		{"- drop: body.at\n- mask: body.b\n  pattern: '" + strings.Repeat("x", 5000) + "'\n", "body:2:3: rules[1]: 5"},
	} {
		var p struct {
			Detail string
			Errors []web.Fault
		}
		l.call("POST", "/api/v1/rules", test.body, http.StatusUnprocessableEntity, &p)
		if len(p.Errors) == 0 || !strings.HasPrefix(p.Errors[0].String(), test.want) && !strings.Contains(p.Errors[0].String(), test.want) ||
			!strings.Contains(p.Detail, p.Errors[0].String()) {
			t.Errorf("%.200q is answered %+v", test.body, p)
		}
	}
	if got := l.refusal("POST", "/api/v1/rules", strings.Repeat("#", 70_000), http.StatusRequestEntityTooLarge); !strings.Contains(got, "65536 bytes") {
		t.Error(got)
	}
	if got := l.refusal("POST", "/api/v1/rules", " \n", http.StatusBadRequest); !strings.Contains(got, "the body is empty") {
		t.Error(got)
	}
	if all := l.rules(); len(all) != 0 || l.svc.db.Snapshot().Run.ID != 1 {
		t.Errorf("taken: %+v in run %d", all, l.svc.db.Snapshot().Run.ID)
	}
	many := strings.Repeat("- drop: body.x\n", 150)
	var done ruleChanged
	l.call("POST", "/api/v1/rules", many, http.StatusCreated, &done)
	if got := l.refusal("POST", "/api/v1/rules", many, http.StatusConflict); !strings.Contains(got, "over the 200 that may be") || len(l.rules()) != 100 {
		t.Errorf("%s; %d listed", got, len(l.rules()))
	}
}

// A stored rule that is none for this version is set aside, and everything else goes on.
func TestAStoredRuleThatIsNoneIsSetAside(t *testing.T) {
	t.Parallel()
	begin := addresses(clockShop(t, "p", "5"), clockShop(t, "s", "5"), clockShop(t, "c", "5"))
	l := serveFile(t, begin)
	l.call("POST", "/api/v1/rules", "drop: body.at", http.StatusCreated, new(any))
	now := time.Now().UTC().Truncate(time.Microsecond)
	fp := store.Fingerprint{Candidate: l.svc.cfg.Load().Candidate, Rules: "of another version"}
	_, _, err := l.svc.db.BeginRun(t.Context(), store.Beginning{Fingerprint: fp, Rules: &store.RuleChange{Add: []store.Rule{
		{ID: 2, Text: "- conjure: body.b\n", Created: now, Actor: "api"},
		{ID: 3, Text: "no: [rule\n", Created: now, Actor: "api"},
		{ID: 4, Text: "- drop: body.d\n", Created: now, Actor: "api"},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	check := func(when string, ofFile string) {
		t.Helper()
		if got := l.ruleLines(); got != ofFile+"1 drop: body.at; 4 drop: body.d; 2 conjure: body.b aside; 3 no: [rule aside" {
			t.Errorf("%s: %s", when, got)
		}
		for _, r := range l.rules() {
			if (r.Aside != "") != (r.Index == nil) || r.ID == "2" && !strings.Contains(r.Aside, "conjure") {
				t.Errorf("%s: %+v", when, r)
			}
		}
		if page := l.page("/"); !strings.Contains(page, "The rule 2, added by API, is set aside") {
			t.Errorf("%s the page does not say so", when)
		}
		before := l.svc.db.Snapshot().Tallies.Total
		l.answered(2)
		if got := l.svc.db.Snapshot().Tallies.Total; got.Noise != before.Noise {
			t.Errorf("%s: %+v", when, got)
		}
	}
	l = l.restarted()
	check("after a restart", "")
	l.reload(begin + "rules: [{lower: body.name}]\n")
	check("after a reload", "file:0 lower: body.name; ")
	if !strings.Contains(l.log.String(), "a rule added by API is set aside") {
		t.Error("the log does not say so")
	}
	exported := l.page("/api/v1/rules?format=yaml")
	var rules normalize.Config
	if err := yaml.Unmarshal([]byte("rules:\n"+exported), &rules); err != nil || len(rules.Rules) != 3 || strings.Contains(exported, "conjure") {
		t.Errorf("%s: %v", exported, err)
	}
	var done ruleChanged
	l.call("DELETE", "/api/v1/rules/2", "", http.StatusOK, &done)
	l.call("DELETE", "/api/v1/rules/3", "", http.StatusOK, &done)
	if done.Begun || len(done.Items) != 1 || l.ruleLines() != "file:0 lower: body.name; 1 drop: body.at; 4 drop: body.d" {
		t.Errorf("%+v; %s", done, l.ruleLines())
	}
	if page := l.page("/"); strings.Contains(page, "is set aside") {
		t.Error("the page still says so")
	}
}

// Rules that come at the same time are all there in the end, each with an id of its own, and a reload beside them loses none.
func TestRulesThatComeTogetherAreAllTaken(t *testing.T) {
	t.Parallel()
	p := newPeer(t, "same", nil)
	begin := addresses(p, p, p)
	l := serveFile(t, begin)
	const each = 5
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for j := range each {
				var done ruleChanged
				status, text := l.ask("POST", "/api/v1/rules", fmt.Sprintf("[drop: body.a%d, drop: body.b%d_%d]", i, i, j))
				if err := json.Unmarshal([]byte(text), &done); err != nil || status != http.StatusCreated || len(done.Items) != 2 {
					t.Errorf("%d %s", status, text)
				}
			}
		})
	}
	all.Go(func() {
		for range each {
			if status, text := l.ask("POST", "/api/v1/reload", ""); status != http.StatusOK {
				t.Errorf("reload: %d %s", status, text)
			}
		}
	})
	all.Wait()
	ids := map[string]bool{}
	for _, r := range l.rules() {
		ids[r.ID] = true
	}
	if len(ids) != 4*each*2 {
		t.Errorf("%d rules: %v", len(ids), ids)
	}
	l = l.restarted()
	if got := len(l.rules()); got != 4*each*2 {
		t.Errorf("%d rules after a restart", got)
	}
}

// previewOf is what the API says that a rule would change.
type previewOf struct {
	Samples, Changed, Redacted int
	Skipped                    map[string]int
	Stopped                    string
	Begins                     bool `json:"begins_run"`
	Before, After              map[string]int
	Rules                      []ruleOf
	Warnings                   []string
	Fields                     []struct {
		Route, Field              string
		Confirmed                 bool
		Changed, Hides, Shows     int
		Candidate, Control, Drift map[string]int
		Samples                   []int64
	}
}

// What a preview says of the samples is what then happens to the same requests; nothing of it is kept or counted.
func TestAPreviewSaysWhatThenHappens(t *testing.T) {
	t.Parallel()
	l := serveFile(t, addresses(clockShop(t, "p", "5"), clockShop(t, "s", "5"), clockShop(t, "c", "6"))+
		"rules: [{lower: body.name}]\nroutes: [{match: \"/products/{id}\", name: goods}]\n")
	l.answered(12)
	l.eventually("samples", func() bool { ids, err := l.svc.db.LatestSamples(t.Context(), 500); return err == nil && len(ids) >= 10 })
	before, activity := l.svc.db.Snapshot(), l.page("/api/v1/activity")
	try := func(body string) (p previewOf) {
		t.Helper()
		l.call("POST", "/api/v1/rules/preview", body, http.StatusOK, &p)
		return p
	}
	for _, rules := range []string{`"drop: body.at\nroute: goods\n"`, `[{"drop": "body.at"}]`} {
		p := try(`{"rules": ` + rules + `}`)
		if p.Samples < 10 || p.Changed != p.Samples || p.Before["candidate_only"] != p.Samples || p.After["candidate_only"] != p.Samples || len(p.Fields) != 1 ||
			len(p.Skipped) != 0 || p.Stopped != "" {
			t.Fatalf("%+v", p)
		}
		f := p.Fields[0]
		if f.Route != "goods" || f.Field != "body.at" || f.Candidate["vanish"] != p.Samples || f.Control["vanish"] != p.Samples || f.Hides != 0 || len(f.Samples) == 0 {
			t.Errorf("%+v", f)
		}
		if len(p.Rules) != 1 || p.Rules[0].Matched == 0 || p.Rules[0].ID != "" {
			t.Errorf("%+v", p.Rules)
		}
	}
	warned := func(p previewOf, want string) {
		t.Helper()
		if !slices.ContainsFunc(p.Warnings, func(w string) bool { return strings.Contains(w, want) }) {
			t.Errorf("no warning that it %s: %q", want, p.Warnings)
		}
	}
	p := try(`{"rules": "drop: body.price"}`)
	warned(p, fmt.Sprintf("would hide that the candidate alone differs at body.price of goods, which is confirmed, in %d of %d samples", p.Samples, p.Samples))
	if f := p.Fields[0]; !p.Begins || !f.Confirmed {
		t.Errorf("it would begin a run, and hide what is confirmed: %+v", p)
	}
	warned(try(`{"rules": "drop: body.prise"}`), "matches nothing in these samples")
	warned(try(`{"rules": "drop: body.at\nroute: GET /orders"}`), "was held against nothing")
	warned(try(`{"rules": "drop: body"}`), "takes whole bodies away")
	if p := try(`{"remove": ["file:0"]}`); p.Changed != 0 || len(p.Fields) != 0 {
		t.Errorf("%+v", p)
	}
	for body, status := range map[string]int{
		`{"rules": "dropp: body.at"}`: 422, `{"remove": [7]}`: 404, `{}`: 400, `{"rules": 7}`: 400, `{"remove": "1"}`: 400, `{"rule": "x"}`: 400, `[]`: 400,
	} {
		l.refusal("POST", "/api/v1/rules/preview", body, status)
	}
	if after := l.svc.db.Snapshot(); after.Run != before.Run || after.Tallies.Total.Compared != 12 || l.page("/api/v1/activity") != activity || len(l.rules()) != 1 {
		t.Errorf("a preview has changed something: %+v", after.Run)
	}

	l.call("POST", "/api/v1/rules", "drop: body.at\nroute: goods\n", http.StatusCreated, new(any))
	l.answered(4)
	if got := l.svc.db.Snapshot().Tallies.Total.Results; got.CandidateOnly != 4 || got.Both != 0 {
		t.Errorf("what then happened: %+v", got)
	}
	p = try(`{"remove": [1]}`) // on the samples of both runs
	if p.Samples < 14 || len(p.Fields) != 1 || p.Fields[0].Control["appear"] != p.Samples {
		t.Errorf("%+v", p)
	}
}

// Rules are neither added nor removed where nothing may be changed, nor from another site; trying them changes nothing.
func TestRulesAreGuarded(t *testing.T) {
	t.Parallel()
	p := newPeer(t, "same", nil)
	l := serveFile(t, addresses(p, p, p)+"web: {read_only: true}\n")
	for _, c := range [][2]string{{"POST", "/api/v1/rules"}, {"DELETE", "/api/v1/rules/1"}} {
		if got := l.refusal(c[0], c[1], "drop: body.at", http.StatusForbidden); !strings.Contains(got, "web.read_only") {
			t.Error(got)
		}
	}
	var tried previewOf
	l.call("POST", "/api/v1/rules/preview", `{"rules": "drop: body.at"}`, http.StatusOK, &tried)
	if !slices.Contains(tried.Warnings, "there are no samples to try it on yet") {
		t.Errorf("%+v", tried)
	}
	l = serveFile(t, addresses(p, p, p))
	for _, path := range []string{"/api/v1/rules", "/api/v1/rules/preview"} {
		req, err := http.NewRequest("POST", l.svc.AdminURL()+path, strings.NewReader("drop: body.at"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Sec-Fetch-Site", "cross-site")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusForbidden || len(l.rules()) != 0 {
			t.Errorf("%s from another site: %s", path, res.Status)
		}
	}
}

// On the samples of a shop with noise and faults, each rule that is suggested, and some that are not, would do what the
// comparison with them does.
func TestAPreviewHoldsOnAShop(t *testing.T) {
	t.Parallel()
	shops, err := openShops(fixtures.Faults())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(shops.close)
	l := serveFile(t, fmt.Sprintf("primary: %s\nsecondary: %s\ncandidate: %s\n",
		shops.url(multicast.Primary), shops.url(multicast.Secondary), shops.url(multicast.Candidate)))
	crowd := fixtures.Traffic{URL: l.svc.ProxyURL(), Clients: 2, Rate: 500, Requests: 120, Seed: 1}
	if err := crowd.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.settled()
	l.eventually("samples", func() bool { ids, err := l.svc.db.LatestSamples(t.Context(), 500); return err == nil && len(ids) >= 10 })
	for was := uint64(0); was != l.svc.db.Snapshot().Version; { // one flush packs no more samples than it has time for
		was = l.svc.db.Snapshot().Version
		if err := l.svc.db.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	l.call("PUT", "/api/v1/shadowing", `{"enabled": false}`, http.StatusOK, new(any))
	var suggested struct{ Items []struct{ Rule string } }
	l.call("GET", "/api/v1/suggestions", "", http.StatusOK, &suggested)
	rules := []string{"drop: body.**", "sort: body.items", "lower: body"}
	for _, s := range suggested.Items {
		rules = append(rules, s.Rule)
	}
	if len(rules) < 5 {
		t.Fatalf("few suggestions: %q", rules)
	}
	for _, rule := range rules {
		body, err := json.Marshal(map[string]string{"rules": rule})
		if err != nil {
			t.Fatal(err)
		}
		var p previewOf
		l.call("POST", "/api/v1/rules/preview", string(body), http.StatusOK, &p)
		if got := l.resultsUnder(rule); p.Samples == 0 || fmt.Sprint(got) != fmt.Sprint(p.After) {
			t.Errorf("%s: said %v of %d samples, found %v", rule, p.After, p.Samples, got)
		}
	}
}

// resultsUnder compares all samples under one rule.
func (l *live) resultsUnder(rule string) map[string]int {
	l.t.Helper()
	texts, err := readRuleText(rule)
	if err != nil {
		l.t.Fatal(err)
	}
	set, err := l.svc.cfg.Load().compile(store.Rule{ID: 1, Text: texts[0]})
	if err != nil {
		l.t.Fatal(err)
	}
	comparer := diff.NewComparer(set.compiled, new(normalize.Names), diff.DefaultLimits())
	results := map[string]int{"agree": 0, "candidate_only": 0, "control_only": 0, "both": 0}
	ids, err := l.svc.db.LatestSamples(l.t.Context(), 500)
	if err != nil {
		l.t.Fatal(err)
	}
	for _, id := range ids {
		s, err := l.svc.db.Sample(l.t.Context(), id)
		if err != nil {
			l.t.Fatal(err)
		}
		c := comparer.Compare(&multicast.Exchange{Time: s.Time, Request: s.Request, Responses: s.Responses})
		if c.Unknown == "" {
			results[string(c.Result)]++
		}
	}
	return results
}
