package web

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"shadowdiff/normalize"
)

func TestRulesAreListedWithWhatTheyDo(t *testing.T) {
	r := newRig(t, shop("1"), shop("2"), nil)
	if got := r.get("/api/v1/rules"); got != `{"items":[],"next":null}`+"\n" {
		t.Errorf("without rules: %s", got)
	}
	with := "<id>"
	r.rules.Store(&[]Rule{
		{Config: normalize.RuleConfig{Drop: "body.at", Route: "GET /a"}, Usage: normalize.RuleUsage{Index: 0, Documents: 2100, Matched: 0}, Exchanges: 1000},
		{Config: normalize.RuleConfig{Mask: `body["x y"]`, Pattern: "[0-9]+: #", With: &with}, Usage: normalize.RuleUsage{Index: 1, Documents: 9, Matched: 3, Effective: 2, Values: 8, Changed: 7}, Exchanges: 1000},
		{Config: normalize.RuleConfig{Drop: "body"}, Usage: normalize.RuleUsage{Index: 2, Documents: 9, Matched: 9, Whole: 9}, Exchanges: 1000},
		{Config: normalize.RuleConfig{Absent: "body.b", When: "null"}, Usage: normalize.RuleUsage{Index: 3, Documents: 2}, Exchanges: 999},
		{Config: normalize.RuleConfig{Sort: "body.b", Route: "GET /b"}, Usage: normalize.RuleUsage{Index: 4}, Exchanges: 5000}, // there is no such route
	})
	text := r.get("/api/v1/rules")
	keys := []string{
		"changed", "documents", "effective", "exchanges", "id", "index", "matched", "rule", "source", "too_wide", "unused", "values", "whole_bodies",
	}
	var all list[map[string]any]
	decode(t, text, &all)
	if len(all.Items) != 5 || all.Next != nil {
		t.Fatal(text)
	}
	for i, item := range all.Items {
		var got []string
		for key := range item {
			got = append(got, key)
		}
		if slices.Sort(got); !slices.Equal(got, keys) {
			t.Errorf("keys %v", got)
		}
		if item["index"] != float64(i) || item["source"] != "file" || item["id"] != fmt.Sprint("file:", i) || item["unused"] != (i == 0 || i == 4) || item["too_wide"] != (i == 2) {
			t.Errorf("rule %d: %v", i, item)
		}
	}
	if all.Items[1]["matched"] != 3.0 || all.Items[1]["changed"] != 7.0 {
		t.Errorf("%v", all.Items[1])
	}
	readBack(t, all.Items[1]["rule"], normalize.RuleConfig{Mask: `body["x y"]`, Pattern: "[0-9]+: #", With: &with})
	if text := all.Items[3]["rule"]; text != "- absent: body.b\n  when: null\n" {
		t.Error(text)
	}

	page := r.get("/rules")
	mustHold(t, "the page", page, "5 rules are in force: 1 takes whole bodies away and 2 have matched nothing.", "on all routes", "on GET /a",
		"in 3 of 9 answers", "Is its field or its route misspelt?", "no such route and part in 5,000 exchanges", "drop: body.at</code>")
	for show, want := range map[string]int{unusedRules: 2, wideRules: 1, asideRules: 0} {
		if n := strings.Count(r.get("/rules?show="+show), `id="rule-`); n != want {
			t.Errorf("%d rules are %s, want %d", n, show, want)
		}
	}
	if link(t, page, "/rules?show=un") != "/rules?show=unused" {
		t.Error("what is unused leads elsewhere")
	}

	var part list[ruleItem]
	decode(t, r.get("/api/v1/rules?limit=3"), &part)
	if part.Next == nil || len(part.Items) != 3 {
		t.Fatalf("%+v", part)
	}
	decode(t, r.get("/api/v1/rules?limit=3&cursor="+*part.Next), &part)
	if len(part.Items) != 2 || *part.Items[0].Index != 3 {
		t.Errorf("%+v", part)
	}
}

// readBack checks that a rule's text is one rule of a file.
func readBack(t *testing.T, text any, want normalize.RuleConfig) {
	t.Helper()
	rules := normalize.Config{}
	err := yaml.Unmarshal([]byte("rules:\n"+text.(string)), &rules)
	if err != nil || len(rules.Rules) != 1 || len(rules.Validate()) > 0 {
		t.Fatalf("%s: %v, %v", text, err, rules.Validate())
	}
	got := rules.Rules[0]
	if got.With != nil && want.With != nil {
		*got.With, got.With = *want.With, want.With
	}
	if got.Mask != want.Mask || got.Pattern != want.Pattern || got.With != want.With {
		t.Errorf("%s is read as %+v", text, got)
	}
}

func TestSuggestionsAreRulesForTheNoise(t *testing.T) {
	r := newRig(t, shop("1"), shop("2"), nil)
	if got := r.get("/api/v1/suggestions"); got != `{"items":[],"next":null}`+"\n" {
		t.Errorf("before anything was compared: %s", got)
	}
	r.ask(12, "/products/1")
	r.ask(4, "/orders/1")
	var all list[suggestionItem]
	decode(t, r.get("/api/v1/suggestions"), &all)
	if len(all.Items) != 2 || all.Items[0].Route != "GET /products/{id}" || all.Items[0].Field != "body.served" {
		t.Fatalf("%+v", all)
	}
	s := all.Items[0]
	if s.Compared != 12 || s.Noise != 12 || s.Quiets != 12 || s.Both != 12 || s.CandidateOnly+s.Hides != 0 || s.LastResort ||
		!strings.HasPrefix(s.Rule, "- ") || !strings.Contains(s.Rule, "body.served") {
		t.Errorf("%+v", s)
	}
	mustHold(t, "the reason", s.Reason, "differs in 12 of 12 between primary and secondary; ")
	mustHold(t, "the effect", s.Effect, "quiets 12 of 12; the candidate alone never differs here so far")
	mustHold(t, "the field's page", r.get(s.Page), "body.served")
	var rules normalize.Config
	if err := yaml.Unmarshal([]byte("rules:\n"+s.Rule), &rules); err != nil || len(rules.Validate()) > 0 {
		t.Errorf("%s: %v, %v", s.Rule, err, rules.Validate())
	}

	decode(t, r.get("/api/v1/suggestions?route="+url.QueryEscape("GET /orders/{id}")), &all)
	if len(all.Items) != 1 || all.Items[0].Quiets != 4 {
		t.Errorf("%+v", all)
	}
	decode(t, r.get("/api/v1/suggestions?field=body.price"), &all)
	if len(all.Items) != 0 {
		t.Errorf("the candidate's own: %+v", all)
	}
	mustHold(t, "a parameter that is none", r.do("GET", "/api/v1/suggestions?rout=x", "").body, `did you mean \"route\"?`)
}
