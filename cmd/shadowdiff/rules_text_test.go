package main

import (
	"strings"
	"testing"

	"shadowdiff/normalize"
	"shadowdiff/store"
)

// JSON is read as JSON has it, also where YAML has it otherwise.
func TestRulesAreReadFromJSON(t *testing.T) {
	for text, want := range map[string]string{
		`{"mask": "body.a", "pattern": "\ud83d\ude00\/", "with": "\u00e9\\ud83d"}`:         "😀/ é\\ud83d",
		"[\n\t{\"mask\": \"body.a\",\n\t\t\"pattern\": \"x\\ty\", \"with\": \"$${n}\"}\n]": "x\ty ${n}",
		"mask: body.a\npattern: x\nwith: ''\n":                                             "x ",
	} {
		texts, err := readRuleText(text)
		if err != nil || len(texts) != 1 {
			t.Errorf("%s: %q, %v", text, texts, err)
			continue
		}
		rule, err := storedRule(&store.Rule{Text: texts[0]})
		if err != nil {
			t.Fatalf("%s: %v", texts[0], err)
		}
		if got := rule.Pattern + " " + *rule.With; got != want {
			t.Errorf("%s is read as %q, want %q", text, got, want)
		}
	}
}

// FuzzRuleText: whatever is sent, each rule that is taken is one that can be read again, alone, and says the same.
func FuzzRuleText(f *testing.F) {
	for _, seed := range []string{
		"drop: body.at", "- drop: body.a\n- mask: body.b\n  pattern: '[0-9]+'\n", `{"pair": "body.items", "by": ["a", "b"]}`,
		`[{"absent": "body.b", "when": {"a": [1, null, "x"]}}]`, "rules:\n  - round: body.p\n    to: 2\n", "- &a {drop: body.x}\n- *a\n",
		"{<<: {drop: body.a}}", "\"\\ud83d\\ude00\"", "mask: body\npattern: '${x}'\n", "a: [b, {c: }]", "- drop: body.a\n  route: GET /x/{id}\n  role: candidate",
		"absent: body.a\nwhen: null", "tolerate: body.t\nwithin: 2s", "mask: body.a\npattern: |\n  a\n  b\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		texts, err := readRuleText(text)
		if err != nil {
			if len(texts) > 0 || strings.TrimSpace(err.Error()) == "" {
				t.Fatalf("%q and %v", texts, err)
			}
			return
		}
		for _, one := range texts {
			rule, err := storedRule(&store.Rule{Text: one})
			if err != nil {
				t.Fatalf("%q: %v", one, err)
			}
			if faults := (normalize.Config{Rules: []normalize.RuleConfig{rule}}).Validate(); len(faults) > 0 {
				t.Fatalf("%q: %v", one, faults)
			}
			again, err := rule.YAML()
			if err != nil || again != one {
				t.Fatalf("%q is kept as %q: %v", one, again, err)
			}
		}
	})
}
