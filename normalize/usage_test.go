package normalize

import (
	"testing"

	"shadowdiff/multicast"
)

// What a rule has done is told apart: it was never asked, it found nothing, it found something and let it be, it took effect.
func TestUsageTellsWhatRulesDo(t *testing.T) {
	n := mustNew(t,
		RuleConfig{Drop: "body.at"},
		RuleConfig{Drop: "body.nowhere"},
		RuleConfig{Sort: "body.name"}, // no array
		RuleConfig{Mask: "body", Pattern: "[0-9]{4}"},
		RuleConfig{Lower: "body.name", Route: "GET /elsewhere"},
		RuleConfig{Lower: "header.x-a"},
		RuleConfig{Drop: "status"},
		RuleConfig{Parse: "body.name", As: "json"},
		RuleConfig{Absent: "body.none", When: "null", Role: "candidate"},
	)
	read := func(role multicast.Role, header, body string) {
		resp := &multicast.Response{Status: 200, Header: map[string][]string{}, Body: []byte(body)}
		if header != "" {
			resp.Header.Set("X-A", header)
		}
		n.Document("GET /items", role, resp, nil)
	}
	read(multicast.Primary, "A", `{"at":1,"name":"x 1234","note":"y"}`)
	read(multicast.Candidate, "a", `{"at":1,"name":"x","none":null}`)
	read(multicast.Secondary, "", ``)
	want := []RuleUsage{
		{Rule: "drop body.at", Documents: 2, Matched: 2, Effective: 2, Values: 2, Changed: 2},
		{Rule: "drop body.nowhere", Documents: 2},
		{Rule: "sort body.name", Documents: 2},
		{Rule: `mask body pattern "[0-9]{4}" with "<id>"`, Documents: 2, Matched: 2, Effective: 1, Values: 3, Changed: 1},
		{Rule: "lower body.name route GET /elsewhere"},
		{Rule: "lower header.x-a", Documents: 3, Matched: 2, Effective: 1, Values: 2, Changed: 1},
		{Rule: "drop status", Documents: 3, Matched: 3, Effective: 3, Values: 3, Changed: 3},
		{Rule: "parse body.name as json", Documents: 2, Matched: 2, Values: 2},
		{Rule: "absent body.none when null role candidate", Documents: 1, Matched: 1, Effective: 1, Values: 1, Changed: 1},
	}
	for i, got := range n.Usage() {
		want[i].Index = i
		if got != want[i] {
			t.Errorf("got  %+v\nwant %+v", got, want[i])
		}
	}
}

func TestUsageTellsOfWholeBodies(t *testing.T) {
	for _, rule := range []RuleConfig{{Drop: "body"}, {Drop: "body.**"}, {Present: "body"}, {Absent: "body", When: `{"a":1}`}, {Absent: "body", When: `"x"`}} {
		n := mustNew(t, rule)
		document(n, "", `{"a":1}`)
		document(n, "text/plain", `x`)
		document(n, "text/plain", ``)
		got := n.Usage()[0]
		if rule.Absent != "" {
			if got.Documents != 2 || got.Whole != 1 || got.Changed != 1 {
				t.Errorf("%+v: %+v", rule, got)
			}
		} else if got.Documents != 2 || got.Whole != 2 || got.Changed != 2 {
			t.Errorf("%+v: %+v", rule, got)
		}
	}
}

// Plans are made once for rules that hold together, and told apart where others hold.
func TestPlansAreMadeOnce(t *testing.T) {
	n := mustNew(t, RuleConfig{Drop: "body.a", Route: "GET /a"}, RuleConfig{Drop: "body.b", Role: "candidate"}, RuleConfig{Drop: "body.c"})
	first := n.plan("GET /a", multicast.Candidate)
	if n.plan("GET /a", multicast.Candidate) != first || n.plan("/a", multicast.Candidate) == first {
		t.Error("plans are not kept by their rules")
	}
	for _, tc := range []struct {
		route string
		role  multicast.Role
		rules int
	}{
		{"GET /a", multicast.Candidate, 3}, {"GET /a", multicast.Primary, 2}, {"GET /b", multicast.Candidate, 2}, {"GET /b", multicast.Primary, 1},
	} {
		if p := n.plan(tc.route, tc.role); len(p.body) != tc.rules || p != n.plan(tc.route, tc.role) {
			t.Errorf("%s of %s: %d rules", tc.route, tc.role, len(p.body))
		}
	}
	if len(n.plans.made) != 4 {
		t.Errorf("%d plans are kept", len(n.plans.made))
	}
}

// Order matters in a fingerprint where it matters to the effect.
func TestFingerprintHasAllOfARule(t *testing.T) {
	lower, mask := RuleConfig{Lower: "body"}, RuleConfig{Mask: "body", Pattern: "a"}
	if mustNew(t, lower, mask).Fingerprint() == mustNew(t, mask, lower).Fingerprint() {
		t.Error("the order of value rules is left out")
	}
	seen := map[string]RuleConfig{}
	for _, rule := range []RuleConfig{
		lower, mask,
		{Mask: "body", Pattern: "b"},
		{Mask: "body", Pattern: "a", With: new("x")},
		{Mask: "body", Pattern: "a", Numbered: true},
		{MaskKeys: "body", Pattern: "a"},
		{Round: "body", To: "1"},
		{Round: "body", To: "2"},
		{Coerce: "body", To: "number"},
		{Coerce: "body", To: "bool"},
		{Rename: "body.a", To: "b"},
		{Rename: "body.a", To: "c"},
		{Tolerate: "body", Within: "1"},
		{Tolerate: "body", Within: "1%"},
		{Tolerate: "body", Within: "1s"},
		{Absent: "body", When: "null"},
		{Absent: "body", When: "empty"},
		{Absent: "body", When: `"empty"`},
		{Absent: "body", When: `[1]`},
		{Parse: "body", As: "json"},
		{Parse: "body", As: "url"},
		{Pair: "body", By: By{"a"}},
		{Pair: "body", By: By{"a", "b"}},
		{Pair: "body", By: By{"a.b"}},
		{Present: "body.a"},
		{Lower: "body", Route: "/a"},
		{Lower: "body", Role: "candidate"},
		{Trim: "body"},
		{Squeeze: "body"},
		{NFC: "body"},
	} {
		print := mustNew(t, rule).Fingerprint()
		if other, ok := seen[print]; ok {
			t.Errorf("%+v and %+v have one fingerprint", rule, other)
		}
		seen[print] = rule
	}
	a := mustNew(t, RuleConfig{Round: "body", To: "02"}, RuleConfig{Absent: "body", When: `{"b": 1.0, "a":[ ]}`})
	b := mustNew(t, RuleConfig{Absent: "body", When: `{"a":[],"b":1}`}, RuleConfig{Round: "body", To: "2"})
	if a.Fingerprint() != b.Fingerprint() {
		t.Errorf("%s\n%s", a.Fingerprint(), b.Fingerprint())
	}
}

// Rules that find nothing to do cost no memory, however many there are. (Expressions have their own.)
func TestIdleRulesAllocateNothing(t *testing.T) {
	body := `{"items":[{"id":1,"name":"x","tags":["a","b"]},{"id":2,"name":"y","tags":[]}],"total":2}`
	var rules []RuleConfig
	for _, field := range []string{"body.nowhere", "body.items[].nothing.x", "body.**.none", `body.items[id="7"].name`, "body.*.nothing"} {
		rules = append(rules, RuleConfig{Drop: field}, RuleConfig{Sort: field}, RuleConfig{Mask: field, Pattern: "x"}, RuleConfig{Round: field, To: "1"})
	}
	n := mustNew(t, rules...)
	root := mustParse(t, body)
	a := n.applier(n.always)
	if cost := testing.AllocsPerRun(100, func() { a.run(root) }); cost > 0 {
		t.Errorf("%v allocations", cost)
	}
}
